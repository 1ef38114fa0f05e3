#include "kernels/elementwise/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/base/float16.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::Float16;
using ir::kernels::ScalarType;
using ir::test::GuardedBuffer;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

const ScalarType kAllTypes[] = {
    ScalarType::f32,    ScalarType::f64,    ScalarType::f16,    ScalarType::bf16,   ScalarType::i8,
    ScalarType::i16,    ScalarType::i32,    ScalarType::i64,    ScalarType::u8,     ScalarType::u16,
    ScalarType::u32,    ScalarType::u64,    ScalarType::u1,     ScalarType::u2,     ScalarType::u3,
    ScalarType::u4,     ScalarType::u6,     ScalarType::i4,     ScalarType::nf4,    ScalarType::f4e2m1,
    ScalarType::f8e4m3, ScalarType::f8e5m2, ScalarType::f8e8m0, ScalarType::boolean};

template <class To, class From>
std::vector<To> converted(ScalarType from, const std::vector<From>& in, ScalarType to) {
  std::vector<To> out(in.size());
  ir::kernels::convert(from, in.data(), to, out.data(), in.size());
  return out;
}

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

}  // namespace

TEST_CASE("every f16 becomes its exact f32, and back") {
  IR_FOR_EACH_TARGET();
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const auto floats = converted<float>(ScalarType::f16, halves, ScalarType::f32);
  const auto back = converted<std::uint16_t>(ScalarType::f32, floats, ScalarType::f16);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    // By the definition of binary16, in double.
    const int exponent = static_cast<int>(i >> 10 & 31);
    const auto mantissa = static_cast<double>(i & 1023);
    double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) value = mantissa == 0 ? static_cast<double>(kInf) : static_cast<double>(kNaN);
    if (i >= 32768) value = -value;
    wrong += !same(floats[i], static_cast<float>(value));
    wrong += std::isnan(value) ? (back[i] & 0x7FFF) <= 0x7C00 : back[i] != halves[i];
  }
  CHECK(wrong == 0);
}

TEST_CASE("f32 rounds to the nearest f16, halves to even") {
  IR_FOR_EACH_TARGET();
  std::vector<float> in;
  // Every f16, its neighbours' middles, and the floats next to these.
  for (std::uint32_t half = 0; half < 0x7C00; ++half) {
    const float low = Float16::to_float(static_cast<std::uint16_t>(half));
    const float high = half == 0x7BFF ? 65536.0F : Float16::to_float(static_cast<std::uint16_t>(half + 1));
    const float middle = (low + high) / 2;
    for (const float x : {low, middle, std::nextafter(middle, low), std::nextafter(middle, high)}) {
      in.push_back(x);
      in.push_back(-x);
    }
  }
  for (const float x : {kInf, -kInf, 1e10F, -1e38F, 1e-20F, -1e-45F}) in.push_back(x);
  const auto out = converted<std::uint16_t>(ScalarType::f32, in, ScalarType::f16);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t first = i / 8 * 8;
    std::uint16_t expected = 0;
    if (first + 8 <= 0x7C00 * 8) {
      const std::size_t half = i / 8;
      const std::size_t kind = i % 8 / 2;
      const bool up = kind == 3 || (kind == 1 && half % 2 == 1);
      expected = static_cast<std::uint16_t>(half + (up ? 1 : 0));
    } else {
      expected = std::abs(in[i]) > 1 ? 0x7C00 : 0;
    }
    if (std::signbit(in[i])) expected = static_cast<std::uint16_t>(expected | 0x8000);
    wrong += out[i] != expected;
  }
  CHECK(wrong == 0);
  const auto nan = converted<std::uint16_t>(ScalarType::f32, std::vector<float>(19, kNaN), ScalarType::f16);
  for (const std::uint16_t half : nan) CHECK((half & 0x7FFF) > 0x7C00);
}

TEST_CASE("bf16 is the upper half of f32, rounded to nearest even") {
  IR_FOR_EACH_TARGET();
  const std::vector<std::uint32_t> words{0x3F800000, 0x3F808000, 0x3F808001, 0x3F818000,
                                         0x3F80FFFF, 0x7F7FFFFF, 0xBF808001, 0x00000000,
                                         0x80000000, 0x7F800000, 0x00008001};
  const std::vector<std::uint16_t> expected{0x3F80, 0x3F80, 0x3F81, 0x3F82, 0x3F81, 0x7F80,
                                            0xBF81, 0x0000, 0x8000, 0x7F80, 0x0001};
  std::vector<float> in(words.size());
  std::ranges::transform(words, in.begin(), [](std::uint32_t word) { return std::bit_cast<float>(word); });
  CHECK(converted<std::uint16_t>(ScalarType::f32, in, ScalarType::bf16) == expected);
  const float nan_in_low_half = std::bit_cast<float>(0x7F800001U);
  const auto nan =
      converted<std::uint16_t>(ScalarType::f32, std::vector<float>(9, nan_in_low_half), ScalarType::bf16);
  for (const std::uint16_t half : nan) CHECK((half & 0x7FFF) > 0x7F80);
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const auto floats = converted<float>(ScalarType::bf16, all, ScalarType::f32);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) wrong += std::bit_cast<std::uint32_t>(floats[i]) != i << 16;
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("floats truncate to integers, saturate, and NaN gives 0", "", std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  IR_FOR_EACH_TARGET();
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  const std::size_t index =
      (std::is_unsigned_v<T> ? 4U : 0U) + static_cast<std::size_t>(std::bit_width(sizeof(T)) - 1);
  const ScalarType type = static_cast<ScalarType>(static_cast<std::size_t>(ScalarType::i8) + index);
  const T negative = std::is_signed_v<T> ? static_cast<T>(-2) : T{0};
  std::vector<float> in{0, -0.0F, 2.9F, -2.9F, 100, kInf, -kInf, kNaN, 3e38F, -3e38F, -0.5F, 127.99F};
  std::vector<T> expected{
      0, 0, 2, negative, 100, Limits::max(), Limits::min(), 0, Limits::max(), Limits::min(), 0, 127};
  CHECK(converted<T>(ScalarType::f32, in, type) == expected);
  const std::vector<double> doubles(in.begin(), in.end());
  CHECK(converted<T>(ScalarType::f64, doubles, type) == expected);
  // At the edge of the range: the largest float below 2^digits, and 2^digits.
  const float end = std::ldexp(1.0F, Limits::digits);
  const float below = std::nextafter(end, 0.0F);
  const auto edge = converted<T>(ScalarType::f32, std::vector<float>{end, below}, type);
  CHECK(edge[0] == Limits::max());
  CHECK(edge[1] == static_cast<T>(below));
}

TEST_CASE("integers wrap and booleans are 0 or 1") {
  const std::vector<std::int32_t> in{0, 1, -1, 256, 300, -32769};
  CHECK(converted<std::uint8_t>(ScalarType::i32, in, ScalarType::u8) ==
        std::vector<std::uint8_t>{0, 1, 255, 0, 44, 255});
  CHECK(converted<std::int16_t>(ScalarType::i32, in, ScalarType::i16) ==
        std::vector<std::int16_t>{0, 1, -1, 256, 300, 32767});
  CHECK(converted<std::uint8_t>(ScalarType::i32, in, ScalarType::boolean) ==
        std::vector<std::uint8_t>{0, 1, 1, 1, 1, 1});
  const std::vector<float> floats{0, -0.0F, 0.3F, -2, kNaN, kInf};
  CHECK(converted<std::uint8_t>(ScalarType::f32, floats, ScalarType::boolean) ==
        std::vector<std::uint8_t>{0, 0, 1, 1, 1, 1});
  const std::vector<std::uint8_t> booleans{0, 1, 7};
  CHECK(converted<float>(ScalarType::boolean, booleans, ScalarType::f32) == std::vector<float>{0, 1, 1});
  CHECK(converted<std::int64_t>(ScalarType::boolean, booleans, ScalarType::i64) ==
        std::vector<std::int64_t>{0, 1, 1});
}

TEST_CASE("0 and 1 survive every pair of types, at any size, within the buffers") {
  IR_FOR_EACH_TARGET();
  const std::size_t count =
      GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{33}, std::size_t{1291});
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7 % 3 % 2);
  std::size_t wrong = 0;
  for (const ScalarType from : kAllTypes) {
    // f8e8m0 has no 0: its 0 code is 2^-127.
    GuardedBuffer<std::uint8_t> in(bytes_of(from, count), 1);
    ir::kernels::convert(ScalarType::f32, values.data(), from, in.data(), count);
    wrong += !in.guards_intact();
    for (const ScalarType to : kAllTypes) {
      if (from == ScalarType::f8e8m0 && to == ScalarType::boolean) continue;
      GuardedBuffer<std::uint8_t> out(bytes_of(to, count), 3);
      ir::kernels::convert(from, in.data(), to, out.data(), count);
      wrong += !out.guards_intact();
      std::vector<float> back(count);
      ir::kernels::convert(to, out.data(), ScalarType::f32, back.data(), count);
      for (std::size_t i = 0; i < count; ++i) wrong += std::abs(back[i] - values[i]) > 1e-37F;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("f64 rounds to the nearest f32, ties to even, and f32 widens as it is") {
  IR_FOR_EACH_TARGET();
  const double tie = std::ldexp(1.0, -24);
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> in{0,     -0.0,  1 + tie,  1 + 3 * tie, 1 + std::nextafter(tie, 1.0), 1e300, -1e300,
                         1e-46, 3e-45, infinity, -infinity};
  for (int i = 0; i < 1003; ++i) in.push_back(std::ldexp(std::sin(i), i % 200 - 100));
  const auto floats = converted<float>(ScalarType::f64, in, ScalarType::f32);
  const auto doubles = converted<double>(ScalarType::f32, floats, ScalarType::f64);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto expected = static_cast<float>(in[i]);
    wrong += std::bit_cast<std::uint32_t>(floats[i]) != std::bit_cast<std::uint32_t>(expected);
    wrong += doubles[i] != static_cast<double>(expected);
  }
  CHECK(wrong == 0);
  CHECK(std::isnan(converted<float>(ScalarType::f64, std::vector<double>{std::nan("")}, ScalarType::f32)[0]));
  CHECK(std::isnan(converted<double>(ScalarType::f32, std::vector<float>{kNaN}, ScalarType::f64)[0]));
}

TEST_CASE("conversions agree with C++ casts on values in range") {
  IR_FOR_EACH_TARGET();
  std::vector<std::int32_t> in(1003);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::int32_t>(i * 2654435761U);
  const auto floats = converted<float>(ScalarType::i32, in, ScalarType::f32);
  const auto longs = converted<std::int64_t>(ScalarType::i32, in, ScalarType::i64);
  const auto floats_of_longs = converted<float>(ScalarType::i64, longs, ScalarType::f32);
  const auto doubles = converted<double>(ScalarType::i64, longs, ScalarType::f64);
  const auto bytes = converted<std::int8_t>(ScalarType::i32, in, ScalarType::i8);
  const auto floats_of_bytes = converted<float>(ScalarType::i8, bytes, ScalarType::f32);
  const auto floats_of_unsigned = converted<float>(
      ScalarType::u8, std::vector<std::uint8_t>(bytes.begin(), bytes.end()), ScalarType::f32);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    wrong += floats[i] != static_cast<float>(in[i]);
    wrong += longs[i] != in[i];
    wrong += floats_of_longs[i] != floats[i];
    wrong += doubles[i] != in[i];
    wrong += floats_of_bytes[i] != static_cast<float>(bytes[i]);
    wrong += floats_of_unsigned[i] != static_cast<float>(static_cast<std::uint8_t>(bytes[i]));
  }
  CHECK(wrong == 0);
}

TEST_CASE("types of one size convert in place, on any number of threads") {
  std::vector<float> data(50001);
  ir::test::fill_random(data, -1000, 1000, 1);
  std::vector<float> copy = data;
  const auto expected = converted<std::int32_t>(ScalarType::f32, data, ScalarType::i32);
  ir::kernels::ThreadPool(1).run(
      [&] { ir::kernels::convert(ScalarType::f32, data.data(), ScalarType::i32, data.data(), data.size()); });
  ir::kernels::ThreadPool(2).run(
      [&] { ir::kernels::convert(ScalarType::f32, copy.data(), ScalarType::i32, copy.data(), copy.size()); });
  CHECK(std::memcmp(data.data(), expected.data(), data.size() * sizeof(float)) == 0);
  CHECK(std::memcmp(copy.data(), expected.data(), data.size() * sizeof(float)) == 0);
}
