#include <string>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// One dimension, padded so that there are as many outputs as samples.
ConvolutionParams row(std::size_t in, std::size_t out, std::size_t length, std::size_t kernel,
                      std::size_t dilation) {
  ConvolutionParams params;
  params.in_channels = in;
  params.out_channels = out;
  params.spatial_rank = 1;
  params.in_dims[0] = params.out_dims[0] = length;
  params.kernel[0] = kernel;
  params.dilations[0] = dilation;
  params.pads_begin[0] = static_cast<std::ptrdiff_t>(kernel / 2 * dilation);
  return params;
}

/// 3 x 3 taps with a dilation for each axis, padded by it.
ConvolutionParams dilated(std::size_t vertical, std::size_t horizontal, ConvolutionParams params) {
  params.dilations = {vertical, horizontal, 1};
  params.pads_begin = {static_cast<std::ptrdiff_t>(vertical), static_cast<std::ptrdiff_t>(horizontal), 0};
  params.out_dims = params.in_dims;
  return params;
}

std::vector<NamedParams> cases() {
  std::vector<NamedParams> list;
  for (const std::size_t dilation : {2U, 3U, 4U, 5U, 7U}) {
    const std::string name = "dilation " + std::to_string(dilation);
    list.push_back({name, dilated(dilation, dilation, plane(1, 1, 3, 5, 19, 23, 3))});
    list.push_back({name + " of rows", dilated(dilation, 1, plane(1, 1, 4, 6, 19, 14, 3))});
    list.push_back({name + " of columns", dilated(1, dilation, plane(1, 1, 4, 6, 14, 19, 3))});
    list.push_back({name + " without padding", plane(1, 1, 5, 3, 23, 26, 3, 1, 0, dilation)});
    list.push_back({name + " of a line", row(4, 6, 67, 3, dilation)});
    list.push_back({name + " of a longer line", row(3, 5, 131, 11, dilation)});
  }
  list.push_back({"batch and groups", dilated(2, 3, plane(2, 3, 6, 15, 13, 16, 3))});
  list.push_back({"phases of one output", dilated(5, 5, plane(1, 1, 3, 4, 5, 5, 3))});
  list.push_back({"less outputs than phases", dilated(6, 7, plane(1, 1, 3, 4, 4, 5, 3))});
  list.push_back({"a filter that keeps its samples", dilated(2, 2, plane(1, 1, 70, 66, 30, 30, 3))});
  list.push_back({"several blocks of tiles", dilated(2, 2, plane(1, 1, 40, 34, 70, 75, 3))});

  ConvolutionParams params = dilated(3, 2, plane(1, 1, 3, 4, 11, 12, 3));
  params.pads_begin = {9, 1, 0};
  params.out_dims = {20, 25, 1};
  list.push_back({"wide pads", params});
  params.pads_begin = {-2, -3, 0};
  params.out_dims = {2, 3, 1};
  list.push_back({"cropped", params});

  for (const std::size_t axis : {0U, 1U}) {
    params = dilated(1, 1, plane(1, 1, 4, 6, 14, 17, 3));
    params.dilations[axis] = 2;
    params.pads_begin = {2, 2, 0};
    params.pads_begin[1 - axis] = 5;
    params.out_dims[1 - axis] += 6;
    list.push_back({"more outputs than samples across the dilation", params});
  }

  params = plane(1, 1, 4, 6, 29, 7, 1);
  params.kernel = {5, 1, 1};
  params.dilations = {3, 1, 1};
  params.pads_begin = {6, 0, 0};
  list.push_back({"5 x 1", params});
  params = plane(1, 1, 4, 6, 13, 29, 1);
  params.kernel = {3, 5, 1};
  params.dilations = {2, 3, 1};
  params.strides = {2, 1, 1};
  params.pads_begin = {2, 6, 0};
  params.out_dims = {7, 29, 1};
  list.push_back({"a stride and a dilation across the line", params});

  params = volume(1, 3, 4, 5);
  params.strides = {1, 1, 1};
  params.dilations = {2, 2, 2};
  params.pads_begin = {2, 2, 2};
  params.out_dims = {5, 6, 7};
  list.push_back({"three dimensions", params});
  return list;
}

auto creator(FilterForm filters) {
  return [filters](const ConvolutionParams& params, const float* weights, const Epilogue& epilogue) {
    return create_dilated_winograd(ConvolutionGeometry(params), filters, weights, epilogue);
  };
}

/// Of the cases, those that filters of 3 x 3 in compact form take.
std::vector<NamedParams> square_cases() {
  std::vector<NamedParams> list = cases();
  std::erase_if(list, [](const NamedParams& c) {
    const std::size_t rank = c.params.spatial_rank;
    return rank < 2 || c.params.kernel[rank - 2] != 3 || c.params.kernel[rank - 1] != 3;
  });
  return list;
}

TEST_CASE(
    "Winograd's convolution with a dilation agrees with the definition, with all that an epilogue does") {
  IR_FOR_EACH_TARGET();
  check_all_agree(cases(), "winograd_dilated", creator(FilterForm::transformed));
  check_all_agree(square_cases(), "winograd_dilated_compact", creator(FilterForm::compact));
}

TEST_CASE("Winograd's convolution with a dilation gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  check_all_bits(cases(), creator(FilterForm::transformed));
  check_all_bits(square_cases(), creator(FilterForm::compact));
}

TEST_CASE("Winograd's convolution with a dilation leaves other geometries alone") {
  const auto made = [](const ConvolutionParams& params) {
    return creator(FilterForm::transformed)(params, Data(params).weights.data(), {}) != nullptr;
  };
  CHECK(made(dilated(2, 2, plane(1, 1, 4, 4, 9, 9, 3))));
  CHECK_FALSE(made(dilated(1, 1, plane(1, 1, 4, 4, 9, 9, 3))));
  ConvolutionParams params = dilated(2, 2, plane(1, 1, 4, 4, 9, 9, 3));
  params.strides = {2, 2, 1};
  params.out_dims = {5, 5, 1};
  CHECK_FALSE(made(params));
  CHECK_FALSE(made(row(4, 4, 20, 2, 3)));
  params = dilated(2, 2, plane(1, 1, 4, 4, 9, 9, 3));
  CHECK(creator(FilterForm::transformed)(params, nullptr, {}) == nullptr);
  CHECK(creator(FilterForm::compact)(params, Data(params).weights.data(), {}) != nullptr);
  params = row(4, 4, 20, 3, 3);
  CHECK(creator(FilterForm::compact)(params, Data(params).weights.data(), {}) == nullptr);
}

TEST_CASE("dilated filters go to Winograd where that saves multiplications") {
  const test::WithoutMatrixTiles without_tiles;
  IR_FOR_EACH_TARGET();
  const auto is_dilated = [](const ConvolutionParams& params) {
    return create_convolution(params, Data(params).weights.data(), {})
        ->algorithm()
        .starts_with("winograd_dilated");
  };
  CHECK(is_dilated(dilated(2, 2, plane(1, 1, 128, 128, 33, 33, 3))));
  CHECK(is_dilated(dilated(4, 4, plane(1, 1, 128, 128, 65, 65, 3))));
  CHECK(is_dilated(row(128, 128, 256, 7, 3)));
  // Most of the taps see padding, which others skip.
  CHECK_FALSE(is_dilated(dilated(12, 12, plane(1, 1, 128, 128, 17, 17, 3))));
  CHECK_FALSE(is_dilated(dilated(2, 2, plane(1, 1, 1, 8, 33, 33, 3))));
  ConvolutionParams accurate = dilated(2, 2, plane(1, 1, 128, 128, 33, 33, 3));
  accurate.accurate = true;
  CHECK_FALSE(is_dilated(accurate));
}

TEST_CASE("Winograd's convolution with a dilation keeps the weights that its form without one keeps") {
  const ConvolutionParams dense = plane(1, 2, 16, 32, 40, 40, 3, 1, 0);
  ConvolutionParams phases = plane(1, 2, 16, 32, 44, 44, 3, 1, 0, 2);
  const std::size_t bytes = weight_bytes_of(phases, "winograd_dilated");
  CHECK((bytes == weight_bytes_of(dense, "winograd_4x4") || bytes == weight_bytes_of(dense, "winograd_2x2")));
  CHECK(weight_bytes_of(phases, "winograd_dilated_compact") ==
        weight_bytes_of(dense, "winograd_4x4_compact"));
}

}  // namespace
}  // namespace ir::kernels
