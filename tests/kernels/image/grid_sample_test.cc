#include "kernels/image/grid_sample.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

// One pixel by the definition, in double; coordinates by repeated reflection.
double pixel(const GridSampleParams& p, const double* plane, long y, long x) {
  const auto reflect = [&](long i, long size) {
    if (size == 1) return 0L;
    while (i < 0 || i >= size) {
      if (p.align_corners)
        i = i < 0 ? -i : 2 * (size - 1) - i;
      else
        i = i < 0 ? -i - 1 : 2 * size - 1 - i;
    }
    return i;
  };
  const auto height = static_cast<long>(p.height);
  const auto width = static_cast<long>(p.width);
  switch (p.padding) {
    case GridSamplePadding::zeros:
      if (y < 0 || x < 0 || y >= height || x >= width) return 0;
      break;
    case GridSamplePadding::border:
      y = std::min(std::max(y, 0L), height - 1);
      x = std::min(std::max(x, 0L), width - 1);
      break;
    case GridSamplePadding::reflection:
      y = reflect(y, height);
      x = reflect(x, width);
      break;
  }
  return plane[y * width + x];
}

double cubic(double t) {
  constexpr double a = -0.75;
  t = std::abs(t);
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  if (t < 2) return a * (t * t * t - 5 * t * t + 8 * t - 4);
  return 0;
}

double twin(const GridSampleParams& p, const double* plane, double gx, double gy) {
  const auto scaled = [&](double g, std::size_t size) {
    const auto n = static_cast<double>(size);
    return p.align_corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  };
  const double y = scaled(gy, p.height);
  const double x = scaled(gx, p.width);
  if (p.mode == GridSampleMode::nearest) return pixel(p, plane, std::lrint(y), std::lrint(x));
  const auto weight = [&](double t) {
    if (p.mode == GridSampleMode::bicubic) return cubic(t);
    return std::max(0.0, 1 - std::abs(t));
  };
  double sum = 0;
  const auto y0 = static_cast<long>(std::floor(y));
  const auto x0 = static_cast<long>(std::floor(x));
  for (long j = y0 - 1; j <= y0 + 2; ++j)
    for (long i = x0 - 1; i <= x0 + 2; ++i)
      sum += weight(y - static_cast<double>(j)) * weight(x - static_cast<double>(i)) * pixel(p, plane, j, i);
  return sum;
}

}  // namespace

TEMPLATE_TEST_CASE("grid_sample agrees with sums over the neighbours", "", float, double) {
  GridSampleParams params;
  params.mode = GENERATE(GridSampleMode::bilinear, GridSampleMode::bicubic, GridSampleMode::nearest);
  params.padding =
      GENERATE(GridSamplePadding::zeros, GridSamplePadding::border, GridSamplePadding::reflection);
  params.align_corners = GENERATE(false, true);
  params.batch = 2;
  params.channels = 3;
  params.positions = 97;
  for (const auto& [height, width] : {std::pair{1, 1}, {4, 1}, {3, 5}, {8, 6}}) {
    params.height = static_cast<std::size_t>(height);
    params.width = static_cast<std::size_t>(width);
    const std::size_t plane = params.height * params.width;
    std::vector<double> data(2 * 3 * plane);
    test::fill_random(data, -5, 5, 1);
    std::vector<TestType> grid(2 * 97 * 2);
    // Multiples of 1/64 that hit no pixel border exactly (an offset of 1/128) have exact coordinates.
    test::fill_random(grid, -200, 200, 2);
    for (TestType& g : grid) g = std::floor(g) / 64 + TestType{1} / 128;
    const auto check = [&](auto element, double tolerance) {
      using T = decltype(element);
      const std::vector<T> in(data.begin(), data.end());
      GuardedBuffer<T> out(2 * 3 * 97, 1);
      grid_sample(params, in.data(), grid.data(), out.data());
      REQUIRE(out.guards_intact());
      for (std::size_t n = 0; n < 2; ++n)
        for (std::size_t c = 0; c < 3; ++c)
          for (std::size_t i = 0; i < 97; ++i) {
            const double expected = twin(params, data.data() + (n * 3 + c) * plane,
                                         double{grid[(n * 97 + i) * 2]}, double{grid[(n * 97 + i) * 2 + 1]});
            const double got = double{out[(n * 3 + c) * 97 + i]};
            if (!test::close(got, expected, tolerance, tolerance * 5)) {
              INFO("size " << params.height << " x " << params.width << ": got " << got << ", expected "
                           << expected);
              FAIL();
            }
          }
    };
    check(float{}, 1e-5);
    check(double{}, std::is_same_v<TestType, double> ? 1e-12 : 1e-5);
  }
}

TEMPLATE_TEST_CASE("grid_sample of integers truncates", "", std::int8_t, std::uint8_t, std::int16_t,
                   std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  GridSampleParams params;
  params.batch = params.channels = 1;
  params.height = params.width = 2;
  params.positions = 3;
  params.align_corners = true;
  const std::vector<TestType> data{1, 2, 3, 5};
  const std::vector<float> grid{0, 0, 0.5F, 0.5F, -1, 1};
  std::vector<TestType> out(3);
  grid_sample(params, data.data(), grid.data(), out.data());
  // 2.75; rows 1.75 and 4.5 blended to 3.8125; a corner.
  CHECK(out == std::vector<TestType>{2, 3, 3});
  params.mode = GridSampleMode::nearest;
  grid_sample(params, data.data(), grid.data(), out.data());
  CHECK(out == std::vector<TestType>{1, 5, 3});
}

TEST_CASE("grid_sample survives places that are no numbers") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GridSampleParams params;
  params.mode = GENERATE(GridSampleMode::bilinear, GridSampleMode::bicubic, GridSampleMode::nearest);
  params.padding =
      GENERATE(GridSamplePadding::zeros, GridSamplePadding::border, GridSamplePadding::reflection);
  params.align_corners = GENERATE(false, true);
  params.batch = params.channels = 1;
  params.height = 3;
  params.width = 2;
  params.positions = 4;
  const std::vector<float> data{1, 2, 3, 4, 5, 6};
  const std::vector<float> grid{kInfinity, -kInfinity, std::nanf(""), 0, 3e38F, -3e38F, 1e19F, -1e19F};
  GuardedBuffer<float> out(4, 1);
  grid_sample(params, data.data(), grid.data(), out.data());
  CHECK(out.guards_intact());
}

TEST_CASE("grid_sample gives the same bits for any number of threads") {
  GridSampleParams params;
  params.batch = 2;
  params.channels = 4;
  params.height = params.width = 40;
  params.positions = 5000;
  std::vector<float> data(2 * 4 * 1600);
  std::vector<float> grid(2 * 5000 * 2);
  test::fill_random(data, -1, 1, 1);
  test::fill_random(grid, -1, 1, 2);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    ThreadPool(threads).run([&] {
      results.emplace_back(2 * 4 * 5000);
      grid_sample(params, data.data(), grid.data(), results.back().data());
    });
  }
  CHECK(results[0] == results[1]);
}

}  // namespace ir::kernels
