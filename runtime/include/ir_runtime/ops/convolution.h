// Convolution and its transpose, plain and in groups.
#ifndef IR_RUNTIME_OPS_CONVOLUTION_H_
#define IR_RUNTIME_OPS_CONVOLUTION_H_

#include <array>

#include "ir_runtime/ops/attributes.h"

namespace ir::op {

/// Attributes that every convolution of the opsets has, one list entry per spatial axis.
struct ConvolutionAttributes {
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;
  AutoPad auto_pad = AutoPad::explicit_;
};

/// Attributes of a transposed convolution. Pads cut off elements of the output, output padding adds some at
/// its end.
struct TransposedConvolutionAttributes : ConvolutionAttributes {
  std::vector<std::int64_t> output_padding;
};

namespace detail {

template <class Convolution, class... More>
constexpr auto convolution_fields(More... more) {
  return std::array{
      required<&Convolution::strides>("strides", "Step of the filter.", at_least(1)),
      required<&Convolution::dilations>("dilations", "Distance between the filter's elements.", at_least(1)),
      required<&Convolution::pads_begin>(
          "pads_begin", "Padding before the first element; ignored unless auto_pad is explicit.",
          at_least(0)),
      required<&Convolution::pads_end>(
          "pads_end", "Padding after the last element; ignored unless auto_pad is explicit.", at_least(0)),
      optional<&Convolution::auto_pad>("auto_pad", "How pads are derived."),
      more...,
  };
}

template <class Convolution>
constexpr auto forward_convolution_fields() {
  return convolution_fields<Convolution>(
      ignored("output_padding", "Written by old converters; only transposed convolutions have one."));
}

template <class Convolution>
constexpr auto transposed_convolution_fields() {
  return convolution_fields<Convolution>(optional<&Convolution::output_padding>(
      "output_padding", "Elements added at the end of the output; zeros when absent.", at_least(0)));
}

}  // namespace detail

namespace v1 {

/// Cross-correlation. Inputs: image [N, C_IN, spatial...] with 1 to 3 spatial axes, filters [C_OUT, C_IN,
/// window...]; both of one numeric type, which is the output's. Output [N, C_OUT, windows...].
struct Convolution : ConvolutionAttributes {
  static constexpr OpInfo info{.type = "Convolution",
                               .family = "convolution",
                               .summary = "Convolution over one to three spatial axes.",
                               .packs_weights = true};
  static constexpr auto fields() { return detail::forward_convolution_fields<Convolution>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Convolution of each of G parts of the channels with filters of its own. Inputs: image [N, G * C_IN,
/// spatial...], filters [G, C_OUT, C_IN, window...]. Output [N, G * C_OUT, windows...].
struct GroupConvolution : ConvolutionAttributes {
  static constexpr OpInfo info{.type = "GroupConvolution",
                               .family = "convolution",
                               .summary = "Convolution of groups of channels.",
                               .packs_weights = true};
  static constexpr auto fields() { return detail::forward_convolution_fields<GroupConvolution>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The transpose of Convolution: each element of the image is spread over a window. Inputs: image [N, C_IN,
/// spatial...], filters [C_IN, C_OUT, window...] and, optionally, the output's spatial dims (1-D, any integer
/// type), which then decide what is cut off at the end, with auto_pad same_* at both ends. Output
/// [N, C_OUT, spatial...].
struct ConvolutionBackpropData : TransposedConvolutionAttributes {
  static constexpr OpInfo info{.type = "ConvolutionBackpropData",
                               .family = "convolution",
                               .summary = "Transposed convolution over one to three spatial axes.",
                               .packs_weights = true};
  static constexpr auto fields() { return detail::transposed_convolution_fields<ConvolutionBackpropData>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// ConvolutionBackpropData of each of G parts of the channels. Inputs: image [N, G * C_IN, spatial...],
/// filters [G, C_IN, C_OUT, window...], optionally the output's spatial dims. Output [N, G * C_OUT,
/// spatial...].
struct GroupConvolutionBackpropData : TransposedConvolutionAttributes {
  static constexpr OpInfo info{.type = "GroupConvolutionBackpropData",
                               .family = "convolution",
                               .summary = "Transposed convolution of groups of channels.",
                               .packs_weights = true};
  static constexpr auto fields() {
    return detail::transposed_convolution_fields<GroupConvolutionBackpropData>();
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace ngraph {

/// nGraph's Convolution. Inputs: image batch [N, C_IN, d_1, ..., d_n], filters [C_OUT, C_IN, df_1, ...,
/// df_n], n >= 1, of one numeric type. The image is dilated, then padded (cropped where a pad is negative);
/// the dilated filter must fit into that. Output [N, C_OUT, windows...]. Empty lists mean: strides and
/// dilations of 1, pads of 0.
struct Convolution {
  static constexpr OpInfo info{.type = "Convolution",
                               .first_opset = 0,
                               .last_opset = 0,
                               .family = "convolution",
                               .summary = "nGraph's convolution over any number of spatial axes.",
                               .packs_weights = true};
  std::vector<std::int64_t> window_movement_strides;
  std::vector<std::int64_t> window_dilation_strides;
  std::vector<std::int64_t> padding_below;
  std::vector<std::int64_t> padding_above;
  std::vector<std::int64_t> data_dilation_strides;
  AutoPad pad_type = AutoPad::explicit_;

  Convolution() = default;
  explicit Convolution(std::vector<std::int64_t> strides, std::vector<std::int64_t> dilations = {},
                       std::vector<std::int64_t> below = {}, std::vector<std::int64_t> above = {},
                       std::vector<std::int64_t> data_dilations = {}, AutoPad type = AutoPad::explicit_)
      : window_movement_strides(std::move(strides)),
        window_dilation_strides(std::move(dilations)),
        padding_below(std::move(below)),
        padding_above(std::move(above)),
        data_dilation_strides(std::move(data_dilations)),
        pad_type(type) {}

  static constexpr auto fields() {
    return std::array{
        optional<&Convolution::window_movement_strides>("window_movement_strides",
                                                        "Step of the filter; ones when absent.", at_least(1)),
        optional<&Convolution::window_dilation_strides>("window_dilation_strides",
                                                        "Distance between the filter's elements; ones when "
                                                        "absent.",
                                                        at_least(1)),
        optional<&Convolution::padding_below>(
            "padding_below", "Padding before the first element, negative to crop; zeros when absent."),
        optional<&Convolution::padding_above>(
            "padding_above", "Padding after the last element, negative to crop; zeros when absent."),
        optional<&Convolution::data_dilation_strides>("data_dilation_strides",
                                                      "Distance between the image's elements before padding; "
                                                      "ones when absent.",
                                                      at_least(1)),
        optional<&Convolution::pad_type>("pad_type", "How pads are derived."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ngraph
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_CONVOLUTION_H_
