#include "kernels/indexing/nd_offsets.h"

namespace ir::kernels {

void NdOffsets::find(std::size_t first, std::size_t count, std::size_t* slices) const {
  const std::size_t depth = shape_.index_dims.size();
  // A batch is one more dim before the others.
  for (std::size_t i = 0; i < count; ++i) slices[i] = shape_.batch == 1 ? 0 : (first + i) / shape_.tuples;
  indices_.with_elements([&](const auto& elements) {
    for (std::size_t k = 0; k < depth; ++k) {
      const std::size_t dim = shape_.index_dims[k];
      std::size_t at = first * depth + k;
      for (std::size_t i = 0; i < count; ++i, at += depth) {
        const std::int64_t index = elements[at];
        // Without a branch, which would be mispredicted where signs are mixed.
        const std::size_t from_end = static_cast<std::size_t>(index >> 63) & dim;
        slices[i] = slices[i] * dim + static_cast<std::size_t>(index) + from_end;
      }
    }
  });
}

IndexResult NdOffsets::find_bad() const {
  const std::size_t depth = shape_.index_dims.size();
  if (depth == 0 || are_indices(indices_, 0, shape_.batch * shape_.tuples * depth, shape_.index_dims))
    return {};
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

}  // namespace ir::kernels
