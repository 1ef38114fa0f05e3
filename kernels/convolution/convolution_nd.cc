#include "kernels/convolution/convolution_nd.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/accumulator.h"
#include "kernels/base/dims.h"
#include "kernels/base/divide.h"
#include "kernels/base/scalar_type.h"
#include "kernels/matmul/gemm_words.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

// Products of two 64-bit numbers.
__extension__ using Wide = unsigned __int128;

/// Which taps of an axis meet samples, and not what lies between them: those of one residue. Trying all of
/// them would take the square of the length of a kernel that is about as long as its spacing.
struct TapSteps {
  std::ptrdiff_t divisor;  ///< of where outputs and samples that can meet lie
  std::ptrdiff_t period;   ///< from one such tap to the next
  std::ptrdiff_t samples;  ///< from its sample to the next one's
  std::ptrdiff_t inverse;  ///< of `samples`, modulo the period

  TapSteps(std::ptrdiff_t t_step, std::ptrdiff_t spacing)
      : divisor(std::gcd(t_step, spacing)), period(spacing / divisor), samples(t_step / divisor), inverse(0) {
    // Euclid's algorithm.
    std::ptrdiff_t next = 1;
    std::ptrdiff_t larger = period;
    std::ptrdiff_t smaller = modulo(samples);
    while (smaller != 0) {
      inverse = std::exchange(next, inverse - larger / smaller * next);
      larger = std::exchange(smaller, larger % smaller);
    }
    inverse = modulo(inverse);
  }

  /// The first tap for an output that lies at `at`, a multiple of the divisor.
  [[nodiscard]] std::size_t first(std::ptrdiff_t at) const {
    if (period == 1) return 0;
    const auto residue = static_cast<Wide>(modulo(-(at / divisor)));
    return static_cast<std::size_t>(residue * static_cast<Wide>(inverse) % static_cast<Wide>(period));
  }

 private:
  [[nodiscard]] std::ptrdiff_t modulo(std::ptrdiff_t value) const {
    const std::ptrdiff_t rest = value % period;
    return rest < 0 ? rest + period : rest;
  }
};

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
  TapSteps taps = TapSteps(t_step, spacing);
};

/// A tap that meets the image: their flat indices.
struct Hit {
  std::size_t tap;
  std::size_t sample;
};

/// The hits of output `y` of an axis, for each of those of the axes before it.
void append_hits(const GatherAxis& axis, std::ptrdiff_t y, const std::vector<Hit>& before,
                 std::vector<Hit>& hits) {
  const std::ptrdiff_t at = y * axis.y_step + axis.origin;
  if (at % axis.taps.divisor != 0) return;
  std::size_t first = axis.taps.first(at);
  if (first >= axis.kernel) return;
  std::ptrdiff_t first_sample = (at + static_cast<std::ptrdiff_t>(first) * axis.t_step) / axis.spacing;
  const auto period = static_cast<std::size_t>(axis.taps.period);
  const std::ptrdiff_t step = axis.taps.samples;
  const std::ptrdiff_t last_sample = static_cast<std::ptrdiff_t>(axis.in) - 1;
  // Up to the image.
  const std::ptrdiff_t away = step > 0 ? -first_sample : first_sample - last_sample;
  if (away > 0) {
    const std::ptrdiff_t steps = (away - 1) / std::abs(step) + 1;
    first += static_cast<std::size_t>(steps) * period;
    first_sample += steps * step;
  }
  for (const Hit& hit : before) {
    std::ptrdiff_t sample = first_sample;
    for (std::size_t tap = first; tap < axis.kernel && sample >= 0 && sample <= last_sample; tap += period) {
      hits.push_back({hit.tap * axis.kernel + tap, hit.sample * axis.in + static_cast<std::size_t>(sample)});
      sample += step;
    }
  }
}

/// The hits of the output at flat index `position`, in tap order; `scratch` is memory to reuse.
void find_hits(const std::vector<GatherAxis>& axes, std::size_t position, std::vector<Hit>& hits,
               std::vector<Hit>& scratch) {
  std::size_t outputs = 1;
  for (const GatherAxis& axis : axes) outputs *= axis.out;
  hits.assign(1, Hit{0, 0});
  for (const GatherAxis& axis : axes) {
    outputs /= axis.out;
    scratch.clear();
    append_hits(axis, static_cast<std::ptrdiff_t>(position / outputs % axis.out), hits, scratch);
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
  std::size_t hits_at_most = 1;
  for (const GatherAxis& axis : axes) {
    in_size *= axis.in;
    out_size *= axis.out;
    hits_at_most *= divide_up(axis.kernel, static_cast<std::size_t>(axis.taps.period));
  }
  const std::size_t in_channels = params.in_channels / params.groups;
  const std::size_t out_channels = params.out_channels / params.groups;
  parallel_for(
      params.batch * params.groups * out_size, grain_for_cost(in_channels * out_channels * hits_at_most),
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
                partial += static_cast<Sum>(samples[hit.sample]) * static_cast<Sum>(factors[hit.tap]);
              }
              sum += partial;
            }
            out[(batch_group * out_channels + o) * out_size + position] = static_cast<T>(sum);
          }
        }
      });
}

/// Convolutions of 32-bit integers as products: weights times columns that hold what the taps of a position
/// read.
class WordConvolution {
 public:
  WordConvolution(const ConvolutionNdParams& params, std::vector<GatherAxis> axes)
      : params_(params),
        axes_(std::move(axes)),
        in_size_(product(params.in_dims)),
        out_size_(product(params.out_dims)),
        taps_(product(params.kernel)),
        in_channels_(params.in_channels / params.groups),
        out_channels_(params.out_channels / params.groups) {}

  /// Whether the columns stay in a cache, and rows of weights are enough to be worth them.
  [[nodiscard]] bool is_worthwhile() const {
    constexpr std::size_t kMostTerms = std::size_t{1} << 12;
    return out_channels_ >= 4 && taps_ <= kMostTerms && terms() <= kMostTerms;
  }

  void run(const std::uint32_t* image, const std::uint32_t* weights, std::uint32_t* out) const {
    const std::size_t blocks = divide_up(out_size_, kPositions);
    parallel_for(
        params_.batch * params_.groups * blocks, grain_for_cost(terms() * out_channels_ * kPositions / 8),
        [&](std::size_t begin, std::size_t end) {
          std::vector<std::uint32_t> columns(terms() * kPositions);
          for (std::size_t index = begin; index < end; ++index) {
            const std::size_t position = index % blocks * kPositions;
            const std::size_t count = std::min(kPositions, out_size_ - position);
            const std::size_t batch_group = index / blocks;
            fill(image + batch_group * in_channels_ * in_size_, position, count, columns);
            const std::uint32_t* rows = weights + batch_group % params_.groups * out_channels_ * terms();
            multiply_words({rows, terms(), 1, out_channels_}, columns.data(), kPositions, terms(),
                           out + batch_group * out_channels_ * out_size_ + position, out_size_, count);
          }
        });
  }

 private:
  static constexpr std::size_t kPositions = 64;

  [[nodiscard]] std::size_t terms() const { return in_channels_ * taps_; }

  void fill(const std::uint32_t* image, std::size_t first, std::size_t count,
            std::vector<std::uint32_t>& columns) const {
    std::fill(columns.begin(), columns.end(), 0);
    std::vector<Hit> hits;
    std::vector<Hit> scratch;
    for (std::size_t p = 0; p < count; ++p) {
      find_hits(axes_, first + p, hits, scratch);
      for (std::size_t i = 0; i < in_channels_; ++i) {
        const std::uint32_t* samples = image + i * in_size_;
        std::uint32_t* column = columns.data() + i * taps_ * kPositions + p;
        for (const Hit& hit : hits) column[hit.tap * kPositions] = samples[hit.sample];
      }
    }
  }

  const ConvolutionNdParams& params_;
  std::vector<GatherAxis> axes_;
  std::size_t in_size_;
  std::size_t out_size_;
  std::size_t taps_;
  std::size_t in_channels_;
  std::size_t out_channels_;
};

/// A single tap may have any dilation, with which nobody is to reckon.
std::ptrdiff_t distance_of_taps(const ConvolutionNdParams& params, std::size_t axis) {
  return params.kernel[axis] <= 1 ? 1 : static_cast<std::ptrdiff_t>(params.dilations[axis]);
}

std::vector<GatherAxis> forward_axes(const ConvolutionNdParams& params) {
  std::vector<GatherAxis> axes;
  for (std::size_t i = 0; i < params.in_dims.size(); ++i) {
    axes.push_back({params.in_dims[i], params.out_dims[i], params.kernel[i],
                    static_cast<std::ptrdiff_t>(params.strides[i]), distance_of_taps(params, i),
                    -params.pads_begin[i], static_cast<std::ptrdiff_t>(params.data_dilations[i])});
  }
  return axes;
}

std::vector<GatherAxis> transposed_axes(const ConvolutionNdParams& params) {
  std::vector<GatherAxis> axes;
  for (std::size_t i = 0; i < params.in_dims.size(); ++i) {
    axes.push_back({params.in_dims[i], params.out_dims[i], params.kernel[i], 1, -distance_of_taps(params, i),
                    params.pads_begin[i], static_cast<std::ptrdiff_t>(params.strides[i])});
  }
  return axes;
}

}  // namespace

template <class T>
void convolution_nd(const ConvolutionNdParams& params, const T* image, const T* weights, T* out) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(std::uint32_t)) {
    using Word = std::uint32_t;  // what wraps is the same for both signs
    const WordConvolution convolution(params, forward_axes(params));
    if (convolution.is_worthwhile())
      return convolution.run(reinterpret_cast<const Word*>(image), reinterpret_cast<const Word*>(weights),
                             reinterpret_cast<Word*>(out));
  }
  const std::size_t taps = product(params.kernel);
  const std::size_t in_channels = params.in_channels / params.groups;
  const WeightStrides strides{params.out_channels / params.groups * in_channels * taps, taps,
                              in_channels * taps};
  gather(params, forward_axes(params), strides, image, weights, out);
}

template <class T>
void deconvolution_nd(const ConvolutionNdParams& params, const T* image, const T* weights, T* out) {
  const std::size_t taps = product(params.kernel);
  const std::size_t out_channels = params.out_channels / params.groups;
  const WeightStrides strides{params.in_channels / params.groups * out_channels * taps, out_channels * taps,
                              taps};
  gather(params, transposed_axes(params), strides, image, weights, out);
}

#define IR_CONVOLUTION_ND(T)                                                        \
  template void convolution_nd(const ConvolutionNdParams&, const T*, const T*, T*); \
  template void deconvolution_nd(const ConvolutionNdParams&, const T*, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_CONVOLUTION_ND)
#undef IR_CONVOLUTION_ND

}  // namespace ir::kernels
