// Chains of 1x1, depthwise and 1x1 convolutions: by strips, and one stage after the other.
#include "kernels/depthwise/separable_convolution.h"

#include <fmt/format.h>

#include "tests/bench/layers.h"

namespace ir::bench {
namespace {

using kernels::ConvolutionParams;
using kernels::SeparableAlgorithm;

/// 0 channels: no such stage.
struct Chain {
  const char* name;
  std::size_t in_channels;
  Layer depthwise;
  std::size_t out_channels;
};

constexpr Chain kChains[] = {
    {"3x3_32to16_112", 0, {"", 32, 32, 112, 3, 1, 32}, 16},
    {"3x3_s2_16to96to24_112", 16, {"", 96, 96, 112, 3, 2, 96}, 24},
    {"3x3_24to144to24_56", 24, {"", 144, 144, 56, 3, 1, 144}, 24},
    {"3x3_32to192to32_28", 32, {"", 192, 192, 28, 3, 1, 192}, 32},
    {"3x3_96to576to96_14", 96, {"", 576, 576, 14, 3, 1, 576}, 96},
    {"3x3_232to232_56", 0, {"", 232, 232, 56, 3, 1, 232}, 232},
    {"3x3_s2_232to360_56", 0, {"", 232, 232, 56, 3, 2, 232}, 360},
    {"3x3_512to512_14", 0, {"", 512, 512, 14, 3, 1, 512}, 512},
    {"5x5_40to240_28", 40, {"", 240, 240, 28, 5, 1, 240}, 0},
};

void run_chain(benchmark::State& state, const Chain& chain, SeparableAlgorithm algorithm) {
  const std::size_t channels = chain.depthwise.in_channels;
  const ConvolutionParams middle = chain.depthwise.params();
  const auto pointwise = [&](std::size_t in, std::size_t out, std::size_t size) {
    return Layer{"", in, out, size, 1}.params();
  };
  const std::vector<float> weights = random_floats(channels * 1024);
  kernels::SeparableStages stages;
  stages.depthwise = {middle, weights.data(), {}};
  std::size_t in_channels = channels;
  std::size_t out_channels = channels;
  const std::size_t in_size = middle.in_dims[0] * middle.in_dims[1];
  const std::size_t out_size = middle.out_dims[0] * middle.out_dims[1];
  std::size_t terms = channels * out_size * chain.depthwise.kernel * chain.depthwise.kernel;
  if (chain.in_channels != 0) {
    in_channels = chain.in_channels;
    terms += channels * in_channels * in_size;
    stages.expansion = {pointwise(in_channels, channels, middle.in_dims[0]), weights.data(), {}};
  }
  if (chain.out_channels != 0) {
    out_channels = chain.out_channels;
    terms += channels * out_channels * out_size;
    stages.projection = {pointwise(channels, out_channels, middle.out_dims[0]), weights.data(), {}};
  }
  const auto kernel = prepared([&] { return kernels::create_separable_convolution(stages, algorithm); });
  const std::vector<float> image = random_floats(in_channels * in_size);
  std::vector<float> out(out_channels * out_size);
  std::vector<std::byte> scratch(kernel->scratch_bytes());
  const Work work{2.0 * static_cast<double>(terms),
                  static_cast<double>(image.size() + out.size()) * sizeof(float)};
  measure(state, work, [&] { kernel->run({.image = image.data()}, out.data(), scratch.data()); });
}

}  // namespace

void register_separable() {
  for (const Chain& chain : kChains) {
    for (const auto& [name, algorithm] : kernels::kSeparableAlgorithms) {
      add(fmt::format("separable/{}/{}", chain.name, name),
          [chain, algorithm = algorithm](benchmark::State& state) { run_chain(state, chain, algorithm); });
    }
  }
}

}  // namespace ir::bench
