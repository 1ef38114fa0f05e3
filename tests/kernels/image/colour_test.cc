#include "kernels/image/colour.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {

TEMPLATE_TEST_CASE("yuv_to_rgb agrees with the formulas", "", std::uint8_t, float, double) {
  IR_FOR_EACH_TARGET();
  const auto order = GENERATE(ColourOrder::rgb, ColourOrder::bgr);
  const bool pairs = GENERATE(false, true);
  const std::size_t width = GENERATE(2U, 10U, 48U, 70U);
  constexpr std::size_t kCount = 2;
  constexpr std::size_t kHeight = 6;
  const std::size_t area = kHeight * width;
  test::GuardedBuffer<TestType> y(kCount * area, 1);
  test::GuardedBuffer<TestType> chroma(kCount * area / 2, 1);
  test::fill_random(y, 0, 256, 1);
  test::fill_random(chroma, 0, 256, 2);
  YuvFrames<TestType> frames{y.data(),        chroma.data(), chroma.data() + (pairs ? 1 : area / 4),
                             pairs ? 2U : 1U, area,          area / 2};
  test::GuardedBuffer<TestType> out(kCount * area * 3, 1);
  yuv_to_rgb(frames, kCount, kHeight, width, order, out.data());
  REQUIRE(out.guards_intact());
  for (std::size_t i = 0; i < kCount * area; ++i) {
    const std::size_t line = i % area / width;
    const std::size_t at = line / 2 * (width / 2) + i % width / 2;
    const std::size_t frame = i / area * (area / 2);
    const double c = 1.164 * (double(y[i]) - 16);
    const double d = double(chroma[frame + (pairs ? 2 * at : at)]) - 128;
    const double e = double(chroma[frame + (pairs ? 2 * at + 1 : area / 4 + at)]) - 128;
    std::vector<double> rgb{c + 1.596 * e, c - 0.391 * d - 0.813 * e, c + 2.018 * d};
    if (order == ColourOrder::bgr) std::swap(rgb[0], rgb[2]);
    for (std::size_t k = 0; k < 3; ++k) {
      const double expected = std::min(std::max(rgb[k], 0.0), 255.0);
      // Half a level is where float and double may round apart.
      const double tolerance = std::is_integral_v<TestType> ? 0.5 + 1e-4 : 1e-4;
      REQUIRE(std::abs(double(out[3 * i + k]) - expected) <= tolerance);
    }
  }
}

TEMPLATE_TEST_CASE("yuv_to_rgb computes a pixel wherever it stands", "", std::uint8_t, float) {
  IR_FOR_EACH_TARGET();
  const bool pairs = GENERATE(false, true);
  constexpr std::size_t kWidth = 128;
  std::vector<TestType> y(2 * kWidth);
  std::vector<TestType> chroma(kWidth);
  test::fill_random(y, 0, 256, 3);
  test::fill_random(chroma, 0, 256, 4);
  if constexpr (std::is_same_v<TestType, float>) y[5] = std::numeric_limits<float>::quiet_NaN();
  const auto convert = [&](std::size_t x, std::size_t width) {
    std::vector<TestType> out(3 * width);
    const std::size_t at = pairs ? x : x / 2;
    const YuvFrames<TestType> row{y.data() + x,
                                  chroma.data() + at,
                                  chroma.data() + at + (pairs ? 1 : kWidth / 2),
                                  pairs ? 2U : 1U,
                                  0,
                                  0};
    yuv_to_rgb(row, 1, 1, width, ColourOrder::rgb, out.data());
    return out;
  };
  const std::vector<TestType> all = convert(0, kWidth);
  for (std::size_t x = 0; x < kWidth; x += 2) {
    const std::vector<TestType> two = convert(x, 2);
    INFO("pixel " << x);
    REQUIRE(std::equal(two.begin(), two.end(), all.data() + 3 * x, [](TestType a, TestType b) {
      return a == b || (a != a && b != b);  // NaN
    }));
  }
}

TEST_CASE("yuv_to_rgb rounds to the nearest level") {
  // 1.164 * (y - 16) for y = 17, 18, 19: 1.164, 2.328, 3.492; y = 20: 4.656.
  const std::vector<std::uint8_t> y{17, 18, 19, 20};
  const std::vector<std::uint8_t> grey{128, 128};
  std::vector<std::uint8_t> out(12);
  yuv_to_rgb<std::uint8_t>({y.data(), grey.data(), grey.data() + 1, 2, 4, 2}, 1, 2, 2, ColourOrder::rgb,
                           out.data());
  CHECK(out == std::vector<std::uint8_t>{1, 1, 1, 2, 2, 2, 3, 3, 3, 5, 5, 5});
}

}  // namespace ir::kernels
