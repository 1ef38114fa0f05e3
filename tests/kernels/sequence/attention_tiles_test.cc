// Attention in matrix tiles.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/matmul/matrix_tiles.h"
#include "tests/kernels/sequence/attention_support.h"

namespace ir::kernels {
namespace {

using attention_test::check;
using attention_test::Data;
using attention_test::params_of;
using attention_test::Problem;
using attention_test::twin;

TEST_CASE("Attention in matrix tiles agrees with softmax(q k^T) v in double") {
  if (matrix_tiles(false) == nullptr) return;
  struct Sizes {
    std::size_t queries, keys, depth, value_depth;
  };
  // Around the sizes of tiles, panels, steps and blocks, of each operand.
  const Sizes sizes = GENERATE(Sizes{64, 64, 64, 64}, Sizes{65, 63, 64, 63}, Sizes{79, 97, 64, 33},
                               Sizes{128, 512, 80, 96}, Sizes{96, 513, 33, 49}, Sizes{200, 1100, 64, 65},
                               Sizes{197, 197, 64, 64}, Sizes{112, 545, 128, 40});
  Problem p;
  p.queries = sizes.queries;
  p.keys = sizes.keys;
  p.depth = sizes.depth;
  p.value_depth = sizes.value_depth;
  p.heads = p.key_heads = 2;
  p.causal = GENERATE(false, true);
  p.mask = GENERATE(AttentionMask::none, AttentionMask::additive, AttentionMask::boolean);
  Data data(p);
  data.scale = 0.1F;
  // The last keys are hidden from all queries.
  const std::size_t seen = p.keys - 45;
  for (std::size_t i = 0; i < data.added.size(); ++i)
    if (i % p.keys >= seen) data.added[i] = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < data.kept.size(); ++i)
    if (i % p.keys >= seen) data.kept[i] = 0;
  AttentionParams params = params_of(p);
  REQUIRE(create_attention(params)->algorithm() == kMatrixTiles);
  check(p, data);
  params.accurate = true;
  CHECK(create_attention(params)->algorithm() == "tiled");
}

TEST_CASE("Matrix tiles keep all bits of scores, and of weights and values where it is asked for") {
  if (matrix_tiles(false) == nullptr) return;
  Problem p;
  p.queries = 128;
  p.keys = 256;
  p.depth = p.value_depth = 64;
  Data data(p);
  // Something common to all keys changes no weight, but makes scores of hundreds.
  for (float& key : data.key) key += 16;
  data.scale = 1;
  check(p, data, 1e-4);
  const auto largest_error = [&](bool whole) {
    Data small(p);
    small.scale = 0.1F;
    AttentionParams params = params_of(p);
    params.whole_floats = whole;
    const auto attention = create_attention(params);
    CHECK(attention->algorithm() == kMatrixTiles);
    const std::vector<double> expected = twin(p, small);
    std::vector<float> out(expected.size());
    std::vector<std::byte> scratch(attention->scratch_bytes());
    attention->run(small.inputs(), out.data(), scratch.data());
    double largest = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      largest = std::max(largest, std::abs(double{out[i]} - expected[i]));
    return largest;
  };
  CHECK(largest_error(true) < 2e-6);
  CHECK(largest_error(false) > 2e-6);
}

}  // namespace
}  // namespace ir::kernels
