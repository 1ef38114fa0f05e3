// Rewrites and variables: reads and assignments stay, and nothing is folded through them.
#include "runtime/model/state.h"

#include <algorithm>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/state.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/settle_variables.h"
#include "runtime/passes/widen_halves.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

template <class T>
T variable(std::string id = "v") {
  T op;
  op.variable_id = std::move(id);
  return op;
}

const op::v6::ReadValue* read_in(const Model& model) {
  for (const auto& node : model.nodes()) {
    if (const auto* read = node->op().as<op::v6::ReadValue>()) return read;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("Assign stays though nobody reads it") {
  Builder b({2});
  Node& start = b.constant(f32({2}, {1, 2}));
  Node& before = b.add(variable<op::v6::ReadValue>(), {start});
  b.add(variable<op::v6::Assign>(), {b.add(op::v1::Add(), {before, *b.x})});
  b.add(op::v0::ReLU(), {*b.x});
  Model model = b.result(*b.x);
  model.remove_unreachable();
  CHECK(types_of(model) == Types{"ReadValue", "Add", "Assign"});
}

TEST_CASE("Control flow stays when a body assigns") {
  const auto body = [](bool assigns) {
    auto model = std::make_shared<Model>();
    Node& inner = model->add_parameter(ElementType::f32, {2});
    if (assigns) model->add(variable<op::v3::Assign>(), {inner});
    model->add_result(inner);
    return Subgraph{model, {{1, 0, std::nullopt, std::nullopt}}, {{0, 0, std::nullopt}}};
  };
  for (const bool assigns : {true, false}) {
    Builder b({2});
    op::v8::If choice;
    choice.bodies = {body(false), body(assigns)};
    Node& condition = b.model.add_parameter(ElementType::boolean, PartialShape(Shape{}));
    Node& node = b.add(choice, {condition, *b.x});
    CHECK(is_sink(node) == assigns);
    CHECK(has_stateful_body(node) == assigns);
    Model model = b.result(*b.x);
    model.remove_unreachable();
    CHECK(types_of(model) == (assigns ? Types{"If"} : Types{}));
  }
}

TEST_CASE("Variables are not constants though they start with one") {
  Builder b({2});
  Node& before = b.add(variable<op::v6::ReadValue>(), {b.constant(f32({2}, {1, 2}))});
  Node& doubled = b.add(op::v1::Add(), {before, before});
  Node& shape = b.add(op::v3::ShapeOf(), {before});
  b.model.add_result(shape);
  b.add(variable<op::v6::Assign>(), {b.constant(f32({2}, {3, 4}))});
  Model model = b.result(doubled);
  settle_variables(model);
  optimize(model);
  CHECK(types_of(model) == Types{"ReadValue", "Add", "Assign"});
  check_consistent(model);
}

TEST_CASE("What is assigned may be bypassed, the assignment not") {
  Builder b({2});
  Node& before = b.add(variable<op::v6::ReadValue>(), {*b.x});
  Node& same = b.add(op::v1::Add(), {before, b.constant(number(0))});
  b.add(variable<op::v6::Assign>(), {same});
  Model model = b.result(same);
  optimize(model);
  CHECK(types_of(model) == Types{"ReadValue", "Assign"});
}

TEST_CASE("ReadValue comes to state what its variable holds") {
  Builder b({Dimension(), 3});
  b.model.add_result(b.add(variable<op::v3::ReadValue>(), {*b.x}));
  Model model = b.result(*b.x);
  settle_variables(model);
  REQUIRE(read_in(model) != nullptr);
  CHECK(read_in(model)->variable_id == "v");
  CHECK(read_in(model)->variable_type == ElementType::f32);
  CHECK(read_in(model)->variable_shape == PartialShape{Dimension(), 3});
}

TEST_CASE("Dims that an assignment changes become unknown") {
  Builder b({2, 1, 3});
  Node& nothing = b.constant(Tensor(ElementType::f32, {2, 0, 3}));
  Node& past = b.add(variable<op::v3::ReadValue>(), {nothing});
  op::v0::Concat concat;
  concat.axis = 1;
  Node& present = b.add(concat, {past, *b.x});
  b.add(variable<op::v3::Assign>(), {present});
  Node& sizes = b.add(op::v3::ShapeOf(), {present});
  Model model = b.result(sizes);
  settle_variables(model);
  CHECK(read_in(model)->variable_shape == PartialShape{2, Dimension(), 3});
  check_consistent(model);
  const Node& shape_node = *model.results()[0]->input(0).node;
  CHECK(shape_node.output(0).constant == nullptr);
}

TEST_CASE("What a ReadValue states is left alone") {
  Builder b({1, 3});
  op::v6::ReadValue read = variable<op::v6::ReadValue>();
  read.variable_type = ElementType::f32;
  read.variable_shape = {Dimension(1, 4), 3};
  Node& past = b.add(read, {*b.x});
  b.add(variable<op::v6::Assign>(), {b.add(op::v1::Add(), {past, past})});
  Model model = b.result(past);
  settle_variables(model);
  CHECK(read_in(model)->variable_shape == PartialShape{Dimension(1, 4), 3});
}

TEST_CASE("Half-precision variables are widened") {
  Builder b({2}, ElementType::f16);
  op::v6::ReadValue read = variable<op::v6::ReadValue>();
  read.variable_type = ElementType::f16;
  read.variable_shape = {2};
  Node& before = b.add(read, {});
  b.add(variable<op::v6::Assign>(), {b.add(op::v1::Add(), {before, *b.x})});
  Model model = b.result(before);
  CHECK(variables_of(model).at(0).type == ElementType::f16);
  widen_halves(model);
  CHECK(variables_of(model).at(0).type == ElementType::f32);
  CHECK(check_variables(model).empty());
}

TEST_CASE("Variables of a model and its bodies are listed once") {
  auto body = std::make_shared<Model>();
  Node& inner = body->add_parameter(ElementType::f32, {2});
  body->add(variable<op::v6::Assign>("outer"), {inner});
  body->add_result(body->add(variable<op::v6::ReadValue>("inner"), {inner}));
  const Subgraph branch{body, {{1, 0, std::nullopt, std::nullopt}}, {{0, 0, std::nullopt}}};
  Builder b({2});
  op::v8::If choice;
  choice.bodies = {branch, branch};
  Node& condition = b.model.add_parameter(ElementType::boolean, PartialShape(Shape{}));
  b.add(variable<op::v6::ReadValue>("outer"), {*b.x});
  Model model = b.result(b.add(choice, {condition, *b.x}));
  std::vector<std::string> ids;
  for (const VariableInfo& info : variables_of(model)) ids.push_back(info.id);
  CHECK(ids == std::vector<std::string>{"outer", "inner"});
  std::vector<std::string> codes;
  for (const Diagnostic& finding : check_variables(model)) codes.push_back(finding.code);
  CHECK(codes == std::vector<std::string>{"IR-variable-unassigned"});
}

}  // namespace ir::test
