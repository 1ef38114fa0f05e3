// 1x1 convolutions as products with the image where it lies, or with panels of it that are packed.
#include "kernels/convolution/convolution.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

constexpr std::string_view kName = "pointwise";

constexpr auto create = creator_of(kName);

std::vector<NamedParams> planes() {
  return {
      {"whole vectors", plane(1, 1, 40, 70, 12, 12, 1)},
      {"whole vectors, several images and groups", plane(2, 3, 18, 33, 4, 4, 1)},
      {"several blocks of terms", plane(1, 1, 600, 30, 8, 8, 1)},
      {"several blocks of positions", plane(1, 1, 9, 50, 40, 52, 1)},
      {"lines of whole vectors that are no cache lines", plane(1, 1, 30, 40, 6, 12, 1)},
      {"a rest of a vector", plane(1, 1, 40, 70, 11, 13, 1)},
      {"channels a page apart", plane(1, 1, 40, 70, 32, 32, 1)},
      {"channels a page apart, few filters", plane(1, 1, 40, 7, 32, 32, 1)},
      {"many filters", plane(1, 1, 12, 450, 8, 8, 1)},
  };
}

TEST_CASE("1x1 convolutions agree with the definition") {
  IR_FOR_EACH_TARGET();
  check_all_agree(planes(), kName, create);
}

TEST_CASE("1x1 convolutions have the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  check_all_bits(planes(), create);
}

TEST_CASE("Images of whole vectors are read where they lie") {
  IR_FOR_EACH_TARGET();
  if (gemm_kernels().lanes > 8) return;
  const auto scratch_of = [](const ConvolutionParams& params, const Prologue& prologue = {}) {
    const Data data(params);
    return create(params, data.weights.data(), {}, prologue)->scratch_bytes();
  };
  CHECK(scratch_of(plane(1, 1, 40, 70, 12, 12, 1)) == 0);
  CHECK(scratch_of(plane(1, 1, 40, 7, 32, 32, 1)) == 0);
  // Others are packed: what ends within a vector, what the first-level cache would not hold, what meets so
  // many filters that packing costs nothing, and what is mapped first.
  CHECK(scratch_of(plane(1, 1, 40, 70, 11, 13, 1)) > 0);
  CHECK(scratch_of(plane(1, 1, 40, 70, 32, 32, 1)) > 0);
  CHECK(scratch_of(plane(1, 1, 12, 450, 8, 8, 1)) > 0);
  const std::vector<float> shift(40, 1.0F);
  Prologue prologue;
  prologue.shift = shift.data();
  CHECK(scratch_of(plane(1, 1, 40, 70, 12, 12, 1), prologue) > 0);
}

}  // namespace
}  // namespace ir::kernels
