// Conversions between element types.
#include "kernels/elementwise/convert.h"

#include <fmt/format.h>

#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

using kernels::ScalarType;

struct Conversion {
  const char* name;
  ScalarType from, to;
};

constexpr Conversion kConversions[] = {
    {"f16_to_f32", ScalarType::f16, ScalarType::f32},
    {"f32_to_f16", ScalarType::f32, ScalarType::f16},
    {"bf16_to_f32", ScalarType::bf16, ScalarType::f32},
    {"f32_to_bf16", ScalarType::f32, ScalarType::bf16},
    {"u8_to_f32", ScalarType::u8, ScalarType::f32},
    {"f32_to_u8", ScalarType::f32, ScalarType::u8},
    {"i8_to_f32", ScalarType::i8, ScalarType::f32},
    {"i32_to_f32", ScalarType::i32, ScalarType::f32},
    {"i64_to_i32", ScalarType::i64, ScalarType::i32},
    {"f64_to_f32", ScalarType::f64, ScalarType::f32},
    {"u4_to_f32", ScalarType::u4, ScalarType::f32},
    {"f8e4m3_to_f32", ScalarType::f8e4m3, ScalarType::f32},
};

void run(benchmark::State& state, const Conversion& conversion, std::size_t count) {
  const std::vector<std::byte> in(kernels::bytes_of(conversion.from, count), std::byte{0x35});
  std::vector<std::byte> out(kernels::bytes_of(conversion.to, count));
  measure(state, {0, static_cast<double>(in.size() + out.size())},
          [&] { kernels::convert(conversion.from, in.data(), conversion.to, out.data(), count); });
}

}  // namespace

void register_convert() {
  for (const Conversion& conversion : kConversions) {
    add(fmt::format("convert/{}_cache", conversion.name),
        [conversion](benchmark::State& state) { run(state, conversion, std::size_t{1} << 15); });
    add(fmt::format("convert/{}_memory", conversion.name),
        [conversion](benchmark::State& state) { run(state, conversion, std::size_t{1} << 24); });
  }
}

}  // namespace ir::bench
