// What port maps, bodies and data of control flow may do wrong.
#include "tests/execution/bodies.h"

namespace ir::test {

TEST_CASE("Both branches of an If are held to their port maps, also the one that is never taken") {
  const std::vector<ValueInfo> inputs{value_of(truth(true)), value(ElementType::f32, {4, 2})};
  const Body body = negative_body(ElementType::f32, {4, 2});
  const auto failure = [&](const Subgraph& never_taken) {
    return failure_of(choice(one_to_one(body), never_taken), inputs);
  };
  CHECK(failure(one_to_one(body)) == "no failure");
  CHECK(failure({nullptr, {}, {{0, 0, {}}}}) == "IR-port-map: the layer has no body");
  CHECK(failure({body, {passed(1, 3)}, {{0, 0, {}}}}) ==
        "IR-port-map: the port map names body parameter 3, the body has 1");
  CHECK(failure({body, {passed(1, 0)}, {{0, 4, {}}}}) ==
        "IR-port-map: the port map names body result 4, the body has 1");
}

TEST_CASE("Port maps that fit neither body nor layer are refused") {
  const std::vector<ValueInfo> inputs{value(ElementType::i64, Shape{}), value(ElementType::boolean, Shape{}),
                                      value(ElementType::f32, {4, 2})};
  const auto failure = [&](const Subgraph& subgraph) {
    op::v5::Loop loop;
    loop.body = subgraph;
    return failure_of(loop, inputs);
  };
  const Body body = negative_body(ElementType::f32, {4, 2});
  CHECK(failure({nullptr, {}, {}}) == "IR-port-map: the layer has no body");
  CHECK(failure({body, {}, {}}) == "IR-port-map: the body parameter 'inner' is not mapped to any input");
  CHECK(failure({body, {passed(3, 0)}, {}}) == "IR-port-map: the port map names input 3, the layer has 3");
  CHECK(failure({body, {passed(2, 1)}, {}}) ==
        "IR-port-map: the port map names body parameter 1, the body has 1");
  CHECK(failure({body, {passed(2, 0), passed(2, 0)}, {}}) ==
        "IR-port-map: the body parameter 'inner' is mapped twice");
  CHECK(failure({body, {going_round(2, 0, 5)}, {}}) ==
        "IR-port-map: a back edge names body result 5, the body has 1");
  CHECK(failure({body, {{2, 0, along(0), 0}}, {}}) ==
        "IR-port-map: the body parameter 'inner' is fed by slices and by a back edge");
  CHECK(failure({body, {passed(2, 0)}, {{0, 7, {}}}}) ==
        "IR-port-map: the port map names body result 7, the body has 1");
  CHECK(failure({body, {passed(2, 0)}, {{1, 0, {}}}}) ==
        "IR-port-map: the port map gives output 1 twice, or not those before it");
  CHECK(failure({body, {passed(0, 0)}, {{0, 0, {}}}}) ==
        "IR-element-type: body parameter 'inner' is of type f32, what feeds it of type i64");
  CHECK(failure({body, {sliced(2, 0, {0, 0, -1, 2, 1})}, {}}) ==
        "IR-port-map: stride 2 does not match part_size 1");
  CHECK(failure({body, {sliced(2, 0, {2, 0, -1, 1, 1})}, {}}).starts_with("IR-axis"));
  CHECK(failure({body, {sliced(2, 0, {0, 0, 4, 1, 1})}, {}}) ==
        "IR-port-map: the slices of input 2 go from 0 to 4, axis 0 has 4 elements");
  CHECK(failure({body, {sliced(2, 0, {0, -5, -1, 1, 1})}, {}}) ==
        "IR-port-map: the slices of input 2 go from -5 to -1, axis 0 has 4 elements");
  CHECK(failure({body, {passed(2, 0)}, {{0, 0, along(0)}}}) ==
        "IR-port-map: body result 0 has shape [4,2], but part_size is 1 on axis 0");
  CHECK(failure({body, {passed(2, 0)}, {{0, 0, {}}}}) == "no failure");
}

TEST_CASE("Values that go round keep their type") {
  Body body = new_body();
  Node& x = body->add_parameter(ElementType::f32, {2}, "x");
  op::v0::Convert to_i64;
  to_i64.destination_type = ElementType::i64;
  body->add_result(body->add(to_i64, {x}));
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 0)}, {{0, 0, {}}}};
  CHECK(failure_of(loop, {value(ElementType::i64, Shape{}), value(ElementType::boolean, Shape{}),
                          value(ElementType::f32, {2})}) ==
        "IR-element-type: body parameter 'x' is of type f32, what feeds it of type i64");
}

TEST_CASE("Slices beyond an axis of unknown size are an error of the run") {
  op::v0::TensorIterator iterator;
  iterator.body = {
      negative_body(ElementType::f32, {1, 2}), {sliced(0, 0, {0, 0, 2, 1, 1})}, {{0, 0, along(0)}}};
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 2}, "x");
  model.add_result(model.add(iterator, {x}, "loop"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  CHECK(infer(request, compiled, {noise({4, 2}, 1)}).at(0).shape() == Shape{3, 2});
  CHECK(infer(request, compiled, {noise({0, 2}, 1)}).at(0).shape() == Shape{0, 2});
  REQUIRE_THROWS_WITH(infer(request, compiled, {noise({2, 2}, 1)}),
                      contains_text("the slices of input 0 go from 0 to 2, axis 0 has 2 elements"));
}

TEST_CASE("A trip count beyond the slices of an input is an error that names the Loop") {
  op::v5::Loop loop;
  loop.body = {negative_body(ElementType::f32, {1, 2}), {sliced(2, 0, along(0))}, {{0, 0, along(0)}}};
  Model model;
  Node& trips = model.add_parameter(ElementType::i64, PartialShape(Shape{}), "trips");
  Node& x = model.add_parameter(ElementType::f32, {3, 2}, "x");
  model.add_result(model.add(loop, {trips, model.add_constant(truth(true)), x}, "loop"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  CHECK(infer(request, compiled, {i64({}, {2}), noise({3, 2}, 1)}).at(0).shape() == Shape{2, 2});
  CHECK(infer(request, compiled, {i64({}, {kForever}), noise({3, 2}, 1)}).at(0).shape() == Shape{3, 2});
  CHECK(error_of([&] {
          (void)infer(request, compiled, {i64({}, {4}), noise({3, 2}, 1)});
        }) == "loop: IR-value: iteration 3 wants a slice of input 2, which has 3");
}

TEST_CASE("Errors inside of a body name the body's layer") {
  Body body = new_body();
  Node& inner = body->add_parameter(ElementType::f32, {Dimension()}, "inner");
  Node& other = body->add_parameter(ElementType::f32, {Dimension()}, "other");
  body->add_result(body->add(op::v1::Add(), {inner, other}, "inner_sum"));
  const Subgraph branch{body, {passed(1, 0), passed(2, 1)}, {{0, 0, {}}}};
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, PartialShape(Shape{}), "condition");
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  Node& y = model.add_parameter(ElementType::f32, {Dimension()}, "y");
  model.add_result(model.add(choice(branch, branch), {condition, x, y}, "if"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  CHECK(infer(request, compiled, {truth(true), f32({2}, {1, 2}), f32({2}, {3, 4})}).at(0).shape() ==
        Shape{2});
  CHECK(error_of([&] {
          (void)infer(request, compiled, {truth(true), f32({2}, {1, 2}), f32({3}, {3, 4, 5})});
        }).find("inner_sum") != std::string::npos);
}

TEST_CASE("The branches of an If give as many outputs") {
  const Subgraph one = one_to_one(negative_body(ElementType::f32, {2}));
  Subgraph two = one;
  two.outputs.push_back({1, 0, {}});
  const std::vector<ValueInfo> inputs{value(ElementType::boolean, Shape{}), value(ElementType::f32, {2})};
  CHECK(failure_of(choice(two, two), inputs) == "no failure");
  CHECK(failure_of(choice(one, two), inputs) == "IR-port-map: the branches give 1 and 2 outputs");
  // What the condition is known to leave out counts, too.
  const ValueInfo always{ElementType::boolean, Shape{}, std::make_shared<const Tensor>(truth(true)),
                         std::nullopt};
  CHECK(failure_of(choice(two, one), {always, inputs[1]}) ==
        "IR-port-map: the branches give 2 and 1 outputs");
  // An entry that is no output takes no output's place.
  Subgraph gap = one;
  gap.outputs = {{-1, 0, {}}, {1, 0, {}}};
  CHECK(failure_of(choice(gap, gap), inputs) ==
        "IR-port-map: the port map gives output 1 twice, or not those before it");
}

TEST_CASE("A body does not run outside of a compiled model") {
  const Subgraph branch = one_to_one(negative_body(ElementType::f32, {2}));
  const Op op = choice(branch, branch);
  CHECK(error_of([&] {
          (void)evaluate(op, std::vector<Tensor>{truth(true), f32({2}, {1, 2})});
        }) == "IR-needs-plan: a body cannot run outside of a compiled model");
}

}  // namespace ir::test
