// Direct convolution with vectors of channels, for geometries that the cost model would leave to other
// algorithms, too.
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/direct_kernels.h"
#include "kernels/matmul/gemm_kernels.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// So many output channels that every target has tiles for all of them: pairs of vectors.
std::size_t pairs_of_vectors(std::size_t pairs) { return 2 * pairs * gemm_kernels().lanes; }

std::vector<NamedParams> cases() {
  const std::size_t two = pairs_of_vectors(1);
  const std::size_t four = pairs_of_vectors(2);
  std::vector<NamedParams> list{
      {"one output", plane(1, 1, 5, two, 3, 3, 3)},
      {"one sample", plane(1, 1, 2, two, 1, 1, 3, 1, 1)},
      {"fewer positions than a tile", plane(1, 1, 3, two, 2, 2, 3, 1, 1)},
      {"7 x 7 in groups", plane(1, 3, 12, 3 * two, 7, 7, 3, 1, 1)},
      {"channels past the last vector", plane(1, 1, 4, two - 1, 6, 5, 3, 1, 1)},
      {"several panels of channels", plane(1, 1, 6, four - 1, 9, 7, 3, 1, 1)},
      {"stride 2", plane(2, 2, 8, 2 * two, 15, 14, 3, 2, 1)},
      {"stride 3 without pads, an even kernel", plane(1, 1, 3, two, 10, 11, 2, 3)},
      {"stride larger than the kernel", plane(1, 1, 3, two, 16, 17, 2, 5)},
      {"5x5", plane(1, 1, 4, two, 12, 10, 5, 1, 2)},
      {"dilation", plane(1, 1, 4, two, 15, 17, 3, 1, 4, 4)},
      {"stride 2, dilation 3", plane(1, 1, 5, two, 19, 18, 3, 2, 3, 3)},
      {"several blocks of rows", plane(1, 1, 7, two, 40, 23, 3, 1, 1)},
      {"rows longer than a block", plane(1, 1, 3, two, 4, 400, 3, 1, 1)},
      {"several blocks of terms", plane(1, 1, 90, two, 6, 7, 3, 1, 1)},
      {"more taps than a block of terms", plane(1, 1, 2, two, 30, 31, 25, 1, 12)},
      {"pads at one end", plane(1, 1, 4, two, 9, 8, 4, 1, 1, 1, 3)},
      {"wide pads", plane(1, 1, 2, two, 5, 6, 3, 1, 7)},
  };
  add_cut_images(list, 3, two);
  list.push_back({"one dimension", line(5, two, 500, 4, 1, 3, 125)});
  list.push_back({"three dimensions", volume(2, 6, 2 * two, 4)});
  return list;
}

std::unique_ptr<Convolution> make(const ConvolutionParams& params, const float* weights,
                                  const Epilogue& epilogue = {}) {
  return create_direct_channels(ConvolutionGeometry(params), weights, epilogue);
}

TEST_CASE("convolution by channels agrees with the definition, bias, residual, clamp and hook included") {
  IR_FOR_EACH_TARGET();
  check_all_agree(cases(), "direct_channels", make);
}

TEST_CASE("convolution by channels gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  check_all_bits(cases(), make);
}

TEST_CASE("convolution by channels wants weights, something to do, and tiles for all channels") {
  IR_FOR_EACH_TARGET();
  const std::size_t two = pairs_of_vectors(1);
  const std::vector<float> weights(two * 4 * 9);
  CHECK(make(plane(1, 1, 4, two, 9, 9, 3), weights.data()) != nullptr);
  CHECK(make(plane(1, 1, 4, two, 9, 9, 3), nullptr) == nullptr);
  CHECK(make(plane(1, 1, 0, two, 9, 9, 3), weights.data()) == nullptr);
  const bool has_single_vectors = direct_kernels().positions[0] != 0;
  CHECK((make(plane(1, 1, 4, two / 2, 9, 9, 3), weights.data()) != nullptr) == has_single_vectors);
}

TEST_CASE("groups of two vectors of channels that end in 7 x 7 cost less by channels than directly") {
  IR_FOR_EACH_TARGET();
  const std::size_t two = pairs_of_vectors(1);
  const ConvolutionParams strided = plane(1, 8, 8 * two, 8 * two, 14, 14, 3, 2, 1);
  const std::vector<ConvolutionAlgorithm> algorithms = convolution_algorithms(strided, true);
  const auto cost_of = [&](std::string_view name) {
    return std::ranges::find(algorithms, name, &ConvolutionAlgorithm::name)->cycles;
  };
  // Vectors of positions would be half empty, and what lies between the samples is taken apart for them.
  CHECK(cost_of("direct_channels") < cost_of("direct"));
}

}  // namespace
}  // namespace ir::kernels
