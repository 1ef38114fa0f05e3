// The float path of pooling, by output lines. The input lines under its window are combined column
// by column into a line buffer, with whole vectors whatever the window; then windows run along that buffer.
// This costs kernel_h + kernel_w steps per output instead of kernel_h * kernel_w, and padding needs no cases:
// the buffer holds the neutral element there.
#include "kernels/pooling/pooling_lines.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pooling/pooling_lines.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"
#include "kernels/pooling/pooling_ops-inl.h"

// Shared by all targets; defined once because this file is included again for each of them.
#ifndef KERNELS_POOLING_LINES_CC_ONCE_
#define KERNELS_POOLING_LINES_CC_ONCE_
namespace ir::kernels {

inline constexpr std::size_t kBufferColumns = 1024;
inline constexpr std::size_t kLinesAtOnce = 32;
/// The maximum of no elements.
inline constexpr float kLowest = std::numeric_limits<float>::lowest();

/// Input columns [begin, end), counted with padding (begin may be negative), under output columns.
struct ColumnSpan {
  std::int64_t begin;
  std::int64_t end;
};

inline ColumnSpan columns_under(const WindowAxis& axis, std::size_t out_begin, std::size_t out_end) {
  if (axis.regular) {
    const WindowParams& p = axis.params;
    const auto pad = static_cast<std::int64_t>(p.pad_begin);
    return {static_cast<std::int64_t>(out_begin * p.stride) - pad,
            static_cast<std::int64_t>((out_end - 1) * p.stride + (p.kernel - 1) * p.dilation + 1) - pad};
  }
  const Window& last = axis.windows[out_end - 1];  // adaptive windows begin and end in ascending order
  return {static_cast<std::int64_t>(axis.windows[out_begin].first),
          static_cast<std::int64_t>(last.first + last.count)};
}

/// The most output columns from `begin` on whose input columns fit into the buffer; at least 1 if one fits.
inline std::size_t columns_that_fit(const WindowAxis& axis, std::size_t begin) {
  const ColumnSpan rest = columns_under(axis, begin, axis.out());
  if (static_cast<std::size_t>(rest.end - rest.begin) <= kBufferColumns) return axis.out() - begin;
  std::size_t low = begin + 1;
  std::size_t high = axis.out();
  while (low < high) {
    const std::size_t middle = low + (high - low + 1) / 2;
    const ColumnSpan span = columns_under(axis, begin, middle);
    if (static_cast<std::size_t>(span.end - span.begin) <= kBufferColumns) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low - begin;
}

}  // namespace ir::kernels
#endif  // KERNELS_POOLING_LINES_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

template <class Op, class Load>
HWY_INLINE Vector combined(const float* const* lines, std::size_t line_count, bool onto, const float* to,
                           std::size_t i, const Load& load) {
  Vector sum = onto ? load(to + i) : hn::Set(Tag(), Op::kNeutral);
  for (std::size_t l = 0; l < line_count; ++l) sum = Op::vector(sum, load(lines[l] + i));
  return sum;
}

/// to[i] = combination of lines[l][i] (and of to[i] before, if `onto`) for i < count.
template <class Op>
HWY_INLINE void combine_lines(const float* const* lines, std::size_t line_count, bool onto, float* to,
                              std::size_t count) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto whole = [](const float* from) HWY_ATTR { return hn::LoadU(Tag(), from); };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(combined<Op>(lines, line_count, onto, to, i, whole), d, to + i);
  }
  if (i == count) return;
  // Columns are done again, where results do not depend on what was there.
  if (count >= lanes && !onto) {
    hn::StoreU(combined<Op>(lines, line_count, onto, to, count - lanes, whole), d, to + count - lanes);
    return;
  }
  const std::size_t rest = count - i;
  const auto part = [rest](const float* from) HWY_ATTR { return load_n(Tag(), from, rest); };
  store_n(combined<Op>(lines, line_count, onto, to, i, part), d, to + i, rest);
}

/// Vectors that `slide` may read beyond what is needed.
constexpr std::size_t kVectorsBeyond = 4;

/// The combinations of from[i * kStride + k * dilation], one per lane i.
template <class Op, std::size_t kStride>
HWY_INLINE Vector strided_windows(const WindowParams& p, const float* from) {
  const Tag d;
  Vector v[4];
  const auto load = [&](std::size_t k) HWY_ATTR {
    if constexpr (kStride == 2) {
      hn::LoadInterleaved2(d, from + k, v[0], v[1]);
    } else if constexpr (kStride == 3) {
      hn::LoadInterleaved3(d, from + k, v[0], v[1], v[2]);
    } else {
      hn::LoadInterleaved4(d, from + k, v[0], v[1], v[2], v[3]);
    }
  };
  Vector sum = hn::Set(d, Op::kNeutral);
  std::size_t k = 0;
  for (; p.dilation == 1 && k + kStride <= p.kernel; k += kStride) {
    load(k);
    for (std::size_t i = 0; i < kStride; ++i) sum = Op::vector(sum, v[i]);
  }
  for (; k < p.kernel; ++k) {
    load(k * p.dilation);
    sum = Op::vector(sum, v[0]);
  }
  return sum;
}

/// Calls finish(combination of from[i * stride + k * dilation], i, number of columns) for vectors of columns
/// i.
template <class Op, class Finish>
HWY_INLINE void slide(const WindowParams& p, const float* from, std::size_t count, const Finish& finish) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float gathered[HWY_MAX_BYTES / sizeof(float)];
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t columns = std::min(lanes, count - i);
    Vector sum;
    if (p.stride == 1) {
      sum = hn::LoadU(d, from + i);
      for (std::size_t k = 1; k < p.kernel; ++k) {
        sum = Op::vector(sum, hn::LoadU(d, from + i + k * p.dilation));
      }
    } else if (p.stride == 2) {
      sum = strided_windows<Op, 2>(p, from + 2 * i);
    } else if (p.stride == 3) {
      sum = strided_windows<Op, 3>(p, from + 3 * i);
    } else if (p.stride == 4) {
      sum = strided_windows<Op, 4>(p, from + 4 * i);
    } else {
      for (std::size_t c = 0; c < columns; ++c) {
        const float* window = from + (i + c) * p.stride;
        gathered[c] = window[0];
        for (std::size_t k = 1; k < p.kernel; ++k) {
          gathered[c] = Op::scalar(gathered[c], window[k * p.dilation]);
        }
      }
      sum = load_n(d, gathered, columns);
    }
    finish(sum, i, columns);
  }
}

/// The same for windows [first, last) of an axis that are not regular; column x of the image is at
/// from[x - begin].
template <class Op, class Finish>
HWY_INLINE void slide_irregular(const Window* windows, const float* from, std::int64_t begin,
                                std::size_t count, const Finish& finish) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float gathered[HWY_MAX_BYTES / sizeof(float)];
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t columns = std::min(lanes, count - i);
    for (std::size_t c = 0; c < columns; ++c) {
      const Window& window = windows[i + c];
      const float* const taps = from + (static_cast<std::int64_t>(window.first) - begin);
      gathered[c] = Op::kNeutral;
      for (std::size_t k = 0; k < window.count; ++k) gathered[c] = Op::scalar(gathered[c], taps[k]);
    }
    finish(load_n(d, gathered, columns), i, columns);
  }
}

/// Output columns [begin, begin + count) and where the input columns under them lie in the buffer.
struct Block {
  Block(const WindowAxis& axis, std::size_t first)
      : begin(first), count(std::min(columns_that_fit(axis, first), kBufferColumns)) {
    const ColumnSpan span = columns_under(axis, begin, begin + count);
    const std::int64_t image_begin = std::clamp<std::int64_t>(0, span.begin, span.end);
    const std::int64_t image_end =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(axis.in), image_begin, span.end);
    span_begin = span.begin;
    image_column = static_cast<std::size_t>(image_begin);
    left = static_cast<std::size_t>(image_begin - span.begin);
    inside = static_cast<std::size_t>(image_end - image_begin);
    width = static_cast<std::size_t>(span.end - span.begin);
    for (std::size_t x = begin; x < begin + count; ++x) has_empty = has_empty || axis.windows[x].count == 0;
  }

  std::size_t begin;
  std::size_t count;
  std::int64_t span_begin;
  std::size_t image_column;  // first input column in the image
  std::size_t left;          // columns of padding in front of it
  std::size_t inside;        // columns in the image
  std::size_t width;
  bool has_empty = false;
};

/// to[block.left + i] = combination of the lines under `line` in column i of the image.
template <class Op>
HWY_INLINE void combine_block(const PoolLines& lines, const PoolLines::Line& line, const Block& block,
                              const float* in, float* to) {
  if (block.inside == 0) return;
  const float* pending[kLinesAtOnce];
  std::size_t pending_count = 0;
  bool onto = false;
  lines.for_each_tap(line, [&](std::size_t offset) HWY_ATTR {
    pending[pending_count++] = in + offset + block.image_column;
    if (pending_count == kLinesAtOnce) {
      combine_lines<Op>(pending, pending_count, onto, to + block.left, block.inside);
      pending_count = 0;
      onto = true;
    }
  });
  if (pending_count > 0) {
    combine_lines<Op>(pending, pending_count, onto, to + block.left, block.inside);
  }
}

/// The lines of the buffer that wait for windows to slide along them.
struct BufferedLines {
  const float* from;
  std::size_t pitch;  ///< between lines
  std::size_t count;
  const std::size_t* divisors;  ///< of each line, for sums
};

/// Columns `block` of as many output lines as are buffered, the first of which begins at `out`.
/// `column_divisors` and `empty` are for sums.
template <class Op>
void slide_block(const WindowAxis& axis, const Block& block, const BufferedLines& lines,
                 const float* column_divisors, float empty, float* out) {
  const Tag d;
  const auto slide_along = [&](const float* from, const auto& finish) HWY_ATTR {
    if (axis.regular) {
      slide<Op>(axis.params, from, block.count, finish);
    } else {
      slide_irregular<Op>(axis.windows.data() + block.begin, from, block.span_begin, block.count, finish);
    }
  };
  const float* from = lines.from;
  float* to = out + block.begin;
  for (std::size_t i = 0; i < lines.count; ++i, from += lines.pitch, to += axis.out()) {
    if constexpr (std::is_same_v<Op, Add>) {
      const Mean mean{column_divisors + block.begin, static_cast<float>(lines.divisors[i]), empty};
      slide_along(from, [&](Vector sum, std::size_t x, std::size_t columns)
                            HWY_ATTR { store_n(mean(sum, x), d, to + x, columns); });
    } else {
      slide_along(from, [&](Vector best, std::size_t x, std::size_t columns)
                            HWY_ATTR { store_n(best, d, to + x, columns); });
      for (std::size_t x = 0; block.has_empty && x < block.count; ++x) {
        if (axis.windows[block.begin + x].count == 0) to[x] = kLowest;
      }
    }
  }
}

/// Several output lines at a time: vectors that were just stored in pieces are slow to load.
template <class Op>
void pool_block(const PoolLines& lines, const Block& block, const float* column_divisors, float empty,
                const float* in, float* out, std::size_t begin, std::size_t end) {
  const WindowAxis& axis = lines.columns();
  constexpr float kOfNoLines = std::is_same_v<Op, Add> ? 0.0F : kLowest;
  constexpr std::size_t kMostLines = 16;
  // Whole vectors may begin at the last column of a line; with strides they are read together.
  HWY_ALIGN float buffer[kBufferColumns + (kVectorsBeyond + 1) * HWY_MAX_BYTES / sizeof(float)];
  const std::size_t pitch = block.width + kVectorsBeyond * hn::Lanes(Tag());
  const std::size_t at_once =
      std::clamp<std::size_t>(std::size(buffer) / pitch, 1, std::min(kMostLines, end - begin));
  for (std::size_t i = 0; i < at_once; ++i) {
    float* const line = buffer + i * pitch;
    std::fill_n(line, block.left, Op::kNeutral);
    std::fill(line + block.left + block.inside, line + pitch, Op::kNeutral);
  }
  PoolLines::Line line = lines.line(begin);
  std::size_t divisors[kMostLines];
  for (std::size_t first = begin; first < end; first += at_once) {
    const std::size_t count = std::min(at_once, end - first);
    for (std::size_t i = 0; i < count; ++i) {
      float* const to = buffer + i * pitch;
      if (line.taps > 0) {
        combine_block<Op>(lines, line, block, in, to);
      } else {
        std::fill_n(to + block.left, block.inside, kOfNoLines);
      }
      divisors[i] = line.divisor;
      lines.advance(line);
    }
    slide_block<Op>(axis, block, {buffer, pitch, count, divisors}, column_divisors, empty,
                    out + first * axis.out());
  }
}

void PoolLinesF32(const PoolLines& lines, const float* column_divisors, float empty, const float* in,
                  float* out, std::size_t begin, std::size_t end) {
  const auto pool = column_divisors != nullptr ? pool_block<Add> : pool_block<Max>;
  for (std::size_t x = 0; x < lines.columns().out();) {
    const Block block(lines.columns(), x);
    pool(lines, block, column_divisors, empty, in, out, begin, end);
    x += block.count;
  }
}

/// All of from[0, count). Blocks bound the error of long sums.
template <class Op>
HWY_INLINE float combine_all(const float* from, std::size_t count) {
  constexpr std::size_t kBlock = 4096;
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  float total = Op::kNeutral;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(count, begin + kBlock);
    Vector sum0 = hn::Set(d, Op::kNeutral);
    Vector sum1 = sum0, sum2 = sum0, sum3 = sum0;
    std::size_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      sum0 = Op::vector(sum0, hn::LoadU(d, from + i));
      sum1 = Op::vector(sum1, hn::LoadU(d, from + i + lanes));
      sum2 = Op::vector(sum2, hn::LoadU(d, from + i + 2 * lanes));
      sum3 = Op::vector(sum3, hn::LoadU(d, from + i + 3 * lanes));
    }
    for (; i + lanes <= end; i += lanes) sum0 = Op::vector(sum0, hn::LoadU(d, from + i));
    HWY_ALIGN float parts[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(Op::vector(Op::vector(sum0, sum1), Op::vector(sum2, sum3)), d, parts);
    float block = Op::kNeutral;
    for (std::size_t l = 0; l < lanes; ++l) block = Op::scalar(block, parts[l]);
    for (; i < end; ++i) block = Op::scalar(block, from[i]);
    total = Op::scalar(total, block);
  }
  return total;
}

void PoolGlobalF32(bool average, std::size_t count, float divisor, const float* in, float* out,
                   std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const float* image = in + i * count;
    out[i] = average ? combine_all<Add>(image, count) / divisor : combine_all<Max>(image, count);
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

PoolLines::PoolLines(const std::vector<WindowAxis>& axes) : axes_(axes), leading_(axes.size() - 1) {
  for (const WindowAxis& axis : axes) {
    image_ *= axis.in;
    out_image_ *= axis.out();
  }
  lines_ = axes.back().out() == 0 ? 0 : out_image_ / axes.back().out();
  std::size_t stride = axes.back().in;
  for (std::size_t a = leading_; a-- > 0;) {
    strides_[a] = stride;
    stride *= axes[a].in;
  }
}

std::size_t PoolLines::line_cost() const {
  std::size_t taps = 1;
  for (std::size_t a = 0; a < leading_; ++a) {
    std::size_t most = 1;
    for (const Window& window : axes_[a].windows) most = std::max(most, window.count);
    taps *= most;
  }
  std::size_t columns = 0;
  for (const Window& window : axes_.back().windows) columns += window.count + 1;
  return taps * columns;
}

HWY_EXPORT(PoolLinesF32);
HWY_EXPORT(PoolGlobalF32);

bool fits_line_buffer(const WindowAxis& columns) {
  for (std::size_t o = 0; o < columns.out(); ++o) {
    const ColumnSpan span = columns_under(columns, o, o + 1);
    if (static_cast<std::size_t>(span.end - span.begin) > kBufferColumns) return false;
  }
  return true;
}

void pool_lines_f32(const PoolLines& lines, const float* column_divisors, float empty_window_value,
                    const float* in, float* out, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(PoolLinesF32)(lines, column_divisors, empty_window_value, in, out, begin, end);
}

void pool_global_f32(bool average, std::size_t count, float divisor, const float* in, float* out,
                     std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(PoolGlobalF32)(average, count, divisor, in, out, begin, end);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
