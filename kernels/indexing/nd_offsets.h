// Internal to gather and scatter: which slice of the data each tuple of an N-D index addresses.
#ifndef KERNELS_INDEXING_ND_OFFSETS_H_
#define KERNELS_INDEXING_ND_OFFSETS_H_

#include <cstddef>

#include "kernels/base/indices.h"
#include "kernels/indexing/gather.h"

namespace ir::kernels {

class NdOffsets {
 public:
  NdOffsets(const NdShape& shape, IndexView indices) : shape_(shape), indices_(indices) {
    for (const std::size_t dim : shape.index_dims) slices_per_batch_ *= dim;
  }

  [[nodiscard]] IndexResult find_bad() const {
    const std::size_t depth = shape_.index_dims.size();
    for (std::size_t t = 0; t < shape_.batch * shape_.tuples; ++t) {
      for (std::size_t k = 0; k < depth; ++k) {
        const std::int64_t index = indices_[t * depth + k];
        if (normalize_index(index, shape_.index_dims[k]) == shape_.index_dims[k]) {
          return BadIndex{t * depth + k, index};
        }
      }
    }
    return {};
  }

  /// Number of the slice of tuple `t` (counted over all batches) in the whole data. Indices must be good.
  [[nodiscard]] std::size_t slice(std::size_t t) const {
    const std::size_t depth = shape_.index_dims.size();
    std::size_t offset = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      offset = offset * shape_.index_dims[k] + normalize_index(indices_[t * depth + k], shape_.index_dims[k]);
    }
    return t / shape_.tuples * slices_per_batch_ + offset;
  }

 private:
  const NdShape& shape_;
  IndexView indices_;
  std::size_t slices_per_batch_ = 1;
};

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_ND_OFFSETS_H_
