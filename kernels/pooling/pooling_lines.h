// Internal to pooling: output lines (all axes but the last fixed) and the input lines that feed each of them.
#ifndef KERNELS_POOLING_POOLING_LINES_H_
#define KERNELS_POOLING_POOLING_LINES_H_

#include <array>
#include <cstddef>
#include <vector>

#include "kernels/base/window.h"
#include "kernels/pooling/pooling.h"

namespace ir::kernels {

/// The work of one pooling call, seen as output lines numbered over all images.
class PoolLines {
 public:
  explicit PoolLines(const std::vector<WindowAxis>& axes);

  [[nodiscard]] std::size_t image() const { return image_; }  // input elements per image
  [[nodiscard]] std::size_t lines() const { return lines_; }  // output lines per image
  [[nodiscard]] const WindowAxis& columns() const { return axes_.back(); }

  /// The windows of the leading axes at one output line.
  struct Line {
    std::array<const Window*, kMaxPoolAxes> windows;
    std::size_t image_offset;  // input elements before the image
    std::size_t taps;          // input lines
    std::size_t divisor;
  };

  [[nodiscard]] Line line(std::size_t number) const {
    Line line{{}, number / lines_ * image_, 1, 1};
    number %= lines_;
    for (std::size_t a = leading_; a-- > 0;) {
      const std::vector<Window>& windows = axes_[a].windows;
      line.windows[a] = &windows[number % windows.size()];
      number /= windows.size();
    }
    multiply(line);
    return line;
  }

  /// The line behind `line`.
  void advance(Line& line) const {
    std::size_t a = leading_;
    for (; a-- > 0;) {
      const std::vector<Window>& windows = axes_[a].windows;
      if (++line.windows[a] != windows.data() + windows.size()) break;
      line.windows[a] = windows.data();
      if (a == 0) line.image_offset += image_;
    }
    if (leading_ == 0) line.image_offset += image_;
    multiply(line);
  }

  /// Calls f(offset in the whole input) for each input line under the window, in row-major order.
  template <class F>
  void for_each_tap(const Line& line, const F& f) const {
    if (line.taps == 0) return;
    std::size_t offset = line.image_offset;
    for (std::size_t a = 0; a < leading_; ++a) offset += line.windows[a]->first * strides_[a];
    if (leading_ == 1) {
      const std::size_t step = axes_[0].dilation * strides_[0];
      for (std::size_t n = 0; n < line.taps; ++n) f(offset + n * step);
      return;
    }
    std::array<std::size_t, kMaxPoolAxes> tap{};
    for (std::size_t n = 0; n < line.taps; ++n) {
      f(offset);
      for (std::size_t a = leading_; a-- > 0;) {
        const std::size_t step = axes_[a].dilation * strides_[a];
        offset += step;
        if (++tap[a] < line.windows[a]->count) break;
        offset -= tap[a] * step;
        tap[a] = 0;
      }
    }
  }

  /// Elements read per output line, for the grain of parallel loops.
  [[nodiscard]] std::size_t line_cost() const;

 private:
  void multiply(Line& line) const {
    line.taps = line.divisor = 1;
    for (std::size_t a = 0; a < leading_; ++a) {
      line.taps *= line.windows[a]->count;
      line.divisor *= line.windows[a]->divisor;
    }
  }

  const std::vector<WindowAxis>& axes_;
  std::size_t leading_;
  std::size_t image_ = 1;
  std::size_t out_image_ = 1;
  std::size_t lines_ = 0;
  std::array<std::size_t, kMaxPoolAxes> strides_{};
};

/// Whether the single window of every axis is the whole axis.
inline bool is_global(const std::vector<WindowAxis>& axes) {
  for (const WindowAxis& axis : axes) {
    if (axis.out() != 1 || axis.windows[0].count != axis.in || axis.dilation != 1) return false;
  }
  return true;
}

/// Whether the float path can hold the input under one output element of the last axis in its line buffer.
bool fits_line_buffer(const WindowAxis& columns);

/// Readable floats that column_divisors has behind its last one.
inline constexpr std::size_t kDivisorPadding = 64;

/// Output lines [begin, end) of an average (column_divisors of the last axis given) or a maximum (null).
void pool_lines_f32(const PoolLines& lines, const float* column_divisors, float empty_window_value,
                    const float* in, float* out, std::size_t begin, std::size_t end);

/// Global windows of images [begin, end): out[i] = mean or maximum of in[i * count .. (i + 1) * count).
void pool_global_f32(bool average, std::size_t count, float divisor, const float* in, float* out,
                     std::size_t begin, std::size_t end);

}  // namespace ir::kernels

#endif  // KERNELS_POOLING_POOLING_LINES_H_
