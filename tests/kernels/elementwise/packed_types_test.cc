#include "kernels/elementwise/packed_types.h"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/elementwise/convert.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::ScalarType;
using Bytes = std::vector<std::uint8_t>;

Bytes packed(ScalarType type, const std::vector<std::int32_t>& values) {
  Bytes bytes(bytes_of(type, values.size()), 0xEE);
  ir::kernels::pack_integers(type, values.data(), 0, bytes.data(), values.size());
  return bytes;
}

std::uint8_t float_code(ScalarType type, float value) {
  std::uint8_t code = 0xEE;
  ir::kernels::pack_floats(type, &value, 0, &code, 1);
  return code;
}

float float_value(ScalarType type, std::uint8_t code) {
  float value = 0;
  ir::kernels::unpack_floats(type, &code, 0, &value, 1);
  return value;
}

}  // namespace

TEST_CASE("packed integers have OpenVINO's layout, by hand") {
  CHECK(packed(ScalarType::u1, {1, 0, 1, 1, 0, 0, 0, 1, 1}) == Bytes{0b10110001, 0b10000000});
  CHECK(packed(ScalarType::u2, {1, 2, 3, 0, 2}) == Bytes{0b00111001, 0b00000010});
  CHECK(packed(ScalarType::u4, {1, 2, 15}) == Bytes{0x21, 0x0F});
  CHECK(packed(ScalarType::i4, {-8, 7, -1}) == Bytes{0x78, 0x0F});
  // u3: low two bits of eight values in bytes 0-1, their third bits in byte 2, first value highest.
  CHECK(packed(ScalarType::u3, {0, 1, 2, 3, 4, 5, 6, 7}) == Bytes{0b00011011, 0b00011011, 0b00001111});
  CHECK(packed(ScalarType::u3, {7}) == Bytes{0b11000000, 0, 0b10000000});
  // u6: low four bits of four values in bytes 0-1, high two in byte 2.
  CHECK(packed(ScalarType::u6, {0x01, 0x12, 0x23, 0x34}) == Bytes{0x12, 0x34, 0b00011011});
  CHECK(packed(ScalarType::u6, {0x3F, 0, 0, 0, 0x21}) == Bytes{0xF0, 0, 0b11000000, 0x10, 0, 0b10000000});
}

TEST_CASE("sizes of packed tensors") {
  CHECK(bytes_of(ScalarType::u1, 9) == 2);
  CHECK(bytes_of(ScalarType::u2, 9) == 3);
  CHECK(bytes_of(ScalarType::u3, 8) == 3);
  CHECK(bytes_of(ScalarType::u3, 9) == 6);
  CHECK(bytes_of(ScalarType::u6, 5) == 6);
  CHECK(bytes_of(ScalarType::nf4, 3) == 2);
  CHECK(bytes_of(ScalarType::f64, 3) == 24);
  CHECK(bytes_of(ScalarType::u6, 0) == 0);
}

TEST_CASE("packed integers come back, from any first element") {
  struct Range {
    ScalarType type;
    std::int32_t low;
    std::int32_t span;
  };
  for (const auto& [type, low, span] :
       {Range{ScalarType::u1, 0, 2}, Range{ScalarType::u2, 0, 4}, Range{ScalarType::u3, 0, 8},
        Range{ScalarType::u4, 0, 16}, Range{ScalarType::u6, 0, 64}, Range{ScalarType::i4, -8, 16}}) {
    std::vector<std::int32_t> values(61);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = low + static_cast<std::int32_t>(i * 37 % 61) % span;
    const Bytes bytes = packed(type, values);
    for (std::size_t first = 0; first < values.size(); ++first) {
      std::vector<std::int32_t> out(values.size() - first);
      ir::kernels::unpack_integers(type, bytes.data(), first, out.data(), out.size());
      CHECK(std::equal(out.begin(), out.end(), values.begin() + static_cast<std::ptrdiff_t>(first)));
    }
    // In two calls, cut at a multiple of eight.
    Bytes again(bytes.size());
    ir::kernels::pack_integers(type, values.data(), 0, again.data(), 24);
    ir::kernels::pack_integers(type, values.data() + 24, 24, again.data(), values.size() - 24);
    CHECK(again == bytes);
  }
}

TEST_CASE("floating-point codes have the values of their formats, by hand") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(float_value(ScalarType::f4e2m1, 1) == 0.5F);
  CHECK(float_value(ScalarType::f4e2m1, 7) == 6.0F);
  CHECK(float_value(ScalarType::f4e2m1, 0xD) == -3.0F);
  CHECK(float_value(ScalarType::f8e4m3, 0x01) == 0x1p-9F);
  CHECK(float_value(ScalarType::f8e4m3, 0x38) == 1.0F);
  CHECK(float_value(ScalarType::f8e4m3, 0xFE) == -448.0F);
  CHECK(std::isnan(float_value(ScalarType::f8e4m3, 0x7F)));
  CHECK(float_value(ScalarType::f8e5m2, 0x01) == 0x1p-16F);
  CHECK(float_value(ScalarType::f8e5m2, 0x7B) == 57344.0F);
  CHECK(float_value(ScalarType::f8e5m2, 0xFC) == -inf);
  CHECK(std::isnan(float_value(ScalarType::f8e5m2, 0x7D)));
  CHECK(float_value(ScalarType::f8e8m0, 0) == 0x1p-127F);
  CHECK(float_value(ScalarType::f8e8m0, 127) == 1.0F);
  CHECK(float_value(ScalarType::f8e8m0, 254) == 0x1p127F);
  CHECK(std::isnan(float_value(ScalarType::f8e8m0, 255)));
  CHECK(float_value(ScalarType::nf4, 0) == -1.0F);
  CHECK(float_value(ScalarType::nf4, 7) == 0.0F);
  CHECK(float_value(ScalarType::nf4, 15) == 1.0F);
}

TEST_CASE("packing floats rounds to the nearest code") {
  for (const ScalarType type :
       {ScalarType::nf4, ScalarType::f4e2m1, ScalarType::f8e4m3, ScalarType::f8e5m2, ScalarType::f8e8m0}) {
    INFO("type " << static_cast<int>(type));
    const unsigned codes = 1U << bits_of(type);
    // All finite values in order, with their codes.
    std::vector<std::pair<float, std::uint8_t>> values;
    for (unsigned code = 0; code < codes; ++code) {
      const float value = float_value(type, static_cast<std::uint8_t>(code));
      if (std::isnan(value)) {
        CHECK(std::isnan(float_value(type, float_code(type, value))));
      } else {
        CHECK(float_code(type, value) == code);
      }
      if (std::isfinite(value) && !(value == 0 && std::signbit(value))) values.emplace_back(value, code);
    }
    std::sort(values.begin(), values.end());
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const auto [low, low_code] = values[i];
      const auto [high, high_code] = values[i + 1];
      if (low < 0 && high == 0) continue;  // rounds to -0, whose code differs
      const auto middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
      CHECK(float_code(type, std::nextafter(middle, low)) == low_code);
      CHECK(float_code(type, std::nextafter(middle, high)) == high_code);
      if (type == ScalarType::nf4) {
        CHECK(float_code(type, middle) == low_code);
      } else if (type != ScalarType::f8e8m0) {
        CHECK(float_code(type, middle) == (low_code % 2 == 0 ? low_code : high_code));
      }
    }
  }
}

TEST_CASE("packing floats beyond the range") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(float_code(ScalarType::f4e2m1, 1e9F) == 7);
  CHECK(float_code(ScalarType::f4e2m1, -inf) == 15);
  CHECK(float_code(ScalarType::nf4, 5.0F) == 15);
  CHECK(float_code(ScalarType::nf4, -inf) == 0);
  CHECK(float_code(ScalarType::f8e4m3, 464.0F) == 0x7E);
  CHECK(float_code(ScalarType::f8e4m3, 465.0F) == 0x7F);
  CHECK(float_code(ScalarType::f8e4m3, -inf) == 0xFF);
  CHECK(float_code(ScalarType::f8e5m2, 61439.0F) == 0x7B);
  CHECK(float_code(ScalarType::f8e5m2, 61440.0F) == 0x7C);
  CHECK(float_code(ScalarType::f8e5m2, -inf) == 0xFC);
  CHECK(float_code(ScalarType::f8e8m0, inf) == 254);
  CHECK(float_code(ScalarType::f8e8m0, 0.0F) == 0);
  CHECK(float_code(ScalarType::f8e8m0, -3.0F) == 0);
  CHECK(float_code(ScalarType::f8e8m0, 3.0F) == 128);  // tie of 2 and 4: code 128 (2^1) is even
  CHECK(float_code(ScalarType::f8e8m0, 6.0F) == 130);
}

TEST_CASE("converting to packed integers truncates floats and wraps") {
  const std::vector<float> floats{-3, 20, 7.9F, std::numeric_limits<float>::quiet_NaN()};
  Bytes bytes(2);
  ir::kernels::convert(ScalarType::f32, floats.data(), ScalarType::u4, bytes.data(), 4);
  CHECK(bytes == Bytes{0x4D, 0x07});
  ir::kernels::convert(ScalarType::f32, floats.data(), ScalarType::i4, bytes.data(), 4);
  CHECK(bytes == Bytes{0x4D, 0x07});
  const std::vector<std::int64_t> integers{-1, 20, 7, 0x100000003};
  ir::kernels::convert(ScalarType::i64, integers.data(), ScalarType::u4, bytes.data(), 4);
  CHECK(bytes == Bytes{0x4F, 0x37});
  std::vector<double> doubles(4);
  ir::kernels::convert(ScalarType::i4, bytes.data(), ScalarType::f64, doubles.data(), 4);
  CHECK(doubles == std::vector<double>{-1, 4, 7, 3});
}
