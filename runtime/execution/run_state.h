// A run of a plan: where its values are, and what steps are prepared for that wait for data.
#ifndef RUNTIME_EXECUTION_RUN_STATE_H_
#define RUNTIME_EXECUTION_RUN_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/weights/shared_packing.h"
#include "runtime/execution/executable.h"
#include "runtime/execution/plan.h"
#include "runtime/execution/variables.h"
#include "runtime/types/memory_pool.h"

namespace ir {

/// Memory and intermediate results of one run at a time of one plan.
class RunState {
 public:
  /// `variables` may be null when the plan neither reads nor assigns any; else they must outlive the state.
  /// `arena` is used where it is large enough.
  RunState(std::shared_ptr<const Plan> plan, const CompileOptions& options, Variables* variables,
           Tensor arena = {});

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  /// For a state that does not run any more: the next one may have it, whatever its plan.
  [[nodiscard]] Tensor take_arena() { return std::move(arena_); }
  /// Runs the plan on these inputs, whose types and shapes are those of the plan.
  void run(std::span<const Tensor> inputs);
  /// Output of the last run. Static outputs keep their memory from run to run.
  [[nodiscard]] const Tensor& output(std::size_t index) const { return outputs_[index]; }

  void set_profiling(bool on) { profiling_ = on; }
  [[nodiscard]] std::vector<StepProfile> profile() const;

 private:
  void* address_of(const Place& place, std::span<const Tensor> inputs);
  Tensor tensor_of(ValueId id, std::span<const Tensor> inputs);
  void part_from(std::span<const Tensor> inputs);
  void run_step(std::size_t index, std::span<const Tensor> inputs);
  void run_fixed(const PlanStep& step, std::span<const Tensor> inputs);
  void run_with_data(const PlanStep& step, std::size_t index, std::span<const Tensor> inputs);
  void read_variable(const PlanStep& step, std::span<const Tensor> inputs);
  void assign_variable(const PlanStep& step, std::span<const Tensor> inputs);
  Tensor first_value(const PlanStep& step, std::span<const Tensor> inputs);
  void finish_outputs(std::span<const Tensor> inputs);
  [[nodiscard]] double bytes_of(ValueId id) const;

  // Makes bodies that work on the same variables, and share packed constants with the plan.
  class Bodies final : public PlanServices {
   public:
    Bodies(const CompileOptions& options, Variables* variables, const Plan& plan)
        : options_(options), variables_(variables), whole_floats_(plan.whole_floats), forms_(plan.forms) {}
    [[nodiscard]] bool accurate() const override { return is_accurate(options_); }
    [[nodiscard]] bool whole_floats() const override { return whole_floats_; }
    [[nodiscard]] std::size_t quantised_terms() const override { return quantised_terms_of(options_); }
    [[nodiscard]] bool has_other_plans() const override { return true; }
    [[nodiscard]] ByteLimit table_limit() const override { return activation_limit(options_); }
    std::unique_ptr<BodyRunner> compile(const std::shared_ptr<const Model>& body) override;

   private:
    CompileOptions options_;
    Variables* variables_;
    bool whole_floats_;
    std::shared_ptr<kernels::SharedForms> forms_;
  };

  // A deferred step as it was prepared for the shapes it met last.
  struct Prepared {
    std::vector<Shape> inputs;
    std::vector<ValueInfo> outputs;
    PreparedKernel kernel;
  };
  struct Results {
    std::vector<Tensor> tensors;
    bool shared = false;  ///< their memory is the inputs'
  };
  Results run_deferred(const PlanStep& step, Prepared& prepared, std::span<const Tensor> inputs);
  std::vector<Tensor> append(const PlanStep& step, const Prepared& prepared, std::span<const Tensor> inputs);
  std::vector<Tensor> run_once(const PlanStep& step, std::span<const Tensor> inputs);
  [[nodiscard]] std::vector<Tensor> views_of(const PlanStep& step, const Prepared& prepared,
                                             std::span<const Tensor> inputs) const;
  void put_in_slot(std::size_t slot, Tensor value, bool shared);
  void check_sizes(const Node& node, std::span<const ValueInfo> outputs) const;

  std::shared_ptr<const Plan> plan_;
  Variables* variables_;
  Bodies bodies_;
  /// For values in slots; null where memory is limited.
  std::unique_ptr<MemoryPool> pool_;
  Tensor arena_;
  std::vector<Tensor> outputs_;
  std::vector<Tensor> slots_;
  /// Whether the memory of a slot is that of another one, or of a variable: who takes it must copy.
  std::vector<bool> slot_shares_;
  std::int64_t slot_bytes_ = 0;
  std::vector<Prepared> prepared_;
  std::vector<const void*> in_addresses_;
  std::vector<void*> out_addresses_;
  bool profiling_ = false;
  // Of each step, in the last run with profiling.
  struct Cost {
    double milliseconds = 0;
    int threads = 0;
  };
  std::vector<Cost> costs_;
};

}  // namespace ir

#endif  // RUNTIME_EXECUTION_RUN_STATE_H_
