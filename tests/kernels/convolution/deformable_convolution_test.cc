#include "kernels/convolution/deformable_convolution.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::fill_random;
using test::GuardedBuffer;

std::size_t taps_of(const DeformableConvolutionParams& params) { return params.y.kernel * params.x.kernel; }
std::size_t places_of(const DeformableConvolutionParams& params) { return params.y.out * params.x.out; }

// Dense windows of `kernel` with these steps over `in`.
WindowParams windows(std::size_t in, std::size_t kernel, std::size_t stride, std::size_t dilation,
                     std::size_t pad) {
  const std::size_t span = (kernel - 1) * dilation + 1;
  return {in, (in + 2 * pad - span) / stride + 1, kernel, stride, dilation, pad, pad};
}

template <class T>
struct Case {
  DeformableConvolutionParams params;
  std::vector<T> image;
  std::vector<T> offsets;
  std::vector<T> weights;
  std::vector<T> mask;

  explicit Case(const DeformableConvolutionParams& given, std::uint32_t seed = 1)
      : params(given),
        image(params.batch * params.in_channels * params.y.in * params.x.in),
        offsets(params.batch * params.deformable_groups * taps_of(params) * 2 * places_of(params)),
        weights(params.out_channels * params.in_channels / params.groups * taps_of(params)),
        mask(offsets.size() / 2) {
    const bool is_signed = std::numeric_limits<T>::is_signed;
    fill_random(image, is_signed ? -8 : 0, 9, seed);
    fill_random(offsets, is_signed ? -2.5 : 0, 3, seed + 1);
    fill_random(weights, is_signed ? -3 : 0, 4, seed + 2);
    fill_random(mask, 0, 3, seed + 3);
  }
};

// What lies at (y, x) of a plane, by the words of the specification.
double interpolated(const auto& pixel, double y, double x, std::size_t height, std::size_t width, bool pad) {
  const double lowest = pad ? -1.0 : -1e-12;
  if (y <= lowest || x <= lowest || y >= double(height) || x >= double(width)) return 0;
  const auto at = [&](long row, long column) -> double {
    if (!pad) {
      row = std::min(row, long(height) - 1);
      column = std::min(column, long(width) - 1);
    }
    if (row < 0 || column < 0 || row >= long(height) || column >= long(width)) return 0;
    return pixel(row, column);
  };
  const auto row = long(std::floor(y));
  const auto column = long(std::floor(x));
  double sum = 0;
  for (long dy = 0; dy < 2; ++dy) {
    for (long dx = 0; dx < 2; ++dx) {
      const double weight = (1 - std::abs(y - double(row + dy))) * (1 - std::abs(x - double(column + dx)));
      if (weight != 0) sum += weight * at(row + dy, column + dx);
    }
  }
  return sum;
}

template <class T>
std::vector<double> twin(const Case<T>& data, bool masked) {
  const DeformableConvolutionParams& params = data.params;
  const std::size_t per_group = params.in_channels / params.groups;
  const std::size_t taps = taps_of(params);
  const std::size_t places = places_of(params);
  std::vector<double> out;
  for (std::size_t n = 0; n < params.batch; ++n) {
    for (std::size_t o = 0; o < params.out_channels; ++o) {
      for (std::size_t place = 0; place < places; ++place) {
        double sum = 0;
        for (std::size_t i = 0; i < per_group; ++i) {
          const std::size_t c = o / (params.out_channels / params.groups) * per_group + i;
          const std::size_t part = c / (params.in_channels / params.deformable_groups);
          const T* plane = data.image.data() + (n * params.in_channels + c) * params.y.in * params.x.in;
          for (std::size_t k = 0; k < taps; ++k) {
            const std::size_t scale = (n * params.deformable_groups + part) * taps + k;
            const double y = double(place / params.x.out * params.y.stride) +
                             double(k / params.x.kernel * params.y.dilation) - double(params.y.pad_begin) +
                             double(data.offsets[2 * scale * places + place]);
            const double x = double(place % params.x.out * params.x.stride) +
                             double(k % params.x.kernel * params.x.dilation) - double(params.x.pad_begin) +
                             double(data.offsets[(2 * scale + 1) * places + place]);
            const double value = interpolated(
                [&](long row, long column) { return double(plane[row * long(params.x.in) + column]); }, y, x,
                params.y.in, params.x.in, params.blends_with_padding);
            sum += value * double(data.weights[(o * per_group + i) * taps + k]) *
                   (masked ? double(data.mask[scale * places + place]) : 1.0);
          }
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

template <class T>
std::vector<T> run(const Case<T>& data, bool masked, bool known_weights) {
  const DeformableConvolution<T> kernel(data.params, known_weights ? data.weights.data() : nullptr);
  GuardedBuffer<T> out(data.params.batch * data.params.out_channels * places_of(data.params), 1);
  GuardedBuffer<std::uint64_t> scratch((kernel.scratch_bytes() + 7) / 8);
  const bool packed = known_weights && std::is_same_v<T, float>;
  kernel.run(data.image.data(), data.offsets.data(), packed ? nullptr : data.weights.data(),
             masked ? data.mask.data() : nullptr, out.data(), reinterpret_cast<std::byte*>(scratch.data()));
  REQUIRE(out.guards_intact());
  REQUIRE(scratch.guards_intact());
  return {out.begin(), out.end()};
}

template <class T>
void check(const Case<T>& data, bool masked) {
  const std::vector<double> expected = twin(data, masked);
  const std::vector<T> late = run(data, masked, false);
  CHECK(run(data, masked, true) == late);
  REQUIRE(late.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("element " << i);
    if constexpr (std::is_integral_v<T>) {
      CHECK(late[i] == static_cast<T>(static_cast<std::int64_t>(expected[i])));
    } else {
      CHECK(test::close(late[i], expected[i], 1e-5, 1e-3));
    }
  }
}

DeformableConvolutionParams plain(WindowParams y, WindowParams x) {
  DeformableConvolutionParams params;
  params.in_channels = 1;
  params.out_channels = 1;
  params.y = y;
  params.x = x;
  return params;
}

}  // namespace

TEST_CASE("Deformable convolution agrees with the definition on every target", "[deformable]") {
  IR_FOR_EACH_TARGET();
  auto params = plain(windows(9, 3, 2, 1, 1), windows(11, 2, 1, 3, 2));
  params.batch = 2;
  params.in_channels = GENERATE(12U, 36U);
  params.out_channels = 8;
  params.blends_with_padding = GENERATE(false, true);
  params.groups = GENERATE(1U, 2U, 4U);
  params.deformable_groups = GENERATE(1U, 3U, 4U);
  check(Case<float>(params), GENERATE(false, true));
}

TEMPLATE_TEST_CASE("Deformable convolution takes every element type", "[deformable]", double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  auto params = plain(windows(5, 2, 1, 2, 1), windows(6, 3, 2, 1, 1));
  params.in_channels = 4;
  params.out_channels = 2;
  params.groups = 2;
  params.deformable_groups = GENERATE(1U, 4U);
  params.blends_with_padding = GENERATE(false, true);
  check(Case<TestType>(params), GENERATE(false, true));
}

TEST_CASE("Deformable convolution splits large planes into tiles that overlap", "[deformable]") {
  // 600 * 9 rows leave 48 places to a tile; 7 * 23 places are not a multiple of any tile.
  auto params = plain(windows(7, 3, 1, 1, 1), windows(23, 3, 1, 1, 1));
  params.in_channels = 600;
  params.out_channels = 3;
  check(Case<float>(params), true);
}

TEST_CASE("Deformable convolution reads next to the image as its mode says", "[deformable]") {
  // One tap over [2, 4, 6], moved along x.
  auto params = plain(windows(1, 1, 1, 1, 0), windows(3, 1, 1, 1, 0));
  Case<float> data(params);
  data.image = {2, 4, 6};
  data.weights = {1};
  const auto moved = [&](float first, float last, bool pad) {
    data.params.blends_with_padding = pad;
    data.offsets = {0, 0, 0, first, 0.5F, last};
    return run(data, false, true);
  };
  CHECK(moved(-0.5F, 0.5F, false) == std::vector<float>{0, 5, 6});
  CHECK(moved(-0.5F, 0.5F, true) == std::vector<float>{1, 5, 3});
  CHECK(moved(-1.0F, 1.0F, true) == std::vector<float>{0, 5, 0});
  CHECK(moved(-1.0F, 1.0F, false) == std::vector<float>{0, 5, 0});
  CHECK(moved(2.0F, -2.0F, false) == std::vector<float>{6, 5, 2});
}

TEST_CASE("Deformable convolution reads nothing at places that are no places", "[deformable]") {
  auto params = plain(windows(1, 1, 1, 1, 0), windows(4, 1, 1, 1, 0));
  Case<float> data(params);
  const float infinity = std::numeric_limits<float>::infinity();
  data.image = {1, 2, 3, 4};
  data.weights = {1};
  data.params.blends_with_padding = GENERATE(false, true);
  data.offsets = {0, 0, 0, 0, std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 3e38F};
  CHECK(run(data, false, true) == std::vector<float>(4, 0));
  std::fill(data.offsets.begin(), data.offsets.end(), 0.0F);
  data.offsets[2] = std::numeric_limits<float>::quiet_NaN();
  CHECK(run(data, false, true) == std::vector<float>{1, 2, 0, 4});
}

TEST_CASE("Deformable convolution keeps integers far out from wrapping into the image", "[deformable]") {
  Case<std::int64_t> data(plain(windows(1, 1, 1, 1, 0), windows(3, 1, 1, 1, 0)));
  data.image = {1, 2, 3};
  data.weights = {1};
  using Limits = std::numeric_limits<std::int64_t>;
  data.offsets = {0, 0, 0, Limits::min(), Limits::max(), -2};
  CHECK(run(data, false, true) == std::vector<std::int64_t>{0, 0, 1});
  Case<std::uint64_t> above(plain(windows(1, 1, 1, 1, 0), windows(3, 1, 1, 1, 0)));
  above.image = {1, 2, 3};
  above.weights = {1};
  above.offsets = {0, 0, 0, std::numeric_limits<std::uint64_t>::max(), 1, 0};
  CHECK(run(above, false, true) == std::vector<std::uint64_t>{0, 3, 3});
}

TEST_CASE("Deformable convolution takes empty images and channels", "[deformable]") {
  auto params = plain(windows(0, 2, 1, 1, 1), windows(3, 2, 1, 1, 0));
  params.blends_with_padding = true;
  CHECK(run(Case<float>(params), false, true) == std::vector<float>(2, 0));
  params = plain(windows(2, 2, 1, 1, 1), windows(3, 2, 1, 1, 0));
  params.in_channels = 0;
  CHECK(run(Case<float>(params), true, false) == std::vector<float>(6, 0));
  CHECK(run(Case<std::int32_t>(params), true, false) == std::vector<std::int32_t>(6, 0));
}

TEST_CASE("An accurate deformable convolution of one place keeps all bits of its weights", "[deformable]") {
  auto params = plain(windows(3, 3, 1, 1, 0), windows(3, 3, 1, 1, 0));
  params.in_channels = 512;
  params.out_channels = 512;
  params.accurate = true;
  const Case<float> data(params);
  const std::vector<double> expected = twin(data, false);
  const std::vector<float> got = run(data, false, true);
  double errors = 0;
  double squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    errors += (double{got[i]} - expected[i]) * (double{got[i]} - expected[i]);
    squares += expected[i] * expected[i];
  }
  CHECK(std::sqrt(errors / squares) < 1e-6);
}

TEST_CASE("Deformable convolution gives the same bits for any number of threads", "[deformable]") {
  auto params = plain(windows(40, 3, 1, 1, 1), windows(40, 3, 1, 1, 1));
  params.in_channels = 32;
  params.out_channels = 8;
  params.deformable_groups = 2;
  const Case<float> data(params);
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = run(data, true, true); });
  ThreadPool(2).run([&] { two = run(data, true, true); });
  CHECK(one == two);
}

}  // namespace ir::kernels
