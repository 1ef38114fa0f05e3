// Convolution and its transpose over any number of spatial dimensions and any element type: correct and
// parallel, not fast. The f32 hot paths are in convolution.h and deconvolution.h.
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_ND_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_ND_H_

#include <cstddef>
#include <vector>

namespace ir::kernels {

/// Geometry. All vectors have one entry per spatial dimension, outermost first.
struct ConvolutionNdParams {
  std::size_t batch = 1;
  std::size_t groups = 1;
  std::size_t in_channels = 0;   ///< over all groups
  std::size_t out_channels = 0;  ///< over all groups
  std::vector<std::size_t> in_dims;
  std::vector<std::size_t> out_dims;
  std::vector<std::size_t> kernel;
  std::vector<std::size_t> strides;
  std::vector<std::size_t> dilations;
  /// Distance between the samples of the image once zeros are put between them, before padding (nGraph's data
  /// dilation); all 1 for the operations of the opsets. Ignored by the transposed form.
  std::vector<std::size_t> data_dilations;
  /// May be negative (crops). `out_dims` says where the sums end; what lies outside of the image is zero.
  std::vector<std::ptrdiff_t> pads_begin;
};

/// out[n, o, y] = sum over i, t of weights[o, i, t] * image[n, i, (y * stride + t * dilation - pad) /
/// data_dilation]. image [batch, in_channels, in_dims...], weights [out_channels, in_channels / groups,
/// kernel...], out [batch, out_channels, out_dims...]; no overlap of out. float sums in float (one partial
/// sum per input channel), double in double, integers in 64 bits, wrapping to T at the end. T: float, double,
/// (u)int8_t .. (u)int64_t. Definition: Convolution-1, GroupConvolution-1.
template <class T>
void convolution_nd(const ConvolutionNdParams& params, const T* image, const T* weights, T* out);

/// The transpose: out[n, o, x * stride + t * dilation - pad] += image[n, i, x] * weights[i, o, t]; positions
/// outside of out_dims are dropped. weights [in_channels, out_channels / groups, kernel...]; output padding
/// is part of out_dims. Types and sums as above. Definition: ConvolutionBackpropData-1,
/// GroupConvolutionBackpropData-1.
template <class T>
void deconvolution_nd(const ConvolutionNdParams& params, const T* image, const T* weights, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_ND_H_
