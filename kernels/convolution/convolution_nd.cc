#include "kernels/convolution/convolution_nd.h"

#include "kernels/base/accumulator.h"
#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Along one axis, output y and tap t read sample q of the image when y * y_step + t * t_step + origin equals
/// q * spacing. Both directions of convolution are of this form: each output gathers, nothing is scattered.
struct GatherAxis {
  std::size_t in;
  std::size_t out;
  std::size_t kernel;
  std::ptrdiff_t y_step;
  std::ptrdiff_t t_step;
  std::ptrdiff_t origin;
  std::ptrdiff_t spacing;
};

/// A tap that meets the image: their flat indices.
struct Hit {
  std::size_t tap;
  std::size_t sample;
};

/// The hits of the output at flat index `position`, in tap order; `scratch` is memory to reuse.
void find_hits(const std::vector<GatherAxis>& axes, std::size_t position, std::vector<Hit>& hits,
               std::vector<Hit>& scratch) {
  std::size_t outputs = 1;
  for (const GatherAxis& axis : axes) outputs *= axis.out;
  hits.assign(1, Hit{0, 0});
  for (const GatherAxis& axis : axes) {
    outputs /= axis.out;
    const auto y = static_cast<std::ptrdiff_t>(position / outputs % axis.out);
    scratch.clear();
    for (const Hit& hit : hits) {
      for (std::size_t tap = 0; tap < axis.kernel; ++tap) {
        const std::ptrdiff_t at =
            y * axis.y_step + static_cast<std::ptrdiff_t>(tap) * axis.t_step + axis.origin;
        if (at < 0 || at % axis.spacing != 0) continue;
        const auto sample = static_cast<std::size_t>(at / axis.spacing);
        if (sample < axis.in) scratch.push_back({hit.tap * axis.kernel + tap, hit.sample * axis.in + sample});
      }
    }
    hits.swap(scratch);
  }
}

/// Distances between the weights of neighbouring channels of one group, and of groups.
struct WeightStrides {
  std::size_t group;
  std::size_t in_channel;
  std::size_t out_channel;
};

template <class T>
void gather(const ConvolutionNdParams& params, const std::vector<GatherAxis>& axes,
            const WeightStrides& strides, const T* image, const T* weights, T* out) {
  using Sum = Accumulator<T>;
  std::size_t in_size = 1;
  std::size_t out_size = 1;
  std::size_t taps = 1;
  for (const GatherAxis& axis : axes) {
    in_size *= axis.in;
    out_size *= axis.out;
    taps *= axis.kernel;
  }
  const std::size_t in_channels = params.in_channels / params.groups;
  const std::size_t out_channels = params.out_channels / params.groups;
  parallel_for(params.batch * params.groups * out_size, grain_for_cost(in_channels * out_channels * taps),
               [&](std::size_t begin, std::size_t end) {
                 std::vector<Hit> hits;
                 std::vector<Hit> scratch;
                 for (std::size_t index = begin; index < end; ++index) {
                   const std::size_t position = index % out_size;
                   const std::size_t batch_group = index / out_size;
                   const T* group_image = image + batch_group * in_channels * in_size;
                   const T* group_weights = weights + batch_group % params.groups * strides.group;
                   find_hits(axes, position, hits, scratch);
                   for (std::size_t o = 0; o < out_channels; ++o) {
                     Sum sum{};
                     for (std::size_t i = 0; i < in_channels; ++i) {
                       const T* samples = group_image + i * in_size;
                       const T* factors = group_weights + o * strides.out_channel + i * strides.in_channel;
                       Sum partial{};
                       for (const Hit& hit : hits) {
                         partial +=
                             static_cast<Sum>(samples[hit.sample]) * static_cast<Sum>(factors[hit.tap]);
                       }
                       sum += partial;
                     }
                     out[(batch_group * out_channels + o) * out_size + position] = static_cast<T>(sum);
                   }
                 }
               });
}

std::size_t product(const std::vector<std::size_t>& values) {
  std::size_t result = 1;
  for (const std::size_t value : values) result *= value;
  return result;
}

}  // namespace

template <class T>
void convolution_nd(const ConvolutionNdParams& params, const T* image, const T* weights, T* out) {
  std::vector<GatherAxis> axes;
  for (std::size_t i = 0; i < params.in_dims.size(); ++i) {
    axes.push_back({params.in_dims[i], params.out_dims[i], params.kernel[i],
                    static_cast<std::ptrdiff_t>(params.strides[i]),
                    static_cast<std::ptrdiff_t>(params.dilations[i]), -params.pads_begin[i],
                    static_cast<std::ptrdiff_t>(params.data_dilations[i])});
  }
  const std::size_t taps = product(params.kernel);
  const std::size_t in_channels = params.in_channels / params.groups;
  const WeightStrides strides{params.out_channels / params.groups * in_channels * taps, taps,
                              in_channels * taps};
  gather(params, axes, strides, image, weights, out);
}

template <class T>
void deconvolution_nd(const ConvolutionNdParams& params, const T* image, const T* weights, T* out) {
  std::vector<GatherAxis> axes;
  for (std::size_t i = 0; i < params.in_dims.size(); ++i) {
    axes.push_back({params.in_dims[i], params.out_dims[i], params.kernel[i], 1,
                    -static_cast<std::ptrdiff_t>(params.dilations[i]), params.pads_begin[i],
                    static_cast<std::ptrdiff_t>(params.strides[i])});
  }
  const std::size_t taps = product(params.kernel);
  const std::size_t out_channels = params.out_channels / params.groups;
  const WeightStrides strides{params.in_channels / params.groups * out_channels * taps, out_channels * taps,
                              taps};
  gather(params, axes, strides, image, weights, out);
}

#define IR_CONVOLUTION_ND(T)                                                        \
  template void convolution_nd(const ConvolutionNdParams&, const T*, const T*, T*); \
  template void deconvolution_nd(const ConvolutionNdParams&, const T*, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_CONVOLUTION_ND)
#undef IR_CONVOLUTION_ND

}  // namespace ir::kernels
