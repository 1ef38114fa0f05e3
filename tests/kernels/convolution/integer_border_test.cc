// Convolutions of integers that miss 0: inside of an image, and next to the padding around it.
#include <cmath>
#include <vector>

#include "kernels/matmul/integer_kernels.h"
#include "tests/kernels/convolution/integer_data.h"

namespace ir::kernels {

using namespace test_convolution;

TEST_CASE("What levels miss 0 by joins the bias, where no padding is seen", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const NamedParams list[] = {{"1x1", plane(2, 1, 15, 24, 9, 11, 1)},
                              {"groups, stride 2", plane(1, 2, 14, 12, 17, 15, 3, 2)},
                              {"dilated", plane(1, 1, 5, 6, 12, 13, 3, 1, 0, 2)}};
  for (const NamedParams& c : list) {
    INFO(c.name);
    IntegerData data(c.params, bytes(0.013F, -0.0004F));
    const ConvolutionParams params = with_integers(c.params, data);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    for (const std::string_view name : integer_algorithms(params)) {
      INFO(name);
      check_agrees(*create_convolution(params, data.weights.data(), whole_epilogue(data), {}, name), params,
                   data, expected);
      run(*create_convolution(params, data.weights.data(), {}, {}, name), data, nullptr, data.out.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < data.out.size(); ++i)
        wrong += !(std::abs(data.out[i] - expected.values[i]) <= 2e-6 * (expected.magnitudes[i] + 1));
      CHECK(wrong == 0);
    }
  }
}

namespace {

/// Whether an output of a plane sees something outside of the image.
bool sees_padding(const ConvolutionParams& params, std::size_t output) {
  const std::size_t position[] = {output / params.out_dims[1] % params.out_dims[0],
                                  output % params.out_dims[1]};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto first =
        static_cast<std::ptrdiff_t>(position[axis] * params.strides[axis]) - params.pads_begin[axis];
    const auto last = first + static_cast<std::ptrdiff_t>(params.kernel[axis] - 1);
    if (first < 0 || last >= static_cast<std::ptrdiff_t>(params.in_dims[axis])) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("Where padding is seen and levels miss 0, a border or finer steps meet both", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const NamedParams list[] = {{"3x3", plane(2, 1, 5, 9, 9, 11, 3, 1, 1)},
                              {"lanes that are full", plane(1, 1, 8, 7, 9, 20, 3, 1, 1)},
                              {"groups, stride 2", plane(1, 2, 14, 12, 17, 15, 5, 2, 2)},
                              {"padding at the end only", plane(1, 1, 3, 6, 12, 13, 3, 1, 0, 1, 1)}};
  // In steps: a fraction that is met, one that is nearly met, one that is small already, and one that 16 bits
  // do not hold.
  const auto [offset, is_met] = GENERATE(table<float, bool>(
      {{-2.0F / 65, true}, {0.0072F, true}, {0.0002F, true}, {0.003F, false}, {0.2F, true}}));
  for (const NamedParams& c : list) {
    INFO(c.name << ", levels miss 0 by " << offset);
    IntegerData data(c.params, bytes(0.013F, offset * 0.013F));
    ConvolutionParams params = c.params;
    params.integers = integer_filters(params, data.weights.data(), data.grid);
    const bool takes_quads = gemm_integer_kernels(LaneForm::quads) != nullptr;
    const bool takes_pairs = gemm_integer_kernels(LaneForm::pairs) != nullptr;
    CHECK((params.integers != nullptr) == (takes_quads || (is_met && takes_pairs)));
    if (params.integers == nullptr) continue;
    const bool are_quads = params.integers->form() == LaneForm::quads;
    CHECK(are_quads == takes_quads);
    CHECK(params.integers->more_terms() == (are_quads ? 1 : 0));
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    const std::size_t taps = params.kernel[0] * params.kernel[1];
    const std::size_t terms = params.in_channels / params.groups * taps;
    const double step = data.grid.step * IntegerData::step_of(params.out_channels);
    const double at_border = are_quads ? 0.5 * static_cast<double>(taps) * step
                                       : 0x1p-12 * 127 * static_cast<double>(terms) * step;
    for (const std::string_view name : integer_algorithms(params)) {
      INFO(name);
      run(*create_convolution(params, data.weights.data(), {}, {}, name), data, nullptr, data.out.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < data.out.size(); ++i) {
        const double tolerance =
            2e-6 * (expected.magnitudes[i] + 1) + (!are_quads || sees_padding(params, i) ? at_border : 0);
        wrong += !(std::abs(data.out[i] - expected.values[i]) <= tolerance);
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace ir::kernels
