// Two passes over a strip of output lines that stays in the first-level cache: the lines under each window
// are combined into a line with padding, then windows run along that line, as many in a vector as there are
// lanes. Sizes of common windows are known to the compiler, and tails do whole vectors again where they can:
// with planes of a few dozen columns, masks and loops over taps would cost more than the data.
#include "kernels/pooling/pooling_planes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pooling/pooling_planes.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/fetch.h"
#include "kernels/base/simd-inl.h"
#include "kernels/pooling/pooling_ops-inl.h"

// Shared by all targets; defined once because this file is included again for each of them.
#ifndef KERNELS_POOLING_PLANES_CC_ONCE_
#define KERNELS_POOLING_PLANES_CC_ONCE_
namespace ir::kernels {

inline constexpr std::size_t kMostColumns = 4096;
// Enough lines that what was stored in pieces has reached the cache when it is loaded, few enough that the
// memory is not idle for long.
inline constexpr std::size_t kStripElements = 1024;
inline constexpr std::size_t kStripLines = 64;

/// The columns that windows of an axis see.
struct SeenColumns {
  explicit SeenColumns(const WindowParams& p)
      : left(p.pad_begin),
        all((p.out - 1) * p.stride + p.kernel),
        inside(std::min(p.in, all - std::min(left, all))) {}

  std::size_t left;    // of padding
  std::size_t all;     // with padding on both sides
  std::size_t inside;  // of the image
};

}  // namespace ir::kernels
#endif  // KERNELS_POOLING_PLANES_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// `kernel` of a template where only the argument tells it.
constexpr std::size_t kAnyKernel = 0;

/// The lines under a window: so many of each of some planes.
template <class T>
struct LinesBelow {
  const T* from;
  std::size_t pitch;  ///< between lines
  std::size_t lines;
  std::size_t plane;  ///< between planes
  std::size_t planes;

  [[nodiscard]] std::size_t elements() const { return (planes - 1) * plane + lines * pitch; }
};

/// to[x] = combination of all lines in column x < count. If that is less than a vector, what is behind
/// becomes neutral up to a whole one; `readable` tells that lines can be read that far.
template <class Op, std::size_t kKernel, class T>
HWY_INLINE void combine_lines(const LinesBelow<T>& below, T* to, std::size_t count, bool readable) {
  const hn::ScalableTag<T> d;
  const T* const from = below.from;
  const std::size_t kernel = kKernel != kAnyKernel ? kKernel : below.lines;
  const auto neutral = hn::Set(d, Op::kNeutral);
  const auto combine = [&](const T* column, const auto& load) HWY_ATTR {
    auto sum = neutral;
    for (std::size_t plane = 0; plane < below.planes; ++plane, column += below.plane) {
      for (std::size_t k = 0; k < kernel; ++k) sum = Op::vector(sum, load(column + k * below.pitch));
    }
    return sum;
  };
  const auto whole = [](const T* p) HWY_ATTR { return hn::LoadU(hn::ScalableTag<T>(), p); };
  const auto part = [count](const T* p) HWY_ATTR { return load_n(hn::ScalableTag<T>(), p, count); };
  if (count >= hn::Lanes(d)) {
    for_each_vector<T>(count,
                       [&](std::size_t x) HWY_ATTR { hn::StoreU(combine(from + x, whole), d, to + x); });
    return;
  }
  const auto sum = readable ? combine(from, whole) : combine(from, part);
  hn::StoreU(hn::IfThenElse(hn::FirstN(d, count), sum, neutral), d, to);
}

/// The combinations of from[i .. i + kernel - 1], one per lane i.
template <class Op, std::size_t kKernel, class T>
HWY_INLINE auto adjacent_windows(const T* from, std::size_t kernel) {
  const hn::ScalableTag<T> d;
  if constexpr (kKernel != kAnyKernel) kernel = kKernel;
  auto sum = hn::LoadU(d, from);
  for (std::size_t k = 1; k < kernel; ++k) sum = Op::vector(sum, hn::LoadU(d, from + k));
  return sum;
}

/// to[x] = finish(combination of from[x * kStride .. + kernel - 1], x). Reads two vectors beyond; may write
/// anything to the rest of `room`.
template <class Op, std::size_t kKernel, std::size_t kStride, class T, class Finish>
HWY_INLINE void slide(const T* from, std::size_t kernel, T* to, std::size_t count, std::size_t room,
                      const Finish& finish) {
  const hn::ScalableTag<T> d;
  const std::size_t all = hn::Lanes(d);
  const auto windows = [&](std::size_t x) HWY_ATTR {
    const T* const first = from + x * kStride;
    auto sum = adjacent_windows<Op, kKernel>(first, kernel);
    if constexpr (kStride == 2) {
      sum = hn::ConcatEven(d, adjacent_windows<Op, kKernel>(first + all, kernel), sum);
    }
    return finish(sum, x);
  };
  if (count >= all) {
    for_each_vector<T>(count, [&](std::size_t x) HWY_ATTR { hn::StoreU(windows(x), d, to + x); });
  } else if (room >= all) {
    hn::StoreU(windows(0), d, to);
  } else {
    store_n(windows(0), d, to, count);
  }
}

/// Lines of a strip, and where the windows along them go.
template <class T>
struct StripLines {
  const T* from;
  std::size_t pitch;  ///< between lines
  std::size_t lines;
  std::size_t kernel;
  T* to;
  std::size_t windows;           ///< of a line
  std::size_t room;              ///< from `to` on
  const float* column_divisors;  ///< for sums
  const float* line_divisors;    ///< for sums, too
};

template <class Op, std::size_t kKernel, std::size_t kStride, class T>
void slide_lines(const StripLines<T>& strip) {
  // A copy, which vectors that are stored cannot change as far as the compiler knows.
  StripLines<T> rest = strip;
  for (std::size_t n = 0; n < rest.lines; ++n) {
    if constexpr (std::is_same_v<Op, Add>) {
      slide<Op, kKernel, kStride>(rest.from, rest.kernel, rest.to, rest.windows, rest.room,
                                  Mean{rest.column_divisors, rest.line_divisors[n], 0.0F});
    } else {
      slide<Op, kKernel, kStride>(rest.from, rest.kernel, rest.to, rest.windows, rest.room,
                                  [](auto best, std::size_t) HWY_ATTR { return best; });
    }
    rest.from += rest.pitch;
    rest.to += rest.windows;
    rest.room -= rest.windows;
  }
}

template <class T>
using SlideLines = void (*)(const StripLines<T>& strip);

template <class Op, std::size_t kStride>
SlideLines<float> slide_for(std::size_t kernel) {
  if constexpr (!kOldProcessor) {
    if (kernel == 5) return slide_lines<Op, 5, kStride, float>;
    if (kernel == 3) return slide_lines<Op, 3, kStride, float>;
    if (kernel == 2) return slide_lines<Op, 2, kStride, float>;
  }
  return slide_lines<Op, kAnyKernel, kStride, float>;
}

/// The output lines of planes or volumes, one after the other: what their windows see.
template <class T>
class LineWalk {
 public:
  LineWalk(const std::vector<WindowAxis>& axes, const T* in, std::size_t line)
      : depths_(axes.size() == 3 ? std::span(axes[0].windows) : std::span(&kFlat, 1)),
        rows_(axes[axes.size() - 2].windows),
        pitch_(axes.back().in),
        plane_(axes[axes.size() - 2].in * pitch_),
        volume_(axes.size() == 3 ? axes[0].in * plane_ : plane_),
        image_(in + line / (rows_.size() * depths_.size()) * volume_),
        depth_(line / rows_.size() % depths_.size()),
        row_(line % rows_.size()) {}

  [[nodiscard]] LinesBelow<T> below() const {
    const Window& planes = depths_[depth_];
    const Window& window = rows_[row_];
    return {image_ + planes.first * plane_ + window.first * pitch_, pitch_, window.count, plane_,
            planes.count};
  }
  [[nodiscard]] float divisor() const {
    return static_cast<float>(depths_[depth_].divisor * rows_[row_].divisor);
  }
  void next() {
    if (++row_ < rows_.size()) return;
    row_ = 0;
    if (++depth_ < depths_.size()) return;
    depth_ = 0;
    image_ += volume_;
  }

 private:
  static constexpr Window kFlat{0, 1, 1};

  std::span<const Window> depths_;
  std::span<const Window> rows_;
  std::size_t pitch_;
  std::size_t plane_;
  std::size_t volume_;
  const T* image_;
  std::size_t depth_;
  std::size_t row_;
};

/// combine_lines with the number of lines as a constant, where it is a common one.
template <class Op, class T>
HWY_INLINE void combine_known_lines(const LinesBelow<T>& below, T* to, std::size_t count, bool readable) {
  // For other types it is not worth the size of code.
  const std::size_t known = std::is_same_v<T, float> ? below.lines : kAnyKernel;
  if (known == 5) {
    combine_lines<Op, 5>(below, to, count, readable);
  } else if (known == 3) {
    combine_lines<Op, 3>(below, to, count, readable);
  } else if (known == 2) {
    combine_lines<Op, 2>(below, to, count, readable);
  } else {
    combine_lines<Op, kAnyKernel>(below, to, count, readable);
  }
}

template <class Op, class T>
void pool_planes(const std::vector<WindowAxis>& axes, const float* column_divisors,
                 const PlaneLines<T>& lines, SlideLines<T> slide_all) {
  const hn::ScalableTag<T> d;
  const WindowParams& columns = axes.back().params;
  const SeenColumns seen(columns);
  const std::size_t most =
      std::min(std::clamp<std::size_t>(kStripElements / seen.all, 1, kStripLines), lines.end - lines.begin);
  constexpr std::size_t kBeyond = 2 * HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T strip[kMostColumns + kBeyond];
  std::fill_n(strip, most * seen.all + kBeyond, Op::kNeutral);
  std::array<float, kStripLines> divisors;
  // What lines read that those before did not, of images that no second-level cache holds.
  const std::size_t new_elements = axes[axes.size() - 2].params.stride * columns.in;
  const std::size_t ahead = stream_ahead() / sizeof(T);
  const bool is_long =
      static_cast<std::size_t>(lines.in_end - lines.in) >= (std::size_t{2} << 20) / sizeof(T);
  LineWalk<T> walk(axes, lines.in, lines.begin);
  for (std::size_t first = lines.begin; first < lines.end; first += most) {
    const std::size_t count = std::min(lines.end - first, most);
    T* line = strip;
    for (std::size_t n = 0; n < count; ++n, line += seen.all, walk.next()) {
      const LinesBelow<T> below = walk.below();
      divisors[n] = walk.divisor();
      if constexpr (std::is_same_v<T, float>) {
        if (is_long) fetch_row(below.from + (below.planes - 1) * below.plane + ahead, new_elements);
      }
      const bool readable =
          below.elements() + hn::Lanes(d) <= static_cast<std::size_t>(lines.in_end - below.from);
      combine_known_lines<Op>(below, line + seen.left, seen.inside, readable);
    }
    slide_all({strip, seen.all, count, columns.kernel, lines.out + first * columns.out, columns.out,
               (lines.end - first) * columns.out, column_divisors, divisors.data()});
  }
}

template <class Op>
void pool_floats(const std::vector<WindowAxis>& axes, const float* column_divisors,
                 const PlaneLines<float>& lines) {
  const WindowParams& columns = axes.back().params;
  const auto slide_all =
      columns.stride == 1 ? slide_for<Op, 1>(columns.kernel) : slide_for<Op, 2>(columns.kernel);
  pool_planes<Op>(axes, column_divisors, lines, slide_all);
}

void PoolPlanesF32(const std::vector<WindowAxis>& axes, const float* column_divisors,
                   const PlaneLines<float>& lines) {
  const auto pool = column_divisors != nullptr ? pool_floats<Add> : pool_floats<Max>;
  pool(axes, column_divisors, lines);
}

struct MaxOfBytes {
  [[maybe_unused]] static constexpr std::uint8_t kNeutral = 0;
  template <class V>
  static HWY_INLINE V vector(V best, V value) {
    return hn::Max(best, value);
  }
};

[[maybe_unused]] void pool_bytes(const std::vector<WindowAxis>& axes, const PlaneLines<std::uint8_t>& lines) {
  const auto slide_all = axes.back().params.stride == 1
                             ? slide_lines<MaxOfBytes, kAnyKernel, 1, std::uint8_t>
                             : slide_lines<MaxOfBytes, kAnyKernel, 2, std::uint8_t>;
  pool_planes<MaxOfBytes>(axes, nullptr, lines, slide_all);
}

PoolOfBytes PoolPlanesU8() {
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  return nullptr;  // these have no products of bytes, either
#else
  return pool_bytes;
#endif
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(PoolPlanesF32);
HWY_EXPORT(PoolPlanesU8);

bool slides_over_planes(const std::vector<WindowAxis>& axes) {
  if (axes.size() != 2 && axes.size() != 3) return false;
  for (const WindowAxis& axis : axes) {
    if (!axis.regular || axis.params.dilation != 1 || axis.out() == 0) return false;
    if (std::any_of(axis.windows.begin(), axis.windows.end(),
                    [](const Window& window) { return window.count == 0 || window.divisor == 0; })) {
      return false;
    }
  }
  const WindowAxis& columns = axes.back();
  return columns.params.stride <= 2 && columns.in <= kMostColumns && columns.out() <= kMostColumns &&
         columns.params.kernel <= kMostColumns && SeenColumns(columns.params).all <= kMostColumns;
}

void pool_planes_f32(const std::vector<WindowAxis>& axes, const float* column_divisors,
                     const PlaneLines<float>& lines) {
  HWY_DYNAMIC_DISPATCH(PoolPlanesF32)(axes, column_divisors, lines);
}

PoolOfBytes pool_of_bytes(const std::vector<WindowAxis>& axes) {
  if (!slides_over_planes(axes)) return nullptr;
  return HWY_DYNAMIC_DISPATCH(PoolPlanesU8)();
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
