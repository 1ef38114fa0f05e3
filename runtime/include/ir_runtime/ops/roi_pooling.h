// Pooling of regions of feature maps into bins, with and without sensitivity to the bin's position.
#ifndef IR_RUNTIME_OPS_ROI_POOLING_H_
#define IR_RUNTIME_OPS_ROI_POOLING_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// What ROIPooling makes of a bin.
enum class RoiPoolingMethod : int {
  max,       ///< its maximum; coordinates in pixels of the image
  bilinear,  ///< one sample; coordinates as fractions of the map
};
inline constexpr std::array kRoiPoolingMethodSpellings{
    Spelling{static_cast<int>(RoiPoolingMethod::max), "max"},
    Spelling{static_cast<int>(RoiPoolingMethod::bilinear), "bilinear"},
};
constexpr std::span<const Spelling> spellings_of(RoiPoolingMethod) { return kRoiPoolingMethodSpellings; }

/// What PSROIPooling makes of a bin.
enum class PsRoiPoolingMode : int {
  average,   ///< its mean; coordinates in pixels of the image
  bilinear,  ///< the mean of a sample of each part; coordinates as fractions of the map
};
inline constexpr std::array kPsRoiPoolingModeSpellings{
    Spelling{static_cast<int>(PsRoiPoolingMode::average), "average"},
    Spelling{static_cast<int>(PsRoiPoolingMode::bilinear), "bilinear"},
};
constexpr std::span<const Spelling> spellings_of(PsRoiPoolingMode) { return kPsRoiPoolingModeSpellings; }

/// What DeformablePSROIPooling makes of a bin.
enum class DeformablePsRoiPoolingMode : int { bilinear_deformable };
inline constexpr std::array kDeformablePsRoiPoolingModeSpellings{
    Spelling{static_cast<int>(DeformablePsRoiPoolingMode::bilinear_deformable), "bilinear_deformable"},
};
constexpr std::span<const Spelling> spellings_of(DeformablePsRoiPoolingMode) {
  return kDeformablePsRoiPoolingModeSpellings;
}

namespace v0 {

/// Pools regions into bins. Inputs of one real type: feature maps [N, C, H, W], regions [R, 5] of batch
/// index, x_1, y_1, x_2, y_2. Output [R, C, pooled_h, pooled_w]. A region of batch -1, as Proposal writes it
/// behind its last box, ends the list: the rest is zeros. Definition: ROIPooling-1; borders of bins are those
/// of OpenVINO's reference code.
struct ROIPooling {
  static constexpr OpInfo info{
      .type = "ROIPooling", .first_opset = 2, .family = "detection", .summary = "Pools regions into bins."};
  std::int64_t pooled_h = 0;
  std::int64_t pooled_w = 0;
  double spatial_scale = 0;
  RoiPoolingMethod method = RoiPoolingMethod::max;
  static constexpr auto fields() {
    using Op = ROIPooling;
    return std::array{
        required<&Op::pooled_h>("pooled_h", "Bins along y.", at_least(1)),
        required<&Op::pooled_w>("pooled_w", "Bins along x.", at_least(1)),
        required<&Op::spatial_scale>("spatial_scale", "Size of the map over size of the image; used by max."),
        optional<&Op::method>("method", "What becomes of a bin, and what coordinates are."),
        ignored("output_size", "OpenVINO writes pooled_h and pooled_w a second time."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Pools regions into bins, each from channels of its own. Inputs of real types: feature maps [N, C, H, W],
/// regions as ROIPooling. Output [R, output_dim, group_size, group_size]; C is output_dim times the number of
/// bins (average) or parts (bilinear). A region of batch -1 ends the list. Definition: PSROIPooling-1.
struct PSROIPooling {
  static constexpr OpInfo info{.type = "PSROIPooling",
                               .family = "detection",
                               .summary = "Pools regions into bins that have channels of their own."};
  std::int64_t output_dim = 0;
  std::int64_t group_size = 1;
  double spatial_scale = 0;
  PsRoiPoolingMode mode = PsRoiPoolingMode::average;
  std::int64_t spatial_bins_x = 1;
  std::int64_t spatial_bins_y = 1;
  static constexpr auto fields() {
    using Op = PSROIPooling;
    return std::array{
        required<&Op::output_dim>("output_dim", "Channels of the output.", at_least(1)),
        optional<&Op::group_size>("group_size", "Bins along each axis.", at_least(1)),
        required<&Op::spatial_scale>("spatial_scale", "Size of the map over size of the image."),
        optional<&Op::mode>("mode", "What becomes of a bin, and what coordinates are."),
        optional<&Op::spatial_bins_x>("spatial_bins_x", "Parts of a region along x; used by bilinear.",
                                      at_least(0)),
        optional<&Op::spatial_bins_y>("spatial_bins_y", "Parts of a region along y; used by bilinear.",
                                      at_least(0)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v1 {

/// Pools regions into bins that have channels of their own and places that were learned. Inputs of real
/// types: feature maps [N, C, H, W], regions as ROIPooling (of negative batch: zeros), and offsets of bins
/// (none: not moved) [R, 2 * classes, part_size, part_size]; like OpenVINO, offsets are read as if they had
/// this shape when they are larger. Output [R, output_dim, group_size, group_size]. Definition:
/// DeformablePSROIPooling-1.
struct DeformablePSROIPooling {
  static constexpr OpInfo info{.type = "DeformablePSROIPooling",
                               .family = "detection",
                               .summary = "Pools regions into moved bins that have channels of their own."};
  std::int64_t output_dim = 0;
  double spatial_scale = 0;
  std::int64_t group_size = 1;
  DeformablePsRoiPoolingMode mode = DeformablePsRoiPoolingMode::bilinear_deformable;
  std::int64_t spatial_bins_x = 1;
  std::int64_t spatial_bins_y = 1;
  double trans_std = 1;
  std::int64_t part_size = 1;
  static constexpr std::int64_t kMaxSpatialBins = 1024;
  static constexpr auto fields() {
    using Op = DeformablePSROIPooling;
    return std::array{
        required<&Op::output_dim>("output_dim", "Channels of the output.", at_least(1)),
        required<&Op::spatial_scale>("spatial_scale", "Size of the map over size of the image."),
        optional<&Op::group_size>("group_size", "Bins along each axis.", at_least(1)),
        optional<&Op::mode>("mode", "What becomes of a bin."),
        optional<&Op::spatial_bins_x>("spatial_bins_x", "Samples of a bin along x.",
                                      between(1, kMaxSpatialBins)),
        optional<&Op::spatial_bins_y>("spatial_bins_y", "Samples of a bin along y.",
                                      between(1, kMaxSpatialBins)),
        optional<&Op::trans_std>("trans_std", "What offsets are multiplied with."),
        optional<&Op::part_size>("part_size", "Height and width of the offsets.", at_least(1)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_ROI_POOLING_H_
