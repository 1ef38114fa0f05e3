// Images sampled at places that a grid names.
#ifndef IR_RUNTIME_OPS_GRID_SAMPLE_H_
#define IR_RUNTIME_OPS_GRID_SAMPLE_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// How GridSample blends the pixels around a place.
enum class GridSampleMode : int { bilinear, bicubic, nearest };
inline constexpr std::array kGridSampleModeSpellings{
    Spelling{static_cast<int>(GridSampleMode::bilinear), "bilinear"},
    Spelling{static_cast<int>(GridSampleMode::bicubic), "bicubic"},
    Spelling{static_cast<int>(GridSampleMode::nearest), "nearest"},
};
constexpr std::span<const Spelling> spellings_of(GridSampleMode) { return kGridSampleModeSpellings; }

/// What GridSample finds outside of the image.
enum class GridSamplePadding : int { zeros, border, reflection };
inline constexpr std::array kGridSamplePaddingSpellings{
    Spelling{static_cast<int>(GridSamplePadding::zeros), "zeros"},
    Spelling{static_cast<int>(GridSamplePadding::border), "border"},
    Spelling{static_cast<int>(GridSamplePadding::reflection), "reflection"},
};
constexpr std::span<const Spelling> spellings_of(GridSamplePadding) { return kGridSamplePaddingSpellings; }

namespace v9 {

/// Pixels of input 0 [N, C, H, W], of any numeric type, at the places of input 1 [N, H_out, W_out, 2], pairs
/// x, y of a floating-point type in which -1 and 1 are the ends of the image. Output: [N, C, H_out, W_out].
struct GridSample {
  static constexpr OpInfo info{.type = "GridSample",
                               .first_opset = 9,
                               .family = "image",
                               .summary = "Pixels at places that a grid names."};
  bool align_corners = false;
  GridSampleMode mode = GridSampleMode::bilinear;
  GridSamplePadding padding_mode = GridSamplePadding::zeros;
  static constexpr auto fields() {
    return std::array{
        optional<&GridSample::align_corners>(
            "align_corners", "Whether the ends are the centres of the outer pixels, not their borders."),
        optional<&GridSample::mode>("mode", "How the pixels around a place are blended."),
        optional<&GridSample::padding_mode>("padding_mode", "What lies outside of the image."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v9
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_GRID_SAMPLE_H_
