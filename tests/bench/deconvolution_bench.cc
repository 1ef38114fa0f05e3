// Transposed convolutions.
#include <fmt/format.h>

#include "kernels/convolution/deconvolution.h"
#include "tests/bench/layers.h"

namespace ir::bench {
namespace {

/// Two spatial axes of equal sizes.
struct Case {
  const char* name;
  std::size_t in_channels;
  std::size_t out_channels;
  std::size_t size;
  std::size_t kernel;
  std::size_t stride;
  std::size_t pad;
  std::size_t output_padding = 0;
  std::size_t groups = 1;

  [[nodiscard]] kernels::ConvolutionParams params() const {
    kernels::ConvolutionParams params;
    params.groups = groups;
    params.in_channels = in_channels;
    params.out_channels = out_channels;
    for (std::size_t i = 0; i < 2; ++i) {
      params.in_dims[i] = size;
      params.kernel[i] = kernel;
      params.strides[i] = stride;
      params.pads_begin[i] = static_cast<std::ptrdiff_t>(pad);
      params.out_dims[i] = (size - 1) * stride + kernel + output_padding - 2 * pad;
    }
    return params;
  }
};

const Case kCases[] = {
    {"2x2_s2_64to32_64", 64, 32, 64, 2, 2, 0},          {"2x2_s2_256to128_16", 256, 128, 16, 2, 2, 0},
    {"3x3_s2_64to32_64", 64, 32, 64, 3, 2, 1, 1},       {"4x4_s2_256_16", 256, 256, 16, 4, 2, 1},
    {"4x4_s2_32to16_128", 32, 16, 128, 4, 2, 1},        {"5x5_s2_64to32_32", 64, 32, 32, 5, 2, 2, 1},
    {"3x3_s2_128to1_56", 128, 1, 56, 3, 2, 1, 1},       {"9x9_s3_56to1_200", 56, 1, 200, 9, 3, 4},
    {"16x16_s8_21_32", 21, 21, 32, 16, 8, 4},           {"64x64_s32_21_10", 21, 21, 10, 64, 32, 16},
    {"4x4_s2_groups64_64", 64, 64, 64, 4, 2, 1, 0, 64},
};

void run_case(benchmark::State& state, const Case& layer) {
  const kernels::ConvolutionParams params = layer.params();
  const std::size_t in_size = params.in_dims[0] * params.in_dims[1];
  const std::size_t out_size = params.out_dims[0] * params.out_dims[1];
  const std::vector<float> image = random_floats(params.in_channels * in_size);
  const std::vector<float> weights =
      random_floats(params.in_channels * params.out_channels / params.groups * layer.kernel * layer.kernel);
  std::vector<float> out(params.out_channels * out_size);
  const auto deconvolution = prepared([&] { return create_deconvolution(params, weights.data(), {}); });
  std::vector<std::byte> scratch(deconvolution->scratch_bytes());
  const Work work{2.0 * static_cast<double>(weights.size()) * static_cast<double>(in_size),
                  static_cast<double>((image.size() + weights.size() + out.size()) * sizeof(float))};
  measure(state, work, [&] {
    deconvolution->run({image.data(), weights.data()}, out.data(), scratch.data());
  });
  state.SetLabel(std::string(deconvolution->algorithm()));
}

}  // namespace

void register_deconvolution() {
  for (const Case& layer : kCases) {
    add(fmt::format("deconvolution/{}", layer.name),
        [layer](benchmark::State& state) { run_case(state, layer); });
  }
}

}  // namespace ir::bench
