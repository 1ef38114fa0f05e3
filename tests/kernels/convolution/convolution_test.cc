#include "kernels/convolution/convolution.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/convolution/convolution_nd.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

struct Case {
  std::string name;
  ConvolutionParams params;
  std::string algorithm;
};

/// Only the tap in the middle sees the image.
ConvolutionParams dilated_past_the_image() { return plane(1, 1, 256, 64, 13, 15, 3, 1, 16, 16); }

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](std::string name, const ConvolutionParams& params, std::string algorithm) {
    list.push_back({std::move(name), params, std::move(algorithm)});
  };
  add("pointwise", plane(1, 1, 19, 21, 5, 7, 1), "");
  add("pointwise, batch, k over a block", plane(2, 1, 330, 9, 4, 5, 1), "");
  add("pointwise, many columns", plane(1, 1, 3, 70, 23, 29, 1), "");
  add("pointwise in groups", plane(2, 3, 12, 15, 3, 5, 1), "");
  add("one pixel", plane(3, 1, 37, 18, 1, 1, 1), "full");
  add("kernel as large as the image", plane(2, 1, 5, 11, 4, 4, 4), "full");
  add("3x3 same", plane(1, 1, 8, 16, 14, 14, 3, 1, 1), "");
  add("3x3 same, several k blocks", plane(1, 1, 75, 13, 7, 7, 3, 1, 1), "");
  add("3x3 wide", plane(1, 1, 3, 5, 4, 300, 3, 1, 1), "");
  add("3x3 many rows", plane(1, 1, 4, 67, 41, 33, 3, 1, 1), "");
  add("3x3 stride 2", plane(2, 1, 6, 10, 15, 17, 3, 2, 1), "");
  add("1x1 stride 2", plane(1, 1, 6, 10, 15, 17, 1, 2), "");
  add("7x7 stride 2, three channels", plane(1, 1, 3, 24, 31, 45, 7, 2, 3), "");
  add("3x3 stride 3 on 1 pixel", plane(1, 1, 2, 3, 1, 1, 3, 3, 1), "");
  add("dilation 2", plane(1, 1, 5, 6, 13, 12, 3, 1, 2, 2), "");
  add("dilation 18 past the image", plane(1, 1, 5, 6, 9, 11, 3, 1, 18, 18), "");
  add("dilation larger than the image", dilated_past_the_image(), "");
  add("dilation larger than one side", plane(1, 1, 5, 6, 9, 31, 3, 1, 12, 12), "");
  add("dilation 3, stride 2", plane(1, 1, 5, 6, 19, 18, 3, 2, 1, 3), "");
  add("kernel larger than the image", plane(1, 1, 3, 4, 2, 3, 5, 1, 3), "");
  add("asymmetric pads", plane(1, 1, 3, 4, 9, 8, 4, 1, 1, 1, 3), "");
  add("dilation near the size of the image", plane(1, 1, 40, 60, 16, 16, 3, 1, 12, 12), "tap_by_tap");
  add("taps over a block", plane(1, 1, 2, 9, 23, 22, 19, 2, 4), "");
  add("patches", plane(1, 1, 3, 20, 32, 48, 16, 16), "");
  add("groups", plane(2, 4, 12, 20, 9, 10, 3, 1, 1), "");
  add("groups of one", plane(1, 5, 10, 5, 8, 8, 3, 1, 1), "");
  add("depthwise 3x3", plane(2, 7, 7, 7, 14, 13, 3, 1, 1), "depthwise");
  add("depthwise 3x3, long", plane(1, 2, 2, 2, 90, 113, 3, 1, 1), "depthwise");
  add("depthwise 3x3 stride 2", plane(1, 7, 7, 7, 33, 35, 3, 2, 1), "depthwise");
  add("depthwise 5x5 with multiplier", plane(1, 3, 3, 6, 12, 40, 5, 1, 2), "depthwise");
  add("one channel to many in groups", plane(1, 3, 3, 24, 12, 40, 5, 1, 2), "");
  add("depthwise 1x1", plane(1, 3, 3, 3, 5, 5, 1), "depthwise");
  add("depthwise, dilated", plane(1, 3, 3, 3, 15, 17, 3, 1, 4, 4), "depthwise");

  ConvolutionParams params = plane(1, 1, 4, 6, 9, 11, 3);
  params.pads_begin = {-1, -2, 0};
  params.out_dims = {6, 7, 1};
  add("negative pads", params, "");
  params.pads_begin = {-1, 2, 0};
  params.out_dims = {12, 17, 1};
  add("outputs past the image", params, "");

  params = plane(1, 1, 3, 5, 8, 9, 3);
  params.kernel = {1, 5, 1};
  params.strides = {2, 1, 1};
  params.pads_begin = {0, 2, 0};
  params.out_dims = {4, 9, 1};
  add("1x5 stride 2x1", params, "");

  add("one dimension", line(5, 7, 500, 4, 1, 3, 125), "");
  params = line(4, 4, 5000, 1, 1, 4, 5000);
  params.groups = 4;
  add("depthwise, one dimension", params, "depthwise");

  params = volume(1, 3, 6, 4);
  add("three dimensions", params, "");
  params.groups = params.in_channels;
  add("depthwise, three dimensions", params, "depthwise");
  params.groups = 1;
  params.kernel = {1, 1, 1};
  params.strides = {1, 1, 1};
  params.pads_begin = {0, 0, 0};
  params.out_dims = params.in_dims;
  add("pointwise, three dimensions", params, "");
  params.kernel = {3, 1, 1};
  params.strides = {2, 1, 1};
  params.dilations = {1, 1, 1};
  params.pads_begin = {1, 0, 0};
  params.out_dims = {2, 6, 7};
  add("taps along D alone", params, "");
  params.groups = params.in_channels;
  add("depthwise, taps along D alone", params, "depthwise");

  params = plane(1, 1, 2, 2, 3, 3, 2, 1, 0, 1);
  params.dilations = {30'000'000, 1, 1};
  params.out_dims = {2, 2, 1};
  add("a tap beyond reason", params, "");
  add("3x3 to a small plane", plane(2, 1, 50, 100, 3, 3, 3, 1, 1), "");
  add("1x1 to a small plane", plane(1, 1, 300, 50, 3, 3, 1), small_plane_algorithm());
  add("small planes of several images", plane(3, 1, 210, 60, 4, 3, 1), small_plane_algorithm());
  add("small planes, more than meet weights at once", plane(5, 2, 40, 60, 5, 7, 3, 1, 1), "");
  add("small planes, too many to be packed ahead", plane(7, 1, 640, 60, 5, 7, 1), small_plane_algorithm());
  add("small plane in groups", plane(2, 2, 6, 60, 5, 4, 3, 2, 1), "");
  add("small plane of one", plane(1, 1, 5, 33, 5, 5, 3, 3, 0), "");
  add("7x7", plane(1, 1, 40, 96, 7, 7, 3, 1, 1), "");
  add("3x3 worth a transform", plane(1, 1, 64, 64, 40, 40, 3, 1, 1), "winograd_4x4");
  return list;
}

TEST_CASE("taps that see nothing but padding are left out") {
  IR_FOR_EACH_TARGET();
  const ConvolutionParams params = dilated_past_the_image();
  const auto algorithms = convolution_algorithms(params, true);
  CHECK(std::ranges::count(algorithms, "pointwise", &ConvolutionAlgorithm::name) == 1);
  CHECK(std::ranges::count(algorithms, "tap_by_tap", &ConvolutionAlgorithm::name) == 0);
  const Data data(params);
  const auto made = create_convolution(params, data.weights.data(), {});
  CHECK(std::ranges::count(algorithms, made->algorithm(), &ConvolutionAlgorithm::name) == 1);
}

TEST_CASE("convolution agrees with its definition on every target") {
  const test::WithoutMatrixTiles without_tiles;
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    INFO(c.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    Epilogue epilogue;
    const auto convolution = create_convolution(c.params, data.weights.data(), epilogue);
    if (!c.algorithm.empty()) CHECK(convolution->algorithm() == c.algorithm);
    run(*convolution, data, nullptr, data.out.data());
    const auto value = [&](std::size_t i) { return expected.values[i]; };
    CHECK(count_wrong(*convolution, data.out, expected, value) == 0);
    CHECK(data.out.guards_intact());

    set_hook_by_channel(epilogue);
    run(*create_convolution(c.params, data.weights.data(), epilogue), data, nullptr, data.out.data());
    const std::size_t plane = product(c.params.out_dims, c.params.spatial_rank);
    const auto hooked = [&](std::size_t i) {
      return expected.values[i] + 0.125 * static_cast<double>(i / plane % c.params.out_channels);
    };
    CHECK(count_wrong(*convolution, data.out, expected, hooked, 12e-6) == 0);
    epilogue = {};

    std::vector<float> again(data.out.size());
    const auto late = create_convolution(c.params, nullptr, epilogue);
    run(*late, data, data.weights.data(), again.data());
    CHECK(count_wrong(*late, again, expected, value) == 0);
  }
}

TEST_CASE("a stride of single samples means nothing to the other axes") {
  const std::size_t channels = GENERATE(1U, 3U, 17U);
  for (const ConvolutionParams& params : volumes_of_single_samples(channels, 2 * channels, false)) {
    INFO("in " << Catch::rangeToString(params.in_dims) << ", kernel " << Catch::rangeToString(params.kernel)
               << ", strides " << Catch::rangeToString(params.strides));
    Data data(params);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    const auto convolution = create_convolution(params, data.weights.data(), {});
    run(*convolution, data, nullptr, data.out.data());
    REQUIRE(count_wrong(*convolution, data.out, expected,
                        [&](std::size_t i) { return expected.values[i]; }) == 0);
  }
}

TEST_CASE("convolution adds bias and residual, clamps, then calls the hook, each element once") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    INFO(c.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    const float offset = 10;
    Epilogue epilogue;
    epilogue.bias = data.bias.data();
    epilogue.residual = true;
    epilogue.low = 0;
    epilogue.high = 2;
    epilogue.post_context = &offset;
    epilogue.post = [](float* values, std::size_t count, std::size_t, const void* context) {
      for (std::size_t i = 0; i < count; ++i) values[i] += *static_cast<const float*>(context);
    };
    const auto convolution = create_convolution(c.params, data.weights.data(), epilogue);
    run(*convolution, data, nullptr, data.out.data());
    const std::size_t plane_size = product(c.params.out_dims, c.params.spatial_rank);
    const auto value = [&](std::size_t i) {
      const double sum =
          expected.values[i] + data.bias[i / plane_size % c.params.out_channels] + data.residual[i];
      return std::clamp(sum, 0.0, 2.0) + 10;
    };
    CHECK(count_wrong(*convolution, data.out, expected, value, 24e-6) == 0);

    // The residual in place.
    std::vector<float> in_place(data.residual.begin(), data.residual.end());
    GuardedBuffer<std::byte> scratch(convolution->scratch_bytes());
    convolution->run({data.image.data(), nullptr, in_place.data()}, in_place.data(), scratch.data());
    CHECK(std::equal(in_place.begin(), in_place.end(), data.out.begin()));
  }
}

TEST_CASE("convolution gives the same bits on one and two threads") {
  IR_FOR_EACH_TARGET();
  for (Case c : cases()) {
    if (c.name == "a tap beyond reason") continue;
    INFO(c.name);
    Data data(c.params);
    std::array<std::vector<float>, 2> results;
    for (const int threads : {1, 2}) {
      c.params.max_threads = static_cast<std::size_t>(threads);
      auto& result = results[static_cast<std::size_t>(threads - 1)];
      result.resize(data.out.size());
      const auto convolution = create_convolution(c.params, data.weights.data(), {});
      ThreadPool(threads).run([&] { run(*convolution, data, nullptr, result.data()); });
    }
    CHECK(results[0] == results[1]);
  }
}

TEST_CASE("convolution reads weights that stay only where packing them would be for one use") {
  ConvolutionParams params = plane(1, 1, 5, 11, 4, 4, 4);
  Data data(params);
  const auto reads = [&] { return create_convolution(params, data.weights.data(), {})->reads_weights(); };
  CHECK_FALSE(reads());
  params.weights_stay = true;
  const auto convolution = create_convolution(params, data.weights.data(), {});
  CHECK(convolution->reads_weights());
  run(*convolution, data, data.weights.data(), data.out.data());
  const Sums expected = twin(params, data.image.data(), data.weights.data());
  CHECK(count_wrong(*convolution, data.out, expected, [&](std::size_t i) { return expected.values[i]; }) ==
        0);
  // Taps that see nothing are dropped from a copy.
  params = plane(1, 1, 5, 11, 1, 1, 3, 1, 1);
  params.weights_stay = true;
  CHECK_FALSE(reads());
  params = plane(1, 1, 64, 64, 24, 24, 3, 1, 1);
  params.weights_stay = true;
  const Data larger(params);
  CHECK_FALSE(create_convolution(params, larger.weights.data(), {})->reads_weights());
}

TEST_CASE("a convolution to single pixels keeps all bits of floats where that is asked for") {
  ConvolutionParams params = plane(64, 1, 512, 96, 1, 1, 1);
  params.whole_floats = true;
  Data data(params);
  const Sums expected = twin(params, data.image.data(), data.weights.data());
  const auto convolution = create_convolution(params, data.weights.data(), {});
  CHECK(convolution->algorithm() == "full");
  run(*convolution, data, nullptr, data.out.data());
  double errors = 0;
  double squares = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double error = static_cast<double>(data.out[i]) - expected.values[i];
    errors += error * error;
    squares += expected.values[i] * expected.values[i];
  }
  CHECK(std::sqrt(errors / squares) < 1e-6);
}

TEST_CASE("convolution lets NaN through the clamp") {
  IR_FOR_EACH_TARGET();
  const ConvolutionParams params = plane(1, 1, 2, 3, 3, 3, 1);
  Data data(params);
  data.image[0] = std::numeric_limits<float>::quiet_NaN();
  Epilogue epilogue;
  epilogue.low = 0;
  epilogue.high = 6;
  run(*create_convolution(params, data.weights.data(), epilogue), data, nullptr, data.out.data());
  CHECK(std::isnan(data.out[0]));
  CHECK_FALSE(std::isnan(data.out[1]));
}

}  // namespace
}  // namespace ir::kernels
