// A vector of bytes holds several rows of the planes deep inside of a network. So rows do not count here: a
// strip of planes with zeros between them is combined at the distances of a window's rows, and the results
// at those of its columns, of which masks hide what belongs to another row.
#include "kernels/pooling/pooling_flat.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pooling/pooling_flat.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

// Shared by all targets; defined once because this file is included again for each of them.
#ifndef KERNELS_POOLING_FLAT_CC_ONCE_
#define KERNELS_POOLING_FLAT_CC_ONCE_
namespace ir::kernels {

/// Of a plane with the zeros behind it.
inline constexpr std::size_t kMostFlatBytes = 2048;
/// Elements of the longest vector.
inline constexpr std::size_t kLongestBytes = 64;
/// Enough that what was stored has reached the cache when it is loaded at other distances.
inline constexpr std::size_t kFlatStrip = 2 * kMostFlatBytes;

}  // namespace ir::kernels
#endif  // KERNELS_POOLING_FLAT_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using Bytes = hn::ScalableTag<std::uint8_t>;

/// each(i, count) for vectors that cover [0, count) and have so many elements inside, the last one ending
/// where they do if it can.
template <class Each>
HWY_INLINE void for_each_part(std::size_t count, const Each& each) {
  const std::size_t lanes = hn::Lanes(Bytes());
  if (count < lanes) return each(std::size_t{0}, count);
  for_each_vector<std::uint8_t>(count, [&](std::size_t i) HWY_ATTR { each(i, lanes); });
}

HWY_INLINE auto load_part(const std::uint8_t* from, std::size_t count) {
  const Bytes d;
  return count == hn::Lanes(d) ? hn::LoadU(d, from) : load_n(d, from, count);
}

HWY_INLINE void store_part(hn::Vec<Bytes> v, std::uint8_t* to, std::size_t count) {
  const Bytes d;
  if (count == hn::Lanes(d)) return hn::StoreU(v, d, to);
  store_n(v, d, to, count);
}

[[maybe_unused]] void FlatPool(const FlatWindows& windows, const std::uint8_t* in, std::uint8_t* out,
                               std::size_t begin, std::size_t end) {
  const Bytes d;
  const std::size_t plane = windows.plane();
  const std::size_t above = windows.rows_above() * windows.width();
  const std::size_t pitch = plane + (windows.rows() - 1) * windows.width();
  const std::size_t most = kFlatStrip / pitch;
  const std::size_t before = windows.columns_before();
  HWY_ALIGN std::uint8_t strip[kFlatStrip + kMostFlatBytes + HWY_MAX_BYTES];
  HWY_ALIGN std::uint8_t combined[kMostFlatBytes + kFlatStrip + kMostFlatBytes + HWY_MAX_BYTES];
  std::fill_n(strip, above + std::min(most, end - begin) * pitch + HWY_MAX_BYTES, std::uint8_t{0});
  std::fill_n(combined, before, std::uint8_t{0});
  for (std::size_t first = begin; first < end; first += most) {
    const std::size_t count = std::min(most, end - first);
    for (std::size_t n = 0; n < count; ++n) {
      const std::uint8_t* const from = in + (first + n) * plane;
      // What is behind a short plane are zeros, or the next plane takes their place.
      for_each_part(plane, [&](std::size_t i, std::size_t inside) HWY_ATTR {
        hn::StoreU(load_part(from + i, inside), d, strip + above + n * pitch + i);
      });
    }
    const std::size_t all = (count - 1) * pitch + plane;
    for (std::size_t i = 0; i < all; i += hn::Lanes(d)) {
      auto best = hn::LoadU(d, strip + i);
      for (std::size_t row = 1; row < windows.rows(); ++row)
        best = hn::Max(best, hn::LoadU(d, strip + i + row * windows.width()));
      hn::StoreU(best, d, combined + before + i);
    }
    for (std::size_t n = 0; n < count; ++n) {
      const std::uint8_t* const from = combined + n * pitch;
      std::uint8_t* const to = out + (first + n) * plane;
      for_each_part(plane, [&](std::size_t i, std::size_t inside) HWY_ATTR {
        auto best = hn::LoadU(d, from + before + i);
        for (std::size_t column = 0; column < windows.columns(); ++column) {
          if (column == before) continue;
          const auto mask = load_part(windows.inside(column) + i, inside);
          best = hn::Max(best, hn::And(mask, hn::LoadU(d, from + i + column)));
        }
        store_part(best, to + i, inside);
      });
    }
  }
}

}  // namespace

FlatPoolOfBytes FlatPoolForWidth([[maybe_unused]] std::size_t width) {
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  return nullptr;  // these have no products of bytes, either
#else
  return width < hn::Lanes(Bytes()) ? FlatPool : nullptr;
#endif
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(FlatPoolForWidth);

FlatWindows::FlatWindows(const std::vector<WindowAxis>& axes) {
  if (axes.size() != 2) return;
  for (const WindowAxis& axis : axes) {
    const WindowParams& p = axis.params;
    if (!axis.regular || p.stride != 1 || p.dilation != 1 || p.out != p.in || p.kernel > p.in ||
        p.pad_begin >= p.kernel) {
      return;
    }
  }
  const WindowParams& down = axes[0].params;
  const WindowParams& along = axes[1].params;
  if (down.in > kMostFlatBytes || along.in >= kLongestBytes ||
      (down.in + down.kernel - 1) * along.in > kMostFlatBytes) {
    return;
  }
  plane_ = down.in * along.in;
  width_ = along.in;
  rows_ = down.kernel;
  rows_above_ = down.pad_begin;
  columns_ = along.kernel;
  columns_before_ = along.pad_begin;
  inside_.assign(columns_ * plane_, 255);
  for (std::size_t row = 0; row < columns_ * down.in; ++row) {
    std::uint8_t* const mask = inside_.data() + row * width_;
    const std::size_t column = row / down.in;
    if (column < columns_before_) std::fill_n(mask, columns_before_ - column, std::uint8_t{0});
    if (column > columns_before_)
      std::fill_n(mask + width_ - (column - columns_before_), column - columns_before_, std::uint8_t{0});
  }
}

std::size_t FlatWindows::cost() const {
  constexpr std::size_t kShortest = 32;  // of vectors of bytes
  return (plane_ / kShortest + 1) * (rows_ + 2 * columns_ + 4);
}

FlatPoolOfBytes flat_pool_of_bytes(const FlatWindows& windows) {
  return windows.are_none() ? nullptr : HWY_DYNAMIC_DISPATCH(FlatPoolForWidth)(windows.width());
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
