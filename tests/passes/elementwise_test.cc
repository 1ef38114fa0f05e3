// Element-wise operations become one where nobody else reads what lies between them.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/softmax.h"
#include "runtime/ops/fused_elementwise.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct ElementwiseBuilder : Builder {
  using Builder::Builder;

  template <class T>
  Node& two(Output a, Output b) {
    return add(T(), {a, b});
  }
  Node& sum(Output a, Output b) { return two<op::v1::Add>(a, b); }
  Node& product(Output a, Output b) { return two<op::v1::Multiply>(a, b); }
  Node& relu(Output value) { return add(op::v0::ReLU(), {value}); }
  Node& sigmoid(Output value) { return add(op::v0::Sigmoid(), {value}); }
};

const Types kOne{"FusedElementwise"};

Tensor image() { return random_tensor({2, 3, 5, 6}, 99); }

PartialShape any_image() {
  return GENERATE(false, true) ? PartialShape{2, 3, 5, 6} : PartialShape{Dimension(), 3, Dimension(), 6};
}

// Bits, too, stay as they were.
void check_chain(Model model, const Types& types, const std::vector<Tensor>& inputs) {
  check_rewrite(passes::fuse_elementwise, std::move(model), types, inputs, 0);
}

}  // namespace

TEST_CASE("Scale, shift and activation become one operation", "[passes]") {
  ElementwiseBuilder b(any_image());
  Node& scaled = b.product(*b.x, b.constant({1, 3, 1, 1}));
  check_chain(b.result(b.relu(b.sum(scaled, b.constant({3, 1, 1})))), kOne, {image()});
}

TEST_CASE("A chain goes by the last operation's name and tells what it is made of", "[passes]") {
  ElementwiseBuilder b({2, 3});
  Node& inner = b.sigmoid(b.sum(*b.x, b.constant(number(1))));
  SECTION("of a few") {
    Node& last = b.relu(inner);
    last.set_name("the end");
    Model model = b.result(last);
    CHECK(passes::fuse_elementwise(model));
    CHECK(kernel_of(model) == "elementwise+Add+Sigmoid+ReLU");
    CHECK(model.results()[0]->input(0).node->name() == "the end");
  }
  SECTION("of many") {
    Model model = b.result(b.relu(b.sigmoid(b.relu(inner))));
    CHECK(passes::fuse_elementwise(model));
    CHECK(kernel_of(model) == "elementwise+Add+Sigmoid+ReLU+2 more");
  }
}

TEST_CASE("Quantisation with one range is part of a chain", "[passes]") {
  ElementwiseBuilder b(any_image());
  const auto quantized = [&](Output value, Tensor low) {
    op::v0::FakeQuantize op;
    op.levels = 16;
    Node& lowest = b.constant(std::move(low));
    Node& highest = b.constant(number(2));
    return Output(b.add(op, {value, lowest, highest, lowest, highest}));
  };
  Node& sum = b.sum(*b.x, b.constant({1, 3, 1, 1}));
  SECTION("at its end") { check_chain(b.result(quantized(sum, number(-1))), kOne, {image()}); }
  SECTION("on the way") { check_chain(b.result(b.relu(quantized(sum, number(-1)))), kOne, {image()}); }
  SECTION("but not with a range per channel") {
    check_untouched(passes::fuse_elementwise, b.result(quantized(sum, random_tensor({3, 1, 1}, 5))));
  }
}

TEST_CASE("A result that only the chain reads, several times, is part of it", "[passes]") {
  ElementwiseBuilder b(any_image());
  Node& shifted = b.sum(*b.x, b.constant({1, 3, 1, 1}));
  op::v0::Clamp limits;
  limits.min = -1;
  limits.max = 2;
  Node& gate = b.product(b.add(limits, {shifted}), b.constant(number(0.25F)));
  check_chain(b.result(b.product(shifted, gate)), kOne, {image()});
}

TEST_CASE("Branches that meet become one operation", "[passes]") {
  ElementwiseBuilder b({4, 7});
  Node& y = b.model.add_parameter(ElementType::f32, {4, 7});
  Node& z = b.model.add_parameter(ElementType::f32, {4, 7});
  Node& left = b.product(*b.x, b.sigmoid(y));
  Node& right = b.product(b.add(op::v0::Tanh(), {z}), b.sigmoid(*b.x));
  check_chain(b.result(b.sum(left, right)), kOne,
              {random_tensor({4, 7}, 1), random_tensor({4, 7}, 2), random_tensor({4, 7}, 3)});
}

TEST_CASE("Every function that a chain takes keeps its meaning", "[passes]") {
  ElementwiseBuilder b({3, 4});
  Node* value = &b.add(op::v0::Abs(), {*b.x});
  const auto then = [&](Op op, std::vector<Tensor> operands = {}) {
    std::vector<Output> inputs{*value};
    for (Tensor& operand : operands) inputs.emplace_back(b.constant(std::move(operand)));
    value = &b.add(std::move(op), std::move(inputs));
  };
  op::v0::Elu elu;
  elu.alpha = 0.75;
  op::v7::Gelu gelu;
  gelu.approximation_mode = op::GeluApproximation::tanh;
  const Tensor vector = random_positive({4}, 5);
  SECTION("arithmetic") {
    then(op::v1::Add(), {number(0.5F)});
    then(op::v1::Power(), {number(1.5F)});
    then(op::v0::Sqrt());
    then(op::v1::Divide(), {vector});
    then(op::v1::Subtract(), {vector});
    then(op::v0::Negative());
    then(op::v0::SquaredDifference(), {number(2)});
    then(op::v1::Maximum(), {number(0.5F)});
    then(op::v1::Minimum(), {number(3)});
    then(op::v0::Exp());
  }
  SECTION("angles and probabilities") {
    then(op::v17::Atan2(), {vector});
    then(op::v1::Multiply(), {number(0.6F)});
    then(op::v17::ErfInv());
  }
  SECTION("activations") {
    then(op::v4::Swish(), {number(1.5F)});
    then(op::v4::HSwish());
    then(op::v5::HSigmoid());
    then(elu);
    then(gelu);
    then(op::v0::PReLU(), {f32({1}, {0.25F})});
    then(op::v0::HardSigmoid(), {number(0.3F), number(0.4F)});
    then(op::v0::Selu(), {number(1.6F), number(1.05F)});
    then(op::v4::Mish());
    then(op::v5::Round());
  }
  check_chain(b.result(*value), kOne, {random_tensor({3, 4}, 7)});
}

TEST_CASE("What others read, too, stays", "[passes]") {
  ElementwiseBuilder b({2, 3});
  Node& inner = b.relu(*b.x);
  Node& outer = b.sigmoid(inner);
  SECTION("a result of the model") { b.model.add_result(inner); }
  SECTION("an operation of another kind") { b.model.add_result(b.add(op::v8::SoftMax(), {inner})); }
  check_untouched(passes::fuse_elementwise, b.result(outer));
}

TEST_CASE("What is read by a chain and by others is computed once", "[passes]") {
  ElementwiseBuilder b({2, 3});
  Node& shared = b.relu(b.sum(*b.x, b.constant(number(1))));
  b.model.add_result(b.add(op::v8::SoftMax(), {shared}));
  Model model = b.result(b.product(b.sigmoid(shared), shared));
  check_chain(std::move(model), {"FusedElementwise", "SoftMax", "FusedElementwise"},
              {random_tensor({2, 3}, 7)});
}

TEST_CASE("What is smaller than the result is not computed for each of its elements", "[passes]") {
  ElementwiseBuilder b(any_image());
  Node& gates = b.model.add_parameter(ElementType::f32, {2, 3, 1, 1});
  Node& gate = b.sigmoid(b.sum(gates, b.constant(number(1))));
  check_chain(b.result(b.relu(b.product(*b.x, gate))), {"FusedElementwise", "FusedElementwise"},
              {image(), random_tensor({2, 3, 1, 1}, 8)});
}

TEST_CASE("Operations on other types, and matched by other rules, stay", "[passes]") {
  SECTION("integers") {
    Builder b({3}, ElementType::i32);
    Node& sum = b.add(op::v1::Add(), {*b.x, *b.x});
    check_untouched(passes::fuse_elementwise, b.result(b.add(op::v1::Multiply(), {sum, *b.x})));
  }
  SECTION("double") {
    Builder b({3}, ElementType::f64);
    Node& sum = b.add(op::v1::Add(), {*b.x, *b.x});
    check_untouched(passes::fuse_elementwise, b.result(b.add(op::v0::ReLU(), {sum})));
  }
  SECTION("axes that line up elsewhere") {
    ElementwiseBuilder b({2, 3, 4});
    op::v1::Add add;
    add.auto_broadcast = op::AutoBroadcast::pdpd;
    add.auto_broadcast_axis = 1;
    check_untouched(passes::fuse_elementwise, b.result(b.relu(b.add(add, {*b.x, b.constant({3})}))));
  }
  SECTION("a slope per channel") {
    ElementwiseBuilder b({2, 3, 4});
    check_untouched(passes::fuse_elementwise,
                    b.result(b.relu(b.add(op::v0::PReLU(), {*b.x, b.constant({3})}))));
  }
}

TEST_CASE("Chains that are too wide or too long become several", "[passes]") {
  ElementwiseBuilder b({4, 3});
  std::vector<Tensor> inputs{random_tensor({4, 3}, 1)};
  Node* value = b.x;
  SECTION("six tensors") {
    for (std::uint32_t i = 0; i < 5; ++i) {
      value = &b.sum(*value, b.model.add_parameter(ElementType::f32, {4, 3}));
      inputs.push_back(random_tensor({4, 3}, 2 + i));
    }
    check_chain(b.result(*value), {"Add", "FusedElementwise"}, inputs);
  }
  SECTION("forty functions") {
    for (int i = 0; i < 20; ++i) value = &b.relu(b.sum(*value, b.constant(number(0.25F))));
    check_chain(b.result(*value), {"FusedElementwise", "FusedElementwise"}, inputs);
  }
}

TEST_CASE("Other fusions come first", "[passes]") {
  ElementwiseBuilder b({2, 3, 5, 6});
  const auto becomes = [&](Output value, const Types& types) {
    Model model = b.result(value);
    const Tensor expected = run_model(model, {image()}).at(0);
    optimize(model);
    CHECK(types_of(model) == types);
    check_consistent(model);
    const auto numbers = expected.data<float>();
    check_close(run_model(model, {image()}).at(0), expected.shape(), {numbers.begin(), numbers.end()}, 1e-4);
  };
  SECTION("what follows a convolution is part of it") {
    Node& scaled = b.product(b.convolution(*b.x), b.constant({4, 1, 1}));
    becomes(b.relu(b.sum(scaled, b.constant({4, 1, 1}))), {"FusedConvolution"});
  }
  SECTION("a residual is part of a convolution, and what follows may be a chain") {
    Node& sum = b.relu(b.sum(b.convolution(*b.x), b.convolution(*b.x)));
    Node& scaled = b.product(sum, b.constant({4, 1, 1}));
    becomes(b.sum(scaled, b.constant(number(1))), {"Convolution", "FusedConvolution", "FusedElementwise"});
  }
  SECTION("functions that are spelled out are known by name") {
    Node& swish = b.product(*b.x, b.sigmoid(*b.x));
    becomes(b.sum(swish, b.constant({3, 1, 1})), {"FusedElementwise"});
  }
}

TEST_CASE("Shapes that do not match are found when they are known", "[passes]") {
  ElementwiseBuilder b({Dimension(), Dimension()});
  Node& y = b.model.add_parameter(ElementType::f32, {Dimension(), Dimension()});
  Model model = b.result(b.relu(b.sum(*b.x, y)));
  REQUIRE(passes::fuse_elementwise(model));
  const Op& fused = model.results()[0]->input(0).node->op();
  const auto two = [](PartialShape a, PartialShape c) {
    return std::vector{value(ElementType::f32, std::move(a)), value(ElementType::f32, std::move(c))};
  };
  CHECK(infer_shape(fused, two({4, 1}, {1, 3})) == PartialShape{4, 3});
  CHECK(failure_of(fused, two({4, 2}, {4, 3})) ==
        "IR-broadcast: Add of shapes [4,2] and [4,3], which do not match");
}

}  // namespace ir::test
