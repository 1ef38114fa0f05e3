// Products with weights in Strassen's form. Internal to kernels/.
#ifndef KERNELS_STRASSEN_GEMM_STRASSEN_H_
#define KERNELS_STRASSEN_GEMM_STRASSEN_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "kernels/matmul/gemm.h"

namespace ir::kernels {

/// A form by how many slices each dim has: 2 for seven products of halves, 4 for seven of each of those.
struct StrassenForm {
  std::string_view name;
  std::size_t slices;
};
inline constexpr StrassenForm kStrassenForms[] = {{"strassen", 2}, {"strassen_twice", 4}};

/// Whether A and B are single matrices, B is known, and there is something to halve.
bool takes_strassen(const GemmParams& params, std::size_t slices);

/// About the cycles of a product that takes it, and a few percent.
double strassen_gemm_cost(const GemmParams& params, std::size_t slices);

/// For a product that takes it.
std::unique_ptr<Gemm> create_strassen_gemm(const GemmParams& params, const float* constant,
                                           const Epilogue& epilogue, std::size_t slices);

/// The same product with `out` and the residual stored transposed, as [n, m]. Its bias is one per column; to
/// a hook by channel, columns are the channels.
std::unique_ptr<Gemm> create_turned_strassen_gemm(const GemmParams& params, const float* constant,
                                                  const Epilogue& epilogue, std::size_t slices);

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_GEMM_STRASSEN_H_
