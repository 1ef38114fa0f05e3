// Products of integers, for sizes that the cost model would leave to floats, too.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/weights/integer_weights.h"
#include "tests/kernels/matmul/gemm_twin.h"
#include "tests/kernels/matmul/integer_grids.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::kernels {
namespace {

using test::Data;
using test::product;
using test::run;
using test::Sums;
using test::twin;

/// Around panels of rows and vectors of columns; one and several blocks of k; a batch that is one tall A.
std::vector<GemmParams> shapes() {
  std::vector<GemmParams> list;
  for (const std::size_t m : {2, 5, 7, 8, 13}) {
    for (const std::size_t n : {2, 7, 16, 17, 31, 33, 48, 65}) list.push_back(product(m, n, 11));
  }
  for (const std::size_t k : {1, 2, 3, 64, 129, 777, 1600}) list.push_back(product(9, 37, k));
  list.push_back(product(150, 300, 40));
  list.push_back(product(9, 50, 13));
  list.back().batch = {{3, 9 * 13, 0}};
  return list;
}

/// A is made of integers; B of those of a byte, with a step for each column.
struct IntegerData : Data {
  IntegerGrid grid;

  explicit IntegerData(const GemmParams& p, IntegerGrid values = {0.02F, -128, 127}) : Data(p), grid(values) {
    const float most = std::max(-grid.low, grid.high);
    for (float& value : a) value = std::clamp(std::round(value * most), grid.low, grid.high) * grid.step;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const std::size_t column = p.transpose_b ? i / p.k : i % p.n;
      b[i] = std::round(b[i] * 127) * (0.001F * static_cast<float>(column + 3));
    }
  }
};

/// Those of both orders of B and of all kinds of lanes, with what is known of them. None where the target
/// does not multiply integers.
template <class Check>
void for_each_shape(const Check& check) {
  for (GemmParams p : shapes()) {
    for (const bool transpose_b : {false, true}) {
      p.transpose_b = transpose_b;
      INFO("m " << p.m << " n " << p.n << " k " << p.k << " transpose " << transpose_b);
      for (const IntegerGrid& grid : test::integer_grids(0.02F)) {
        INFO("integers from " << grid.low << " to " << grid.high);
        IntegerData data(p, grid);
        p.integers = integer_columns(p, data.b.data(), data.grid);
        CHECK((p.integers != nullptr) == test::takes_integers(grid));
        if (p.integers != nullptr) check(p, data);
      }
    }
  }
}

/// Of products of integers.
std::vector<std::string_view> algorithms_of(const GemmParams& p) {
  std::vector<std::string_view> names{"integer"};
  if (byte_tiles() != nullptr && p.integers != nullptr && p.integers->form() == LaneForm::quads)
    names.push_back("integer_tiles");
  return names;
}

std::size_t wrong_results(const Sums& expected, const std::vector<double>& wanted, const float* results) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wrong += !(std::abs(results[i] - wanted[i]) <= 1e-6 * (expected.magnitudes[i] + 10));
  return wrong;
}

}  // namespace

TEST_CASE("Products of integers agree with the definition, for either order of B") {
  IR_FOR_EACH_TARGET();
  for_each_shape([](const GemmParams& p, IntegerData& data) {
    const Sums expected = twin(p, data.a.data(), data.b.data());
    for (const std::string_view name : algorithms_of(p)) {
      INFO(name);
      std::fill(data.out.begin(), data.out.end(), 99.0F);
      run(p, {}, data, data.out.data(), name);
      CHECK(wrong_results(expected, expected.values, data.out.data()) == 0);
      CHECK(data.out.guards_intact());
    }
  });
}

TEST_CASE("Products of integers add bias and residual, clamp, then call the hook, each element once") {
  IR_FOR_EACH_TARGET();
  for_each_shape([](GemmParams p, IntegerData& data) {
    const Sums expected = twin(p, data.a.data(), data.b.data());
    for (const BiasAxis axis : {BiasAxis::row, BiasAxis::column}) {
      // Biases of rows are those of a single matrix.
      if (axis == BiasAxis::row && !p.batch.empty()) continue;
      p.bias_axis = axis;
      INFO("bias axis " << static_cast<int>(axis));
      p.integers = integer_columns(p, data.b.data(), data.grid);
      // Bytes that are less than 0 begin elsewhere, which is made up for by columns.
      if (p.integers == nullptr && axis == BiasAxis::row && data.grid.low < 0) continue;
      for (const std::string_view name : algorithms_of(p)) {
        INFO(name);
        // The residual may be where the results go.
        std::copy(data.residual.begin(), data.residual.end(), data.out.begin());
        const auto gemm = create_gemm(p, data.b.data(), test::whole_epilogue(data), name);
        REQUIRE(gemm != nullptr);
        CHECK(gemm->algorithm() == name);
        std::vector<std::byte> scratch(gemm->scratch_bytes());
        gemm->run(data.a.data(), nullptr, data.out.data(), data.out.data(), scratch.data());
        CHECK(wrong_results(expected, test::after_epilogue(p, data, expected), data.out.data()) == 0);
      }
    }
  });
}

TEST_CASE("What levels of A miss 0 by joins the bias of columns") {
  IR_FOR_EACH_TARGET();
  for (const bool transpose_b : {false, true}) {
    GemmParams p = product(21, 45, 70);
    p.transpose_b = transpose_b;
    IntegerData data(p);
    data.grid.offset = 0.0006F;
    for (float& value : data.a) value += data.grid.offset;
    p.integers = integer_columns(p, data.b.data(), data.grid);
    if (p.integers == nullptr) return;
    const Sums expected = twin(p, data.a.data(), data.b.data());
    for (const std::string_view name : algorithms_of(p)) {
      INFO(name);
      run(p, {}, data, data.out.data(), name);
      CHECK(wrong_results(expected, expected.values, data.out.data()) == 0);
      run(p, test::whole_epilogue(data), data, data.out.data(), name);
      CHECK(wrong_results(expected, test::after_epilogue(p, data, expected), data.out.data()) == 0);
    }
    p.bias_axis = BiasAxis::row;
    CHECK(integer_columns(p, data.b.data(), data.grid) == nullptr);
  }
}

TEST_CASE("Products of integers give the same bits on any number of threads") {
  for_each_shape([](const GemmParams& p, IntegerData& data) {
    for (const std::string_view name : algorithms_of(p)) test::check_same_bits(p, data, name);
  });
}

TEST_CASE("Products of integers are listed with the others, and not where nothing is known of them") {
  const test::WithoutMatrixTiles without_tiles;
  const auto names = [](const GemmParams& p) {
    std::vector<std::string_view> list;
    for (const GemmAlgorithm& algorithm : gemm_algorithms(p)) list.push_back(algorithm.name);
    std::sort(list.begin(), list.end());
    return list;
  };
  using Names = std::vector<std::string_view>;
  GemmParams p = product(200, 256, 512);
  const IntegerData data(p);
  CHECK(names(p) == Names{"gemm", "strassen", "strassen_twice"});
  p.integers = integer_columns(p, data.b.data(), data.grid);
  if (p.integers == nullptr) return;
  CHECK(names(p) == Names{"gemm", "integer", "strassen", "strassen_twice"});
  CHECK(gemm_algorithms(p).front().name == "integer");
  CHECK(create_gemm(p, data.b.data(), {})->algorithm() == "integer");
  p.accurate = true;
  CHECK(names(p).empty());
}

TEST_CASE("Integers are not looked for where they would not help") {
  GemmParams p = product(20, 30, 40);
  const IntegerData data(p);
  const auto found = [&](const GemmParams& params) {
    return integer_columns(params, data.b.data(), data.grid) != nullptr;
  };
  CHECK(found(p) == test::takes_integers(data.grid));
  SECTION("one row") {
    p.m = 1;
    CHECK_FALSE(found(p));
  }
  SECTION("one column") {
    p.n = 1;
    CHECK_FALSE(found(p));
  }
  SECTION("no terms") {
    p.k = 0;
    CHECK_FALSE(found(p));
  }
  SECTION("A that is transposed") {
    p.transpose_a = true;
    CHECK_FALSE(found(p));
  }
  SECTION("several matrices B") {
    p.n = 15;
    p.batch = {{2, 20 * 40, 15 * 40}};
    CHECK_FALSE(found(p));
  }
  SECTION("numbers that are no integers") {
    Data any(p);
    CHECK(integer_columns(p, any.b.data(), data.grid) == nullptr);
  }
}

}  // namespace ir::kernels
