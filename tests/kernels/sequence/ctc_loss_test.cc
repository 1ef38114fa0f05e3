#include "kernels/sequence/ctc_loss.h"

#include <functional>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class T>
std::vector<T> losses(const CtcLossParams& params, const std::vector<T>& logits,
                      const std::vector<std::int32_t>& steps, const std::vector<std::int64_t>& labels,
                      const std::vector<std::int32_t>& lengths, std::size_t blank) {
  GuardedBuffer<T> out(params.batch, 1);
  GuardedBuffer<std::uint64_t> scratch(ctc_loss_scratch_bytes<T>(params) / 8);
  REQUIRE_FALSE(ctc_loss(params, logits.data(), steps.data(), labels.data(), lengths.data(), blank,
                         out.data(), reinterpret_cast<std::byte*>(scratch.data())));
  REQUIRE(out.guards_intact());
  REQUIRE(scratch.guards_intact());
  return {out.begin(), out.end()};
}

// All paths, one by one.
double twin(const CtcLossParams& params, const double* logits, std::size_t steps,
            std::vector<std::int64_t> labels, std::int64_t blank) {
  std::vector<std::int64_t> wanted;
  for (const std::int64_t label : labels) {
    const bool seen = std::find(wanted.begin(), wanted.end(), label) != wanted.end();
    if (params.unique_labels ? seen : params.collapse_labels && !wanted.empty() && wanted.back() == label)
      continue;
    wanted.push_back(label);
  }
  double total = 0;
  std::vector<std::int64_t> path;
  const std::function<void(double)> extend = [&](double probability) {
    if (path.size() == steps) {
      std::vector<std::int64_t> decoded;
      for (std::size_t i = 0; i < steps; ++i) {
        if (params.merge_repeated && i > 0 && path[i] == path[i - 1]) continue;
        if (path[i] != blank) decoded.push_back(path[i]);
      }
      if (decoded == wanted) total += probability;
      return;
    }
    const double* row = logits + path.size() * params.classes;
    double sum = 0;
    for (std::size_t c = 0; c < params.classes; ++c) sum += std::exp(row[c]);
    for (std::size_t c = 0; c < params.classes; ++c) {
      path.push_back(static_cast<std::int64_t>(c));
      extend(probability * std::exp(row[c]) / sum);
      path.pop_back();
    }
  };
  extend(1);
  return -std::log(total);
}

}  // namespace

TEMPLATE_TEST_CASE("ctc_loss agrees with the sum over all paths", "", float, double) {
  CtcLossParams params{3, 5, 3};
  params.collapse_labels = GENERATE(false, true);
  params.unique_labels = GENERATE(false, true);
  params.merge_repeated = GENERATE(false, true);
  const std::size_t blank = GENERATE(0, 2);
  const auto other = static_cast<std::int64_t>(blank == 0 ? 2 : 0);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<double> logits(params.batch * params.time * params.classes);
    test::fill_random(logits, -3, 3, seed);
    std::mt19937 random(seed);
    std::vector<std::int32_t> steps;
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> labels(params.batch * params.time, -99);
    for (std::size_t i = 0; i < params.batch; ++i) {
      steps.push_back(static_cast<std::int32_t>(random() % (params.time + 1)));
      lengths.push_back(static_cast<std::int32_t>(random() % (static_cast<unsigned>(steps.back()) + 1)));
      for (std::int32_t at = 0; at < lengths.back(); ++at)
        labels[i * params.time + static_cast<std::size_t>(at)] = random() % 2 == 0 ? 1 : other;
    }
    const std::vector<TestType> rounded(logits.begin(), logits.end());
    const std::vector<double> seen(rounded.begin(), rounded.end());
    const auto got = losses(params, rounded, steps, labels, lengths, blank);
    for (std::size_t i = 0; i < params.batch; ++i) {
      const auto first = labels.begin() + static_cast<long>(i * params.time);
      const double expected =
          twin(params, seen.data() + i * params.time * params.classes, static_cast<std::size_t>(steps[i]),
               {first, first + lengths[i]}, static_cast<std::int64_t>(blank));
      INFO("sequence " << i << " of " << seed);
      REQUIRE(test::close(static_cast<double>(got[i]), expected, 1e-5, 1e-5));
    }
  }
}

TEST_CASE("ctc_loss stays finite where probabilities underflow") {
  const CtcLossParams params{1, 400, 2};
  std::vector<float> logits(800);
  for (std::size_t i = 0; i < 400; ++i) logits[2 * i] = 100;
  const auto got = losses(params, logits, {400}, std::vector<std::int64_t>(400, 0), {200}, 1);
  CHECK(std::isfinite(got[0]));
  CHECK(got[0] > 1e4F);
}

TEST_CASE("ctc_loss is infinite when no path fits") {
  // Two equal labels need a blank in between.
  CHECK(losses<float>({1, 2, 2}, {0, 0, 0, 0}, {2}, {0, 0}, {2}, 1)[0] ==
        std::numeric_limits<float>::infinity());
}

TEST_CASE("ctc_loss reports lengths and labels that make no sense") {
  const CtcLossParams params{2, 3, 4};
  const std::vector<float> logits(24);
  float out[2] = {7, 7};
  std::vector<std::uint64_t> scratch(ctc_loss_scratch_bytes<float>(params) / 8);
  const auto fault = [&](std::vector<std::int32_t> steps, std::vector<std::int32_t> labels,
                         std::vector<std::int32_t> lengths) {
    return ctc_loss(params, logits.data(), steps.data(), labels.data(), lengths.data(), 3, out,
                    reinterpret_cast<std::byte*>(scratch.data()))
        .value();
  };
  using What = CtcLossFault::What;
  CHECK(fault({3, 4}, {0, 0, 0, 0, 0, 0}, {1, 1}).what == What::logit_length);
  CHECK(fault({3, -1}, {0, 0, 0, 0, 0, 0}, {1, 1}).position == 1);
  CHECK(fault({2, 3}, {0, 0, 0, 0, 0, 0}, {3, 1}).what == What::label_length);
  CHECK(fault({2, 3}, {0, 0, 0, 0, 0, 0}, {-3, 1}).value == -3);
  CHECK(fault({3, 3}, {0, 0, 9, 0, 4, 0}, {2, 2}).what == What::label);
  CHECK(fault({3, 3}, {0, 0, 9, 0, 4, 0}, {2, 2}).position == 4);
  CHECK(out[0] == 7);
}

TEST_CASE("ctc_loss has the same results for any number of threads") {
  const CtcLossParams params{40, 30, 20};
  std::vector<float> logits(40 * 30 * 20);
  test::fill_random(logits, -2, 2, 1);
  std::vector<std::int64_t> labels(40 * 30);
  test::fill_random(labels, 0, 19, 2);
  std::vector<float> results[2];
  for (const int threads : {1, 2}) {
    ThreadPool(threads).run([&] {
      results[threads - 1] = losses(params, logits, std::vector<std::int32_t>(40, 30), labels,
                                    std::vector<std::int32_t>(40, 12), 19);
    });
  }
  CHECK(results[0] == results[1]);
}

}  // namespace ir::kernels
