#include "kernels/convolution/convolution_nd.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

ConvolutionNdParams line(std::size_t in, std::size_t out, std::size_t kernel) {
  ConvolutionNdParams p;
  p.in_channels = p.out_channels = 1;
  p.in_dims = {in};
  p.out_dims = {out};
  p.kernel = {kernel};
  p.strides = p.dilations = p.data_dilations = {1};
  p.pads_begin = {0};
  return p;
}

template <class T>
std::vector<T> convolve(const ConvolutionNdParams& p, const std::vector<T>& image,
                        const std::vector<T>& weights, std::size_t size) {
  GuardedBuffer<T> out(size, 1);
  convolution_nd(p, image.data(), weights.data(), out.data());
  CHECK(out.guards_intact());
  return {out.begin(), out.end()};
}

template <class T>
std::vector<T> deconvolve(const ConvolutionNdParams& p, const std::vector<T>& image,
                          const std::vector<T>& weights, std::size_t size) {
  GuardedBuffer<T> out(size, 1);
  deconvolution_nd(p, image.data(), weights.data(), out.data());
  CHECK(out.guards_intact());
  return {out.begin(), out.end()};
}

TEMPLATE_TEST_CASE("convolution_nd on a line, by hand", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  using T = TestType;
  const std::vector<T> image{1, 2, 3, 4, 5};
  const std::vector<T> weights{1, 0, 2};
  ConvolutionNdParams p = line(5, 3, 3);
  CHECK(convolve(p, image, weights, 3) == std::vector<T>{7, 10, 13});
  p.pads_begin = {1};
  p.out_dims = {5};
  CHECK(convolve(p, image, weights, 5) == std::vector<T>{4, 7, 10, 13, 4});
  p.strides = {2};
  p.out_dims = {3};
  CHECK(convolve(p, image, weights, 3) == std::vector<T>{4, 10, 4});
  p.strides = {1};
  p.dilations = {2};
  p.pads_begin = {0};
  p.out_dims = {1};
  CHECK(convolve(p, image, weights, 1) == std::vector<T>{11});
  // Cropped: the image is {3, 4, 5}.
  p.dilations = {1};
  p.pads_begin = {-2};
  CHECK(convolve(p, image, weights, 1) == std::vector<T>{13});
  // Zeros between the samples: 1 0 2 0 3 0 4 0 5.
  p.pads_begin = {0};
  p.data_dilations = {2};
  p.out_dims = {7};
  CHECK(convolve(p, image, weights, 7) == std::vector<T>{5, 0, 8, 0, 11, 0, 14});
}

TEST_CASE("convolution_nd keeps groups and batch apart") {
  ConvolutionNdParams p = line(2, 1, 2);
  p.batch = 2;
  p.groups = 2;
  p.in_channels = 2;
  p.out_channels = 4;
  const std::vector<std::int32_t> image{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::int32_t> weights{1, 0, 0, 1, 1, 1, 2, 0};
  CHECK(convolve(p, image, weights, 8) == std::vector<std::int32_t>{1, 2, 7, 6, 5, 6, 15, 14});
}

TEST_CASE("convolution_nd takes four spatial dimensions") {
  ConvolutionNdParams p;
  p.in_channels = p.out_channels = 1;
  p.in_dims = {2, 2, 2, 3};
  p.out_dims = {1, 1, 1, 2};
  p.kernel = {2, 2, 2, 2};
  p.strides = p.dilations = p.data_dilations = {1, 1, 1, 1};
  p.pads_begin = {0, 0, 0, 0};
  std::vector<double> image(24);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i);
  // Ones: the sum of all samples but the last, or the first, of each row of three.
  CHECK(convolve(p, image, std::vector<double>(16, 1), 2) == std::vector<double>{176, 192});
}

TEST_CASE("deconvolution_nd on a line, by hand") {
  const std::vector<std::int64_t> image{1, 2, 3};
  const std::vector<std::int64_t> weights{1, 10, 100};
  ConvolutionNdParams p = line(3, 5, 3);
  CHECK(deconvolve(p, image, weights, 5) == std::vector<std::int64_t>{1, 12, 123, 230, 300});
  p.strides = {2};
  p.out_dims = {7};
  CHECK(deconvolve(p, image, weights, 7) == std::vector<std::int64_t>{1, 10, 102, 20, 203, 30, 300});
  p.pads_begin = {1};
  p.out_dims = {6};  // output padding of one
  CHECK(deconvolve(p, image, weights, 6) == std::vector<std::int64_t>{10, 102, 20, 203, 30, 300});
  p.strides = {1};
  p.dilations = {2};
  p.pads_begin = {0};
  p.out_dims = {7};
  CHECK(deconvolve(p, image, weights, 7) == std::vector<std::int64_t>{1, 2, 13, 20, 130, 200, 300});
}

/// What both forms add up: of each triple of an output, a tap and a sample that meet, along both axes.
template <class Meets>
std::vector<std::int64_t> twin(const ConvolutionNdParams& p, const std::vector<std::int64_t>& image,
                               const std::vector<std::int64_t>& weights, std::size_t size,
                               const Meets& meets) {
  std::vector<std::int64_t> out(size);
  for (std::size_t y = 0; y < size; ++y) {
    for (std::size_t t = 0; t < weights.size(); ++t) {
      for (std::size_t q = 0; q < image.size(); ++q) {
        if (meets(0, y / p.out_dims[1], t / p.kernel[1], q / p.in_dims[1]) &&
            meets(1, y % p.out_dims[1], t % p.kernel[1], q % p.in_dims[1]))
          out[y] += weights[t] * image[q];
      }
    }
  }
  return out;
}

std::ptrdiff_t place(std::size_t index, std::size_t step) {
  return static_cast<std::ptrdiff_t>(index * step);
}

TEST_CASE("convolution_nd and deconvolution_nd find the taps that meet samples at all distances") {
  const auto [stride, dilation, data_dilation] = GENERATE(table<std::size_t, std::size_t, std::size_t>(
      {{1, 1, 1}, {2, 3, 4}, {3, 2, 1}, {4, 6, 9}, {6, 4, 2}, {7, 5, 3}, {9, 1, 8}, {1, 12, 5}}));
  const std::ptrdiff_t pad = GENERATE(-5, 0, 3, 40);
  const std::size_t kernel = GENERATE(1, 2, 9);
  ConvolutionNdParams p;
  p.in_channels = p.out_channels = 1;
  p.in_dims = {2, 5};
  p.out_dims = {3, 60};
  p.kernel = {3, kernel};
  p.strides = {2, stride};
  p.dilations = {1, dilation};
  p.data_dilations = {3, data_dilation};
  p.pads_begin = {1, pad};
  std::vector<std::int64_t> image(10);
  std::vector<std::int64_t> weights(3 * kernel);
  test::fill_random(image, -9, 9, 1);
  test::fill_random(weights, -9, 9, 2);
  CHECK(convolve(p, image, weights, 180) ==
        twin(p, image, weights, 180, [&](std::size_t axis, std::size_t y, std::size_t t, std::size_t q) {
          return place(y, p.strides[axis]) + place(t, p.dilations[axis]) - p.pads_begin[axis] ==
                 place(q, p.data_dilations[axis]);
        }));
  CHECK(deconvolve(p, image, weights, 180) ==
        twin(p, image, weights, 180, [&](std::size_t axis, std::size_t y, std::size_t t, std::size_t q) {
          return place(q, p.strides[axis]) + place(t, p.dilations[axis]) - p.pads_begin[axis] == place(y, 1);
        }));
}

TEST_CASE("deconvolution_nd takes strides and dilations of any size") {
  const std::size_t far = GENERATE(std::size_t{1} << 33, (std::size_t{1} << 61) + 1);
  // The third tap of the first sample is the first tap of the second one.
  ConvolutionNdParams p = line(2, 2, 3);
  p.strides = {2 * far};
  p.dilations = {far};
  p.pads_begin = {static_cast<std::ptrdiff_t>(2 * far)};
  CHECK(deconvolve(p, std::vector<std::int64_t>{1, 2}, std::vector<std::int64_t>{3, 5, 7}, 2) ==
        std::vector<std::int64_t>{13, 0});
  p = line(1, 1, 1);
  p.dilations = {std::numeric_limits<std::size_t>::max() / 2};
  CHECK(deconvolve(p, std::vector<std::int64_t>{3}, std::vector<std::int64_t>{5}, 1) ==
        std::vector<std::int64_t>{15});
}

TEST_CASE("deconvolution_nd does not try all taps of a long kernel for each output") {
  constexpr std::size_t kTaps = 40'000;
  ConvolutionNdParams p = line(8, 8 * kTaps, kTaps);
  p.strides = {kTaps};
  const std::vector<float> image(8, 2);
  const std::vector<float> weights(kTaps, 3);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(deconvolve(p, image, weights, 8 * kTaps) == std::vector<float>(8 * kTaps, 6));
  // Some milliseconds; with all taps, half a minute.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));
}

TEST_CASE("convolution_nd wraps, and gives the same bits on one and two threads") {
  ConvolutionNdParams p = line(1, 1, 1);
  CHECK(convolve(p, std::vector<std::int8_t>{100}, std::vector<std::int8_t>{3}, 1) ==
        std::vector<std::int8_t>{44});

  p = line(500, 498, 3);
  p.in_channels = 7;
  p.out_channels = 5;
  std::vector<float> image(3500);
  std::vector<float> weights(105);
  test::fill_random(image, -1, 1, 1);
  test::fill_random(weights, -1, 1, 2);
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = convolve(p, image, weights, 2490); });
  ThreadPool(2).run([&] { two = convolve(p, image, weights, 2490); });
  CHECK(one == two);
}

TEST_CASE("convolution_nd of 32-bit integers is exact modulo 2^32 on every target") {
  IR_FOR_EACH_TARGET();
  ConvolutionNdParams p;
  p.batch = 2;
  p.groups = 3;
  p.in_channels = 6;
  p.in_dims = {5, 17};
  p.kernel = {3, 2};
  p.strides = {1, 2};
  p.dilations = {1, 3};
  for (const std::ptrdiff_t data_dilation : {1, 2}) {
    p.data_dilations = {1, static_cast<std::size_t>(data_dilation)};
    p.pads_begin = {1, -1};
    p.out_dims = {6, data_dilation == 1 ? std::size_t{8} : std::size_t{15}};  // more than the samples give
    for (const std::size_t out_channels : {9, 12, 15, 21}) {                  // the first by single sums
      p.out_channels = out_channels;
      std::vector<std::uint32_t> image(2 * 6 * 5 * 17);
      std::vector<std::uint32_t> weights(out_channels * 2 * 3 * 2);
      for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint32_t>(i * 2654435761U);
      for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = static_cast<std::uint32_t>(~i * 2246822519U);
      const std::size_t size = 2 * out_channels * p.out_dims[0] * p.out_dims[1];
      const std::vector<std::uint64_t> sums =
          convolve(p, std::vector<std::uint64_t>(image.begin(), image.end()),
                   std::vector<std::uint64_t>(weights.begin(), weights.end()), size);
      std::vector<std::uint32_t> expected(size);
      std::transform(sums.begin(), sums.end(), expected.begin(),
                     [](std::uint64_t sum) { return static_cast<std::uint32_t>(sum); });
      CHECK(convolve(p, image, weights, size) == expected);
    }
  }
}

}  // namespace
}  // namespace ir::kernels
