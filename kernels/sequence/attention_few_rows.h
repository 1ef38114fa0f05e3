// Attention of a few queries, which read keys and values where they lie: those of a group of heads for the
// next token of a language model. Internal to kernels/.
#ifndef KERNELS_SEQUENCE_ATTENTION_FEW_ROWS_H_
#define KERNELS_SEQUENCE_ATTENTION_FEW_ROWS_H_

#include <cstddef>

#include "kernels/matmul/gemm_kernels.h"
#include "kernels/sequence/attention_rows.h"

namespace ir::kernels {

/// Rows of a matrix, `stride` floats apart.
struct MatrixRows {
  const float* from = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Floats that either function works with, for rows of so many.
std::size_t few_rows_scratch(const GemmKernels& gemm, std::size_t depth);

/// Raw scores: scores[q * stride + k] is the product of query q, of at most as many as a vector has lanes,
/// and key k. Behind the keys lie `more` others.
void score_few_rows(const GemmKernels& gemm, const AttentionRowKernels& kernels, const MatrixRows& queries,
                    const MatrixRows& keys, std::size_t more, float* scratch, float* scores,
                    std::size_t stride);

/// out[q * stride + c] = sum over k of weights (q, k) * values (k, c), or that is added. Behind the values
/// lie `more` others. Only columns of whole vectors; returns how many these are.
std::size_t weigh_few_rows(const GemmKernels& gemm, const MatrixRows& weights, const MatrixRows& values,
                           std::size_t more, float* scratch, float* out, std::size_t stride, bool add);

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_ATTENTION_FEW_ROWS_H_
