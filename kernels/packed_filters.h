// Filters of convolutions in the form of an algorithm. Internal to kernels/.
#ifndef KERNELS_PACKED_FILTERS_H_
#define KERNELS_PACKED_FILTERS_H_

#include <cstddef>
#include <utility>

#include "kernels/convolution_geometry.h"
#include "kernels/function_ref.h"
#include "kernels/shared_packing.h"

namespace ir::kernels {

/// See packed_once. `form` names what the packed filters depend on besides their own geometry.
inline PackedFloats packed_filters(const ConvolutionGeometry& geometry, const float* filters, PackedForm form,
                                   std::size_t count, FunctionRef<void(float* to)> pack) {
  form.numbers.insert(form.numbers.end(), {geometry.groups, geometry.out_channels, geometry.in_channels});
  for (const ConvolutionAxis& axis : geometry.axes) form.numbers.push_back(axis.kernel);
  const std::size_t weights =
      geometry.groups * geometry.out_channels * geometry.in_channels * geometry.taps();
  return packed_once({filters, weights}, std::move(form), count, pack);
}

}  // namespace ir::kernels

#endif  // KERNELS_PACKED_FILTERS_H_
