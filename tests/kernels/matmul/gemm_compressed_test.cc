// Products of weights that stay compressed, against the definition on what the codes stand for.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/gemm_compressed.h"
#include "tests/kernels/matmul/compressed_cases.h"
#include "tests/kernels/matmul/gemm_twin.h"

namespace ir::kernels {
namespace {

using test::check_results;
using test::Data;
using test::describe;
using test::GuardedBuffer;
using test::is_integer;
using test::run;
using test::Sums;
using test::Weights;
using Case = test::CompressedCase;

/// All codes with their kinds of offsets; rows and terms around vectors, panels and blocks of depth or terms.
std::vector<Case> cases() {
  struct Size {
    std::size_t rows;
    std::size_t terms;
    std::size_t group;
  };
  std::vector<Case> list;
  for (std::size_t code = 0; code < kWeightCodes; ++code) {
    for (const Size& size :
         {Size{1, 2, 2}, Size{3, 30, 30}, Size{17, 66, 66}, Size{16, 64, 32}, Size{5, 96, 16},
          Size{33, 256, 128}, Size{70, 770, 770}, Size{65, 1026, 342}, Size{7, 36, 6}, Size{3, 2500, 2500},
          Size{66, 1920, 384}, Size{3, 9000, 9000}, Size{2, 9600, 480}, Size{9, 576, 192}, Size{6, 1088, 64},
          Size{7, 200, 8}, Size{5, 480, 96}}) {
      for (const Case& c : test::cases_of({static_cast<WeightCode>(code), size.rows, size.terms, size.group}))
        list.push_back(c);
    }
    if (bits_of(static_cast<WeightCode>(code)) != 4)
      list.push_back({{static_cast<WeightCode>(code), 9, 35, 35}, is_integer(static_cast<WeightCode>(code))});
  }
  return list;
}

}  // namespace

TEST_CASE("Compressed weights become the floats that they stand for, whichever part is asked for") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    INFO(describe(c));
    const Weights weights(c);
    std::vector<float> all(weights.floats.size());
    decompress(c.form, weights.rows, all.data());
    CHECK(all == weights.floats);
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}, c.form.terms / 2, c.form.terms - 1}) {
      const std::size_t rest = c.form.terms - first;
      for (const std::size_t count : {std::size_t{1}, rest / 2, rest}) {
        const CompressedPart part{c.form.rows / 2, c.form.rows - c.form.rows / 2, first, count};
        const std::size_t stride = count + 3;
        GuardedBuffer<float> floats((part.rows - 1) * stride + count, 1);
        decompress(c.form, weights.rows, part, floats.data(), stride);
        bool same = floats.guards_intact();
        for (std::size_t r = 0; r < part.rows; ++r) {
          for (std::size_t i = 0; i < count; ++i)
            same =
                same && floats[r * stride + i] == weights.floats[(part.row + r) * c.form.terms + first + i];
        }
        CHECK(same);
      }
    }
  }
}

TEST_CASE("Products of compressed weights agree with the definition, for one row and several") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    const Weights weights(c);
    for (const std::size_t m : {1, 2, 4, 7, 16, 70}) {
      INFO(describe(c) << " m " << m);
      const GemmParams p = product_of(m, c.form);
      Data data(p);
      const Sums expected = test::twin(p, data.a.data(), weights.floats.data());
      CompressedOperands known;
      known.accurate = true;
      run(*create_compressed_gemm(m, c.form, {}, 0, known), weights, data, data.out.data());
      check_results(expected, expected.values, data.out.data());
      CHECK(data.out.guards_intact());
      // The residual may be where the results go.
      std::copy(data.residual.begin(), data.residual.end(), data.out.begin());
      const auto gemm = create_compressed_gemm(m, c.form, test::whole_epilogue(data));
      std::vector<std::byte> scratch(gemm->scratch_bytes());
      gemm->run(data.a.data(), weights.rows, data.out.data(), data.out.data(), scratch.data());
      check_results(expected, test::after_epilogue(p, data, expected), data.out.data(),
                    test::bound_of(*gemm, false));
    }
  }
}

TEST_CASE(
    "Products of compressed weights go through matrix tiles, where there are any, in blocks of any size") {
  if (matrix_tiles(false) == nullptr) return;
  // Around tiles and panels of them, a block of terms and blocks of rows.
  const std::tuple<std::size_t, std::size_t, std::size_t> sizes[] = {
      {25, 1, 8}, {32, 15, 32}, {26, 33, 40}, {33, 16, 256}, {31, 70, 264}, {300, 47, 520}, {40, 65, 9000}};
  for (const auto& [m, n, terms] : sizes) {
    for (const WeightCode code : {WeightCode::f16, WeightCode::u8, WeightCode::i4}) {
      const bool scaled = is_integer(code);
      const Case c{
          {code, n, terms, scaled ? 8U : 0U}, scaled, scaled ? Case::Offsets::many : Case::Offsets::none};
      INFO(describe(c) << " m " << m);
      const Weights weights(c);
      const GemmParams p = product_of(m, c.form);
      const Data data(p);
      const Sums expected = test::twin(p, data.a.data(), weights.floats.data());
      CompressedOperands known;
      for (const bool whole : {false, true}) {
        known.whole_floats = whole;
        const auto gemm = create_compressed_gemm(m, c.form, test::whole_epilogue(data), 0, known);
        CHECK(gemm->algorithm() == kCompressedTiles);
        std::vector<float> out(m * n);
        run(*gemm, weights, data, out.data());
        check_results(expected, test::after_epilogue(p, data, expected), out.data(),
                      test::bound_of(*gemm, whole));
      }
      known.accurate = true;
      CHECK(create_compressed_gemm(m, c.form, {}, 0, known)->algorithm() == kCompressed);
    }
  }
}

TEST_CASE("Products of compressed weights have the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  const Case c{{WeightCode::u4, 700, 384, 128}, true, Case::Offsets::many};
  const Weights weights(c);
  for (const std::size_t m : {1, 6, 150}) {
    const Data data(product_of(m, c.form));
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      results.emplace_back(data.out.size());
      ThreadPool(threads).run(
          [&] { run(*create_compressed_gemm(m, c.form, {}), weights, data, results.back().data()); });
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("A product of compressed weights without rows or without columns does nothing") {
  for (const auto& [m, n] : {std::pair{0, 3}, std::pair{3, 0}}) {
    const auto gemm = create_compressed_gemm(static_cast<std::size_t>(m),
                                             {WeightCode::u8, static_cast<std::size_t>(n), 8, 8}, {});
    CHECK(gemm->scratch_bytes() == 0);
    gemm->run(nullptr, {}, nullptr, nullptr, nullptr);
  }
}

TEST_CASE("A product of no terms is 0") {
  IR_FOR_EACH_TARGET();
  for (std::size_t code = 0; code < kWeightCodes; ++code) {
    for (const std::size_t m : {1, 5, 40}) {
      const CompressedForm form{static_cast<WeightCode>(code), 9, 0, 0};
      const auto gemm = create_compressed_gemm(m, form, {});
      std::vector<std::byte> scratch(gemm->scratch_bytes());
      std::vector<float> out(m * 9, 7);
      gemm->run(nullptr, {}, nullptr, out.data(), scratch.data());
      CHECK(std::ranges::all_of(out, [](float value) { return value == 0; }));
    }
  }
}

}  // namespace ir::kernels
