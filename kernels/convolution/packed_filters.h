// Filters of convolutions in the form of an algorithm. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_PACKED_FILTERS_H_
#define KERNELS_CONVOLUTION_PACKED_FILTERS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/convolution/convolution_depth.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/function_ref.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {

/// The geometry of filters, as numbers of a form.
inline std::vector<std::size_t> filter_numbers(const ConvolutionGeometry& geometry) {
  std::vector<std::size_t> numbers{geometry.groups, geometry.out_channels, geometry.in_channels};
  for (const ConvolutionAxis& axis : geometry.axes) numbers.push_back(axis.kernel);
  return numbers;
}

/// See packed_once. `form` names what the packed filters depend on besides their own geometry.
inline PackedFloats packed_filters(const ConvolutionGeometry& geometry, const float* filters, PackedForm form,
                                   std::size_t count, FunctionRef<void(float* to)> pack) {
  const std::vector<std::size_t> numbers = filter_numbers(geometry);
  form.numbers.insert(form.numbers.end(), numbers.begin(), numbers.end());
  return packed_once({filters, geometry.weight_count()}, std::move(form), count, pack);
}

/// Filters as the right operand of products, the columns of which are output channels: [group][block of the
/// sum][panel of channels][term][channel], channels padded to whole vectors. `panels` counts in vectors.
void pack_channels(const ConvolutionGeometry& geometry, const std::vector<DepthBlock>& depth_blocks,
                   const Split& panels, const float* filters, float* to);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_PACKED_FILTERS_H_
