// Quantised values between convolutions and element-wise chains become bytes.
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/interpolate.h"
#include "ir_runtime/ops/movement.h"
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
  Node& joined(std::vector<Output> values) {
    op::v0::Concat op;
    op.axis = 1;
    return add(op, std::move(values));
  }
  /// The image twice as high and wide.
  Node& enlarged(Output image, op::InterpolateMode mode) {
    op::v4::Interpolate op;
    op.mode = mode;
    op.coordinate_transformation_mode = op::CoordinateMode::asymmetric;
    op.nearest_mode = op::NearestMode::floor;
    op.shape_calculation_mode = op::ShapeCalculation::scales;
    return add(op,
               {image, constant(i64({2}, {18, 14})), constant(f32({2}, {2, 2})), constant(i64({2}, {2, 3}))});
  }
  Node& pointwise(Output image, std::int64_t in, std::int64_t out) {
    op::v1::Convolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {0, 0};
    return add(op, {image, constant({out, in, 1, 1})});
  }
};

const Shape kImage{1, 3, 9, 7};

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

TEST_CASE("Levels that miss 0 go to convolutions that see pads", "[passes]") {
  LevelBuilder b(kImage);
  Node& image = b.quantized(*b.x, -2.5602F, 2.5398F);
  check_stored(b.result(b.convolution(image)), {"FusedElementwise", "FusedConvolution"}, {kByte, kFloat});
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

TEST_CASE("Levels are joined, parted and repeated", "[passes]") {
  LevelBuilder b(kImage);
  Node& image = b.quantized(*b.x);
  SECTION("joined") {
    Node& first = b.quantized(b.pointwise(image, 3, 5));
    Node& second = b.quantized(b.pointwise(image, 3, 2));
    Node& all = b.joined({first, image, second, first});
    check_stored(
        b.result(b.pointwise(b.pooled(all), 15, 4)),
        {"FusedElementwise", "FusedConvolution", "FusedConvolution", "Concat", "MaxPool", "FusedConvolution"},
        {kByte, kByte, kByte, kByte, kByte, kFloat});
  }
  SECTION("joined again") {
    Node& first = b.joined({image, b.quantized(b.pointwise(image, 3, 5))});
    Node& second = b.joined({first, b.quantized(b.pointwise(first, 8, 2))});
    check_stored(
        b.result(b.pointwise(second, 10, 4)),
        {"FusedElementwise", "FusedConvolution", "Concat", "FusedConvolution", "Concat", "FusedConvolution"},
        {kByte, kByte, kByte, kByte, kByte, kFloat});
  }
  SECTION("parted") {
    Node& parts =
        b.add(op::v1::VariadicSplit(), {image, b.constant(i64({}, {1})), b.constant(i64({2}, {1, 2}))});
    check_stored(b.result(b.pointwise(b.joined({{&parts, 1}, {&parts, 0}}), 3, 4)),
                 {"FusedElementwise", "VariadicSplit", "Concat", "FusedConvolution"},
                 {kByte, kByte, kByte, kFloat});
  }
  SECTION("repeated") {
    check_stored(b.result(b.pointwise(b.enlarged(image, op::InterpolateMode::nearest), 3, 4)),
                 {"FusedElementwise", "Interpolate", "FusedConvolution"}, {kByte, kByte, kFloat});
  }
}

TEST_CASE("What is joined with other values stays floats", "[passes]") {
  LevelBuilder b(kImage);
  Node& image = b.quantized(*b.x);
  // Steps are the same, and levels others.
  const auto other = [&](Output value) -> Node& { return b.quantized(value, 0, 5.1F); };
  SECTION("with other levels") {
    check_not_stored(b.result(b.pointwise(b.joined({image, other(*b.x)}), 6, 4)));
  }
  SECTION("with what becomes floats because of its next reader") {
    Node& pair = b.joined({image, image});
    check_not_stored(b.result(b.pointwise(b.joined({pair, other(*b.x)}), 9, 4)));
  }
  SECTION("with what somebody else reads") {
    Node& second = b.quantized(b.add(op::v4::Swish(), {*b.x}));
    b.model.add_result(second);
    check_not_stored(b.result(b.pointwise(b.joined({image, second}), 6, 4)));
  }
  SECTION("all along a row of neighbours, however long it is") {
    const int count = GENERATE(3, 40);
    Node* left = &other(*b.x);
    for (int i = 0; i < count; ++i) {
      Node& right = b.quantized(*b.x);
      b.model.add_result(b.pointwise(b.joined({*left, right}), 6, 4));
      left = &right;
    }
    check_not_stored(std::move(b.model));
  }
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
  SECTION("more levels than bytes have") {
    check_not_stored(b.result(b.pointwise(b.quantized(*b.x, -2.56F, 2.56F, 513), 3, 4)));
  }
  SECTION("levels that are upside down") {
    check_not_stored(b.result(b.pointwise(b.quantized(*b.x, 2.54F, -2.56F), 3, 4)));
  }
}

}  // namespace ir::test
