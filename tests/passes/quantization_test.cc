// FakeQuantize becomes part of the convolution or matrix product before.
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/ops/fused.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct QuantizationBuilder : Builder {
  using Builder::Builder;

  Node& quantized(Output value, std::vector<Output> limits) {
    op::v0::FakeQuantize op;
    op.levels = 256;
    limits.insert(limits.begin(), value);
    return add(op, std::move(limits));
  }
  /// To 256 levels between -1.1 and 2.3.
  Node& quantized(Output value) {
    Node& low = constant(number(-1.1F));
    Node& high = constant(f32({1, 1}, {2.3F}));
    return quantized(value, {low, high, low, high});
  }
};

// Levels stay as they were, of which a ten-thousandth would be too much.
void check_fused(Model model, const Types& types, const std::vector<Tensor>& inputs) {
  check_rewrite(passes::fuse_quantization, std::move(model), types, inputs, 4e-7);
}

}  // namespace

TEST_CASE("Quantisation joins every kind of operation", "[passes]") {
  SECTION("Convolution") {
    QuantizationBuilder b({Dimension(), 3, 5, 6});
    check_fused(b.result(b.quantized(b.convolution(*b.x))), {"FusedConvolution"}, {random_image()});
  }
  SECTION("GroupConvolution") {
    QuantizationBuilder b({1, 4, 6});
    Node& sums = b.add(op::v1::GroupConvolution(), {*b.x, b.constant({4, 1, 1, 3})});
    check_fused(b.result(b.quantized(sums)), {"FusedGroupConvolution"}, {random_tensor({1, 4, 6}, 3)});
  }
  SECTION("ConvolutionBackpropData") {
    QuantizationBuilder b({1, 2, 5});
    Node& sums = b.add(op::v1::ConvolutionBackpropData(), {*b.x, b.constant({2, 3, 3})});
    check_fused(b.result(b.quantized(sums)), {"FusedConvolutionBackpropData"}, {random_tensor({1, 2, 5}, 3)});
  }
  SECTION("MatMul") {
    QuantizationBuilder b({7, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
    check_fused(b.result(b.quantized(product)), {"FusedMatMul"}, {random_tensor({7, 3}, 3)});
  }
}

TEST_CASE("Limits of more axes than the results have are those of fewer", "[passes]") {
  QuantizationBuilder b({7, 3});
  Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
  Node& low = b.constant(f32({1, 1, 1, 1}, {-1.1F}));
  Node& high = b.constant(f32({1, 1, 1}, {2.3F}));
  SECTION("where there is one range") {
    check_fused(b.result(b.quantized(product, {low, high, low, high})), {"FusedMatMul"},
                {random_tensor({7, 3}, 3)});
  }
  SECTION("where there are several") {
    Node& highs = b.constant(f32({1, 1, 1, 5}, {1, 2, 3, 4, 5}));
    Model model = b.result(b.quantized(product, {low, highs, low, high}));
    const std::vector<Tensor> inputs{random_tensor({7, 3}, 3)};
    const std::vector<Tensor> expected = run_model(model, inputs);
    optimize(model);
    check_consistent(model);
    const Tensor got = run_model(model, inputs)[0];
    const auto wanted = expected[0].data<float>();
    check_close(got, {7, 5}, {wanted.begin(), wanted.end()}, 1e-6);
  }
}

TEST_CASE("Limits that would make more of the data fuse with nothing", "[passes]") {
  const PartialShape image = GENERATE(PartialShape{1, 3, 5, 6}, PartialShape{Dimension(), 3, 5, 6});
  QuantizationBuilder b(image);
  Node& low = b.constant(f32({2, 1, 1, 1}, {-1, -1}));
  Node& high = b.constant(number(2));
  const Model model = b.result(b.quantized(b.convolution(*b.x), {low, high, low, high}));
  check_untouched(passes::fuse_quantization, model);
  check_untouched(passes::fuse_elementwise, model);
}

TEST_CASE("Quantisation comes after bias, residual and activation", "[passes]") {
  const Op activation = GENERATE(Op(op::v0::ReLU()), Op(op::v4::Swish()));
  QuantizationBuilder b({2, 3, 5, 6});
  Node& other = b.model.add_parameter(ElementType::f32, {2, 4, 5, 6});
  Node& biased = b.add(op::v1::Add(), {b.convolution(*b.x), b.constant({1, 4, 1, 1})});
  Node& active = b.add(activation, {b.add(op::v1::Add(), {biased, other})});
  Model model = b.result(b.quantized(active));
  const std::vector<Tensor> inputs{random_image(), random_tensor({2, 4, 5, 6}, 7)};
  const std::vector<Tensor> expected = run_model(model, inputs);
  optimize(model);
  CHECK(types_of(model) == Types{"FusedConvolution"});
  CHECK_THAT(kernel_of(model), contains_text("+bias+residual+activation+quantization"));
  check_consistent(model);
  const std::vector<Tensor> outputs = run_model(model, inputs);
  const auto results = outputs[0].data<float>();
  // Sums round in another order, which may decide where one is close to a tie.
  std::size_t differing = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const float want = expected[0].data<float>()[i];
    CHECK(results[i] == Approx(want).margin(1.01 * 3.4 / 255));
    if (results[i] != Approx(want).margin(1e-6)) ++differing;
  }
  CHECK(differing <= 2);
}

TEST_CASE("What follows a quantisation stays", "[passes]") {
  QuantizationBuilder b({2, 3, 5, 6});
  Node& first = b.quantized(b.convolution(*b.x));
  SECTION("an activation") {
    Model model = b.result(b.add(op::v4::Swish(), {first}));
    check_fused(model, {"FusedConvolution", "Swish"}, {random_image()});
    optimize(model);
    CHECK(types_of(model) == Types{"FusedConvolution", "Swish"});
  }
  SECTION("a bias") {
    Model model = b.result(b.add(op::v1::Add(), {first, b.constant({4, 1, 1})}));
    optimize(model);
    CHECK(types_of(model) == Types{"FusedConvolution", "Add"});
  }
  SECTION("a factor") {
    Model model = b.result(b.add(op::v1::Multiply(), {first, b.constant({4, 1, 1})}));
    optimize(model);
    CHECK(types_of(model) == Types{"FusedConvolution", "Multiply"});
  }
  SECTION("a second one") {
    check_fused(b.result(b.quantized(first)), {"FusedConvolution", "FakeQuantize"}, {random_image()});
  }
}

TEST_CASE("Quantisation of sums knows which numbers there may be many of", "[passes]") {
  // Of 256 levels from 0 to 6, 1 and 3 lie between two.
  op::v0::Clamp clamp;
  clamp.min = 0;
  const auto has_bytes = [](QuantizationBuilder& b, Node& results, std::vector<float> highs) {
    const auto channels = static_cast<std::int64_t>(highs.size());
    Node& low = b.constant(number(0));
    Node& high = b.constant(channels == 1 ? number(highs[0]) : f32({1, channels, 1, 1}, highs));
    Model model = b.result(b.quantized(results, {low, high, low, high}));
    REQUIRE(passes::fuse_quantization(model));
    model.remove_unreachable();
    std::vector<bool> list;
    for (const auto& node : model.nodes()) {
      const auto* fused = node->op().as<op::FusedConvolution>();
      if (fused == nullptr) continue;
      for (const kernels::Quantization& q : fused->tail.functions.quantization) list.push_back(q.has_bytes());
    }
    return list;
  };
  QuantizationBuilder b({2, 3, 5, 6});
  Node& sums = b.convolution(*b.x);
  const auto active = [&](const Op& op) -> Node& {
    Node& node = b.add(op, {sums});
    REQUIRE(passes::fuse_activation(b.model));
    return node;
  };
  SECTION("none but 0") { CHECK(has_bytes(b, sums, {6}) == std::vector{true}); }
  SECTION("of ReLU, too") { CHECK(has_bytes(b, active(op::v0::ReLU()), {6}) == std::vector{true}); }
  SECTION("the ends of Clamp") {
    clamp.max = 6;
    CHECK(has_bytes(b, active(clamp), {6}) == std::vector{true});
  }
  SECTION("an end between two levels") {
    clamp.max = 3;
    CHECK(has_bytes(b, active(clamp), {6}) == std::vector{false});
  }
  SECTION("those of other functions") {
    CHECK(has_bytes(b, active(op::v4::Swish()), {6}) == std::vector{false});
  }
  SECTION("for each channel") {
    clamp.max = 3;
    CHECK(has_bytes(b, active(clamp), {6, 5.1F, 6, 3}) == std::vector{false, true, false, true});
  }
}

TEST_CASE("Quantisation with ranges of channels joins convolutions", "[passes]") {
  SECTION("limits of some kinds per channel") {
    QuantizationBuilder b({2, 3, 5, 6});
    Node& sums = b.convolution(*b.x);
    Node& low = b.constant(number(-1));
    Node& lows = b.constant(f32({1, 4, 1, 1}, {-1, -0.3F, 0, -2.5F}));
    Node& highs = b.constant(f32({4, 1, 1}, {2, 0.7F, 3.1F, 1}));
    check_fused(b.result(b.quantized(sums, {lows, highs, low, highs})), {"FusedConvolution"},
                {random_image()});
  }
  SECTION("a depthwise convolution between others") {
    QuantizationBuilder b({1, 8, 16, 16});
    const auto quantized = [&](Node& sums) -> Node& {
      Node& lows = b.constant({1, 8, 1, 1});
      Node& highs = b.constant(random_positive({1, 8, 1, 1}, ++b.seed));
      return b.quantized(sums, {lows, highs, lows, highs});
    };
    op::v1::Convolution pointwise;
    pointwise.strides = pointwise.dilations = {1, 1};
    pointwise.pads_begin = pointwise.pads_end = {0, 0};
    op::v1::GroupConvolution depthwise;
    depthwise.strides = depthwise.dilations = depthwise.pads_begin = depthwise.pads_end = {1, 1};
    Node& first = quantized(b.add(pointwise, {*b.x, b.constant({8, 8, 1, 1})}));
    Node& second = quantized(b.add(depthwise, {first, b.constant({8, 1, 1, 3, 3})}));
    Node& third = quantized(b.add(pointwise, {second, b.constant({8, 8, 1, 1})}));
    check_fused(b.result(third), {"FusedConvolution", "FusedGroupConvolution", "FusedConvolution"},
                {random_tensor({1, 8, 16, 16}, 3)});
  }
  SECTION("not along another axis") {
    QuantizationBuilder b({2, 3, 5, 6});
    Node& low = b.constant(number(-1));
    Node& highs = b.constant({1, 1, 1, 6});
    check_untouched(passes::fuse_quantization,
                    b.result(b.quantized(b.convolution(*b.x), {low, highs, low, highs})));
  }
  SECTION("not matrix products") {
    QuantizationBuilder b({7, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
    Node& low = b.constant(number(-1));
    Node& highs = b.constant({1, 5});
    check_untouched(passes::fuse_quantization, b.result(b.quantized(product, {low, highs, low, highs})));
  }
}

TEST_CASE("Quantisation that is not of known ranges, or not the only reader, stays", "[passes]") {
  QuantizationBuilder b({2, 3, 5, 6});
  Node& sums = b.convolution(*b.x);
  Node& low = b.constant(number(-1));
  Node& high = b.constant(number(2));
  SECTION("a range from outside") {
    Node& other = b.model.add_parameter(ElementType::f32, {});
    check_untouched(passes::fuse_quantization, b.result(b.quantized(sums, {low, other, low, high})));
  }
  SECTION("another reader") {
    b.model.add_result(sums);
    check_untouched(passes::fuse_quantization, b.result(b.quantized(sums)));
  }
  SECTION("of no convolution") { check_untouched(passes::fuse_quantization, b.result(b.quantized(*b.x))); }
}

// ---- fuse_dequantization ---------------------------------------------------------------------------------

namespace {

struct DequantizationBuilder : QuantizationBuilder {
  using QuantizationBuilder::QuantizationBuilder;

  Node& converted(Output value, ElementType type) {
    op::v0::Convert op;
    op.destination_type = type;
    return add(op, {value});
  }
  /// x, quantised to 256 levels from `lowest` on, as `type` and as f32 again.
  Node& integers(ElementType type, float lowest, float step = 1) {
    Node& levels = quantized(*x, {constant(number(-2.0F)), constant(number(3.1F)), constant(number(lowest)),
                                  constant(number(lowest + 255 * step))});
    return converted(converted(levels, type), ElementType::f32);
  }
  Node& shifted(Output value, Tensor offset) {
    return add(op::v1::Subtract(), {value, constant(std::move(offset))});
  }
  Node& scaled(Output value, Tensor scale) {
    return add(op::v1::Multiply(), {value, constant(std::move(scale))});
  }
};

}  // namespace

TEST_CASE("Integers that are shifted and scaled at once are the levels of a quantisation", "[passes]") {
  const auto check = [](DequantizationBuilder& b, Output result) {
    check_rewrite(passes::fuse_dequantization, b.result(result), {"FakeQuantize"}, {random_tensor({5, 3}, 3)},
                  1e-6);
  };
  DequantizationBuilder b({Dimension(), 3});
  SECTION("u8 with an offset") {
    check(b, b.scaled(b.shifted(b.integers(ElementType::u8, 0), number(101)), number(0.02F)));
  }
  SECTION("i8 without one, the scale first") {
    check(b, b.add(op::v1::Multiply(), {b.constant(f32({1}, {0.02F})), b.integers(ElementType::i8, -128)}));
  }
  SECTION("i16") {
    check(b, b.scaled(b.shifted(b.integers(ElementType::i16, -1000), number(-3)), number(0.5F)));
  }
}

TEST_CASE("Other numbers stay as they are spelled", "[passes]") {
  DequantizationBuilder b({Dimension(), 3});
  const auto check = [&](Output result) { check_untouched(passes::fuse_dequantization, b.result(result)); };
  SECTION("Levels that are no integers") {
    check(b.scaled(b.integers(ElementType::u8, 0, 0.5F), number(0.02F)));
  }
  SECTION("Integers beyond the type's") { check(b.scaled(b.integers(ElementType::u8, -128), number(0.02F))); }
  SECTION("A scale for each column") {
    check(b.scaled(b.integers(ElementType::u8, 0), f32({3}, {0.1F, 0.2F, 0.3F})));
  }
  SECTION("A scale with more axes") { check(b.scaled(b.integers(ElementType::u8, 0), f32({1, 1, 1}, {2}))); }
  SECTION("A scale that only some levels survive") {
    check(b.scaled(b.integers(ElementType::u8, 0), number(3e38F)));
  }
  SECTION("Integers that others read") {
    Node& integers = b.integers(ElementType::u8, 0);
    check(b.add(op::v1::Add(), {b.scaled(integers, number(0.02F)), integers}));
  }
}

TEST_CASE("Numbers of unknown rank, which a scale may widen, stay", "[passes]") {
  DequantizationBuilder b{PartialShape()};
  check_untouched(passes::fuse_dequantization,
                  b.result(b.scaled(b.integers(ElementType::u8, 0), f32({3}, {2, 2, 2}))));
}

}  // namespace ir::test
