#include "kernels/creation/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/base/float16.h"
#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

template <class T>
std::vector<T> draw(const RandomSource& source, UniformType type, T low, T high, std::size_t count) {
  test::GuardedBuffer<T> out(count, 1);
  random_uniform(source, type, &low, &high, count, out.data());
  REQUIRE(out.guards_intact());
  return {out.begin(), out.end()};
}

constexpr RandomSource philox(std::uint64_t key, std::uint64_t counter, std::uint64_t position = 0) {
  return {RandomAlignment::tensorflow, key, counter, position};
}
constexpr RandomSource twister(std::uint64_t key) { return {RandomAlignment::pytorch, key, 0, 0}; }

// Written down as in the paper: counter words c0..c3, key words k0 and k1.
std::array<std::uint32_t, 4> philox_words(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const auto wide0 = std::uint64_t{0xD2511F53} * c[0];
    const auto wide1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(wide1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(wide1),
         static_cast<std::uint32_t>(wide0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(wide0)};
    k = {k[0] + 0x9E3779B9U, k[1] + 0xBB67AE85U};
  }
  return c;
}

}  // namespace

TEST_CASE("Philox words are those of the paper's known answers") {
  // Random123's kat_vectors, philox4x32 with 10 rounds, all bits zero and all bits one.
  const auto as_words = [](const RandomSource& source) {
    // The whole range of i64 with an odd modulus would change the words; two words of f64 keep 52 bits only.
    // So words are seen through i32 in [0, 2^31 - 1).
    return draw<std::int32_t>(source, UniformType::i32, 0, std::numeric_limits<std::int32_t>::max(), 4);
  };
  const auto expected = [](std::array<std::uint32_t, 4> words) {
    std::vector<std::int32_t> numbers;
    for (const std::uint32_t word : words) numbers.push_back(static_cast<std::int32_t>(word % 0x7FFFFFFFU));
    return numbers;
  };
  CHECK(philox_words({0, 0, 0, 0}, {0, 0}) ==
        std::array<std::uint32_t, 4>{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U});
  CHECK(as_words(philox(0, 0)) == expected({0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  CHECK(as_words(philox(kOnes, kOnes, kOnes)) ==
        expected({0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  CHECK(as_words(philox(0x299f31d0a4093822U, 0x0370734413198a2eU, 0x85a308d3243f6a88U)) ==
        expected({0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST_CASE("Positions go on from group to group and carry into the counter") {
  const auto expected = [](std::uint64_t position, std::uint64_t counter) {
    const auto words =
        philox_words({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                      static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32)},
                     {7, 0});
    return static_cast<std::int32_t>(words[0] % 1000U);
  };
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  const auto numbers = draw<std::int32_t>(philox(7, 9, kLast), UniformType::i32, 0, 1000, 9);
  CHECK(numbers[0] == expected(kLast, 9));
  CHECK(numbers[4] == expected(0, 10));
  CHECK(numbers[8] == expected(1, 10));
  CHECK(positions_for(UniformType::i32, 9) == 3);
  CHECK(positions_for(UniformType::f64, 9) == 5);
  CHECK(positions_for(UniformType::bf16, 0) == 0);
}

TEST_CASE("Halves are rounded at every step by TensorFlow's rules") {
  const auto floats = draw<float>(philox(3, 4), UniformType::f16, -650.0F, 451.0F, 1000);
  const auto narrow = draw<float>(philox(3, 4), UniformType::bf16, -1.5F, 1.25F, 1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    REQUIRE(floats[i] == static_cast<float>(Float16(floats[i])));
    REQUIRE(narrow[i] == static_cast<float>(BFloat16(narrow[i])));
    REQUIRE((floats[i] >= -650.0F && floats[i] <= 451.0F));
    REQUIRE((narrow[i] >= -1.5F && narrow[i] <= 1.25F));
  }
}

TEST_CASE("PyTorch's numbers come from MT19937") {
  std::mt19937 generator(12345);
  const auto numbers = draw<float>(twister(12345), UniformType::f32, 0.0F, 1.0F, 1300);
  for (const float number : numbers) {
    REQUIRE(number == static_cast<float>(generator() & 0xFFFFFFU) / 16777216.0F);
  }
  std::mt19937 pairs(12345);
  for (const double number : draw<double>(twister(12345), UniformType::f64, 0.0, 1.0, 700)) {
    const std::uint64_t high = pairs();
    const std::uint64_t joined = (high << 32) | pairs();
    REQUIRE(number == static_cast<double>(joined & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53);
  }
}

TEST_CASE("Limits as far apart as integers can be") {
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  for (const auto alignment : {RandomAlignment::tensorflow, RandomAlignment::pytorch}) {
    const RandomSource source{alignment, 5, 6, 0};
    const auto numbers = draw<std::int64_t>(source, UniformType::i64, kLow, kHigh, 1001);
    CHECK(std::count_if(numbers.begin(), numbers.end(), [](auto n) { return n < 0; }) > 400);
    CHECK(std::count_if(numbers.begin(), numbers.end(), [](auto n) { return n >= 0; }) > 400);
    for (const auto n : draw<std::int64_t>(source, UniformType::i64, kLow, kLow + 5, 100))
      CHECK((n >= kLow && n < kLow + 5));
    for (const auto n : draw<std::int32_t>(source, UniformType::i32, std::numeric_limits<std::int32_t>::min(),
                                           std::numeric_limits<std::int32_t>::max(), 100))
      CHECK(n < std::numeric_limits<std::int32_t>::max());
  }
}

TEST_CASE("Random numbers are the same for any number of threads") {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    ThreadPool(threads).run(
        [&] { results.push_back(draw<float>(philox(1, 2, 3), UniformType::f32, -1.0F, 1.0F, 100003)); });
  }
  CHECK(results[0] == results[1]);
  double sum = 0;
  for (const float number : results[0]) sum += double{number};
  CHECK(std::abs(sum / 100003) < 0.01);
}

TEST_CASE("Classes are drawn by their shares") {
  MultinomialParams params{2, 3, 20000, true, false};
  const std::vector<double> probs{1, 0, 3, 0.25, 0.5, 0.25};
  std::vector<double> scratch(multinomial_scratch(params));
  test::GuardedBuffer<std::int32_t> out(2 * 20000, 1);
  multinomial(params, philox(1, 1), probs.data(), out.data(), scratch.data());
  CHECK(out.guards_intact());
  std::array<double, 6> shares{};
  for (std::size_t i = 0; i < out.size(); ++i)
    shares[i / 20000 * 3 + static_cast<std::size_t>(out[i])] += 1.0 / 20000;
  const std::array<double, 6> expected{0.25, 0, 0.75, 0.25, 0.5, 0.25};
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::abs(shares[i] - expected[i]) < 0.02);

  // Logarithms of the same numbers draw the same.
  std::vector<double> logs;
  for (const double p : probs) logs.push_back(std::log(p));
  params.log_probs = true;
  std::vector<std::int64_t> wide(out.size());
  multinomial(params, philox(1, 1), logs.data(), wide.data(), scratch.data());
  CHECK(std::equal(wide.begin(), wide.end(), out.begin()));
}

TEST_CASE("Without replacement every class is drawn once") {
  MultinomialParams params{50, 7, 7, false, false};
  std::vector<float> probs(350);
  test::fill_random(probs, 0.01, 1, 11);
  std::vector<float> scratch(multinomial_scratch(params));
  std::vector<std::int64_t> out(350);
  multinomial(params, philox(2, 3), probs.data(), out.data(), scratch.data());
  for (std::size_t row = 0; row < 50; ++row) {
    std::vector<std::int64_t> drawn(out.begin() + 7 * row, out.begin() + 7 * (row + 1));
    std::sort(drawn.begin(), drawn.end());
    std::vector<std::int64_t> all(7);
    std::iota(all.begin(), all.end(), 0);
    CHECK(drawn == all);
  }
}

TEST_CASE("Probabilities that are zero or not numbers are safe") {
  MultinomialParams params{3, 2, 4, false, false};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> probs{0, 0, nan, 1, -1, 1};
  std::vector<float> scratch(multinomial_scratch(params));
  std::vector<std::int32_t> out(12, -1);
  multinomial(params, philox(2, 3), probs.data(), out.data(), scratch.data());
  for (const std::int32_t drawn : out) CHECK((drawn == 0 || drawn == 1));
}

}  // namespace ir::kernels
