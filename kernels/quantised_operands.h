// Bytes of the operands of a product whose rows are quantised while it runs: signed ones of rows, unsigned
// ones of weights. Internal to kernels/.
#ifndef KERNELS_QUANTISED_OPERANDS_H_
#define KERNELS_QUANTISED_OPERANDS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/compressed_weights.h"

namespace ir::kernels {

/// Terms of which a lane of four bytes, or with 4 bits a pair of lanes, consists.
constexpr std::size_t terms_together(WeightCode code) { return bits_of(code) == 4 ? 8 : 4; }

/// What becomes of the groups of a row.
struct QuantisedRow {
  std::int8_t* bytes = nullptr;  ///< [terms]
  float* scale = nullptr;        ///< of group g at scale[g * scale_stride]
  std::size_t scale_stride = 1;
  float* sums = nullptr;  ///< [groups / groups_per_sum], of what the bytes of some stand for
  std::size_t groups_per_sum = 1;
};

/// Bytes from -127 to 127, the nearest to value / scale; the largest of a group gives its scale. Where one is
/// not finite, scale and sum of the group are NaN. `group` divides `terms`; `code`: in the order of
/// pack_codes(). Serial.
void quantise_row(const float* values, std::size_t terms, std::size_t group, WeightCode code,
                  const QuantisedRow& to);

/// How much more than the codes pack_codes() gives.
constexpr float unsigned_bias(WeightCode code) {
  return code == WeightCode::i8 ? 128.0F : code == WeightCode::i4 ? 8.0F : 0.0F;
}

/// Codes of integers as unsigned bytes, four terms to a lane, in a panel of packed columns (gemm_kernels.h):
/// the part's rows are the columns. Its terms begin, and are, a multiple of terms_together(), in which each
/// second one comes first where codes have 4 bits. `rows`: room for the part's codes. Serial.
void pack_codes(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                float* rows, float* packed);

}  // namespace ir::kernels

#endif  // KERNELS_QUANTISED_OPERANDS_H_
