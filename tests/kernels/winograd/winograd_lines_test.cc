#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// Taps `height` x `width` over a plane, padded by half of them.
ConvolutionParams taps(std::size_t height, std::size_t width, ConvolutionParams params) {
  params.kernel = {height, width, 1};
  for (std::size_t i = 0; i < 2; ++i) {
    params.pads_begin[i] = static_cast<std::ptrdiff_t>(params.kernel[i] / 2);
    params.out_dims[i] = params.in_dims[i] + 1 - params.kernel[i] % 2;
  }
  return params;
}

/// Lines of taps of any length that the transforms take, and of lengths that go in parts.
std::vector<NamedParams> cases_of_lengths() {
  std::vector<NamedParams> list;
  for (const std::size_t length : {3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U, 12U, 23U}) {
    const std::string name = std::to_string(length) + " taps";
    list.push_back({name + " along W", taps(1, length, plane(1, 1, 3, 5, 7, 29, 1))});
    list.push_back({name + " along H", taps(length, 1, plane(1, 1, 3, 5, 29, 7, 1))});
  }
  return list;
}

/// Geometries that the cost model would leave to other algorithms, too.
std::vector<NamedParams> cases() {
  std::vector<NamedParams> list{
      {"one sample, 1 x 3", taps(1, 3, plane(1, 1, 2, 3, 1, 1, 1))},
      {"one sample, 7 x 1", taps(7, 1, plane(1, 1, 2, 3, 1, 1, 1))},
      {"whole tiles, 1 x 5", taps(1, 5, plane(1, 1, 4, 8, 6, 32, 1))},
      {"whole tiles, 5 x 1", taps(5, 1, plane(1, 1, 4, 8, 32, 16, 1))},
      {"inception, 1 x 7", taps(1, 7, plane(1, 1, 9, 15, 17, 17, 1))},
      {"inception, 7 x 1", taps(7, 1, plane(1, 1, 9, 15, 17, 17, 1))},
      {"batch and groups, 1 x 3", taps(1, 3, plane(2, 3, 6, 15, 9, 10, 1))},
      {"batch and groups, 3 x 1", taps(3, 1, plane(2, 3, 6, 15, 9, 10, 1))},
      {"a row in several blocks", taps(1, 3, plane(1, 1, 70, 3, 1, 1500, 1))},
      {"several blocks of rows, 1 x 3", taps(1, 3, plane(1, 1, 70, 66, 61, 30, 1))},
      {"several blocks of rows, 3 x 1", taps(3, 1, plane(1, 1, 70, 66, 61, 30, 1))},
      {"several depth blocks", taps(5, 1, plane(1, 1, 300, 9, 10, 7, 1))},
      {"channels that workers share", taps(7, 1, plane(1, 1, 96, 100, 17, 17, 1))},
      {"5 x 5", taps(5, 5, plane(1, 1, 5, 7, 13, 14, 1))},
      {"8 x 9", taps(8, 9, plane(1, 2, 4, 6, 13, 14, 1))},
  };
  ConvolutionParams params = taps(1, 5, plane(1, 1, 3, 4, 9, 20, 1));
  params.pads_begin = {3, 11, 0};
  params.out_dims = {14, 40, 1};
  list.push_back({"wide pads, 1 x 5", params});
  params.kernel = {5, 1, 1};
  list.push_back({"wide pads, 5 x 1", params});
  params.pads_begin = {-2, -3, 0};
  params.out_dims = {4, 13, 1};
  list.push_back({"cropped, 5 x 1", params});
  params.kernel = {1, 5, 1};
  list.push_back({"cropped, 1 x 5", params});
  params.pads_begin = {-20, -30, 0};
  list.push_back({"outputs that see nothing", params});
  params = taps(3, 7, plane(1, 1, 3, 4, 19, 18, 1));
  params.strides = {2, 1, 1};
  params.dilations = {3, 1, 1};
  params.out_dims = {8, 18, 1};
  list.push_back({"stride and dilation across", params});

  // Phases of lines.
  for (const std::size_t stride : {2U, 3U, 4U, 7U}) {
    for (const std::size_t length : {3 * stride - 1, 3 * stride + 1, 5 * stride, 8 * stride - 2}) {
      const std::string name = std::to_string(length) + " taps of stride " + std::to_string(stride);
      params = taps(2, length, plane(2, 1, 3, 5, 6, 67, 1));
      params.strides = {2, stride, 1};
      params.out_dims = {4, (67 + stride - 1) / stride, 1};
      list.push_back({name + " along W", params});
      params = taps(length, 1, plane(1, 2, 6, 10, 67, 5, 1));
      params.strides = {stride, 1, 1};
      params.out_dims = {(67 + stride - 1) / stride, 5, 1};
      list.push_back({name + " along H", params});
    }
  }
  params = taps(7, 7, plane(1, 1, 3, 33, 40, 224, 1));
  params.strides = {2, 2, 1};
  params.out_dims = {20, 112, 1};
  list.push_back({"first layer", params});
  params.pads_begin = {-5, -9, 0};
  params.out_dims = {14, 100, 1};
  list.push_back({"first layer, cropped", params});

  params = {};
  params.batch = 2;
  params.in_channels = 6;
  params.out_channels = 10;
  params.groups = 2;
  params.spatial_rank = 1;
  params.in_dims = {133, 1, 1};
  params.kernel = {5, 1, 1};
  params.pads_begin = {2, 0, 0};
  params.out_dims = {133, 1, 1};
  list.push_back({"one dimension", params});

  params = volume(1, 3, 5, 9);
  params.strides = params.dilations = {1, 1, 1};
  params.kernel = {3, 1, 1};
  params.pads_begin = {1, 0, 0};
  params.out_dims = {9, 6, 7};
  list.push_back({"three dimensions, 3 x 1 x 1", params});
  params.kernel = {3, 2, 5};
  params.strides = {2, 2, 1};
  params.pads_begin = {1, 1, 2};
  params.out_dims = {5, 3, 7};
  list.push_back({"three dimensions, 3 x 2 x 5", params});
  return list;
}

std::unique_ptr<Convolution> make(const ConvolutionParams& params, const Data& data,
                                  const Epilogue& epilogue = {}) {
  return create_winograd_lines_convolution(ConvolutionGeometry(params), data.weights.data(), epilogue);
}

void check_case(const NamedParams& c) {
  INFO(c.name);
  const Data data(c.params);
  const auto convolution = make(c.params, data, whole_epilogue(data));
  REQUIRE(convolution != nullptr);
  const std::string_view algorithm = convolution->algorithm();
  CHECK((algorithm == "winograd_1x4" || algorithm == "winograd_4x1"));
  check_agrees(*convolution, c.params, data, twin(c.params, data.image.data(), data.weights.data()));
}

TEST_CASE("Winograd's lines of taps agree with the definition, bias, residual, clamp and hook included") {
  IR_FOR_EACH_TARGET();
  for (const NamedParams& c : cases_of_lengths()) check_case(c);
  for (const NamedParams& c : cases()) check_case(c);
}

TEST_CASE("Winograd's lines of taps give the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  for (const NamedParams& c : cases()) {
    INFO(c.name);
    const Data data(c.params);
    check_same_bits(c.params, data, [&](const ConvolutionParams& params) { return make(params, data); });
  }
}

TEST_CASE("Winograd's lines of taps lose few digits to the definition") {
  IR_FOR_EACH_TARGET();
  // {taps, stride}
  for (const auto& [length, stride] : std::vector<std::pair<std::size_t, std::size_t>>{
           {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {5, 2}, {7, 2}, {9, 2}, {11, 3}}) {
    INFO(length << " taps of stride " << stride);
    ConvolutionParams params = taps(length, 1, plane(1, 1, 512, 4, 8 * stride, 8, 1));
    params.strides = {stride, 1, 1};
    params.out_dims = {8, 8, 1};
    const Data data(params);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    std::vector<float> out(data.out.size());
    run(*make(params, data), data, nullptr, out.data());
    double error = 0;
    double all = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      error += std::pow(static_cast<double>(out[i]) - expected.values[i], 2);
      all += std::pow(expected.values[i], 2);
    }
    CHECK(std::sqrt(error / all) < 5e-6);
  }
}

TEST_CASE("Winograd's lines of taps leave other geometries alone") {
  const auto made = [](const ConvolutionParams& params) { return make(params, Data(params)) != nullptr; };
  ConvolutionParams params = taps(1, 5, plane(1, 1, 4, 4, 9, 9, 1));
  CHECK(made(params));
  params.strides = {1, 2, 1};
  params.out_dims = {9, 5, 1};
  CHECK(made(params));
  params.strides = {1, 3, 1};  // phases of two taps
  params.out_dims = {9, 3, 1};
  CHECK_FALSE(made(params));
  params = taps(5, 1, plane(1, 1, 4, 4, 9, 9, 1));
  CHECK(made(params));
  params.dilations = {2, 1, 1};
  params.out_dims = {5, 9, 1};
  CHECK_FALSE(made(params));
  CHECK_FALSE(made(taps(1, 2, plane(1, 1, 4, 4, 9, 9, 1))));
  CHECK_FALSE(made(taps(5, 2, plane(1, 1, 4, 4, 9, 9, 1))));
}

TEST_CASE("lines of taps go to Winograd where multiplications are what takes the time") {
  const test::WithoutMatrixTiles without_tiles;
  IR_FOR_EACH_TARGET();
  const auto is_line = [](const ConvolutionParams& params) {
    const Data data(params);
    const auto algorithm = create_convolution(params, data.weights.data(), {})->algorithm();
    return algorithm == "winograd_1x4" || algorithm == "winograd_4x1";
  };
  CHECK(is_line(taps(1, 7, plane(1, 1, 128, 128, 17, 17, 1))));
  CHECK(is_line(taps(7, 1, plane(1, 1, 128, 192, 17, 17, 1))));
  CHECK(is_line(taps(5, 5, plane(1, 1, 48, 64, 35, 35, 1))));
  CHECK(is_line(taps(1, 9, plane(1, 1, 64, 64, 1, 400, 1))));
  const auto halved = [](ConvolutionParams params) {
    params.strides = {2, 2, 1};
    for (std::size_t i = 0; i < 2; ++i) params.out_dims[i] = params.in_dims[i] / 2;
    return params;
  };
  CHECK(is_line(halved(taps(7, 7, plane(1, 1, 3, 64, 224, 224, 1)))));
  CHECK_FALSE(is_line(halved(taps(3, 3, plane(1, 1, 3, 64, 224, 224, 1)))));
  CHECK_FALSE(is_line(taps(1, 7, plane(1, 1, 1, 32, 1, 4000, 1))));
  CHECK_FALSE(is_line(taps(1, 3, plane(1, 1, 256, 256, 1, 2, 1))));
}

}  // namespace
}  // namespace ir::kernels
