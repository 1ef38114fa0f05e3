#include "kernels/convolution/col2im.h"

#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

std::size_t columns_of(const Col2ImParams& params) {
  return params.planes * params.y.kernel * params.x.kernel * params.y.out * params.x.out;
}

template <class T>
std::vector<T> run(const Col2ImParams& params, const std::vector<T>& columns) {
  GuardedBuffer<T> image(params.planes * params.y.in * params.x.in, 1);
  col2im(params, columns.data(), image.data());
  REQUIRE(image.guards_intact());
  return {image.begin(), image.end()};
}

// Every pixel asks every column.
template <class T>
std::vector<double> twin(const Col2ImParams& params, const std::vector<T>& columns) {
  const auto hits = [](const WindowParams& axis, std::size_t pixel, std::size_t window, std::size_t tap) {
    return window * axis.stride + tap * axis.dilation == pixel + axis.pad_begin;
  };
  std::vector<double> image;
  for (std::size_t plane = 0; plane < params.planes; ++plane) {
    for (std::size_t pixel = 0; pixel < params.y.in * params.x.in; ++pixel) {
      double sum = 0;
      for (std::size_t i = 0; i < columns_of(params) / params.planes; ++i) {
        const std::size_t window = i % (params.y.out * params.x.out);
        const std::size_t tap = i / (params.y.out * params.x.out);
        if (hits(params.y, pixel / params.x.in, window / params.x.out, tap / params.x.kernel) &&
            hits(params.x, pixel % params.x.in, window % params.x.out, tap % params.x.kernel)) {
          sum += double(columns[plane * columns_of(params) / params.planes + i]);
        }
      }
      image.push_back(sum);
    }
  }
  return image;
}

WindowParams windows(std::size_t in, std::size_t kernel, std::size_t stride, std::size_t dilation,
                     std::size_t pad) {
  const std::size_t span = (kernel - 1) * dilation + 1;
  return {in, (in + 2 * pad - span) / stride + 1, kernel, stride, dilation, pad, pad};
}

}  // namespace

TEMPLATE_TEST_CASE("col2im adds what lies on a pixel", "[col2im]", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  const auto [stride, dilation, pad] = GENERATE(table<std::size_t, std::size_t, std::size_t>(
      {{1, 1, 0}, {1, 1, 1}, {2, 1, 3}, {2, 2, 2}, {3, 1, 0}, {1, 3, 2}, {5, 2, 4}, {1, 1, 9}}));
  const Col2ImParams params{3, windows(7, 3, stride, dilation, pad), windows(6, 2, 2, dilation, pad)};
  std::vector<TestType> columns(columns_of(params));
  test::fill_random(columns, 0, 200, 1);
  const std::vector<TestType> image = run(params, columns);
  const std::vector<double> expected = twin(params, columns);
  for (std::size_t i = 0; i < image.size(); ++i) {
    INFO("element " << i);
    if constexpr (std::is_integral_v<TestType>) {
      CHECK(image[i] == static_cast<TestType>(static_cast<std::int64_t>(expected[i])));
    } else {
      CHECK(test::close(image[i], expected[i], 1e-6, 0));
    }
  }
}

TEST_CASE("col2im leaves zeros between blocks and behind the last", "[col2im]") {
  // Blocks of one pixel, three apart.
  const Col2ImParams params{1, windows(1, 1, 1, 1, 0), windows(6, 1, 3, 1, 0)};
  CHECK(run<float>(params, {1, 2}) == std::vector<float>{1, 0, 0, 2, 0, 0});
}

TEST_CASE("col2im gives the same bits for any number of threads", "[col2im]") {
  const Col2ImParams params{32, windows(20, 3, 1, 1, 1), windows(20, 3, 1, 1, 1)};
  std::vector<float> columns(columns_of(params));
  test::fill_random(columns, -1, 1, 1);
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = run(params, columns); });
  ThreadPool(2).run([&] { two = run(params, columns); });
  CHECK(one == two);
}

}  // namespace ir::kernels
