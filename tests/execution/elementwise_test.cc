// Element-wise operations that run as one: the bits are those of every layer on its own.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/indexing.h"
#include "tests/execution/support.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

std::vector<Tensor> as_written(const Model& model, const std::vector<Tensor>& inputs) {
  CompileOptions options;
  options.optimize = false;
  return results_of(model, inputs, options);
}

// (x + y) * sigmoid(x + y - z) / 2
Model gated(const PartialShape& x, const PartialShape& y, const PartialShape& z) {
  Model model;
  Node& a = model.add_parameter(ElementType::f32, x, "x");
  Node& b = model.add_parameter(ElementType::f32, y, "y");
  Node& c = model.add_parameter(ElementType::f32, z, "z");
  Node& sum = model.add(op::v1::Add(), {a, b});
  Node& gate = model.add(op::v0::Sigmoid(), {model.add(op::v1::Subtract(), {sum, c})});
  Node& product = model.add(op::v1::Multiply(), {sum, gate});
  model.add_result(model.add(op::v1::Divide(), {product, model.add_constant(number(2))}, "last"));
  return model;
}

std::vector<std::string> types_of_steps(const CompiledModel& compiled, const std::vector<Tensor>& inputs) {
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, inputs);
  std::vector<std::string> types;
  for (const StepProfile& step : request.profile()) types.push_back(step.type);
  return types;
}

}  // namespace

TEST_CASE("A chain is one step with the bits of many") {
  const Shape shape{2, 8, 30, 30};
  const Model model = gated(shape, shape, shape);
  const std::vector<Tensor> inputs{noise(shape, 1), noise(shape, 2), noise(shape, 3)};
  CHECK(types_of_steps(compile_model(model), inputs) == std::vector<std::string>{"FusedElementwise"});
  const std::vector<Tensor> expected = as_written(model, inputs);
  for (const int threads : {1, 2, 3}) {
    CompileOptions options;
    options.threads = threads;
    CHECK(same_bits(results_of(model, inputs, options), expected));
  }
}

TEST_CASE("A chain of unknown shapes takes all shapes that match") {
  const auto any = PartialShape{Dimension(), Dimension(), Dimension()};
  const Model model = GENERATE(false, true) ? gated({}, {}, {}) : gated(any, any, any);
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  const std::vector<std::vector<Shape>> cases{
      {{2, 3, 40}, {2, 3, 40}, {2, 3, 40}}, {{2, 3, 40}, {1, 3, 1}, {1, 1, 40}},
      {{1, 1, 40}, {1, 1, 40}, {2, 3, 1}},  {{1, 1, 1}, {1, 1, 1}, {2, 300, 5}},
      {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},    {{2, 0, 4}, {2, 1, 4}, {1, 1, 1}},
      {{5, 1, 300}, {1, 7, 1}, {5, 7, 1}},  {{2, 3, 40}, {2, 3, 40}, {2, 3, 40}},
  };
  for (const auto& shapes : cases) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : shapes) inputs.push_back(noise(shape, 5 + inputs.size()));
    INFO(to_string(shapes[0]) << " " << to_string(shapes[1]) << " " << to_string(shapes[2]));
    CHECK(same_bits(infer(request, compiled, inputs), as_written(model, inputs)));
  }
}

TEST_CASE("Shapes that do not match are an error of the chain's last layer") {
  const auto any = PartialShape{Dimension(), Dimension()};
  const Model model = gated(any, any, any);
  CHECK(error_of([&] {
          (void)results_of(model, {noise({2, 3}, 1), noise({2, 4}, 2), noise({2, 3}, 3)});
        }) ==
        "IR-broadcast: layer 'last' (FusedElementwise): Add of shapes [2,3] and [2,4], which do not match");
}

TEST_CASE("A chain writes over an input that nobody reads later, and over no other") {
  Model model;
  const Shape shape{3, 50, 50};
  Node& x = model.add_parameter(ElementType::f32, shape);
  // No part of the chain, and read by its first and its last function.
  const auto moved = [&](Output value) -> Node& {
    op::v0::CumSum sum;
    return model.add(sum, {value, model.add_constant(1)});
  };
  Node& kept = moved(x);
  Node& dies = moved(kept);
  Node& gate = model.add(op::v0::Sigmoid(), {model.add(op::v1::Add(), {dies, kept})});
  model.add_result(moved(model.add(op::v1::Multiply(), {gate, dies})));
  model.add_result(moved(kept));
  const std::vector<Tensor> inputs{noise(shape, 4)};
  const std::vector<Tensor> expected = as_written(model, inputs);
  CHECK(same_bits(results_of(model, inputs), expected));
  CompileOptions apart;
  apart.share_memory = false;
  CHECK(same_bits(results_of(model, inputs, apart), expected));
}

}  // namespace ir::test
