// A row with zeros times large weights that are codes.
#include <algorithm>
#include <span>
#include <vector>

#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/gemm_compressed.h"
#include "kernels/matmul/gemm_narrow.h"
#include "kernels/weights/packing_pieces.h"
#include "tests/kernels/matmul/compressed_cases.h"
#include "tests/kernels/matmul/gemm_twin.h"

namespace ir::kernels {
namespace {

using test::Data;
using test::describe;
using test::run;
using test::Sums;
using test::Weights;
using Case = test::CompressedCase;

Data rectified_data(const CompressedForm& form) {
  Data data(product_of(1, form));
  for (float& value : data.a) value = std::max(value, 0.0F);
  return data;
}

std::unique_ptr<CompressedGemm> prepared(const Case& c, const Weights& weights, const Epilogue& epilogue = {},
                                         std::size_t rows = 1, bool zeros = true) {
  return create_compressed_gemm(rows, c.form, epilogue, 0,
                                {weights.rows.codes, weights.rows.offset != nullptr, zeros});
}

bool is_packed(const Case& c, std::size_t rows = 1, bool zeros = true) {
  const Weights weights(c);
  const auto gemm = prepared(c, weights, {}, rows, zeros);
  CHECK(gemm->reads_codes() == (gemm->algorithm() != "gemv_narrow"));
  return !gemm->reads_codes();
}

TEST_CASE("Codes of more than 2^26 weights are not packed") {
  IR_FOR_EACH_TARGET();
  const std::uint8_t codes = 0;  // never read
  const auto are_packed = [&](std::size_t rows) {
    return takes_narrow_codes(1, {WeightCode::f16, rows, 25000, 25000}, {&codes, false, true});
  };
  CHECK(are_packed(2684));
  CHECK_FALSE(are_packed(2685));
}

TEST_CASE("A row with zeros meets packed codes") {
  IR_FOR_EACH_TARGET();
  // Columns that fill panels, units, vectors, or nothing; terms that fill blocks, groups, or neither.
  const auto [rows, terms] =
      GENERATE(table<std::size_t, std::size_t>({{1024, 256}, {300, 1031}, {2100, 130}, {3, 90001}}));
  const WeightCode code = GENERATE(WeightCode::f16, WeightCode::bf16, WeightCode::i8);
  const Case c{{code, rows, terms, terms}, code == WeightCode::i8};
  INFO(describe(c));
  const Weights weights(c);
  const Data data = rectified_data(c.form);
  const GemmParams params = product_of(1, c.form);
  const Sums expected = test::twin(params, data.a.data(), weights.floats.data());
  // Of integers, nothing is lost; halves may become those of their groups.
  const double near = code == WeightCode::i8 ? 1e-6 : 4e-5;
  const auto check = [&](const Epilogue& epilogue, const std::vector<double>& wanted) {
    const auto gemm = prepared(c, weights, epilogue);
    REQUIRE_FALSE(gemm->reads_codes());
    Data results = rectified_data(c.form);
    std::vector<std::byte> scratch(gemm->scratch_bytes());
    CompressedRows scales = weights.rows;
    scales.codes = nullptr;
    gemm->run(data.a.data(), scales, data.residual.data(), results.out.data(), scratch.data());
    CHECK(results.out.guards_intact());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wrong += !(std::abs(results.out[i] - wanted[i]) <= near * (expected.magnitudes[i] + 10));
    CHECK(wrong == 0);
  };
  check({}, expected.values);
  check(test::whole_epilogue(data), test::after_epilogue(params, data, expected));
}

TEST_CASE("A row meets packed codes with the same bits on any number of threads") {
  const Case c{{WeightCode::i8, 1187, 523, 523}, true};
  const Weights weights(c);
  const Data data = rectified_data(c.form);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 5}) {
    results.emplace_back(c.form.rows);
    ThreadPool(threads).run([&] { run(*prepared(c, weights), weights, data, results.back().data()); });
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("Codes that are packed are told of, piece by piece") {
  const Case c{{WeightCode::i8, 2100, 4100, 4100}, true};
  const Weights weights(c);
  const auto* next = reinterpret_cast<const std::byte*>(weights.codes.data());
  std::size_t parts = 0;
  bool in_order = true;
  const auto told = [&](std::span<const std::byte> part, Rereads) {
    in_order = in_order && part.data() == next;
    next += part.size();
    ++parts;
  };
  const PackingListener::Packed listen(told);
  const PackingListener listener(listen);
  REQUIRE_FALSE(prepared(c, weights)->reads_codes());
  CHECK(in_order);
  CHECK(next == reinterpret_cast<const std::byte*>(weights.codes.data() + weights.codes.size()));
  CHECK(parts == 2);
}

TEST_CASE(
    "Codes stay where they lie without zeros, for several rows, and where they are few or of another kind") {
  const Case c{{WeightCode::i8, 512, 512, 512}, true};
  CHECK(is_packed(c));
  CHECK_FALSE(is_packed(c, 1, false));
  CHECK_FALSE(is_packed(c, 2));
  CHECK_FALSE(is_packed({{WeightCode::i8, 512, 511, 511}, true}));
  CHECK_FALSE(is_packed({{WeightCode::i8, 512, 512, 256}, true}));
  CHECK_FALSE(is_packed({{WeightCode::i8, 512, 512, 512}, true, Case::Offsets::one}));
  CHECK_FALSE(is_packed({{WeightCode::u8, 512, 512, 512}, true}));
  CHECK_FALSE(is_packed({{WeightCode::i4, 512, 1024, 1024}, true}));
  const Weights weights(c);
  CHECK(create_compressed_gemm(1, c.form, {}, 0, {nullptr, false, true})->reads_codes());
}

}  // namespace
}  // namespace ir::kernels
