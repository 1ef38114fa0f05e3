// What the tests of convolutions share: cases, the definition in double, guarded buffers.
#ifndef TESTS_KERNELS_CONVOLUTION_CONVOLUTION_SUPPORT_H_
#define TESTS_KERNELS_CONVOLUTION_CONVOLUTION_SUPPORT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::kernels::test_convolution {

/// A geometry of a list.
struct NamedParams {
  std::string name;
  ConvolutionParams params;
};

using test::GuardedBuffer;

/// The algorithm of small planes, which takes that vectors are no shorter than panels have rows (they are on
/// NEON); "": whichever.
inline std::string small_plane_algorithm() {
  return gemm_kernels().max_rows <= gemm_kernels().lanes ? "small_plane" : "";
}

inline ConvolutionParams plane(std::size_t batch, std::size_t groups, std::size_t in, std::size_t out,
                               std::size_t height, std::size_t width, std::size_t kernel,
                               std::size_t stride = 1, std::ptrdiff_t pad = 0, std::size_t dilation = 1,
                               std::ptrdiff_t pad_end = -1) {
  ConvolutionParams params;
  params.batch = batch;
  params.groups = groups;
  params.in_channels = in;
  params.out_channels = out;
  params.in_dims = {height, width, 1};
  params.kernel = {kernel, kernel, 1};
  params.strides = {stride, stride, 1};
  params.dilations = {dilation, dilation, 1};
  params.pads_begin = {pad, pad, 0};
  if (pad_end < 0) pad_end = pad;
  for (std::size_t i = 0; i < 2; ++i) {
    params.out_dims[i] =
        (params.in_dims[i] + static_cast<std::size_t>(pad + pad_end) - (kernel - 1) * dilation - 1) / stride +
        1;
  }
  return params;
}

/// Two images of three dimensions, the first of which is `depth`: a filter of 3 x 3 x 3 with a stride in one
/// and a dilation in another.
inline ConvolutionParams volume(std::size_t groups, std::size_t in, std::size_t out, std::size_t depth) {
  ConvolutionParams params;
  params.batch = 2;
  params.groups = groups;
  params.in_channels = in;
  params.out_channels = out;
  params.spatial_rank = 3;
  params.in_dims = {depth, 6, 7};
  params.kernel = {3, 3, 3};
  params.strides = {1, 2, 1};
  params.dilations = {1, 1, 2};
  params.pads_begin = {1, 1, 2};
  params.out_dims = {depth, 3, 7};
  return params;
}

/// Volumes of which some depth slices, most or none see nothing but the image.
inline std::vector<NamedParams> cases_of_depth(std::size_t groups, std::size_t in, std::size_t out) {
  std::vector<NamedParams> list;
  const auto add = [&](const std::string& name, std::size_t depth, std::size_t stride, std::size_t dilation,
                       std::ptrdiff_t pad, std::size_t outputs) {
    ConvolutionParams params = volume(groups, in, out, depth);
    params.strides[0] = stride;
    params.dilations[0] = dilation;
    params.pads_begin[0] = pad;
    params.out_dims[0] = outputs;
    list.push_back({name, params});
  };
  add("deep", 11, 1, 1, 1, 11);
  add("deep, stride 2", 12, 2, 1, 2, 7);
  add("deep, stride 3, dilation 2", 14, 3, 2, 4, 6);
  add("deep, cropped", 12, 2, 1, -3, 4);
  add("shallow", 2, 1, 1, 1, 2);
  add("deep, much padding", 3, 2, 1, 9, 9);
  return list;
}

/// Three dimensions without pads, of which each has one sample or some, one tap or more and any stride, all
/// combinations of these. `transposed`: deconvolutions.
inline std::vector<ConvolutionParams> volumes_of_single_samples(std::size_t in, std::size_t out,
                                                                bool transposed) {
  struct Axis {
    std::size_t in, kernel, stride;
  };
  constexpr std::array kAxes{Axis{1, 1, 1}, Axis{1, 1, 3}, Axis{5, 1, 1},
                             Axis{5, 1, 2}, Axis{5, 3, 1}, Axis{5, 5, 2}};
  std::vector<ConvolutionParams> list;
  for (std::size_t i = 0; i < kAxes.size() * kAxes.size() * kAxes.size(); ++i) {
    ConvolutionParams params;
    params.in_channels = in;
    params.out_channels = out;
    params.spatial_rank = 3;
    std::size_t rest = i;
    for (std::size_t k = 0; k < 3; ++k) {
      const Axis& axis = kAxes[rest % kAxes.size()];
      rest /= kAxes.size();
      params.in_dims[k] = axis.in;
      params.kernel[k] = axis.kernel;
      params.strides[k] = axis.stride;
      params.out_dims[k] =
          transposed ? (axis.in - 1) * axis.stride + axis.kernel : (axis.in - axis.kernel) / axis.stride + 1;
    }
    list.push_back(params);
  }
  return list;
}

/// 3 x 3 taps on an image that is cropped, and one of which some outputs see nothing.
inline void add_cut_images(std::vector<NamedParams>& list, std::size_t in, std::size_t out) {
  ConvolutionParams params = plane(1, 1, in, out, 9, 11, 3);
  params.pads_begin = {-1, -2, 0};
  params.out_dims = {6, 7, 1};
  list.push_back({"cropped", params});
  params.pads_begin = {-20, 2, 0};
  params.out_dims = {12, 17, 1};
  list.push_back({"outputs that see nothing", params});
}

/// Nine taps along a single dimension.
inline ConvolutionParams line(std::size_t in, std::size_t out, std::size_t length, std::size_t stride,
                              std::size_t dilation, std::ptrdiff_t pad, std::size_t outputs) {
  ConvolutionParams params;
  params.in_channels = in;
  params.out_channels = out;
  params.spatial_rank = 1;
  params.in_dims[0] = length;
  params.kernel[0] = 9;
  params.strides[0] = stride;
  params.dilations[0] = dilation;
  params.pads_begin[0] = pad;
  params.out_dims[0] = outputs;
  return params;
}

/// What an algorithm keeps of constant weights, in bytes; 0: it does not take the geometry.
inline std::size_t weight_bytes_of(const ConvolutionParams& params, std::string_view name) {
  for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(params, true)) {
    if (algorithm.name == name) return algorithm.weight_bytes;
  }
  return 0;
}

inline std::size_t product(const std::array<std::size_t, 3>& dims, std::size_t rank) {
  std::size_t size = 1;
  for (std::size_t i = 0; i < rank; ++i) size *= dims[i];
  return size;
}

struct Sums {
  std::vector<double> values;
  std::vector<double> magnitudes;  ///< sums of absolute values
};

/// Three axes as signed numbers, for definitions that step over borders.
struct SignedAxes {
  std::array<std::ptrdiff_t, 3> in{1, 1, 1};
  std::array<std::ptrdiff_t, 3> out{1, 1, 1};
  std::array<std::ptrdiff_t, 3> kernel{1, 1, 1};
  std::array<std::ptrdiff_t, 3> stride{1, 1, 1};
  std::array<std::ptrdiff_t, 3> dilation{1, 1, 1};
  std::array<std::ptrdiff_t, 3> pad{0, 0, 0};

  explicit SignedAxes(const ConvolutionParams& p) {
    for (std::size_t i = 0; i < p.spatial_rank; ++i) {
      in[i] = static_cast<std::ptrdiff_t>(p.in_dims[i]);
      out[i] = static_cast<std::ptrdiff_t>(p.out_dims[i]);
      kernel[i] = static_cast<std::ptrdiff_t>(p.kernel[i]);
      stride[i] = static_cast<std::ptrdiff_t>(p.strides[i]);
      dilation[i] = static_cast<std::ptrdiff_t>(p.dilations[i]);
      pad[i] = p.pads_begin[i];
    }
  }
};

/// Straight from the definition.
inline Sums twin(const ConvolutionParams& p, const float* image, const float* weights) {
  const auto [in, out, kernel, stride, dilation, pad] = SignedAxes(p);
  const std::size_t ic = p.in_channels / p.groups;
  const std::size_t oc = p.out_channels / p.groups;
  Sums sums;
  for (std::size_t n = 0; n < p.batch; ++n) {
    for (std::size_t o = 0; o < p.out_channels; ++o) {
      for (std::ptrdiff_t z = 0; z < out[0]; ++z) {
        for (std::ptrdiff_t y = 0; y < out[1]; ++y) {
          for (std::ptrdiff_t x = 0; x < out[2]; ++x) {
            double sum = 0;
            double magnitude = 0;
            for (std::size_t i = 0; i < ic; ++i) {
              const float* channel = image + (n * p.in_channels + o / oc * ic + i) *
                                                 static_cast<std::size_t>(in[0] * in[1] * in[2]);
              const float* taps =
                  weights + (o * ic + i) * static_cast<std::size_t>(kernel[0] * kernel[1] * kernel[2]);
              for (std::ptrdiff_t a = 0; a < kernel[0]; ++a) {
                for (std::ptrdiff_t b = 0; b < kernel[1]; ++b) {
                  for (std::ptrdiff_t c = 0; c < kernel[2]; ++c) {
                    const std::ptrdiff_t iz = z * stride[0] + a * dilation[0] - pad[0];
                    const std::ptrdiff_t iy = y * stride[1] + b * dilation[1] - pad[1];
                    const std::ptrdiff_t ix = x * stride[2] + c * dilation[2] - pad[2];
                    if (iz < 0 || iz >= in[0] || iy < 0 || iy >= in[1] || ix < 0 || ix >= in[2]) continue;
                    const double term = static_cast<double>(channel[(iz * in[1] + iy) * in[2] + ix]) *
                                        static_cast<double>(taps[(a * kernel[1] + b) * kernel[2] + c]);
                    sum += term;
                    magnitude += std::abs(term);
                  }
                }
              }
            }
            sums.values.push_back(sum);
            sums.magnitudes.push_back(magnitude);
          }
        }
      }
    }
  }
  return sums;
}

struct Data {
  GuardedBuffer<float> image;
  GuardedBuffer<float> weights;
  GuardedBuffer<float> bias;
  GuardedBuffer<float> residual;
  GuardedBuffer<float> out;

  explicit Data(const ConvolutionParams& p)
      : image(p.batch * p.in_channels * product(p.in_dims, p.spatial_rank), 1),
        weights(p.out_channels * (p.in_channels / p.groups) * product(p.kernel, p.spatial_rank), 3),
        bias(p.out_channels, 1),
        residual(p.batch * p.out_channels * product(p.out_dims, p.spatial_rank), 5),
        out(residual.size(), 7) {
    test::fill_random(image, -1, 1, 1);
    test::fill_random(weights, -1, 1, 2);
    test::fill_random(bias, -1, 1, 3);
    test::fill_random(residual, -1, 1, 4);
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
  }
};

inline void run(const Convolution& convolution, const Data& data, const float* weights, float* out) {
  GuardedBuffer<std::byte> scratch(convolution.scratch_bytes(), 5);
  // NaN everywhere: what is not written before it is read shows.
  std::fill(scratch.begin(), scratch.end(), std::byte{0xFF});
  convolution.run({data.image.data(), weights, data.residual.data()}, out, scratch.data());
  CHECK(scratch.guards_intact());
}

/// Outputs that are farther from `expected(i)` than is allowed. `slack` is absolute.
template <class Out, class Expected>
std::size_t count_wrong(const Convolution& convolution, const Out& out, const Sums& sums,
                        const Expected& expected, double slack = 0) {
  // Winograd's transforms mix the outputs of a tile, Strassen's form rows and columns: there the largest sum
  // counts.
  const std::string_view name = convolution.algorithm();
  const bool mixes = name.starts_with("winograd") || name.starts_with("strassen");
  // Products of parts of floats.
  const double relative = name == "matrix_tiles" ? 6e-5 : 2e-6;
  const double largest =
      sums.magnitudes.empty() ? 0 : *std::max_element(sums.magnitudes.begin(), sums.magnitudes.end());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double tolerance = (mixes ? 6e-6 * largest : relative * sums.magnitudes[i]) + slack;
    wrong += !(std::abs(static_cast<double>(out[i]) - expected(i)) <= tolerance);
  }
  return wrong;
}

/// Everything that an epilogue can do: bias, residual, clamp to [0, 2], and a hook that adds 10.
inline Epilogue whole_epilogue(const Data& data) {
  Epilogue epilogue;
  epilogue.bias = data.bias.data();
  epilogue.residual = true;
  epilogue.low = 0;
  epilogue.high = 2;
  epilogue.post = [](float* values, std::size_t count, std::size_t, const void*) {
    for (std::size_t i = 0; i < count; ++i) values[i] += 10;
  };
  return epilogue;
}

/// A hook by channel: adds an eighth of the channel's number.
inline void set_hook_by_channel(Epilogue& epilogue) {
  epilogue.post_by_channel = true;
  epilogue.post = [](float* values, std::size_t count, std::size_t channel, const void*) {
    for (std::size_t i = 0; i < count; ++i) values[i] += 0.125F * static_cast<float>(channel);
  };
}

/// Outputs that are farther from what whole_epilogue makes of the sums than is allowed.
template <class Out>
std::size_t count_wrong_after_epilogue(const Convolution& convolution, const ConvolutionParams& params,
                                       const Data& data, const Out& out, const Sums& sums) {
  const std::size_t plane_size = product(params.out_dims, params.spatial_rank);
  const auto value = [&](std::size_t i) {
    const double sum = sums.values[i] + data.bias[i / plane_size % params.out_channels] + data.residual[i];
    return std::clamp(sum, 0.0, 2.0) + 10;
  };
  return count_wrong(convolution, out, sums, value, 24e-6);
}

/// A convolution made with whole_epilogue gives what the definition says, into memory of its own and over the
/// residual.
inline void check_agrees(const Convolution& convolution, const ConvolutionParams& params, const Data& data,
                         const Sums& expected) {
  GuardedBuffer<float> out(data.out.size(), 3);
  run(convolution, data, nullptr, out.data());
  CHECK(out.guards_intact());
  CHECK(count_wrong_after_epilogue(convolution, params, data, out, expected) == 0);

  std::vector<float> in_place(data.residual.data(), data.residual.data() + data.residual.size());
  GuardedBuffer<std::byte> scratch(convolution.scratch_bytes());
  convolution.run({data.image.data(), nullptr, in_place.data()}, in_place.data(), scratch.data());
  CHECK(std::equal(in_place.begin(), in_place.end(), out.begin()));
}

/// What `create(params)` makes gives the same bits on one, two and three threads.
template <class Create>
void check_same_bits(ConvolutionParams params, const Data& data, const Create& create) {
  std::vector<float> results[3];
  for (const std::size_t threads : {1U, 2U, 3U}) {
    params.max_threads = threads;
    std::vector<float>& result = results[threads - 1];
    result.resize(data.out.size());
    const std::unique_ptr<Convolution> convolution = create(params);
    ThreadPool(static_cast<int>(threads)).run([&] { run(*convolution, data, nullptr, result.data()); });
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

/// Makes convolutions of one algorithm.
constexpr auto creator_of(std::string_view algorithm) {
  return [algorithm](const ConvolutionParams& params, const float* weights, const Epilogue& epilogue,
                     const Prologue& prologue = {}) {
    return create_convolution(params, weights, epilogue, prologue, algorithm);
  };
}

/// What `create(params, weights, epilogue)` makes of each geometry agrees with the definition.
template <class Create>
void check_all_agree(const std::vector<NamedParams>& list, std::string_view algorithm, const Create& create) {
  for (const NamedParams& c : list) {
    INFO(c.name);
    const Data data(c.params);
    const auto convolution = create(c.params, data.weights.data(), whole_epilogue(data));
    REQUIRE(convolution != nullptr);
    CHECK(convolution->algorithm() == algorithm);
    check_agrees(*convolution, c.params, data, twin(c.params, data.image.data(), data.weights.data()));
  }
}

/// And gives the same bits on any number of threads.
template <class Create>
void check_all_bits(const std::vector<NamedParams>& list, const Create& create) {
  for (const NamedParams& c : list) {
    INFO(c.name);
    const Data data(c.params);
    check_same_bits(c.params, data, [&](const ConvolutionParams& params) {
      return create(params, data.weights.data(), Epilogue());
    });
  }
}

}  // namespace ir::kernels::test_convolution

#endif  // TESTS_KERNELS_CONVOLUTION_CONVOLUTION_SUPPORT_H_
