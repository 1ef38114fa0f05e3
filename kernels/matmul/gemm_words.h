// Products of matrices of 32-bit integers, exact modulo 2^32. Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_WORDS_H_
#define KERNELS_MATMUL_GEMM_WORDS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/gemm.h"

namespace ir::kernels {

/// Some rows of A.
struct WordRows {
  const std::uint32_t* first;
  std::size_t row_stride;
  std::size_t term_stride;
  std::size_t count;
};

/// out = some rows of A times `columns` columns of B, by k terms. Rows of B and of `out` are so many elements
/// apart. Serial.
void multiply_words(const WordRows& a, const std::uint32_t* b, std::size_t b_stride, std::size_t k,
                    std::uint32_t* out, std::size_t out_stride, std::size_t columns);

/// gemm_generic of 32-bit integers, signed or not, whose B is not transposed. B is read
/// where it lies: products of integers are few, and seldom large. Parallel.
void gemm_words(const GemmParams& params, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_WORDS_H_
