// Products of compressed weights whose rows meet codes where these lie. Internal to kernels/.
#ifndef KERNELS_GEMM_ARRANGED_H_
#define KERNELS_GEMM_ARRANGED_H_

#include <cstddef>
#include <memory>

#include "kernels/gemm_compressed.h"

namespace ir::kernels {

/// For at most most_arranged_rows() rows that stay floats, `group` 0; or for any number of rows that are
/// quantised, with a scale for `group` terms (quantised_group()), where dots_nibbles().
std::unique_ptr<CompressedGemm> create_arranged_gemm(std::size_t rows, const CompressedForm& form,
                                                     std::size_t group, const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_GEMM_ARRANGED_H_
