#include "kernels/image/colour.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kChannels = 3;

template <class T>
T to_element(float value) {
  value = std::min(std::max(value, 0.0F), 255.0F);
  if constexpr (!std::is_integral_v<T>) return static_cast<T>(value);
  // std::round is a call.
  const auto whole = static_cast<std::int32_t>(value);
  return static_cast<T>(value - static_cast<float>(whole) < 0.5F ? whole : whole + 1);
}

/// `kRed`: the channel that red goes to; blue takes the other end.
template <std::size_t kRed, class T>
void convert_row(const T* y, const T* u, const T* v, std::size_t chroma_step, std::size_t width, T* out) {
  for (std::size_t x = 0; x < width; x += 2) {
    const float du = static_cast<float>(*u) - 128.0F;
    const float dv = static_cast<float>(*v) - 128.0F;
    for (std::size_t i = 0; i < 2; ++i, out += kChannels) {
      const float luma = 1.164F * (static_cast<float>(y[x + i]) - 16.0F);
      out[kRed] = to_element<T>(luma + 1.596F * dv);
      out[1] = to_element<T>(luma - 0.391F * du - 0.813F * dv);
      out[2 - kRed] = to_element<T>(luma + 2.018F * du);
    }
    u += chroma_step;
    v += chroma_step;
  }
}

}  // namespace

template <class T>
void yuv_to_rgb(const YuvFrames<T>& frames, std::size_t count, std::size_t height, std::size_t width,
                ColourOrder order, T* out) {
  const auto convert = order == ColourOrder::rgb ? convert_row<0, T> : convert_row<2, T>;
  parallel_for(count * height, grain_for_cost(width * 8), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::size_t frame = row / height;
      const std::size_t line = row % height;
      const std::size_t chroma = frame * frames.chroma_stride + line / 2 * (width / 2) * frames.chroma_step;
      convert(frames.y + frame * frames.y_stride + line * width, frames.u + chroma, frames.v + chroma,
              frames.chroma_step, width, out + row * width * kChannels);
    }
  });
}

template void yuv_to_rgb(const YuvFrames<std::uint8_t>&, std::size_t, std::size_t, std::size_t, ColourOrder,
                         std::uint8_t*);
template void yuv_to_rgb(const YuvFrames<float>&, std::size_t, std::size_t, std::size_t, ColourOrder, float*);
template void yuv_to_rgb(const YuvFrames<double>&, std::size_t, std::size_t, std::size_t, ColourOrder,
                         double*);

}  // namespace ir::kernels
