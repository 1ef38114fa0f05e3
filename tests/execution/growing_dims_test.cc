// Models of which a few dims change with every inference: one plan for all, where most of it stays.
#include "runtime/execution/growing_dims.h"

#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/indexing.h"
#include "runtime/execution/executable.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

using Shapes = std::vector<Shape>;

std::vector<PartialShape> planned(const Shapes& shapes) { return {shapes.begin(), shapes.end()}; }

// A step of a language model: rows of the past and a new one, hidden by a mask; and what does not grow.
Model step_of_tokens() {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1, Dimension(), 2}, "x");
  Node& past = model.add_parameter(ElementType::f32, {1, Dimension(), 2}, "past");
  Node& mask = model.add_parameter(ElementType::f32, {Dimension(), 1}, "mask");
  op::v0::Concat along_rows;
  along_rows.axis = 1;
  Node& present = model.add(along_rows, {past, x}, "present");
  model.add_result(model.add(op::v1::Multiply(), {present, mask}, "masked"));
  model.add_result(present);
  Node* value = &x;
  for (int i = 0; i < 6; ++i) {
    value = &model.add(op::v0::Sin(), {*value}, "sin" + std::to_string(i));
  }
  // Positions of the new rows: from all rows but these to all.
  const auto size_of = [&](Node& node, std::int64_t axis) -> Node& {
    Node& size = model.add(op::v3::ShapeOf(), {node});
    return model.add(op::v8::Gather(), {size, model.add_constant(axis), model.add_constant(0)});
  };
  Node& rows = size_of(mask, 0);
  Node& start = model.add(op::v1::Subtract(), {rows, size_of(x, 1)}, "start");
  op::v4::Range range;
  range.output_type = ElementType::f32;
  Node& positions = model.add(range, {start, size_of(mask, 0), model.add_constant(1)}, "positions");
  Node& column = model.add(op::v0::Unsqueeze(), {positions, model.add_constant(1)}, "column");
  model.add_result(model.add(op::v1::Add(), {*value, column}, "placed"));
  return model;
}

Shapes shapes_of_step(std::int64_t past, std::int64_t count) {
  return {{1, count, 2}, {1, past, 2}, {past + count, 1}};
}

const PlanStep& step_named(const Plan& plan, std::string_view name) {
  const auto found =
      std::ranges::find_if(plan.steps, [&](const PlanStep& step) { return step.node->name() == name; });
  REQUIRE(found != plan.steps.end());
  return *found;
}

}  // namespace

TEST_CASE("Dims that alone change time after time are left out of plans") {
  GrowingDims dims;
  const auto settled = [&](const Shapes& shapes) { return dims.settle(shapes); };
  CHECK(settled({{1, 9}, {1, 9}}) == planned({{1, 9}, {1, 9}}));
  CHECK(settled({{1, 1}, {1, 10}}) == planned({{1, 1}, {1, 10}}));
  CHECK(settled({{1, 1}, {1, 11}}) == planned({{1, 1}, {1, 11}}));
  const std::vector<PartialShape> open{{1, 1}, {1, Dimension()}};
  CHECK(settled({{1, 1}, {1, 12}}) == open);
  CHECK(settled({{1, 1}, {1, 13}}) == open);
  // Another dim, two dims at once, none, another number of dims.
  CHECK(settled({{1, 2}, {1, 13}}) == planned({{1, 2}, {1, 13}}));
  CHECK(settled({{1, 2}, {1, 14}}) == planned({{1, 2}, {1, 14}}));
  CHECK(settled({{1, 3}, {1, 15}}) == planned({{1, 3}, {1, 15}}));
  CHECK(settled({{1, 3}, {1, 16}}) == planned({{1, 3}, {1, 16}}));
  CHECK(settled({{1, 3}, {1, 16}}) == planned({{1, 3}, {1, 16}}));
  CHECK(settled({{1, 3}, {16}}) == planned({{1, 3}, {16}}));
  // Two dims, again and again.
  CHECK(settled({{2, 3}, {17}}) == planned({{2, 3}, {17}}));
  CHECK(settled({{4, 3}, {19}}) == std::vector<PartialShape>{{Dimension(), 3}, {Dimension()}});
  CHECK(settled({{5, 3}, {18}}) == std::vector<PartialShape>{{Dimension(), 3}, {Dimension()}});
}

TEST_CASE("A model whose past is an input has one plan as it grows") {
  Executable executable(std::make_shared<const Model>(step_of_tokens()), {});
  (void)executable.plan_for(shapes_of_step(0, 5));
  const auto first = executable.plan_for(shapes_of_step(5, 1));
  CHECK(executable.plan_for(shapes_of_step(6, 1)) != first);
  const auto open = executable.plan_for(shapes_of_step(7, 1));
  for (std::int64_t past = 8; past < 50; ++past) {
    CHECK(executable.plan_for(shapes_of_step(past, 1)) == open);
  }
  CHECK(step_named(*open, "present").deferred());
  // One position for each new row, however many there are: known before the mask is.
  const PlanStep& placed = step_named(*open, "placed");
  CHECK(open->values[placed.inputs[1]].shape == PartialShape{1, 1});
  CHECK_FALSE(placed.deferred());
  // Another prompt, then on with the tokens.
  CHECK(executable.plan_for(shapes_of_step(0, 9)) != open);
  CHECK(executable.plan_for(shapes_of_step(9, 1)) == open);
}

TEST_CASE("An open plan computes what a plan for the shapes does") {
  const Model model = step_of_tokens();
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  std::int64_t rows = 0;
  for (const std::int64_t count : {5, 1, 1, 1, 1, 1, 3, 2, 1, 1}) {
    const std::vector<Tensor> inputs{noise({1, count, 2}, 3), noise({1, rows, 2}, 4),
                                     noise({rows + count, 1}, 5)};
    INFO("rows " << rows << ", count " << count);
    CHECK(same_bits(infer(request, compiled, inputs), results_of(model, inputs)));
    rows += count;
  }
}

TEST_CASE("Where most steps change with the dims, each size has a plan") {
  Executable executable(std::make_shared<const Model>(small_network(Dimension())), {});
  std::shared_ptr<const Plan> last;
  for (std::int64_t batch = 1; batch < 8; ++batch) {
    const auto plan = executable.plan_for(Shapes{{batch, 3, 20, 20}});
    CHECK(plan != last);
    CHECK(std::ranges::none_of(plan->steps, &PlanStep::deferred));
    last = plan;
  }
}

}  // namespace ir::test
