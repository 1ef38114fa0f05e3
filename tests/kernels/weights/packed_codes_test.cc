// Compressed weights in packed columns, against what is unpacked before it is packed.
#include "kernels/weights/packed_codes.h"

#include <string>
#include <vector>

#include "kernels/matmul/gemm_kernels.h"
#include "tests/kernels/matmul/compressed_cases.h"

namespace ir::kernels {
namespace {

using test::CompressedCase;
using test::describe;
using test::GuardedBuffer;
using test::Weights;

/// Codes of all kinds with groups that begin, end and lie within what is packed, and some that no lanes fit.
std::vector<CompressedCase> cases() {
  struct Size {
    std::size_t rows;
    std::size_t terms;
    std::size_t group;
  };
  std::vector<CompressedCase> list;
  for (std::size_t code = 0; code < kWeightCodes; ++code) {
    for (const Size& size : {Size{50, 256, 64}, Size{9, 96, 96}, Size{33, 64, 8}, Size{20, 72, 24},
                             Size{7, 60, 12}, Size{5, 70, 14}, Size{17, 48, 4}, Size{50, 96, 2}}) {
      for (const CompressedCase& c :
           test::cases_of({static_cast<WeightCode>(code), size.rows, size.terms, size.group})) {
        list.push_back(c);
        if (c.scaled && c.offsets == CompressedCase::Offsets::none) list.push_back({c.form});
      }
    }
  }
  return list;
}

/// Parts of one panel of columns: at the borders of the weights and within.
std::vector<CompressedPart> parts_of(const CompressedForm& form, std::size_t unit) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t most = std::min(form.rows, kernels.max_vectors * kernels.lanes);
  std::vector<CompressedPart> parts;
  for (const std::size_t row : {std::size_t{0}, form.rows - most}) {
    for (const std::size_t rows : {std::size_t{1}, most}) {
      for (const std::size_t term : {std::size_t{0}, form.terms / 2 / unit * unit}) {
        for (const std::size_t terms : {unit, (form.terms - term) / unit * unit})
          parts.push_back({row, rows, term, terms});
      }
    }
  }
  return parts;
}

}  // namespace

TEST_CASE("Packed floats of codes have the bits of those that are unpacked and then packed") {
  IR_FOR_EACH_TARGET();
  const GemmKernels& kernels = gemm_kernels();
  for (const CompressedCase& c : cases()) {
    const Weights weights(c);
    std::vector<CompressedPart> parts = parts_of(c.form, 8);
    parts.push_back({0, c.form.rows > 4 ? 5U : 1U, 0, c.form.terms});
    parts.push_back({1, 3, 2, 6});
    for (const CompressedPart& part : parts) {
      INFO(describe(c) << " part " << part.row << " " << part.rows << " " << part.term << " " << part.terms);
      const std::size_t width = kernels.padded(part.rows);
      std::vector<float> rows(part.rows * part.terms);
      decompress(c.form, weights.rows, part, rows.data(), part.terms);
      std::vector<float> expected(part.terms * width);
      kernels.pack_columns_transposed(rows.data(), part.terms, part.terms, part.rows, expected.data());
      GuardedBuffer<float> room(part.terms * width, 16);
      GuardedBuffer<float> packed(expected.size(), 16);
      pack_code_floats(c.form, weights.rows, part, room.data(), packed.data());
      CHECK(packed.guards_intact());
      CHECK(room.guards_intact());
      bool same = true;
      for (std::size_t i = 0; i < expected.size(); ++i)
        same = same && (i % width >= part.rows || packed[i] == expected[i]);
      CHECK(same);
    }
  }
}

TEST_CASE("Packed bytes of codes are their terms, for 4 bits the even ones of eight first") {
  IR_FOR_EACH_TARGET();
  const GemmKernels& kernels = gemm_kernels();
  for (const CompressedCase& c : cases()) {
    const std::size_t unit = terms_together(c.form.code);
    if (!test::is_integer(c.form.code) || c.scaled || c.form.terms % unit != 0) continue;
    const Weights weights(c);  // without scales, floats are the codes
    for (const CompressedPart& part : parts_of(c.form, unit)) {
      INFO(describe(c) << " part " << part.row << " " << part.rows << " " << part.term << " " << part.terms);
      const std::size_t width = kernels.padded(part.rows);
      GuardedBuffer<float> room(part.rows * part.terms / 4, 16);
      GuardedBuffer<float> packed(width * part.terms / 4, 16);
      pack_code_bytes(c.form, weights.rows, part, room.data(), packed.data());
      CHECK(packed.guards_intact());
      CHECK(room.guards_intact());
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(packed.data());
      bool same = true;
      for (std::size_t column = 0; column < part.rows; ++column) {
        for (std::size_t i = 0; i < part.terms; ++i) {
          const std::size_t term = unit == 4 ? i : i / 8 * 8 + i % 4 * 2 + i / 4 % 2;
          const float expected = weights.floats[(part.row + column) * c.form.terms + part.term + term];
          const std::size_t lane = i / 4 * width + column;
          same = same && static_cast<float>(bytes[4 * lane + i % 4]) == expected + unsigned_bias(c.form.code);
        }
      }
      CHECK(same);
    }
  }
}

}  // namespace ir::kernels
