// Quantised values between convolutions and element-wise chains become bytes.
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/shape.h"
#include "kernels/weights/integer_weights.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct LevelBuilder : Builder {
  using Builder::Builder;

  Node& quantized(Output value, float low, float high, std::int64_t levels = 256) {
    op::v0::FakeQuantize op;
    op.levels = levels;
    Node& lowest = constant(number(low));
    Node& highest = constant(number(high));
    return add(op, {value, lowest, highest, lowest, highest});
  }
  Node& quantized(Output value) { return quantized(value, -2.56F, 2.54F); }
  Node& pooled(Output image, std::int64_t pads = 1) {
    op::v1::MaxPool op;
    op.kernel = {3, 3};
    op.strides = {2, 2};
    op.pads_begin = op.pads_end = {pads, pads};
    return add(op, {image});
  }
  Node& pointwise(Output image, std::int64_t in, std::int64_t out) {
    op::v1::Convolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {0, 0};
    return add(op, {image, constant({out, in, 1, 1})});
  }
};

const Shape kImage{1, 3, 9, 7};

// The types of what nodes that compute something give.
std::vector<ElementType> element_types(const Model& model) {
  std::vector<ElementType> types;
  for (const auto& node : model.nodes()) {
    const bool computes = !node->inputs().empty() && !node->op().is<op::v0::Result>();
    if (computes) types.push_back(node->output(0).type);
  }
  return types;
}

void check_stored(Model model, const Types& types, const std::vector<ElementType>& elements) {
  optimize(model);
  model.remove_unreachable();
  const std::vector<Tensor> inputs{random_tensor(kImage, 5)};
  const std::vector<Tensor> expected = run_model(model, inputs);
  CHECK(passes::store_levels(model) == kernels::multiplies_bytes());
  if (!kernels::multiplies_bytes()) return;
  model.remove_unreachable();
  CHECK(types_of(model) == types);
  CHECK(element_types(model) == elements);
  check_consistent(model);
  const auto want = expected[0].data<float>();
  check_close(run_model(model, inputs).at(0), expected[0].shape(), {want.begin(), want.end()}, 1e-5);
}

void check_not_stored(Model model) {
  optimize(model);
  check_untouched(passes::store_levels, model);
}

constexpr ElementType kByte = ElementType::u8;
constexpr ElementType kFloat = ElementType::f32;

}  // namespace

TEST_CASE("Levels go from convolution to convolution", "[passes]") {
  LevelBuilder b(kImage);
  Node& first = b.quantized(b.pointwise(b.quantized(*b.x), 3, 5));
  check_stored(b.result(b.pointwise(first, 5, 4)),
               {"FusedElementwise", "FusedConvolution", "FusedConvolution"}, {kByte, kByte, kFloat});
}

TEST_CASE("Element-wise chains read and write levels", "[passes]") {
  LevelBuilder b(kImage);
  Node& image = b.quantized(*b.x);
  Node& branch = b.quantized(b.pointwise(image, 3, 3), -1.3F, 1.25F);
  Node& sum = b.add(op::v0::ReLU(), {b.add(op::v1::Add(), {branch, image})});
  check_stored(b.result(b.pointwise(b.quantized(sum, 0, 2.55F), 3, 4)),
               {"FusedElementwise", "FusedConvolution", "FusedElementwise", "FusedConvolution"},
               {kByte, kByte, kByte, kFloat});
}

TEST_CASE("Levels become other ones, which may be floats again", "[passes]") {
  LevelBuilder b(kImage);
  Node& image = b.quantized(*b.x);
  Node& convolved = b.pointwise(image, 3, 3);
  Node& coarse = b.quantized(image, -2, 1.75F, 16);
  // A residual is floats.
  check_stored(b.result(b.add(op::v1::Add(), {coarse, convolved})),
               {"FusedElementwise", "FusedElementwise", "FusedConvolution"}, {kByte, kFloat, kFloat});
}

TEST_CASE("MaxPool passes levels on", "[passes]") {
  LevelBuilder b(kImage);
  Node& first = b.quantized(b.pointwise(b.quantized(*b.x), 3, 5));
  Node& pooled = b.pooled(b.pooled(first));
  check_stored(b.result(b.pointwise(pooled, 5, 4)),
               {"FusedElementwise", "FusedConvolution", "MaxPool", "MaxPool", "FusedConvolution"},
               {kByte, kByte, kByte, kByte, kFloat});
}

TEST_CASE("What others read stays floats", "[passes]") {
  LevelBuilder b(kImage);
  SECTION("results of the model that are maxima") {
    Node& pooled = b.pooled(b.quantized(*b.x));
    b.model.add_result(pooled);
    check_not_stored(b.result(b.pointwise(pooled, 3, 4)));
  }
  SECTION("maxima of windows that may see nothing but padding") {
    check_not_stored(b.result(b.pointwise(b.pooled(b.quantized(*b.x), 3), 3, 4)));
  }
  SECTION("results of the model") {
    Node& image = b.quantized(*b.x);
    b.model.add_result(image);
    check_not_stored(b.result(b.pointwise(image, 3, 4)));
  }
  SECTION("any other operation") {
    Node& image = b.quantized(*b.x);
    op::v0::Unsqueeze unsqueeze;
    Node& scores = b.add(unsqueeze, {image, b.constant(i64({1}, {0}))});
    check_not_stored(b.result(b.add(op::v1::Add(), {b.pointwise(image, 3, 3), scores})));
  }
  SECTION("the residual of a convolution") {
    Node& image = b.quantized(*b.x);
    check_not_stored(b.result(b.add(op::v1::Add(), {b.pointwise(image, 3, 3), image})));
  }
  SECTION("a depthwise convolution") {
    op::v1::GroupConvolution op;
    op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
    Node& image = b.quantized(*b.x);
    check_not_stored(b.result(b.add(op, {image, b.constant({3, 1, 1, 3, 3})})));
  }
  SECTION("levels that miss 0 where pads are seen") {
    Node& image = b.quantized(*b.x, -2.5602F, 2.5398F);
    check_not_stored(b.result(b.convolution(image)));
  }
  SECTION("more levels than bytes have") {
    check_not_stored(b.result(b.pointwise(b.quantized(*b.x, -2.56F, 2.56F, 513), 3, 4)));
  }
  SECTION("levels that are upside down") {
    check_not_stored(b.result(b.pointwise(b.quantized(*b.x, 2.54F, -2.56F), 3, 4)));
  }
}

}  // namespace ir::test
