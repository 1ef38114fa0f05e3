#include "kernels/image/colour.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/colour.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/image/bytes-inl.h"
#include "kernels/threads/parallel.h"

#ifndef KERNELS_IMAGE_COLOUR_CC_ONCE_
#define KERNELS_IMAGE_COLOUR_CC_ONCE_
namespace ir::kernels {
namespace {

/// A row of pixels, as in YuvFrames.
template <class T>
struct YuvRow {
  const T* y;
  const T* u;
  const T* v;
  std::size_t chroma_step;

  [[nodiscard]] YuvRow from(std::size_t pixel) const {
    const std::size_t chroma = pixel / 2 * chroma_step;
    return {y + pixel, u + chroma, v + chroma, chroma_step};
  }
};

}  // namespace
}  // namespace ir::kernels
#endif  // KERNELS_IMAGE_COLOUR_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

/// u and v of two pixels each in turn.
template <class T>
HWY_INLINE V32 load_chroma(const YuvRow<T>& row) {
  if (row.chroma_step == 2) return load_as_floats(F32(), row.u);
  const hn::RepartitionToWide<hn::RebindToUnsigned<F32>> pairs;
  const hn::Rebind<std::uint32_t, decltype(pairs)> singles;
  const hn::RebindToFloat<decltype(singles)> floats;
  const auto widened = [=](const T* from) HWY_ATTR {
    return hn::PromoteTo(pairs, hn::BitCast(singles, load_as_floats(floats, from)));
  };
  return hn::BitCast(F32(), hn::Or(widened(row.u), hn::ShiftLeft<32>(widened(row.v))));
}

HWY_INLINE void store_pixels(V32 first, V32 second, V32 third, float* out) {
  hn::StoreInterleaved3(first, second, third, F32(), out);
}
HWY_INLINE void store_pixels(V32 first, V32 second, V32 third, std::uint8_t* out) {
  const F32 d;
  hn::StoreInterleaved3(rounded_bytes(d, first), rounded_bytes(d, second), rounded_bytes(d, third),
                        hn::Rebind<std::uint8_t, F32>(), out);
}

/// Whole vectors of a row. Returns how many pixels these are.
template <class T>
HWY_INLINE std::size_t convert_vectors(const YuvRow<T>& row, std::size_t width, ColourOrder order, T* out) {
  const F32 d;
  const auto times = [=](float factor, V32 value) HWY_ATTR { return hn::Mul(hn::Set(d, factor), value); };
  std::size_t x = 0;
  for (; x + hn::Lanes(d) <= width; x += hn::Lanes(d)) {
    const YuvRow<T> here = row.from(x);
    const V32 chroma = hn::Sub(load_chroma(here), hn::Set(d, 128.0F));
    const V32 du = hn::DupEven(chroma);
    const V32 dv = hn::DupOdd(chroma);
    const V32 luma = times(1.164F, hn::Sub(load_as_floats(d, here.y), hn::Set(d, 16.0F)));
    const V32 red = limit_to_bytes(d, hn::Add(luma, times(1.596F, dv)));
    const V32 green = limit_to_bytes(d, hn::Sub(hn::Sub(luma, times(0.391F, du)), times(0.813F, dv)));
    const V32 blue = limit_to_bytes(d, hn::Add(luma, times(2.018F, du)));
    const bool is_rgb = order == ColourOrder::rgb;
    store_pixels(is_rgb ? red : blue, green, is_rgb ? blue : red, out + 3 * x);
  }
  return x;
}

std::size_t ConvertBytes(const YuvRow<std::uint8_t>& row, std::size_t width, ColourOrder order,
                         std::uint8_t* out) {
  return convert_vectors(row, width, order, out);
}
std::size_t ConvertFloats(const YuvRow<float>& row, std::size_t width, ColourOrder order, float* out) {
  return convert_vectors(row, width, order, out);
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {
namespace {

HWY_EXPORT(ConvertBytes);
HWY_EXPORT(ConvertFloats);

constexpr std::size_t kChannels = 3;

template <class T>
T to_element(float value) {
  value = std::min(std::max(value, 0.0F), 255.0F);
  if constexpr (!std::is_integral_v<T>) return static_cast<T>(value);
  // std::round is a call.
  const auto whole = static_cast<std::int32_t>(value);
  return static_cast<T>(value - static_cast<float>(whole) < 0.5F ? whole : whole + 1);
}

/// What vectors leave of a row; they compute the same.
template <class T>
void convert_pixels(YuvRow<T> row, std::size_t width, ColourOrder order, T* out) {
  const std::size_t red = order == ColourOrder::rgb ? 0 : 2;
  for (std::size_t x = 0; x < width; x += 2, row = row.from(2)) {
    const float du = static_cast<float>(*row.u) - 128.0F;
    const float dv = static_cast<float>(*row.v) - 128.0F;
    for (std::size_t i = 0; i < 2; ++i, out += kChannels) {
      const float luma = 1.164F * (static_cast<float>(row.y[i]) - 16.0F);
      out[red] = to_element<T>(luma + 1.596F * dv);
      out[1] = to_element<T>(luma - 0.391F * du - 0.813F * dv);
      out[2 - red] = to_element<T>(luma + 2.018F * du);
    }
  }
}

template <class T>
void convert_row(const YuvRow<T>& row, std::size_t width, ColourOrder order, T* out) {
  std::size_t done = 0;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    done = HWY_DYNAMIC_DISPATCH(ConvertBytes)(row, width, order, out);
  } else if constexpr (std::is_same_v<T, float>) {
    done = HWY_DYNAMIC_DISPATCH(ConvertFloats)(row, width, order, out);
  }
  convert_pixels(row.from(done), width - done, order, out + done * kChannels);
}

}  // namespace

template <class T>
void yuv_to_rgb(const YuvFrames<T>& frames, std::size_t count, std::size_t height, std::size_t width,
                ColourOrder order, T* out) {
  parallel_for(count * height, grain_for_cost(width), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t frame = i / height;
      const std::size_t line = i % height;
      const std::size_t chroma = frame * frames.chroma_stride + line / 2 * (width / 2) * frames.chroma_step;
      const YuvRow<T> row{frames.y + frame * frames.y_stride + line * width, frames.u + chroma,
                          frames.v + chroma, frames.chroma_step};
      convert_row(row, width, order, out + i * width * kChannels);
    }
  });
}

template void yuv_to_rgb(const YuvFrames<std::uint8_t>&, std::size_t, std::size_t, std::size_t, ColourOrder,
                         std::uint8_t*);
template void yuv_to_rgb(const YuvFrames<float>&, std::size_t, std::size_t, std::size_t, ColourOrder, float*);
template void yuv_to_rgb(const YuvFrames<double>&, std::size_t, std::size_t, std::size_t, ColourOrder,
                         double*);

}  // namespace ir::kernels
#endif  // HWY_ONCE
