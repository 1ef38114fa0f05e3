// Depthwise convolutions: bound by memory as often as by arithmetic.
#include <fmt/format.h>

#include "tests/bench/layers.h"

namespace ir::bench {
namespace {

constexpr Layer kLayers[] = {
    {"3x3_32_112", 32, 32, 112, 3, 1, 32},
    {"3x3_s2_96_112", 96, 96, 112, 3, 2, 96},
    {"3x3_144_56", 144, 144, 56, 3, 1, 144},
    {"3x3_384_14", 384, 384, 14, 3, 1, 384},
    {"3x3_960_7", 960, 960, 7, 3, 1, 960},
    {"5x5_120_28", 120, 120, 28, 5, 1, 120},
    {"5x5_s2_672_14", 672, 672, 14, 5, 2, 672},
    {"5x5_1152_7", 1152, 1152, 7, 5, 1, 1152},
    {"7x7_96_56", 96, 96, 56, 7, 1, 96},
    {"7x7_768_7", 768, 768, 7, 7, 1, 768},
    {"9x9_256_32", 256, 256, 32, 9, 1, 256},
    {"31x31_128_32", 128, 128, 32, 31, 1, 128},
    {"3x3_dilated_160_33", 160, 160, 33, 3, 1, 160, 2},
};

}  // namespace

void register_depthwise() {
  for (const Layer& layer : kLayers) {
    add(fmt::format("depthwise/{}", layer.name), [layer](benchmark::State& state) {
      run_layer(state, layer, [](const kernels::ConvolutionParams& params, const float* weights) {
        return kernels::create_convolution(params, weights, {});
      });
    });
  }
}

}  // namespace ir::bench
