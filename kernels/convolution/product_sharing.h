// How workers share a product whose left operand, outputs of an image by samples, is read in place. Internal
// to kernels/.
#ifndef KERNELS_CONVOLUTION_PRODUCT_SHARING_H_
#define KERNELS_CONVOLUTION_PRODUCT_SHARING_H_

#include <cstddef>

#include "kernels/convolution/convolution_cost.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// Outputs that meet the same weights, and how many workers have nothing else to do.
struct SharedProduct {
  std::size_t terms = 0;  ///< of an output
  std::size_t outputs = 0;
  std::size_t channels = 0;
  std::size_t samples = 0;  ///< that the outputs are made of, in all channels
  std::size_t workers = 1;

  /// Whether they share the outputs rather than the channels. Then more weights pass by each, but panels of
  /// channels are not cut narrower, and each reads samples of its own, not those in another core's cache.
  [[nodiscard]] bool is_cut_by_outputs(const GemmKernels& kernels) const {
    if (workers < 2 || outputs < workers) return false;
    constexpr double kForeign = 1;  // cycles for a sample
    const auto cost = [&](std::size_t rows, std::size_t vectors) {
      const std::size_t columns = vectors * kernels.lanes;
      return with_weights(terms * kernels.product_cost(rows, columns), terms * columns);
    };
    const std::size_t vectors = divide_up(channels, kernels.lanes);
    const std::size_t foreign_samples = samples - samples / workers;
    const double foreign = kForeign * static_cast<double>(foreign_samples);
    return cost(divide_up(outputs, workers), vectors) < cost(outputs, divide_up(vectors, workers)) + foreign;
  }
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_PRODUCT_SHARING_H_
