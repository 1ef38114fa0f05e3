// Graphs that were made to keep the rewrites busy: what they look at does not grow with the square of the
// nodes.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/attention.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/state.h"
#include "runtime/passes/growing_variables.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/settle_variables.h"
#include "runtime/passes/widen_halves.h"
#include "tests/execution/stateful_models.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using Integers = std::vector<std::int64_t>;

struct GraphBuilder : Builder {
  using Builder::Builder;

  Node& transpose(Output value, Integers order) {
    return add(op::v1::Transpose(), {value, model.add_constant(std::move(order))});
  }
};

}  // namespace

TEST_CASE("Borders in a row become pads at once", "[passes]") {
  Builder b({2, 3, 1, 2});
  Node& none = b.model.add_constant(Integers{0, 0, 0, 0});
  Node& one = b.model.add_constant(Integers{0, 0, 1, 1});
  Output value = *b.x;
  for (int i = 0; i < 3; ++i) value = b.add(op::v1::Pad(), {value, i < 2 ? one : none, one});
  Model model = b.result(b.convolution(value));
  CHECK(passes::fuse_pad(model));
  model.remove_unreachable();
  CHECK(types_of(model) == Types{"Convolution"});
}

TEST_CASE("A chain of factors scales weights once in each round", "[passes]") {
  Builder b({2, 3, 5, 6});
  Output value = b.convolution(*b.x);
  for (int i = 0; i < 3; ++i) value = b.add(op::v1::Multiply(), {value, b.constant({4, 1, 1})});
  Model model = b.result(value);
  for (std::size_t left = 3; left-- > 0;) {
    CHECK(passes::fuse_batch_norm_and_scale(model));
    model.remove_unreachable();
    CHECK(types_of(model).size() == 1 + left);
  }
}

TEST_CASE("Transposes to and fro meet in pairs at once", "[passes]") {
  GraphBuilder b({1, 2, 3, 4});
  Output value = *b.x;
  constexpr int kPairs = 20;
  for (int i = 0; i < kPairs; ++i) {
    value = b.add(op::v0::ReLU(), {b.transpose(value, {0, 2, 3, 1})});
    value = b.add(op::v0::ReLU(), {b.transpose(value, {0, 3, 1, 2})});
  }
  Model model = b.result(value);
  CHECK(passes::sink_transposes(model));
  model.remove_unreachable();
  CHECK(passes::eliminate_identities(model));
  model.remove_unreachable();
  CHECK(types_of(model) == Types(2 * kPairs, "ReLU"));
}

TEST_CASE("Attention looks through some Transposes, not through thousands", "[passes]") {
  GraphBuilder b({2, 2, 2, 2});
  Output value = *b.x;
  for (int i = 0; i < 40; ++i) value = b.transpose(value, {1, 0, 2, 3});
  Model model = b.result(b.add(op::v13::ScaledDotProductAttention(), {value, value, value}));
  CHECK(passes::fuse_attention(model));
  model.remove_unreachable();
  Types types(8, "Transpose");
  types.emplace_back("FusedAttention");
  CHECK(types_of(model) == types);
}

TEST_CASE("A mask without elements is left where it is, whatever its dims", "[passes]") {
  Builder b({1'000'000'000'000, 0, 5});
  op::v1::Reshape reshape;
  const auto shown = [&](Output value, Integers dims) -> Node& {
    return b.add(reshape, {value, b.model.add_constant(std::move(dims))});
  };
  Node& mask = b.constant(Tensor(ElementType::f32, {1'000'000, 1'000'000, 0, 5}));
  Node& sum = b.add(op::v1::Add(), {shown(*b.x, {1'000'000, 1'000'000, 0, 5}), mask});
  check_untouched(passes::fuse_reshaped_mask, b.result(shown(sum, {1'000'000'000'000, 0, 5})));
}

// Each variable is assigned what the one before held.
static Model chain_of_variables(int count) {
  Builder b({Dimension(), 2});
  Node& start = b.constant(Shape{1, 2});
  std::vector<Output> values{*b.x};
  for (int i = 0; i < count; ++i) {
    op::v3::ReadValue read;
    read.variable_id = std::to_string(i);
    values.emplace_back(b.add(read, {start}));
  }
  for (int i = 0; i < count; ++i) b.add(assign(std::to_string(i)), {values[static_cast<std::size_t>(i)]});
  return b.result(values.back());
}

TEST_CASE("Variables of a chain settle after some rounds, if need be to dims that are all unknown",
          "[passes]") {
  const auto settled = [](int count) {
    Model model = chain_of_variables(count);
    settle_variables(model);
    check_consistent(model);
    return model.results()[0]->input(0).info().shape;
  };
  CHECK(settled(8) == PartialShape{Dimension(), 2});
  CHECK(settled(100) == PartialShape{Dimension(), Dimension()});
}

TEST_CASE("Variables that grow keep their order where there are too many to go through", "[passes]") {
  Builder b({2, 1, 2});
  op::v0::Concat concat;
  concat.axis = 1;
  for (int i = 0; i < 2000; ++i) {
    const std::string id = std::to_string(i);
    Node& before = b.add(read_value(id, ElementType::f32, {2, Dimension(), 2}), {});
    b.add(assign(id), {b.add(concat, {before, *b.x})});
  }
  Model model = b.result(*b.x);
  CHECK(passes::keep_growing_axes_first(model).empty());
}

TEST_CASE("Half-precision inputs and outputs may be many", "[passes]") {
  Model model;
  constexpr int kInputs = 20'000;
  for (int i = 0; i < kInputs; ++i)
    model.add_result(model.add(op::v0::ReLU(), {model.add_parameter(ElementType::f16, Shape{1})}));
  widen_halves(model);
  check_consistent(model);
  CHECK(model.nodes().size() == std::size_t{5} * kInputs);
  CHECK(model.results().back()->input(0).info().type == ElementType::f16);
}

}  // namespace ir::test
