// Convolution layers to measure.
#ifndef TESTS_BENCH_LAYERS_H_
#define TESTS_BENCH_LAYERS_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "kernels/convolution/convolution.h"
#include "kernels/convolution/convolution_geometry.h"
#include "tests/bench/measure.h"

namespace ir::bench {

enum class TapsAlong { all_axes, first_axis, last_axis };

/// A layer over `rank` spatial axes of equal sizes, padded so that stride 1 keeps the size.
struct Layer {
  const char* name;
  std::size_t in_channels;
  std::size_t out_channels;
  std::size_t size;
  std::size_t kernel;
  std::size_t stride = 1;
  std::size_t groups = 1;
  std::size_t dilation = 1;
  std::size_t rank = 2;
  TapsAlong taps = TapsAlong::all_axes;

  [[nodiscard]] kernels::ConvolutionParams params() const {
    kernels::ConvolutionParams params;
    params.groups = groups;
    params.in_channels = in_channels;
    params.out_channels = out_channels;
    params.spatial_rank = rank;
    for (std::size_t i = 0; i < rank; ++i) {
      const bool along = taps == TapsAlong::all_axes || i == (taps == TapsAlong::first_axis ? 0 : rank - 1);
      const std::size_t pad = along ? (kernel - 1) * dilation / 2 : 0;
      params.in_dims[i] = size;
      params.kernel[i] = along ? kernel : 1;
      params.strides[i] = stride;
      params.dilations[i] = dilation;
      params.pads_begin[i] = static_cast<std::ptrdiff_t>(pad);
      params.out_dims[i] = (size + 2 * pad - (params.kernel[i] - 1) * dilation - 1) / stride + 1;
    }
    return params;
  }
};

using CreateConvolution = std::function<std::unique_ptr<kernels::Convolution>(
    const kernels::ConvolutionParams& params, const float* weights)>;

/// Measures the layer with the algorithm that `create` gives.
void run_layer(benchmark::State& state, const Layer& layer, const CreateConvolution& create);

}  // namespace ir::bench

#endif  // TESTS_BENCH_LAYERS_H_
