// A depthwise convolution with the 1x1 convolutions around it, which no IR contains; passes make it.
#ifndef RUNTIME_OPS_FUSED_SEPARABLE_H_
#define RUNTIME_OPS_FUSED_SEPARABLE_H_

#include <array>
#include <optional>
#include <vector>

#include "runtime/ops/fused.h"

namespace ir::op {

/// Convolutions in a chain, on f32, or u8 where that means levels. Inputs: the image [N, C, spatial...] with
/// one or two spatial axes; of each stage the constant filters and, if its tail has one, the constant bias;
/// the residual of the last stage's tail, if there is one. Output as the last stage's.
struct FusedSeparable {
  static constexpr OpInfo info{.type = "FusedSeparableConvolution",
                               .family = "fused",
                               .summary = "A depthwise convolution and 1x1 convolutions around it, in one.",
                               .packs_weights = true};
  std::optional<FusedConvolution> expansion;   ///< one tap of stride 1, unpadded
  FusedGroupConvolution depthwise;             ///< one input and one output channel per group
  std::optional<FusedConvolution> projection;  ///< as the expansion
  /// What the values are that the depthwise stage gets: of all channels, or of each; empty: unknown. Of 1x1
  /// stages, their input_grid says it.
  std::vector<kernels::IntegerGrid> depthwise_grids = {};

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_FUSED_SEPARABLE_H_
