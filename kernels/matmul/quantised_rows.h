// Rows of a product that are quantised to bytes while it runs. Internal to kernels/.
#ifndef KERNELS_MATMUL_QUANTISED_ROWS_H_
#define KERNELS_MATMUL_QUANTISED_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/weights/compressed_weights.h"

namespace ir::kernels {

/// Terms of a row that get a scale of their own, at most `most`: they divide the groups of weights. 0:
/// weights are no integers, or groups would be too small.
std::size_t quantised_group(const CompressedForm& form, std::size_t most);

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
/// pack_code_bytes(). Serial.
void quantise_row(const float* values, std::size_t terms, std::size_t group, WeightCode code,
                  const QuantisedRow& to);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_QUANTISED_ROWS_H_
