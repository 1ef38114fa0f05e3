// Where the products of a batch lie. Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_BATCH_H_
#define KERNELS_MATMUL_GEMM_BATCH_H_

#include <cstddef>
#include <vector>

#include "kernels/matmul/gemm.h"

namespace ir::kernels {

struct BatchOffsets {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Where the operands of product `index` of the batch start.
inline BatchOffsets batch_offsets(const std::vector<GemmBatchAxis>& batch, std::size_t index) {
  BatchOffsets offsets;
  for (auto axis = batch.rbegin(); axis != batch.rend(); ++axis) {
    offsets.a += index % axis->count * axis->a_stride;
    offsets.b += index % axis->count * axis->b_stride;
    index /= axis->count;
  }
  return offsets;
}

inline std::size_t batch_count(const std::vector<GemmBatchAxis>& batch) {
  std::size_t count = 1;
  for (const GemmBatchAxis& axis : batch) count *= axis.count;
  return count;
}

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_BATCH_H_
