#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// Every height of a panel of channels, alone and in several panels.
std::vector<NamedParams> cases_of_channels() {
  std::vector<NamedParams> list;
  for (std::size_t channels = 1; channels <= 17; ++channels) {
    const std::string name = std::to_string(channels) + " channels";
    list.push_back({name, plane(1, 1, 3, channels, 9, 21, 3, 1, 1)});
    list.push_back({name + " in groups", plane(2, 2, 4, 2 * channels, 6, 37, 3, 2, 1)});
  }
  return list;
}

/// Rows of any length: tails, vectors that go on in the next row, staging narrower than a vector.
std::vector<NamedParams> cases_of_widths() {
  std::vector<NamedParams> list;
  for (std::size_t width = 1; width <= 40; ++width) {
    const std::string name = std::to_string(width) + " columns";
    list.push_back({name + ", 3x3", plane(1, 2, 6, 8, 5, width, 3, 1, 1)});
    list.push_back({name + ", 3x3 stride 2", plane(1, 2, 6, 8, 6, width, 3, 2, 1)});
    list.push_back({name + ", 5x5 stride 2", plane(1, 1, 2, 3, 7, width, 5, 2, 2)});
    list.push_back({name + ", 1x1", plane(1, 1, 5, 4, 3, width, 1)});
    list.push_back({name + ", 1x1 stride 2", plane(1, 1, 5, 4, 3, width, 1, 2)});
    list.push_back({name + ", 3x3 dilated", plane(1, 1, 2, 5, 4, width, 3, 1, 3, 3)});
    list.push_back({name + ", 2x2 without pads", plane(1, 1, 2, 5, 4, width + 1, 2)});
  }
  return list;
}

std::vector<NamedParams> cases() {
  std::vector<NamedParams> list{
      {"regnet", plane(1, 3, 24, 24, 14, 14, 3, 1, 1)},
      {"regnet, stride 2", plane(1, 2, 16, 16, 28, 28, 3, 2, 1)},
      {"first layer", plane(1, 1, 3, 32, 65, 63, 3, 2, 1)},
      {"first layer, 7x7", plane(1, 1, 3, 24, 61, 45, 7, 2, 3)},
      {"strips of rows", plane(1, 1, 16, 5, 61, 57, 3, 1, 1)},
      {"strips of rows, stride 2", plane(1, 1, 16, 5, 61, 57, 3, 2, 1)},
      {"several blocks of terms", plane(2, 1, 190, 5, 9, 31, 3, 1, 1)},
      {"taps over a block", plane(1, 1, 2, 9, 33, 32, 25, 2, 4)},
      {"stride 3", plane(1, 2, 6, 10, 19, 23, 3, 3, 1)},
      {"stride 2, dilation 3", plane(1, 1, 5, 6, 19, 18, 3, 2, 1, 3)},
      {"stride 2, dilation 2", plane(1, 1, 5, 6, 19, 18, 3, 2, 1, 2)},
      {"asymmetric pads", plane(1, 1, 3, 4, 9, 8, 4, 1, 1, 1, 3)},
      {"pads wider than vectors", plane(1, 1, 2, 3, 4, 5, 3, 1, 20, 20)},
      {"many columns", plane(1, 1, 70, 3, 1, 3000, 1)},
      {"many channels to few", plane(2, 1, 700, 7, 5, 13, 1)},
      {"1x1 in groups", plane(1, 4, 48, 80, 9, 11, 1)},
      {"one channel each", plane(1, 6, 6, 12, 10, 11, 3, 1, 1)},
      {"one position", plane(2, 2, 8, 6, 3, 3, 3)},
  };
  ConvolutionParams params = plane(1, 1, 4, 6, 9, 11, 3);
  params.pads_begin = {-1, -2, 0};
  params.out_dims = {6, 7, 1};
  list.push_back({"cropped", params});
  params.pads_begin = {-1, 2, 0};
  params.out_dims = {12, 17, 1};
  list.push_back({"outputs past the image", params});
  params.pads_begin = {-20, -30, 0};
  list.push_back({"outputs that see nothing", params});
  params = plane(1, 1, 3, 5, 8, 9, 3);
  params.kernel = {1, 5, 1};
  params.strides = {2, 1, 1};
  params.pads_begin = {0, 2, 0};
  params.out_dims = {4, 9, 1};
  list.push_back({"1x5 stride 2x1", params});

  params = plane(1, 1, 12, 5, 11, 1501, 3);
  params.kernel = {7, 1, 1};
  params.strides = {2, 1, 1};
  params.pads_begin = {3, 0, 0};
  params.out_dims = {6, 1501, 1};
  list.push_back({"7x1 of long rows", params});
  list.push_back({"3x3 of long rows", plane(1, 1, 15, 4, 6, 1103, 3, 1, 1)});
  list.push_back({"3x3 of long rows, stride 2", plane(2, 1, 15, 4, 9, 1990, 3, 2, 1)});

  params = {};
  params.in_channels = 10;
  params.out_channels = 6;
  params.groups = 2;
  params.spatial_rank = 1;
  params.in_dims[0] = 5000;
  params.kernel[0] = 9;
  params.pads_begin[0] = 3;
  params.out_dims[0] = 4998;
  list.push_back({"one dimension", params});
  params.strides[0] = 4;
  params.out_dims[0] = 1250;
  list.push_back({"one dimension, stride 4", params});

  params = volume(2, 4, 6, 4);
  list.push_back({"three dimensions", params});
  for (const NamedParams& deep : cases_of_depth(2, 4, 6)) list.push_back(deep);
  list.push_back({"more copies than are planned", plane(1, 1, 1, 2, 500, 330, 16, 16, 3)});
  return list;
}

std::unique_ptr<Convolution> make(const ConvolutionParams& params, const float* weights,
                                  const Epilogue& epilogue = {}) {
  return create_direct_convolution(ConvolutionGeometry(params), weights, epilogue);
}

TEST_CASE("direct convolution agrees with the definition, bias, residual, clamp and hook included") {
  IR_FOR_EACH_TARGET();
  for (const auto& list : {cases_of_channels(), cases_of_widths(), cases()})
    check_all_agree(list, "direct", make);
}

TEST_CASE("direct convolution gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  check_all_bits(cases(), make);
}

TEST_CASE("long kernels of a long stride are planned in time that grows as they do") {
  constexpr std::size_t kTaps = 200'000;
  ConvolutionParams params = line(1, 2, 4 * kTaps, kTaps, 1, 0, 4);
  params.kernel[0] = kTaps;
  Data data(params);
  const auto begin = std::chrono::steady_clock::now();
  const auto convolution = create_convolution(params, data.weights.data(), {});
  // Some milliseconds; where each tap is compared with those before it, more than half a minute.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));
  run(*convolution, data, nullptr, data.out.data());
  const Sums expected = twin(params, data.image.data(), data.weights.data());
  CHECK(count_wrong(*convolution, data.out, expected, [&](std::size_t i) { return expected.values[i]; }) ==
        0);
}

TEST_CASE("direct convolution leaves alone what it has no use for") {
  const std::vector<float> weights(3 * 2 * 9);
  CHECK(make(plane(1, 1, 2, 3, 5, 5, 3), nullptr) == nullptr);
  CHECK(make(plane(1, 1, 0, 3, 5, 5, 3), weights.data()) == nullptr);
}

TEST_CASE("few channels per group, and first layers, are convolved directly") {
  IR_FOR_EACH_TARGET();
  const auto chosen = [](const ConvolutionParams& params) {
    const Data data(params);
    return create_convolution(params, data.weights.data(), {})->algorithm();
  };
  // Which of the two forms is the faster one on Arm, nobody has measured.
  const bool is_measured = target_name(ir_target) != std::string_view("NEON");
  for (const std::size_t channels : {2U, 4U}) {
    const auto algorithm = chosen(plane(1, 4, 4 * channels, 4 * channels, 28, 28, 3, 2, 1));
    CHECK((algorithm == "direct" || (!is_measured && algorithm == "direct_channels")));
  }
  CHECK(chosen(plane(1, 12, 48, 48, 14, 14, 3, 1, 1)) == "direct");
  CHECK(chosen(plane(1, 1, 3, 16, 64, 64, 3, 2, 1)) == "direct");
  // Which of the two is faster for several filters of one channel depends on the processor.
  const auto of_one_channel = chosen(plane(1, 16, 16, 128, 28, 28, 3, 1, 1));
  CHECK((of_one_channel == "direct" || of_one_channel == "depthwise"));
  CHECK(chosen(plane(1, 16, 16, 16, 28, 28, 3, 1, 1)) == "depthwise");
  CHECK(chosen(plane(1, 1, 96, 96, 28, 28, 3, 1, 1)) != "direct");
}

}  // namespace
}  // namespace ir::kernels
