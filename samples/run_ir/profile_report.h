// What `run_ir profile` prints: steps, and totals by operation and algorithm.
#ifndef SAMPLES_RUN_IR_PROFILE_REPORT_H_
#define SAMPLES_RUN_IR_PROFILE_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ir_runtime/compiled_model.h"

namespace run_ir {

/// The steps of a model over several runs.
class StepTimes {
 public:
  /// `run` is the profile of one run; all runs have the same steps.
  void add(const std::vector<ir::StepProfile>& run);
  /// The last run's profile, with this quantile of each step's times: 0.5 is the median, 0 the fastest.
  [[nodiscard]] std::vector<ir::StepProfile> at(double fraction) const;

 private:
  std::vector<ir::StepProfile> last_;
  std::vector<std::vector<double>> times_;
};

struct ProfileReport {
  std::string model;
  int threads = 1;
  std::size_t runs = 0;
  /// Whether times are the fastest of the runs; else medians.
  bool fastest = false;
  /// Time of a whole inference, its steps measured.
  double inference_ms = 0;
  std::vector<ir::StepProfile> steps;
};

struct ProfileView {
  /// What is listed: operations, by their totals, alone; else steps, and all totals behind them.
  bool by_op = false;
  /// The slowest first; else in the order of execution. Totals behind steps are always the slowest first.
  bool slowest_first = false;
  /// Most to list; 0: all.
  std::size_t top = 0;
};

/// Tables, a line per step and per total.
std::string profile_text(const ProfileReport& report, const ProfileView& view);

/// One JSON object on one line: the report's numbers, "steps" (unless by_op) and "types", each of which has
/// "kernels".
std::string profile_json(const ProfileReport& report, const ProfileView& view);

/// "convolution/winograd_4x4+bias" in its parts; those that are not there are empty.
struct KernelName {
  std::string kernel;
  std::string algorithm;
  /// What is computed with it: "(scale+shift)+bias+activation", in brackets what comes first.
  std::string fused;
};
KernelName split_kernel_name(const std::string& name);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_PROFILE_REPORT_H_
