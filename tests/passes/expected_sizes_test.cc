// Expected sizes beside those of values that networks of random weights give.
#include "runtime/passes/expected_sizes.h"

#include <cmath>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/type_conversion.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

Tensor noise(Shape shape, float largest, unsigned seed) {
  Tensor tensor(ElementType::f32, std::move(shape));
  std::mt19937 random(seed);
  for (float& value : tensor.data<float>())
    value = std::uniform_real_distribution<float>(-largest, largest)(random);
  return tensor;
}

double mean_square(const Tensor& tensor) {
  double sum = 0;
  for (const float value : tensor.data<const float>()) sum += double{value} * double{value};
  return sum / static_cast<double>(tensor.size());
}

const float kOfSizeOne = std::sqrt(3.0F);

template <class Convolution>
Convolution padded_by_one() {
  Convolution convolution;
  convolution.strides = convolution.dilations = {1, 1};
  convolution.pads_begin = convolution.pads_end = {1, 1};
  return convolution;
}

/// Checks what is expected of the model's only result against what comes for an input of the size 1.
void check(const Model& model, Shape input) {
  const Node& result = *model.results().at(0);
  const double expected = passes::ExpectedSizes(model).mean_square(result.input(0));
  const double actual = mean_square(run_model(model, {noise(std::move(input), kOfSizeOne, 1)}).at(0));
  INFO("expected " << expected << ", is " << actual);
  CHECK(expected < 1.6 * actual);
  CHECK(actual < 1.6 * expected);
}

TEST_CASE("Sizes of what convolutions give are those of their weights, times the root of their terms") {
  Model model("convolutions");
  Node& x = model.add_parameter(ElementType::f32, {1, 16, 20, 20}, "x");
  Node& halves =
      model.add_constant(noise({32, 16, 3, 3}, 2, 2).converted(ElementType::f16), "weights of 16 bits");
  Node& weights = model.add(op::v0::Convert(ElementType::f32), {halves}, "weights");
  Node& wide = model.add(padded_by_one<op::v1::Convolution>(), {x, weights}, "wide");
  Node& rectified = model.add(op::v0::ReLU(), {wide}, "rectified");
  Node& filters = model.add_constant(noise({32, 1, 1, 3, 3}, 3, 3));
  Node& depthwise = model.add(padded_by_one<op::v1::GroupConvolution>(), {rectified, filters}, "depthwise");
  SECTION("one behind the other") { model.add_result(depthwise); }
  SECTION("added up") { model.add_result(model.add(op::v1::Add(), {depthwise, wide}, "sum")); }
  SECTION("beside each other") {
    op::v0::Concat concat;
    concat.axis = 1;
    model.add_result(model.add(concat, {depthwise, depthwise}, "both"));
  }
  SECTION("transposed") {
    Node& spread = model.add_constant(noise({32, 8, 3, 3}, 2, 4));
    model.add_result(
        model.add(padded_by_one<op::v1::ConvolutionBackpropData>(), {depthwise, spread}, "transposed"));
  }
  check(model, {1, 16, 20, 20});
}

TEST_CASE("Sizes of what matrix products give are those of their weights, times the root of their terms") {
  const bool transposed = GENERATE(false, true);
  Model model("products");
  Node& x = model.add_parameter(ElementType::f32, {50, 96}, "x");
  Node& weights = model.add_constant(noise(transposed ? Shape{40, 96} : Shape{96, 40}, 0.3F, 2));
  Node& product = model.add(op::v0::MatMul(false, transposed), {x, weights}, "product");
  SECTION("alone") { model.add_result(product); }
  SECTION("divided") {
    Node& eight = model.add_constant(Tensor::of<float>({1}, {8}));
    model.add_result(model.add(op::v1::Divide(), {product, eight}, "scaled"));
  }
  SECTION("clamped") {
    op::v0::Clamp clamp;
    clamp.min = 0;
    clamp.max = 0.1;
    Node& clamped = model.add(clamp, {product}, "clamped");
    CHECK(passes::ExpectedSizes(model).mean_square(clamped) <= 0.01 * (1 + 1e-6));
    return;
  }
  check(model, {50, 96});
}

TEST_CASE("Nothing is known of constants without elements, or of bits") {
  Model model("constants");
  Node& empty = model.add_constant(Tensor(ElementType::f32, {0, 3}));
  Node& codes = model.add_constant(Tensor(ElementType::u4, {8}));
  const passes::ExpectedSizes sizes(model);
  CHECK(sizes.mean_square(empty) == 1);
  CHECK(sizes.mean_square(codes) == 1);
}

}  // namespace
}  // namespace ir::test
