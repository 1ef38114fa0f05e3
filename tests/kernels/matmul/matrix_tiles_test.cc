// Products of parts of floats in matrix tiles, where the processor has them.
#include "kernels/matmul/matrix_tiles.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "kernels/matmul/gemm.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/gemm_twin.h"

namespace ir::kernels {
namespace {

constexpr std::string_view kName = "matrix_tiles";

/// Of f32, of which products of two parts lose more.
double bound_of(bool whole) { return whole ? 2e-6 : 6e-5; }

/// Around tiles and panels of them; several blocks of rows and of terms; more panels than sums are kept of;
/// rows that workers share.
std::vector<GemmParams> products() {
  std::vector<GemmParams> list;
  for (const std::size_t m : {2, 15, 16, 17, 33}) {
    for (const std::size_t n : {1, 16, 17, 31, 33, 65}) list.push_back(test::product(m, n, 40));
  }
  for (const std::size_t k : {1, 15, 16, 17, 31, 32, 33, 100}) list.push_back(test::product(20, 20, k));
  list.push_back(test::product(300, 50, 64));
  list.push_back(test::product(40, 900, 9000));
  list.push_back(test::product(200, 70, 2100));
  list.push_back(test::product(290, 40, 2100));
  return list;
}

template <class Check>
void for_each_product(const Check& check) {
  for (GemmParams p : products()) {
    for (const bool transpose_b : {false, true}) {
      for (const bool whole : {false, true}) {
        p.transpose_b = transpose_b;
        p.whole_floats = whole;
        INFO("m " << p.m << " n " << p.n << " k " << p.k << " transpose " << transpose_b << " whole "
                  << whole);
        check(p);
      }
    }
  }
}

std::vector<test_convolution::NamedParams> convolutions() {
  using test_convolution::plane;
  return {
      {"1x1", plane(1, 1, 70, 50, 9, 11, 1)},
      {"1x1, few channels", plane(2, 1, 5, 7, 13, 3, 1)},
      {"3x3", plane(1, 1, 40, 37, 14, 15, 3, 1, 1)},
      {"3x3 with a stride", plane(2, 1, 33, 16, 17, 15, 3, 2, 1)},
      {"dilation", plane(1, 1, 32, 20, 12, 13, 3, 1, 2, 2)},
      {"groups", plane(1, 3, 24, 60, 10, 9, 3, 1, 1)},
      {"blocks of terms, more panels than sums are kept of", plane(1, 1, 400, 600, 7, 7, 3, 1, 1)},
      {"blocks of the plane", plane(1, 1, 512, 20, 40, 41, 3, 1, 1)},
      {"volume", test_convolution::volume(1, 20, 18, 5)},
  };
}

}  // namespace

TEST_CASE("Products in matrix tiles agree with the definition and do all of an epilogue") {
  if (matrix_tiles(false) == nullptr) return;
  for_each_product([](const GemmParams& p) {
    const test::Data data(p);
    const test::Sums expected = test::twin(p, data.a.data(), data.b.data());
    const std::vector<double> wanted = test::after_epilogue(p, data, expected);
    std::vector<float> out(p.m * p.n);
    test::run(p, test::whole_epilogue(data), data, out.data(), kName);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      wrong += !(std::abs(out[i] - wanted[i]) <= bound_of(p.whole_floats) * (expected.magnitudes[i] + 12));
    CHECK(wrong == 0);
  });
}

TEST_CASE("Products in matrix tiles give the same bits on any number of threads") {
  if (matrix_tiles(false) == nullptr) return;
  for_each_product([](const GemmParams& p) { test::check_same_bits(p, test::Data(p), kName); });
}

TEST_CASE("Products in matrix tiles are as near as is said") {
  if (matrix_tiles(false) == nullptr) return;
  GemmParams p = test::product(96, 96, 500);
  const test::Data data(p);
  const test::Sums expected = test::twin(p, data.a.data(), data.b.data());
  for (const bool whole : {false, true}) {
    p.whole_floats = whole;
    std::vector<float> out(p.m * p.n);
    test::run(p, {}, data, out.data(), kName);
    double errors = 0;
    double size = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      errors += std::pow(out[i] - expected.values[i], 2);
      size += std::pow(expected.values[i], 2);
    }
    INFO("whole " << whole << ": " << std::sqrt(errors / size));
    CHECK(std::sqrt(errors / size) < (whole ? 6e-7 : 7e-6));
  }
}

TEST_CASE("A NaN of any bits makes its row NaN in matrix tiles, and no other") {
  if (matrix_tiles(false) == nullptr) return;
  for (const bool whole : {false, true}) {
    GemmParams p = test::product(20, 20, 40);
    p.whole_floats = whole;
    test::Data data(p);
    const std::uint32_t bits = 0xFFFFFFFF;
    std::memcpy(data.a.data() + 3 * p.k + 7, &bits, sizeof(bits));
    std::vector<float> out(p.m * p.n);
    test::run(p, {}, data, out.data(), kName);
    for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / p.n == 3));
  }
}

TEST_CASE(
    "Convolutions in matrix tiles agree with the definition, and have the same bits on any number of "
    "threads") {
  using namespace test_convolution;
  if (matrix_tiles(false) == nullptr) return;
  for (NamedParams c : convolutions()) {
    for (const bool whole : {false, true}) {
      INFO(c.name << " whole " << whole);
      c.params.whole_floats = whole;
      const Data data(c.params);
      const auto create = [&](const ConvolutionParams& params) {
        return create_convolution(params, data.weights.data(), whole_epilogue(data), {}, kName);
      };
      const auto convolution = create(c.params);
      REQUIRE(convolution != nullptr);
      check_agrees(*convolution, c.params, data, twin(c.params, data.image.data(), data.weights.data()));
      check_same_bits(c.params, data, create);
    }
  }
}

}  // namespace ir::kernels
