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

namespace {

// As OpenVINO's reference has it, pixel by pixel; `bgr` has the colours in that order.
template <class T>
T nv12_level(double value) {
  value = std::min(std::max(value, 0.0), 255.0);
  return static_cast<T>(std::is_integral_v<T> ? std::round(value) : value);
}

template <class T>
struct Nv12 {
  std::vector<T> y, uv;
};

template <class T>
Nv12<T> nv12_of(const T* in, std::size_t count, std::size_t height, std::size_t width, bool bgr) {
  Nv12<T> out{std::vector<T>(count * height * width), std::vector<T>(count * height * width / 2)};
  std::vector<double> sums(out.uv.size());
  for (std::size_t i = 0; i < out.y.size(); ++i) {
    const double r = static_cast<double>(in[3 * i + (bgr ? 2 : 0)]);
    const double g = static_cast<double>(in[3 * i + 1]);
    const double b = static_cast<double>(in[3 * i + (bgr ? 0 : 2)]);
    const std::size_t pair = i / width / 2 * width + i % width / 2 * 2;
    out.y[i] = nv12_level<T>(0.257 * r + 0.504 * g + 0.098 * b + 16);
    sums[pair] += static_cast<double>(nv12_level<T>(-0.148 * r - 0.291 * g + 0.439 * b + 128));
    sums[pair + 1] += static_cast<double>(nv12_level<T>(0.439 * r - 0.368 * g - 0.071 * b + 128));
  }
  for (std::size_t i = 0; i < sums.size(); ++i) out.uv[i] = nv12_level<T>(sums[i] / 4);
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("rgb_to_nv12 agrees with the formulas", "", std::uint8_t, float, double) {
  IR_FOR_EACH_TARGET();
  const auto order = GENERATE(ColourOrder::rgb, ColourOrder::bgr);
  const bool single = GENERATE(false, true);
  const std::size_t width = GENERATE(2U, 8U, 10U, 32U, 48U, 70U);
  constexpr std::size_t kCount = 2;
  constexpr std::size_t kHeight = 6;
  const std::size_t area = kHeight * width;
  test::GuardedBuffer<TestType> in(kCount * area * 3, 1);
  // Beyond the limits, where the type goes there.
  constexpr double kBeyond = std::is_integral_v<TestType> ? 0 : 100;
  test::fill_random(in, -kBeyond, 256 + kBeyond, 1);
  const std::size_t luma = single ? area * 3 / 2 : area;
  test::GuardedBuffer<TestType> y(kCount * luma, 1);
  test::GuardedBuffer<TestType> uv(kCount * area / 2, 1);
  const std::size_t chroma = single ? luma : area / 2;
  rgb_to_nv12(in.data(), kCount, kHeight, width, order,
              Nv12Frames<TestType>{y.data(), single ? y.data() + area : uv.data(), luma, chroma});
  REQUIRE(y.guards_intact());
  REQUIRE(uv.guards_intact());
  REQUIRE(in.guards_intact());
  const auto expected = nv12_of(in.data(), kCount, kHeight, width, order == ColourOrder::bgr);
  // Means of floats are rounded apart.
  const double tolerance = std::is_integral_v<TestType> ? 0 : 1e-4;
  for (std::size_t i = 0; i < kCount * area; ++i) {
    const std::size_t at = i / area * luma + i % area;
    REQUIRE(std::abs(double(y[at]) - double(expected.y[i])) <= tolerance);
  }
  const TestType* pairs = single ? y.data() + area : uv.data();
  for (std::size_t i = 0; i < kCount * area / 2; ++i) {
    const std::size_t at = i / (area / 2) * chroma + i % (area / 2);
    REQUIRE(std::abs(double(pairs[at]) - double(expected.uv[i])) <= tolerance);
  }
}

TEMPLATE_TEST_CASE("rgb_to_nv12 computes a pixel wherever it stands", "", std::uint8_t, float) {
  IR_FOR_EACH_TARGET();
  constexpr std::size_t kWidth = 128;
  std::vector<TestType> in(2 * kWidth * 3);
  test::fill_random(in, 0, 256, 3);
  if constexpr (std::is_same_v<TestType, float>) in[15] = std::numeric_limits<float>::quiet_NaN();
  const auto convert = [&](std::size_t x, std::size_t width) {
    std::vector<TestType> pixels;
    for (const std::size_t row : {std::size_t{0}, kWidth}) {
      const auto first = in.begin() + static_cast<std::ptrdiff_t>(3 * (row + x));
      pixels.insert(pixels.end(), first, first + static_cast<std::ptrdiff_t>(3 * width));
    }
    std::vector<TestType> out(3 * width);
    rgb_to_nv12(pixels.data(), 1, 2, width, ColourOrder::rgb,
                Nv12Frames<TestType>{out.data(), out.data() + 2 * width, 0, 0});
    return out;
  };
  const std::vector<TestType> all = convert(0, kWidth);
  for (std::size_t x = 0; x < kWidth; x += 2) {
    INFO("pixel " << x);
    const std::vector<TestType> two = convert(x, 2);
    for (std::size_t i = 0; i < two.size(); ++i) {
      const TestType other = all[i / 2 * kWidth + x + i % 2];
      REQUIRE((two[i] == other || (two[i] != two[i] && other != other)));
    }
  }
}

TEST_CASE("rgb_to_nv12 rounds every colour of bytes as doubles do") {
  IR_FOR_EACH_TARGET();
  // Sums of thousandths end with a half for many, which floats round now up, now down.
  constexpr std::size_t kWidth = 256;
  std::vector<std::uint8_t> in(kWidth * kWidth * 3);
  std::vector<std::uint8_t> y(kWidth * kWidth);
  std::vector<std::uint8_t> uv(kWidth * kWidth / 2);
  for (int red = 0; red < 256; red += 5) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      in[3 * i] = static_cast<std::uint8_t>(red);
      in[3 * i + 1] = static_cast<std::uint8_t>(i / kWidth);
      in[3 * i + 2] = static_cast<std::uint8_t>(i % kWidth);
    }
    rgb_to_nv12(in.data(), 1, kWidth, kWidth, ColourOrder::rgb,
                Nv12Frames<std::uint8_t>{y.data(), uv.data(), 0, 0});
    const auto expected = nv12_of(in.data(), 1, kWidth, kWidth, false);
    INFO("red " << red);
    REQUIRE(y == expected.y);
    REQUIRE(uv == expected.uv);
  }
}

}  // namespace ir::kernels
