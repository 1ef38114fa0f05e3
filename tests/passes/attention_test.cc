// Products around a softmax become attention.
#include <limits>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/select.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/slicing.h"
#include "ir_runtime/ops/softmax.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr double kLowest = std::numeric_limits<float>::lowest();

struct AttentionBuilder : Builder {
  using Builder::Builder;

  Node& reshape(Output value, Integers pattern) {
    op::v1::Reshape op;
    op.special_zero = true;
    return add(op, {value, model.add_constant(std::move(pattern))});
  }
  Node& transpose(Output value, Integers order) {
    return add(op::v1::Transpose(), {value, model.add_constant(std::move(order))});
  }
  Node& softmax(Output value, std::int64_t axis = -1) {
    op::v8::SoftMax op;
    op.axis = axis;
    return add(op, {value});
  }
  Node& matmul(Output a, Output b, bool transpose_b = false) {
    return add(op::v0::MatMul(false, transpose_b), {a, b});
  }
  Node& slice(Output value, std::int64_t start, std::int64_t stop, std::int64_t axis) {
    return add(op::v8::Slice(),
               {value, model.add_constant(Integers{start}), model.add_constant(Integers{stop}),
                model.add_constant(Integers{1}), model.add_constant(Integers{axis})});
  }
  Node& scaled(Output value, float factor) {
    return add(op::v1::Multiply(), {value, constant(number(factor))});
  }
};

// [2, 5, 24] -> query, key and value of 3 heads of 4 of them, [2, 3, 5, 4].
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kWidth = 4;

}  // namespace

TEST_CASE("Heads that are split off one tensor are attended to where they lie", "[passes]") {
  AttentionBuilder b(GENERATE(false, true) ? PartialShape{2, 5, 24}
                                           : PartialShape{Dimension(), Dimension(), 24});
  Node& parts = b.add(op::v1::VariadicSplit(),
                      {*b.x, b.model.add_constant(2), b.model.add_constant(Integers{8, 8, -1})});
  const auto heads = [&](std::size_t part, Integers order) -> Node& {
    return b.transpose(b.reshape(Output(&parts, part), {0, 0, kHeads, kWidth}), std::move(order));
  };
  Node& scores = b.matmul(heads(0, {0, 2, 1, 3}), heads(1, {0, 2, 3, 1}));
  Node& weights = b.softmax(b.add(op::v1::Divide(), {scores, b.constant(number(2))}));
  Node& attended = b.transpose(b.matmul(weights, heads(2, {0, 2, 1, 3})), {0, 2, 1, 3});
  check_rewrite(passes::fuse_attention, b.result(b.reshape(attended, {0, 0, kHeads * kWidth})),
                {"Reshape", "Reshape", "Reshape", "FusedAttention", "Reshape"},
                {random_tensor({2, 5, 24}, 7)});
}

TEST_CASE("Slices along the last axis are attended to where they lie", "[passes]") {
  // As PyTorch exports it: the sequence first, batch and heads as one axis, the query scaled.
  AttentionBuilder b({5, 1, 24});
  const auto heads = [&](std::int64_t first, Integers order) -> Node& {
    return b.transpose(b.reshape(b.slice(*b.x, first, first + 8, -1), {5, kHeads, kWidth}), std::move(order));
  };
  Node& scores = b.matmul(b.scaled(heads(0, {1, 0, 2}), 0.5F), heads(8, {1, 2, 0}));
  Node& attended = b.transpose(b.matmul(b.softmax(scores, 2), heads(16, {1, 0, 2})), {1, 0, 2});
  check_rewrite(passes::fuse_attention, b.result(attended),
                {"Reshape", "Reshape", "Reshape", "FusedAttention"}, {random_tensor({5, 1, 24}, 7)});
}

TEST_CASE("Heads whose shape copies the dim that was cut are attended to behind the cut", "[passes]") {
  AttentionBuilder b({8, 24});
  const auto heads = [&](std::int64_t first) -> Node& {
    return b.transpose(b.reshape(b.slice(*b.x, first, first + 8, -1), {1, 0, kHeads, kWidth}), {0, 2, 1, 3});
  };
  Node& scores = b.matmul(heads(0), heads(8), true);
  check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(scores), heads(16))),
                {"Slice", "Reshape", "Slice", "Reshape", "Slice", "Reshape", "FusedAttention"},
                {random_tensor({8, 24}, 7)});
}

TEST_CASE("Attention looks through a Squeeze that names no axes", "[passes]") {
  AttentionBuilder b({3, 5, 1, 4});
  Node& x = b.add(op::v0::Squeeze(), {*b.x});
  check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(b.matmul(x, x, true)), x)),
                {"FusedAttention"}, {random_tensor({3, 5, 1, 4}, 7)});
}

TEST_CASE("Parts along an axis of their own are attended to where they lie", "[passes]") {
  AttentionBuilder b({2, 5, 24});
  Node& parts = b.transpose(b.reshape(*b.x, {2, 5, 3, kHeads, kWidth}), {2, 0, 3, 1, 4});
  const bool split = GENERATE(false, true);
  op::v1::Split thirds;
  thirds.num_splits = 3;
  Node* const pieces = split ? &b.add(thirds, {parts, b.model.add_constant(0)}) : nullptr;
  const auto part = [&](std::int64_t index) -> Node& {
    if (split) {
      return b.add(op::v0::Squeeze(),
                   {Output(pieces, static_cast<std::size_t>(index)), b.model.add_constant(0)});
    }
    return b.add(op::v8::Gather(),
                 {parts, b.model.add_constant(index == 2 ? -1 : index), b.model.add_constant(0)});
  };
  Node& weights = b.softmax(b.scaled(b.matmul(b.scaled(part(0), 0.5F), part(1), true), 2.0F));
  check_rewrite(passes::fuse_attention, b.result(b.matmul(weights, part(2))), {"Reshape", "FusedAttention"},
                {random_tensor({2, 5, 24}, 7)});
}

TEST_CASE("Masks of scores become part of attention", "[passes]") {
  AttentionBuilder b({2, 3, 5, 4});
  Node& keys = b.constant({1, 3, 6, 4});
  Node& scores = b.matmul(*b.x, keys, true);
  Node* masked = nullptr;
  SECTION("added, spread over heads") {
    masked = &b.add(op::v1::Add(), {b.constant({5, 6}), b.scaled(scores, 0.5F)});
  }
  SECTION("added, one row for all queries") {
    masked = &b.add(op::v1::Add(), {b.scaled(scores, 0.5F), b.constant({2, 1, 1, 6})});
  }
  SECTION("selected") {
    Node& kept = b.model.add_constant(f32({1, 1, 5, 6}, {1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1,
                                                         1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1})
                                          .converted(ElementType::boolean));
    // Infinity leaves nothing where all keys are hidden, which is not so here; others may weigh something.
    const double hidden =
        GENERATE(double{kLowest}, -std::numeric_limits<double>::infinity(), -10000.0, -0.5, 0.0);
    masked = &b.add(op::v1::Select(), {kept, scores, b.constant(number(static_cast<float>(hidden)))});
  }
  check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(*masked), b.constant({1, 1, 6, 7}))),
                {"FusedAttention"}, {random_tensor({2, 3, 5, 4}, 7)});
}

TEST_CASE("A mask of what is hidden becomes part of attention", "[passes]") {
  AttentionBuilder b({2, 3, 5, 4});
  Node& scores = b.scaled(b.matmul(*b.x, b.constant({1, 3, 6, 4}), true), 0.5F);
  // The second batch hides all keys.
  Node& hidden = b.model.add_constant(
      f32({2, 1, 1, 6}, {0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1}).converted(ElementType::boolean));
  const auto attended = [&](Node& mask) -> Model {
    Node& masked = b.add(op::v1::Select(), {mask, b.constant(number(static_cast<float>(kLowest))), scores});
    return b.result(b.matmul(b.softmax(masked), b.constant({1, 1, 6, 7})));
  };
  SECTION("as it is") {
    check_rewrite(passes::fuse_attention, attended(hidden), {"LogicalNot", "FusedAttention"},
                  {random_tensor({2, 3, 5, 4}, 7)});
  }
  SECTION("what is not kept") {
    check_rewrite(passes::fuse_attention, attended(b.add(op::v1::LogicalNot(), {hidden})), {"FusedAttention"},
                  {random_tensor({2, 3, 5, 4}, 7)});
  }
}

TEST_CASE("Two masks that are constant become one", "[passes]") {
  AttentionBuilder b({2, 3, 5, 4});
  Node& scores = b.matmul(*b.x, b.constant({2, 3, 6, 4}), true);
  Node& biased = b.add(op::v1::Add(), {scores, b.constant({1, 3, 5, 6})});
  SECTION("of other axes each") {
    Node& masked = b.add(op::v1::Add(), {b.constant({2, 1, 5, 6}), biased});
    check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(masked), b.constant({2, 3, 6, 7}))),
                  {"FusedAttention"}, {random_tensor({2, 3, 5, 4}, 7)});
  }
  SECTION("not one from outside") {
    Node& other = b.model.add_parameter(ElementType::f32, {2, 1, 5, 6});
    Node& masked = b.add(op::v1::Add(), {biased, other});
    check_untouched(passes::fuse_attention, b.result(b.matmul(b.softmax(masked), b.constant({2, 3, 6, 7}))));
  }
  SECTION("not three") {
    Node& twice = b.add(op::v1::Add(), {b.constant({2, 1, 5, 6}), biased});
    Node& masked = b.add(op::v1::Add(), {twice, b.constant({5, 6})});
    check_untouched(passes::fuse_attention, b.result(b.matmul(b.softmax(masked), b.constant({2, 3, 6, 7}))));
  }
}

TEST_CASE("Masks of windows are added before the windows' axis is split off", "[passes]") {
  AttentionBuilder b({8, 3, 5, 6});
  const auto masked = [&](Integers pattern, Output mask) -> Node& {
    return b.add(op::v1::Add(), {b.reshape(*b.x, std::move(pattern)), mask});
  };
  SECTION("one batch element") {
    Node& sum = masked({1, 8, 3, 5, 6}, b.constant({1, 8, 1, 5, 6}));
    check_rewrite(passes::fuse_reshaped_mask, b.result(b.reshape(sum, {8, 3, 5, 6})), {"Add"},
                  {random_tensor({8, 3, 5, 6}, 7)});
  }
  SECTION("several batch elements") {
    Node& sum = masked({2, 4, 3, 5, 6}, b.constant({4, 1, 5, 6}));
    check_rewrite(passes::fuse_reshaped_mask, b.result(b.reshape(sum, {-1, 3, 5, 6})), {"Add"},
                  {random_tensor({8, 3, 5, 6}, 7)});
  }
  SECTION("a mask of each batch element") {
    Node& sum = masked({2, 4, 3, 5, 6}, b.constant({2, 1, 1, 5, 6}));
    check_rewrite(passes::fuse_reshaped_mask, b.result(b.reshape(sum, {8, 3, 5, 6})), {"Add"},
                  {random_tensor({8, 3, 5, 6}, 7)});
  }
  SECTION("one mask for all windows") {
    Node& sum = masked({2, 4, 3, 5, 6}, b.constant({3, 1, 6}));
    check_rewrite(passes::fuse_reshaped_mask, b.result(b.reshape(sum, {8, 3, 5, 6})), {"Add"},
                  {random_tensor({8, 3, 5, 6}, 7)});
  }
  SECTION("not where rows are split") {
    Node& sum = masked({8, 3, 30}, b.constant({30}));
    check_untouched(passes::fuse_reshaped_mask, b.result(b.reshape(sum, {8, 3, 5, 6})));
  }
  SECTION("not where the shape becomes another one") {
    Node& sum = masked({2, 4, 3, 5, 6}, b.constant({4, 1, 5, 6}));
    check_untouched(passes::fuse_reshaped_mask, b.result(b.reshape(sum, {4, 6, 5, 6})));
  }
  SECTION("not a mask from outside") {
    Node& mask = b.model.add_parameter(ElementType::f32, {4, 1, 5, 6});
    check_untouched(passes::fuse_reshaped_mask,
                    b.result(b.reshape(masked({2, 4, 3, 5, 6}, mask), {8, 3, 5, 6})));
  }
  SECTION("not a sum that others read") {
    Node& sum = masked({2, 4, 3, 5, 6}, b.constant({4, 1, 5, 6}));
    b.model.add_result(sum);
    check_untouched(passes::fuse_reshaped_mask, b.result(b.reshape(sum, {8, 3, 5, 6})));
  }
}

TEST_CASE("A mask that is a residual of the product already becomes part of attention", "[passes]") {
  AttentionBuilder b({2, 3, 5, 4});
  Node& scores = b.matmul(*b.x, b.constant({2, 3, 6, 4}), true);
  Node& masked = b.add(op::v1::Add(), {scores, b.constant({2, 3, 5, 6})});
  Model model = b.result(b.matmul(b.softmax(masked), b.constant({2, 3, 6, 7})));
  REQUIRE(passes::fuse_residual(model));
  model.remove_unreachable();
  check_rewrite(passes::fuse_attention, model, {"FusedAttention"}, {random_tensor({2, 3, 5, 4}, 7)});
}

TEST_CASE("Operands may lie transposed", "[passes]") {
  AttentionBuilder b({2, 6, 5});
  SECTION("keys") {
    Node& scores = b.matmul(b.constant({2, 4, 6}), *b.x);
    check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(scores), b.constant({2, 5, 3}))),
                  {"FusedAttention"}, {random_tensor({2, 6, 5}, 7)});
  }
  SECTION("queries") {
    Node& scores = b.matmul(b.transpose(*b.x, {0, 2, 1}), b.constant({2, 4, 6}), true);
    check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(scores), b.constant({2, 4, 3}))),
                  {"FusedAttention"}, {random_tensor({2, 6, 5}, 7)});
  }
  SECTION("values, by the product's attribute") {
    Node& scores = b.matmul(b.constant({2, 4, 6}), *b.x);
    check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(scores), b.constant({2, 3, 5}), true)),
                  {"FusedAttention"}, {random_tensor({2, 6, 5}, 7)});
  }
  SECTION("values that are scaled stay so") {
    Node& scores = b.matmul(b.constant({2, 4, 5}), *b.x, true);
    check_rewrite(passes::fuse_attention, b.result(b.matmul(b.softmax(scores), b.scaled(*b.x, 3))),
                  {"Multiply", "FusedAttention"}, {random_tensor({2, 6, 5}, 7)});
  }
}

TEST_CASE("Attention over channels that lie before positions", "[passes]") {
  // [1, 24, 2, 5] -> query, key and value of 2 heads of 4 channels, [1, 2, 4, 10].
  AttentionBuilder b({1, 24, 2, 5});
  Node& parts = b.add(op::v1::VariadicSplit(),
                      {*b.x, b.model.add_constant(1), b.model.add_constant(Integers{8, 8, -1})});
  const auto heads = [&](std::size_t part) -> Node& {
    return b.reshape(Output(&parts, part), {1, kHeads, kWidth, 10});
  };
  Node& scores = b.add(op::v0::MatMul(true, false), {heads(0), heads(1)});
  Node& weights = b.softmax(b.scaled(scores, 0.5F));
  SECTION("weights transposed") {
    Node& attended = b.matmul(heads(2), weights, true);
    check_rewrite(passes::fuse_attention, b.result(b.reshape(attended, {1, 8, 2, 5})),
                  {"VariadicSplit", "Reshape", "Reshape", "Reshape", "FusedAttention", "Reshape"},
                  {random_tensor({1, 24, 2, 5}, 7)});
  }
  SECTION("values transposed") {
    Node& attended = b.transpose(b.matmul(weights, heads(2), true), {0, 1, 3, 2});
    check_rewrite(passes::fuse_attention, b.result(b.reshape(attended, {1, 8, 2, 5})),
                  {"VariadicSplit", "Reshape", "Reshape", "Reshape", "FusedAttention", "Reshape"},
                  {random_tensor({1, 24, 2, 5}, 7)});
  }
  SECTION("a Transpose that puts heads last stays") {
    Node& attended = b.transpose(b.matmul(weights, heads(2), true), {0, 2, 3, 1});
    check_rewrite(passes::fuse_attention, b.result(attended),
                  {"VariadicSplit", "Reshape", "Reshape", "Reshape", "FusedAttention", "Transpose"},
                  {random_tensor({1, 24, 2, 5}, 7)});
  }
}

TEST_CASE("What is not attention stays", "[passes]") {
  AttentionBuilder b({2, 3, 5, 4});
  Node& keys = b.constant({2, 3, 6, 4});
  Node& values = b.constant({2, 3, 6, 7});
  Node& scores = b.matmul(*b.x, keys, true);
  Node* weights = nullptr;
  SECTION("softmax along another axis") { weights = &b.softmax(scores, 2); }
  SECTION("a mask that is scaled") {
    weights = &b.softmax(b.scaled(b.add(op::v1::Add(), {scores, b.constant({5, 6})}), 2));
  }
  SECTION("a vector as mask") { weights = &b.softmax(b.add(op::v1::Add(), {scores, b.constant({6})})); }
  SECTION("several numbers that are selected") {
    Node& kept = b.model.add_constant(random_tensor({5, 6}, 3).converted(ElementType::boolean));
    weights = &b.softmax(b.add(op::v1::Select(), {kept, scores, b.constant({5, 6})}));
  }
  SECTION("scores with masks without end") {
    Node& mask = b.constant({5, 6});
    Node* masked = &scores;
    for (int masks = 0; masks < 100'000; ++masks) masked = &b.add(op::v1::Add(), {*masked, mask});
    weights = &b.softmax(*masked);
  }
  SECTION("scores that are read twice") {
    weights = &b.softmax(scores);
    b.model.add_result(scores);
  }
  SECTION("weights that are read twice") {
    weights = &b.softmax(scores);
    b.model.add_result(*weights);
  }
  check_untouched(passes::fuse_attention, b.result(b.matmul(*weights, values)));
}

}  // namespace ir::test
