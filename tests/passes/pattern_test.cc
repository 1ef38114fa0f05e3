// Activations and normalisations that are spelled out.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {

// ---- fuse_swish ------------------------------------------------------------------------------------------

TEST_CASE("x * sigmoid(x) becomes Swish", "[passes]") {
  Builder b({2, 3});
  Node& gate = b.add(op::v0::Sigmoid(), {*b.x});
  const bool gate_first = GENERATE(false, true);
  const std::vector<Output> inputs =
      gate_first ? std::vector<Output>{gate, *b.x} : std::vector<Output>{*b.x, gate};
  check_rewrite(passes::fuse_swish, b.result(b.add(op::v1::Multiply(), inputs)), {"Swish"},
                {random_tensor({2, 3}, 3)});
}

TEST_CASE("x * hsigmoid(x) becomes HSwish", "[passes]") {
  Builder b({2, 3});
  const bool by_name = GENERATE(false, true);
  Node& gate = by_name ? b.add(op::v5::HSigmoid(), {*b.x})
                       : b.add(op::v0::HardSigmoid(),
                               {*b.x, b.constant(number(0.16666667F)), b.constant(number(0.5F))});
  check_rewrite(passes::fuse_swish, b.result(b.add(op::v1::Multiply(), {*b.x, gate})), {"HSwish"},
                {random_tensor({2, 3}, 3)});
}

namespace {

/// Nodes of formulas, for short.
struct Formula {
  Builder& b;

  Node& add(Output x, float y) const { return b.add(op::v1::Add(), {x, b.constant(number(y))}); }
  Node& times(Output x, Output y) const { return b.add(op::v1::Multiply(), {x, y}); }
  Node& times(Output x, float y) const { return times(x, b.constant(number(y))); }
  Node& over(Output x, Output y) const { return b.add(op::v1::Divide(), {x, y}); }
  /// min(max(x + 3, 0), 6)
  Node& clamped(Output x, bool by_name) const {
    if (by_name) {
      op::v0::Clamp clamp;
      clamp.max = 6;
      return b.add(clamp, {add(x, 3)});
    }
    return b.add(op::v1::Minimum(), {b.add(op::v0::ReLU(), {add(x, 3)}), b.constant(number(6))});
  }
  /// 1 + exp(x)
  Node& one_and_exp(Output x) const { return add(b.add(op::v0::Exp(), {x}), 1); }
  Node& negative(Output x) const { return b.add(op::v0::Negative(), {x}); }
};

}  // namespace

TEST_CASE("Functions are found in their formulas", "[passes]") {
  Builder b({Dimension(), 3});
  const Formula f{b};
  const Output x = *b.x;
  const bool way = GENERATE(false, true);
  const auto check = [&](Output result, const char* type) {
    check_rewrite(passes::fuse_swish, b.result(result), {type}, {random_tensor({5, 3}, 3)});
  };
  SECTION("HSwish: times the clamp, by 6") {
    check(f.times(f.times(x, f.clamped(x, way)), 1.0F / 6), "HSwish");
  }
  SECTION("HSwish: x * (clamp / 6)") {
    check(f.times(f.over(f.clamped(x, way), b.constant(number(6))), x), "HSwish");
  }
  SECTION("HSigmoid") { check(f.times(f.clamped(x, way), 1.0F / 6), "HSigmoid"); }
  SECTION("Sigmoid") {
    const Output negative = way ? f.negative(x) : f.times(x, -1);
    check(f.over(b.constant(number(1)), f.one_and_exp(negative)), "Sigmoid");
  }
  SECTION("Swish as a quotient") { check(f.over(x, f.one_and_exp(f.negative(x))), "Swish"); }
  SECTION("Swish with a sigmoid that is spelled out") {
    const Output gate = f.over(b.constant(number(1)), f.one_and_exp(f.negative(x)));
    check(way ? f.times(x, gate) : f.times(gate, x), "Swish");
  }
  SECTION("Swish with a beta, quick Gelu") {
    check(f.times(x, b.add(op::v0::Sigmoid(), {f.times(x, 1.702F)})), "Swish");
  }
  SECTION("SoftPlus") { check(b.add(op::v0::Log(), {f.one_and_exp(x)}), "SoftPlus"); }
  SECTION("Mish") {
    const Output softplus = way ? b.add(op::v4::SoftPlus(), {x}) : b.add(op::v0::Log(), {f.one_and_exp(x)});
    check(f.times(x, b.add(op::v0::Tanh(), {softplus})), "Mish");
  }
}

TEST_CASE("Formulas are looked for in products of any length", "[passes]") {
  Builder b({2});
  Node* product = b.x;
  for (int factors = 0; factors < 100'000; ++factors) product = &b.add(op::v1::Multiply(), {*product, *b.x});
  Model model = b.result(*product);
  CHECK_FALSE(passes::fuse_swish(model));
  CHECK_FALSE(passes::fuse_gelu(model));
}

TEST_CASE("What is almost such a formula stays", "[passes]") {
  Builder b({5, 3});
  const Formula f{b};
  const Output x = *b.x;
  const Output other = b.add(op::v0::Abs(), {x});
  const auto check = [&](Output result) { check_untouched(passes::fuse_swish, b.result(result)); };
  SECTION("another divisor") { check(f.times(f.times(x, f.clamped(x, true)), 0.2F)); }
  SECTION("the clamp of another value") { check(f.times(f.times(x, f.clamped(other, true)), other)); }
  SECTION("another limit") {
    op::v0::Clamp clamp;
    clamp.max = 5;
    check(f.times(b.add(clamp, {f.add(x, 3)}), 1.0F / 6));
  }
  SECTION("another sign") { check(f.over(x, f.one_and_exp(x))); }
  SECTION("another summand") { check(b.add(op::v0::Log(), {f.add(b.add(op::v0::Exp(), {x}), 2)})); }
  SECTION("nearly the summand") {
    check(b.add(op::v0::Log(), {f.add(b.add(op::v0::Exp(), {x}), 1.000005F)}));
  }
  SECTION("a function of another value") {
    check(f.times(other, b.add(op::v0::Tanh(), {b.add(op::v4::SoftPlus(), {x})})));
  }
  SECTION("a number that widens the result") {
    check(f.times(f.clamped(x, true), b.constant(f32({1, 1, 1}, {1.0F / 6}))));
  }
}

TEST_CASE("A gate that others read, or on another value, stays", "[passes]") {
  Builder b({2, 3});
  Node& gate = b.add(op::v0::Sigmoid(), {*b.x});
  SECTION("read twice") {
    b.model.add_result(gate);
    check_untouched(passes::fuse_swish, b.result(b.add(op::v1::Multiply(), {*b.x, gate})));
  }
  SECTION("another value") {
    Node& other = b.add(op::v0::ReLU(), {*b.x});
    check_untouched(passes::fuse_swish, b.result(b.add(op::v1::Multiply(), {other, gate})));
  }
  SECTION("other numbers") {
    Node& line = b.add(op::v0::HardSigmoid(), {*b.x, b.constant(number(0.2F)), b.constant(number(0.5F))});
    check_untouched(passes::fuse_swish, b.result(b.add(op::v1::Multiply(), {*b.x, line})));
  }
}

// ---- fuse_gelu -------------------------------------------------------------------------------------------

TEST_CASE("Gelu is found in the ways that it is written", "[passes]") {
  Builder b({Dimension(), 3});
  const auto times = [&](Output a, Output c) -> Node& { return b.add(op::v1::Multiply(), {a, c}); };
  const auto scaled = [&](Output a, float c) -> Node& { return times(a, b.constant(number(c))); };
  const auto plus_one = [&](Output a) -> Node& { return b.add(op::v1::Add(), {a, b.constant(number(1))}); };
  Node* result = nullptr;
  SECTION("x * (1 + erf(x / sqrt(2))) * 0.5") {
    Node& argument = b.add(op::v1::Divide(), {*b.x, b.constant(number(1.41421354F))});
    result = &scaled(times(*b.x, plus_one(b.add(op::v0::Erf(), {argument}))), 0.5F);
  }
  SECTION("(0.5 * x) * (erf(x * sqrt(1 / 2)) + 1)") {
    Node& erf = b.add(op::v0::Erf(), {scaled(*b.x, 0.707106769F)});
    result = &times(scaled(*b.x, 0.5F), plus_one(erf));
  }
  SECTION("x * (0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))))") {
    Node& cube = b.add(op::v1::Power(), {*b.x, b.constant(number(3))});
    Node& sum = b.add(op::v1::Add(), {*b.x, scaled(cube, 0.044715F)});
    Node& tanh = b.add(op::v0::Tanh(), {scaled(sum, 0.797884583F)});
    result = &times(*b.x, scaled(plus_one(tanh), 0.5F));
  }
  SECTION("the same with x * x * x") {
    Node& cube = times(times(*b.x, *b.x), *b.x);
    Node& sum = b.add(op::v1::Add(), {scaled(cube, 0.044715F), *b.x});
    Node& tanh = b.add(op::v0::Tanh(), {scaled(sum, 0.797884583F)});
    result = &scaled(times(*b.x, plus_one(tanh)), 0.5F);
  }
  check_rewrite(passes::fuse_gelu, b.result(*result), {"Gelu"}, {random_tensor({5, 3}, 3)}, 1e-4);
}

TEST_CASE("What is almost Gelu stays", "[passes]") {
  Builder b({2, 3});
  const float divisor = GENERATE(1.41421354F, 1.5F);
  const float half = divisor == 1.5F ? 0.5F : 0.6F;
  Node& argument = b.add(op::v1::Divide(), {*b.x, b.constant(number(divisor))});
  Node& erf = b.add(op::v0::Erf(), {argument});
  Node& gate = b.add(op::v1::Add(), {erf, b.constant(number(1))});
  Node& product = b.add(op::v1::Multiply(), {*b.x, gate});
  check_untouched(passes::fuse_gelu,
                  b.result(b.add(op::v1::Multiply(), {product, b.constant(number(half))})));
}

// ---- fuse_softmax ----------------------------------------------------------------------------------------

TEST_CASE("Exponents over their sum become SoftMax", "[passes]") {
  Builder b({Dimension(), 3, 8});
  const auto over = [&](auto reduction, Output value, std::int64_t axis, bool keep_dims = true) -> Node& {
    reduction.keep_dims = keep_dims;
    return b.add(reduction, {value, b.model.add_constant(axis)});
  };
  const std::int64_t axis = GENERATE(-1, 1);
  const auto exponents = [&](Output shift) -> Node& {
    return b.add(op::v0::Exp(), {b.add(op::v1::Subtract(), {*b.x, shift})});
  };
  SECTION("less the largest one") {
    Node& powers = exponents(over(op::v1::ReduceMax(), *b.x, axis));
    Node& sum = over(op::v1::ReduceSum(), powers, axis);
    check_rewrite(passes::fuse_softmax, b.result(b.add(op::v1::Divide(), {powers, sum})), {"SoftMax"},
                  {random_tensor({2, 3, 8}, 3)});
  }
  SECTION("not with the sum of another axis") {
    Node& powers = exponents(over(op::v1::ReduceMax(), *b.x, axis));
    Node& sum = over(op::v1::ReduceSum(), powers, 0);
    check_untouched(passes::fuse_softmax, b.result(b.add(op::v1::Divide(), {powers, sum})));
  }
  SECTION("not with the sum of others") {
    Node& powers = exponents(over(op::v1::ReduceMax(), *b.x, axis));
    Node& sum = over(op::v1::ReduceSum(), *b.x, axis);
    check_untouched(passes::fuse_softmax, b.result(b.add(op::v1::Divide(), {powers, sum})));
  }
  SECTION("not with the mean") {
    Node& powers = exponents(over(op::v1::ReduceMax(), *b.x, axis));
    Node& mean = over(op::v1::ReduceMean(), powers, axis);
    check_untouched(passes::fuse_softmax, b.result(b.add(op::v1::Divide(), {powers, mean})));
  }
  SECTION("not less something else, which may overflow") {
    Node& powers = exponents(over(op::v1::ReduceMean(), *b.x, axis));
    Node& sum = over(op::v1::ReduceSum(), powers, axis);
    check_untouched(passes::fuse_softmax, b.result(b.add(op::v1::Divide(), {powers, sum})));
  }
}

// ---- fuse_layer_norm -------------------------------------------------------------------------------------

namespace {

Op mean_over() {
  op::v1::ReduceMean mean;
  mean.keep_dims = true;
  return mean;
}

}  // namespace

TEST_CASE("A normalisation that is spelled out becomes MVN, whatever its axes", "[passes]") {
  Builder b({Dimension(), 3, 8});
  Node& axes = b.model.add_constant({-1, 1});
  Node& mean = b.add(mean_over(), {*b.x, axes});
  Node& deviation = b.add(op::v1::Subtract(), {*b.x, mean});
  Node* square = nullptr;
  SECTION("with a power") { square = &b.add(op::v1::Power(), {deviation, b.constant(number(2))}); }
  SECTION("with a product") { square = &b.add(op::v1::Multiply(), {deviation, deviation}); }
  SECTION("with the mean computed twice") {
    Node& again = b.add(mean_over(), {*b.x, b.model.add_constant({1, 2})});
    square = &b.add(op::v0::SquaredDifference(), {*b.x, again});
  }
  Node& variance = b.add(mean_over(), {*square, axes});
  Node& sum = b.add(op::v1::Add(), {variance, b.constant(number(0.01F))});
  Node& root = b.add(op::v0::Sqrt(), {sum});
  check_rewrite(passes::fuse_layer_norm, b.result(b.add(op::v1::Divide(), {deviation, root})), {"MVN"},
                {random_tensor({2, 3, 8}, 3)});
}

namespace {

/// value / sqrt(radicand), as it is written one way or another.
Node& over_root(Builder& b, Output value, Output radicand) {
  const auto power = [&](Output base, float exponent) -> Node& {
    return b.add(op::v1::Power(), {base, b.constant(number(exponent))});
  };
  const auto times = [&](Output factor) -> Node& { return b.add(op::v1::Multiply(), {value, factor}); };
  switch (GENERATE(range(0, 5))) {
    case 0:
      return b.add(op::v1::Divide(), {value, b.add(op::v0::Sqrt(), {radicand})});
    case 1:
      return b.add(op::v1::Divide(), {value, power(radicand, 0.5F)});
    case 2:
      return times(b.add(op::v1::Divide(), {b.constant(number(1)), b.add(op::v0::Sqrt(), {radicand})}));
    case 3:
      return times(power(b.add(op::v0::Sqrt(), {radicand}), -1));
    default:
      return times(power(radicand, -0.5F));
  }
}

}  // namespace

TEST_CASE("A normalisation is found however its quotient is written, and scaled before it", "[passes]") {
  Builder b({Dimension(), 3, 8});
  const bool scaled = GENERATE(false, true);
  Node& axes = b.model.add_constant({-1, 1});
  Node& deviation = b.add(op::v1::Subtract(), {*b.x, b.add(mean_over(), {*b.x, axes})});
  Node& variance = b.add(mean_over(), {b.add(op::v1::Multiply(), {deviation, deviation}), axes});
  Node& sum = b.add(op::v1::Add(), {b.constant(number(0.01F)), variance});
  Node& numerator = scaled ? b.add(op::v1::Multiply(), {b.constant({3, 1}), deviation}) : deviation;
  check_rewrite(passes::fuse_layer_norm, b.result(over_root(b, numerator, sum)),
                scaled ? std::vector<std::string>{"MVN", "Multiply"} : std::vector<std::string>{"MVN"},
                {random_tensor({2, 3, 8}, 3)});
}

TEST_CASE("A normalisation that is multiplied out is found", "[passes]") {
  Builder b({Dimension(), 3, 8});
  const bool scaled = GENERATE(false, true);
  const bool product_first = GENERATE(false, true);
  Node& axes = b.model.add_constant({-1, 1});
  Node& mean = b.add(mean_over(), {*b.x, axes});
  const auto build = [&](Output of_variance, Output of_product, Output of_shift) -> Model {
    const auto times = [&](Output p, Output q) -> Node& { return b.add(op::v1::Multiply(), {p, q}); };
    Node& variance = b.add(mean_over(), {b.add(op::v0::SquaredDifference(), {of_variance, mean}), axes});
    Node& sum = b.add(op::v1::Add(), {variance, b.constant(number(0.01F))});
    Node& ratio = scaled ? over_root(b, b.constant({3, 1}), sum)
                         : b.add(op::v1::Power(), {sum, b.constant(number(-0.5F))});
    Node& product = product_first ? times(of_product, ratio) : times(ratio, of_product);
    Node& rest = b.add(op::v1::Subtract(), {b.constant({3, 8}), times(of_shift, ratio)});
    return b.result(product_first ? b.add(op::v1::Add(), {product, rest})
                                  : b.add(op::v1::Add(), {rest, product}));
  };
  SECTION("with a scale, or without") {
    check_rewrite(
        passes::fuse_layer_norm, build(*b.x, *b.x, mean),
        scaled ? std::vector<std::string>{"MVN", "Multiply", "Add"} : std::vector<std::string>{"MVN", "Add"},
        {random_tensor({2, 3, 8}, 3)});
  }
  SECTION("not of something else") {
    Node& other = b.add(op::v0::Exp(), {*b.x});
    check_untouched(passes::fuse_layer_norm,
                    GENERATE(false, true) ? build(*b.x, other, mean) : build(other, *b.x, mean));
  }
  SECTION("not with another mean") {
    Node& other_axes = b.model.add_constant({1});
    Node& other = GENERATE(false, true) ? b.add(mean_over(), {*b.x, other_axes})
                                        : b.add(mean_over(), {b.add(op::v0::Exp(), {*b.x}), axes});
    check_untouched(passes::fuse_layer_norm, build(*b.x, *b.x, other));
  }
}

TEST_CASE("Division by the root mean square becomes LayerNorm that is not centered", "[passes]") {
  Builder b({Dimension(), 8});
  const bool by_power = GENERATE(false, true);
  Node& square = by_power ? b.add(op::v1::Power(), {*b.x, b.constant(number(2))})
                          : b.add(op::v1::Multiply(), {*b.x, *b.x});
  Node& mean = b.add(mean_over(), {square, b.model.add_constant(-1)});
  Node& sum = b.add(op::v1::Add(), {mean, b.constant(number(0.01F))});
  Node* result = &over_root(b, *b.x, sum);
  if (GENERATE(false, true)) result = &b.add(op::v1::Multiply(), {b.constant({8}), *result});
  if (GENERATE(false, true)) result = &b.add(op::v1::Add(), {*result, b.constant({8})});
  check_rewrite(passes::fuse_layer_norm, b.result(*result), {"LayerNorm"}, {random_tensor({5, 8}, 3)});
}

TEST_CASE("What is almost a division by the root mean square stays", "[passes]") {
  Builder b({4, 8});
  Output x = *b.x;
  std::int64_t axis = -1;
  SECTION("of another value") { x = b.add(op::v0::ReLU(), {*b.x}); }
  SECTION("over another axis") { axis = 0; }
  Node& mean = b.add(mean_over(), {b.add(op::v1::Multiply(), {*b.x, *b.x}), b.model.add_constant(axis)});
  Node& sum = b.add(op::v1::Add(), {mean, b.constant(number(0.01F))});
  check_untouched(passes::fuse_layer_norm,
                  b.result(b.add(op::v1::Divide(), {x, b.add(op::v0::Sqrt(), {sum})})));
}

TEST_CASE("MVN over the last axis with constants becomes LayerNorm", "[passes]") {
  Builder b({Dimension(), 8});
  op::v6::MVN mvn;
  mvn.eps = 0.1;
  Node& normal = b.add(mvn, {*b.x, b.model.add_constant(-1)});
  Node* result = &normal;
  SECTION("scale and shift") {
    Node& scaled = b.add(op::v1::Multiply(), {b.constant({8}), normal});
    result = &b.add(op::v1::Add(), {scaled, b.constant({1, 8})});
  }
  SECTION("scale") { result = &b.add(op::v1::Multiply(), {normal, b.constant({8})}); }
  SECTION("shift") { result = &b.add(op::v1::Add(), {b.constant({8}), normal}); }
  check_rewrite(passes::fuse_layer_norm, b.result(*result), {"LayerNorm"}, {random_tensor({5, 8}, 3)});
}

// As Keras computes it: as the training of a batch normalisation whose channels are the positions.
TEST_CASE("MVN over lines between Reshapes, with constants, becomes LayerNorm", "[passes]") {
  Builder b({2, 3, 8});
  const auto reshape = [&](Output value, std::vector<std::int64_t> shape) -> Node& {
    return b.add(op::v1::Reshape(), {value, b.model.add_constant(std::move(shape))});
  };
  const auto scaled = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> axes) -> Model {
    Node& normal =
        b.add(op::v6::MVN(), {reshape(*b.x, std::move(shape)), b.model.add_constant(std::move(axes))});
    return b.result(b.add(op::v1::Multiply(), {reshape(normal, {2, 3, 8}), b.constant({8})}));
  };
  SECTION("as long as the last axis") {
    check_rewrite(passes::fuse_layer_norm, scaled({1, 6, 4, 2}, {2, 3}), {"LayerNorm"},
                  {random_tensor({2, 3, 8}, 3)});
  }
  SECTION("not longer") { check_untouched(passes::fuse_layer_norm, scaled({2, 3, 4, 2}, {1, 2, 3})); }
  SECTION("not of elements that lie apart") {
    check_untouched(passes::fuse_layer_norm, scaled({1, 8, 3, 2}, {1}));
  }
}

TEST_CASE("Normalisations that LayerNorm does not cover stay", "[passes]") {
  Builder b({2, 4, 4});
  op::v6::MVN mvn;
  SECTION("another axis") {
    Node& normal = b.add(mvn, {*b.x, b.model.add_constant(1)});
    check_untouched(passes::fuse_layer_norm, b.result(b.add(op::v1::Multiply(), {normal, b.constant({4})})));
  }
  SECTION("a factor along another axis") {
    Node& normal = b.add(mvn, {*b.x, b.model.add_constant(2)});
    check_untouched(passes::fuse_layer_norm,
                    b.result(b.add(op::v1::Multiply(), {normal, b.constant({4, 1})})));
  }
  SECTION("a factor after the shift") {
    Node& normal = b.add(mvn, {*b.x, b.model.add_constant(2)});
    Node& shifted = b.add(op::v1::Add(), {normal, b.constant({4})});
    Node& scaled = b.add(op::v1::Multiply(), {shifted, b.constant({4})});
    check_rewrite(passes::fuse_layer_norm, b.result(scaled), {"LayerNorm", "Multiply"},
                  {random_tensor({2, 4, 4}, 3)});
  }
  SECTION("the mean of other axes") {
    Node& mean = b.add(mean_over(), {*b.x, b.model.add_constant(2)});
    Node& deviation = b.add(op::v1::Subtract(), {*b.x, mean});
    Node& square = b.add(op::v1::Multiply(), {deviation, deviation});
    Node& variance = b.add(mean_over(), {square, b.model.add_constant(1)});
    Node& sum = b.add(op::v1::Add(), {variance, b.constant(number(0.01F))});
    check_untouched(passes::fuse_layer_norm,
                    b.result(b.add(op::v1::Divide(), {deviation, b.add(op::v0::Sqrt(), {sum})})));
  }
}

// ---- fuse_group_norm -------------------------------------------------------------------------------------

namespace {

/// x [.., 6, 4, 5], normalised in groups (as many as there are channels without Reshape), times and plus
/// constants.
struct GroupNorm {
  PartialShape shape{Dimension(), 6, 4, 5};
  std::vector<std::int64_t> groups{0, 3, -1};
  std::vector<std::int64_t> back{0, 6, 4, 5};
  std::vector<std::int64_t> back_to_axes;  ///< of the input, whose dims are computed, instead
  std::vector<std::int64_t> axes{-1};
  Shape scale{6, 1, 1};

  [[nodiscard]] Model model() const {
    Builder b(shape);
    const auto reshape = [&](Output value, Output dims) -> Output {
      op::v1::Reshape op;
      op.special_zero = true;
      return b.add(op, {value, dims});
    };
    const Output x = groups.empty() ? Output(*b.x) : reshape(*b.x, b.model.add_constant(groups));
    op::v6::MVN mvn;
    mvn.eps = 0.1;
    const Output normal = b.add(mvn, {x, b.model.add_constant(axes)});
    const Output channels = groups.empty()         ? normal
                            : back_to_axes.empty() ? reshape(normal, b.model.add_constant(back))
                                                   : reshape(normal, dims_of_axes(b));
    Node& scaled = b.add(op::v1::Multiply(), {channels, b.constant(scale)});
    return b.result(b.add(op::v1::Add(), {b.constant({1, 6, 1, 1}), scaled}));
  }
  [[nodiscard]] Output dims_of_axes(Builder& b) const {
    return b.add(op::v8::Gather(), {b.add(op::v3::ShapeOf(), {*b.x}), b.model.add_constant(back_to_axes),
                                    b.model.add_constant(0)});
  }
};

}  // namespace

TEST_CASE("MVN of groups or channels with their constants becomes GroupNormalization", "[passes]") {
  GroupNorm norm;
  SECTION("groups as one axis") {}
  SECTION("groups with axes of their own") {
    norm.groups = {0, 3, 2, -1};
    norm.axes = {2, 3};
  }
  SECTION("a batch that is known") {
    norm.shape = {2, 6, 4, 5};
    norm.groups = {2, 3, 40};
    norm.back = {2, 6, 4, 5};
  }
  SECTION("channels") {
    norm.groups.clear();
    norm.axes = {3, 2};
  }
  SECTION("an image of any size, whose dims are computed") {
    norm.shape = {Dimension(), 6, Dimension(), Dimension()};
    norm.back_to_axes = {0, 1, 2, 3};
  }
  SECTION("an image of any height, which is what remains") {
    norm.shape = {Dimension(), 6, Dimension(), 5};
    norm.back = {0, 6, -1, 5};
  }
  check_rewrite(passes::fuse_group_norm, norm.model(), {"GroupNormalization"},
                {random_tensor({2, 6, 4, 5}, 3)});
}

TEST_CASE("What is no normalisation of groups stays", "[passes]") {
  GroupNorm norm;
  norm.shape = {2, 6, 4, 5};
  norm.back = {2, 6, 4, 5};
  SECTION("groups that go across batches") { norm.groups = {1, 6, -1}; }
  SECTION("groups that do not divide the channels") { norm.groups = {2, 4, -1}; }
  SECTION("axes that are not all") {
    norm.groups = {0, 3, 2, -1};
    norm.axes = {3};
  }
  SECTION("another shape behind it") { norm.back = {2, 6, 5, 4}; }
  SECTION("a shape behind it that is another one, as far as dims are known the same") {
    norm.shape = {Dimension(), 6, Dimension(), Dimension()};
    norm.back_to_axes = {0, 1, 3, 2};
  }
  SECTION("a factor of another axis") { norm.scale = {4, 1}; }
  check_untouched(passes::fuse_group_norm, norm.model());
}

TEST_CASE("LayerNorm says what is wrong and takes empty tensors", "[passes]") {
  op::LayerNorm op;
  op.scale = true;
  const auto real = [](PartialShape shape) { return value(ElementType::f32, std::move(shape)); };
  CHECK(failure_of(op, {real({2, 3})}) == "IR-input-count: has 1 inputs, LayerNorm takes 2");
  CHECK(failure_of(op, {real({2, 3}), real({4})}) == "IR-shape: input 1 has shape [4], input 0 [2,3]");
  CHECK(failure_of(op, {real(PartialShape(Shape())), real({4})}) == "IR-rank: input 0 is a scalar");
  CHECK(run(op, {f32({0, 3}, {}), f32({3}, {1, 2, 3})}).shape() == Shape{0, 3});
}

}  // namespace ir::test
