// Prepared f32 transposed convolution over N, C and one to three spatial dimensions.
#ifndef KERNELS_CONVOLUTION_DECONVOLUTION_H_
#define KERNELS_CONVOLUTION_DECONVOLUTION_H_

#include <memory>

#include "kernels/convolution/convolution.h"

namespace ir::kernels {

/// Prepares out[n, o, x * stride + t * dilation - pad] += image[n, i, x] * weights[i, o, t], followed by the
/// epilogue (its bias has one value per output channel). `params` reads as for the forward operation: in_dims
/// and in_channels are those of `image`, out_dims and out_channels of `out`; output padding is part of
/// out_dims; positions outside of out_dims are dropped. `weights` [in_channels, out_channels / groups,
/// kernel...] are packed and not needed again; nullptr: they come with every run. The object is used like any
/// Convolution. Unless `params.accurate`, an infinite or NaN sample may make NaN of outputs beside those that
/// it reaches. Definition: ConvolutionBackpropData-1, GroupConvolutionBackpropData-1.
std::unique_ptr<Convolution> create_deconvolution(const ConvolutionParams& params, const float* weights,
                                                  const Epilogue& epilogue);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_DECONVOLUTION_H_
