// Models whose shapes are known when they run: from the shapes of the inputs, or from the data.
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/indexing.h"
#include "ir_runtime/ops/slicing.h"
#include "ir_runtime/ops/sort.h"
#include "ir_runtime/ops/type_conversion.h"
#include "tests/execution/sample_models.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

op::v3::NonZero non_zero() { return {}; }

// Positions of what is not zero in a vector, as a row; then operations whose shapes follow from it.
Model positions_model() {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  Node& positions = model.add(non_zero(), {x}, "positions");
  Node& flat =
      model.add(op::v1::Reshape(), {positions, model.add_constant(std::vector<std::int64_t>{-1})}, "flat");
  Node& values = model.add(op::v8::Gather(), {x, flat, model.add_constant(0)}, "values");
  Node& negative = model.add(op::v0::Negative(), {values}, "negative");
  model.add_result(negative);
  model.add_result(model.add(op::v1::ReduceSum(), {values, model.add_constant(0)}, "sum"));
  model.add_result(flat);
  return model;
}

}  // namespace

TEST_CASE("One compiled model runs inputs of several shapes in turn") {
  const Model model = small_network(Dimension());
  const CompiledModel compiled = compile_model(model);
  CHECK(compiled.activation_bytes() == 0);
  InferRequest request = compiled.create_infer_request();
  for (const std::int64_t batch : {1, 3, 1, 2, 3, 0, 5, 1}) {
    INFO("batch " << batch);
    const std::vector<Tensor> inputs{noise({batch, 3, 20, 20}, 11)};
    const std::vector<Tensor> results = infer(request, compiled, inputs);
    CHECK(results.at(0).shape() == Shape{batch, 10});
    CHECK(same_bits(results, results_of(small_network(batch), inputs)));
  }
}

TEST_CASE("A model takes another shape for an input, or stays as it was") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 3}, "x");
  Node& y = model.add_parameter(ElementType::f32, {1, 3}, "y");
  model.add_result(model.add(op::v1::Add{}, {x, y}));
  model.reshape(0, {4, 3});
  CHECK(model.inputs()[0].shape == PartialShape{4, 3});
  CHECK(model.outputs()[0].shape == PartialShape{4, 3});
  REQUIRE_THROWS_AS(model.reshape(1, {2, 5}), Error);
  CHECK(model.inputs()[1].shape == PartialShape{1, 3});
  CHECK(model.outputs()[0].shape == PartialShape{4, 3});
  REQUIRE_THROWS_WITH(model.reshape(2, {1}),
                      "error: input 2 does not exist, the model has 2 [IR-port-unknown]");
  model.reshape(0, {Dimension(1, 8), 3});
  CHECK(model.outputs()[0].shape == PartialShape{Dimension(1, 8), 3});
  check_equal<float>(results_of(model, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({1, 3}, {10, 20, 30})}).at(0),
                     {2, 3}, {11, 22, 33, 14, 25, 36});
}

TEST_CASE("Inputs whose dims must agree take other shapes together, or none does") {
  Model model;
  Node& a = model.add_parameter(ElementType::f32, {1, 3}, "a");
  Node& b = model.add_parameter(ElementType::f32, {1, 3}, "b");
  model.add_result(model.add(op::v1::Add{}, {a, b}, "sum"));
  REQUIRE_THROWS_WITH(
      model.reshape(0, {1, 4}),
      "error: layer 'sum' (Add): input 1 of shape [1,3] does not match [1,4] of the inputs before it: axis 1 "
      "would be 4 and 3 [IR-broadcast]\n  hint: the model has 2 inputs: where dims of several must agree, "
      "give all their shapes at once (Model::reshape(shapes), ir_model_reshape_all)");
  model.reshape(std::vector<PartialShape>{{2, 4}, {2, 4}});
  CHECK(model.outputs()[0].shape == PartialShape{2, 4});
  REQUIRE_THROWS_WITH(model.reshape(std::vector<PartialShape>{{5, 6}, {5, 7}}),
                      "error: layer 'sum' (Add): input 1 of shape [5,7] does not match [5,6] of the inputs "
                      "before it: axis 1 would be 6 and 7 [IR-broadcast]");
  REQUIRE_THROWS_WITH(model.reshape(std::vector<PartialShape>{{5, 6}}),
                      "error: shapes for 1 inputs are given, the model has 2 [IR-port-unknown]");
  CHECK(model.inputs()[0].shape == PartialShape{2, 4});
  CHECK(model.inputs()[1].shape == PartialShape{2, 4});
  CHECK(model.outputs()[0].shape == PartialShape{2, 4});
  const Tensor ones = f32({2, 4}, std::vector<float>(8, 1));
  check_equal<float>(results_of(model, {ones, ones}).at(0), {2, 4}, std::vector<float>(8, 2));
}

TEST_CASE("A shape that does not fit leaves declared outputs as they are, and gives one input no hint") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2, 3}, "x");
  Node& flat = model.add(op::v1::Reshape(), {x, model.add_constant(std::vector<std::int64_t>{3, 2})}, "flat");
  model.add_result(flat);
  // As of a file that is read without checks of shapes.
  flat.set_outputs({{ElementType::f32, PartialShape{3, Dimension()}, nullptr, std::nullopt}});
  try {
    model.reshape(0, {2, 4});
    FAIL("2 x 4 elements became 3 x 2");
  } catch (const Error& error) {
    CHECK(error.diagnostics().front().hint.find("at once") == std::string::npos);
  }
  CHECK(model.inputs()[0].shape == PartialShape{2, 3});
  CHECK(flat.output(0).shape == PartialShape{3, Dimension()});
}

TEST_CASE("More shapes than plans are kept still run right") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  model.add_result(model.add(op::v0::Negative(), {x}));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t size = 0; size < 40; ++size) {
      const Tensor result = infer(request, compiled, {f32({size}, std::vector<float>(size, 1.5F))}).at(0);
      check_equal<float>(result, {size}, std::vector<float>(size, -1.5F));
    }
  }
}

TEST_CASE("An output of the last shape stays as it was when the shape changes") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  model.add_result(model.add(op::v0::Negative(), {x}));
  InferRequest request = compile_model(model).create_infer_request();
  request.set_input_tensor(0, f32({2}, {1, 2}));
  request.infer();
  const Tensor before = request.output_tensor(0);
  request.set_input_tensor(0, f32({1}, {5}));
  request.infer();
  check_equal<float>(before, {2}, {-1, -2});
  check_equal<float>(request.output_tensor(0), {1}, {-5});
}

TEST_CASE("Layers follow a NonZero, whatever it finds") {
  for (const bool rewrite : {true, false}) {
    CompileOptions options;
    options.optimize = rewrite;
    const CompiledModel compiled = compile_model(positions_model(), options);
    InferRequest request = compiled.create_infer_request();
    const auto run = [&](const std::vector<float>& values) {
      return infer(request, compiled, {f32({static_cast<std::int64_t>(values.size())}, values)});
    };
    for (int round = 0; round < 2; ++round) {
      std::vector<Tensor> results = run({0, 2, 0, 3});
      check_equal<float>(results[0], {2}, {-2, -3});
      check_equal<float>(results[1], {}, {5});
      check_equal<std::int64_t>(results[2], {2}, {1, 3});
      results = run({1, 2, 4, 3});
      check_equal<float>(results[0], {4}, {-1, -2, -4, -3});
      check_equal<float>(results[1], {}, {10});
      results = run({0, 0, 0, 0});
      check_equal<float>(results[0], {0}, {});
      check_equal<float>(results[1], {}, {0});
    }
  }
}

TEST_CASE("Layers follow a NonMaxSuppression") {
  Model model;
  Node& boxes = model.add_parameter(ElementType::f32, {1, 3, 4}, "boxes");
  Node& scores = model.add_parameter(ElementType::f32, {1, 1, 3}, "scores");
  Node& most = model.add_constant(3);
  Node& overlap = model.add_constant(f32({}, {0.5F}));
  Node& threshold = model.add_constant(f32({}, {0.0F}));
  Node& kept = model.add(op::v9::NonMaxSuppression(), {boxes, scores, most, overlap, threshold}, "kept");
  // The box of each row: column 2 of the selected indices.
  Node& columns =
      model.add(op::v8::Gather(), {Output(&kept, 0), model.add_constant(2), model.add_constant(1)});
  Node& flat_boxes = model.add(op::v1::Reshape(),
                               {boxes, model.add_constant(std::vector<std::int64_t>{3, 4})}, "flat_boxes");
  model.add_result(model.add(op::v8::Gather(), {flat_boxes, columns, model.add_constant(0)}, "selected"));
  model.add_result(Output(&kept, 2));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  const std::vector<float> all{0, 0, 1, 1, 0, 0, 0.9F, 1, 2, 2, 3, 3};
  std::vector<Tensor> results =
      infer(request, compiled, {f32({1, 3, 4}, all), f32({1, 1, 3}, {0.9F, 0.8F, 0.7F})});
  check_equal<float>(results[0], {2, 4}, {0, 0, 1, 1, 2, 2, 3, 3});
  check_equal<std::int64_t>(results[1], {1}, {2});
  results = infer(request, compiled, {f32({1, 3, 4}, all), f32({1, 1, 3}, {-0.9F, -0.8F, 0.7F})});
  check_equal<float>(results[0], {1, 4}, {2, 2, 3, 3});
}

TEST_CASE("The number of boxes that an old NonMaxSuppression may keep can be an input") {
  Model model;
  Node& most = model.add_parameter(ElementType::i64, {}, "most");
  Node& boxes = model.add_constant(f32({1, 2, 4}, {0, 0, 1, 1, 0, 2, 1, 3}));
  Node& scores = model.add_constant(f32({1, 1, 2}, {0.5F, 0.9F}));
  Node& overlap = model.add_constant(f32({}, {0.5F}));
  model.add_result(model.add(op::v1::NonMaxSuppression(), {boxes, scores, most, overlap}));
  model.add_result(model.add(op::v3::NonMaxSuppression(), {boxes, scores, most, overlap}));
  model.add_result(model.add(op::v4::NonMaxSuppression(), {boxes, scores, most, overlap}));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  for (const Tensor& kept : infer(request, compiled, {i64({}, {2})}))
    check_equal<std::int64_t>(kept, {2, 3}, {0, 0, 1, 0, 0, 0});
  for (const Tensor& kept : infer(request, compiled, {i64({}, {1})}))
    check_equal<std::int64_t>(kept, {1, 3}, {0, 0, 1});
}

TEST_CASE("A Range of the inputs feeds other layers") {
  Model model;
  Node& stop = model.add_parameter(ElementType::i64, PartialShape(Shape{}), "stop");
  op::v4::Range to_f32;
  Node& range = model.add(to_f32, {model.add_constant(0), stop, model.add_constant(2)}, "range");
  Node& doubled = model.add(op::v1::Add(), {range, range}, "doubled");
  model.add_result(doubled);
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  check_equal<float>(infer(request, compiled, {i64({}, {5})}).at(0), {3}, {0, 4, 8});
  check_equal<float>(infer(request, compiled, {i64({}, {0})}).at(0), {0}, {});
  check_equal<float>(infer(request, compiled, {i64({}, {2})}).at(0), {1}, {0});
}

TEST_CASE("Shapes that are inputs decide what layers give") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2, 6}, "x");
  Node& target = model.add_parameter(ElementType::i64, {Dimension()}, "target");
  op::v1::Reshape reshape;
  reshape.special_zero = true;
  Node& reshaped = model.add(reshape, {x, target}, "reshaped");
  Node& negative = model.add(op::v0::Negative(), {reshaped}, "negative");
  model.add_result(negative);
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  const Tensor data = noise({2, 6}, 3);
  for (const auto& [wanted, shape] : std::vector<std::pair<std::vector<std::int64_t>, Shape>>{
           {{3, 4}, {3, 4}}, {{0, -1}, {2, 6}}, {{4, 3}, {4, 3}}, {{2, 2, 3}, {2, 2, 3}}, {{-1}, {12}}}) {
    const Tensor shape_tensor = i64({static_cast<std::int64_t>(wanted.size())}, wanted);
    const Tensor result = infer(request, compiled, {data, shape_tensor}).at(0);
    REQUIRE(result.shape() == shape);
    for (std::size_t i = 0; i < 12; ++i) CHECK(result.data<float>()[i] == -data.data<float>()[i]);
  }
  CHECK(error_of([&] {
          (void)infer(request, compiled, {data, i64({1}, {5})});
        }).starts_with("reshaped: IR-"));
}

TEST_CASE("Shape inputs of many kinds of layers wait for the data") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {4}, "x");
  Node& n = model.add_parameter(ElementType::i64, {1}, "n");
  model.add_result(model.add(
      op::v3::Broadcast(),
      {x, model.add(op::v0::Concat(), {n, model.add_constant(std::vector<std::int64_t>{4})})}, "broadcast"));
  model.add_result(model.add(op::v0::Tile(), {x, n}, "tile"));
  model.add_result(model.add(op::v8::Slice(),
                             {x, model.add_constant(std::vector<std::int64_t>{0}), n,
                              model.add_constant(std::vector<std::int64_t>{1})},
                             "slice"));
  op::v1::StridedSlice strided;
  strided.begin_mask = {1};
  strided.end_mask = {0};
  model.add_result(model.add(strided, {x, n, n}, "strided"));
  model.add_result(model.add(op::v12::Pad(), {x, n, n, model.add_constant(f32({}, {9}))}, "pad"));
  op::v11::TopK top;
  top.axis = 0;
  top.mode = op::TopKMode::max;
  top.sort = op::TopKSort::value;
  Node& k = model.add(op::v0::Squeeze(), {n}, "k");
  model.add_result(Output(&model.add(top, {x, k}, "top"), 0));
  model.add_result(
      model.add(op::v1::VariadicSplit(),
                {x, model.add_constant(0),
                 model.add(op::v0::Concat(), {n, model.add_constant(std::vector<std::int64_t>{-1})})},
                "split"));
  model.add_result(model.add(op::v0::Unsqueeze(), {x, model.add(op::v1::Subtract(), {n, n})}, "unsqueeze"));
  model.add_result(model.add(op::v1::ReduceSum(), {x, model.add(op::v1::Subtract(), {n, n})}, "reduce"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  for (const std::int64_t count : {2, 1, 3, 2}) {
    INFO("n = " << count);
    const std::vector<Tensor> inputs{f32({4}, {1, 4, 2, 3}), i64({1}, {count})};
    CHECK(same_bits(infer(request, compiled, inputs), run_model(model, inputs)));
  }
}

TEST_CASE("What data asks for is held to the limit on activations") {
  Model model;
  Node& target = model.add_parameter(ElementType::i64, {2}, "target");
  Node& one = model.add_constant(f32({}, {1}));
  Node& filled = model.add(op::v3::Broadcast(), {one, target}, "filled");
  model.add_result(model.add(op::v0::Negative(), {filled}, "negative"));
  CompileOptions options;
  options.max_activation_bytes = 1000;
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  CHECK(infer(request, compiled, {i64({2}, {5, 6})}).at(0).shape() == Shape{5, 6});
  CHECK(
      error_of([&] {
        (void)infer(request, compiled, {i64({2}, {1'000'000, 1'000})});
      }) ==
      "filled: IR-limit: the output is f32 of shape [1000000,1000], which takes 4000000000 bytes; the limit "
      "max_activation_bytes is 1000");
  CHECK(error_of([&] { (void)request.output_tensor(0); }).starts_with("IR-output-missing"));
  CHECK(infer(request, compiled, {i64({2}, {2, 3})}).at(0).shape() == Shape{2, 3});
}

TEST_CASE("Errors in the data name the layer") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {4}, "x");
  Node& index = model.add_parameter(ElementType::i64, {1}, "index");
  model.add_result(model.add(op::v1::Gather(), {x, index, model.add_constant(0)}, "picked"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  try {
    (void)infer(request, compiled, {noise({4}, 1), i64({1}, {7})});
  } catch (const Error& error) {
    CHECK(error.diagnostics().front().layer.name == "picked");
    CHECK(error.diagnostics().front().layer.type == "Gather");
  }
}

}  // namespace ir::test
