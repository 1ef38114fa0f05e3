// Eye: matrices with ones on a diagonal.
#ifndef KERNELS_CREATION_EYE_H_
#define KERNELS_CREATION_EYE_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

/// Eye-9: out [batch][rows][columns] with out[.., i, i + diagonal] = one and zero bytes elsewhere; nothing is
/// set where the diagonal misses the matrix. `one` and the elements are `element_size` bytes.
void eye(std::size_t batch, std::size_t rows, std::size_t columns, std::int64_t diagonal, const void* one,
         std::size_t element_size, void* out);

}  // namespace ir::kernels

#endif  // KERNELS_CREATION_EYE_H_
