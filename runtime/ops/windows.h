// Windows that slide over spatial axes: one rule for pooling, convolution and their relatives.
#ifndef RUNTIME_OPS_WINDOWS_H_
#define RUNTIME_OPS_WINDOWS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir_runtime/ops/attributes.h"
#include "runtime/ops/infer.h"

namespace ir::op {

/// Values of attributes beyond that would overflow products of them; no real model comes near.
inline constexpr std::int64_t kMaxWindowNumber = std::int64_t{1} << 31;

/// Whether all numbers of a list are `value`; of an empty one, they are.
inline bool all_are(std::span<const std::int64_t> list, std::int64_t value) {
  return std::ranges::all_of(list, [value](std::int64_t entry) { return entry == value; });
}

/// The rounding of pooling of any opset, as the newest one names it.
constexpr Rounding14 newest_rounding(Rounding14 rounding) { return rounding; }
constexpr Rounding14 newest_rounding(Rounding rounding) {
  return rounding == Rounding::ceil ? Rounding14::ceil : Rounding14::floor;
}

/// Whether an operation's lists of pads add nothing.
template <class Padded>
bool has_no_pads(const Padded& padded) {
  return all_are(padded.pads_begin, 0) && all_are(padded.pads_end, 0);
}

/// What messages call the attributes of a window.
struct WindowNames {
  std::string_view strides = "strides";
  std::string_view dilations = "dilations";
  std::string_view pads_begin = "pads_begin";
  std::string_view pads_end = "pads_end";
  std::string_view data_dilations = "data_dilation_strides";
};

/// Attributes of a window, one entry per spatial axis. An empty list stands for ones (strides, dilations) or
/// zeros (pads).
struct WindowAttributes {
  std::vector<std::int64_t> strides = {};
  std::vector<std::int64_t> dilations = {};
  std::vector<std::int64_t> pads_begin = {};
  std::vector<std::int64_t> pads_end = {};
  AutoPad auto_pad = AutoPad::explicit_;
  Rounding14 rounding = Rounding14::floor;
  /// The image's elements lie this far apart before padding (nGraph Convolution).
  std::vector<std::int64_t> data_dilations = {};
  /// Elements that a transposed convolution adds at the end of its output.
  std::vector<std::int64_t> output_padding = {};
  WindowNames names = {};
};

/// One spatial axis with everything resolved.
struct WindowAxisPlan {
  std::int64_t in = 0;  ///< before data dilation
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t data_dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
  std::int64_t out = 0;
};

/// Checks lengths and ranges of the lists against `spatial_rank` and fills empty ones.
WindowAttributes checked_window(const InferContext& context, WindowAttributes window,
                                std::size_t spatial_rank, bool negative_pads = false);

/// Elements from the first to the last that a window of `size` covers.
std::int64_t window_span(const WindowAttributes& window, std::int64_t size, std::size_t axis);

/// Output dims of windows of `kernel` over `image` (spatial dims). Explains them as axes `first_axis`... of
/// output `output` when wanted. `window` is as `checked_window` returned it.
std::vector<Dimension> window_output_dims(InferContext& context, std::span<const Dimension> image,
                                          std::span<const Dimension> kernel, const WindowAttributes& window,
                                          std::size_t output, std::size_t first_axis);

/// Pads and output sizes for static dims. `window` is as `checked_window` or `completed_window` returned it.
std::vector<WindowAxisPlan> plan_window(std::span<const std::int64_t> image,
                                        std::span<const std::int64_t> kernel, const WindowAttributes& window);

/// Output dims of the transposed operation, which spreads each of `image`'s elements over a window, as its
/// pads and output padding make them. Explains them like window_output_dims.
std::vector<Dimension> transposed_output_dims(InferContext& context, std::span<const Dimension> image,
                                              std::span<const Dimension> kernel,
                                              const WindowAttributes& window, std::size_t output,
                                              std::size_t first_axis);

/// Pads of the transposed operation for static dims; `out` are its output dims. If an input `wanted` these,
/// same_lower and same_upper halve what must be cut off to come to them, the odd element at the end (at the
/// beginning for same_upper). Explicit pads (0 for valid) say where the output begins, and it ends where it
/// is as large as wanted, as in OpenVINO; the specification halves there, too, which moves the gradient of a
/// convolution whose last windows leave a rest. Where the output goes on behind the windows, it is zeros.
std::vector<WindowAxisPlan> plan_transposed(std::span<const std::int64_t> image,
                                            std::span<const std::int64_t> kernel,
                                            const WindowAttributes& window, std::span<const std::int64_t> out,
                                            bool wanted);

/// Fills empty lists of `window` for `spatial_rank` axes; for use after inference has checked them.
WindowAttributes completed_window(WindowAttributes window, std::size_t spatial_rank);

}  // namespace ir::op

#endif  // RUNTIME_OPS_WINDOWS_H_
