// The dims of tensors.
#ifndef KERNELS_BASE_DIMS_H_
#define KERNELS_BASE_DIMS_H_

#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

namespace ir::kernels {

using Dims = std::span<const std::size_t>;

/// 1 for no dims.
inline std::size_t product(Dims dims) {
  return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_DIMS_H_
