// Packed constants that plans for several shapes, requests and bodies have in common.
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/grouped_matmul.h"
#include "ir_runtime/ops/indexing.h"
#include "ir_runtime/ops/sort.h"
#include "runtime/execution/executable.h"
#include "runtime/execution/memory_need.h"
#include "runtime/execution/run_state.h"
#include "runtime/execution/shareable_constants.h"
#include "tests/execution/bodies.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

// Two products of vectors of 50, as many as there are, and their constants.
Model products_model() {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 50}, "x");
  Node& first = model.add(op::v0::MatMul(), {x, model.add_constant(noise({50, 70}, 1))}, "first");
  Node& active = model.add(op::v0::ReLU(), {first}, "active");
  op::v0::MatMul transposed;
  transposed.transpose_b = true;
  model.add_result(model.add(transposed, {active, model.add_constant(noise({40, 70}, 2))}, "second"));
  return model;
}

// Sums of the definition: one form of each constant, whatever its shapes.
CompileOptions accurate() {
  CompileOptions options;
  options.execution_mode = ExecutionMode::accuracy;
  return options;
}

Tensor run_alone(RunState& state, const Tensor& input) {
  state.run(std::vector<Tensor>{input});
  return state.output(0).clone();
}

// The product of those rows of x that are not zero in the first column with a constant.
Model found_rows_model() {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {6, 50}, "x");
  Node& flags = model.add_parameter(ElementType::f32, {6}, "flags");
  Node& found = model.add(op::v3::NonZero(), {flags}, "found");
  Node& positions = model.add(op::v0::Squeeze(), {found, model.add_constant(0)}, "positions");
  Node& rows = model.add(op::v8::Gather(), {x, positions, model.add_constant(0)}, "rows");
  model.add_result(model.add(op::v0::MatMul(), {rows, model.add_constant(noise({50, 70}, 1))}, "product"));
  return model;
}

}  // namespace

TEST_CASE("Plans for other shapes pack no constant again") {
  const Model model = products_model();
  std::shared_ptr<kernels::SharedForms> forms;
  {
    Executable executable(std::make_shared<Model>(model), accurate());
    forms = executable.forms();
    for (const std::int64_t rows : {2, 30, 7, 100, 3, 64, 65, 66, 67, 2}) {
      INFO(rows << " rows");
      const Tensor input = noise({rows, 50}, 3);
      RunState state(executable.plan_for(std::vector<Shape>{{rows, 50}}), accurate(), nullptr);
      CHECK(same_bits(run_alone(state, input), results_of(model, {input}, accurate()).at(0)));
      CHECK(forms->count() == 2);
    }
  }
  CHECK(forms->count() == 0);
}

TEST_CASE("Plans for other numbers of rows pack the matrices of groups once") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 50}, "x");
  Node& ends = model.add_parameter(ElementType::i64, {3}, "ends");
  model.add_result(
      model.add(op::v17::GroupedMatMul(), {x, model.add_constant(noise({3, 40, 50}, 1)), ends}, "product"));
  Executable executable(std::make_shared<Model>(model), accurate());
  for (const std::int64_t rows : {2, 30, 7, 100, 3, 64, 65, 2, 1}) {
    INFO(rows << " rows");
    const std::vector<Tensor> inputs{noise({rows, 50}, 3), i64({3}, {rows / 2, rows / 2, rows})};
    RunState state(executable.plan_for(std::vector<Shape>{{rows, 50}, {3}}), accurate(), nullptr);
    state.run(inputs);
    CHECK(same_bits(state.output(0), results_of(model, inputs, accurate()).at(0)));
    CHECK(executable.forms()->count() == 1);
  }
}

TEST_CASE("What is packed stays for shapes to come where memory is not limited") {
  Model model = products_model();
  Node& y = model.add_parameter(ElementType::f32, {Dimension(), Dimension()}, "y");
  model.add_result(model.add(op::v0::ReLU(), {y}, "other"));
  CHECK_FALSE(is_memory_limited({}));
  const auto forms_after_single_rows = [&](std::int64_t max_memory_bytes) {
    CompileOptions options = accurate();
    options.max_memory_bytes = max_memory_bytes;
    Executable executable(std::make_shared<Model>(model), options);
    (void)executable.plan_for(std::vector<Shape>{{30, 50}, {1, 1}});
    CHECK(executable.forms()->count() == 2);
    // A single row reads the second constant as it is. The first plan is forgotten; no dim alone grows.
    for (std::int64_t size = 1; size < 50; ++size) {
      (void)executable.plan_for(std::vector<Shape>{{1, 50}, {size, size + 1}});
      (void)executable.plan_for(std::vector<Shape>{{1, 50}, {size + 1, size + 1}});
    }
    return executable.forms()->count();
  };
  // compile_model says what the process may use.
  for (const std::int64_t all : {std::int64_t{0}, usable_memory()}) {
    CHECK(forms_after_single_rows(all) == 2);
  }
  CHECK(forms_after_single_rows(1 << 20) < 2);
}

TEST_CASE("A plan for some of many shapes holds no constant that its kernels have packed") {
  Model model = products_model();
  Node& x = *model.parameters()[0];
  model.add_result(model.add(op::v1::Add(), {x, model.add_constant(noise({1, 50}, 4))}, "sum"));
  Executable executable(std::make_shared<Model>(model), {});
  const auto plan = executable.plan_for(std::vector<Shape>{{3, 50}});
  CHECK(plan->constants.size() == 3);
  CHECK(std::ranges::count_if(plan->constants, [](const Tensor& constant) { return bool(constant); }) == 1);
}

TEST_CASE("Networks give the same for each shape as they do alone, whatever they share") {
  const double extra_weights = GENERATE(0.0, -1.0);
  for (const ExecutionMode mode : {ExecutionMode::performance, ExecutionMode::accuracy}) {
    CompileOptions options;
    options.execution_mode = mode;
    options.extra_weights = extra_weights;
    Model images;
    Node& image = images.add_parameter(ElementType::f32, {1, 16, Dimension(), Dimension()}, "image");
    Node& first = images.add(same_size_convolution(), {image, images.add_constant(noise({40, 16, 3, 3}, 1))});
    Node& second =
        images.add(same_size_convolution(), {first, images.add_constant(noise({24, 40, 3, 3}, 2))});
    op::v1::Convolution pointwise = same_size_convolution();
    pointwise.pads_begin = pointwise.pads_end = {0, 0};
    images.add_result(images.add(pointwise, {second, images.add_constant(noise({30, 24, 1, 1}, 3))}));
    const CompiledModel compiled = compile_model(images, options);
    InferRequest request = compiled.create_infer_request();
    for (const Shape& size :
         std::vector<Shape>{{8, 8}, {3, 3}, {40, 40}, {1, 9}, {41, 33}, {16, 2}, {9, 9}}) {
      INFO(size[0] << " x " << size[1]);
      const std::vector<Tensor> input{noise({1, 16, size[0], size[1]}, 4)};
      CHECK(same_bits(infer(request, compiled, input), results_of(images, input, options)));
    }
  }
}

TEST_CASE("Layers of one plan that have a constant in common pack it once") {
  const auto model_of = [](bool in_common) {
    Model model;
    Node& x = model.add_parameter(ElementType::f32, {30, 50}, "x");
    Node* weights = &model.add_constant(noise({50, 50}, 1));
    Node* value = &x;
    for (int layer = 0; layer < 3; ++layer) {
      value = &model.add(op::v0::MatMul(), {*value, *weights});
      if (!in_common) weights = &model.add_constant(noise({50, 50}, 1));
    }
    model.add_result(*value);
    return model;
  };
  for (const bool in_common : {true, false}) {
    const auto model = std::make_shared<Model>(model_of(in_common));
    Executable executable(model, accurate());
    const auto plan = make_only_plan(model, accurate(), executable, executable.forms());
    CHECK(executable.forms()->count() == (in_common ? 1 : 0));
    CHECK(std::ranges::none_of(plan->constants, [](const Tensor& constant) { return bool(constant); }));
  }
  const std::vector<Tensor> input{noise({30, 50}, 3)};
  CHECK(same_bits(results_of(model_of(true), input), results_of(model_of(false), input)));
}

TEST_CASE("Steps that wait for data pack constants once for all requests") {
  const auto model = std::make_shared<Model>(found_rows_model());
  Executable executable(model, accurate());
  const auto plan = executable.plan_for(std::vector<Shape>{{6, 50}, {6}});
  RunState state(plan, accurate(), nullptr);
  RunState other(plan, accurate(), nullptr);
  CHECK(executable.forms()->count() == 0);
  const Tensor x = noise({6, 50}, 5);
  for (const std::vector<float>& flags : std::vector<std::vector<float>>{
           {1, 0, 0, 1, 0, 0}, {1, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 0}, {0, 1, 0, 1, 0, 0}}) {
    const std::vector<Tensor> inputs{x, f32({6}, flags)};
    const Tensor expected = results_of(found_rows_model(), inputs, accurate()).at(0);
    for (RunState* const each : {&state, &other}) {
      each->run(inputs);
      CHECK(same_bits(each->output(0), expected));
      CHECK(executable.forms()->count() == 1);
    }
  }
}

TEST_CASE("Iterations of other shapes share what a body packs") {
  const Body body = new_body();
  Node& x = body->add_parameter(ElementType::f32, {Dimension(), 20}, "inner");
  Node& product = body->add(op::v0::MatMul(), {x, body->add_constant(noise({20, 20}, 6))}, "product");
  body->add_result(add_condition(*body, true));
  // One row more each time.
  Node& row = body->add_constant(noise({1, 20}, 7));
  body->add_result(body->add(op::v0::Concat(), {product, row}, "longer"));
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, {}}}};
  auto model = std::make_shared<Model>();
  Node& start = model->add_parameter(ElementType::f32, {2, 20}, "start");
  model->add_result(
      model->add(loop, {model->add_constant(i64({}, {5})), add_condition(*model, true), start}, "loop"));
  const std::vector<Tensor> input{noise({2, 20}, 8)};
  const std::vector<Tensor> expected = results_of(*model, input, accurate());
  Executable executable(model, accurate());
  RunState state(executable.plan_for(std::vector<Shape>{{2, 20}}), accurate(), nullptr);
  CHECK(same_bits(run_alone(state, input[0]), expected.at(0)));
  CHECK(expected.at(0).shape() == Shape{7, 20});
  CHECK(executable.forms()->count() == 1);
}

TEST_CASE("Only constants of the model are shareable") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2, 3}, "x");
  const Tensor weights = noise({3, 3}, 1);
  Node& product = model.add(op::v0::MatMul(), {x, model.add_constant(weights)}, "product");
  Node& constants = model.add(op::v1::Add(), {model.add_constant(weights), model.add_constant(weights)});
  Node& computed = model.add(op::v0::MatMul(), {product, constants}, "computed");
  Node& positions = model.add_constant(std::vector<std::int64_t>{0});
  Node& picked = model.add(op::v8::Gather(), {product, positions, model.add_constant(0)}, "picked");
  REQUIRE(shareable_constants(product).size() == 1);
  CHECK(shareable_constants(product)[0].size() == 9);
  CHECK(shareable_constants(product)[0].data() ==
        product.input(1).node->op().as<op::v0::Constant>()->value->data<float>().data());
  CHECK(shareable_constants(constants).size() == 2);
  CHECK(shareable_constants(computed).empty());
  CHECK(shareable_constants(picked).empty());
}

}  // namespace ir::test
