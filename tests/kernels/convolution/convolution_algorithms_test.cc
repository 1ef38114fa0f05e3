// The algorithms that create_convolution chooses from, each by its name.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"
#include "tests/kernels/weights/spoils_packed.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// Layers as networks have them, small, of sizes that leave rests.
std::vector<NamedParams> generated_cases() {
  std::mt19937 random(7);
  const auto pick = [&](std::size_t least, std::size_t most) {
    return least + random() % (most - least + 1);
  };
  std::vector<NamedParams> list;
  for (std::size_t i = 0; i < 60; ++i) {
    const std::size_t kernel = 1 + 2 * (random() % 3);
    const std::size_t stride = pick(1, 2);
    const std::size_t dilation = kernel == 1 ? 1 : pick(1, 2);
    const std::size_t groups = i % 3 == 0 ? pick(2, 5) : 1;
    const bool depthwise = i % 6 == 0;
    const std::size_t in = groups * (depthwise ? 1 : pick(1, 40));
    const std::size_t out = groups * (depthwise ? 1 : pick(1, 40));
    const std::size_t reach = (kernel - 1) * dilation;
    const std::size_t height = reach + pick(1, 17);
    const std::size_t width = reach + pick(1, 25);
    const auto pad = static_cast<std::ptrdiff_t>(random() % 2 * (reach / 2));
    list.push_back({std::to_string(i),
                    plane(pick(1, 2), groups, in, out, height, width, kernel, stride, pad, dilation)});
  }
  list.push_back({"stride 3", plane(1, 1, 9, 7, 40, 67, 3, 3, 1)});
  list.push_back({"stride 4", plane(1, 1, 10, 7, 38, 139, 4, 4)});
  list.push_back({"stride 4 in groups", plane(2, 2, 8, 6, 41, 75, 5, 4, 2)});
  list.push_back({"full", plane(2, 1, 17, 11, 3, 3, 3)});
  list.push_back({"idle taps", plane(1, 1, 9, 11, 4, 4, 3, 1, 5, 5)});
  return list;
}

std::vector<std::string_view> sorted(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> names_for(const ConvolutionParams& params, bool constant_weights) {
  std::vector<std::string_view> names;
  for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(params, constant_weights))
    names.push_back(algorithm.name);
  return names;
}

TEST_CASE("every algorithm that is listed for a geometry gives what the definition does, under its name") {
  IR_FOR_EACH_TARGET();
  for (const NamedParams& c : generated_cases()) {
    INFO(c.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    const auto value = [&](std::size_t i) { return expected.values[i]; };
    for (const bool constant : {true, false}) {
      const std::vector<std::string_view> names = names_for(c.params, constant);
      CHECK_FALSE(names.empty());
      for (const std::string_view name : names) {
        INFO(name);
        // What has been packed is not read again.
        std::vector<float> weights(data.weights.begin(), data.weights.end());
        const SpoilsPacked spoils({weights});
        const auto convolution =
            create_convolution(c.params, constant ? weights.data() : nullptr, {}, {}, name);
        REQUIRE(convolution != nullptr);
        CHECK(convolution->algorithm() == name);
        run(*convolution, data, constant ? nullptr : data.weights.data(), data.out.data());
        CHECK(count_wrong(*convolution, data.out, expected, value) == 0);
        CHECK(data.out.guards_intact());
      }
    }
  }
}

TEST_CASE("every algorithm tells a hook by channel which channel it is about") {
  IR_FOR_EACH_TARGET();
  for (const NamedParams& c : generated_cases()) {
    INFO(c.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    const std::size_t plane = product(c.params.out_dims, c.params.spatial_rank);
    const auto value = [&](std::size_t i) {
      return expected.values[i] + 0.125 * static_cast<double>(i / plane % c.params.out_channels);
    };
    Epilogue epilogue;
    set_hook_by_channel(epilogue);
    for (const std::string_view name : names_for(c.params, true)) {
      INFO(name);
      const auto convolution = create_convolution(c.params, data.weights.data(), epilogue, {}, name);
      run(*convolution, data, nullptr, data.out.data());
      CHECK(count_wrong(*convolution, data.out, expected, value, 12e-6) == 0);
      CHECK(data.out.guards_intact());
    }
  }
}

TEST_CASE("the first algorithm that is listed is the one that is chosen") {
  IR_FOR_EACH_TARGET();
  for (const NamedParams& c : generated_cases()) {
    INFO(c.name);
    const Data data(c.params);
    CHECK(create_convolution(c.params, data.weights.data(), {})->algorithm() ==
          convolution_algorithms(c.params, true).front().name);
  }
}

TEST_CASE("geometries have the algorithms that take them") {
  const test::WithoutMatrixTiles without_tiles;
  using Names = std::vector<std::string_view>;
  const ConvolutionParams large = plane(1, 1, 8, 16, 20, 20, 3, 1, 1);
  CHECK(sorted(names_for(large, true)) == Names{"direct", "direct_channels", "implicit_gemm", "tap_by_tap",
                                                "winograd_2x2", "winograd_2x2_compact", "winograd_4x4",
                                                "winograd_4x4_compact"});
  CHECK(names_for(large, false) == Names{"implicit_gemm"});
  CHECK(sorted(names_for(plane(1, 1, 7, 16, 20, 20, 1), true)) == Names{"direct", "pointwise"});
  CHECK(names_for(plane(1, 1, 7, 16, 20, 20, 1), false) == Names{"pointwise"});
  CHECK(sorted(names_for(plane(1, 1, 8, 16, 42, 42, 3, 2, 1), true)) ==
        Names{"direct", "direct_channels", "implicit_gemm", "tap_by_tap"});
  CHECK(sorted(names_for(plane(1, 1, 8, 16, 24, 24, 5), true)) ==
        Names{"direct", "direct_channels", "implicit_gemm", "tap_by_tap", "winograd_1x4"});
  CHECK(names_for(plane(1, 4, 4, 4, 20, 20, 5), true).front() == "depthwise");
}

TEST_CASE("an accurate convolution adds up products of the definition only") {
  const test::WithoutMatrixTiles without_tiles;
  ConvolutionParams params = plane(1, 1, 64, 64, 40, 40, 3, 1, 1);
  const Data data(params);
  CHECK(create_convolution(params, data.weights.data(), {})->algorithm().starts_with("winograd_4x4"));
  params.accurate = true;
  CHECK(sorted(names_for(params, true)) ==
        std::vector<std::string_view>{"direct", "direct_channels", "implicit_gemm", "tap_by_tap"});
  CHECK(create_convolution(params, data.weights.data(), {}, {}, "winograd_4x4") == nullptr);
  params = plane(1, 1, 8, 16, 24, 24, 5);
  params.accurate = true;
  for (const std::string_view name : names_for(params, true)) CHECK_FALSE(name.starts_with("winograd"));
}

TEST_CASE("convolutions that keep all bits of floats add operands up only where that gains much") {
  const test::WithoutMatrixTiles without_tiles;
  IR_FOR_EACH_TARGET();
  for (const ConvolutionParams& usual : {plane(1, 1, 64, 64, 40, 40, 3, 1, 1), plane(1, 1, 8, 16, 24, 24, 5),
                                         plane(1, 1, 512, 512, 20, 20, 1)}) {
    ConvolutionParams whole = usual;
    whole.whole_floats = true;
    const auto algorithms = convolution_algorithms(whole, true);
    for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(usual, true)) {
      INFO(algorithm.name);
      const auto same = std::find_if(algorithms.begin(), algorithms.end(),
                                     [&](const auto& other) { return other.name == algorithm.name; });
      REQUIRE(same != algorithms.end());
      const bool sums = algorithm.name.starts_with("winograd") || algorithm.name.starts_with("strassen");
      CHECK(same->cycles == Approx(algorithm.cycles * (sums ? kPriceOfSums : 1)));
    }
  }
}

TEST_CASE("algorithms tell how much memory their weights take") {
  const ConvolutionParams square = plane(2, 1, 8, 16, 20, 20, 3, 1, 1);
  CHECK(weight_bytes_of(square, "implicit_gemm") == 8 * 16 * 9 * 4);
  CHECK(weight_bytes_of(square, "winograd_4x4_compact") == 8 * 16 * 9 * 4);
  CHECK(weight_bytes_of(square, "winograd_2x2") == 8 * 16 * 16 * 4);
  CHECK(weight_bytes_of(square, "winograd_4x4") == 8 * 16 * 36 * 4);
  CHECK(weight_bytes_of(plane(1, 2, 16, 32, 20, 20, 3, 1, 1), "winograd_4x4") == 2 * 8 * 16 * 36 * 4);
  // Six points for three of the five taps of a row, and five rows, which are two parts each.
  CHECK(weight_bytes_of(plane(1, 1, 8, 16, 24, 24, 5), "winograd_1x4") > 8 * 16 * 25 * 4);
}

TEST_CASE("algorithms are listed by what they are expected to take") {
  const auto algorithms = convolution_algorithms(plane(1, 1, 8, 16, 20, 20, 3, 1, 1), true);
  CHECK(std::is_sorted(algorithms.begin(), algorithms.end(),
                       [](const auto& a, const auto& b) { return a.cycles < b.cycles; }));
  // Of all images.
  const auto of_three = convolution_algorithms(plane(3, 1, 8, 16, 20, 20, 3, 1, 1), true);
  CHECK(of_three.front().cycles == 3 * algorithms.front().cycles);
}

TEST_CASE("a name that does not take the geometry creates nothing") {
  const ConvolutionParams params = plane(1, 1, 8, 16, 20, 20, 3, 2, 1);
  const Data data(params);
  for (const char* name : {"winograd_2x2", "pointwise", "depthwise", "full", "reference", "nonsense"})
    CHECK(create_convolution(params, data.weights.data(), {}, {}, name) == nullptr);
  const ConvolutionParams plain = plane(1, 1, 8, 16, 20, 20, 3, 1, 1);
  CHECK(create_convolution(plain, data.weights.data(), {}, {}, "winograd_2x2") != nullptr);
  CHECK(create_convolution(plain, nullptr, {}, {}, "winograd_2x2") == nullptr);
}

TEST_CASE("a convolution over lines of one sample is that over the axis before them") {
  ConvolutionParams line = plane(2, 1, 9, 7, 1, 61, 1);
  line.kernel = {1, 5, 1};
  line.strides = {1, 2, 1};
  line.pads_begin = {0, 2, 0};
  line.out_dims = {1, 31, 1};
  ConvolutionParams column = line;
  for (auto* pair : {&column.in_dims, &column.out_dims, &column.kernel, &column.strides})
    std::swap((*pair)[0], (*pair)[1]);
  std::swap(column.pads_begin[0], column.pads_begin[1]);
  CHECK(names_for(column, true) == names_for(line, true));
  Data data(line);
  std::vector<float> of_column(data.out.size());
  run(*create_convolution(line, data.weights.data(), {}), data, nullptr, data.out.data());
  run(*create_convolution(column, data.weights.data(), {}), data, nullptr, of_column.data());
  CHECK(std::equal(of_column.begin(), of_column.end(), data.out.begin()));
}

}  // namespace
}  // namespace ir::kernels
