// Images resized along any axes.
#ifndef IR_RUNTIME_OPS_INTERPOLATE_H_
#define IR_RUNTIME_OPS_INTERPOLATE_H_

#include <array>
#include <vector>

#include "ir_runtime/op.h"

namespace ir::op {

/// How elements are computed from their neighbours, in opset1.
enum class InterpolateMode1 : int { nearest, linear, cubic, area };
inline constexpr std::array kInterpolateMode1Spellings{
    Spelling{static_cast<int>(InterpolateMode1::nearest), "nearest"},
    Spelling{static_cast<int>(InterpolateMode1::linear), "linear"},
    Spelling{static_cast<int>(InterpolateMode1::cubic), "cubic"},
    Spelling{static_cast<int>(InterpolateMode1::area), "area"},
};
constexpr std::span<const Spelling> spellings_of(InterpolateMode1) { return kInterpolateMode1Spellings; }

/// Since opset4; the two modes of Pillow since opset11.
enum class InterpolateMode : int { nearest, linear, linear_onnx, cubic, bilinear_pillow, bicubic_pillow };
inline constexpr std::array kInterpolateModeSpellings{
    Spelling{static_cast<int>(InterpolateMode::nearest), "nearest"},
    Spelling{static_cast<int>(InterpolateMode::linear), "linear"},
    Spelling{static_cast<int>(InterpolateMode::linear_onnx), "linear_onnx"},
    Spelling{static_cast<int>(InterpolateMode::cubic), "cubic"},
    Spelling{static_cast<int>(InterpolateMode::bilinear_pillow), "bilinear_pillow"},
    Spelling{static_cast<int>(InterpolateMode::bicubic_pillow), "bicubic_pillow"},
};
constexpr std::span<const Spelling> spellings_of(InterpolateMode) { return kInterpolateModeSpellings; }

/// What gives the size of the output.
enum class ShapeCalculation : int { sizes, scales };
inline constexpr std::array kShapeCalculationSpellings{
    Spelling{static_cast<int>(ShapeCalculation::sizes), "sizes"},
    Spelling{static_cast<int>(ShapeCalculation::scales), "scales"},
};
constexpr std::span<const Spelling> spellings_of(ShapeCalculation) { return kShapeCalculationSpellings; }

/// How a coordinate x of the output becomes one of the input, for scale s: (x + 0.5) / s - 0.5; the same, but
/// 0 for an output of one element; x / s; (x + 0.5) / s; x * (in - 1) / (out - 1).
enum class CoordinateMode : int {
  half_pixel,
  pytorch_half_pixel,
  asymmetric,
  tf_half_pixel_for_nn,
  align_corners
};
inline constexpr std::array kCoordinateModeSpellings{
    Spelling{static_cast<int>(CoordinateMode::half_pixel), "half_pixel"},
    Spelling{static_cast<int>(CoordinateMode::pytorch_half_pixel), "pytorch_half_pixel"},
    Spelling{static_cast<int>(CoordinateMode::asymmetric), "asymmetric"},
    Spelling{static_cast<int>(CoordinateMode::tf_half_pixel_for_nn), "tf_half_pixel_for_nn"},
    Spelling{static_cast<int>(CoordinateMode::align_corners), "align_corners"},
};
constexpr std::span<const Spelling> spellings_of(CoordinateMode) { return kCoordinateModeSpellings; }

/// How a coordinate is rounded to that of the nearest element. simple: up when the image shrinks, else down.
enum class NearestMode : int { round_prefer_floor, round_prefer_ceil, floor, ceil, simple };
inline constexpr std::array kNearestModeSpellings{
    Spelling{static_cast<int>(NearestMode::round_prefer_floor), "round_prefer_floor"},
    Spelling{static_cast<int>(NearestMode::round_prefer_ceil), "round_prefer_ceil"},
    Spelling{static_cast<int>(NearestMode::floor), "floor"},
    Spelling{static_cast<int>(NearestMode::ceil), "ceil"},
    Spelling{static_cast<int>(NearestMode::simple), "simple"},
};
constexpr std::span<const Spelling> spellings_of(NearestMode) { return kNearestModeSpellings; }

/// Attributes of Interpolate since opset4.
struct InterpolateAttributes {
  InterpolateMode mode = InterpolateMode::nearest;
  ShapeCalculation shape_calculation_mode = ShapeCalculation::sizes;
  CoordinateMode coordinate_transformation_mode = CoordinateMode::half_pixel;
  NearestMode nearest_mode = NearestMode::round_prefer_floor;
  bool antialias = false;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;
  double cube_coeff = -0.75;
};

namespace detail {

template <class T>
constexpr auto interpolate_fields(std::span<const Spelling> modes) {
  Field mode = required<&T::mode>("mode", "How elements are computed from their neighbours.");
  mode.spellings = modes;
  return std::array{
      mode,
      required<&T::shape_calculation_mode>("shape_calculation_mode", "What gives the size of the output."),
      optional<&T::coordinate_transformation_mode>(
          "coordinate_transformation_mode", "How coordinates of the output become those of the input."),
      optional<&T::nearest_mode>("nearest_mode", "How coordinates are rounded in mode nearest."),
      optional<&T::antialias>("antialias", "Whether a shrinking image is smoothed, in mode linear."),
      optional<&T::pads_begin>("pads_begin", "Zeros before each axis; axes without a number get none.",
                               at_least(0)),
      optional<&T::pads_end>("pads_end", "Zeros after each axis; axes without a number get none.",
                             at_least(0)),
      optional<&T::cube_coeff>("cube_coeff", "The parameter a of the cubic kernel."),
  };
}

}  // namespace detail

namespace v0 {

/// Resizes `axes` of input 0, ascending, to the sizes of input 1, an integer vector. Modes: see v4; linear
/// means linear_onnx up to rank 4 and linear for rank 5; nearest rounds as `simple`.
struct Interpolate {
  static constexpr OpInfo info{.type = "Interpolate",
                               .last_opset = 3,
                               .family = "image",
                               .summary = "An image resized to given sizes."};
  std::vector<std::int64_t> axes;
  InterpolateMode1 mode = InterpolateMode1::nearest;
  bool align_corners = true;
  bool antialias = false;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;
  static constexpr auto fields() {
    return std::array{
        required<&Interpolate::axes>(
            "axes", "Axes to resize, a set: input 1 has the sizes in the order of the image's axes.",
            at_least(0)),
        required<&Interpolate::mode>("mode", "How elements are computed from their neighbours."),
        optional<&Interpolate::align_corners>("align_corners",
                                              "Whether the corners of both images coincide."),
        optional<&Interpolate::antialias>("antialias", "Whether a shrinking image is smoothed."),
        optional<&Interpolate::pads_begin>(
            "pads_begin",
            "Zeros before the resized axes: one number for all, or one for each axis of the input.",
            at_least(0)),
        optional<&Interpolate::pads_end>(
            "pads_end",
            "Zeros after the resized axes: one number for all, or one for each axis of the input.",
            at_least(0)),
        ignored("factor", "Written by old converters; input 1 says it."),
        ignored("height", "Written by old converters; input 1 says it."),
        ignored("width", "Written by old converters; input 1 says it."),
        ignored("shrink_factor", "Written by old converters; input 1 says it."),
        ignored("zoom_factor", "Written by old converters; input 1 says it."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v4 {

/// Resizes axes of input 0. Inputs: data of any rank and numeric type; sizes, an integer vector; scales, a
/// floating-point vector; (optional, all) axes, an integer vector of distinct axes. With sizes, entry i gives
/// the size of axes[i]; with scales, floor(scale * padded size). Other axes keep their padded size.
struct Interpolate : InterpolateAttributes {
  static constexpr OpInfo info{.type = "Interpolate",
                               .first_opset = 4,
                               .last_opset = 10,
                               .family = "image",
                               .summary = "An image resized to given sizes or by given scales."};
  static constexpr auto fields() {
    return detail::interpolate_fields<Interpolate>(std::span(kInterpolateModeSpellings).first(4));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v4

namespace v11 {

/// As v4::Interpolate with two inputs less to give: input 1 holds sizes or scales, input 2 (optional) axes.
/// The Pillow modes resize two axes and smooth as Pillow does, whatever coordinates and antialias say.
struct Interpolate : InterpolateAttributes {
  static constexpr OpInfo info{
      .type = "Interpolate",
      .first_opset = 11,
      .family = "image",
      .summary = "An image resized to given sizes or by given scales, also as Pillow does."};
  static constexpr auto fields() {
    return detail::interpolate_fields<Interpolate>(kInterpolateModeSpellings);
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v11
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_INTERPOLATE_H_
