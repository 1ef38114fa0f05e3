// What follows a convolution or matrix product becomes part of it.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/normalization.h"
#include "runtime/ops/fused.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {

// ---- fuse_batch_norm_and_scale ---------------------------------------------------------------------------

TEST_CASE("BatchNormInference after a convolution becomes weights and a bias", "[passes]") {
  Builder b({Dimension(), 3, 5, 6});
  Node& sums = b.convolution(*b.x);
  Node& variance = b.constant(random_positive({4}, 50));
  Node* norm = nullptr;
  if (GENERATE(false, true)) {
    op::v0::BatchNormInference op;
    op.epsilon = 0.1;
    norm = &b.add(op, {b.constant({4}), b.constant({4}), sums, b.constant({4}), variance});
  } else {
    op::v5::BatchNormInference op;
    op.epsilon = 0.1;
    norm = &b.add(op, {sums, b.constant({4}), b.constant({4}), b.constant({4}), variance});
  }
  check_rewrite(passes::fuse_batch_norm_and_scale, b.result(*norm), {"FusedConvolution"}, {random_image()});
}

TEST_CASE("Factors per channel become weights, and scale the bias that is there", "[passes]") {
  Builder b({Dimension(), 3, 5, 6});
  Node& biased = b.add(op::v1::Add(), {b.convolution(*b.x), b.constant({1, 4, 1, 1})});
  Node& scaled = b.add(op::v1::Multiply(), {b.constant({4, 1, 1}), biased});
  Node& divided = b.add(op::v1::Divide(), {scaled, b.constant(number(3))});
  Model model = b.result(divided);
  REQUIRE(passes::fuse_bias(model));
  model.remove_unreachable();
  check_rewrite(passes::fuse_batch_norm_and_scale, model, {"FusedConvolution"}, {random_image()});
}

TEST_CASE("Factors find the output channels of every kind of weights", "[passes]") {
  SECTION("GroupConvolution") {
    Builder b({1, 4, 6});
    op::v1::GroupConvolution op;
    Node& sums = b.add(op, {*b.x, b.constant({2, 3, 2, 3})});
    check_rewrite(passes::fuse_batch_norm_and_scale,
                  b.result(b.add(op::v1::Multiply(), {sums, b.constant({1, 6, 1})})), {"GroupConvolution"},
                  {random_tensor({1, 4, 6}, 3)});
  }
  SECTION("ConvolutionBackpropData") {
    Builder b({1, 2, 5});
    op::v1::ConvolutionBackpropData op;
    Node& sums = b.add(op, {*b.x, b.constant({2, 3, 3})});
    check_rewrite(passes::fuse_batch_norm_and_scale,
                  b.result(b.add(op::v1::Multiply(), {sums, b.constant({1, 3, 1})})),
                  {"ConvolutionBackpropData"}, {random_tensor({1, 2, 5}, 3)});
  }
  SECTION("GroupConvolutionBackpropData") {
    Builder b({1, 4, 5});
    op::v1::GroupConvolutionBackpropData op;
    op.auto_pad = op::AutoPad::same_upper;
    Node& sums =
        b.add(op, {*b.x, b.constant({2, 2, 3, 3}), b.model.add_constant(std::vector<std::int64_t>{5})});
    check_rewrite(passes::fuse_batch_norm_and_scale,
                  b.result(b.add(op::v1::Multiply(), {sums, b.constant({1, 6, 1})})),
                  {"GroupConvolutionBackpropData"}, {random_tensor({1, 4, 5}, 3)});
  }
  SECTION("MatMul") {
    const bool transposed = GENERATE(false, true);
    Builder b({Dimension(), 7, 3});
    Node& product =
        b.add(op::v0::MatMul(false, transposed), {*b.x, b.constant(transposed ? Shape{5, 3} : Shape{3, 5})});
    check_rewrite(passes::fuse_batch_norm_and_scale,
                  b.result(b.add(op::v1::Multiply(), {product, b.constant({5})})), {"MatMul"},
                  {random_tensor({2, 7, 3}, 3)});
  }
}

TEST_CASE("What is not a factor per channel of known weights stays", "[passes]") {
  Builder b({1, 3, 5, 6});
  SECTION("one per column") {
    Node& sums = b.convolution(*b.x);
    check_untouched(passes::fuse_batch_norm_and_scale,
                    b.result(b.add(op::v1::Multiply(), {sums, b.constant({6})})));
  }
  SECTION("more dims than the sums") {
    Node& sums = b.convolution(*b.x);
    check_untouched(passes::fuse_batch_norm_and_scale,
                    b.result(b.add(op::v1::Multiply(), {sums, b.constant({1, 1, 4, 1, 1})})));
  }
  SECTION("division by zero") {
    Node& sums = b.convolution(*b.x);
    check_untouched(passes::fuse_batch_norm_and_scale,
                    b.result(b.add(op::v1::Divide(), {sums, b.constant(number(0))})));
  }
  SECTION("a factor that weights do not survive") {
    Node& large = b.constant(Tensor::of<float>({4, 3, 3, 3}, std::vector<float>(108, 1e20F)));
    Node& sums = b.add(op::v1::Convolution(), {*b.x, large});
    check_untouched(passes::fuse_batch_norm_and_scale,
                    b.result(b.add(op::v1::Multiply(), {sums, b.constant(number(1e20F))})));
  }
  SECTION("sums that others read") {
    Node& sums = b.convolution(*b.x);
    b.model.add_result(sums);
    check_untouched(passes::fuse_batch_norm_and_scale,
                    b.result(b.add(op::v1::Multiply(), {sums, b.constant({4, 1, 1})})));
  }
  SECTION("weights that come with the data") {
    Node& weights = b.model.add_parameter(ElementType::f32, {4, 3, 3, 3});
    Node& sums = b.add(op::v1::Convolution(), {*b.x, weights});
    check_untouched(passes::fuse_batch_norm_and_scale,
                    b.result(b.add(op::v1::Multiply(), {sums, b.constant({4, 1, 1})})));
  }
  SECTION("BatchNormInference over an axis that is not the product's columns") {
    Builder c({2, 4, 3});
    Node& product = c.add(op::v0::MatMul(), {*c.x, c.constant({3, 4})});
    op::v5::BatchNormInference norm;
    Node& variance = c.constant(random_positive({4}, 50));
    check_untouched(
        passes::fuse_batch_norm_and_scale,
        c.result(c.add(norm, {product, c.constant({4}), c.constant({4}), c.constant({4}), variance})));
  }
}

// ---- fuse_bias -------------------------------------------------------------------------------------------

TEST_CASE("Summands per channel become one bias", "[passes]") {
  Builder b({Dimension(), 3, 5, 6});
  Node& first = b.add(op::v1::Add(), {b.constant({1, 4, 1, 1}), b.convolution(*b.x)});
  Node& second = b.add(op::v1::Subtract(), {first, b.constant({4, 1, 1})});
  Node& third = b.add(op::v1::Add(), {second, b.constant(number(2))});
  check_rewrite(passes::fuse_bias, b.result(third), {"FusedConvolution"}, {random_image()});
}

TEST_CASE("A summand per column becomes the bias of a product", "[passes]") {
  Builder b({Dimension(), 3});
  Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
  check_rewrite(passes::fuse_bias, b.result(b.add(op::v1::Add(), {product, b.constant({1, 5})})),
                {"FusedMatMul"}, {random_tensor({4, 3}, 3)});
}

TEST_CASE("A bias joins weights that come with the data", "[passes]") {
  Builder b({1, 3, 5, 6});
  Node& weights = b.model.add_parameter(ElementType::f32, {4, 3, 3, 3});
  Node& sums = b.add(op::v1::Convolution(), {*b.x, weights});
  check_rewrite(passes::fuse_bias, b.result(b.add(op::v1::Add(), {sums, b.constant({4, 1, 1})})),
                {"FusedConvolution"}, {random_tensor({1, 3, 5, 6}, 3), random_tensor({4, 3, 3, 3}, 4)});
}

TEST_CASE("What is not a bias stays", "[passes]") {
  Builder b({2, 3});
  SECTION("one summand per row") {
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
    check_untouched(passes::fuse_bias, b.result(b.add(op::v1::Add(), {product, b.constant({2, 1})})));
  }
  SECTION("a product with a vector has no columns") {
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3})});
    check_untouched(passes::fuse_bias, b.result(b.add(op::v1::Add(), {product, b.constant({2})})));
  }
  SECTION("the constant is what is subtracted from") {
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
    check_untouched(passes::fuse_bias, b.result(b.add(op::v1::Subtract(), {b.constant({5}), product})));
  }
  SECTION("another type") {
    Builder c({2, 3}, ElementType::f64);
    Node& product = c.add(op::v0::MatMul(), {*c.x, c.constant(tensor<double>({3, 1}, {1, 2, 3}))});
    check_untouched(passes::fuse_bias,
                    c.result(c.add(op::v1::Add(), {product, c.constant(tensor<double>({1}, {1}))})));
  }
}

// ---- fuse_residual ---------------------------------------------------------------------------------------

TEST_CASE("A tensor of the same shape becomes the residual of the later operand", "[passes]") {
  Builder b({2, 3, 5, 6});
  Node& first = b.convolution(*b.x);
  Node& second = b.convolution(*b.x);
  const bool swapped = GENERATE(false, true);
  const std::vector<Output> inputs =
      swapped ? std::vector<Output>{second, first} : std::vector<Output>{first, second};
  Model model = b.result(b.add(op::v1::Add(), inputs));
  check_rewrite(passes::fuse_residual, model, {"Convolution", "FusedConvolution"}, {random_image()});
}

TEST_CASE("A bias may join before and after the residual", "[passes]") {
  Builder b({2, 3, 5, 6});
  Node& other = b.add(op::v0::ReLU(), {b.convolution(*b.x)});
  Node& biased = b.add(op::v1::Add(), {b.convolution(*b.x), b.constant({4, 1, 1})});
  Node& sum = b.add(op::v1::Add(), {other, biased});
  Model model = b.result(b.add(op::v1::Add(), {sum, b.constant({4, 1, 1})}));
  const auto both = [](Model& m) {
    const bool bias = passes::fuse_bias(m);
    return passes::fuse_residual(m) || bias;
  };
  check_rewrite(both, model, {"Convolution", "ReLU", "FusedConvolution"}, {random_image()});
}

TEST_CASE("The later operand's sum takes the earlier one along in a product", "[passes]") {
  Builder b({4, 3});
  Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 3})});
  check_rewrite(passes::fuse_residual, b.result(b.add(op::v1::Add(), {*b.x, product})), {"FusedMatMul"},
                {random_tensor({4, 3}, 3)});
}

TEST_CASE("What is not a residual stays", "[passes]") {
  SECTION("dims that are not known to be equal") {
    Builder b({Dimension(), 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 3})});
    check_untouched(passes::fuse_residual, b.result(b.add(op::v1::Add(), {*b.x, product})));
  }
  SECTION("a broadcast") {
    Builder b({4, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 3})});
    Node& row = b.model.add_parameter(ElementType::f32, {1, 3});
    check_untouched(passes::fuse_residual, b.result(b.add(op::v1::Add(), {row, product})));
  }
  SECTION("a product plus itself") {
    Builder b({4, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 3})});
    check_untouched(passes::fuse_residual, b.result(b.add(op::v1::Add(), {product, product})));
  }
}

// ---- fuse_activation -------------------------------------------------------------------------------------

TEST_CASE("Every function of one value becomes part of the operation before", "[passes]") {
  struct Case {
    Op op;
    std::vector<Tensor> parameters;
  };
  op::v0::Clamp clamp;
  clamp.min = -0.5;
  clamp.max = 6;
  op::v0::Elu elu;
  elu.alpha = 0.7;
  op::v7::Gelu gelu_tanh;
  gelu_tanh.approximation_mode = op::GeluApproximation::tanh;
  const std::vector<Case> cases{
      {op::v0::ReLU(), {}},
      {clamp, {}},
      {op::v0::Sigmoid(), {}},
      {op::v0::Tanh(), {}},
      {op::v0::Negative(), {}},
      {op::v0::Exp(), {}},
      {op::v0::Selu(), {number(1.6F), number(1.05F)}},
      {elu, {}},
      {op::v0::Gelu(), {}},
      {op::v7::Gelu(), {}},
      {gelu_tanh, {}},
      {op::v4::HSwish(), {}},
      {op::v4::Mish(), {}},
      {op::v4::SoftPlus(), {}},
      {op::v5::HSigmoid(), {}},
      {op::v4::Swish(), {}},
      {op::v4::Swish(), {number(1.5F)}},
      {op::v0::HardSigmoid(), {number(0.2F), number(0.4F)}},
      {op::v0::PReLU(), {f32({1}, {0.1F})}},
      {op::v0::PReLU(), {f32({4}, {0.1F, 0.1F, 0.1F, 0.1F})}},
      {op::v1::Minimum(), {number(1)}},
      {op::v1::Maximum(), {f32({1, 1}, {-1})}},
  };
  for (const Case& one : cases) {
    INFO(one.op.type());
    Builder b({Dimension(), 3, 5, 6});
    std::vector<Output> inputs{b.convolution(*b.x)};
    for (const Tensor& parameter : one.parameters) inputs.emplace_back(b.constant(parameter));
    check_rewrite(passes::fuse_activation, b.result(b.add(one.op, inputs)), {"FusedConvolution"},
                  {random_image()});
  }
}

TEST_CASE("Activations join every kind of operation", "[passes]") {
  SECTION("GroupConvolution") {
    Builder b({1, 4, 6});
    Node& sums = b.add(op::v1::GroupConvolution(), {*b.x, b.constant({4, 1, 1, 3})});
    check_rewrite(passes::fuse_activation, b.result(b.add(op::v4::HSwish(), {sums})),
                  {"FusedGroupConvolution"}, {random_tensor({1, 4, 6}, 3)});
  }
  SECTION("ConvolutionBackpropData") {
    Builder b({1, 2, 5});
    Node& sums = b.add(op::v1::ConvolutionBackpropData(), {*b.x, b.constant({2, 3, 3})});
    check_rewrite(passes::fuse_activation, b.result(b.add(op::v0::Tanh(), {sums})),
                  {"FusedConvolutionBackpropData"}, {random_tensor({1, 2, 5}, 3)});
  }
  SECTION("GroupConvolutionBackpropData that asks for a shape") {
    Builder b({1, 4, 5});
    op::v1::GroupConvolutionBackpropData op;
    op.auto_pad = op::AutoPad::same_upper;
    Node& sums =
        b.add(op, {*b.x, b.constant({2, 2, 3, 3}), b.model.add_constant(std::vector<std::int64_t>{5})});
    check_rewrite(passes::fuse_activation, b.result(b.add(op::v0::ReLU(), {sums})),
                  {"FusedGroupConvolutionBackpropData"}, {random_tensor({1, 4, 5}, 3)});
  }
  SECTION("MatMul") {
    Builder b({7, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
    check_rewrite(passes::fuse_activation, b.result(b.add(op::v0::Gelu(), {product})), {"FusedMatMul"},
                  {random_tensor({7, 3}, 3)});
  }
}

TEST_CASE("Limits come together", "[passes]") {
  Builder b({Dimension(), 3, 5, 6});
  Node& positive = b.add(op::v0::ReLU(), {b.convolution(*b.x)});
  check_rewrite(passes::fuse_activation,
                b.result(b.add(op::v1::Minimum(), {b.constant(number(1.5F)), positive})),
                {"FusedConvolution"}, {random_image()});
}

TEST_CASE("Slopes of channels join convolutions", "[passes]") {
  SECTION("as a vector") {
    Builder b({Dimension(), 3, 5, 4});  // as long as axis 1 and the last one: axis 1 counts
    check_rewrite(passes::fuse_activation,
                  b.result(b.add(op::v0::PReLU(), {b.convolution(*b.x), b.constant({4})})),
                  {"FusedConvolution"}, {random_tensor({2, 3, 5, 4}, 3)});
  }
  SECTION("as they are broadcast") {
    Builder b({2, 3, 5, 6});
    check_rewrite(passes::fuse_activation,
                  b.result(b.add(op::v0::PReLU(), {b.convolution(*b.x), b.constant({4, 1, 1})})),
                  {"FusedConvolution"}, {random_image()});
  }
  SECTION("limits behind them stay") {
    Builder b({2, 3, 5, 6});
    Node& active = b.add(op::v0::PReLU(), {b.convolution(*b.x), b.constant({4})});
    check_rewrite(passes::fuse_activation, b.result(b.add(op::v0::ReLU(), {active})),
                  {"FusedConvolution", "ReLU"}, {random_image()});
  }
  SECTION("not along another axis") {
    Builder b({2, 3, 5, 6});
    check_untouched(passes::fuse_activation,
                    b.result(b.add(op::v0::PReLU(), {b.convolution(*b.x), b.constant({6})})));
  }
  SECTION("not matrix products") {
    Builder b({7, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 5})});
    check_untouched(passes::fuse_activation, b.result(b.add(op::v0::PReLU(), {product, b.constant({5})})));
  }
}

TEST_CASE("What is no activation of the sums stays", "[passes]") {
  Builder b({2, 3, 5, 6});
  Node& sums = b.convolution(*b.x);
  SECTION("a limit that widens") {
    check_untouched(passes::fuse_activation,
                    b.result(b.add(op::v1::Maximum(), {sums, b.constant(f32({1, 1, 1, 1, 1}, {0}))})));
  }
  SECTION("another value's limit") {
    Node& other = b.model.add_parameter(ElementType::f32, {});
    check_untouched(passes::fuse_activation, b.result(b.add(op::v1::Maximum(), {sums, other})));
  }
  SECTION("strides that take the plain kernel") {
    op::v1::ConvolutionBackpropData op;
    op.strides = {100, 100};
    Node& spread = b.add(op, {*b.x, b.constant({3, 1, 2, 2})});
    check_untouched(passes::fuse_activation, b.result(b.add(op::v0::ReLU(), {spread})));
  }
  SECTION("a second activation") {
    Model model = b.result(b.add(op::v0::ReLU(), {b.add(op::v0::Sigmoid(), {sums})}));
    check_rewrite(passes::fuse_activation, model, {"FusedConvolution", "ReLU"}, {random_image()});
  }
}

// ---- Fused operations ------------------------------------------------------------------------------------

TEST_CASE("Fused operations say what is wrong", "[passes]") {
  op::FusedMatMul op;
  op.tail.bias = true;
  const auto real = [](PartialShape shape) { return value(ElementType::f32, std::move(shape)); };
  CHECK(failure_of(op, {real({2, 3}), real({3, 4})}) ==
        "IR-input-count: has 2 inputs, FusedMatMul takes at least 3");
  CHECK(failure_of(op, {real({2, 3}), real({3, 4}), real({5})}) ==
        "IR-shape: the bias has shape [5], the output [2,4]");
  CHECK(failure_of(op, {real({2, 3}), real({3, 4}), value(ElementType::f64, {4})}) ==
        "IR-element-type: input 2 is of type f64, FusedMatMul takes f32");
  op.tail.bias = false;
  op.tail.residual = true;
  CHECK(failure_of(op, {real({2, 3}), real({3, 4}), real({1, 4})}) ==
        "IR-shape: the residual has shape [1,4], the output [2,4]");
}

}  // namespace ir::test
