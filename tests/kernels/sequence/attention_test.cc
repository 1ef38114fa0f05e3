#include "kernels/sequence/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/sequence/attention_support.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

using attention_test::check;
using attention_test::Data;
using attention_test::params_of;
using attention_test::Problem;
using attention_test::twin;

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("Attention agrees with softmax(q k^T) v in double") {
  IR_FOR_EACH_TARGET();
  for (const auto& [queries, keys] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 1},
                                                                                      {1, 7},
                                                                                      {1, 600},
                                                                                      {2, 33},
                                                                                      {3, 1},
                                                                                      {3, 900},
                                                                                      {4, 31},
                                                                                      {5, 5},
                                                                                      {7, 64},
                                                                                      {8, 97},
                                                                                      {12, 800},
                                                                                      {16, 40},
                                                                                      {17, 33},
                                                                                      {64, 64},
                                                                                      {65, 257},
                                                                                      {70, 70},
                                                                                      {130, 600}}) {
    Problem p;
    p.queries = queries;
    p.keys = keys;
    p.depth = queries % 2 == 0 ? 17 : 32;
    p.value_depth = queries % 3 == 0 ? 64 : 9;
    check(p);
    p.causal = true;
    check(p);
    p.key_transposed = true;
    check(p);
  }
}

TEST_CASE("Attention masks scores by numbers and by booleans, whichever axes the mask has") {
  IR_FOR_EACH_TARGET();
  Problem p;
  p.batch = 2;
  p.heads = 3;
  p.key_heads = 3;
  p.mask = GENERATE(AttentionMask::additive, AttentionMask::boolean);
  p.mask_per_query = GENERATE(true, false);
  p.mask_per_key = GENERATE(true, false);
  p.mask_per_head = GENERATE(true, false);
  if (p.mask == AttentionMask::boolean) p.hidden_score = GENERATE(float{kLowest}, -0.5F, -10000.0F, 2.0F);
  for (const std::size_t queries : {1, 3, 20}) {
    p.queries = queries;
    p.keys = 301;
    p.depth = 8;
    p.value_depth = 13;
    check(p);
  }
}

TEST_CASE("Masks that hide the last keys leave them out, where they weigh nothing") {
  IR_FOR_EACH_TARGET();
  Problem p;
  p.queries = GENERATE(3, 200);
  // Several blocks of keys, also with AVX-512.
  p.keys = 1300;
  p.depth = 12;
  p.value_depth = 7;
  p.heads = p.key_heads = 2;
  p.mask = GENERATE(AttentionMask::additive, AttentionMask::boolean);
  p.mask_per_query = GENERATE(true, false);
  // Numbers that hide keys, by far, by little, or not at all where scores are large.
  struct Hiding {
    float number;
    float scale;
  };
  const Hiding hiding = GENERATE(Hiding{-std::numeric_limits<float>::infinity(), 0.31F},
                                 Hiding{std::numeric_limits<float>::lowest(), 0.31F}, Hiding{-65504, 0.31F},
                                 Hiding{-1100, 0.31F}, Hiding{-1100, 30}, Hiding{-65504, 3e5F});
  // The first and the last key that a query sees.
  enum class Seen { up_to_a_key, window, first_block, last_keys };
  const Seen seen = GENERATE(Seen::up_to_a_key, Seen::window, Seen::first_block, Seen::last_keys);
  p.hidden_score = hiding.number;
  Data data(p);
  data.scale = hiding.scale;
  const std::size_t rows = p.mask_per_query ? p.queries : 1;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < p.keys; ++j) {
      const std::size_t diagonal = 1 + i * p.keys / rows;
      const bool kept = seen == Seen::up_to_a_key   ? j < diagonal
                        : seen == Seen::window      ? j < diagonal && j + 40 > diagonal
                        : seen == Seen::first_block ? j < 100
                                                    : j >= 1250;
      if (p.mask == AttentionMask::additive) data.added[i * p.keys + j] = kept ? 0.25F : hiding.number;
      if (p.mask == AttentionMask::boolean) data.kept[i * p.keys + j] = kept ? 1 : 0;
    }
  }
  check(p, data, hiding.scale > 1 ? 1e-2 : 2e-5);
}

TEST_CASE("Heads may share keys and values") {
  Problem p;
  p.batch = 2;
  p.heads = 4;
  p.key_heads = 1;
  p.queries = GENERATE(1, 2, 9);
  p.keys = 40;
  p.depth = 16;
  p.value_depth = 16;
  p.causal = GENERATE(false, true);
  p.mask = GENERATE(AttentionMask::none, AttentionMask::additive);
  p.mask_per_head = GENERATE(false, true);
  check(p);
}

TEST_CASE("A single query of each head has no rows that could be apart") {
  IR_FOR_EACH_TARGET();
  Problem p;
  p.batch = 2;
  p.heads = GENERATE(2, 5, 16);
  p.key_heads = 1;
  p.queries = 1;
  p.keys = 130;
  p.depth = 24;
  p.value_depth = 35;
  p.mask = AttentionMask::additive;
  p.mask_per_head = true;
  const Data data(p);
  const std::vector<double> expected = twin(p, data);
  AttentionParams params = params_of(p);
  params.query_row = 1000;
  params.out_row = 2000;
  params.mask_row = 3000;
  std::vector<float> out(expected.size());
  const auto attention = create_attention(params);
  std::vector<std::byte> scratch(attention->scratch_bytes());
  attention->run(
      {data.query.data(), data.key.data(), data.value.data(), data.added.data(), nullptr, data.scale},
      out.data(), scratch.data());
  for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(test::close(double{out[i]}, expected[i], 0, 2e-5));
}

TEST_CASE("A sink takes a share of the weights") {
  Problem p;
  p.sink = true;
  p.queries = GENERATE(1, 6);
  p.keys = 300;
  p.depth = 4;
  p.value_depth = 5;
  p.causal = GENERATE(false, true);
  check(p);
}

TEST_CASE("Attention of empty operands") {
  Problem p;
  p.queries = 3;
  p.keys = 0;
  p.depth = 4;
  p.value_depth = 5;
  check(p);
  p.keys = 4;
  p.value_depth = 0;
  check(p);
  p.value_depth = 2;
  p.depth = 0;
  check(p);
  p.queries = 0;
  check(p);
  p.heads = 0;
  check(p);
  p.heads = p.key_heads = 3;
  p.queries = 70;
  p.keys = 0;
  p.depth = p.value_depth = 64;
  p.causal = true;  // heads stay apart
  check(p);
}

TEST_CASE("Rows that are masked throughout") {
  Problem p;
  p.queries = GENERATE(2, 10);
  p.keys = 520;
  p.depth = 3;
  p.value_depth = 2;
  p.mask = GENERATE(AttentionMask::additive, AttentionMask::boolean);
  if (p.mask == AttentionMask::boolean) p.hidden_score = GENERATE(float{kLowest}, -kInfinity, -10000.0F);
  Data data(p);
  // Query 0 sees nothing, query 1 only the last key, in the last of several blocks.
  for (std::size_t j = 0; j < 2 * p.keys; ++j) {
    const bool seen = j + 1 == 2 * p.keys;
    if (p.mask == AttentionMask::additive) data.added[j] = seen ? 0.0F : -kInfinity;
    if (p.mask == AttentionMask::boolean) data.kept[j] = seen ? 1 : 0;
  }
  std::vector<float> out(p.queries * p.value_depth);
  const auto attention = create_attention(params_of(p));
  std::vector<std::byte> scratch(attention->scratch_bytes());
  attention->run(data.inputs(), out.data(), scratch.data());
  double mean = 0;
  for (std::size_t j = 0; j < p.keys; ++j) mean += double{data.value[2 * j]} / static_cast<double>(p.keys);
  if (p.mask == AttentionMask::boolean && p.hidden_score > -kInfinity) {
    CHECK(test::close(double{out[0]}, mean, 0, 1e-5));
  } else {
    CHECK(std::isnan(out[0]));
  }
  CHECK(out[2] == data.value[2 * (p.keys - 1)]);
  CHECK(out[3] == data.value[2 * (p.keys - 1) + 1]);
}

TEST_CASE("Rows that large numbers mask throughout have the mean of all values") {
  IR_FOR_EACH_TARGET();
  Problem p;
  p.queries = GENERATE(1, 10);
  p.keys = 520;
  p.depth = 3;
  p.value_depth = 2;
  p.mask = AttentionMask::additive;
  p.mask_per_query = false;
  Data data(p);
  // Scores vanish in what they are added to, so that all keys are alike.
  const float number = GENERATE(std::numeric_limits<float>::lowest(), -3.4e38F, -1e30F, -1e10F);
  INFO("masked by " << number);
  std::ranges::fill(data.added, number);
  std::vector<float> out(p.queries * p.value_depth);
  const auto attention = create_attention(params_of(p));
  std::vector<std::byte> scratch(attention->scratch_bytes());
  attention->run(data.inputs(), out.data(), scratch.data());
  for (std::size_t column = 0; column < p.value_depth; ++column) {
    double mean = 0;
    for (std::size_t j = 0; j < p.keys; ++j)
      mean += double{data.value[p.value_depth * j + column]} / static_cast<double>(p.keys);
    for (std::size_t i = 0; i < p.queries; ++i)
      CHECK(test::close(double{out[i * p.value_depth + column]}, mean, 0, 1e-5));
  }
}

TEST_CASE("Attention reads and writes slices of wider rows") {
  // [rows, heads, elements] in place of [heads, rows, elements].
  constexpr std::size_t kHeads = 3;
  Problem p;
  p.heads = p.key_heads = kHeads;
  p.queries = p.keys = 70;
  p.depth = p.value_depth = 8;
  const Data data(p);
  const std::vector<double> expected = twin(p, data);
  const auto interleaved = [&](const std::vector<float>& values) {
    std::vector<float> result(values.size());
    for (std::size_t h = 0; h < kHeads; ++h)
      for (std::size_t r = 0; r < 70; ++r)
        for (std::size_t e = 0; e < 8; ++e) result[(r * kHeads + h) * 8 + e] = values[(h * 70 + r) * 8 + e];
    return result;
  };
  AttentionParams params = params_of(p);
  params.query_row = params.key_row = params.value_row = params.out_row = kHeads * 8;
  params.batch = {{kHeads, 8, 8, 8, 0, 0, 8}};
  const std::vector<float> query = interleaved(data.query);
  const std::vector<float> key = interleaved(data.key);
  const std::vector<float> value = interleaved(data.value);
  std::vector<float> out(query.size());
  const auto attention = create_attention(params);
  std::vector<std::byte> scratch(attention->scratch_bytes());
  attention->run({query.data(), key.data(), value.data(), nullptr, nullptr, data.scale}, out.data(),
                 scratch.data());
  const std::vector<float> wanted = interleaved(std::vector<float>(expected.begin(), expected.end()));
  for (std::size_t i = 0; i < out.size(); ++i)
    REQUIRE(test::close(double{out[i]}, double{wanted[i]}, 0, 2e-5));
}

// Each of `count` matrices of rows x columns on its own.
std::vector<float> transposed(const std::vector<float>& matrices, std::size_t rows, std::size_t columns) {
  std::vector<float> result(matrices.size());
  for (std::size_t at = 0; at < matrices.size(); at += rows * columns) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) result[at + c * rows + r] = matrices[at + r * columns + c];
  }
  return result;
}

TEST_CASE("Each operand of attention may lie transposed") {
  IR_FOR_EACH_TARGET();
  struct Rows {
    std::size_t queries, depth, value_depth;
  };
  for (const auto& [queries, depth, value_depth] :
       {Rows{1, 19, 32}, {3, 19, 32}, {21, 19, 32}, {150, 8, 5}, {150, 64, 50}}) {
    for (int flags = 0; flags < 16; ++flags) {
      Problem p;
      p.batch = 2;
      p.heads = p.key_heads = 3;
      p.queries = queries;
      p.keys = 37 + 500 * (queries / 150);
      p.depth = depth;
      p.value_depth = value_depth;
      p.causal = queries == 21;
      p.key_transposed = (flags & 1) != 0;
      p.mask = queries == 3 ? AttentionMask::additive : AttentionMask::none;
      const Data data(p);
      AttentionParams params = params_of(p);
      std::vector<float> query = data.query;
      std::vector<float> value = data.value;
      if ((params.query_transposed = (flags & 2) != 0)) {
        params.query_row = p.queries;
        query = transposed(query, p.queries, p.depth);
      }
      if ((params.value_transposed = (flags & 4) != 0)) {
        params.value_row = p.keys;
        value = transposed(value, p.keys, p.value_depth);
      }
      params.out_transposed = (flags & 8) != 0;
      if (params.out_transposed) params.out_row = p.queries;
      const std::vector<double> expected = twin(p, data);
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2, 3}) {
        ThreadPool(threads).run([&] {
          const auto attention = create_attention(params);
          GuardedBuffer<float> out(expected.size(), 1);
          GuardedBuffer<std::byte> scratch(attention->scratch_bytes(), 3);
          AttentionInputs inputs = data.inputs();
          inputs.query = query.data();
          inputs.value = value.data();
          attention->run(inputs, out.data(), scratch.data());
          REQUIRE(out.guards_intact());
          REQUIRE(scratch.guards_intact());
          results.emplace_back(out.begin(), out.end());
        });
      }
      REQUIRE(results[0] == results[1]);
      REQUIRE(results[0] == results[2]);
      const std::vector<float> rows =
          params.out_transposed ? transposed(results[0], p.value_depth, p.queries) : results[0];
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < rows.size(); ++i)
        wrong += test::close(double{rows[i]}, expected[i], 0, 2e-5) ? 0 : 1;
      INFO("queries " << queries << ", flags " << flags);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Attention gives the same bits for any number of threads") {
  Problem p;
  p.heads = p.key_heads = 2;
  p.queries = 1500;
  p.keys = 400;
  p.depth = p.value_depth = GENERATE(24, 64);
  p.causal = GENERATE(false, true);
  const Data data(p);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    ThreadPool(threads).run([&] {
      const auto attention = create_attention(params_of(p));
      std::vector<std::byte> scratch(attention->scratch_bytes());
      results.emplace_back(p.heads * p.queries * p.value_depth);
      attention->run(data.inputs(), results.back().data(), scratch.data());
    });
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

}  // namespace ir::kernels
