#include <string>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

using Create = std::unique_ptr<Convolution> (*)(const ConvolutionGeometry&, std::size_t, const float*,
                                                const Epilogue&);
constexpr Create kCreators[] = {create_winograd_convolution, create_compact_winograd};

/// Geometries that the cost model would leave to other algorithms, too.
std::vector<NamedParams> cases() {
  std::vector<NamedParams> list{
      {"one tile", plane(1, 1, 1, 1, 3, 3, 3)},
      {"one output", plane(1, 1, 2, 1, 3, 3, 3, 1, 0)},
      {"one sample", plane(1, 1, 2, 3, 1, 1, 3, 1, 1)},
      {"same", plane(1, 1, 5, 7, 13, 14, 3, 1, 1)},
      {"valid", plane(1, 1, 5, 7, 13, 14, 3)},
      {"batch and groups", plane(2, 3, 6, 15, 9, 10, 3, 1, 1)},
      {"no images", plane(0, 1, 5, 7, 13, 14, 3, 1, 1)},
      {"wide pads", plane(1, 1, 2, 3, 5, 6, 3, 1, 5)},
      {"pads of many vectors", plane(1, 1, 2, 1, 3, 4, 3, 1, 261)},
      {"samples of many vectors", plane(1, 1, 2, 1, 3, 260, 3, 1, 1)},
      {"a row in several blocks", plane(1, 1, 70, 3, 5, 600, 3, 1, 1)},
      {"several blocks of rows", plane(1, 1, 64, 70, 61, 30, 3, 1, 1)},
      {"several depth blocks", plane(1, 1, 300, 9, 10, 7, 3, 1, 1)},
      {"an image that outgrows the cache", plane(1, 1, 150, 70, 28, 28, 3, 1, 1)},
      {"rows that fill panels together", plane(1, 1, 90, 90, 9, 112, 3, 1, 1)},
      {"channels that workers share", plane(1, 1, 64, 128, 8, 8, 3, 1, 1)},
      {"several blocks whose channels workers share", plane(1, 1, 64, 96, 35, 35, 3, 1, 1)},
  };
  add_cut_images(list, 3, 4);
  ConvolutionParams params = volume(1, 3, 5, 5);
  params.strides = {2, 1, 1};
  params.dilations = {1, 1, 1};
  params.pads_begin = {1, 1, 1};
  params.out_dims = {3, 6, 7};
  list.push_back({"three dimensions", params});
  params.in_channels = 70;
  params.out_channels = 20;
  params.in_dims = {2, 9, 10};
  params.strides = {1, 1, 1};
  params.out_dims = {2, 9, 10};
  list.push_back({"slices with a tap outside", params});
  params.pads_begin = {4, 1, 1};
  params.out_dims = {8, 9, 10};
  list.push_back({"slices that see nothing", params});
  params.in_dims = {4, 9, 10};
  params.dilations = {3, 1, 1};
  params.pads_begin = {3, 1, 1};
  params.out_dims = {4, 9, 10};
  list.push_back({"slices far apart", params});
  return list;
}

TEST_CASE("Winograd's convolution agrees with the definition, bias, residual, clamp and hook included") {
  IR_FOR_EACH_TARGET();
  for (const NamedParams& c : cases()) {
    const Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    const Epilogue epilogue = whole_epilogue(data);
    for (const Create create : kCreators) {
      for (const std::size_t outputs : {2U, 4U}) {
        const auto convolution =
            create(ConvolutionGeometry(c.params), outputs, data.weights.data(), epilogue);
        REQUIRE(convolution != nullptr);
        INFO(c.name << ", " << convolution->algorithm());
        check_agrees(*convolution, c.params, data, expected);
      }
    }
  }
}

TEST_CASE("Winograd's tiles are those of the definition wherever rows of them end") {
  IR_FOR_EACH_TARGET();
  for (std::size_t width = 1; width <= 70; ++width) {
    const std::ptrdiff_t pads = width < 3 ? 1 : static_cast<std::ptrdiff_t>(width % 4);
    const ConvolutionParams params = plane(1, 1, 2, 3, 3 + width % 9, width, 3, 1, pads);
    const Data data(params);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    const Epilogue epilogue = whole_epilogue(data);
    for (const std::size_t outputs : {2U, 4U}) {
      const auto convolution =
          create_winograd_convolution(ConvolutionGeometry(params), outputs, data.weights.data(), epilogue);
      INFO(width << " samples in a row, pads of " << pads << ", " << outputs << " outputs");
      REQUIRE(convolution != nullptr);
      check_agrees(*convolution, params, data, expected);
    }
  }
}

TEST_CASE("Winograd's convolution gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  std::vector<NamedParams> list = cases();
  list.push_back({"images that workers transform together", plane(3, 1, 2900, 64, 8, 8, 3, 1, 1)});
  list.push_back({"some of them packed", plane(1, 1, 700, 250, 15, 13, 3, 1, 1)});
  for (const NamedParams& c : list) {
    INFO(c.name);
    const Data data(c.params);
    for (const Create create : kCreators) {
      check_same_bits(c.params, data, [&](const ConvolutionParams& params) {
        return create(ConvolutionGeometry(params), 4, data.weights.data(), {});
      });
    }
  }
}

TEST_CASE("Winograd's convolution leaves other geometries alone") {
  const std::vector<float> weights(5 * 5 * 4 * 4);
  const auto made = [&](const ConvolutionParams& params) {
    const ConvolutionGeometry geometry(params);
    const bool is_made = create_winograd_convolution(geometry, 4, weights.data(), {}) != nullptr;
    CHECK(is_made == (create_compact_winograd(geometry, 4, weights.data(), {}) != nullptr));
    return is_made;
  };
  CHECK(made(plane(1, 1, 4, 4, 9, 9, 3)));
  CHECK_FALSE(made(plane(1, 1, 4, 4, 9, 9, 5)));
  CHECK_FALSE(made(plane(1, 1, 4, 4, 9, 9, 3, 2)));
  CHECK_FALSE(made(plane(1, 1, 4, 4, 9, 9, 3, 1, 1, 2)));
  CHECK_FALSE(made(plane(0, 1, 0, 4, 9, 9, 3)));
}

}  // namespace
}  // namespace ir::kernels
