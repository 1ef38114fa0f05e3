// Depthwise convolution with vectors of channels.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

ConvolutionParams channels_of(std::size_t batch, std::size_t channels, std::size_t height, std::size_t width,
                              std::size_t kernel, std::size_t stride = 1, std::ptrdiff_t pad = 0,
                              std::size_t dilation = 1) {
  return plane(batch, channels, channels, channels, height, width, kernel, stride, pad, dilation);
}

/// Every number of channels around one and two vectors, planes and windows of all kinds.
std::vector<NamedParams> cases() {
  std::vector<NamedParams> list;
  for (std::size_t channels = 16; channels <= 50; ++channels)
    list.push_back({std::to_string(channels) + " channels", channels_of(2, channels, 3, 4, 3, 1, 1)});
  for (std::size_t width = 1; width <= 11; ++width) {
    const std::string name = std::to_string(width) + " columns";
    list.push_back({name, channels_of(1, 40, 5, width, 3, 1, 1)});
    list.push_back({name + ", 5x5", channels_of(1, 33, 4, width, 5, 1, 2)});
    list.push_back({name + ", stride 2", channels_of(2, 35, 7, width, 3, 2, 1)});
    list.push_back({name + ", dilation 2", channels_of(1, 20, 6, width, 3, 1, 2, 2)});
  }
  list.push_back({"no pads", channels_of(1, 64, 9, 8, 3)});
  list.push_back({"one output", channels_of(3, 40, 5, 5, 5)});
  list.push_back({"pads wider than the image", channels_of(1, 24, 2, 3, 3, 1, 4)});
  list.push_back({"as large as can be", channels_of(1, 24, 16, 16, 3, 2, 1)});
  ConvolutionParams params = channels_of(1, 30, 6, 7, 3, 1, 1);
  params.pads_begin = {-1, 2, 0};
  params.out_dims = {4, 9, 1};
  list.push_back({"cropped and padded", params});
  params.out_dims = {9, 12, 1};
  list.push_back({"outputs that see nothing", params});
  params = {};
  params.in_channels = params.out_channels = params.groups = 37;
  params.spatial_rank = 3;
  params.in_dims = {3, 4, 5};
  params.kernel = {3, 2, 3};
  params.pads_begin = {1, 0, 1};
  params.out_dims = {3, 3, 5};
  list.push_back({"three dimensions", params});
  return list;
}

std::unique_ptr<Convolution> make(const ConvolutionParams& params, const float* weights,
                                  const Epilogue& epilogue = {}) {
  return create_depthwise_channels(ConvolutionGeometry(params), weights, epilogue);
}

TEST_CASE("depthwise convolution by channels agrees with the definition, epilogue included") {
  IR_FOR_EACH_TARGET();
  check_all_agree(cases(), "depthwise_channels", make);
}

TEST_CASE("depthwise convolution by channels gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  check_all_bits(cases(), make);
}

TEST_CASE("depthwise convolution by channels leaves other geometries alone") {
  IR_FOR_EACH_TARGET();
  const auto is_taken = [](const ConvolutionParams& params) {
    const Data data(params);
    return make(params, data.weights.data()) != nullptr;
  };
  CHECK(is_taken(channels_of(1, 16, 7, 7, 3, 1, 1)));
  CHECK_FALSE(is_taken(channels_of(1, 3, 7, 7, 3, 1, 1)));
  CHECK_FALSE(is_taken(channels_of(1, 16, 17, 16, 3, 2, 1)));
  CHECK_FALSE(is_taken(channels_of(1, 16, 12, 12, 3, 1, 1)));
  CHECK_FALSE(is_taken(plane(1, 16, 32, 16, 7, 7, 3, 1, 1)));
  CHECK_FALSE(is_taken(plane(1, 16, 16, 32, 7, 7, 3, 1, 1)));
  CHECK(make(channels_of(1, 16, 7, 7, 3, 1, 1), nullptr) == nullptr);
}

TEST_CASE("channels are convolved side by side where rows are much shorter than vectors") {
  const auto chosen = [](const ConvolutionParams& params) {
    const Data data(params);
    return create_convolution(params, data.weights.data(), {})->algorithm();
  };
  IR_FOR_EACH_TARGET();
  if (gemm_kernels().lanes >= 8) CHECK(chosen(channels_of(1, 96, 3, 4, 5, 1, 2)) == "depthwise_channels");
  CHECK(chosen(channels_of(1, 96, 9, 13, 5, 1, 2)) == "depthwise");
  CHECK(chosen(channels_of(1, 96, 14, 14, 3, 1, 1)) == "depthwise");
}

}  // namespace
}  // namespace ir::kernels
