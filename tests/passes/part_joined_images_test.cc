// A convolution of joined channels with steps of their own becomes one for each part.
#include <cmath>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/quantization.h"
#include "kernels/weights/integer_weights.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

const Shape kImage{2, 20, 5, 6};

struct JoinBuilder : Builder {
  JoinBuilder() : Builder(kImage) {}

  /// Numbers that are bytes times a step.
  Tensor weights(const Shape& shape) {
    Tensor tensor = random_tensor(shape, ++seed);
    for (float& value : tensor.data<float>()) value = std::round(value * 60) / 64;
    return tensor;
  }
  Node& quantized(Output value, float highest) {
    op::v0::FakeQuantize op;
    op.levels = 256;
    Node& low = constant(number(0));
    Node& high = constant(number(highest));
    return add(op, {value, low, high, low, high});
  }
  Node& joined(std::vector<Output> values, std::int64_t axis = 1) {
    op::v0::Concat op;
    op.axis = axis;
    return add(op, std::move(values));
  }
  Node& convolution(Output image, Tensor filters) {
    op::v1::Convolution op;
    const std::int64_t pad = filters.shape()[2] / 2;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {pad, pad};
    return add(op, {image, constant(std::move(filters))});
  }
};

void check_parted(Model model, const Types& types) {
  const std::vector<Tensor> inputs{random_tensor(kImage, 5)};
  const std::vector<Tensor> expected = run_model(model, inputs);
  optimize(model);
  model.remove_unreachable();
  CHECK(passes::part_joined_images(model) == kernels::multiplies_bytes());
  model.remove_unreachable();
  if (kernels::multiplies_bytes()) CHECK(types_of(model) == types);
  check_consistent(model);
  const auto want = expected[0].data<float>();
  check_close(run_model(model, inputs).at(0), expected[0].shape(), {want.begin(), want.end()}, 1e-5);
}

void check_whole(Model model) {
  optimize(model);
  model.remove_unreachable();
  check_untouched(passes::part_joined_images, model);
}

}  // namespace

TEST_CASE("A convolution of parts with steps of their own becomes one for each", "[passes]") {
  JoinBuilder b;
  Node& first = b.quantized(*b.x, 1);
  Node& second = b.quantized(*b.x, 2);
  SECTION("two") {
    check_parted(b.result(b.convolution(b.joined({first, second}), b.weights({7, 40, 1, 1}))),
                 {"FakeQuantize", "FakeQuantize", "FusedConvolution", "FusedConvolution"});
  }
  SECTION("three, of other sizes, with windows, bias and what follows") {
    Node& third = b.quantized(b.joined({*b.x, *b.x}), 3);
    Node& sums = b.convolution(b.joined({first, third, second}, -3), b.weights({7, 80, 3, 3}));
    Node& biased = b.add(op::v1::Add(), {sums, b.constant({1, 7, 1, 1})});
    check_parted(b.result(b.add(op::v0::Clamp{.min = -3, .max = 4}, {biased})),
                 {"FakeQuantize", "FakeQuantize", "Concat", "FakeQuantize", "FusedConvolution",
                  "FusedConvolution", "FusedConvolution"});
  }
  SECTION("joined for somebody else, too") {
    Node& all = b.joined({first, second});
    Node& sums = b.convolution(all, b.weights({40, 40, 1, 1}));
    check_parted(
        b.result(b.add(op::v1::Multiply(), {sums, all})),
        {"FakeQuantize", "FakeQuantize", "Concat", "FusedConvolution", "FusedConvolution", "Multiply"});
  }
}

TEST_CASE("A convolution of parts made of bytes keeps these", "[passes]") {
  JoinBuilder b;
  Node& all = b.joined({b.quantized(*b.x, 1), b.quantized(*b.x, 2)});
  Tensor codes(ElementType::i8, {3, 40, 1, 1});
  std::int8_t next = -128;
  for (std::int8_t& code : codes.data<std::int8_t>()) code = next = static_cast<std::int8_t>(next + 37);
  const bool by_output = GENERATE(true, false);
  const Tensor scales = by_output ? f32({3, 1, 1, 1}, {0.5F, 0.25F, 0.125F}) : f32({1}, {0.5F});
  check_parted(b.result(b.convolution(all, Tensor::of_codes(codes, scales, by_output ? 40 : 1))),
               {"FakeQuantize", "FakeQuantize", "FusedConvolution", "FusedConvolution"});
}

TEST_CASE("Convolutions that are not to be parted stay", "[passes]") {
  JoinBuilder b;
  Node& first = b.quantized(*b.x, 1);
  Node& second = b.quantized(*b.x, 2);
  SECTION("parts with the same step") {
    check_whole(b.result(b.convolution(b.joined({first, b.quantized(*b.x, 1)}), b.weights({7, 40, 1, 1}))));
  }
  SECTION("a part that is not quantised") {
    check_whole(b.result(b.convolution(b.joined({first, *b.x}), b.weights({7, 40, 1, 1}))));
  }
  SECTION("weights that are no integers") {
    check_whole(b.result(b.convolution(b.joined({first, second}), random_tensor({7, 40, 1, 1}, 3))));
  }
  SECTION("joined along another axis") {
    check_whole(b.result(b.convolution(b.joined({first, second}, 2), b.weights({7, 20, 1, 1}))));
  }
  SECTION("many parts") {
    check_whole(
        b.result(b.convolution(b.joined({first, second, first, second, first}), b.weights({7, 100, 1, 1}))));
  }
  SECTION("a residual, which is added already") {
    Node& sums = b.convolution(b.joined({first, second}), b.weights({20, 40, 1, 1}));
    check_whole(b.result(b.add(op::v1::Add(), {sums, *b.x})));
  }
}

}  // namespace ir::test
