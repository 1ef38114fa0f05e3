// A few rows times large weights of 16 and 24 bits.
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/weights/narrow_weights.h"
#include "tests/kernels/matmul/gemm_twin.h"
#include "tests/kernels/weights/spoils_packed.h"

namespace ir::kernels {
namespace {

using test::Data;
using test::product;
using test::run;
using test::Sums;
using test::twin;

constexpr std::string_view kName = "gemv_narrow";

std::string_view algorithm_of(const GemmParams& p, const Data& data) {
  return create_gemm(p, p.constant == GemmConstant::a ? data.a.data() : data.b.data(), {})->algorithm();
}

/// What a row of terms gives with the columns of a panel of as many units as they take:
/// weights[column * terms.size() + term].
std::vector<float> multiplied(const NarrowForm& form, const std::vector<float>& terms,
                              const std::vector<float>& weights, NarrowLoss* loss = nullptr) {
  const NarrowKernels& kernels = narrow_kernels();
  const std::size_t depth = terms.size();
  const std::size_t count = weights.size() / depth;
  const std::size_t units = divide_up(count, kernels.columns());
  REQUIRE(units <= kernels.most_units);
  test::GuardedBuffer<float> panel(units * form.floats(depth));
  NarrowLoss lost;
  // The first one by itself.
  for (std::size_t unit = 0, at_once = 1; unit < units; unit += at_once) {
    if (unit > 0) at_once = std::min(NarrowKernels::kUnitsAtOnce, units - unit);
    test::GuardedBuffer<float> from(at_once * kernels.columns() * depth, 1);
    std::fill(from.begin(), from.end(), 0.0F);
    const std::size_t first = unit * kernels.columns();
    for (std::size_t column = 0; column < std::min(at_once * kernels.columns(), count - first); ++column) {
      for (std::size_t k = 0; k < depth; ++k) {
        const std::size_t vector = column / kernels.lanes * depth + k;
        from.data()[vector * kernels.lanes + column % kernels.lanes] = weights[(first + column) * depth + k];
      }
    }
    lost += form.narrow(from.data(), depth, {panel.data(), units, unit, at_once});
  }
  if (loss != nullptr) *loss = lost;
  CHECK(panel.guards_intact());
  const auto with_zeros = [&](bool skips_zeros) {
    test::GuardedBuffer<float> sums(units * kernels.columns(), 3);
    form.multiply({terms.data(), depth, skips_zeros}, panel.data(), units, sums.data());
    CHECK(sums.guards_intact());
    return std::vector<float>(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::vector<float> sums = with_zeros(false);
  if (std::isfinite(lost.weights)) CHECK(with_zeros(true) == sums);
  return sums;
}

/// Each of them as a weight, times 1.
std::vector<float> narrowed(const std::vector<float>& weights) {
  const std::size_t columns = narrow_kernels().columns();
  std::vector<float> results;
  for (std::size_t first = 0; first < weights.size(); first += columns) {
    const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min(columns, weights.size() - first));
    const std::vector<float> some = multiplied(narrow_kernels().floats, {1}, {begin, begin + count});
    results.insert(results.end(), some.begin(), some.end());
  }
  return results;
}

TEST_CASE("Weights of 24 bits keep what fits, and round the rest to even") {
  IR_FOR_EACH_TARGET();
  std::vector<float> exact{0, 1, -1, 1.5F, 65504, 0x1p-24F, -0x1.FFFEp127F, 0x1p-126F, 0x1p-140F};
  for (unsigned upper = 1; upper < 0x7F80; upper += 97)
    exact.push_back(std::bit_cast<float>(upper << 16 | (upper * 7 & 0xFF) << 8));
  CHECK(narrowed(exact) == exact);

  const std::vector<float> between{1 + 0x1p-16F, 1 + 0x3p-16F,  1 + 0x1.02p-16F, 1 + 0xFEp-23F,
                                   2 - 0x1p-23F, -1 - 0x3p-16F, 0x1.FFFFp-3F};
  CHECK(narrowed(between) ==
        std::vector<float>{1, 1 + 0x4p-16F, 1 + 0x2p-16F, 1 + 0x2p-16F, 2, -1 - 0x4p-16F, 0x1p-2F});
}

TEST_CASE("Weights of 24 bits that are finite stay so, and others do not change") {
  IR_FOR_EACH_TARGET();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float barely_nan = std::bit_cast<float>(0x7F800001U);
  const std::vector<float> results = narrowed({std::numeric_limits<float>::max(), kInfinity, -kInfinity,
                                               std::numeric_limits<float>::quiet_NaN(), barely_nan});
  CHECK(results[0] == 0x1.FFFEp127F);
  CHECK(results[1] == kInfinity);
  CHECK(results[2] == -kInfinity);
  CHECK(std::isnan(results[3]));
  CHECK(std::isnan(results[4]));
}

/// Weight `term` of each column.
std::vector<float> picked(const NarrowForm& form, const std::vector<float>& weights, std::size_t depth,
                          std::size_t term, NarrowLoss* loss = nullptr) {
  std::vector<float> terms(depth, 0.0F);
  terms[term] = 1;
  return multiplied(form, terms, weights, loss);
}

TEST_CASE("Weights of 16 bits are integers of a step of their group") {
  IR_FOR_EACH_TARGET();
  const NarrowForm& form = narrow_kernels().integers;
  const std::size_t depth = GENERATE(1, 2, 31, 32, 33, 100);
  const std::size_t units = std::min<std::size_t>(GENERATE(1, 3, 6), narrow_kernels().most_units);
  const std::size_t columns = units * narrow_kernels().columns() - 3;
  // Groups and columns of sizes that have nothing in common.
  std::vector<float> weights(columns * depth);
  test::fill_random(weights, -1, 1, 5);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t group = i % depth / NarrowKernels::kGroupTerms;
    weights[i] *= std::ldexp(1.0F, static_cast<int>((i / depth * 7 + group * 13) % 120) - 60);
  }
  std::size_t wrong = 0;
  for (std::size_t term = 0; term < depth; ++term) {
    const std::size_t first = term / NarrowKernels::kGroupTerms * NarrowKernels::kGroupTerms;
    const std::size_t end = std::min(depth, first + NarrowKernels::kGroupTerms);
    const std::vector<float> results = picked(form, weights, depth, term);
    for (std::size_t column = 0; column < columns; ++column) {
      const float* const group = weights.data() + column * depth;
      float peak = 0;
      for (std::size_t k = first; k < end; ++k) peak = std::max(peak, std::abs(group[k]));
      const float error = std::abs(results[column] - group[term]);
      wrong += !(error <= peak * (0.5F / 32767 + 0x1p-22F));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Weights of 16 bits are exact where they are integers, their sums where terms are huge") {
  IR_FOR_EACH_TARGET();
  const NarrowForm& form = narrow_kernels().integers;
  const std::vector<float> weights{32767, 1, -32767, -1, 0, 300};
  for (std::size_t term = 0; term < weights.size(); ++term)
    CHECK(picked(form, weights, weights.size(), term) == std::vector<float>{weights[term]});
  CHECK(multiplied(form, {0, 0, 0}, {0, 0, 0}) == std::vector<float>{0});
  const std::vector<float> large = multiplied(form, {0x1p126F, 0x1p126F}, {0.5F, 0.5F});
  CHECK(std::abs(large[0] - 0x1p126F) <= 0x1p104F);
}

TEST_CASE("Weights of 16 bits tell what they lose") {
  IR_FOR_EACH_TARGET();
  const NarrowForm& form = narrow_kernels().integers;
  const std::size_t depth = 96;
  std::vector<float> weights(narrow_kernels().columns() * depth);
  test::fill_random(weights, -1, 1, 9);
  NarrowLoss loss;
  double errors = 0;
  double squares = 0;
  for (std::size_t term = 0; term < depth; ++term) {
    const std::vector<float> results = picked(form, weights, depth, term, &loss);
    for (std::size_t column = 0; column < results.size(); ++column) {
      const double weight = weights[column * depth + term];
      errors += std::pow(results[column] - weight, 2);
      squares += weight * weight;
    }
  }
  CHECK(std::abs(loss.weights / squares - 1) < 1e-4);
  CHECK(std::abs(loss.errors / errors - 1) < 0.1);

  const auto lost_with = [&](float weight) {
    weights[40] = weight;
    multiplied(form, std::vector<float>(depth, 0.0F), weights, &loss);
    return loss.errors / loss.weights;
  };
  CHECK(lost_with(0) < 0x1p-30);
  CHECK_FALSE(lost_with(std::numeric_limits<float>::infinity()) < 0x1p-30);
  CHECK_FALSE(lost_with(std::numeric_limits<float>::quiet_NaN()) < 0x1p-30);
  multiplied(form, {1, 1}, {0x1p-120F, 0}, &loss);
  CHECK(loss.weights == 0);
}

TEST_CASE("Weights of 16 bits that are next to nothing stay so") {
  IR_FOR_EACH_TARGET();
  const NarrowForm& form = narrow_kernels().integers;
  CHECK(picked(form, {0x1p-112F, -0x1p-113F}, 2, 0)[0] == 0x1p-112F);
  const float tiny = picked(form, {0x1p-120F, 0}, 2, 0)[0];
  CHECK(std::abs(tiny - 0x1p-120F) <= 0x1p-127F);
  CHECK(picked(form, {0, 0}, 2, 0)[0] == 0);
}

TEST_CASE("Sums are the same bits for any number of units, with zeros and without") {
  IR_FOR_EACH_TARGET();
  const NarrowKernels& kernels = narrow_kernels();
  const NarrowForm& form = GENERATE(false, true) ? kernels.integers : kernels.floats;
  const std::size_t depth = GENERATE(5, 32, 100, 2048);
  // As many of which one is not 0: all, most, some, few.
  const std::size_t every = GENERATE(1, 2, 7, 300);
  std::vector<float> terms(depth);
  test::fill_random(terms, -1, 1, 3);
  for (std::size_t k = 0; k < depth; ++k) {
    if (k % every != depth / 2 % every) terms[k] = k % 3 == 0 ? -0.0F : 0.0F;
  }
  const std::size_t whole = std::min<std::size_t>(2, kernels.most_units - 1);
  const std::size_t count = whole * kernels.columns() + kernels.lanes + 1;
  std::vector<float> weights(count * depth);
  test::fill_random(weights, -1, 1, 5);
  const std::vector<float> sums = multiplied(form, terms, weights);
  std::vector<float> one_by_one;
  for (std::size_t first = 0; first < count; first += kernels.columns()) {
    const auto place = [&](std::size_t column) {
      return weights.begin() + static_cast<std::ptrdiff_t>(std::min(column, count) * depth);
    };
    const std::vector<float> some = multiplied(form, terms, {place(first), place(first + kernels.columns())});
    one_by_one.insert(one_by_one.end(), some.begin(), some.end());
  }
  CHECK(sums == one_by_one);
  std::size_t wrong = 0;
  for (std::size_t column = 0; column < count; ++column) {
    double sum = 0;
    double magnitude = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      const double product = static_cast<double>(terms[k]) * weights[column * depth + k];
      sum += product;
      magnitude += std::abs(product);
    }
    wrong += !(std::abs(sums[column] - sum) <= 6e-5 * magnitude + 2e-5);
  }
  CHECK(wrong == 0);
}

// Of random weights and those that a few dominate, errors per product of terms, and of all in relative L2.
struct Nearness {
  bool spread;
  double of_terms;
  double of_all;
};
constexpr Nearness kIntegers{false, 4e-5, 4e-5};
constexpr Nearness kFloats{true, 0x1p-16 + 2e-6, 1e-5};

Data data_for(const GemmParams& p, bool spread) {
  Data data(p);
  // Of rectified values, more than half.
  if (p.zeros_in_a) {
    for (float& value : data.a) value = std::max(value, 0.0F);
  }
  if (!spread) return data;
  auto& weights = p.constant == GemmConstant::a ? data.a : data.b;
  for (float& weight : weights) weight = static_cast<float>(std::pow(weight, 31));
  return data;
}

std::size_t count_wrong(const Data& results, const std::vector<double>& wanted, const Sums& expected,
                        const Nearness& near) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wrong += !(std::abs(results.out[i] - wanted[i]) <= near.of_terms * expected.magnitudes[i]);
  return wrong;
}

TEST_CASE("A row meets large weights in fewer bits, as many as they need, whatever their order") {
  IR_FOR_EACH_TARGET();
  // Columns that fill panels, vectors, or neither; terms that fill blocks or not.
  const auto [n, k] =
      GENERATE(table<std::size_t, std::size_t>({{1024, 1280}, {1000, 1281}, {1187, 1023}, {3, 400001}}));
  GemmParams p = product(1, n, k);
  p.constant_stays = true;
  p.transpose_b = GENERATE(false, true);
  p.zeros_in_a = GENERATE(false, true);
  const Nearness near = GENERATE(kIntegers, kFloats);
  const Data data = data_for(p, near.spread);
  CHECK(algorithm_of(p, data) == kName);
  const Sums expected = twin(p, data.a.data(), data.b.data());
  const auto results_with = [&](const Epilogue& epilogue) {
    Data results = data_for(p, near.spread);
    run(p, epilogue, results, results.out.data());
    CHECK(results.out.guards_intact());
    return results;
  };
  const Data results = results_with({});
  CHECK(count_wrong(results, expected.values, expected, near) == 0);
  CHECK(count_wrong(results_with(test::whole_epilogue(data)), test::after_epilogue(p, data, expected),
                    expected, near) == 0);
  // Errors of roundings mostly cancel out; of fewer, less.
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    error += std::pow(results.out[i] - expected.values[i], 2);
    norm += std::pow(expected.values[i], 2);
  }
  CHECK(std::sqrt(error / norm) < near.of_all * (p.zeros_in_a ? 1.5 : 1));
}

TEST_CASE("Weights of more than 256 MiB that stay in memory are narrow only if that is asked for") {
  IR_FOR_EACH_TARGET();
  const auto first_of = [](std::size_t n, bool stays) {
    GemmParams p = product(1, n, 25000);
    p.transpose_b = true;
    p.constant_stays = stays;
    const std::vector<GemmAlgorithm> algorithms = gemm_algorithms(p);
    const auto is_narrow = [](const GemmAlgorithm& algorithm) { return algorithm.name == kName; };
    CHECK(std::ranges::any_of(algorithms, is_narrow));
    return algorithms.at(0).name;
  };
  CHECK(first_of(2684, true) == kName);
  CHECK(first_of(2685, true) == "gemv");
  CHECK(first_of(2685, false) == kName);
}

TEST_CASE("A few rows meet large weights in fewer bits, those in reach of registers") {
  IR_FOR_EACH_TARGET();
  const std::size_t rows = GENERATE(2, 3, 4, 5);
  // More than two have to share more weights. Columns and terms that fill panels and groups, or not.
  const auto [n, k] = rows == 2 ? std::pair<std::size_t, std::size_t>(1187, 1023)
                                : std::pair<std::size_t, std::size_t>(1027, 2051);
  GemmParams p = product(rows, n, k);
  p.transpose_b = GENERATE(false, true);
  const Nearness near = GENERATE(kIntegers, kFloats);
  const Data data = data_for(p, near.spread);
  const bool is_in_reach = rows <= narrow_kernels().most_rows;
  CHECK((algorithm_of(p, data) == kName) == is_in_reach);
  if (!is_in_reach) return;
  const Sums expected = twin(p, data.a.data(), data.b.data());
  for (const BiasAxis axis : {BiasAxis::row, BiasAxis::column}) {
    p.bias_axis = axis;
    Data results = data_for(p, near.spread);
    run(p, test::whole_epilogue(data), results, results.out.data());
    CHECK(results.out.guards_intact());
    CHECK(count_wrong(results, test::after_epilogue(p, data, expected), expected, near) == 0);
  }
}

TEST_CASE("Rows of a few have the bits of a row by itself") {
  IR_FOR_EACH_TARGET();
  const std::size_t rows = narrow_kernels().most_rows;
  const GemmParams p = product(rows, 1027, 2051);
  const Data data = data_for(p, GENERATE(false, true));
  std::vector<float> together(rows * p.n);
  run(p, {}, data, together.data(), kName);
  GemmParams one = p;
  one.m = 1;
  Data row = data;
  std::vector<float> alone(p.n);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(data.a.data() + i * p.k, p.k, row.a.data());
    run(one, {}, row, alone.data(), kName);
    CHECK(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(i * p.n)));
  }
}

TEST_CASE("Few rows leave smaller weights, and rows that lie across, to other forms") {
  GemmParams p = product(2, 512, 511);
  CHECK(algorithm_of(p, Data(p)) != kName);
  p = product(2, 512, 512);
  p.transpose_a = true;
  CHECK(algorithm_of(p, Data(p)) != kName);
  p = product(3, 1024, 2047);
  CHECK(algorithm_of(p, Data(p)) != kName);
}

TEST_CASE("A row meets weights that are all next to nothing in the bits that they need") {
  GemmParams p = product(1, 512, 512);
  Data data(p);
  for (float& weight : data.b) weight *= 0x1p-118F;
  CHECK(algorithm_of(p, data) == kName);
  const Sums expected = twin(p, data.a.data(), data.b.data());
  run(p, {}, data, data.out.data());
  CHECK(count_wrong(data, expected.values, expected, kFloats) == 0);
}

TEST_CASE("A row meets weights that are not finite") {
  GemmParams p = product(1, 1024, 1280);
  p.zeros_in_a = GENERATE(false, true);
  Data data(p);
  // What meets zeros is no number, either.
  if (p.zeros_in_a) std::fill(data.a.begin() + 1, data.a.begin() + 1000, 0.0F);
  data.b[5] = std::numeric_limits<float>::infinity();
  data.b[1030] = std::numeric_limits<float>::quiet_NaN();
  CHECK(algorithm_of(p, data) == kName);
  run(p, {}, data, data.out.data());
  CHECK(std::abs(data.out[5]) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(data.out[6]));
  CHECK(std::count_if(data.out.begin(), data.out.end(), [](float value) { return std::isfinite(value); }) ==
        1022);
}

TEST_CASE("Weights in fewer bits are given back, in whichever form they are kept") {
  GemmParams p = product(1, 1187, 1023);
  p.constant_stays = true;
  p.transpose_b = GENERATE(false, true);
  const Nearness near = GENERATE(kIntegers, kFloats);
  Data data = data_for(p, near.spread);
  const Sums expected = twin(p, data.a.data(), data.b.data());
  std::vector<float> constant(data.b.begin(), data.b.end());
  const SpoilsPacked spoils({constant});
  const auto gemm = create_gemm(p, constant.data(), {}, kName);
  REQUIRE(gemm != nullptr);
  CHECK(std::all_of(constant.begin(), constant.end(), [](float weight) { return std::isnan(weight); }));
  std::vector<std::byte> scratch(gemm->scratch_bytes());
  gemm->run(data.a.data(), nullptr, nullptr, data.out.data(), scratch.data());
  CHECK(count_wrong(data, expected.values, expected, near) == 0);
}

TEST_CASE("A column on the other side of large weights is a row") {
  GemmParams p = product(1200, 1, 1000);
  p.constant = GemmConstant::a;
  const Data data(p);
  CHECK(algorithm_of(p, data) == kName);
  const Sums expected = twin(p, data.a.data(), data.b.data());
  Data results(p);
  run(p, {}, results, results.out.data());
  CHECK(count_wrong(results, expected.values, expected, kIntegers) == 0);
}

TEST_CASE("Rows meet narrow weights with the same bits on any number of threads") {
  GemmParams p = product(std::min<std::size_t>(GENERATE(1, 2), narrow_kernels().most_rows), 1187, 1023);
  p.transpose_b = GENERATE(false, true);
  p.zeros_in_a = GENERATE(false, true);
  const Data data = data_for(p, false);
  std::vector<float> one(p.m * p.n);
  ThreadPool(1).run([&] { run(p, {}, data, one.data(), kName); });
  for (const int threads : {2, 5}) {
    std::vector<float> many(p.m * p.n);
    ThreadPool(threads).run([&] { run(p, {}, data, many.data(), kName); });
    CHECK(many == one);
  }
}

TEST_CASE("Weights stay whole where that is asked for, where they are few, and where others share them") {
  GemmParams p = product(1, 1024, 1280);
  const auto takes = [](const GemmParams& params) { return algorithm_of(params, Data(params)) == kName; };
  CHECK(takes(p));
  p.accurate = true;
  CHECK_FALSE(takes(p));
  p.accurate = false;
  p.shares_packing = true;
  CHECK_FALSE(takes(p));
  p.transpose_b = true;  // a row would read it where it stays
  CHECK(takes(p));
  CHECK(takes(product(1, 512, 512)));
  CHECK_FALSE(takes(product(1, 512, 511)));
  CHECK_FALSE(takes(product(5, 1024, 2560)));
  const Data data(p);
  CHECK(create_gemm(p, data.b.data(), {}, "gemv")->algorithm() == "gemv");
}

}  // namespace
}  // namespace ir::kernels
