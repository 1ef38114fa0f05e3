#include "kernels/convolution/binary_convolution.h"

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class T>
struct Case {
  BinaryConvolutionParams params;
  std::vector<T> image;
  std::vector<std::uint8_t> filters;

  explicit Case(const BinaryConvolutionParams& given, double highest = 2)
      : params(given),
        image(params.batch * params.in_channels * params.y.in * params.x.in),
        filters((params.out_channels * params.in_channels * params.y.kernel * params.x.kernel + 7) / 8) {
    test::fill_random(image, 0, highest, 1);
    for (T& value : image) value = static_cast<T>(static_cast<int>(value));
    test::fill_random(filters, 0, 256, 2);
  }

  [[nodiscard]] int bit(std::size_t index) const { return filters[index / 8] >> (7 - index % 8) & 1; }
};

template <class T>
std::vector<T> twin(const Case<T>& data) {
  const BinaryConvolutionParams& params = data.params;
  const auto position = [](const WindowParams& axis, std::size_t window, std::size_t tap) {
    return long(window * axis.stride + tap * axis.dilation) - long(axis.pad_begin);
  };
  const double padding = params.padding == BinaryPadding::ones    ? 1
                         : params.padding == BinaryPadding::zeros ? 0
                                                                  : 0.5;
  std::vector<T> out;
  for (std::size_t n = 0; n < params.batch; ++n) {
    for (std::size_t o = 0; o < params.out_channels; ++o) {
      for (std::size_t place = 0; place < params.y.out * params.x.out; ++place) {
        long sum = 0;
        std::size_t index = o * params.in_channels * params.y.kernel * params.x.kernel;
        for (std::size_t c = 0; c < params.in_channels; ++c) {
          for (std::size_t k = 0; k < params.y.kernel * params.x.kernel; ++k, ++index) {
            const long y = position(params.y, place / params.x.out, k / params.x.kernel);
            const long x = position(params.x, place % params.x.out, k % params.x.kernel);
            const bool inside = y >= 0 && y < long(params.y.in) && x >= 0 && x < long(params.x.in);
            const double value =
                inside ? double(data.image[((n * params.in_channels + c) * params.y.in + std::size_t(y)) *
                                               params.x.in +
                                           std::size_t(x)])
                       : padding;
            sum += value == data.bit(index) ? 1 : -1;
          }
        }
        out.push_back(static_cast<T>(sum));
      }
    }
  }
  return out;
}

template <class T>
std::vector<T> run(const Case<T>& data, bool known_filters) {
  const BinaryConvolution kernel(data.params, known_filters ? data.filters.data() : nullptr);
  GuardedBuffer<T> out(data.params.batch * data.params.out_channels * data.params.y.out * data.params.x.out,
                       1);
  GuardedBuffer<std::uint64_t> scratch(kernel.scratch_bytes() / 8);
  kernel.run(data.image.data(), known_filters ? nullptr : data.filters.data(), out.data(),
             reinterpret_cast<std::byte*>(scratch.data()));
  REQUIRE(out.guards_intact());
  REQUIRE(scratch.guards_intact());
  return {out.begin(), out.end()};
}

// 3 x 2 taps that reach into the padding on each side.
BinaryConvolutionParams geometry(std::size_t channels) {
  BinaryConvolutionParams params;
  params.batch = 2;
  params.in_channels = channels;
  params.out_channels = 3;
  params.y = {7, 5, 3, 2, 2, 3, 2};
  params.x = {9, 11, 2, 1, 1, 1, 2};
  return params;
}

}  // namespace

TEMPLATE_TEST_CASE("Binary convolution counts equal bits", "[binary]", float, double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  auto params = geometry(GENERATE(1U, 5U));
  params.padding = GENERATE(BinaryPadding::zeros, BinaryPadding::ones, BinaryPadding::neither);
  const Case<TestType> data(params);
  CHECK(run(data, true) == twin(data));
  CHECK(run(data, false) == twin(data));
}

TEST_CASE("Binary convolution takes channels that do not fill a word", "[binary]") {
  auto params = geometry(GENERATE(63U, 64U, 65U, 130U));
  params.padding = GENERATE(BinaryPadding::zeros, BinaryPadding::ones);
  const Case<float> data(params);
  CHECK(run(data, true) == twin(data));
}

TEST_CASE("Binary convolution counts elements that are no bits as unequal", "[binary]") {
  const Case<float> data(geometry(3), 3);
  CHECK(run(data, true) == twin(data));
}

TEST_CASE("Binary convolution takes empty images and channels", "[binary]") {
  auto params = geometry(2);
  params.y.in = 0;
  const Case<float> data(params);
  CHECK(run(data, true) == twin(data));
  CHECK(run(Case<float>(geometry(0)), true) == std::vector<float>(2 * 3 * 5 * 11, 0));
}

TEST_CASE("Binary convolution gives the same bits for any number of threads", "[binary]") {
  auto params = geometry(70);
  params.out_channels = 64;
  const Case<float> data(params);
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = run(data, true); });
  ThreadPool(2).run([&] { two = run(data, true); });
  CHECK(one == two);
}

}  // namespace ir::kernels
