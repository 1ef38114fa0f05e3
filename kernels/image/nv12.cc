#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/image/colour.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/nv12.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/image/bytes-inl.h"
#include "kernels/threads/parallel.h"

#ifndef KERNELS_IMAGE_NV12_CC_ONCE_
#define KERNELS_IMAGE_NV12_CC_ONCE_
namespace ir::kernels {
namespace {

constexpr std::size_t kChannels = 3;

/// Two rows of pixels, and where they go.
template <class T>
struct RowPair {
  const T* in[2];
  T* luma[2];
  T* chroma;

  [[nodiscard]] RowPair from(std::size_t pixel) const {
    const std::size_t colour = pixel * kChannels;
    return {{in[0] + colour, in[1] + colour}, {luma[0] + pixel, luma[1] + pixel}, chroma + pixel};
  }
};

/// The factors of red, green and blue in one component, and what is added.
struct Component {
  double red;
  double green;
  double blue;
  double offset;
};
constexpr Component kY{0.257, 0.504, 0.098, 16.0};
constexpr Component kU{-0.148, -0.291, 0.439, 128.0};
constexpr Component kV{0.439, -0.368, -0.071, 128.0};

}  // namespace
}  // namespace ir::kernels
#endif  // KERNELS_IMAGE_NV12_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using F32 = hn::ScalableTag<float>;
using F64 = hn::ScalableTag<double>;
using Half = hn::Rebind<float, F64>;
using V32 = hn::Vec<F32>;
using V64 = hn::Vec<F64>;

/// The colours of some pixels.
struct Colours {
  V32 red, green, blue;
};

HWY_INLINE Colours load_colours(const float* from) {
  Colours colours;
  hn::LoadInterleaved3(F32(), from, colours.red, colours.green, colours.blue);
  return colours;
}
HWY_INLINE Colours load_colours(const std::uint8_t* from) {
  const hn::Rebind<std::uint8_t, F32> bytes;
  hn::Vec<decltype(bytes)> first, second, third;
  hn::LoadInterleaved3(bytes, from, first, second, third);
  const auto widened = [](auto value) HWY_ATTR {
    return hn::ConvertTo(F32(), hn::PromoteTo(hn::RebindToSigned<F32>(), value));
  };
  return {widened(first), widened(second), widened(third)};
}

/// Limited to [0, 255] and, for bytes, rounded, halves up.
template <class T>
HWY_INLINE V64 to_level(V64 value) {
  const F64 d;
  value = limit_to_bytes(d, value);
  if constexpr (!std::is_integral_v<T>) return value;
  const V64 whole = hn::Floor(value);
  const auto up = hn::Ge(hn::Sub(value, whole), hn::Set(d, 0.5));
  return hn::Add(whole, hn::IfThenElseZero(up, hn::Set(d, 1.0)));
}

template <class T>
HWY_INLINE V32 levels_of(const Component& component, const Colours& colours) {
  const F64 d;
  const auto in_doubles = [&](const auto& half) HWY_ATTR {
    const auto times = [&](double factor, V32 value)
                           HWY_ATTR { return hn::Mul(hn::Set(d, factor), hn::PromoteTo(d, half(value))); };
    const V64 sum = hn::Add(hn::Add(times(component.red, colours.red), times(component.green, colours.green)),
                            times(component.blue, colours.blue));
    return hn::DemoteTo(Half(), to_level<T>(hn::Add(sum, hn::Set(d, component.offset))));
  };
  const auto lower = in_doubles([](V32 value) HWY_ATTR { return hn::LowerHalf(Half(), value); });
  const auto upper = in_doubles([](V32 value) HWY_ATTR { return hn::UpperHalf(Half(), value); });
  return hn::Combine(F32(), upper, lower);
}

HWY_INLINE void store_levels(V32 levels, float* out) { hn::StoreU(levels, F32(), out); }
HWY_INLINE void store_levels(V32 levels, std::uint8_t* out) {
  hn::StoreU(rounded_bytes(F32(), levels), hn::Rebind<std::uint8_t, F32>(), out);
}

/// Luma of pixels of one row; returns u, v of pairs of pixels, added up.
template <class T>
HWY_INLINE V32 convert_vector(const T* in, ColourOrder order, T* luma) {
  Colours colours = load_colours(in);
  if (order == ColourOrder::bgr) std::swap(colours.red, colours.blue);
  store_levels(levels_of<T>(kY, colours), luma);
  const V32 u = levels_of<T>(kU, colours);
  const V32 v = levels_of<T>(kV, colours);
  return hn::Add(hn::OddEven(hn::DupEven(v), u), hn::OddEven(v, hn::DupOdd(u)));
}

/// Whole vectors of two rows. Returns how many pixels of each these are.
template <class T>
HWY_INLINE std::size_t convert_vectors(const RowPair<T>& rows, std::size_t width, ColourOrder order) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t x = 0;
  for (; x + lanes <= width; x += lanes) {
    const RowPair<T> here = rows.from(x);
    const V32 upper = convert_vector(here.in[0], order, here.luma[0]);
    const V32 lower = convert_vector(here.in[1], order, here.luma[1]);
    store_levels(hn::Mul(hn::Add(upper, lower), hn::Set(F32(), 0.25F)), here.chroma);
  }
  return x;
}

std::size_t ConvertBytes(const RowPair<std::uint8_t>& rows, std::size_t width, ColourOrder order) {
  return convert_vectors(rows, width, order);
}
std::size_t ConvertFloats(const RowPair<float>& rows, std::size_t width, ColourOrder order) {
  return convert_vectors(rows, width, order);
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {
namespace {

HWY_EXPORT(ConvertBytes);
HWY_EXPORT(ConvertFloats);

template <class T>
T to_element(double value) {
  value = std::min(std::max(value, 0.0), 255.0);
  if constexpr (!std::is_integral_v<T>) return static_cast<T>(value);
  const double whole = std::floor(value);
  return static_cast<T>(value - whole < 0.5 ? whole : whole + 1);
}

template <class T>
T component_of(const Component& component, double red, double green, double blue) {
  return to_element<T>(component.red * red + component.green * green + component.blue * blue +
                       component.offset);
}

/// What vectors leave of two rows; they compute the same.
template <class T>
void convert_pixels(RowPair<T> rows, std::size_t width, ColourOrder order) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const std::size_t red = order == ColourOrder::rgb ? 0 : 2;
  for (std::size_t x = 0; x < width; x += 2, rows = rows.from(2)) {
    Sum u[2] = {};
    Sum v[2] = {};
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t i = 0; i < 2; ++i) {
        const T* pixel = rows.in[row] + i * kChannels;
        const auto r = static_cast<double>(pixel[red]);
        const auto g = static_cast<double>(pixel[1]);
        const auto b = static_cast<double>(pixel[2 - red]);
        rows.luma[row][i] = component_of<T>(kY, r, g, b);
        u[row] += static_cast<Sum>(component_of<T>(kU, r, g, b));
        v[row] += static_cast<Sum>(component_of<T>(kV, r, g, b));
      }
    }
    rows.chroma[0] = to_element<T>((u[0] + u[1]) / 4);
    rows.chroma[1] = to_element<T>((v[0] + v[1]) / 4);
  }
}

template <class T>
void convert_rows(const RowPair<T>& rows, std::size_t width, ColourOrder order) {
  std::size_t done = 0;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    done = HWY_DYNAMIC_DISPATCH(ConvertBytes)(rows, width, order);
  } else if constexpr (std::is_same_v<T, float>) {
    done = HWY_DYNAMIC_DISPATCH(ConvertFloats)(rows, width, order);
  }
  convert_pixels(rows.from(done), width - done, order);
}

}  // namespace

template <class T>
void rgb_to_nv12(const T* in, std::size_t count, std::size_t height, std::size_t width, ColourOrder order,
                 const Nv12Frames<T>& out) {
  const std::size_t pairs = height / 2;
  parallel_for(count * pairs, grain_for_cost(4 * width), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t frame = i / pairs;
      const std::size_t pair = i % pairs;
      const T* from = in + 2 * i * width * kChannels;
      T* luma = out.y + frame * out.y_stride + 2 * pair * width;
      T* chroma = out.chroma + frame * out.chroma_stride + pair * width;
      convert_rows(RowPair<T>{{from, from + width * kChannels}, {luma, luma + width}, chroma}, width, order);
    }
  });
}

template void rgb_to_nv12(const std::uint8_t*, std::size_t, std::size_t, std::size_t, ColourOrder,
                          const Nv12Frames<std::uint8_t>&);
template void rgb_to_nv12(const float*, std::size_t, std::size_t, std::size_t, ColourOrder,
                          const Nv12Frames<float>&);
template void rgb_to_nv12(const double*, std::size_t, std::size_t, std::size_t, ColourOrder,
                          const Nv12Frames<double>&);

}  // namespace ir::kernels
#endif  // HWY_ONCE
