// Weights that come as bytes and scales: products of integers take them as they are, others ask for floats.
#include "kernels/weights/constant_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "kernels/matmul/integer_kernels.h"
#include "kernels/weights/integer_weights.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/gemm_twin.h"
#include "tests/kernels/matmul/integer_grids.h"

namespace ir::kernels {
namespace {

/// Bytes, their scales, and the floats that they are, for which is counted how often somebody asks.
struct Bytes {
  test::GuardedBuffer<std::int8_t> codes;
  std::vector<float> scales;
  std::size_t per_scale;
  std::vector<float> floats;
  mutable int asked = 0;

  Bytes(std::size_t count, std::vector<float> scales_of_bytes, std::size_t codes_per_scale)
      : codes(count, 3), scales(std::move(scales_of_bytes)), per_scale(codes_per_scale) {
    std::mt19937 generator(7);
    for (std::size_t i = 0; i < count; ++i) {
      codes[i] = static_cast<std::int8_t>(static_cast<int>(generator() % 256) - 128);
      floats.push_back(static_cast<float>(codes[i]) * scales[i / per_scale % scales.size()]);
    }
  }
  [[nodiscard]] ConstantWeights weights() const {
    return {{codes.data(), scales.data(), scales.size(), per_scale},
            [](const void* bytes) {
              ++static_cast<const Bytes*>(bytes)->asked;
              return static_cast<const Bytes*>(bytes)->floats.data();
            },
            this};
  }
};

/// The second one is 0, as that of a channel without weights may be.
std::vector<float> some_scales(std::size_t count) {
  std::vector<float> scales;
  for (std::size_t i = 0; i < count; ++i) scales.push_back(i == 1 ? 0 : 0.003F * static_cast<float>(i + 1));
  return scales;
}

template <class Values>
void make_integers(Values& values, const IntegerGrid& grid) {
  const float most = std::max(-grid.low, grid.high);
  for (float& value : values)
    value = std::clamp(std::round(value * most), grid.low, grid.high) * grid.step + grid.offset;
}

}  // namespace

TEST_CASE("Convolutions of integers take bytes, with a scale for each channel, group or all", "[kernels]") {
  namespace tc = test_convolution;
  IR_FOR_EACH_TARGET();
  IntegerGrid grid = GENERATE(from_range(test::integer_grids(0.013F)));
  grid.offset = GENERATE(0.0F, 0.004F);
  INFO("integers from " << grid.low << " to " << grid.high << ", offset " << grid.offset);
  const std::size_t scales = GENERATE(1, 2, 14);
  for (const ConvolutionParams& plain : {tc::plane(2, 2, 10, 14, 9, 11, 3), tc::plane(1, 1, 37, 14, 6, 7, 1),
                                         tc::plane(1, 2, 6, 14, 21, 20, 5, 2)}) {
    const std::size_t filter = plain.in_channels / plain.groups * plain.kernel[0] * plain.kernel[1];
    const Bytes bytes(14 * filter, some_scales(scales), 14 / scales * filter);
    tc::Data data(plain);
    make_integers(data.image, grid);
    ConvolutionParams params = plain;
    params.integers = integer_filters(params, bytes.weights(), grid);
    CHECK((params.integers != nullptr) == test::takes_integers(grid));
    CHECK(bytes.asked == 0);
    if (params.integers == nullptr) continue;
    const tc::Sums expected = tc::twin(params, data.image.data(), bytes.floats.data());
    for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(params, true)) {
      INFO(algorithm.name);
      const bool takes_bytes = algorithm.name.starts_with("integer");
      if (!takes_bytes && algorithm.name != "implicit_gemm" && algorithm.name != "pointwise") continue;
      const auto convolution = create_convolution(params, bytes.weights(), {}, {}, algorithm.name);
      REQUIRE(convolution != nullptr);
      CHECK((bytes.asked == 0) == takes_bytes);
      bytes.asked = 0;
      tc::run(*convolution, data, nullptr, data.out.data());
      CHECK(tc::count_wrong(
                *convolution, data.out, expected, [&](std::size_t i) { return expected.values[i]; }, 1e-5) ==
            0);
    }
  }
}

TEST_CASE("Products of integers take bytes in either order, with a scale for each column or all") {
  IR_FOR_EACH_TARGET();
  const IntegerGrid grid = GENERATE(from_range(test::integer_grids(0.02F)));
  const bool transposed = GENERATE(false, true);
  INFO("integers from " << grid.low << " to " << grid.high << ", transposed " << transposed);
  for (const std::size_t k : {1U, 3U, 4U, 37U, 70U}) {
    GemmParams p = test::product(13, 45, k);
    p.transpose_b = transposed;
    for (const bool each : {false, true}) {
      const Bytes bytes(45 * k, some_scales(each ? 45 : 1), transposed ? k : 1);
      test::Data data(p);
      make_integers(data.a, grid);
      p.integers = integer_columns(p, bytes.weights(), grid);
      CHECK((p.integers != nullptr) == test::takes_integers(grid));
      if (p.integers == nullptr) continue;
      const test::Sums expected = test::twin(p, data.a.data(), bytes.floats.data());
      const auto gemm = create_gemm(p, bytes.weights(), {}, "integer");
      REQUIRE(gemm != nullptr);
      CHECK(bytes.asked == 0);
      std::vector<std::byte> scratch(gemm->scratch_bytes());
      gemm->run(data.a.data(), nullptr, nullptr, data.out.data(), scratch.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < expected.values.size(); ++i)
        wrong += !(std::abs(data.out[i] - expected.values[i]) <= 1e-6 * (expected.magnitudes[i] + 10));
      CHECK(wrong == 0);
      (void)create_gemm(p, bytes.weights(), {}, "gemm");
      CHECK(bytes.asked == 1);
    }
  }
}

TEST_CASE("Bytes that have no scale of their channel are no integers", "[kernels]") {
  const IntegerGrid image{0.25F, 0, 255};
  if (!test::takes_integers(image)) return;
  const ConvolutionParams params = test_convolution::plane(1, 1, 4, 6, 5, 5, 1);
  const auto are_integers = [&](std::vector<float> scales, std::size_t per_scale) {
    return integer_filters(params, Bytes(24, std::move(scales), per_scale).weights(), image) != nullptr;
  };
  CHECK(are_integers({0.1F}, 1));
  CHECK(are_integers({0.1F, 0.2F}, 12));
  CHECK(are_integers({-0.1F, 0}, 12));
  CHECK_FALSE(are_integers({0.1F, 0.2F, 0.3F, 0.4F}, 1));  // by input channel
  CHECK_FALSE(are_integers({0.1F, 0.2F}, 2));
  CHECK_FALSE(are_integers({0.1F, std::numeric_limits<float>::quiet_NaN()}, 12));
  CHECK_FALSE(are_integers({std::numeric_limits<float>::infinity()}, 24));
  CHECK_FALSE(are_integers({std::numeric_limits<float>::denorm_min()}, 24));

  GemmParams p = test::product(5, 6, 4);
  const auto has_columns = [&](std::size_t scales, std::size_t per_scale) {
    return integer_columns(p, Bytes(24, some_scales(scales), per_scale).weights(), image) != nullptr;
  };
  CHECK(has_columns(6, 1));
  CHECK(has_columns(2, 3));
  CHECK_FALSE(has_columns(4, 6));  // by row
  p.transpose_b = true;
  CHECK(has_columns(6, 4));
  CHECK_FALSE(has_columns(4, 1));
}

TEST_CASE("Sums of bytes that might not fit 32 bits are left to floats", "[kernels]") {
  if (!test::takes_integers({1, 0, 255})) return;
  // 2^31 / (128 * 255) = 65793.1
  for (const std::size_t terms : {65793U, 65794U}) {
    const ConvolutionParams deep = test_convolution::plane(1, 1, terms, 1, 1, 2, 1);
    const Bytes bytes(terms, {1}, terms);
    CHECK((integer_filters(deep, bytes.weights(), {1, 0, 255}) != nullptr) == (terms == 65793));
  }
}

}  // namespace ir::kernels
