// Layer normalisation in one operation, which no IR contains; passes make it.
#ifndef RUNTIME_OPS_LAYER_NORM_H_
#define RUNTIME_OPS_LAYER_NORM_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// (x - mean) / sqrt(variance + eps) over the last axis, times scale, plus shift; where it is not centered
/// x / sqrt(mean of squares + eps). Inputs, all of f32: x of rank 1 or more, then the vectors that there are,
/// as long as the last axis: scale, shift. Output as x.
struct LayerNorm {
  static constexpr OpInfo info{.type = "LayerNorm",
                               .family = "fused",
                               .summary = "Normalisation over the last axis, scaled and shifted."};
  double eps = 0;
  bool centered = true;
  bool scale = false;
  bool shift = false;

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_LAYER_NORM_H_
