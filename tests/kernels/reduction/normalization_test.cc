#include "kernels/reduction/normalization.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/threads/parallel.h"
#include "tests/kernels/base/broadcast_reference.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::AxesPlan;
using ir::kernels::MvnEps;
using ir::kernels::MvnParams;
using ir::kernels::NormEps;
using ir::test::GuardedBuffer;
using ir::test::Shape;

struct Case {
  Shape dims;
  Shape axes;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {{7}, {0}},
      {{5, 67}, {1}},
      {{5, 67}, {0}},
      {{2, 3, 4, 5}, {2, 3}},
      {{2, 3, 4, 5}, {1}},
      {{2, 9, 70}, {1}},
      {{2, 9, 133}, {1}},
      {{2, 3, 4, 5}, {1, 2, 3}},
      {{2, 3, 4, 5}, {0}},
      {{2, 3, 4, 5}, {0, 2, 3}},
      {{2, 3, 4, 5}, {1, 3}},
      {{2, 3, 2, 3, 2, 3}, {1, 3, 5}},
      {{2, 3, 4, 5}, {}},
      {{3, 1000}, {1}},
      {{2, 66001}, {1}},
      {{1, 300, 301}, {1, 2}},
      {{2, 0, 3}, {1}},
      {{1, 1}, {0}},
  };
  return kCases;
}

bool contains(const Shape& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Shape coordinates(const Shape& dims, std::size_t index) {
  Shape result(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; index /= dims[i]) result[i] = index % dims[i];
  return result;
}

/// Indices of elements that are normalised together.
std::vector<std::vector<std::size_t>> groups(const Case& c) {
  std::map<Shape, std::vector<std::size_t>> found;
  for (std::size_t index = 0; index < ir::test::count_of(c.dims); ++index) {
    Shape key = coordinates(c.dims, index);
    for (const std::size_t axis : c.axes) key[axis] = 0;
    found[key].push_back(index);
  }
  std::vector<std::vector<std::size_t>> result;
  result.reserve(found.size());
  for (auto& [key, indices] : found) result.push_back(indices);
  return result;
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double squares = 0;
};
template <class Values>
Moments moments(const Values& values, const std::vector<std::size_t>& indices) {
  Moments m;
  const auto count = static_cast<double>(indices.size());
  for (const std::size_t i : indices) m.mean += static_cast<double>(values[i]) / count;
  for (const std::size_t i : indices) {
    const auto x = static_cast<double>(values[i]);
    m.variance += (x - m.mean) * (x - m.mean) / count;
    m.squares += x * x;
  }
  return m;
}

std::vector<std::size_t> range(std::size_t begin, std::size_t count) {
  std::vector<std::size_t> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = begin + i;
  return result;
}

template <class A, class B>
bool all_close(const A& found, const B& expected, double relative, double absolute) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!ir::test::close(static_cast<double>(found[i]), static_cast<double>(expected[i]), relative, absolute))
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("MVN over any axes, in its modes") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    const AxesPlan plan(c.dims, c.axes);
    GuardedBuffer<float> in(ir::test::count_of(c.dims), 1);
    GuardedBuffer<float> out(in.size(), 3);
    ir::test::fill_random(in, 5, 8, 1);  // a mean far from 0: the variance must not be E[x^2] - E[x]^2
    for (const MvnParams& params :
         {MvnParams{1e-3, MvnEps::inside_sqrt, true}, MvnParams{0.1, MvnEps::outside_sqrt, true},
          MvnParams{0, MvnEps::inside_sqrt, false}}) {
      std::vector<double> expected(in.size());
      for (const auto& group : groups(c)) {
        const Moments m = moments(in, group);
        double divisor = params.eps_mode == MvnEps::inside_sqrt ? std::sqrt(m.variance + params.eps)
                                                                : std::sqrt(m.variance) + params.eps;
        if (!params.normalize_variance) divisor = 1;
        for (const std::size_t i : group) expected[i] = (static_cast<double>(in[i]) - m.mean) / divisor;
      }
      ir::kernels::mvn(plan, params, in.data(), out.data());
      CHECK(all_close(out, expected, 1e-5, 4e-5));
      CHECK(out.guards_intact());
      std::vector<float> in_place(in.begin(), in.end());
      ir::kernels::mvn(plan, params, in_place.data(), in_place.data());
      CHECK(std::equal(out.begin(), out.end(), in_place.begin()));
    }
  }
}

TEST_CASE("MVN by hand") {
  const Shape dims{2, 4};
  const Shape axes{1};
  const std::vector<float> in{1, 3, 1, 3, 10, 10, 10, 10};
  std::vector<float> out(8);
  ir::kernels::mvn(AxesPlan(dims, axes), {1.0, MvnEps::outside_sqrt, true}, in.data(), out.data());
  CHECK(out == std::vector<float>{-0.5F, 0.5F, -0.5F, 0.5F, 0, 0, 0, 0});
}

TEST_CASE("NormalizeL2 over any axes, in its modes") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    const AxesPlan plan(c.dims, c.axes);
    GuardedBuffer<float> in(ir::test::count_of(c.dims), 1);
    GuardedBuffer<float> out(in.size(), 3);
    ir::test::fill_random(in, -2, 2, 1);
    for (const NormEps mode : {NormEps::add, NormEps::max}) {
      constexpr double kEps = 0.5;
      std::vector<double> expected(in.size());
      for (const auto& group : groups(c)) {
        const double squares = moments(in, group).squares;
        const double norm = std::sqrt(mode == NormEps::add ? squares + kEps : std::fmax(squares, kEps));
        for (const std::size_t i : group) expected[i] = static_cast<double>(in[i]) / norm;
      }
      ir::kernels::normalize_l2(plan, kEps, mode, in.data(), out.data());
      CHECK(all_close(out, expected, 2e-6, 0));
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("layer normalisation of rows, centered or not, with and without scale and shift") {
  IR_FOR_EACH_TARGET();
  constexpr std::size_t kRows = 3;
  constexpr double kEps = 1e-5;
  for (const std::size_t length : ir::test::sizes_around_lanes(70)) {
    if (length == 0) continue;
    GuardedBuffer<float> in(kRows * length, 1);
    GuardedBuffer<float> out(kRows * length, 2);
    GuardedBuffer<float> scale(length, 3);
    GuardedBuffer<float> shift(length, 1);
    ir::test::fill_random(in, -1, 3, 1);
    ir::test::fill_random(scale, 0.5, 2, 2);
    ir::test::fill_random(shift, -1, 1, 3);
    for (const unsigned bits : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
      const bool centered = (bits & 1U) != 0;
      const bool with_scale = (bits & 2U) != 0;
      const bool with_shift = (bits & 4U) != 0;
      std::vector<double> layer(in.size());
      for (std::size_t r = 0; r < kRows; ++r) {
        const Moments m = moments(in, range(r * length, length));
        const double mean = centered ? m.mean : 0;
        const double variance = centered ? m.variance : m.squares / static_cast<double>(length);
        for (std::size_t i = 0; i < length; ++i) {
          const auto x = static_cast<double>(in[r * length + i]);
          const double factor = with_scale ? static_cast<double>(scale[i]) : 1;
          const double term = with_shift ? static_cast<double>(shift[i]) : 0;
          layer[r * length + i] = (x - mean) / std::sqrt(variance + kEps) * factor + term;
        }
      }
      ir::kernels::layer_norm({kRows, length, kEps, centered}, with_scale ? scale.data() : nullptr,
                              with_shift ? shift.data() : nullptr, in.data(), out.data());
      CHECK(all_close(out, layer, 1e-5, 1e-5));
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("batch normalisation folds to a scale and a shift per channel") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t inner : {std::size_t{1}, std::size_t{5}, std::size_t{67}}) {
    constexpr std::size_t kBatch = 2;
    constexpr std::size_t kChannels = 19;
    constexpr double kEps = 1e-3;
    std::vector<float> gamma(kChannels), beta(kChannels), mean(kChannels), variance(kChannels);
    ir::test::fill_random(gamma, 0.5, 2, 1);
    ir::test::fill_random(beta, -1, 1, 2);
    ir::test::fill_random(mean, -1, 1, 3);
    ir::test::fill_random(variance, 0, 2, 4);
    std::vector<float> scale(kChannels), shift(kChannels);
    ir::kernels::fold_batch_norm({gamma.data(), beta.data(), mean.data(), variance.data(), kEps}, kChannels,
                                 scale.data(), shift.data());
    GuardedBuffer<float> in(kBatch * kChannels * inner, 1);
    GuardedBuffer<float> out(in.size(), 3);
    ir::test::fill_random(in, -2, 2, 5);
    std::vector<double> expected(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t c = i / inner % kChannels;
      const auto value = [c](const std::vector<float>& v) { return static_cast<double>(v[c]); };
      expected[i] =
          (static_cast<double>(in[i]) - value(mean)) / std::sqrt(value(variance) + kEps) * value(gamma) +
          value(beta);
    }
    ir::kernels::scale_shift({kBatch, kChannels, inner}, scale.data(), shift.data(), in.data(), out.data());
    CHECK(all_close(out, expected, 1e-6, 1e-5));
    CHECK(out.guards_intact());
    ir::kernels::scale_shift({kBatch, kChannels, inner}, scale.data(), shift.data(), in.data(), in.data());
    CHECK(std::equal(in.begin(), in.end(), out.begin()));
  }
}

TEST_CASE("group normalisation") {
  IR_FOR_EACH_TARGET();
  // The largest in one group, or two, are shared by all threads.
  for (const std::size_t inner : {1, 6, 49, 6001}) {
    for (const std::size_t groups : {std::size_t{1}, std::size_t{3}, std::size_t{12}}) {
      constexpr std::size_t kBatch = 2;
      constexpr std::size_t kChannels = 12;
      constexpr double kEps = 1e-4;
      GuardedBuffer<float> in(kBatch * kChannels * inner, 1);
      GuardedBuffer<float> out(in.size(), 3);
      std::vector<float> scale(kChannels), shift(kChannels);
      ir::test::fill_random(in, -2, 4, 1);
      ir::test::fill_random(scale, 0.5, 2, 2);
      ir::test::fill_random(shift, -1, 1, 3);
      std::vector<double> expected(in.size());
      const std::size_t row = kChannels / groups * inner;
      for (std::size_t g = 0; g < kBatch * groups; ++g) {
        const auto indices = range(g * row, row);
        const Moments m = moments(in, indices);
        for (const std::size_t i : indices) {
          const std::size_t c = i / inner % kChannels;
          expected[i] = (static_cast<double>(in[i]) - m.mean) / std::sqrt(m.variance + kEps) *
                            static_cast<double>(scale[c]) +
                        static_cast<double>(shift[c]);
        }
      }
      ir::kernels::group_norm({kBatch, kChannels, inner}, {groups, kEps}, scale.data(), shift.data(),
                              in.data(), out.data());
      CHECK(all_close(out, expected, 1e-5, 2e-4));
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("LRN over any axes") {
  IR_FOR_EACH_TARGET();
  const ir::kernels::LrnParams params{
      0.7, 0.75, 1.5, GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{5})};
  const auto reach = static_cast<std::ptrdiff_t>((params.size - 1) / 2);
  for (const Case& c :
       {Case{{2, 7, 4, 5}, {1}}, Case{{2, 3, 6, 7}, {2, 3}}, Case{{2, 7, 70}, {1}}, Case{{2, 7, 4, 5}, {3}},
        Case{{2, 3, 4, 5}, {1, 2, 3}}, Case{{2, 19}, {}}, Case{{2, 0, 3}, {1}}}) {
    GuardedBuffer<float> in(ir::test::count_of(c.dims), 1);
    GuardedBuffer<float> out(in.size(), 3);
    GuardedBuffer<float> scratch(ir::kernels::lrn_scratch_count(c.dims, c.axes), 2);
    ir::test::fill_random(in, -2, 2, 1);
    std::vector<double> expected(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Shape at = coordinates(c.dims, i);
      double sum = 0;
      for (std::size_t j = 0; j < in.size(); ++j) {
        const Shape other = coordinates(c.dims, j);
        bool inside = true;
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
          const auto distance =
              static_cast<std::ptrdiff_t>(at[axis]) - static_cast<std::ptrdiff_t>(other[axis]);
          inside = inside && std::abs(distance) <= (contains(c.axes, axis) ? reach : 0);
        }
        if (inside) sum += static_cast<double>(in[j]) * static_cast<double>(in[j]);
      }
      const double area = std::pow(static_cast<double>(params.size), static_cast<double>(c.axes.size()));
      expected[i] =
          static_cast<double>(in[i]) / std::pow(params.bias + params.alpha / area * sum, params.beta);
    }
    ir::kernels::lrn(c.dims, c.axes, params, in.data(), out.data(), scratch.data());
    CHECK(all_close(out, expected, 2e-6, 0));
    CHECK(out.guards_intact());
    CHECK(scratch.guards_intact());
  }
}

TEST_CASE("normalisations do not depend on the number of threads") {
  for (const Case& c : {Case{{80, 1500}, {1}}, Case{{10, 300, 90}, {1}}, Case{{1, 300, 301}, {1, 2}}}) {
    const AxesPlan plan(c.dims, c.axes);
    std::vector<float> in(plan.input_count());
    ir::test::fill_random(in, -2, 2, 1);
    std::vector<float> one(in.size()), two(in.size());
    const MvnParams params{1e-5, MvnEps::inside_sqrt, true};
    ir::kernels::ThreadPool(1).run([&] { ir::kernels::mvn(plan, params, in.data(), one.data()); });
    ir::kernels::ThreadPool(2).run([&] { ir::kernels::mvn(plan, params, in.data(), two.data()); });
    CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
    const std::vector<float> factors(3, 1.5F);
    const auto group_norm = [&](int threads, std::vector<float>& out) {
      const std::size_t inner = in.size() / 3;
      ir::kernels::ThreadPool(threads).run([&] {
        ir::kernels::group_norm({1, 3, inner}, {1, 1e-5}, factors.data(), factors.data(), in.data(),
                                out.data());
      });
    };
    group_norm(1, one);
    group_norm(2, two);
    CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
    std::vector<float> scratch(in.size());
    const ir::kernels::LrnParams lrn_params{1e-4, 0.75, 1, 5};
    ir::kernels::ThreadPool(1).run(
        [&] { ir::kernels::lrn(c.dims, c.axes, lrn_params, in.data(), one.data(), scratch.data()); });
    ir::kernels::ThreadPool(2).run(
        [&] { ir::kernels::lrn(c.dims, c.axes, lrn_params, in.data(), two.data(), scratch.data()); });
    CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
  }
}
