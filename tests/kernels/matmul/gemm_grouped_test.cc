#include "kernels/matmul/gemm_grouped.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"
#include "tests/kernels/weights/spoils_packed.h"

namespace ir::kernels {
namespace {

using test::fill_random;
using test::GuardedBuffer;

using Borders = std::vector<std::size_t>;

/// Operands of a product and where its groups of rows begin.
template <class T>
struct Data {
  GroupedGemmParams params;
  Borders borders;
  std::vector<T> a;
  std::vector<T> b;

  Data(Borders group_borders, std::size_t rows, std::size_t n, std::size_t k)
      : params{group_borders.size() - 1, rows, n, k},
        borders(std::move(group_borders)),
        a(rows * k),
        b(params.groups * n * k) {
    fill_random(a, -9, 9, 1);
    fill_random(b, -9, 9, 2);
  }
};

/// Results by the definition, and sums of the magnitudes of their terms.
struct Sums {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

template <class T>
Sums twin(const Data<T>& data) {
  const GroupedGemmParams& p = data.params;
  Sums sums{std::vector<double>(p.rows * p.n), std::vector<double>(p.rows * p.n)};
  for (std::size_t group = 0; group < p.groups; ++group) {
    for (std::size_t row = data.borders[group]; row < data.borders[group + 1]; ++row) {
      for (std::size_t column = 0; column < p.n; ++column) {
        for (std::size_t i = 0; i < p.k; ++i) {
          const double term = static_cast<double>(data.a[row * p.k + i]) *
                              static_cast<double>(data.b[(group * p.n + column) * p.k + i]);
          sums.values[row * p.n + column] += term;
          sums.magnitudes[row * p.n + column] += std::abs(term);
        }
      }
    }
  }
  return sums;
}

/// Matrices that are packed are not read again.
std::vector<float> product_of(const Data<float>& data, bool is_constant) {
  std::vector<float> constant = data.b;
  const auto gemm = [&] {
    const SpoilsPacked spoils({constant});
    return GroupedGemm(data.params, is_constant ? constant.data() : nullptr);
  }();
  CHECK(gemm.reads_matrices() == (!is_constant || data.params.rows < 2 || constant.empty()));
  GuardedBuffer<std::byte> scratch(gemm.scratch_bytes(), 5);
  std::fill(scratch.begin(), scratch.end(), std::byte{0xFF});
  GuardedBuffer<float> out(data.params.rows * data.params.n, 3);
  std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
  gemm.run(data.a.data(), gemm.reads_matrices() ? data.b.data() : nullptr, data.borders.data(), out.data(),
           scratch.data());
  CHECK(scratch.guards_intact());
  CHECK(out.guards_intact());
  return {out.begin(), out.end()};
}

std::vector<Data<float>> cases() {
  std::vector<Data<float>> list;
  // Groups of no row, of one, of some and of more than a block; rows behind the last group.
  const Borders borders{0, 0, 1, 6, 6, 7, 100, 236, 236};
  for (const std::size_t n : {1U, 7U, 16U, 33U, 300U}) list.emplace_back(borders, 240, n, 20);
  for (const std::size_t k : {0U, 1U, 255U, 257U, 700U}) list.emplace_back(borders, 236, 19, k);
  list.emplace_back(Borders{0, 0, 1, 1}, 1, 40, 30);
  list.emplace_back(Borders{0, 0, 0}, 3, 5, 4);
  list.emplace_back(Borders{0}, 3, 5, 4);
  list.emplace_back(Borders{0, 0, 0}, 0, 5, 4);
  list.emplace_back(Borders{0, 2, 3}, 3, 0, 4);
  list.emplace_back(Borders{0, 130}, 130, 2100, 9);
  return list;
}

}  // namespace

TEST_CASE("grouped products agree with their definition, of known and unknown matrices") {
  IR_FOR_EACH_TARGET();
  for (const Data<float>& data : cases()) {
    const Sums expected = twin(data);
    for (const bool is_constant : {false, true}) {
      INFO("rows " << data.params.rows << " n " << data.params.n << " k " << data.params.k << " constant "
                   << is_constant);
      const std::vector<float> out = product_of(data, is_constant);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        wrong += !(std::abs(out[i] - expected.values[i]) <= 2e-6 * expected.magnitudes[i]);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("grouped products are the same on any number of threads") {
  const bool is_constant = GENERATE(false, true);
  const Data<float> data({0, 3, 3, 150, 151}, 160, 500, 300);
  std::array<std::vector<float>, 3> results;
  for (const int threads : {1, 2, 3}) {
    ThreadPool(threads).run(
        [&] { results.at(static_cast<std::size_t>(threads - 1)) = product_of(data, is_constant); });
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEMPLATE_TEST_CASE("grouped products of any element type", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t) {
  const Data<TestType> data({0, 0, 3, 4, 70}, 72, 67, 5);
  const Sums expected = twin(data);
  std::vector<TestType> out(data.params.rows * data.params.n, TestType{5});
  grouped_gemm_generic(data.params, data.a.data(), data.b.data(), data.borders.data(), out.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if constexpr (std::is_integral_v<TestType>) {
      wrong += out[i] != static_cast<TestType>(static_cast<std::int64_t>(expected.values[i]));
    } else {
      wrong += !(std::abs(static_cast<double>(out[i]) - expected.values[i]) <= 1e-6 * expected.magnitudes[i]);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("group_borders takes offsets that ascend within the rows") {
  Borders borders(4);
  const auto bad = [&](const std::vector<std::int64_t>& offsets) {
    return group_borders(offsets.data(), 3, 10, borders.data());
  };
  CHECK_FALSE(bad({3, 3, 10}));
  CHECK(borders == Borders{0, 3, 3, 10});
  const auto check_bad = [&](const std::vector<std::int64_t>& offsets, std::size_t position) {
    const IndexResult result = bad(offsets);
    REQUIRE(result);
    CHECK(result->position == position);
    CHECK(result->value == offsets[position]);
  };
  check_bad({-1, 3, 10}, 0);
  check_bad({3, 2, 10}, 1);
  check_bad({3, 8, 11}, 2);
  check_bad({3, std::numeric_limits<std::int64_t>::max(), 11}, 1);
  check_bad({3, 4, std::numeric_limits<std::int64_t>::min()}, 2);
}

}  // namespace ir::kernels
