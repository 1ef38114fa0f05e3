// One run of a Loop or TensorIterator.
#ifndef RUNTIME_OPS_LOOP_RUN_H_
#define RUNTIME_OPS_LOOP_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir_runtime/subgraph.h"
#include "runtime/ops/iteration_slices.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// The one truth value or number in a tensor of an integer type or boolean. Throws Error `IR-value` when it
/// has more or fewer elements; messages call it `what`.
std::int64_t number_in(const Tensor& tensor, std::string_view what);

/// A result of a body as an output of the node: in memory of its own, also where it is another output, too.
Tensor output_of(std::span<const Tensor> results, std::size_t result);

/// What ends a loop besides its slices.
struct LoopEnd {
  /// Negative: no bound.
  std::int64_t trips = -1;
  /// False: there is no (further) iteration.
  bool go_on = true;
};

/// The input that a value which goes round starts with; null when `result` does not go round.
const Subgraph::Input* first_value(const Subgraph& body, std::size_t result);

/// A run of a Loop or TensorIterator, whose port map inference has checked.
class LoopRun {
 public:
  /// `inputs` are those of the node, `end` what these say before the first iteration. Where nothing bounds
  /// the trips, slices do. Body and inputs must outlive the run.
  LoopRun(const Subgraph& body, std::span<const Tensor> inputs, LoopEnd end);

  /// The outputs of the node; `outputs` is what inference knows of them, for those that nothing computes.
  /// Throws Error `IR-value` when the body's condition is no single element, when iterations want more slices
  /// than an input has or give parts that do not fit together, and `IR-limit` when the budget is used up.
  std::vector<Tensor> run(BodyRunner& runner, std::span<const ValueInfo> outputs);

 private:
  void keep(const Tensor& result);
  void set_parameters(std::int64_t iteration);
  [[nodiscard]] Tensor output(const Subgraph::Output& output, std::span<const Tensor> parts,
                              const ValueInfo& declared) const;

  const Subgraph& body_;
  std::span<const Tensor> inputs_;
  LoopEnd end_;
  /// Of the body, in the next iteration.
  std::vector<Tensor> parameters_;
  /// One per entry of the port map's inputs, where these are cut.
  std::vector<std::optional<IterationSlices>> slices_;
  /// Of the last iteration; empty before the first.
  std::vector<Tensor> results_;
  std::int64_t kept_bytes_ = 0;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_LOOP_RUN_H_
