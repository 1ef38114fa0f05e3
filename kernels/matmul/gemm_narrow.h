// A few rows times large known weights, which are kept in 8, 16 or 24 bits: it takes as long as reading them
// does.
// Internal to kernels/.
#ifndef KERNELS_MATMUL_GEMM_NARROW_H_
#define KERNELS_MATMUL_GEMM_NARROW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_compressed.h"

namespace ir::kernels {

inline constexpr std::string_view kNarrow = "gemv_narrow";

/// Whether it is one row, or very few, times one matrix B that is known, and so large that no cache keeps it.
bool takes_narrow(const GemmParams& params);

/// Of more weights (256 MiB of floats), those that would lie in memory anyway stay as they are unless narrow
/// ones are asked for: to make them takes as long as they save in ten to twenty runs, and that is more than a
/// tenth of a second then.
inline constexpr std::size_t kMostUnasked = std::size_t{1} << 26;

/// About the cycles of very few rows times weights of so many bits each.
double row_cost(const GemmParams& params, std::size_t bits);

/// For a product that takes it.
std::unique_ptr<Gemm> create_narrow_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue);

/// The same for weights that are codes: halves, and bytes with a scale for each column and no offset. Reading
/// these where they lie takes about as long, so there must be zeros, too, and at most kMostUnasked of them.
bool takes_narrow_codes(std::size_t rows, const CompressedForm& form, const CompressedOperands& known);

/// For a product that takes it.
std::unique_ptr<CompressedGemm> create_narrow_compressed_gemm(const CompressedForm& form,
                                                              const std::uint8_t* codes,
                                                              const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_NARROW_H_
