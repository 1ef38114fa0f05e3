// What the tests of attention share: problems, their operands and a twin in double.
#ifndef TESTS_KERNELS_SEQUENCE_ATTENTION_SUPPORT_H_
#define TESTS_KERNELS_SEQUENCE_ATTENTION_SUPPORT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/sequence/attention.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels::attention_test {

/// Dense operands [batch, heads, rows, elements]; keys and values have `key_heads` of them (1 or `heads`).
struct Problem {
  std::size_t batch = 1;
  std::size_t heads = 1;
  std::size_t key_heads = 1;
  std::size_t queries = 1;
  std::size_t keys = 1;
  std::size_t depth = 1;
  std::size_t value_depth = 1;
  bool causal = false;
  bool key_transposed = false;
  AttentionMask mask = AttentionMask::none;
  float hidden_score = std::numeric_limits<float>::lowest();
  bool mask_per_query = true;
  bool mask_per_key = true;
  bool mask_per_head = false;
  bool sink = false;
};

inline AttentionParams params_of(const Problem& p) {
  AttentionParams params;
  params.queries = p.queries;
  params.keys = p.keys;
  params.depth = p.depth;
  params.value_depth = p.value_depth;
  params.query_row = p.depth;
  params.key_row = p.key_transposed ? p.keys : p.depth;
  params.value_row = p.value_depth;
  params.out_row = p.value_depth;
  params.key_transposed = p.key_transposed;
  params.causal = p.causal;
  params.mask = p.mask;
  params.hidden_score = p.hidden_score;
  const std::size_t mask_keys = p.mask_per_key ? p.keys : 1;
  const std::size_t mask_rows = p.mask_per_query ? p.queries : 1;
  params.mask_row = p.mask_per_query ? mask_keys : 0;
  params.mask_column = p.mask_per_key ? 1 : 0;
  params.sink = p.sink;
  const bool shared = p.key_heads == 1;
  const std::size_t mask_head = p.mask_per_head ? mask_rows * mask_keys : 0;
  params.batch = {
      {p.batch, p.heads * p.queries * p.depth, p.key_heads * p.keys * p.depth,
       p.key_heads * p.keys * p.value_depth, mask_head * p.heads, 0, p.heads * p.queries * p.value_depth},
      {p.heads, p.queries * p.depth, shared ? 0 : p.keys * p.depth, shared ? 0 : p.keys * p.value_depth,
       mask_head, 0, p.queries * p.value_depth}};
  return params;
}

struct Data {
  explicit Data(const Problem& p)
      : query(p.batch * p.heads * p.queries * p.depth),
        key(p.batch * p.key_heads * p.keys * p.depth),
        value(p.batch * p.key_heads * p.keys * p.value_depth) {
    const AttentionParams params = params_of(p);
    const std::size_t mask_size = (p.mask_per_head ? p.batch * p.heads : 1) *
                                  (p.mask_per_query ? p.queries : 1) * (p.mask_per_key ? p.keys : 1);
    test::fill_random(query, -2, 2, 1);
    test::fill_random(key, -2, 2, 2);
    test::fill_random(value, -2, 2, 3);
    added.resize(p.mask == AttentionMask::additive ? mask_size : 0);
    test::fill_random(added, -3, 3, 4);
    kept.resize(p.mask == AttentionMask::boolean ? mask_size : 0);
    test::fill_random(kept, 0, 3, 5);  // zero for a third
  }
  [[nodiscard]] AttentionInputs inputs() const {
    const void* mask = added.empty() ? static_cast<const void*>(kept.data()) : added.data();
    return {query.data(), key.data(), value.data(), mask, &sink, scale};
  }

  std::vector<float> query;
  std::vector<float> key;
  std::vector<float> value;
  std::vector<float> added;
  std::vector<std::uint8_t> kept;
  float sink = 0.7F;
  float scale = 0.31F;
};

/// softmax(q k^T) v in double.
inline std::vector<double> twin(const Problem& p, const Data& data) {
  std::vector<double> out;
  for (std::size_t n = 0; n < p.batch * p.heads; ++n) {
    const std::size_t kv = p.key_heads == 1 ? n / p.heads : n;
    const std::size_t mask_keys = p.mask_per_key ? p.keys : 1;
    const std::size_t mask_rows = p.mask_per_query ? p.queries : 1;
    for (std::size_t i = 0; i < p.queries; ++i) {
      std::vector<double> scores(p.keys);
      for (std::size_t j = 0; j < p.keys; ++j) {
        for (std::size_t e = 0; e < p.depth; ++e) {
          const std::size_t at =
              kv * p.keys * p.depth + (p.key_transposed ? e * p.keys + j : j * p.depth + e);
          scores[j] += double{data.query[(n * p.queries + i) * p.depth + e]} * double{data.key[at]};
        }
        scores[j] *= double{data.scale};
        const std::size_t mask_at =
            ((p.mask_per_head ? n : 0) * mask_rows + (p.mask_per_query ? i : 0)) * mask_keys +
            (p.mask_per_key ? j : 0);
        if (p.mask == AttentionMask::additive) scores[j] += double{data.added[mask_at]};
        if (p.mask == AttentionMask::boolean && data.kept[mask_at] == 0) scores[j] = double{p.hidden_score};
        if (p.causal && j > i) scores[j] = -std::numeric_limits<double>::infinity();
      }
      double maximum = p.sink ? double{data.sink} : -std::numeric_limits<double>::infinity();
      for (const double s : scores) maximum = std::max(maximum, s);
      double sum = p.sink ? std::exp(double{data.sink} - maximum) : 0.0;
      for (double& s : scores) sum += s = std::exp(s - maximum);
      for (std::size_t v = 0; v < p.value_depth; ++v) {
        double result = 0;
        for (std::size_t j = 0; j < p.keys; ++j)
          result += scores[j] * double{data.value[(kv * p.keys + j) * p.value_depth + v]};
        out.push_back(p.keys == 0 ? 0.0 : result / sum);
      }
    }
  }
  return out;
}

inline void check(const Problem& p, const Data& data, double tolerance = 2e-5) {
  INFO("queries " << p.queries << ", keys " << p.keys << ", depth " << p.depth << ", value depth "
                  << p.value_depth << ", causal " << p.causal << ", mask " << static_cast<int>(p.mask));
  const std::vector<double> expected = twin(p, data);
  const auto attention = create_attention(params_of(p));
  test::GuardedBuffer<float> out(expected.size(), 1);
  test::GuardedBuffer<std::byte> scratch(attention->scratch_bytes(), 3);
  attention->run(data.inputs(), out.data(), scratch.data());
  REQUIRE(out.guards_intact());
  REQUIRE(scratch.guards_intact());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!test::close(double{out[i]}, expected[i], 0, tolerance)) {
      INFO("element " << i << ": got " << out[i] << ", expected " << expected[i]);
      FAIL();
    }
  }
}

inline void check(const Problem& p) { check(p, Data(p)); }

}  // namespace ir::kernels::attention_test

#endif  // TESTS_KERNELS_SEQUENCE_ATTENTION_SUPPORT_H_
