// What tests of convolutions of integers share: images and weights that are such.
#ifndef TESTS_KERNELS_CONVOLUTION_INTEGER_DATA_H_
#define TESTS_KERNELS_CONVOLUTION_INTEGER_DATA_H_

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "kernels/weights/integer_weights.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/integer_grids.h"

namespace ir::kernels::test_convolution {

/// Image and weights that are integers times steps; for the filter of channel c, one that is larger by c / 8.
struct IntegerData : Data {
  IntegerGrid grid;

  IntegerData(const ConvolutionParams& params, IntegerGrid values) : Data(params), grid(values) {
    const float most = std::max(-grid.low, grid.high);
    for (float& value : image)
      value = std::clamp(std::round(value * most), grid.low, grid.high) * grid.step + grid.offset;
    const std::size_t filter = weights.size() / std::max<std::size_t>(params.out_channels, 1);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::round(weights[i] * 127) * step_of(i / filter);
  }
  static float step_of(std::size_t channel) {
    return 0.0078125F * (1 + 0.125F * static_cast<float>(channel));
  }
};

/// Signed bytes.
inline IntegerGrid bytes(float step, float offset = 0) { return {step, -128, 127, offset}; }

/// The parameters with what is known of integers; nullptr where the target does not multiply them.
inline ConvolutionParams with_integers(ConvolutionParams params, const IntegerData& data) {
  params.integers = integer_filters(params, data.weights.data(), data.grid);
  CHECK((params.integers != nullptr) == test::takes_integers(data.grid));
  return params;
}

inline std::vector<std::string_view> integer_algorithms(const ConvolutionParams& params) {
  std::vector<std::string_view> names;
  for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(params, true)) {
    if (algorithm.name.starts_with("integer")) names.push_back(algorithm.name);
  }
  return names;
}

}  // namespace ir::kernels::test_convolution

#endif  // TESTS_KERNELS_CONVOLUTION_INTEGER_DATA_H_
