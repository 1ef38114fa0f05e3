// Sliding windows along one axis, clipped to the image: shared by pooling and everything else that slides.
#ifndef KERNELS_BASE_WINDOW_H_
#define KERNELS_BASE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ir::kernels {

/// How windows move along one axis. `out` is what shape inference found (floor, ceil or ceil_torch rounding,
/// auto_pad resolved): window `o` has its taps at o * stride + k * dilation - pad_begin, k in [0, kernel).
/// Preconditions: in, kernel, stride, dilation >= 1; all products fit in 63 bits.
struct WindowParams {
  std::size_t in = 1;
  std::size_t out = 1;
  std::size_t kernel = 1;
  std::size_t stride = 1;
  std::size_t dilation = 1;
  std::size_t pad_begin = 0;
  std::size_t pad_end = 0;
};

/// The taps of one window that lie inside of the image: first, first + dilation, ... (`count` of them, may be
/// 0). `divisor` is what this axis contributes to the divisor of an average.
struct Window {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t divisor = 0;
};

/// What an average divides by. Per axis; the divisor of an N-D window is the product over its axes.
enum class Divisor {
  image,   ///< taps inside of the image (exclude-pad = true)
  padded,  ///< taps inside of pad_begin + in + pad_end: a window that ceil rounding lets hang beyond counts
           ///< up to it
  kernel,  ///< always `kernel`
};

/// All windows of an axis. `regular` windows come from WindowParams; adaptive ones vary in size.
struct WindowAxis {
  std::size_t in = 1;
  std::size_t dilation = 1;
  std::vector<Window> windows;  // one per output coordinate
  bool regular = false;
  WindowParams params;  // of regular windows

  [[nodiscard]] std::size_t out() const { return windows.size(); }
};

/// Sliding windows, clipped to the image.
WindowAxis sliding_windows(const WindowParams& params, Divisor divisor = Divisor::image);

/// Adaptive windows: [floor(o * in / out), ceil((o + 1) * in / out)), computed without overflow. in, out
/// >= 1.
WindowAxis adaptive_windows(std::size_t in, std::size_t out);

}  // namespace ir::kernels

#endif  // KERNELS_BASE_WINDOW_H_
