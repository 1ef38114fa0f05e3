// Element-wise operations in one step, which no IR contains; passes make it.
#ifndef RUNTIME_OPS_FUSED_ELEMENTWISE_H_
#define RUNTIME_OPS_FUSED_ELEMENTWISE_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "ir_runtime/op.h"
#include "kernels/elementwise/elementwise_chain.h"

namespace ir::op {

/// Functions on f32 (or levels of f32 that are u8), each of inputs and results of functions before it, which
/// broadcast by the NumPy rule. The output is the last result. Right for all shapes that match; limits as
/// those of kernels::ElementwiseChain, where an input of which the shape is not known counts as a tensor.
struct FusedElementwise {
  static constexpr OpInfo info{.type = "FusedElementwise",
                               .family = "fused",
                               .summary = "Element-wise operations, one after the other, in one."};
  std::size_t inputs = 0;
  std::vector<kernels::ElementwiseStage> stages;
  /// The types of the operations that the stages were, for profiles and errors.
  std::vector<std::string_view> types;
  kernels::ChainLevels levels;

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_FUSED_ELEMENTWISE_H_
