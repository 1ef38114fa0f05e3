// Products in Strassen's form, for sizes that the cost model would leave to the usual one, too.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_kernels.h"
#include "tests/kernels/matmul/gemm_twin.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::kernels {
namespace {

using test::Data;
using test::product;
using test::products;
using test::run;
using test::Sums;
using test::twin;

constexpr std::string_view kForms[] = {"strassen", "strassen_twice"};

/// Whether the form takes the product: with two levels, halves have halves.
bool takes(const GemmParams& p, std::string_view form) {
  for (const GemmAlgorithm& algorithm : gemm_algorithms(p)) {
    if (algorithm.name == form) return true;
  }
  return false;
}

/// Where row `row` of A has term k.
std::size_t at(const GemmParams& p, std::size_t row, std::size_t k) {
  return p.transpose_a ? k * p.m + row : row * p.k + k;
}

/// Around halves of rows, panels and blocks; odd vectors of columns and parts of one; one and several blocks
/// of k.
std::vector<GemmParams> shapes() {
  std::vector<GemmParams> list;
  for (const std::size_t m : {24, 25, 29, 31, 37, 48}) {
    for (const std::size_t n : {17, 31, 32, 33, 48, 49, 64, 65, 80, 97}) list.push_back(product(m, n, 6));
  }
  for (const std::size_t k : {2, 4, 62, 130, 514, 770}) list.push_back(product(26, 70, k));
  // Quarters: of rows with a rest and without, columns of one to several panels, one and several blocks of k.
  for (const std::size_t m : {48, 53, 71, 96, 101}) {
    for (const std::size_t n : {63, 64, 67, 130, 200}) list.push_back(product(m, n, 8));
  }
  for (const std::size_t k : {4, 12, 260, 1028, 1540}) list.push_back(product(50, 135, k));
  list.push_back(product(420, 70, 8));
  list.push_back(product(50, 2100, 4));
  list.push_back(product(199, 130, 8));
  list.push_back(product(230, 40, 10));
  list.push_back(product(26, 1100, 4));
  list.push_back(product(9, 50, 12));
  list.back().batch = {{3, 9 * 12, 0}};
  return list;
}

// Rows and columns are added up in pairs: errors are those of the largest ones.
std::size_t wrong_results(const GemmParams& p, const Sums& expected, const std::vector<double>& wanted,
                          const float* results) {
  const double magnitude = *std::max_element(expected.magnitudes.begin(), expected.magnitudes.end());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < products(p) * p.m * p.n; ++i)
    wrong += !(std::abs(results[i] - wanted[i]) <= 2e-6 * (magnitude + 1));
  return wrong;
}

TEST_CASE("Strassen's form agrees with the definition, for either order of A and B") {
  IR_FOR_EACH_TARGET();
  const auto form = GENERATE(from_range(std::begin(kForms), std::end(kForms)));
  std::size_t taken = 0;
  for (GemmParams p : shapes()) {
    if (!takes(p, form)) continue;
    ++taken;
    for (const auto& [transpose_a, transpose_b] : {std::pair(false, false), {false, true}, {true, false}}) {
      // A batch of A is one taller A only where its rows lie one behind the other.
      if (transpose_a && !p.batch.empty()) continue;
      p.transpose_a = transpose_a;
      p.transpose_b = transpose_b;
      INFO("m " << p.m << " n " << p.n << " k " << p.k << " transposed " << transpose_a << transpose_b);
      Data data(p);
      const Sums expected = twin(p, data.a.data(), data.b.data());
      run(p, {}, data, data.out.data(), form);
      CHECK(wrong_results(p, expected, expected.values, data.out.data()) == 0);
      CHECK(data.out.guards_intact());
    }
  }
  CHECK(taken > 20);
}

TEST_CASE("Strassen's form adds bias and residual, clamps, then calls the hook, each element once") {
  IR_FOR_EACH_TARGET();
  const auto form = GENERATE(from_range(std::begin(kForms), std::end(kForms)));
  for (GemmParams p : shapes()) {
    if (!takes(p, form)) continue;
    for (const BiasAxis axis : {BiasAxis::row, BiasAxis::column}) {
      // Biases of rows are those of a single matrix.
      if (axis == BiasAxis::row && !p.batch.empty()) continue;
      p.bias_axis = axis;
      INFO("m " << p.m << " n " << p.n << " k " << p.k << " bias axis " << static_cast<int>(axis));
      Data data(p);
      const Sums expected = twin(p, data.a.data(), data.b.data());
      // The residual may be where the results go.
      std::copy(data.residual.begin(), data.residual.end(), data.out.begin());
      // What has been packed is not read again.
      std::vector<float> constant(data.b.begin(), data.b.end());
      const SpoilsPacked spoils({constant});
      const auto gemm = create_gemm(p, constant.data(), test::whole_epilogue(data), form);
      REQUIRE(gemm != nullptr);
      std::vector<std::byte> scratch(gemm->scratch_bytes());
      gemm->run(data.a.data(), nullptr, data.out.data(), data.out.data(), scratch.data());
      CHECK(wrong_results(p, expected, test::after_epilogue(p, data, expected), data.out.data()) == 0);
    }
  }
}

TEST_CASE("Strassen's form gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  const auto form = GENERATE(from_range(std::begin(kForms), std::end(kForms)));
  const bool transpose_a = GENERATE(false, true);
  std::vector<GemmParams> list = shapes();
  // More sums of rows than are kept.
  list.push_back(product(203, 136, 4104));
  for (GemmParams p : list) {
    if (!takes(p, form) || (transpose_a && !p.batch.empty())) continue;
    p.transpose_a = transpose_a;
    INFO("m " << p.m << " n " << p.n << " k " << p.k << " transposed A " << transpose_a);
    Data data(p);
    // A row that is not added to others: its neighbours should not depend on who they are dealt out with.
    for (std::size_t k = 0; k < p.k; ++k) data.a[at(p, p.m / 3, k)] *= 1e4F;
    test::check_same_bits(p, data, form);
  }
}

// Values far from each other, in A where `rows` says, and in B where `columns` does.
struct Unlike {
  std::vector<std::pair<std::size_t, float>> rows;
  std::vector<std::pair<std::size_t, float>> columns;
};

TEST_CASE("Strassen's form does not let rows and columns spoil each other") {
  IR_FOR_EACH_TARGET();
  const auto form = GENERATE(from_range(std::begin(kForms), std::end(kForms)));
  GemmParams p = product(61, 140, 532);
  p.transpose_a = GENERATE(false, true);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Unlike cases[] = {
      {{{3, 1e6F}, {55, 1e-6F}}, {}}, {{}, {{0, 1e5F}, {33, 1e-5F}, {107, 1e6F}}},
      {{{5, 0.0F}}, {{7, 0.0F}}},     {{{2, 1e4F}, {60, 1e5F}}, {{40, 1e-4F}, {109, 1e8F}}},
      {{{1, infinity}}, {}},          {{{60, nan}}, {{64, infinity}}},
  };
  for (const Unlike& unlike : cases) {
    INFO("case " << &unlike - cases);
    Data data(p);
    std::vector<bool> finite(p.m * p.n, true);
    for (const auto& [row, factor] : unlike.rows) {
      for (std::size_t k = 0; k < p.k; ++k) data.a[at(p, row, k)] *= factor;
      for (std::size_t j = 0; j < p.n; ++j)
        finite[row * p.n + j] = finite[row * p.n + j] && std::isfinite(factor);
    }
    for (const auto& [column, factor] : unlike.columns) {
      for (std::size_t k = 0; k < p.k; ++k) data.b[k * p.n + column] *= factor;
      for (std::size_t i = 0; i < p.m; ++i)
        finite[i * p.n + column] = finite[i * p.n + column] && std::isfinite(factor);
    }
    const Sums expected = twin(p, data.a.data(), data.b.data());
    run(p, {}, data, data.out.data(), form);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.out.size(); ++i) {
      // Of its own magnitude, and exact where that is 0.
      wrong += finite[i] ? !(std::abs(data.out[i] - expected.values[i]) <= 1e-4 * expected.magnitudes[i])
                         : std::isfinite(data.out[i]);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Strassen's form is as accurate as is said") {
  IR_FOR_EACH_TARGET();
  const GemmParams p = product(96, 96, 768);
  Data data(p);
  const Sums expected = twin(p, data.a.data(), data.b.data());
  const auto error = [&](std::string_view algorithm) {
    run(p, {}, data, data.out.data(), algorithm);
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < data.out.size(); ++i) {
      difference += std::pow(data.out[i] - expected.values[i], 2);
      size += std::pow(expected.values[i], 2);
    }
    return std::sqrt(difference / size);
  };
  const double usual = error("gemm");
  const double strassen = error("strassen");
  const double twice = error("strassen_twice");
  INFO("relative L2 " << usual << ", " << strassen << " and " << twice);
  CHECK(strassen < 1e-6);
  CHECK(strassen < 4 * usual);
  CHECK(twice < 3e-6);
  CHECK(twice < 10 * usual);
}

TEST_CASE("products have the algorithms that take them, the cheapest first") {
  const test::WithoutMatrixTiles without_tiles;
  IR_FOR_EACH_TARGET();
  const auto names = [](const GemmParams& p) {
    std::vector<std::string_view> list;
    for (const GemmAlgorithm& algorithm : gemm_algorithms(p)) list.push_back(algorithm.name);
    return list;
  };
  using Names = std::vector<std::string_view>;
  const auto sorted = [&](const GemmParams& p) {
    Names list = names(p);
    std::sort(list.begin(), list.end());
    return list;
  };
  GemmParams p = product(256, 768, 768);
  const Data data(p);
  for (const bool transpose_b : {false, true}) {
    p.transpose_b = transpose_b;
    CHECK(sorted(p) == Names{"gemm", "strassen", "strassen_twice"});
    CHECK(create_gemm(p, data.b.data(), {})->algorithm() == names(p).front());
  }
  // From where on sums pay depends on the processor.
  CHECK(names(product(4096, 8192, 8192)) == Names{"strassen_twice", "strassen", "gemm"});
  // Where all bits count, it must gain more.
  const auto cycles = [](const GemmParams& params, std::string_view name) {
    const auto list = gemm_algorithms(params);
    return std::find_if(list.begin(), list.end(), [&](const auto& known) { return known.name == name; })
        ->cycles;
  };
  GemmParams whole = p;
  whole.whole_floats = true;
  CHECK(cycles(whole, "gemm") == cycles(p, "gemm"));
  for (const std::string_view name : {"strassen", "strassen_twice"})
    CHECK(cycles(whole, name) == Approx(kPriceOfSums * cycles(p, name)));
  p.accurate = true;
  CHECK(names(p).empty());
  CHECK(create_gemm(p, data.b.data(), {})->algorithm() == "gemm");
  CHECK(create_gemm(p, data.b.data(), {}, "strassen") == nullptr);
  CHECK(names(product(24, 64, 64)).front() == "gemm");
  CHECK(create_gemm(product(24, 64, 64), data.b.data(), {})->algorithm() == "gemm");
  // Halves, but none of halves.
  CHECK(sorted(product(256, 768, 766)) == Names{"gemm", "strassen"});
  CHECK(create_gemm(product(256, 768, 766), data.b.data(), {}, "strassen_twice") == nullptr);

  CHECK(names(product(256, 768, 767)).empty());
  CHECK(names(product(4, 768, 768)).empty());
  CHECK(names(product(256, 3, 768)).empty());
  p = product(256, 768, 768);
  p.constant = GemmConstant::none;
  CHECK(names(p).empty());
  p.constant = GemmConstant::a;
  CHECK(names(p).empty());
  p.constant = GemmConstant::b;
  p.transpose_a = true;
  CHECK(sorted(p) == Names{"gemm", "strassen", "strassen_twice"});
  p = product(256, 768, 768);
  p.batch = {{2, 256 * 768, 768 * 768}};
  CHECK(names(p).empty());
  CHECK(create_gemm(product(256, 768, 768), data.b.data(), {}, "faster") == nullptr);
}

}  // namespace
}  // namespace ir::kernels
