// Scaled dot-product attention, for whole sequences and for the next token.
#include "kernels/sequence/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

struct Case {
  const char* name;
  std::size_t heads, queries, keys, depth;
  bool causal;
};

constexpr Case kCases[] = {
    {"12_heads_128_of_64", 12, 128, 128, 64, false},
    {"12_heads_197_of_64", 12, 197, 197, 64, false},
    {"8_heads_1024_of_64", 8, 1024, 1024, 64, false},
    {"8_heads_1024_of_64_causal", 8, 1024, 1024, 64, true},
    {"32_heads_next_token_1024_of_128", 32, 1, 1024, 128, false},
};

void run(benchmark::State& state, const Case& item) {
  kernels::AttentionParams params;
  params.queries = item.queries;
  params.keys = item.keys;
  params.depth = params.value_depth = item.depth;
  params.query_row = params.key_row = params.value_row = params.out_row = item.depth;
  params.causal = item.causal;
  const std::size_t query_size = item.queries * item.depth;
  const std::size_t key_size = item.keys * item.depth;
  kernels::AttentionBatchAxis heads;
  heads.count = item.heads;
  heads.query = heads.out = query_size;
  heads.key = heads.value = key_size;
  params.batch = {heads};
  const std::vector<float> query = random_floats(item.heads * query_size);
  const std::vector<float> key = random_floats(item.heads * key_size);
  std::vector<float> out(query.size());
  const auto attention = prepared([&] { return kernels::create_attention(params); });
  std::vector<std::byte> scratch(attention->scratch_bytes());
  kernels::AttentionInputs inputs;
  inputs.query = query.data();
  inputs.key = inputs.value = key.data();
  inputs.scale = 1 / std::sqrt(static_cast<float>(item.depth));
  const Work work{
      4 * static_cast<double>(item.heads) * static_cast<double>(item.queries) * static_cast<double>(key_size),
      2.0 * static_cast<double>((query.size() + key.size()) * sizeof(float))};
  measure(state, work, [&] { attention->run(inputs, out.data(), scratch.data()); });
}

}  // namespace

void register_attention() {
  for (const Case& item : kCases) {
    add(fmt::format("attention/{}", item.name), [item](benchmark::State& state) { run(state, item); });
  }
}

}  // namespace ir::bench
