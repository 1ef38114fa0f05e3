// Convolutions that do something to the image, or the results, of another one. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_AROUND_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_AROUND_H_

#include <memory>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/prologue.h"

namespace ir::kernels {

/// Any geometry: applies the prologue to the whole image, in scratch, before `convolution` gets it.
std::unique_ptr<Convolution> create_convolution_after(const Prologue& prologue,
                                                      const ConvolutionGeometry& geometry,
                                                      std::unique_ptr<Convolution> convolution);

/// `convolution`, of floats, with an image of levels of `image` and results that are levels of `results`;
/// each may be empty: floats.
std::unique_ptr<Convolution> create_convolution_of_levels(const ConvolutionGeometry& geometry,
                                                          ChannelQuantization image,
                                                          ChannelQuantization results,
                                                          std::unique_ptr<Convolution> convolution);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_AROUND_H_
