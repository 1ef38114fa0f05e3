// Sampling of regions of feature maps without rounding: ROIAlign and what is built upon it.
#ifndef IR_RUNTIME_OPS_ROI_ALIGN_H_
#define IR_RUNTIME_OPS_ROI_ALIGN_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// What becomes of the samples of a bin.
enum class RoiAlignMode : int { avg, max };
inline constexpr std::array kRoiAlignModeSpellings{
    Spelling{static_cast<int>(RoiAlignMode::avg), "avg"},
    Spelling{static_cast<int>(RoiAlignMode::max), "max"},
};
constexpr std::span<const Spelling> spellings_of(RoiAlignMode) { return kRoiAlignModeSpellings; }

/// Where x of the image is in the map.
enum class RoiAlignedMode : int {
  asymmetric,         ///< x * spatial_scale; regions are at least 1 wide and high
  half_pixel_for_nn,  ///< x * spatial_scale - 0.5
  half_pixel,         ///< (x + 0.5) * spatial_scale - 0.5
};
inline constexpr std::array kRoiAlignedModeSpellings{
    Spelling{static_cast<int>(RoiAlignedMode::asymmetric), "asymmetric"},
    Spelling{static_cast<int>(RoiAlignedMode::half_pixel_for_nn), "half_pixel_for_nn"},
    Spelling{static_cast<int>(RoiAlignedMode::half_pixel), "half_pixel"},
};
constexpr std::span<const Spelling> spellings_of(RoiAlignedMode) { return kRoiAlignedModeSpellings; }

/// Attributes of ROIAlign and ROIAlignRotated.
struct RoiAlignAttributes {
  std::int64_t pooled_h = 0;
  std::int64_t pooled_w = 0;
  std::int64_t sampling_ratio = 0;
  double spatial_scale = 0;
};

/// The time that a region takes grows with its square.
inline constexpr std::int64_t kMaxSamplingRatio = 1024;

namespace detail {

template <class Op, class... More>
constexpr auto roi_align_fields(More... more) {
  return std::array{
      required<&Op::pooled_h>("pooled_h", "Bins along y.", at_least(1)),
      required<&Op::pooled_w>("pooled_w", "Bins along x.", at_least(1)),
      required<&Op::sampling_ratio>("sampling_ratio",
                                    "Samples of a bin along each axis; 0: the size of the bin, rounded up.",
                                    between(0, kMaxSamplingRatio)),
      required<&Op::spatial_scale>("spatial_scale", "Size of the map over size of the image."),
      more...,
  };
}

}  // namespace detail

namespace v3 {

/// Samples the bins of regions. Inputs: feature maps [N, C, H, W] and regions [R, 4] of x_1, y_1, x_2, y_2,
/// of one real type, and batch indices [R] of any integer type. Output [R, C, pooled_h, pooled_w]. Mode max
/// gives at least 0, as OpenVINO's reference code does. Definition: ROIAlign-3.
struct ROIAlign : RoiAlignAttributes {
  static constexpr OpInfo info{.type = "ROIAlign",
                               .first_opset = 3,
                               .last_opset = 8,
                               .family = "detection",
                               .summary = "Samples the bins of regions."};
  RoiAlignMode mode = RoiAlignMode::avg;
  static constexpr auto fields() {
    return detail::roi_align_fields<ROIAlign>(
        required<&ROIAlign::mode>("mode", "What becomes of the samples of a bin."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v6 {

/// Samples each region from the level of a feature pyramid that fits its size. Inputs of one real type:
/// regions [R, 4] of x_1, y_1, x_2, y_2, then a map [1, C, H, W] for each level. Outputs: [R, C, output_size,
/// output_size] and the regions as they are. Regions without area give zeros. Definition:
/// ExperimentalDetectronROIFeatureExtractor-6; as in OpenVINO's reference code, regions keep their order.
struct ExperimentalDetectronROIFeatureExtractor {
  static constexpr OpInfo info{.type = "ExperimentalDetectronROIFeatureExtractor",
                               .first_opset = 6,
                               .family = "detection",
                               .summary = "Samples regions from the fitting level of a feature pyramid."};
  std::int64_t output_size = 0;
  std::int64_t sampling_ratio = 0;
  std::vector<std::int64_t> pyramid_scales;
  bool aligned = false;
  static constexpr auto fields() {
    using Op = ExperimentalDetectronROIFeatureExtractor;
    return std::array{
        required<&Op::output_size>("output_size", "Bins along each axis.", at_least(1)),
        required<&Op::sampling_ratio>("sampling_ratio",
                                      "Samples of a bin along each axis; 0: the size of the bin, rounded up.",
                                      between(0, kMaxSamplingRatio)),
        required<&Op::pyramid_scales>("pyramid_scales", "Size of the image over size of the map, per level.",
                                      at_least(1)),
        optional<&Op::aligned>("aligned", "Whether regions are moved by half an element."),
        ignored("distribute_rois_between_levels", "Written by old converters; always so."),
        ignored("image_id", "Written by old converters; there is one image."),
        ignored("preserve_rois_order", "Written by old converters; always so."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v6

namespace v9 {

/// As v3::ROIAlign, with a choice of where coordinates lie. Definition: ROIAlign-9.
struct ROIAlign : RoiAlignAttributes {
  static constexpr OpInfo info{
      .type = "ROIAlign", .first_opset = 9, .family = "detection", .summary = "Samples the bins of regions."};
  RoiAlignMode mode = RoiAlignMode::avg;
  RoiAlignedMode aligned_mode = RoiAlignedMode::asymmetric;
  static constexpr auto fields() {
    return detail::roi_align_fields<ROIAlign>(
        required<&ROIAlign::mode>("mode", "What becomes of the samples of a bin."),
        optional<&ROIAlign::aligned_mode>("aligned_mode", "Where a coordinate of the image is in the map."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v9

namespace v15 {

/// Averages samples of the bins of turned regions. Inputs as ROIAlign, regions [R, 5] of center_x, center_y,
/// width, height and angle in radians. Output [R, C, pooled_h, pooled_w]. Definition: ROIAlignRotated-15.
struct ROIAlignRotated : RoiAlignAttributes {
  static constexpr OpInfo info{.type = "ROIAlignRotated",
                               .first_opset = 15,
                               .family = "detection",
                               .summary = "Samples the bins of turned regions."};
  bool clockwise_mode = false;
  static constexpr auto fields() {
    return detail::roi_align_fields<ROIAlignRotated>(
        optional<&ROIAlignRotated::clockwise_mode>("clockwise_mode", "Whether angles count clockwise."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v15
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_ROI_ALIGN_H_
