// Images by rows, channels last or first, against the direct path, which other types take.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/image/interpolate.h"
#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

struct Image {
  std::vector<std::size_t> in;
  std::vector<std::size_t> axes;
  std::vector<std::size_t> sizes;
};

std::vector<Image> images() {
  return {{{1, 9, 11, 3}, {1, 2}, {6, 7}},       {{2, 7, 40, 3}, {1, 2}, {15, 61}},
          {{1, 3, 20, 700}, {2, 3}, {13, 233}},  {{1, 3, 5, 900}, {2, 3}, {11, 1300}},
          {{1, 30, 1000, 4}, {1, 2}, {10, 250}}, {{1, 2, 6, 3000}, {2, 3}, {3, 40}},
          {{1, 12, 10, 70}, {1, 2}, {5, 21}},    {{4, 5, 6, 3}, {0, 1, 2}, {3, 8, 4}},
          {{1, 8, 9, 5}, {2, 1}, {5, 14}},       {{17, 3}, {0}, {40}},
          {{1, 4, 4, 6000}, {1, 2}, {7, 3}},     {{2, 200000}, {0}, {5}}};
}

InterpolateParams params_of(const Image& image, InterpolateMode mode) {
  InterpolateParams params;
  params.mode = mode;
  params.in_dims = params.out_dims = image.in;
  params.axes = image.axes;
  for (std::size_t i = 0; i < image.axes.size(); ++i) {
    const std::size_t axis = image.axes[i];
    params.out_dims[axis] = image.sizes[i];
    params.scales.push_back(static_cast<float>(image.sizes[i]) / static_cast<float>(image.in[axis]));
  }
  return params;
}

std::size_t elements(const std::vector<std::size_t>& dims) {
  std::size_t count = 1;
  for (const std::size_t dim : dims) count *= dim;
  return count;
}

template <class T, class From>
std::vector<T> resized(const InterpolateParams& params, const From& from) {
  test::GuardedBuffer<T> in(from.size(), 1);
  test::GuardedBuffer<T> out(elements(params.out_dims), 1);
  std::copy(from.begin(), from.end(), in.begin());
  Interpolate(params).run(in.data(), out.data());
  REQUIRE(out.guards_intact());
  return {out.begin(), out.end()};
}

constexpr std::array kModes{InterpolateMode::linear, InterpolateMode::linear_onnx, InterpolateMode::cubic};

}  // namespace

TEST_CASE("bytes are resampled by rows to the same values as by elements", "[interpolate]") {
  IR_FOR_EACH_TARGET();
  const InterpolateMode mode = GENERATE(from_range(kModes));
  for (const Image& image : images()) {
    InterpolateParams params = params_of(image, mode);
    for (const auto coordinates :
         {CoordinateMode::half_pixel, CoordinateMode::asymmetric, CoordinateMode::align_corners}) {
      params.coordinates = coordinates;
      std::vector<std::uint8_t> from(elements(image.in));
      test::fill_random(from, 0, 256, 7);
      const std::vector<std::uint8_t> bytes = resized<std::uint8_t>(params, from);
      const std::vector<std::int16_t> wide = resized<std::int16_t>(params, from);
      INFO("rows of " << image.in.back());
      REQUIRE(std::equal(bytes.begin(), bytes.end(), wide.begin(), [](std::uint8_t byte, std::int16_t value) {
        return byte == std::clamp<std::int16_t>(value, 0, 255);
      }));
    }
  }
}

TEST_CASE("bytes next to padding are resampled by elements", "[interpolate]") {
  InterpolateParams params = params_of({{1, 8, 9, 3}, {1, 2}, {20, 30}}, InterpolateMode::linear);
  params.pads_begin = {0, 1, 2, 0};
  params.pads_end = {0, 1, 0, 0};
  std::vector<std::uint8_t> from(elements(params.in_dims));
  test::fill_random(from, 0, 256, 8);
  const std::vector<std::int16_t> wide = resized<std::int16_t>(params, from);
  CHECK(resized<std::uint8_t>(params, from) == std::vector<std::uint8_t>(wide.begin(), wide.end()));
}

TEST_CASE("floats are resampled by rows wherever their channels are", "[interpolate]") {
  IR_FOR_EACH_TARGET();
  const InterpolateMode mode = GENERATE(from_range(kModes));
  const bool antialias = GENERATE(false, true);
  for (const Image& image : images()) {
    InterpolateParams params = params_of(image, mode);
    params.antialias = antialias;
    std::vector<float> from(elements(image.in));
    test::fill_random(from, -1, 1, 9);
    const std::vector<float> floats = resized<float>(params, from);
    const std::vector<double> wide = resized<double>(params, from);
    INFO("rows of " << image.in.back());
    REQUIRE(std::equal(floats.begin(), floats.end(), wide.begin(),
                       [](float a, double b) { return test::close(a, b, 0, 1e-5); }));
  }
}

TEST_CASE("rows of images have the same bits on any number of threads", "[interpolate]") {
  const InterpolateParams params = params_of({{1, 300, 200, 3}, {1, 2}, {211, 160}}, InterpolateMode::linear);
  std::vector<std::uint8_t> from(elements(params.in_dims));
  test::fill_random(from, 0, 256, 10);
  std::vector<std::uint8_t> bytes[2];
  std::vector<float> floats[2];
  for (const int threads : {1, 2}) {
    ThreadPool(threads).run([&] {
      bytes[threads - 1] = resized<std::uint8_t>(params, from);
      floats[threads - 1] = resized<float>(params, from);
    });
  }
  CHECK(bytes[0] == bytes[1]);
  CHECK(floats[0] == floats[1]);
}

}  // namespace ir::kernels
