#include "kernels/indexing/scatter_loose.h"

#include "kernels/base/bytes.h"

namespace ir::kernels {

IndexResult scatter_update_loose(const ScatterShape& shape, std::span<const std::size_t> offsets,
                                 std::size_t step, std::size_t element_size, const void* data,
                                 IndexView indices, const void* updates, void* out) {
  if (const IndexResult bad = find_bad_index(indices, shape.indices, shape.axis)) return bad;
  if (data != out) copy_bytes(data, out, shape.outer * shape.axis * shape.inner_bytes);
  const std::size_t inner = shape.inner_bytes / element_size;
  with_unit_copy(element_size, [&](auto copy) {
    for (std::size_t i = 0; i < shape.indices; ++i) {
      const std::size_t index = normalize_index(indices[i], shape.axis);
      const char* from = static_cast<const char*>(updates) + i * step * element_size;
      for (std::size_t j = 0; j < offsets.size(); ++j) {
        const std::size_t to = (j / inner * shape.axis + index) * inner + j % inner;
        copy(from + offsets[j] * element_size, static_cast<char*>(out) + to * element_size);
      }
    }
  });
  return {};
}

}  // namespace ir::kernels
