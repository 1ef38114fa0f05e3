// Convolution of which data displaces the taps.
#ifndef IR_RUNTIME_OPS_DEFORMABLE_CONVOLUTION_H_
#define IR_RUNTIME_OPS_DEFORMABLE_CONVOLUTION_H_

#include "ir_runtime/ops/convolution.h"

namespace ir::op {

/// Attributes of every version of DeformableConvolution.
struct DeformableConvolutionAttributes : ConvolutionAttributes {
  std::int64_t group = 1;
  std::int64_t deformable_group = 1;
};

namespace detail {

template <class Convolution, class... More>
constexpr auto deformable_convolution_fields(More... more) {
  return convolution_fields<Convolution>(
      optional<&Convolution::group>(
          "group", "Parts of the channels that are convolved with filters of their own.", at_least(1)),
      optional<&Convolution::deformable_group>(
          "deformable_group", "Parts of the input channels that have offsets of their own.", at_least(1)),
      more...);
}

}  // namespace detail

namespace v1 {

/// Convolution over two axes that reads its taps beside their places. Inputs, all of one numeric type: image
/// [N, C_IN, Y, X]; offsets [N, deformable_group * KY * KX * 2, OY, OX], for each tap along y, then along x;
/// filters [C_OUT, C_IN / group, KY, KX]. Output [N, C_OUT, OY, OX]. Between pixels the image is interpolated
/// bilinearly; before its first and behind its last pixel by one or more it is zero. The last pixel goes on
/// for less than one. Definition: DeformableConvolution-1.
struct DeformableConvolution : DeformableConvolutionAttributes {
  static constexpr OpInfo info{.type = "DeformableConvolution",
                               .last_opset = 7,
                               .family = "convolution",
                               .summary = "Convolution of which data displaces the taps.",
                               .packs_weights = true};
  static constexpr auto fields() { return detail::deformable_convolution_fields<DeformableConvolution>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v8 {

/// As v1, with a mask [N, deformable_group * KY * KX, OY, OX] as an optional fourth input, which scales what
/// each tap reads, and a choice of what lies less than one pixel outside of the image. Definition:
/// DeformableConvolution-8.
struct DeformableConvolution : DeformableConvolutionAttributes {
  static constexpr OpInfo info{.type = "DeformableConvolution",
                               .first_opset = 8,
                               .family = "convolution",
                               .summary = "Convolution of which data displaces and scales the taps.",
                               .packs_weights = true};
  bool bilinear_interpolation_pad = false;

  static constexpr auto fields() {
    return detail::deformable_convolution_fields<DeformableConvolution>(
        optional<&DeformableConvolution::bilinear_interpolation_pad>(
            "bilinear_interpolation_pad",
            "Whether less than one pixel outside of the image is between its edge and zero."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_DEFORMABLE_CONVOLUTION_H_
