// Images and results that are levels of a quantisation, bytes. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_LEVELS_H_
#define KERNELS_CONVOLUTION_LEVELS_H_

#include <memory>

#include "kernels/convolution_geometry.h"

namespace ir::kernels {

/// Whether the bytes of the image are the integers that the weights' products take.
bool takes_levels(const ConvolutionGeometry& geometry);

/// `convolution`, of floats, with an image of levels of `image` and results that are levels of `results`;
/// each may be nullptr: floats.
std::unique_ptr<Convolution> create_convolution_of_levels(const ConvolutionGeometry& geometry,
                                                          const Quantization* image,
                                                          const Quantization* results,
                                                          std::unique_ptr<Convolution> convolution);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_LEVELS_H_
