// Convolutions to planes of few positions, and how workers share them.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "kernels/matmul/gemm_kernels.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

constexpr std::string_view kName = "small_plane";

bool serves() { return !small_plane_algorithm().empty(); }

constexpr auto create = creator_of(kName);

/// Terms that fill a block or go over its end; positions and channels that are shared or not.
std::vector<NamedParams> planes() {
  std::vector<NamedParams> list{
      {"many terms, few channels", plane(1, 1, 450, 20, 7, 7, 1)},
      {"few terms, many channels", plane(1, 1, 30, 250, 7, 9, 1)},
      {"both", plane(1, 1, 400, 131, 11, 11, 1)},
      {"two images", plane(2, 1, 200, 50, 10, 11, 1)},
      {"images that meet the same weights", plane(5, 1, 200, 50, 5, 6, 1)},
      {"groups", plane(1, 2, 420, 68, 9, 8, 1)},
      {"one row", plane(1, 1, 300, 40, 1, 120, 1)},
      {"taps", plane(1, 1, 70, 60, 9, 10, 3, 1, 1)},
  };
  if (gemm_kernels().lanes >= 16) {
    list.push_back({"more positions, many terms", plane(1, 1, 450, 40, 14, 14, 1)});
    list.push_back({"more positions, many channels", plane(1, 1, 60, 200, 13, 19, 1)});
    list.push_back({"more positions of two images", plane(2, 1, 210, 33, 16, 16, 1)});
    list.push_back({"more positions, taps", plane(1, 1, 50, 40, 14, 13, 3, 2, 1)});
  }
  return list;
}

TEST_CASE("Small planes agree with the definition") {
  IR_FOR_EACH_TARGET();
  if (!serves()) return;
  check_all_agree(planes(), kName, create);
}

TEST_CASE("Small planes have the same bits on any number of threads, and do not need them") {
  IR_FOR_EACH_TARGET();
  if (!serves()) return;
  check_all_bits(planes(), create);
  // What is planned for several threads runs on one.
  for (NamedParams& c : planes()) {
    INFO(c.name);
    c.params.max_threads = 5;
    const Data data(c.params);
    check_agrees(*create(c.params, data.weights.data(), whole_epilogue(data)), c.params, data,
                 twin(c.params, data.image.data(), data.weights.data()));
  }
}

TEST_CASE("Small planes of a mapped image have the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  if (!serves()) return;
  for (const NamedParams& c : planes()) {
    INFO(c.name);
    const Data data(c.params);
    std::vector<float> shift(c.params.in_channels);
    test::fill_random(shift, -1, 1, 6);
    Prologue prologue;
    prologue.shift = shift.data();
    prologue.low = -0.25F;
    check_same_bits(c.params, data, [&](const ConvolutionParams& params) {
      return create(params, data.weights.data(), {}, prologue);
    });

    Data mapped(c.params);
    const std::size_t plane = product(c.params.in_dims, c.params.spatial_rank);
    for (std::size_t i = 0; i < mapped.image.size(); ++i)
      mapped.image[i] = std::max(mapped.image[i] + shift[i / plane % c.params.in_channels], -0.25F);
    if (c.name.ends_with("taps")) continue;  // padding is not mapped
    const auto convolution = create(c.params, data.weights.data(), {}, prologue);
    run(*convolution, data, nullptr, mapped.out.data());
    const Sums expected = twin(c.params, mapped.image.data(), data.weights.data());
    CHECK(count_wrong(*convolution, mapped.out, expected,
                      [&](std::size_t i) { return expected.values[i]; }) == 0);
  }
}

TEST_CASE("Planes are small up to a number of positions that depends on the vectors") {
  IR_FOR_EACH_TARGET();
  if (!serves()) return;
  const auto takes = [](std::size_t height, std::size_t width) {
    const ConvolutionParams params = plane(1, 1, 8, 8, height, width, 1);
    const Data data(params);
    return create(params, data.weights.data(), {}) != nullptr;
  };
  CHECK(takes(8, 16));
  CHECK(takes(3, 43) == (gemm_kernels().lanes >= 16));
  CHECK(takes(16, 24) == (gemm_kernels().lanes >= 16));
  CHECK_FALSE(takes(1, 385));
}

}  // namespace
}  // namespace ir::kernels
