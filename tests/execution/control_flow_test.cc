#include "ir_runtime/ops/control_flow.h"

#include <thread>

#include "tests/execution/bodies.h"

namespace ir::test {
namespace {

// sum = x; for i in 0..trips, while go(i): sum = sum + i. Output 0: the sum; output 1: all sums.
Model counting_model(const Op& stop_condition = op::v1::Less(), float limit = 1e9F) {
  Body body = new_body();
  Node& number = body->add_parameter(ElementType::i64, PartialShape(Shape{}), "number");
  Node& sum = body->add_parameter(ElementType::f32, {1}, "sum");
  op::v0::Convert to_f32;
  to_f32.destination_type = ElementType::f32;
  Node& next = body->add(op::v1::Add(), {sum, body->add(to_f32, {number})}, "next");
  Node& limited = body->add(stop_condition, {next, body->add_constant(f32({1}, {limit}))}, "limited");
  body->add_result(limited);
  body->add_result(next);

  Model model;
  Node& trips = model.add_parameter(ElementType::i64, PartialShape(Shape{}), "trips");
  Node& go = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "go");
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  op::v5::Loop loop;
  loop.body = {body,
               {passed(kIteration, 0), going_round(2, 1, 1)},
               {{kCondition, 0, {}}, {0, 1, {}}, {1, 1, along(0)}}};
  Node& node = model.add(loop, {trips, go, x}, "loop");
  model.add_result(Output(&node, 0));
  model.add_result(Output(&node, 1));
  return model;
}

}  // namespace

TEST_CASE("If runs the branch that its condition names") {
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, {1}, "condition");
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  Node& node =
      model.add(choice(one_to_one(negative_body(ElementType::f32, {2})), one_to_one(doubling_body({2}))),
                {condition, x}, "if");
  CHECK(node.output(0).shape == PartialShape{Dimension(2, 4)});
  model.add_result(model.add(op::v1::Add(), {node, node}, "twice"));
  for (const bool rewrite : {true, false}) {
    CompileOptions options;
    options.optimize = rewrite;
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    for (int round = 0; round < 2; ++round) {
      const Tensor data = f32({2}, {1, 2});
      check_equal<float>(infer(request, compiled, {Tensor::of<bool>({1}, {true}), data}).at(0), {2},
                         {-2, -4});
      check_equal<float>(infer(request, compiled, {Tensor::of<bool>({1}, {false}), data}).at(0), {4},
                         {2, 4, 2, 4});
    }
  }
}

TEST_CASE("Ifs nest, and a constant condition leaves one shape") {
  Body outer = new_body();
  Node& inner_condition =
      outer->add_parameter(ElementType::boolean, PartialShape(Shape{}), "inner_condition");
  Node& inner_x = outer->add_parameter(ElementType::f32, {2}, "inner_x");
  outer->add_result(
      outer->add(choice(one_to_one(negative_body(ElementType::f32, {2})), one_to_one(doubling_body({2}))),
                 {inner_condition, inner_x}));
  const Subgraph nested{outer, {passed(1, 0), passed(2, 1)}, {{0, 0, {}}}};
  Model model;
  Node& first = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "first");
  Node& second = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "second");
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  model.add_result(model.add(choice(nested, one_to_one(doubling_body({2}), 2)), {first, second, x}, "if"));
  Node& known =
      model.add(choice(one_to_one(doubling_body({2})), one_to_one(negative_body(ElementType::f32, {2}))),
                {model.add_constant(truth(true)), x}, "known");
  CHECK(known.output(0).shape == PartialShape{4});
  model.add_result(model.add(op::v0::Negative(), {known}));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  const Tensor data = f32({2}, {1, 2});
  check_equal<float>(infer(request, compiled, {truth(true), truth(true), data}).at(0), {2}, {-1, -2});
  check_equal<float>(infer(request, compiled, {truth(true), truth(false), data}).at(0), {4}, {1, 2, 1, 2});
  check_equal<float>(infer(request, compiled, {truth(false), truth(true), data}).at(0), {4}, {1, 2, 1, 2});
  check_equal<float>(infer(request, compiled, {truth(false), truth(true), data}).at(1), {4},
                     {-1, -2, -1, -2});
}

TEST_CASE("Loop ends by its trip count, its condition or both") {
  const CompiledModel counted = compile_model(counting_model());
  InferRequest request = counted.create_infer_request();
  std::vector<Tensor> results = infer(request, counted, {i64({}, {4}), truth(true), f32({1}, {10})});
  check_equal<float>(results[0], {1}, {16});
  check_equal<float>(results[1], {4}, {10, 11, 13, 16});
  const CompiledModel limited = compile_model(counting_model(op::v1::Less(), 13));
  InferRequest until = limited.create_infer_request();
  // The iteration that turns the condition still counts.
  for (const std::int64_t trips : {kForever, std::int64_t{100}}) {
    results = infer(until, limited, {i64({}, {trips}), truth(true), f32({1}, {10})});
    check_equal<float>(results[0], {1}, {13});
    check_equal<float>(results[1], {3}, {10, 11, 13});
  }
  results = infer(until, limited, {i64({}, {2}), truth(true), f32({1}, {10})});
  check_equal<float>(results[1], {2}, {10, 11});
}

TEST_CASE("A Loop without an iteration gives what went in, and empty sequences") {
  const CompiledModel compiled = compile_model(counting_model());
  InferRequest request = compiled.create_infer_request();
  for (const auto& [trips, go] : {std::pair<std::int64_t, bool>{0, true}, {5, false}}) {
    const std::vector<Tensor> results =
        infer(request, compiled, {i64({}, {trips}), truth(go), f32({1}, {10})});
    check_equal<float>(results[0], {1}, {10});
    check_equal<float>(results[1], {0}, {});
  }
}

TEST_CASE("What a Loop without an iteration hands on is not overwritten") {
  Body body = new_body();
  Node& inner = body->add_parameter(ElementType::f32, {256}, "inner");
  body->add_result(add_condition(*body, true));
  body->add_result(body->add(op::v0::Negative(), {inner}));
  Model model;
  Node& trips = model.add_parameter(ElementType::i64, PartialShape(Shape{}), "trips");
  Node& x = model.add_parameter(ElementType::f32, {256}, "x");
  // `doubled` dies in the loop; `other` may take its memory before the loop's output is read.
  Node& doubled = model.add(op::v1::Add(), {x, x}, "doubled");
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, {}}}};
  Node& node = model.add(loop, {trips, model.add_constant(truth(true)), doubled}, "loop");
  Node& other = model.add(op::v0::Negative(), {x}, "other");
  Node& more = model.add(op::v1::Multiply(), {other, x}, "more");
  model.add_result(model.add(op::v1::Add(), {node, more}, "sum"));
  CompileOptions options;
  options.optimize = false;
  const std::vector<float> ones(256, 1);
  check_equal<float>(results_of(model, {i64({}, {0}), f32({256}, ones)}, options).at(0), {256},
                     ones);  // 2 - 1
  check_equal<float>(results_of(model, {i64({}, {1}), f32({256}, ones)}, options).at(0), {256},
                     std::vector<float>(256, -3));  // -2 - 1
}

TEST_CASE("A result that is two outputs of its layer is two tensors") {
  const auto two_outputs = [](const Subgraph& body) {
    Subgraph twice = body;
    twice.outputs.push_back({1, body.outputs.back().result, {}});
    return twice;
  };
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "condition");
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  SECTION("If") {
    const Subgraph branch = two_outputs(one_to_one(doubling_body({2})));
    model.add(choice(branch, branch), {condition, x}, "layer");
  }
  SECTION("Loop") {
    Body body = doubling_body({Dimension()});
    body->add_result(add_condition(*body, true));
    op::v5::Loop loop;
    loop.body = two_outputs({body, {going_round(2, 0, 0)}, {{kCondition, 1, {}}, {0, 0, {}}}});
    Node& trips = model.add_constant(i64({}, {1}));
    model.add(loop, {trips, condition, x}, "layer");
  }
  Node* const layer = model.nodes().back().get();
  for (std::size_t i = 0; i < 2; ++i) model.add_result(Output(layer, i));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  std::vector<Tensor> results = infer(request, compiled, {truth(true), f32({2}, {1, 2})});
  std::ranges::fill(results.at(0).data<float>(), 0.0F);
  check_equal<float>(results.at(1), {4}, {1, 2, 1, 2});
}

TEST_CASE("Shapes may change from iteration to iteration, invariant values stay") {
  Body body = new_body();
  Node& grown = body->add_parameter(ElementType::f32, {Dimension()}, "grown");
  Node& piece = body->add_parameter(ElementType::f32, {2}, "piece");
  body->add_result(add_condition(*body, true));
  body->add_result(body->add(op::v0::Concat(), {grown, piece}));
  Model model;
  Node& trips = model.add_parameter(ElementType::i64, PartialShape(Shape{}), "trips");
  Node& start = model.add_parameter(ElementType::f32, {1}, "start");
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 1), passed(3, 1)}, {{kCondition, 0, {}}, {0, 1, {}}}};
  Node& node = model.add(loop, {trips, model.add_constant(truth(true)), start, x}, "loop");
  model.add_result(model.add(op::v0::Negative(), {node}));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  for (const std::int64_t count : {3, 0, 1, 20, 3}) {
    const Tensor result = infer(request, compiled, {i64({}, {count}), f32({1}, {7}), f32({2}, {1, 2})}).at(0);
    REQUIRE(result.shape() == Shape{1 + 2 * count});
    CHECK(result.data<float>()[0] == -7);
    if (count > 0) CHECK(result.data<float>().back() == -2);
  }
}

TEST_CASE("A Loop inside of a Loop") {
  // inner: y = y + 1, three times; outer: inner twice.
  const auto three_times = [](Body body, std::int64_t trips) {
    op::v5::Loop loop;
    loop.body = {std::move(body), {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, {}}}};
    return std::pair(loop, trips);
  };
  Body inner = new_body();
  Node& y = inner->add_parameter(ElementType::f32, {1}, "y");
  inner->add_result(add_condition(*inner, true));
  inner->add_result(inner->add(op::v1::Add(), {y, inner->add_constant(f32({1}, {1}))}));
  Body outer = new_body();
  Node& z = outer->add_parameter(ElementType::f32, {1}, "z");
  outer->add_result(add_condition(*outer, true));
  const auto [inner_loop, inner_trips] = three_times(inner, 3);
  outer->add_result(
      outer->add(inner_loop, {outer->add_constant(inner_trips), outer->add_constant(truth(true)), z}));
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  const auto [outer_loop, outer_trips] = three_times(outer, 2);
  model.add_result(
      model.add(outer_loop, {model.add_constant(outer_trips), model.add_constant(truth(true)), x}));
  check_equal<float>(results_of(model, {f32({1}, {10})}).at(0), {1}, {16});
}

TEST_CASE("Views of what control flow gives are views of the right part") {
  // The outputs of a body lie in tensors of their own; a split of one takes parts of it.
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "condition");
  Node& x = model.add_parameter(ElementType::f32, {4}, "x");
  Node& node = model.add(choice(one_to_one(negative_body(ElementType::f32, {4})),
                                one_to_one(negative_body(ElementType::f32, {4}))),
                         {condition, x}, "if");
  op::v1::Split in_two;
  in_two.num_splits = 2;
  Node& parts = model.add(in_two, {node, model.add_constant(0)}, "parts");
  // Steps with data, and outputs, read the parts.
  Node& again = model.add(choice(one_to_one(doubling_body({2})), one_to_one(doubling_body({2}))),
                          {condition, Output(&parts, 0)}, "again");
  model.add_result(again);
  model.add_result(Output(&parts, 0));
  model.add_result(Output(&parts, 1));
  const std::vector<Tensor> results = results_of(model, {truth(true), f32({4}, {1, 2, 3, 4})});
  check_equal<float>(results[0], {4}, {-1, -2, -1, -2});
  check_equal<float>(results[1], {2}, {-1, -2});
  check_equal<float>(results[2], {2}, {-3, -4});
}

TEST_CASE("Bodies of half-precision models compute in f32") {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    // 3000 times plus one, starting at zero: a half stops at 2048 (f16) or 256 (bf16).
    Body body = new_body();
    Node& sum = body->add_parameter(type, {1}, "sum");
    body->add_result(add_condition(*body, true));
    body->add_result(body->add(op::v1::Add(), {sum, body->add_constant(f32({1}, {1}).converted(type))}));
    Model model;
    Node& x = model.add_parameter(type, {1}, "x");
    op::v5::Loop loop;
    loop.body = {body, {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, {}}}};
    Node& node = model.add(loop, {model.add_constant(3072), model.add_constant(truth(true)), x}, "loop");
    CHECK(node.output(0).type == type);
    model.add_result(node);
    const Tensor result = results_of(model, {f32({1}, {0}).converted(type)}).at(0);
    CHECK(result.element_type() == type);
    check_equal<float>(result.converted(ElementType::f32), {1}, {3072});
  }
}

TEST_CASE("Requests run one Loop at once") {
  CompileOptions options;
  options.threads = 2;
  const CompiledModel compiled = compile_model(counting_model(), options);
  std::vector<int> wrong(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      InferRequest request = compiled.create_infer_request();
      const auto start = static_cast<float>(100 * i);
      for (int run = 0; run < 30; ++run) {
        const std::vector<Tensor> results =
            infer(request, compiled, {i64({}, {10}), truth(true), f32({1}, {start})});
        if (results[0].data<float>()[0] != start + 45 || results[1].shape() != Shape{10}) ++wrong[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>{0, 0, 0});
}

}  // namespace ir::test
