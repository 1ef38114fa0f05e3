#include "kernels/reduction/topk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class T>
struct Result {
  std::vector<T> values;
  std::vector<std::int64_t> indices;
};

template <class T>
Result<T> run(const TopKParams& params, const std::vector<T>& in) {
  const std::size_t count = params.outer * params.k * params.inner;
  GuardedBuffer<T> values(count, 1);
  GuardedBuffer<std::int64_t> indices(count, 1);
  GuardedBuffer<std::uint64_t> scratch((top_k_scratch_bytes<T>(params) + 7) / 8);
  auto* bytes = reinterpret_cast<std::byte*>(scratch.data());
  top_k(params, in.data(), values.data(), indices.data(), bytes);
  REQUIRE(values.guards_intact());
  REQUIRE(indices.guards_intact());
  REQUIRE(scratch.guards_intact());

  std::vector<std::int32_t> narrow(count);
  top_k<T, std::int32_t>(params, in.data(), nullptr, narrow.data(), bytes);
  REQUIRE(std::equal(narrow.begin(), narrow.end(), indices.begin()));
  return {{values.begin(), values.end()}, {indices.begin(), indices.end()}};
}

template <class T>
Result<T> twin(const TopKParams& params, const std::vector<T>& in) {
  const std::size_t count = params.outer * params.k * params.inner;
  Result<T> result{std::vector<T>(count), std::vector<std::int64_t>(count)};
  for (std::size_t outer = 0; outer < params.outer; ++outer) {
    for (std::size_t inner = 0; inner < params.inner; ++inner) {
      const auto at = [&](std::size_t i) { return in[(outer * params.axis + i) * params.inner + inner]; };
      std::vector<std::size_t> order(params.axis);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return params.mode == TopKMode::max ? at(b) < at(a) : at(a) < at(b);
      });
      if (params.sort == TopKSort::index)
        std::sort(order.begin(), order.begin() + static_cast<long>(params.k));
      for (std::size_t i = 0; i < params.k; ++i) {
        const std::size_t to = (outer * params.k + i) * params.inner + inner;
        result.values[to] = at(order[i]);
        result.indices[to] = static_cast<std::int64_t>(order[i]);
      }
    }
  }
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("top_k agrees with a stable sort", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  TopKParams params;
  params.mode = GENERATE(TopKMode::max, TopKMode::min);
  params.sort = GENERATE(TopKSort::value, TopKSort::index);
  for (const std::size_t axis : {1, 2, 7, 40, 131}) {
    for (const std::size_t k :
         {std::size_t{1}, std::size_t{2}, axis / 3, std::size_t{32}, std::size_t{33}, axis}) {
      if (k > axis) continue;
      params.outer = 3;
      params.inner = axis % 2 == 0 ? 5 : 1;
      params.axis = axis;
      params.k = k;
      std::vector<TestType> in(params.outer * axis * params.inner);
      test::fill_random(in, std::is_signed_v<TestType> ? -20 : 0, 20, static_cast<std::uint32_t>(axis + k));
      for (auto& value : in) value = static_cast<TestType>(std::floor(static_cast<double>(value)));  // ties
      in.front() = std::numeric_limits<TestType>::lowest();
      in.back() = std::numeric_limits<TestType>::max();
      INFO("axis " << axis << " k " << k);
      const Result<TestType> got = run(params, in);
      const Result<TestType> expected = twin(params, in);
      REQUIRE(got.indices == expected.indices);
      REQUIRE(got.values == expected.values);
    }
  }
}

TEST_CASE("top_k by index takes the first of equal elements") {
  // The example of TopK-11 with `stable`.
  const TopKParams params{1, 6, 1, 4, TopKMode::min, TopKSort::index};
  const Result<float> got = run(params, std::vector<float>{5, 3, 1, 2, 5, 5});
  CHECK(got.values == std::vector<float>{5, 3, 1, 2});
  CHECK(got.indices == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("top_k without sorting selects the same set") {
  for (const std::size_t k : {1, 5, 40, 100}) {
    TopKParams params{2, 100, 3, k, TopKMode::max, TopKSort::none};
    std::vector<float> in(600);
    test::fill_random(in, -1, 1, 9);
    const Result<float> got = run(params, in);
    params.sort = TopKSort::value;
    const Result<float> expected = run(params, in);
    for (std::size_t column = 0; column < 6; ++column) {
      std::vector<std::int64_t> a;
      std::vector<std::int64_t> b;
      for (std::size_t i = 0; i < k; ++i) {
        const std::size_t at = (column / 3 * k + i) * 3 + column % 3;
        a.push_back(got.indices[at]);
        b.push_back(expected.indices[at]);
        REQUIRE(got.values[at] ==
                in[(column / 3 * 100 + static_cast<std::size_t>(a.back())) * 3 + column % 3]);
      }
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      REQUIRE(a == b);
    }
  }
}

TEST_CASE("top_k orders NaN above numbers and takes zeros as equal") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> in{0.0F, nan, -0.0F, inf, -nan, -inf, 0.0F};
  TopKParams params{1, 7, 1, 7, TopKMode::max, TopKSort::value};
  CHECK(run(params, in).indices == std::vector<std::int64_t>{1, 4, 3, 0, 2, 6, 5});
  params.mode = TopKMode::min;
  CHECK(run(params, in).indices == std::vector<std::int64_t>{5, 0, 2, 6, 3, 1, 4});
  CHECK(std::signbit(run(params, in).values[2]));
}

TEST_CASE("top_k of floats in rows and columns of any number is that of doubles") {
  IR_FOR_EACH_TARGET();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t inner : {1, 2, 15, 64, 100}) {
    for (const std::size_t axis : {1, 9, 33, 150, 1500}) {
      for (const std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{32},
                                  std::size_t{36}, std::size_t{128}, std::size_t{129}, axis}) {
        if (k > axis) continue;
        const TopKParams params{2,
                                axis,
                                inner,
                                k,
                                inner % 2 == 0 ? TopKMode::max : TopKMode::min,
                                axis % 2 == 0 ? TopKSort::index : TopKSort::value};
        std::vector<float> in(params.outer * axis * inner);
        test::fill_random(in, -9, 9, static_cast<std::uint32_t>(inner + k));
        for (std::size_t i = 0; i < in.size(); ++i) {
          const std::size_t kind = i * 2654435761U % 64;
          if (kind < 20) in[i] = std::round(in[i]);  // of these, many are equal
          if (kind == 30) in[i] = -0.0F;
          if (kind > 60) in[i] = kind == 61 ? kNaN : kind == 62 ? kInfinity : -kInfinity;
        }
        // Once more so that most elements rank before all that came before them.
        for (int pass = 0; pass < 2; ++pass) {
          INFO("inner " << inner << ", axis " << axis << ", k " << k << ", pass " << pass);
          CHECK(run(params, in).indices == run(params, std::vector<double>(in.begin(), in.end())).indices);
          std::sort(in.begin(), in.end(), [](float a, float b) { return a < b || (b != b && a == a); });
        }
      }
    }
  }
}

TEST_CASE("top_k of rows of floats finds the best of any order of elements") {
  IR_FOR_EACH_TARGET();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // What an element is, of a number from 0 to 1023 that is about random: where all or many elements are
  // equal, or NaN, more are candidates than are ranked at once.
  float (*const kinds[])(std::size_t) = {
      [](std::size_t random) { return static_cast<float>(random) - 512; },
      [](std::size_t random) { return static_cast<float>(random % 3) - 1; },
      [](std::size_t random) { return random < 1000 ? 0.0F : static_cast<float>(random) - 1012; },
      [](std::size_t random) { return random < 700 ? kNaN : static_cast<float>(random); },
      [](std::size_t random) { return random < 1010 ? kNaN : -kInfinity; },
      [](std::size_t random) { return random < 900    ? -kInfinity
                                      : random < 1000 ? kInfinity
                                                      : kNaN; },
      [](std::size_t random) { return random < 512 ? -0.0F : 0.0F; },
  };
  for (std::size_t axis :
       {2, 3, 15, 16, 17, 31, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 300, 1023, 9001}) {
    for (const std::size_t k : {2, 3, 8, 12, 16, 17, 31, 50, 99, 128}) {
      if (k > axis) continue;
      for (const auto& kind : kinds) {
        const TopKMode mode = (axis + k) % 2 == 0 ? TopKMode::max : TopKMode::min;
        const TopKSort sort = k % 2 == 0 ? TopKSort::value : TopKSort::index;
        std::vector<float> in(2 * axis);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = kind(i * 2654435761U / 64 % 1024);
        const std::vector<double> wide(in.begin(), in.end());
        INFO("axis " << axis << ", k " << k << ", kind " << &kind - kinds);
        const TopKParams params{2, axis, 1, k, mode, sort};
        CHECK(run(params, in).indices == run(params, wide).indices);
      }
    }
  }
}

TEST_CASE("top_k accepts empty tensors") {
  const Result<float> got = run(TopKParams{0, 5, 3, 2, TopKMode::max, TopKSort::value}, std::vector<float>{});
  CHECK(got.indices.empty());
}

TEST_CASE("top_k has the same results for any number of threads") {
  const std::size_t k = GENERATE(3, 100);
  const std::size_t inner = GENERATE(1, 3);
  const TopKSort sort = GENERATE(TopKSort::none, TopKSort::value);
  const TopKParams params{300, 200, inner, k, TopKMode::max, sort};
  std::vector<float> in(300 * 200 * inner);
  test::fill_random(in, -1, 1, 4);
  Result<float> one;
  Result<float> two;
  ThreadPool(1).run([&] { one = run(params, in); });
  ThreadPool(2).run([&] { two = run(params, in); });
  CHECK(one.indices == two.indices);
}

}  // namespace ir::kernels
