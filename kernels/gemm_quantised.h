// Products of compressed weights whose rows are quantised to bytes while they run. Internal to kernels/.
#ifndef KERNELS_GEMM_QUANTISED_H_
#define KERNELS_GEMM_QUANTISED_H_

#include <cstddef>
#include <memory>

#include "kernels/gemm_compressed.h"

namespace ir::kernels {

/// Terms of a row that get a scale of their own, at most `most`: they divide the groups of weights. 0:
/// weights are no integers, or groups would be too small.
std::size_t quantised_group(const CompressedForm& form, std::size_t most);

/// `group`: not 0, from quantised_group(). Only where multiplies_bytes().
std::unique_ptr<CompressedGemm> create_quantised_gemm(std::size_t rows, const CompressedForm& form,
                                                      std::size_t group, const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_GEMM_QUANTISED_H_
