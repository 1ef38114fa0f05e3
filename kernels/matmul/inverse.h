// Inverses of square matrices.
#ifndef KERNELS_MATMUL_INVERSE_H_
#define KERNELS_MATMUL_INVERSE_H_

#include <cstddef>

namespace ir::kernels {

/// Bytes that `scratch` of invert_matrices must have.
template <class T>
std::size_t inverse_scratch_bytes(std::size_t batch, std::size_t size);

/// out[b] = inverse of in[b], or its transpose, for `batch` dense matrices of `size` rows and columns: LU
/// decomposition with partial pivoting, then substitution, all in T. A singular matrix gives infinities and
/// NaN. `out` must not overlap `in`; `scratch` is aligned for size_t and T. Parallel over matrices, and over
/// rows of large ones; the same bits for any number of threads. T: float, double. Definition: Inverse-14,
/// whose "adjoint" is the transposed inverse.
template <class T>
void invert_matrices(const T* in, T* out, std::size_t batch, std::size_t size, bool transposed,
                     std::byte* scratch);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_INVERSE_H_
