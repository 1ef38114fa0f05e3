// Convolutions: the algorithm that is chosen for a layer, and each that could be.
#include <fmt/format.h>

#include "tests/bench/layers.h"

namespace ir::bench {
namespace {

using kernels::ConvolutionGeometry;
using kernels::ConvolutionParams;

/// Besides those that take any layer.
enum class Algorithms { none, winograd, winograd_lines, small_plane, taps };

struct Case {
  Layer layer;
  Algorithms algorithms = Algorithms::none;
};

const Case kCases[] = {
    {{"first_7x7_s2_3to64_224", 3, 64, 224, 7, 2}, Algorithms::winograd_lines},
    {{"first_3x3_s2_3to32_224", 3, 32, 224, 3, 2}},
    {{"1x1_64to256_56", 64, 256, 56, 1}},
    {{"1x1_96to24_56", 96, 24, 56, 1}},
    {{"1x1_256to64_56", 256, 64, 56, 1}},
    {{"1x1_512to128_28", 512, 128, 28, 1}},
    {{"1x1_128to512_28", 128, 512, 28, 1}},
    {{"1x1_512to256_28", 512, 256, 28, 1}},
    {{"1x1_1024to256_14", 1024, 256, 14, 1}},
    {{"1x1_256to1024_14", 256, 1024, 14, 1}},
    {{"1x1_512to2048_7", 512, 2048, 7, 1}, Algorithms::small_plane},
    {{"1x1_2048to512_7", 2048, 512, 7, 1}, Algorithms::small_plane},
    {{"1x1_160to960_7", 160, 960, 7, 1}, Algorithms::small_plane},
    {{"1x1_960to160_7", 960, 160, 7, 1}, Algorithms::small_plane},
    {{"1x1_320to256_16", 320, 256, 16, 1}},
    {{"1x1_768to192_17", 768, 192, 17, 1}},
    {{"1x1_512to512_64", 512, 512, 64, 1}},
    {{"1x1_s2_256to512_56", 256, 512, 56, 1, 2}},
    {{"3x3_64_56", 64, 64, 56, 3}, Algorithms::winograd},
    {{"3x3_128_28", 128, 128, 28, 3}, Algorithms::winograd},
    {{"3x3_256_14", 256, 256, 14, 3}, Algorithms::winograd},
    {{"3x3_512_7", 512, 512, 7, 3}, Algorithms::winograd},
    {{"3x3_512_14", 512, 512, 14, 3}, Algorithms::winograd},
    {{"3x3_64_224", 64, 64, 224, 3}, Algorithms::winograd},
    {{"3x3_128_112", 128, 128, 112, 3}, Algorithms::winograd},
    {{"3x3_256_56", 256, 256, 56, 3}, Algorithms::winograd},
    {{"3x3_512_28", 512, 512, 28, 3}, Algorithms::winograd},
    {{"3x3_s2_128_56", 128, 128, 56, 3, 2}},
    {{"3x3_dilated_256_28", 256, 256, 28, 3, 1, 1, 2}, Algorithms::taps},
    {{"3x3_dilated12_960to256_16", 960, 256, 16, 3, 1, 1, 12}, Algorithms::taps},
    {{"3x3_s2_256to512_14", 256, 512, 14, 3, 2}, Algorithms::taps},
    {{"3x3_groups13_208_14", 208, 208, 14, 3, 1, 13}},
    {{"3x3_groups6_48_56", 48, 48, 56, 3, 1, 6}, Algorithms::winograd},
    {{"3x3_groups26_208_14", 208, 208, 14, 3, 1, 26}, Algorithms::winograd},
    {{"3x3_s2_groups26_208_28", 208, 208, 28, 3, 2, 26}},
    {{"3x3_groups42_672_7", 672, 672, 7, 3, 1, 42}},
    {{"3x3_s2_groups42_672_14", 672, 672, 14, 3, 2, 42}},
    {{"3x3_s2_16to32_208", 16, 32, 208, 3, 2}},
    {{"1x1_groups8_384to96_28", 384, 96, 28, 1, 1, 8}},
    {{"5x5_32to96_28", 32, 96, 28, 5}, Algorithms::winograd_lines},
    {{"1x7_192_17", 192, 192, 17, 7, 1, 1, 1, 2, TapsAlong::last_axis}, Algorithms::winograd_lines},
    {{"7x1_192_17", 192, 192, 17, 7, 1, 1, 1, 2, TapsAlong::first_axis}, Algorithms::winograd_lines},
    {{"1x3_384_8", 384, 384, 8, 3, 1, 1, 1, 2, TapsAlong::last_axis}, Algorithms::winograd_lines},
    {{"3x1x1_64_28", 64, 64, 28, 3, 1, 1, 1, 3, TapsAlong::first_axis}, Algorithms::winograd_lines},
    {{"1d_5_64_400", 64, 64, 400, 5, 1, 1, 1, 1}, Algorithms::winograd_lines},
    {{"1d_9_256_400", 256, 256, 400, 9, 1, 1, 1, 1}, Algorithms::winograd_lines},
    {{"3d_3x3x3_64_28", 64, 64, 28, 3, 1, 1, 1, 3}, Algorithms::winograd},
};

void add_layer(const Layer& layer, std::string_view algorithm, const CreateConvolution& create) {
  add(fmt::format("convolution/{}/{}", layer.name, algorithm),
      [layer, create](benchmark::State& state) { run_layer(state, layer, create); });
}

/// The same weights as integers of a byte, and an image of such: the fastest algorithm for those; nullptr
/// where the SIMD target has none.
std::unique_ptr<kernels::Convolution> convolution_of_integers(ConvolutionParams params,
                                                              const float* weights) {
  std::size_t count = params.out_channels * (params.in_channels / params.groups);
  for (std::size_t i = 0; i < params.spatial_rank; ++i) count *= params.kernel[i];
  const std::vector<float> integers = quantised(weights, count);
  params.integers = kernels::integer_filters(params, integers.data(), kBytes);
  for (const kernels::ConvolutionAlgorithm& algorithm : kernels::convolution_algorithms(params, true)) {
    if (algorithm.name.starts_with("integer"))
      return kernels::create_convolution(params, integers.data(), {}, {}, algorithm.name);
  }
  return nullptr;
}

}  // namespace

void run_layer(benchmark::State& state, const Layer& layer, const CreateConvolution& create) {
  const ConvolutionParams params = layer.params();
  std::size_t in_size = 1;
  std::size_t out_size = 1;
  std::size_t taps = 1;
  for (std::size_t i = 0; i < params.spatial_rank; ++i) {
    in_size *= params.in_dims[i];
    out_size *= params.out_dims[i];
    taps *= params.kernel[i];
  }
  const std::vector<float> image = random_floats(params.in_channels * in_size);
  const std::vector<float> weights =
      random_floats(params.out_channels * (params.in_channels / params.groups) * taps);
  std::vector<float> out(params.out_channels * out_size);
  const auto convolution = prepared([&] { return create(params, weights.data()); });
  if (convolution == nullptr) {
    state.SkipWithError("the algorithm does not take this layer");
    return;
  }
  std::vector<std::byte> scratch(convolution->scratch_bytes());
  const Work work{2.0 * static_cast<double>(weights.size()) * static_cast<double>(out_size),
                  static_cast<double>((image.size() + weights.size() + out.size()) * sizeof(float))};
  measure(state, work, [&] { convolution->run({image.data(), weights.data()}, out.data(), scratch.data()); });
  state.SetLabel(std::string(convolution->algorithm()));
}

void register_convolution() {
  for (const auto& [layer, algorithms] : kCases) {
    add_layer(layer, "chosen", [](const ConvolutionParams& params, const float* weights) {
      return kernels::create_convolution(params, weights, {});
    });
    add_layer(layer, "direct", [](const ConvolutionParams& params, const float* weights) {
      return kernels::create_direct_convolution(ConvolutionGeometry(params), weights, {});
    });
    if (layer.kernel != 1) {
      add_layer(layer, "direct_channels", [](const ConvolutionParams& params, const float* weights) {
        return kernels::create_direct_channels(ConvolutionGeometry(params), weights, {});
      });
    }
    add_layer(layer, "product", [](const ConvolutionParams& params, const float* weights) {
      return kernels::create_gemm_convolution(ConvolutionGeometry(params), weights, {});
    });
    add_layer(layer, "integers", convolution_of_integers);
    if (layer.kernel == 1 && layer.stride == 1) {
      for (const std::string_view form : {"strassen", "strassen_twice"}) {
        add_layer(layer, form, [form](const ConvolutionParams& params, const float* weights) {
          return kernels::create_convolution(params, weights, {}, {}, form);
        });
      }
      add_layer(layer, "of_clamped_image", [](const ConvolutionParams& params, const float* weights) {
        return kernels::create_convolution(params, weights, {}, {.low = 0});
      });
    }
    if (algorithms == Algorithms::small_plane) {
      add_layer(layer, "small_plane", [](const ConvolutionParams& params, const float* weights) {
        return kernels::create_small_plane_convolution(ConvolutionGeometry(params), weights, {});
      });
    }
    if (algorithms == Algorithms::taps) {
      add_layer(layer, "tap_by_tap", [](const ConvolutionParams& params, const float* weights) {
        return kernels::create_tap_by_tap_convolution(ConvolutionGeometry(params), weights, {});
      });
    }
    if (layer.dilation != 1) {
      for (const std::string_view form : {"winograd_dilated", "winograd_dilated_compact"}) {
        add_layer(layer, form, [form](const ConvolutionParams& params, const float* weights) {
          return kernels::create_convolution(params, weights, {}, {}, form);
        });
      }
    }
    if (algorithms == Algorithms::winograd_lines) {
      add_layer(layer, "winograd", [](const ConvolutionParams& params, const float* weights) {
        return kernels::create_winograd_lines_convolution(ConvolutionGeometry(params), weights, {});
      });
    }
    if (algorithms != Algorithms::winograd) continue;
    for (const std::size_t outputs : {2U, 4U}) {
      add_layer(layer, fmt::format("winograd_{0}x{0}", outputs),
                [outputs](const ConvolutionParams& params, const float* weights) {
                  return kernels::create_winograd_convolution(ConvolutionGeometry(params), outputs, weights,
                                                              {});
                });
      add_layer(layer, fmt::format("winograd_{0}x{0}_compact", outputs),
                [outputs](const ConvolutionParams& params, const float* weights) {
                  return kernels::create_compact_winograd(ConvolutionGeometry(params), outputs, weights, {});
                });
    }
  }
}

}  // namespace ir::bench
