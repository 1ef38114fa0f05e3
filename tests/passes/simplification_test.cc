// Folding of constants and removal of operations that change nothing.
#include <algorithm>
#include <numeric>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {

// ---- drop_unused_positions -------------------------------------------------------------------------------

template <class Pool>
Pool max_pool() {
  Pool pool;
  pool.kernel = {3, 2};
  pool.strides = {2, 2};
  pool.pads_begin = {1, 0};
  pool.pads_end = {1, 1};
  return pool;
}

TEST_CASE("MaxPool computes positions only for those who read them", "[passes]") {
  Builder b({1, 2, 5, 5});
  auto pool = max_pool<op::v8::MaxPool>();
  SECTION("nobody does") {
    Model model = b.result(b.add(pool, {*b.x}));
    check_rewrite(passes::drop_unused_positions, model, {"MaxPool"}, {random_tensor({1, 2, 5, 5}, 3)});
    Model rewritten = model;
    CHECK(passes::drop_unused_positions(rewritten));
    CHECK(rewritten.results()[0]->input(0).node->op().is<op::v1::MaxPool>());
  }
  SECTION("an output does") {
    Node& node = b.add(pool, {*b.x});
    b.model.add_result(Output(&node, 1));
    check_untouched(passes::drop_unused_positions, b.result(node));
  }
  SECTION("with dilations, which MaxPool-1 has not") {
    pool.dilations = {2, 2};
    const Model model = b.result(b.add(pool, {*b.x}));
    check_rewrite(passes::drop_unused_positions, model, {"MaxPoolValues"}, {random_tensor({1, 2, 5, 5}, 3)});
  }
}

TEST_CASE("MaxPool with PyTorch's rounding computes positions only for those who read them", "[passes]") {
  Builder b({1, 2, 6, 7});
  auto pool = max_pool<op::v14::MaxPool>();
  pool.rounding_type = op::Rounding14::ceil_torch;
  const Model model = b.result(b.add(pool, {*b.x}));
  check_rewrite(passes::drop_unused_positions, model, {"MaxPoolValues"}, {random_tensor({1, 2, 6, 7}, 3)});
}

TEST_CASE("AdaptiveMaxPool computes positions only for those who read them", "[passes]") {
  Builder b({2, 3, 7, 5});
  Node& node = b.add(op::v8::AdaptiveMaxPool(), {*b.x, b.constant(i64({2}, {3, 1}))});
  SECTION("nobody does") {
    check_rewrite(passes::drop_unused_positions, b.result(node), {"AdaptiveMaxPoolValues"},
                  {random_tensor({2, 3, 7, 5}, 3)});
  }
  SECTION("an output does") {
    b.model.add_result(Output(&node, 1));
    check_untouched(passes::drop_unused_positions, b.result(node));
  }
}

// ---- fold_constants --------------------------------------------------------------------------------------

TEST_CASE("Folding decompresses weights and leaves only the result", "[passes]") {
  Builder b({1, 2});
  const Tensor weights = tensor<std::uint8_t>({2, 3}, {0, 64, 128, 192, 255, 7});
  Node& wide = b.add(op::v0::Convert(ElementType::f32), {b.constant(weights)});
  Node& centred = b.add(op::v1::Subtract(), {wide, b.constant(number(128))});
  Node& scaled = b.add(op::v1::Multiply(), {centred, b.constant(number(0.5F))});
  Model model = b.result(b.add(op::v0::MatMul(), {*b.x, scaled}));
  check_rewrite(passes::fold_constants, model, {"MatMul"}, {random_tensor({1, 2}, 3)});
  passes::fold_constants(model);
  model.remove_unreachable();
  CHECK(model.nodes().size() == 4);  // Parameter, Const, MatMul, Result
}

TEST_CASE("Folding leaves it to f32 to decompress weights of halves", "[passes]") {
  const ElementType half = GENERATE(ElementType::f16, ElementType::bf16);
  Builder b({1, 2});
  const Tensor weights = tensor<std::uint8_t>({2, 3}, {0, 64, 128, 192, 255, 7});
  Node& wide = b.add(op::v0::Convert(half), {b.constant(weights)});
  Node& scaled = b.add(op::v1::Multiply(), {wide, b.constant(number(0.3F).converted(half))});
  SECTION("on their way to f32") {
    Node& whole = b.add(op::v0::Convert(ElementType::f32), {scaled});
    check_untouched(passes::fold_constants, b.result(b.add(op::v0::MatMul(), {*b.x, whole})));
  }
  SECTION("but not what they were converted for otherwise") {
    Node& whole = b.add(op::v0::Convert(ElementType::i64), {scaled});
    Node& sum = b.add(op::v1::Add(), {whole, b.constant(i64({}, {1}))});
    check_rewrite(passes::fold_constants, b.result(sum), {}, {random_tensor({1, 2}, 3)});
  }
}

TEST_CASE("Folding leaves parts of a file where they lie", "[passes]") {
  constexpr std::int64_t kCount = 5000;  // more than inference looks at
  std::vector<float> values(2 * kCount);
  std::iota(values.begin(), values.end(), 0.0F);
  const Tensor of_file = Tensor::of_file(ElementType::f32, {2, kCount}, values.data(), nullptr);
  Builder b({kCount});
  op::v1::Split split;
  split.num_splits = 2;
  Node& parts = b.add(split, {b.constant(of_file), b.constant(tensor<std::int64_t>({}, {0}))});
  Node& flat = b.add(op::v1::Reshape(), {Output(&parts, 1), b.constant(tensor<std::int64_t>({1}, {kCount}))});
  Model model = b.result(b.add(op::v1::Add(), {*b.x, flat}));
  CHECK(passes::fold_constants(model));
  const Node* sum = model.results()[0]->input(0).node;
  const auto* constant = sum->input(1).node->op().as<op::v0::Constant>();
  REQUIRE(constant != nullptr);
  CHECK(constant->value->raw() == values.data() + kCount);
  CHECK(constant->value->is_of_file());
  // What a run computes may be written.
  const Tensor copied = evaluate(parts.op(), std::vector{of_file, tensor<std::int64_t>({}, {0})}).at(1);
  CHECK_FALSE(copied.is_of_file());
  const auto elements = copied.data<float>();
  CHECK(std::equal(elements.begin(), elements.end(), values.begin() + kCount, values.end()));
}

TEST_CASE("Folding keeps a value that the model and another fold read", "[passes]") {
  Builder b({2});
  Node& sum = b.add(op::v1::Add(), {b.constant(number(1)), b.constant(f32({2}, {1, 2}))});
  Node& product = b.add(op::v1::Multiply(), {sum, b.constant(number(3))});
  Node& y = b.add(op::v1::Add(), {*b.x, sum});
  check_rewrite(passes::fold_constants, b.result(b.add(op::v1::Add(), {y, product})), {"Add", "Add"},
                {f32({2}, {1, 1})});
}

TEST_CASE("Folding takes several outputs and shapes that inference knows", "[passes]") {
  Builder b({2, 3});
  op::v1::Split split;
  split.num_splits = 2;
  Node& parts = b.add(split, {b.constant(f32({4}, {1, 2, 3, 4})), b.model.add_constant(0)});
  Node& shape = b.add(op::v3::ShapeOf(), {*b.x});
  Node& wide = b.add(op::v0::Convert(ElementType::f32), {shape});
  Node& sum = b.add(op::v1::Add(), {Output(&parts, 0), wide});
  b.model.add_result(Output(&parts, 1));
  check_rewrite(passes::fold_constants, b.result(sum), {}, {random_tensor({2, 3}, 3)});
}

TEST_CASE("Folding leaves what would blow up, fail or differ from run to run", "[passes]") {
  SECTION("a number spread over megabytes") {
    Builder b({1024, 1024});
    Node& wide = b.add(op::v3::Broadcast(), {b.constant(number(1)), b.model.add_constant({1024, 1024})});
    check_untouched(passes::fold_constants, b.result(b.add(op::v1::Add(), {*b.x, wide})));
  }
  SECTION("what depends on an input") {
    Builder b({2});
    check_untouched(passes::fold_constants, b.result(b.add(op::v1::Add(), {*b.x, b.constant({2})})));
  }
}

TEST_CASE("Folding spreads a number over a little memory", "[passes]") {
  Builder b({128, 64});
  Node& wide = b.add(op::v3::Broadcast(), {b.constant(number(1)), b.model.add_constant({128, 64})});
  check_rewrite(passes::fold_constants, b.result(b.add(op::v1::Add(), {*b.x, wide})), {"Add"},
                {random_tensor({128, 64}, 3)});
}

// ---- eliminate_identities --------------------------------------------------------------------------------

TEST_CASE("Pooling of single elements goes", "[passes]") {
  Builder b({1, 2, 3, 4});
  const auto with_windows_of_one = [](auto pool) {
    pool.kernel = pool.strides = {1, 1};
    pool.pads_begin = pool.pads_end = {0, 0};
    return pool;
  };
  const auto goes = [&](Node& pool) {
    check_rewrite(passes::eliminate_identities, b.result(b.add(op::v0::ReLU(), {pool})), {"ReLU"},
                  {random_tensor({1, 2, 3, 4}, 3)});
  };
  SECTION("means") { goes(b.add(with_windows_of_one(op::v1::AvgPool()), {*b.x})); }
  SECTION("means of later versions") { goes(b.add(with_windows_of_one(op::v14::AvgPool()), {*b.x})); }
  SECTION("means that may be dilated") { goes(b.add(with_windows_of_one(op::v16::AvgPool()), {*b.x})); }
  SECTION("maxima") { goes(b.add(with_windows_of_one(op::v1::MaxPool()), {*b.x})); }
  SECTION("means that adapt to the size that is there") {
    goes(b.add(op::v8::AdaptiveAvgPool(), {*b.x, b.constant(i64({2}, {3, 4}))}));
  }
}

TEST_CASE("Pooling that changes something stays", "[passes]") {
  Builder b({1, 2, 3, 4});
  op::v1::AvgPool pool;
  pool.kernel = pool.strides = {1, 1};
  pool.pads_begin = pool.pads_end = {0, 0};
  SECTION("larger windows") { pool.kernel = {1, 2}; }
  SECTION("steps") { pool.strides = {2, 1}; }
  SECTION("pads before") { pool.pads_begin = {0, 1}; }
  SECTION("pads behind") { pool.pads_end = {1, 0}; }
  check_untouched(passes::eliminate_identities, b.result(b.add(pool, {*b.x})));
}

TEST_CASE("Pooling that adapts to another size stays", "[passes]") {
  Builder b({1, 2, 3, 4});
  Node& adapted = b.add(op::v8::AdaptiveAvgPool(), {*b.x, b.constant(i64({2}, {3, 2}))});
  check_untouched(passes::eliminate_identities, b.result(adapted));
}

TEST_CASE("Conversions to the same type and Identity go", "[passes]") {
  Builder b({2, Dimension()});
  Node& same = b.add(op::v0::Convert(ElementType::f32), {*b.x});
  Node& alike = b.add(op::v1::ConvertLike(), {same, b.constant(number(0))});
  Node& identity = b.add(op::v16::Identity(), {alike});
  check_rewrite(passes::eliminate_identities, b.result(b.add(op::v0::ReLU(), {identity})), {"ReLU"},
                {random_tensor({2, 3}, 3)});
}

TEST_CASE("Another type is no identity", "[passes]") {
  Builder b({2});
  check_untouched(passes::eliminate_identities, b.result(b.add(op::v0::Convert(ElementType::i32), {*b.x})));
}

TEST_CASE("Changes of shape that change nothing go", "[passes]") {
  Builder b({2, 3});
  Node& same = b.add(op::v1::Reshape(), {*b.x, b.model.add_constant({2, 3})});
  Node& longer = b.add(op::v0::Unsqueeze(), {same, b.model.add_constant(1)});
  Node& back = b.add(op::v0::Squeeze(), {longer, b.model.add_constant(1)});
  Node& tiled = b.add(op::v0::Tile(), {back, b.model.add_constant({1, 1})});
  Node& spread = b.add(op::v3::Broadcast(), {tiled, b.model.add_constant({2, 3})});
  check_rewrite(passes::eliminate_identities, b.result(b.add(op::v0::ReLU(), {spread})), {"ReLU"},
                {random_tensor({2, 3}, 3)});
}

TEST_CASE("Transposes that undo each other go", "[passes]") {
  Builder b({2, 3, 4});
  const auto transposed = [&](Output value, std::vector<std::int64_t> order) -> Node& {
    return b.add(op::v1::Transpose(), {value, b.model.add_constant(std::move(order))});
  };
  Node& same = transposed(*b.x, {0, 1, 2});
  Node& back = transposed(transposed(same, {1, 2, 0}), {2, 0, 1});
  Node& reversed = transposed(transposed(back, {}), {2, 1, 0});
  check_rewrite(passes::eliminate_identities, b.result(b.add(op::v0::ReLU(), {reversed})), {"ReLU"},
                {random_tensor({2, 3, 4}, 3)});
}

TEST_CASE("Transposes that do something stay", "[passes]") {
  Builder b({2, 3, 4});
  Node& once = b.add(op::v1::Transpose(), {*b.x, b.model.add_constant({1, 2, 0})});
  Node& twice = b.add(op::v1::Transpose(), {once, b.model.add_constant({1, 2, 0})});
  check_untouched(passes::eliminate_identities, b.result(twice));
}

TEST_CASE("What is quantised is not quantised again", "[passes]") {
  Builder b({1, 2, 6, 6});
  const auto quantized = [&](Output value, float low, float high, float result_high,
                             std::int64_t levels) -> Node& {
    op::v0::FakeQuantize op;
    op.levels = levels;
    Node& lowest = b.constant(number(low));
    return b.add(op, {value, lowest, b.constant(number(high)), lowest, b.constant(number(result_high))});
  };
  op::v1::MaxPool pool;
  pool.kernel = pool.strides = {2, 2};
  pool.pads_begin = pool.pads_end = {0, 0};
  const auto pooled = [&](float high, float result_high) -> Node& {
    return b.add(pool, {quantized(*b.x, -1.3F, high, result_high, 256)});
  };
  SECTION("on its way through a MaxPool") {
    Model model = b.result(quantized(pooled(1.7F, 1.7F), -1.3F, 1.7F, 1.7F, 256));
    check_rewrite(passes::eliminate_identities, model, {"FakeQuantize", "MaxPool"},
                  {random_tensor({1, 2, 6, 6}, 3)}, 0);
  }
  const auto joined = [&](Output a, Output c) -> Node& {
    op::v0::Concat concat;
    concat.axis = 1;
    return b.add(concat, {a, c});
  };
  SECTION("when it is joined") {
    Node& both = joined(pooled(1.7F, 1.7F), pooled(1.7F, 1.7F));
    Model model = b.result(quantized(both, -1.3F, 1.7F, 1.7F, 256));
    check_rewrite(passes::eliminate_identities, model,
                  {"FakeQuantize", "MaxPool", "FakeQuantize", "MaxPool", "Concat"},
                  {random_tensor({1, 2, 6, 6}, 3)}, 0);
  }
  SECTION("but when it is joined with something else it is") {
    Node& both = joined(pooled(1.7F, 1.7F), pooled(1.6F, 1.6F));
    check_untouched(passes::eliminate_identities, b.result(quantized(both, -1.3F, 1.7F, 1.7F, 256)));
  }
  SECTION("but to other limits, levels or results, or from other results, it is") {
    struct Case {
      float first_result;
      float high;
      float result;
      std::int64_t levels;
    };
    const Case c = GENERATE(Case{1.7F, 1.6F, 1.6F, 256}, Case{1.7F, 1.7F, 1.7F, 128},
                            Case{1.7F, 1.7F, 2, 256}, Case{2, 1.7F, 1.7F, 256});
    Node& again = quantized(pooled(1.7F, c.first_result), -1.3F, c.high, c.result, c.levels);
    check_untouched(passes::eliminate_identities, b.result(again));
  }
  SECTION("but after arithmetic it is") {
    Node& sum = b.add(op::v1::Add(), {pooled(1.7F, 1.7F), b.constant(number(0.1F))});
    check_untouched(passes::eliminate_identities, b.result(quantized(sum, -1.3F, 1.7F, 1.7F, 256)));
  }
}

TEST_CASE("Adding 0 and multiplying by 1 go where they do not widen", "[passes]") {
  Builder b({2, Dimension()});
  Node& sum = b.add(op::v1::Add(), {b.constant(number(0)), *b.x});
  Node& difference = b.add(op::v1::Subtract(), {sum, b.constant(f32({1, 1}, {0}))});
  Node& product = b.add(op::v1::Multiply(), {difference, b.constant(number(1))});
  Node& quotient = b.add(op::v1::Divide(), {product, b.constant(number(1))});
  Node& power = b.add(op::v1::Power(), {quotient, b.constant(number(1))});
  check_rewrite(passes::eliminate_identities, b.result(b.add(op::v0::ReLU(), {power})), {"ReLU"},
                {random_tensor({2, 3}, 3)});
}

TEST_CASE("Chains of what changes nothing go at once", "[passes]") {
  Builder b({2, 3});
  Node& one = b.constant(number(1));
  Node* value = b.x;
  for (int links = 0; links < 1000; ++links)
    value = &b.add(op::v1::Multiply(), {b.add(op::v16::Identity(), {*value}), one});
  Model model = b.result(b.add(op::v1::Add(), {*value, *value}));
  CHECK(passes::eliminate_identities(model));
  model.remove_unreachable();
  CHECK(types_of(model) == Types{"Add"});
  check_consistent(model);
}

TEST_CASE("Arithmetic that widens or is not neutral stays", "[passes]") {
  Builder b({2, Dimension()});
  SECTION("another rank") {
    check_untouched(passes::eliminate_identities,
                    b.result(b.add(op::v1::Add(), {*b.x, b.constant(f32({1, 1, 1}, {0}))})));
  }
  SECTION("a dim that may be 1") {
    check_untouched(passes::eliminate_identities,
                    b.result(b.add(op::v1::Add(), {*b.x, b.constant(f32({2, 2}, {0, 0, 0, 0}))})));
  }
  SECTION("other numbers") {
    check_untouched(passes::eliminate_identities,
                    b.result(b.add(op::v1::Add(), {*b.x, b.constant(f32({2, 1}, {0, 1}))})));
  }
  SECTION("0 - x and 1 / x") {
    Node& difference = b.add(op::v1::Subtract(), {b.constant(number(0)), *b.x});
    check_untouched(passes::eliminate_identities,
                    b.result(b.add(op::v1::Divide(), {b.constant(number(1)), difference})));
  }
}

}  // namespace ir::test
