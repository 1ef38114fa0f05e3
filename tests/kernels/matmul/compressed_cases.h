// Compressed weights for tests, and what they stand for.
#ifndef TESTS_KERNELS_MATMUL_COMPRESSED_CASES_H_
#define TESTS_KERNELS_MATMUL_COMPRESSED_CASES_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/packed_types.h"
#include "kernels/matmul/gemm_compressed.h"
#include "kernels/weights/compressed_weights.h"
#include "tests/kernels/matmul/gemm_twin.h"

namespace ir::test {

using kernels::bits_of;
using kernels::CompressedForm;
using kernels::CompressedRows;
using kernels::ScalarType;
using kernels::WeightCode;

/// A form, and what its scales and offsets are like.
struct CompressedCase {
  CompressedForm form;
  bool scaled = false;
  enum class Offsets { none, one, many } offsets = Offsets::none;
};

inline ScalarType type_of(WeightCode code) {
  constexpr std::array kTypes{ScalarType::f16, ScalarType::bf16, ScalarType::u8,
                              ScalarType::i8,  ScalarType::u4,   ScalarType::i4};
  return kTypes[static_cast<std::size_t>(code)];
}

inline bool is_integer(WeightCode code) { return bits_of(code) < 16; }

inline std::string describe(const CompressedCase& c) {
  return "code " + std::to_string(static_cast<int>(c.form.code)) + " rows " + std::to_string(c.form.rows) +
         " terms " + std::to_string(c.form.terms) + " group " + std::to_string(c.form.group) + " offsets " +
         std::to_string(static_cast<int>(c.offsets));
}

/// All kinds of offsets that weights of integers have, with scales; floats have neither, nor groups.
inline std::vector<CompressedCase> cases_of(const CompressedForm& form) {
  using enum CompressedCase::Offsets;
  if (!is_integer(form.code)) return {{{form.code, form.rows, form.terms, form.terms}}};
  return {{form, true, none}, {form, true, one}, {form, true, many}};
}

/// Codes of random weights and, as B of a product, what they stand for.
struct Weights {
  explicit Weights(const CompressedCase& c)
      : codes(c.form.rows * c.form.row_bytes(), 1), floats(c.form.rows * c.form.terms) {
    const CompressedForm& form = c.form;
    fill_random(floats, -1, 1, 7);
    scale.resize(form.rows * form.groups());
    fill_random(scale, 0.5, 1.5, 8);
    offset.resize(c.offsets == CompressedCase::Offsets::many ? scale.size() : 1);
    fill_random(offset, -3, 12, 9);
    for (float& value : offset) value = std::round(value);
    rows = {codes.data(), c.scaled ? scale.data() : nullptr,
            c.offsets == CompressedCase::Offsets::none ? nullptr : offset.data(),
            c.offsets == CompressedCase::Offsets::one};
    if (!is_integer(form.code)) {
      kernels::convert(ScalarType::f32, floats.data(), type_of(form.code), codes.data(), floats.size());
      kernels::convert(type_of(form.code), codes.data(), ScalarType::f32, floats.data(), floats.size());
      return;
    }
    const bool is_signed = form.code == WeightCode::i8 || form.code == WeightCode::i4;
    const int levels = 1 << bits_of(form.code);
    std::vector<std::int32_t> values(floats.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      // All levels, the lowest and the highest, too.
      values[i] = std::min(static_cast<int>((floats[i] + 1) / 2 * static_cast<float>(levels)), levels - 1) -
                  (is_signed ? levels / 2 : 0);
      const std::size_t row = i / form.terms;
      const std::size_t place = row * form.groups() + i % form.terms / form.group;
      const float zero = rows.offset == nullptr ? 0 : offset[rows.one_offset ? 0 : place];
      floats[i] = (static_cast<float>(values[i]) - zero) * (c.scaled ? scale[place] : 1);
    }
    if (bits_of(form.code) == 4) {
      kernels::pack_integers(type_of(form.code), values.data(), 0, codes.data(), values.size());
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) codes[i] = static_cast<std::uint8_t>(values[i]);
    }
  }

  GuardedBuffer<std::uint8_t> codes;
  std::vector<float> floats;
  std::vector<float> scale;
  std::vector<float> offset;
  CompressedRows rows;
};

/// `out`: [m, n]; the scratch holds anything before.
inline void run(const kernels::CompressedGemm& gemm, const Weights& weights, const Data& data, float* out) {
  GuardedBuffer<std::byte> scratch(gemm.scratch_bytes(), 5);
  std::fill(scratch.begin(), scratch.end(), std::byte{0xFF});
  gemm.run(data.a.data(), weights.rows, data.residual.data(), out, scratch.data());
  CHECK(scratch.guards_intact());
}

/// How near a product is, in parts of its magnitudes.
inline double bound_of(const kernels::CompressedGemm& gemm, bool whole_floats) {
  if (gemm.algorithm() != kernels::kCompressedTiles) return 1e-6;
  return whole_floats ? 2e-6 : 6e-5;
}

/// `wanted`: what became of the expected sums.
inline void check_results(const Sums& expected, const std::vector<double>& wanted, const float* results,
                          double bound = 1e-6) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wrong += !(std::abs(results[i] - wanted[i]) <= bound * (expected.magnitudes[i] + 10));
  CHECK(wrong == 0);
}

}  // namespace ir::test

#endif  // TESTS_KERNELS_MATMUL_COMPRESSED_CASES_H_
