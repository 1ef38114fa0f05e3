#include "kernels/sequence/ctc.h"

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

/// Scores [steps, classes] in which the classes of a path win.
std::vector<float> scores_of(const std::vector<std::size_t>& path, std::size_t classes) {
  std::vector<float> scores(path.size() * classes, 0.25F);
  for (std::size_t i = 0; i < path.size(); ++i) scores[i * classes + path[i]] = 0.5F;
  return scores;
}

}  // namespace

TEST_CASE("ctc_greedy_decode drops blanks and merges repeats") {
  // A B B * B * B with blank 2: the specification's example.
  const std::vector<std::size_t> path{0, 1, 1, 2, 1, 2, 1};
  const std::vector<float> scores = scores_of(path, 3);
  std::vector<float> mask(7, 1);
  GuardedBuffer<float> out(7, 1);
  const auto run = [&](bool merge) {
    ctc_greedy_decode({.batch = 1, .time = 7, .classes = 3, .merge_repeated = merge}, scores.data(),
                      mask.data(), out.data());
    REQUIRE(out.guards_intact());
    return std::vector<float>(out.begin(), out.end());
  };
  CHECK(run(true) == std::vector<float>{0, 1, 1, 1, -1, -1, -1});
  CHECK(run(false) == std::vector<float>{0, 1, 1, 1, 1, -1, -1});
  mask[3] = 0;  // what follows the first zero is not read, whatever the mask says there
  CHECK(run(true) == std::vector<float>{0, 1, -1, -1, -1, -1, -1});
  mask[0] = 0;
  CHECK(run(true) == std::vector<float>(7, -1));
}

TEST_CASE("ctc_greedy_decode reads time-major scores and masks of a batch") {
  const std::size_t time = 3;
  const std::size_t batch = 2;
  const std::vector<float> first = scores_of({0, 1, 0}, 3);
  const std::vector<float> second = scores_of({1, 1, 0}, 3);
  std::vector<float> scores(time * batch * 3);
  for (std::size_t t = 0; t < time; ++t) {
    std::copy_n(first.data() + 3 * t, 3, scores.data() + (t * batch) * 3);
    std::copy_n(second.data() + 3 * t, 3, scores.data() + (t * batch + 1) * 3);
  }
  const std::vector<float> mask{1, 1, 1, 1, 0, 1};
  std::vector<float> out(6);
  ctc_greedy_decode({.batch = batch, .time = time, .classes = 3}, scores.data(), mask.data(), out.data());
  CHECK(out == std::vector<float>{0, 1, -1, 1, 0, -1});
}

TEST_CASE("ctc_greedy_decode takes the first of the highest scores") {
  IR_FOR_EACH_TARGET();
  const std::size_t classes = GENERATE(1U, 2U, 7U, 16U, 33U, 100U);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> choices{-1, 0, 0.5F, 0.5F, 1, kNan};
  GuardedBuffer<float> scores(classes, 3);
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    for (float& score : scores) score = choices[random() % choices.size()];
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    const float mask = 1;
    float out = -2;
    ctc_greedy_decode({.classes = classes}, scores.data(), &mask, &out);
    CHECK(out == (static_cast<std::size_t>(best) + 1 == classes ? -1.0F : static_cast<float>(best)));
  }
}

TEMPLATE_TEST_CASE("ctc_greedy_decode_with_lengths stops at lengths and counts", "", std::int32_t,
                   std::int64_t) {
  const std::vector<std::size_t> path{0, 1, 1, 2, 1, 0, 0, 0, 3, 0};
  const std::vector<float> scores = scores_of(path, 4);  // two sequences of five steps
  std::vector<TestType> lengths{5, 4};
  GuardedBuffer<TestType> out(10, 1);
  GuardedBuffer<std::int64_t> counts(2);
  const auto run = [&](std::int64_t blank, bool merge) {
    ctc_greedy_decode_with_lengths({.batch = 2, .time = 5, .classes = 4, .merge_repeated = merge},
                                   scores.data(), lengths.data(), blank, out.data(), counts.data());
    REQUIRE(out.guards_intact());
    REQUIRE(counts.guards_intact());
    return std::vector<TestType>(out.begin(), out.end());
  };
  using Classes = std::vector<TestType>;
  CHECK(run(3, true) == Classes{0, 1, 2, 1, -1, 0, -1, -1, -1, -1});
  CHECK(counts[0] == 4);
  CHECK(counts[1] == 1);
  CHECK(run(3, false) == Classes{0, 1, 1, 2, 1, 0, 0, 0, -1, -1});
  CHECK(run(1, true) == Classes{0, 2, -1, -1, -1, 0, 3, -1, -1, -1});
  CHECK(run(-1, true) == Classes{0, 1, 2, 1, -1, 0, 3, -1, -1, -1});

  lengths = {99, -3};
  CHECK(run(3, true) == Classes{0, 1, 2, 1, -1, -1, -1, -1, -1, -1});
  CHECK(counts[1] == 0);
  ctc_greedy_decode_with_lengths<TestType, TestType, std::int32_t>(
      {.batch = 2, .time = 5, .classes = 4}, scores.data(), lengths.data(), 3, out.data(), nullptr);
}

TEST_CASE("ctc decoding takes the lower of equal classes") {
  const std::vector<float> scores{0.5F, 0.5F, 0.5F};
  const std::int32_t length = 1;
  std::int32_t out = 7;
  std::int32_t count = 7;
  ctc_greedy_decode_with_lengths({.classes = 3}, scores.data(), &length, 2, &out, &count);
  CHECK(out == 0);
}

TEST_CASE("ctc decoding has the same results for any number of threads") {
  std::vector<float> scores(64 * 50 * 40);
  test::fill_random(scores, 0, 1, 3);
  const std::vector<std::int32_t> lengths(64, 50);
  const auto run = [&] {
    std::vector<std::int32_t> out(64 * 50);
    ctc_greedy_decode_with_lengths<std::int32_t, std::int32_t, std::int32_t>(
        {.batch = 64, .time = 50, .classes = 40}, scores.data(), lengths.data(), 39, out.data(), nullptr);
    return out;
  };
  std::vector<std::int32_t> one;
  std::vector<std::int32_t> two;
  ThreadPool(1).run([&] { one = run(); });
  ThreadPool(2).run([&] { two = run(); });
  CHECK(one == two);
}

}  // namespace ir::kernels
