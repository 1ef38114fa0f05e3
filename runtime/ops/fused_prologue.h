// A convolution together with what comes before it, which no IR contains; passes make it.
#ifndef RUNTIME_OPS_FUSED_PROLOGUE_H_
#define RUNTIME_OPS_FUSED_PROLOGUE_H_

#include <array>
#include <cstdint>
#include <limits>

#include "runtime/ops/fused.h"

namespace ir::op {

/// What happens to the image of a convolution: clamp(image * scale + shift, low, high), absent parts left
/// out. Scale and shift are the last inputs of the operation, in this order.
struct FusedHead {
  enum class Scale : std::uint8_t {
    none,
    constant,  ///< a constant vector with one number per channel
    computed,  ///< a tensor [N or 1, channels, 1, ...] of the image's rank
  };
  Scale scale = Scale::none;
  bool shift = false;  ///< a constant vector with one number per channel
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  [[nodiscard]] bool clamps() const {
    return low != -std::numeric_limits<float>::infinity() || high != std::numeric_limits<float>::infinity();
  }
  [[nodiscard]] bool is_empty() const { return scale == Scale::none && !shift && !clamps(); }
};

/// A convolution with a head, on f32. Inputs: those of the convolution, then the head's. Output as the
/// convolution's, whose batch is that of image and computed scale, broadcast.
struct FusedPrologueConvolution {
  static constexpr OpInfo info{.type = "FusedPrologueConvolution",
                               .family = "fused",
                               .summary = "A convolution and what is done to its image before, in one.",
                               .packs_weights = true};
  FusedConvolution convolution;
  FusedHead head;

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_FUSED_PROLOGUE_H_
