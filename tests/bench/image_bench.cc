// Frames of video to RGB and back, images to other sizes.
#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "kernels/image/colour.h"
#include "kernels/image/interpolate.h"
#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

constexpr std::size_t kHeight = 1080;
constexpr std::size_t kWidth = 1920;

template <class T>
double bytes_of(const std::vector<T>& values) {
  return static_cast<double>(values.size() * sizeof(T));
}

template <class T>
void convert_frame(benchmark::State& state) {
  const std::vector<T> planes(kHeight * kWidth * 3 / 2, T{100});
  std::vector<T> out(kHeight * kWidth * 3);
  const T* const chroma = planes.data() + kHeight * kWidth;
  const kernels::YuvFrames<T> frames{planes.data(), chroma, chroma + 1, 2, 0, 0};
  measure(state, {0, bytes_of(planes) + bytes_of(out)},
          [&] { kernels::yuv_to_rgb(frames, 1, kHeight, kWidth, kernels::ColourOrder::rgb, out.data()); });
}

template <class T>
void make_frame(benchmark::State& state) {
  const std::vector<T> image(kHeight * kWidth * 3, T{100});
  std::vector<T> planes(kHeight * kWidth * 3 / 2);
  const kernels::Nv12Frames<T> frames{planes.data(), planes.data() + kHeight * kWidth, 0, 0};
  measure(state, {0, bytes_of(planes) + bytes_of(image)},
          [&] { kernels::rgb_to_nv12(image.data(), 1, kHeight, kWidth, kernels::ColourOrder::rgb, frames); });
}

enum class Channels { first, last };

template <class T>
void resize(benchmark::State& state, kernels::InterpolateMode mode, Channels channels, std::size_t size) {
  const bool are_last = channels == Channels::last;
  kernels::InterpolateParams params;
  params.mode = mode;
  params.in_dims =
      are_last ? std::vector<std::size_t>{kHeight, kWidth, 3} : std::vector<std::size_t>{3, kHeight, kWidth};
  params.axes = are_last ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{1, 2};
  params.out_dims = params.in_dims;
  for (const std::size_t axis : params.axes) {
    params.out_dims[axis] = size;
    params.scales.push_back(static_cast<float>(size) / static_cast<float>(params.in_dims[axis]));
  }
  const kernels::Interpolate interpolate(params);
  const std::vector<T> image(3 * kHeight * kWidth, T{100});
  std::vector<T> out(3 * size * size);
  measure(state, {0, bytes_of(image) + bytes_of(out)}, [&] { interpolate.run(image.data(), out.data()); });
}

struct Mode {
  kernels::InterpolateMode mode;
  const char* name;
};

constexpr Mode kModes[] = {
    {kernels::InterpolateMode::linear_onnx, "linear"},
    {kernels::InterpolateMode::cubic, "cubic"},
    {kernels::InterpolateMode::nearest, "nearest"},
    {kernels::InterpolateMode::bilinear_pillow, "pillow"},
};

template <class T>
void add_sizes(const char* type) {
  for (const Mode& mode : kModes) {
    for (const Channels channels : {Channels::first, Channels::last}) {
      const char* const order = channels == Channels::first ? "chw" : "hwc";
      add(fmt::format("image/{}_{}_1080p_640_{}", mode.name, order, type),
          [mode, channels](benchmark::State& state) { resize<T>(state, mode.mode, channels, 640); });
    }
  }
}

}  // namespace

void register_image() {
  add("image/nv12_1080p_u8", convert_frame<std::uint8_t>);
  add("image/nv12_1080p_f32", convert_frame<float>);
  add("image/to_nv12_1080p_u8", make_frame<std::uint8_t>);
  add("image/to_nv12_1080p_f32", make_frame<float>);
  add_sizes<float>("f32");
  add_sizes<std::uint8_t>("u8");
}

}  // namespace ir::bench
