// Products of compressed weights whose rows are quantised to bytes while they run. Internal to kernels/.
#ifndef KERNELS_GEMM_QUANTISED_H_
#define KERNELS_GEMM_QUANTISED_H_

#include <cstddef>
#include <memory>

#include "kernels/gemm_compressed.h"

namespace ir::kernels {

/// `group`: not 0, from quantised_group(). Only where multiplies_bytes().
std::unique_ptr<CompressedGemm> create_quantised_gemm(std::size_t rows, const CompressedForm& form,
                                                      std::size_t group, const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_GEMM_QUANTISED_H_
