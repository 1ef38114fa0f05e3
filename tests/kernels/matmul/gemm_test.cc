#include "kernels/matmul/gemm.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/matmul/gemm_twin.h"

namespace ir::kernels {
namespace {

using test::Data;
using test::GuardedBuffer;
using test::products;
using test::reach;
using test::run;
using test::Sums;
using test::twin;

std::vector<GemmParams> shapes() {
  std::vector<GemmParams> list;
  const auto add = [&](std::size_t m, std::size_t n, std::size_t k) {
    GemmParams p;
    p.m = m;
    p.n = n;
    p.k = k;
    list.push_back(p);
  };
  // Around rows of a tile, lanes and panels, blocks.
  for (const std::size_t m : {1, 2, 5, 8, 9, 17}) {
    for (const std::size_t n : {1, 3, 4, 15, 16, 17, 33, 49, 100}) add(m, n, 7);
  }
  for (const std::size_t k : {0, 1, 2, 3, 4, 31, 319, 320, 321, 700}) {
    add(1, 20, k);
    add(9, 20, k);
    add(11, 1, k);
  }
  add(150, 300, 20);
  add(70, 260, 330);
  add(1, 600, 40);
  add(600, 1, 40);
  add(0, 4, 4);
  add(4, 0, 4);
  const std::size_t m = 5, n = 19, k = 6;
  const auto batched = [&](std::vector<GemmBatchAxis> batch, std::size_t rows) {
    add(rows, n, k);
    list.back().batch = std::move(batch);
  };
  batched({{3, m * k, n * k}}, m);
  batched({{3, m * k, 0}}, m);                 // one B: folds into more rows
  batched({{3, 0, n * k}}, m);                 // one A
  batched({{2, m * k, 0}, {3, 0, n * k}}, m);  // [2, 1] x [1, 3]
  batched({{2, 0, 0}, {3, m * k, 0}}, m);
  batched({{2, 3 * m * k, n * k}, {1, 0, 0}, {3, m * k, 0}}, m);
  batched({{4, k, n * k}}, 1);
  batched({{4, k, 0}}, 1);
  batched({{0, m * k, n * k}}, m);
  return list;
}

constexpr double kRelative = 2e-6;  // of the sum of magnitudes

TEST_CASE("gemm agrees with its definition for every operand form") {
  IR_FOR_EACH_TARGET();
  for (GemmParams p : shapes()) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        p.transpose_a = transpose_a;
        p.transpose_b = transpose_b;
        Data data(p);
        const Sums expected = twin(p, data.a.data(), data.b.data());
        for (const GemmConstant constant : {GemmConstant::none, GemmConstant::a, GemmConstant::b}) {
          p.constant = constant;
          p.constant_stays = p.k % 2 == 1;
          INFO("m " << p.m << " n " << p.n << " k " << p.k << " batch axes " << p.batch.size()
                    << " transpose " << transpose_a << transpose_b << " constant "
                    << static_cast<int>(constant));
          run(p, {}, data, data.out.data());
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < data.out.size(); ++i) {
            wrong += !(std::abs(data.out[i] - expected.values[i]) <= kRelative * expected.magnitudes[i]);
          }
          CHECK(wrong == 0);
          CHECK(data.out.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("gemm reads a constant matrix where it stays when a vector meets it once, row by row") {
  GemmParams p;
  p.m = 1;
  p.n = 5;
  p.k = 7;
  p.transpose_b = true;
  p.constant = GemmConstant::b;
  const Data data(p);
  const auto reads = [&] {
    return create_gemm(p, p.constant == GemmConstant::a ? data.a.data() : data.b.data(), {})
        ->reads_constant();
  };
  CHECK_FALSE(reads());
  p.constant_stays = true;
  CHECK(reads());
  p.transpose_b = false;
  CHECK_FALSE(reads());
  p.m = 5;
  p.n = 1;
  p.constant = GemmConstant::a;
  CHECK(reads());
  p.n = 2;
  CHECK_FALSE(reads());
}

TEST_CASE("gemm adds bias and residual, clamps, then calls the hook, each element once") {
  IR_FOR_EACH_TARGET();
  for (GemmParams p : shapes()) {
    Data data(p);
    const Sums expected = twin(p, data.a.data(), data.b.data());
    for (const BiasAxis axis : {BiasAxis::row, BiasAxis::column}) {
      for (const GemmConstant constant : {GemmConstant::none, GemmConstant::b}) {
        p.bias_axis = axis;
        p.constant = constant;
        INFO("m " << p.m << " n " << p.n << " k " << p.k << " batch axes " << p.batch.size() << " bias axis "
                  << static_cast<int>(axis));
        const std::vector<double> wanted = test::after_epilogue(p, data, expected);
        run(p, test::whole_epilogue(data), data, data.out.data());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < data.out.size(); ++i)
          wrong += !(std::abs(data.out[i] - wanted[i]) <= kRelative * (expected.magnitudes[i] + 12));
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("gemm gives the same bits on one and two threads") {
  IR_FOR_EACH_TARGET();
  for (GemmParams p : shapes()) {
    Data data(p);
    std::array<std::vector<float>, 2> results;
    for (const int threads : {1, 2}) {
      p.max_threads = static_cast<std::size_t>(threads);
      auto& result = results[static_cast<std::size_t>(threads - 1)];
      result.resize(data.out.size());
      ThreadPool(threads).run([&] { run(p, {}, data, result.data()); });
    }
    CHECK(results[0] == results[1]);
  }
}

TEMPLATE_TEST_CASE("gemm_generic is exact on small integers of every type", "", float, double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  for (GemmParams p : shapes()) {
    for (const bool transpose : {false, true}) {
      p.transpose_a = transpose;
      p.transpose_b = transpose;
      GuardedBuffer<TestType> a(reach(p, &GemmBatchAxis::a_stride, p.m * p.k), 1);
      GuardedBuffer<TestType> b(reach(p, &GemmBatchAxis::b_stride, p.n * p.k), 1);
      GuardedBuffer<TestType> out(products(p) * p.m * p.n, 1);
      const double low = std::is_signed_v<TestType> ? -5 : 0;
      test::fill_random(a, low, 6, 1);
      test::fill_random(b, low, 6, 2);
      if constexpr (std::is_floating_point_v<TestType>) {
        for (auto& value : a) value = std::round(value);
        for (auto& value : b) value = std::round(value);
      }
      const Sums expected = twin(p, a.data(), b.data());
      gemm_generic(p, a.data(), b.data(), out.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        wrong += out[i] != static_cast<TestType>(static_cast<std::int64_t>(expected.values[i]));
      }
      CHECK(wrong == 0);
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("splits are as even as can be, for any size") {
  for (const std::size_t total : {std::size_t{1}, std::size_t{64}, (std::size_t{1} << 33) + 5}) {
    for (const std::size_t most : {total / 7 + 1, total / 3 + 1, total}) {
      const Split split(total, most);
      std::size_t end = 0;
      for (std::size_t part = 0; part < split.parts; ++part) {
        CHECK(split.begin(part) == end);
        CHECK((split.size(part) == total / split.parts || split.size(part) == divide_up(total, split.parts)));
        end += split.size(part);
      }
      CHECK(end == total);
    }
  }
}

TEST_CASE("gemm_generic of 32-bit integers is exact modulo 2^32 on every target") {
  IR_FOR_EACH_TARGET();
  for (GemmParams p : shapes()) {
    for (const bool transpose_a : {false, true}) {
      p.transpose_a = transpose_a;
      GuardedBuffer<std::uint32_t> a(reach(p, &GemmBatchAxis::a_stride, p.m * p.k), 1);
      GuardedBuffer<std::uint32_t> b(reach(p, &GemmBatchAxis::b_stride, p.n * p.k), 1);
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint32_t>(i * 2654435761U);
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint32_t>(~i * 2246822519U);
      const std::vector<std::uint64_t> wide_a(a.begin(), a.end());
      const std::vector<std::uint64_t> wide_b(b.begin(), b.end());
      GuardedBuffer<std::uint32_t> out(products(p) * p.m * p.n, 1);
      std::vector<std::uint64_t> expected(out.size());
      gemm_generic(p, a.data(), b.data(), out.data());
      gemm_generic(p, wide_a.data(), wide_b.data(), expected.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] != static_cast<std::uint32_t>(expected[i]);
      CHECK(wrong == 0);
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("gemm_generic wraps integers at the width of their type") {
  const std::array<std::int32_t, 1> factor{0x7FFFFFFF};
  std::array<std::int32_t, 1> out{};
  GemmParams p;
  p.m = p.n = p.k = 1;
  gemm_generic(p, factor.data(), factor.data(), out.data());
  CHECK(out[0] == 1);
  const std::array<std::int64_t, 1> large{std::numeric_limits<std::int64_t>::max()};
  std::array<std::int64_t, 1> large_out{};
  gemm_generic(p, large.data(), large.data(), large_out.data());
  CHECK(large_out[0] == 1);
}

TEST_CASE("Multiply-adds cost twice where vectors take two turns, latency and loads of rows do not",
          "[kernels]") {
  GemmKernels once = gemm_kernels();
  once.turns = 1;
  GemmKernels twice = once;
  twice.turns = 2;
  CHECK(once.tile_cost(8, 3) == 12);
  CHECK(twice.tile_cost(8, 3) == 24);
  CHECK(once.tile_cost(1, 1) == 4);
  CHECK(twice.tile_cost(1, 1) == 4);
  CHECK(once.tile_cost(12, 1) == 6);
  CHECK(twice.tile_cost(12, 1) == 12);
}

}  // namespace
}  // namespace ir::kernels
