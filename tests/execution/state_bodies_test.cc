// Variables that bodies of If and Loop read and assign.
#include "tests/execution/bodies.h"
#include "tests/execution/stateful_models.h"

namespace ir::test {

TEST_CASE("Variables in the bodies of If are the model's") {
  Body then_body = new_body();
  Node& inner = then_body->add_parameter(ElementType::f32, {2}, "inner");
  Node& before = then_body->add(read_value("v"), {inner}, "before");
  Node& sum = then_body->add(op::v1::Add(), {before, inner}, "sum");
  then_body->add(assign("v"), {sum}, "kept");
  then_body->add_result(sum);
  Body else_body = negative_body(ElementType::f32, {2});
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "condition");
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  model.add_result(model.add(choice(one_to_one(then_body), one_to_one(else_body)), {condition, x}, "choice"));
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest first = compiled.create_infer_request();
    InferRequest second = compiled.create_infer_request();
    const auto run = [&](InferRequest& request, bool flag, float value) {
      return infer(request, compiled, {truth(flag), f32({2}, {value, 2 * value})}).at(0);
    };
    check_equal<float>(run(first, true, 1), {2}, {2, 4});
    check_equal<float>(run(first, false, 1), {2}, {-1, -2});
    check_equal<float>(run(second, true, 10), {2}, {20, 40});
    check_equal<float>(run(first, true, 3), {2}, {5, 10});
    check_equal<float>(run(second, true, 1), {2}, {21, 42});
    check_equal<float>(state_of(first, "v").get_state(), {2}, {5, 10});
    first.reset_state();
    check_equal<float>(run(first, true, 1), {2}, {2, 4});
  }
}

TEST_CASE("An If that only assigns is not dropped") {
  Body then_body = new_body();
  Node& inner = then_body->add_parameter(ElementType::f32, {1}, "inner");
  then_body->add(assign("v"), {inner}, "kept");
  then_body->add_result(inner);
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "condition");
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  model.add_result(model.add(read_value("v"), {x}, "read"));
  model.add(choice(one_to_one(then_body), one_to_one(negative_body(ElementType::f32, {1}))), {condition, x});
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    check_equal<float>(infer(request, compiled, {truth(false), f32({1}, {1})}).at(0), {1}, {1});
    check_equal<float>(infer(request, compiled, {truth(true), f32({1}, {2})}).at(0), {1}, {2});
    check_equal<float>(infer(request, compiled, {truth(false), f32({1}, {3})}).at(0), {1}, {2});
  }
}

TEST_CASE("Iterations of a Loop hand a variable on") {
  Body body = new_body();
  Node& inner = body->add_parameter(ElementType::f32, {1}, "inner");
  Node& before = body->add(read_value("count", ElementType::f32, {1}), {}, "before");
  Node& after = body->add(op::v1::Add(), {before, inner}, "after");
  body->add(assign("count"), {after}, "kept");
  body->add_result(after);
  body->add_result(add_condition(*body, true));
  op::v5::Loop loop;
  loop.body = {body, {passed(2, 0)}, {{0, 0, along(0)}, {kCondition, 1, {}}}};
  Model model;
  Node& trips = model.add_parameter(ElementType::i64, PartialShape(Shape{}), "trips");
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  model.add_result(model.add(loop, {trips, add_condition(model, true), x}, "loop"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  check_equal<float>(infer(request, compiled, {i64({}, {3}), f32({1}, {1})}).at(0), {3}, {1, 2, 3});
  check_equal<float>(infer(request, compiled, {i64({}, {2}), f32({1}, {10})}).at(0), {2}, {13, 23});
  request.reset_state();
  check_equal<float>(infer(request, compiled, {i64({}, {1}), f32({1}, {4})}).at(0), {1}, {4});
}

}  // namespace ir::test
