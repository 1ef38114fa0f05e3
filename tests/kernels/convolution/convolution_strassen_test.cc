// 1x1 convolutions in Strassen's form, for sizes that the cost model would leave to others, too.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "kernels/strassen/gemm_strassen.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

ConvolutionParams pointwise(std::size_t batch, std::size_t in, std::size_t out, std::size_t height,
                            std::size_t width) {
  return plane(batch, 1, in, out, height, width, 1);
}

bool takes(const ConvolutionParams& params, std::string_view form) {
  const auto algorithms = convolution_algorithms(params, true);
  return std::any_of(algorithms.begin(), algorithms.end(),
                     [&](const ConvolutionAlgorithm& algorithm) { return algorithm.name == form; });
}

std::vector<NamedParams> cases() {
  ConvolutionParams line = pointwise(1, 20, 90, 1, 1);
  line.spatial_rank = 1;
  line.in_dims = line.out_dims = {131, 1, 1};
  ConvolutionParams volume = pointwise(1, 12, 70, 3, 5);
  volume.spatial_rank = 3;
  volume.in_dims = volume.out_dims = {3, 5, 7};
  return {
      {"slices without a rest", pointwise(1, 16, 128, 8, 12)},
      {"positions and channels that are left", pointwise(1, 8, 151, 7, 7)},
      {"more positions than are turned at once", pointwise(1, 12, 65, 13, 21)},
      {"several images", pointwise(3, 8, 70, 9, 11)},
      {"several blocks of terms", pointwise(1, 1540, 66, 7, 8)},
      {"several stretches of channels", pointwise(1, 4, 1100, 10, 11)},
      {"several blocks of positions", pointwise(1, 520, 70, 23, 25)},
      {"left operands that are not kept", pointwise(1, 1028, 150, 15, 17)},
      {"one dimension", line},
      {"three dimensions", volume},
  };
}

TEST_CASE("1x1 convolution in Strassen's form agrees with its definition") {
  IR_FOR_EACH_TARGET();
  const StrassenForm form = GENERATE(from_range(std::begin(kStrassenForms), std::end(kStrassenForms)));
  std::size_t taken = 0;
  for (const NamedParams& c : cases()) {
    if (!takes(c.params, form.name)) continue;
    ++taken;
    INFO(c.name << ", " << form.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    const auto create = [&](const ConvolutionParams& params, const Epilogue& epilogue) {
      auto convolution = create_convolution(params, data.weights.data(), epilogue, {}, form.name);
      REQUIRE(convolution != nullptr);
      CHECK(convolution->algorithm() == form.name);
      return convolution;
    };
    const auto plain = create(c.params, {});
    run(*plain, data, nullptr, data.out.data());
    CHECK(count_wrong(*plain, data.out, expected, [&](std::size_t i) { return expected.values[i]; }) == 0);
    CHECK(data.out.guards_intact());

    check_agrees(*create(c.params, whole_epilogue(data)), c.params, data, expected);

    Epilogue epilogue;
    set_hook_by_channel(epilogue);
    const auto hooked = create(c.params, epilogue);
    run(*hooked, data, nullptr, data.out.data());
    const std::size_t plane_size = product(c.params.out_dims, c.params.spatial_rank);
    const auto value = [&](std::size_t i) {
      return expected.values[i] + 0.125 * static_cast<double>(i / plane_size % c.params.out_channels);
    };
    CHECK(count_wrong(*hooked, data.out, expected, value, 24e-6) == 0);

    // A position that is not added to others should not let results depend on who it is dealt out with.
    for (std::size_t channel = 0; channel < c.params.in_channels; ++channel)
      data.image[channel * plane_size + plane_size / 3] *= 1e4F;
    check_same_bits(c.params, data, [&](const ConvolutionParams& params) { return create(params, {}); });
  }
  CHECK(taken >= 6);
}

TEST_CASE("1x1 convolution in Strassen's form does not let positions spoil each other") {
  IR_FOR_EACH_TARGET();
  const StrassenForm form = GENERATE(from_range(std::begin(kStrassenForms), std::end(kStrassenForms)));
  const ConvolutionParams params = pointwise(1, 64, 140, 9, 9);
  const std::size_t plane_size = 81;
  Data data(params);
  const auto scale = [&](std::size_t position, float factor) {
    for (std::size_t channel = 0; channel < params.in_channels; ++channel)
      data.image[channel * plane_size + position] *= factor;
  };
  scale(3, 1e6F);
  scale(50, 1e-6F);
  scale(80, 1e5F);
  scale(31, std::numeric_limits<float>::infinity());
  const Sums expected = twin(params, data.image.data(), data.weights.data());
  const auto convolution = create_convolution(params, data.weights.data(), {}, {}, form.name);
  REQUIRE(convolution != nullptr);
  run(*convolution, data, nullptr, data.out.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < data.out.size(); ++i) {
    wrong += i % plane_size == 31
                 ? std::isfinite(data.out[i])
                 : !(std::abs(data.out[i] - expected.values[i]) <= 1e-4 * expected.magnitudes[i]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("Strassen's form takes 1x1 convolutions of one group with known weights") {
  IR_FOR_EACH_TARGET();
  ConvolutionParams params = pointwise(1, 512, 1024, 14, 14);
  CHECK(takes(params, "strassen"));
  CHECK(takes(params, "strassen_twice"));
  for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(params, false))
    CHECK(algorithm.name == "pointwise");
  params.accurate = true;
  CHECK_FALSE(takes(params, "strassen"));
  CHECK_FALSE(takes(pointwise(1, 511, 1024, 14, 14), "strassen"));
  CHECK_FALSE(takes(pointwise(1, 510, 1024, 14, 14), "strassen_twice"));
  CHECK_FALSE(takes(pointwise(1, 512, 1024, 2, 2), "strassen"));
  CHECK_FALSE(takes(plane(1, 2, 512, 1024, 14, 14, 1), "strassen"));
  CHECK_FALSE(takes(plane(1, 1, 512, 1024, 14, 14, 1, 2), "strassen"));

  // What happens to the image on the way is left to others.
  params = pointwise(1, 512, 1024, 14, 14);
  const Data data(params);
  const Prologue clamp{.low = 0};
  CHECK(create_convolution(params, data.weights.data(), {}, clamp, "strassen") == nullptr);
  CHECK_FALSE(
      create_convolution(params, data.weights.data(), {}, clamp)->algorithm().starts_with("strassen"));
}

}  // namespace
}  // namespace ir::kernels
