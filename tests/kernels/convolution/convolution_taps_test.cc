// Convolution tap by tap, for geometries that the cost model would leave to other algorithms, too.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/product_sharing.h"
#include "kernels/matmul/gemm_kernels.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

std::vector<NamedParams> cases() {
  std::vector<NamedParams> list{
      {"one sample", plane(1, 1, 2, 3, 1, 1, 3, 1, 1)},
      {"one output", plane(1, 1, 5, 7, 3, 3, 3)},
      {"2 x 2", plane(1, 1, 9, 33, 2, 2, 3, 1, 1)},
      {"5x5 on 4 x 3", plane(2, 1, 7, 17, 4, 3, 5, 1, 2)},
      {"7 x 7", plane(1, 1, 40, 70, 7, 7, 3, 1, 1)},
      {"1x1 of every other sample", plane(1, 1, 19, 21, 5, 8, 1, 2)},
      {"dilation near the size of the image", plane(1, 1, 70, 50, 16, 16, 3, 1, 12, 12)},
      {"dilation past one side", plane(1, 1, 6, 40, 5, 31, 3, 1, 12, 12)},
      {"stride 2, dilation 3", plane(1, 1, 10, 20, 19, 18, 3, 2, 3, 3)},
      {"stride 3 without pads", plane(1, 1, 3, 4, 10, 11, 2, 3)},
      {"batch and groups", plane(3, 2, 12, 30, 5, 6, 3, 1, 2, 2)},
      {"groups of one channel", plane(1, 3, 3, 3, 6, 5, 3, 1, 1)},
      {"blocks of outputs across images", plane(7, 1, 5, 9, 9, 11, 3, 1, 1)},
      {"images too large to be turned together", plane(3, 1, 2, 3, 1000, 750, 3, 9, 1)},
      {"lines longer than a block", plane(1, 1, 4, 6, 3, 600, 3, 1, 40, 40)},
      {"several blocks of channels", plane(1, 1, 300, 9, 4, 5, 3, 1, 2, 2)},
      {"many output channels", plane(1, 1, 3, 600, 16, 17, 3, 1, 8, 8)},
      {"kernel of even size, pads at one end", plane(1, 1, 4, 5, 9, 8, 4, 1, 1, 1, 3)},
      {"wide pads", plane(1, 1, 2, 3, 5, 6, 3, 1, 7)},
      {"few output channels of many samples", plane(1, 1, 128, 20, 11, 13, 3, 1, 1)},
  };
  add_cut_images(list, 3, 4);
  list.push_back({"one dimension", line(5, 7, 50, 1, 6, 24, 50)});
  list.push_back({"three dimensions", volume(2, 6, 10, 2)});
  return list;
}

std::unique_ptr<Convolution> make(const ConvolutionParams& params, const float* weights,
                                  const Epilogue& epilogue = {}) {
  return create_tap_by_tap_convolution(ConvolutionGeometry(params), weights, epilogue);
}

TEST_CASE("convolution tap by tap agrees with the definition, bias, residual, clamp and hook included") {
  IR_FOR_EACH_TARGET();
  check_all_agree(cases(), "tap_by_tap", make);
}

TEST_CASE("convolution tap by tap gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  check_all_bits(cases(), make);
}

TEST_CASE("workers share outputs where channels are few, and channels where weights are many") {
  IR_FOR_EACH_TARGET();
  const GemmKernels& kernels = gemm_kernels();
  CHECK(SharedProduct{9 * 128, 196, 2 * kernels.lanes, 128 * 196, 2}.is_cut_by_outputs(kernels));
  CHECK_FALSE(SharedProduct{9 * 128, 196, 2 * kernels.lanes, 128 * 196, 1}.is_cut_by_outputs(kernels));
  CHECK_FALSE(SharedProduct{9 * 512, 49, 512, 512 * 49, 2}.is_cut_by_outputs(kernels));
  CHECK_FALSE(SharedProduct{9 * 512, 1, 16, 512 * 9, 2}.is_cut_by_outputs(kernels));
}

TEST_CASE("what a tap finds in the padding costs nothing, not even a NaN in the weights") {
  IR_FOR_EACH_TARGET();
  // Of 3 x 3 taps on 2 x 2 samples, each output sees four; those at (0, 0) only the last output.
  const ConvolutionParams params = plane(1, 1, 2, 3, 2, 2, 3, 1, 1);
  Data data(params);
  for (std::size_t filter = 0; filter < 2 * 3; ++filter)
    data.weights[filter * 9] = std::numeric_limits<float>::quiet_NaN();
  const auto convolution = make(params, data.weights.data());
  run(*convolution, data, nullptr, data.out.data());
  for (std::size_t i = 0; i < data.out.size(); ++i) CHECK(std::isnan(data.out[i]) == (i % 4 == 3));
}

TEST_CASE("convolution tap by tap wants several taps or a stride, something to do, and weights") {
  const std::vector<float> weights(5 * 5 * 4 * 4);
  const ConvolutionParams params = plane(1, 1, 4, 4, 9, 9, 3);
  CHECK(make(params, weights.data()) != nullptr);
  CHECK(make(params, nullptr) == nullptr);
  for (const ConvolutionParams& other :
       {plane(0, 1, 4, 4, 9, 9, 3), plane(1, 1, 0, 4, 9, 9, 3), plane(1, 1, 4, 4, 9, 9, 1)})
    CHECK(make(other, weights.data()) == nullptr);
}

}  // namespace
}  // namespace ir::kernels
