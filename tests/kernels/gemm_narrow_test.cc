// A row times large weights of 24 bits.
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "kernels/gemm.h"
#include "kernels/gemm_kernels.h"
#include "kernels/narrow_weights.h"
#include "tests/kernels/gemm_twin.h"

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

/// Each of them as a weight, times 1.
std::vector<float> narrowed(const std::vector<float>& weights) {
  const NarrowKernels& kernels = narrow_kernels();
  const std::size_t columns = kernels.columns();
  std::vector<float> results;
  for (std::size_t first = 0; first < weights.size(); first += columns) {
    const std::size_t count = std::min(columns, weights.size() - first);
    test::GuardedBuffer<float> from(columns, 1);
    std::fill(from.begin(), from.end(), 0.0F);
    std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(first), count, from.begin());
    test::GuardedBuffer<float> panel(kernels.floats(1), 1);
    kernels.narrow(from.data(), 1, panel.data());
    test::GuardedBuffer<float> out(count, 3);
    Tile tile;
    tile.out = out.data();
    tile.columns = count;
    tile.low = -std::numeric_limits<float>::infinity();
    tile.high = std::numeric_limits<float>::infinity();
    const float one = 1;
    kernels.multiply(&one, panel.data(), 1, tile);
    CHECK(panel.guards_intact());
    CHECK(out.guards_intact());
    results.insert(results.end(), out.begin(), out.end());
  }
  return results;
}

TEST_CASE("Narrow weights keep what fits in 24 bits, and round the rest to even") {
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

TEST_CASE("Narrow weights that are finite stay so, and others do not change") {
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

TEST_CASE("A row meets large weights in 24 bits, whatever their order") {
  IR_FOR_EACH_TARGET();
  // Columns that fill panels, vectors, or neither; terms that fill blocks or not.
  const auto [n, k] =
      GENERATE(table<std::size_t, std::size_t>({{1024, 1280}, {1000, 1281}, {1187, 1023}, {3, 400001}}));
  GemmParams p = product(1, n, k);
  p.constant_stays = true;
  p.transpose_b = GENERATE(false, true);
  const Data data(p);
  CHECK(algorithm_of(p, data) == kName);
  const Sums expected = twin(p, data.a.data(), data.b.data());
  const auto wrong_with = [&](const Epilogue& epilogue, const std::vector<double>& wanted) {
    Data results(p);
    run(p, epilogue, results, results.out.data());
    CHECK(results.out.guards_intact());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wrong += !(std::abs(results.out[i] - wanted[i]) <= (0x1p-16 + 2e-6) * expected.magnitudes[i]);
    }
    return wrong;
  };
  CHECK(wrong_with({}, expected.values) == 0);
  CHECK(wrong_with(test::whole_epilogue(data), test::after_epilogue(p, data, expected)) == 0);
  // Errors of roundings mostly cancel out.
  Data results(p);
  run(p, {}, results, results.out.data());
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    error += std::pow(results.out[i] - expected.values[i], 2);
    norm += std::pow(expected.values[i], 2);
  }
  CHECK(std::sqrt(error / norm) < 2e-5);
}

TEST_CASE("A column on the other side of large weights is a row") {
  GemmParams p = product(1200, 1, 1000);
  p.constant = GemmConstant::a;
  const Data data(p);
  CHECK(algorithm_of(p, data) == kName);
  const Sums expected = twin(p, data.a.data(), data.b.data());
  Data results(p);
  run(p, {}, results, results.out.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < p.m; ++i)
    wrong += !(std::abs(results.out[i] - expected.values[i]) <= (0x1p-16 + 2e-6) * expected.magnitudes[i]);
  CHECK(wrong == 0);
}

TEST_CASE("A row meets narrow weights with the same bits on any number of threads") {
  GemmParams p = product(1, 1187, 1023);
  p.transpose_b = GENERATE(false, true);
  const Data data(p);
  std::vector<float> one(p.n);
  ThreadPool(1).run([&] { run(p, {}, data, one.data(), kName); });
  for (const int threads : {2, 5}) {
    std::vector<float> many(p.n);
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
  CHECK_FALSE(takes(product(1, 1024, 1024)));
  CHECK_FALSE(takes(product(2, 1024, 1280)));
  const Data data(p);
  CHECK(create_gemm(p, data.b.data(), {}, "gemv")->algorithm() == "gemv");
}

}  // namespace
}  // namespace ir::kernels
