// Compressed weights on their way into packed columns (gemm_kernels.h): what moves are lanes of several
// codes, of which there are fewer than of floats. Internal to kernels/.
#ifndef KERNELS_WEIGHTS_PACKED_CODES_H_
#define KERNELS_WEIGHTS_PACKED_CODES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/weights/compressed_weights.h"

namespace ir::kernels {

/// Terms of which a lane of four bytes, or with 4 bits a pair of lanes, consists.
constexpr std::size_t terms_together(WeightCode code) { return bits_of(code) == 4 ? 8 : 4; }

/// How much more than the codes pack_code_bytes() gives.
constexpr float unsigned_bias(WeightCode code) {
  return code == WeightCode::i8 ? 128.0F : code == WeightCode::i4 ? 8.0F : 0.0F;
}

/// The bits of a byte of codes whose change makes them unsigned.
constexpr std::uint8_t sign_bits(WeightCode code) {
  return code == WeightCode::i8 ? 0x80 : code == WeightCode::i4 ? 0x88 : 0;
}

/// Codes of integers as unsigned bytes, four terms to a lane, in one panel of columns: the part's rows are
/// the columns. Its terms begin, and are, a multiple of terms_together(), in which each second one comes
/// first where codes have 4 bits. `rows`: room for the part's codes. Serial.
void pack_code_bytes(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                     float* rows, float* packed);

/// What decompress() gives in one panel of columns. `rows`: room for as many floats as the panel has. Serial.
void pack_code_floats(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                      float* rows, float* packed);

/// Scales and offsets of the groups that the part has terms of, [groups][width of one panel of columns] each.
void pack_group_numbers(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                        float* scales, float* offsets);

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_PACKED_CODES_H_
