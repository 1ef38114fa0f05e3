#include "ir_runtime/compiled_model.h"

#include <memory>
#include <optional>
#include <thread>

#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/indexing.h"
#include "tests/execution/sample_models.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

// y = relu(x) on [2, 3]; the input has a tensor name, the output the layer's.
Model relu_model() {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2, 3}, "x");
  x.set_output_names(0, {"x_tensor", "x_alias"});
  model.add_result(model.add(op::v0::ReLU(), {x}, "relu"), "result");
  return model;
}

}  // namespace

TEST_CASE("A request takes tensors of the type and shape of the input") {
  const CompiledModel compiled = compile_model(relu_model());
  InferRequest request = compiled.create_infer_request();
  CHECK(error_of([&] {
          request.set_input_tensor(0, i32({2, 3}, {1, 2, 3, 4, 5, 6}));
        }) == "IR-input-type: input 'x_tensor' takes f32, the tensor holds i32");
  CHECK(error_of([&] {
          request.set_input_tensor(0, noise({3, 2}, 1));
        }) == "IR-input-shape: input 'x_tensor' takes shape [2,3], the tensor has [3,2]");
  CHECK(error_of([&] { request.set_input_tensor(0, noise({6}, 1)); }) ==
        "IR-input-shape: input 'x_tensor' takes shape [2,3], the tensor has [6]");
  CHECK(error_of([&] { request.set_input_tensor(0, Tensor()); }) ==
        "IR-input-type: input 'x_tensor' takes f32, the tensor holds dynamic");
  CHECK(error_of([&] {
          request.set_input_tensor(0, Tensor(ElementType::f32, {2, 3}, nullptr));
        }) == "IR-input-missing: input 'x_tensor' was given a tensor without memory");
  CHECK(error_of([&] {
          request.set_input_tensor(1, noise({2, 3}, 1));
        }) == "IR-port-unknown: input 1 does not exist, the model has 1");
  CHECK(error_of([&] {
          request.set_tensor("relu", noise({2, 3}, 1));
        }) == "IR-port-unknown: the model has no input 'relu'; it has 'x_tensor'");
  CHECK(error_of([&] { request.infer(); }) == "IR-input-missing: input 'x_tensor' was not given a tensor");
}

TEST_CASE("Outputs are there after a run") {
  const CompiledModel compiled = compile_model(relu_model());
  InferRequest request = compiled.create_infer_request();
  CHECK(error_of([&] { (void)request.output_tensor(0); }) ==
        "IR-output-missing: output 'relu' has no data before infer");
  CHECK(error_of([&] { (void)request.output_tensor(1); }) ==
        "IR-port-unknown: output 1 does not exist, the model has 1");
  CHECK(error_of([&] { (void)request.tensor("nothing"); }) ==
        "IR-port-unknown: the request has no tensor 'nothing'; inputs: 'x_tensor'; outputs: 'relu'");
  request.set_tensor("x_alias", f32({2, 3}, {-1, 2, -3, 4, -5, 6}));
  request.infer();
  check_equal<float>(request.output_tensor(0), {2, 3}, {0, 2, 0, 4, 0, 6});
  check_equal<float>(request.tensor("relu"), {2, 3}, {0, 2, 0, 4, 0, 6});
  check_equal<float>(request.tensor("x_tensor"), {2, 3}, {-1, 2, -3, 4, -5, 6});
}

TEST_CASE("Inputs may be filled in place") {
  const CompiledModel compiled = compile_model(relu_model());
  InferRequest request = compiled.create_infer_request();
  Tensor input = request.input_tensor(0);
  CHECK(input.shape() == Shape{2, 3});
  CHECK(input.raw() == request.input_tensor(0).raw());
  std::ranges::fill(input.data<float>(), 2.5F);
  request.infer();
  check_equal<float>(request.output_tensor(0), {2, 3}, std::vector<float>(6, 2.5F));
  input.data<float>()[0] = -1;
  request.infer();
  CHECK(request.output_tensor(0).data<float>()[0] == 0);

  Model dynamic;
  dynamic.add_result(dynamic.add_parameter(ElementType::f32, {Dimension(1, 4), 3}, "x"));
  InferRequest of_dynamic = compile_model(dynamic).create_infer_request();
  CHECK(error_of([&] { (void)of_dynamic.input_tensor(0); }) ==
        "IR-input-shape: input 'x' has shape [1..4,3]: set a tensor of the shape that is wanted");
}

TEST_CASE("The memory of an input can be asked for by name before it was given any") {
  const CompiledModel compiled = compile_model(relu_model());
  InferRequest request = compiled.create_infer_request();
  Tensor input = request.tensor("x_alias");
  CHECK(input.shape() == Shape{2, 3});
  CHECK(input.raw() == request.input_tensor(0).raw());
  std::ranges::fill(input.data<float>(), 2.5F);
  request.infer();
  check_equal<float>(request.output_tensor(0), {2, 3}, {2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F});

  Model any_size;
  Node& a = any_size.add_parameter(ElementType::f32, {Dimension()}, "a");
  any_size.add_result(any_size.add(op::v0::ReLU(), {a}, "relu"));
  const CompiledModel unknown = compile_model(any_size);
  InferRequest waiting = unknown.create_infer_request();
  CHECK(error_of([&] { (void)waiting.tensor("a"); }) ==
        "IR-input-shape: input 'a' has shape [?]: set a tensor of the shape that is wanted");
}

TEST_CASE("A name of two inputs stands for neither, one of two outputs for the first") {
  Model model;
  for (const char* name : {"a", "b"}) {
    Node& input = model.add_parameter(ElementType::f32, {1}, name);
    input.set_output_names(0, {name, "both"});
    Node& negative = model.add(op::v0::Negative(), {input});
    negative.set_output_names(0, {"result"});
    model.add_result(negative);
  }
  InferRequest request = compile_model(model).create_infer_request();
  const std::string ambiguous = "IR-port-ambiguous: the name 'both' belongs to inputs 0 and 1";
  CHECK(error_of([&] { request.set_tensor("both", f32({1}, {1})); }) == ambiguous);
  CHECK(error_of([&] { (void)request.tensor("both"); }) == ambiguous);
  request.set_tensor("a", f32({1}, {1}));
  request.set_tensor("b", f32({1}, {2}));
  request.infer();
  check_equal<float>(request.tensor("result"), {1}, {-1});
}

TEST_CASE("A model without inputs has none of any name") {
  Model model;
  model.add_result(model.add_constant(1));
  InferRequest request = compile_model(model).create_infer_request();
  CHECK(error_of([&] { request.set_tensor("a", f32({1}, {1})); }) ==
        "IR-port-unknown: the model has no input 'a'; it has none");
}

TEST_CASE("A run reads and leaves alone memory of the caller") {
  float memory[6] = {-1, 2, -3, 4, -5, 6};
  const CompiledModel compiled = compile_model(relu_model());
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(0, Tensor(ElementType::f32, {2, 3}, memory));
  request.infer();
  check_equal<float>(request.output_tensor(0), {2, 3}, {0, 2, 0, 4, 0, 6});
  CHECK(std::vector<float>(memory, memory + 6) == std::vector<float>{-1, 2, -3, 4, -5, 6});
}

TEST_CASE("Ports go by tensor names, results by their own or the name of what computes them") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  Node& named = model.add(op::v0::ReLU(), {x}, "named");
  named.set_output_names(0, {"a", "b"});
  Node& plain = model.add(op::v0::Negative(), {x}, "plain");
  model.add_result(named, "first");
  model.add_result(plain, "second");
  Node& own = model.add_result(plain, "third");
  own.set_output_names(0, {"own"});
  const CompiledModel compiled = compile_model(model);
  CHECK(compiled.inputs().at(0).names == std::vector<std::string>{"x"});
  CHECK(compiled.outputs().at(0).names == std::vector<std::string>{"a", "b"});
  CHECK(compiled.outputs().at(1).names == std::vector<std::string>{"plain"});
  CHECK(compiled.outputs().at(2).names == std::vector<std::string>{"own"});
  CHECK(compiled.outputs().at(2).shape == PartialShape{1});
}

TEST_CASE("Outputs may be a parameter, a constant, views of either and one value twice") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2, 3}, "x");
  Node& constant = model.add_constant(f32({2}, {7, 8}), "constant");
  const auto reshaped = [&](const Output& value, std::vector<std::int64_t> shape) -> Node& {
    return model.add(op::v1::Reshape(), {value, model.add_constant(std::move(shape))});
  };
  Node& relu = model.add(op::v0::ReLU(), {x}, "relu");
  Node& chain = reshaped(reshaped(reshaped(relu, {6}), {1, 6}), {3, 2});
  for (const Output& output :
       std::vector<Output>{x, constant, reshaped(x, {6}), reshaped(reshaped(x, {6}), {3, 2}), relu, relu,
                           chain, chain, reshaped(constant, {2, 1})}) {
    model.add_result(output);
  }
  const std::vector<float> in{-1, 2, -3, 4, -5, 6};
  const std::vector<float> positive{0, 2, 0, 4, 0, 6};
  for (const bool share : {true, false}) {
    for (const bool rewrite : {true, false}) {
      CompileOptions options;
      options.share_memory = share;
      options.optimize = rewrite;
      const std::vector<Tensor> outputs = results_of(model, {f32({2, 3}, in)}, options);
      check_equal<float>(outputs.at(0), {2, 3}, in);
      check_equal<float>(outputs.at(1), {2}, {7, 8});
      check_equal<float>(outputs.at(2), {6}, in);
      check_equal<float>(outputs.at(3), {3, 2}, in);
      check_equal<float>(outputs.at(4), {2, 3}, positive);
      check_equal<float>(outputs.at(5), {2, 3}, positive);
      check_equal<float>(outputs.at(6), {3, 2}, positive);
      check_equal<float>(outputs.at(7), {3, 2}, positive);
      check_equal<float>(outputs.at(8), {2, 1}, {7, 8});
    }
  }
}

TEST_CASE("Outputs may be parts of one value") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {4, 2}, "x");
  Node& doubled = model.add(op::v1::Add(), {x, x}, "doubled");
  op::v1::Split in_two;
  in_two.num_splits = 2;
  Node& halves = model.add(in_two, {doubled, model.add_constant(0)}, "halves");
  model.add_result(Output(&halves, 0));
  model.add_result(Output(&halves, 1));
  model.add_result(model.add(op::v0::Negative(), {Output(&halves, 1)}));
  model.add_result(doubled);
  const std::vector<Tensor> outputs = results_of(model, {f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  check_equal<float>(outputs.at(0), {2, 2}, {2, 4, 6, 8});
  check_equal<float>(outputs.at(1), {2, 2}, {10, 12, 14, 16});
  check_equal<float>(outputs.at(2), {2, 2}, {-10, -12, -14, -16});
  check_equal<float>(outputs.at(3), {4, 2}, {2, 4, 6, 8, 10, 12, 14, 16});
}

TEST_CASE("Memory is written over only when nobody reads it later") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {64}, "x");
  Node& a = model.add(op::v0::Negative(), {x}, "a");
  Node& b = model.add(op::v0::ReLU(), {a}, "b");    // a is read again below
  Node& c = model.add(op::v1::Add(), {b, b}, "c");  // the same value twice
  Node& view = model.add(op::v1::Reshape(), {c, model.add_constant(std::vector<std::int64_t>{8, 8})}, "view");
  Node& d = model.add(op::v0::Tanh(), {c}, "d");  // the view of c lives on
  Node& e = model.add(op::v1::Multiply(), {d, a}, "e");
  Node& sums = model.add(op::v1::ReduceSum(), {view, model.add_constant(0)}, "sums");
  op::v1::Split in_two;
  in_two.num_splits = 2;
  Node& parts = model.add(in_two, {e, model.add_constant(0)}, "parts");
  Node& f = model.add(op::v0::Negative(), {Output(&parts, 0)}, "f");  // the other part lives on
  Node& g = model.add(op::v1::Subtract(), {f, Output(&parts, 1)}, "g");
  model.add_result(g);
  model.add_result(sums);
  model.add_result(view);
  const std::vector<Tensor> inputs{noise({64}, 3)};
  const std::vector<Tensor> expected = run_model(model, inputs);
  for (const bool share : {true, false}) {
    CompileOptions options;
    options.optimize = false;
    options.share_memory = share;
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    for (int run = 0; run < 2; ++run) CHECK(same_bits(infer(request, compiled, inputs), expected));
  }
}

TEST_CASE("Shared memory takes less, and changes no result; nor do rewrites but in the last bits") {
  const Model model = small_network();
  const std::vector<Tensor> inputs{noise({1, 3, 20, 20}, 7)};
  CompileOptions apart;
  apart.share_memory = false;
  CHECK(compile_model(model).activation_bytes() < compile_model(model, apart).activation_bytes());
  const std::vector<Tensor> shared = results_of(model, inputs);
  CHECK(same_bits(shared, results_of(model, inputs, apart)));
  CompileOptions as_written;
  as_written.optimize = false;
  const std::vector<Tensor> plain = results_of(model, inputs, as_written);
  CHECK(same_bits(plain, run_model(model, inputs)));
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const auto values = plain[i].data<float>();
    check_close(shared[i], plain[i].shape(), {values.begin(), values.end()}, 1e-4);
  }
}

TEST_CASE("The number of threads changes no bit") {
  for (const bool rewrite : {true, false}) {
    std::vector<Tensor> one;
    for (const int threads : {1, 2, 3}) {
      CompileOptions options;
      options.threads = threads;
      options.optimize = rewrite;
      const CompiledModel compiled = compile_model(small_network(4), options);
      CHECK(compiled.threads() == threads);
      InferRequest request = compiled.create_infer_request();
      const std::vector<Tensor> results = infer(request, compiled, {noise({4, 3, 20, 20}, 5)});
      if (threads == 1) one = results;
      CHECK(same_bits(results, one));
    }
  }
  CompileOptions options;
  options.use_callers_arena = true;
  CHECK(same_bits(results_of(small_network(4), {noise({4, 3, 20, 20}, 5)}, options),
                  results_of(small_network(4), {noise({4, 3, 20, 20}, 5)})));
}

TEST_CASE("More threads than cores run, and a number that no machine has is refused") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  model.add_result(model.add(op::v1::Add{}, {x, x}));
  for (const int threads : {64, 1024}) {
    CompileOptions options;
    options.threads = threads;
    const CompiledModel compiled = compile_model(model, options);
    CHECK(compiled.threads() == threads);
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(0, Tensor::of<float>({2}, {1, 2}));
    request.infer();
    CHECK(request.output_tensor(0).data<float>()[1] == 4);
  }
  CompileOptions options;
  options.threads = 1025;
  REQUIRE_THROWS_WITH(compile_model(model, options),
                      "error: 1025 threads are asked for, at most 1024 are possible [IR-limit]");
}

TEST_CASE("Requests of one model run at once without disturbing each other") {
  for (const Dimension& batch : {Dimension(2), Dimension()}) {
    const Model model = small_network(batch);
    CompileOptions options;
    options.threads = 2;
    const CompiledModel compiled = compile_model(model, options);
    std::vector<std::vector<Tensor>> inputs;
    std::vector<std::vector<Tensor>> expected;
    for (unsigned seed = 0; seed < 4; ++seed) {
      const std::int64_t size = batch.is_static() ? 2 : 1 + static_cast<std::int64_t>(seed);
      inputs.push_back({noise({size, 3, 20, 20}, seed)});
      expected.push_back(results_of(model, inputs.back()));
    }
    std::vector<int> wrong(inputs.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      threads.emplace_back([&, i] {
        // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copies serve threads, too
        const CompiledModel copy = compiled;
        InferRequest request = copy.create_infer_request();
        for (int run = 0; run < 5; ++run)
          wrong[i] += same_bits(infer(request, copy, inputs[i]), expected[i]) ? 0 : 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(inputs.size(), 0));
  }
}

TEST_CASE("A request and its outputs outlive the compiled model") {
  std::optional<CompiledModel> compiled = compile_model(relu_model());
  std::optional<InferRequest> request = compiled->create_infer_request();
  compiled.reset();
  request->set_input_tensor(0, f32({2, 3}, {-1, 2, -3, 4, -5, 6}));
  request->infer();
  const Tensor output = request->output_tensor(0);
  InferRequest moved = std::move(*request);
  request.reset();
  moved.infer();
  check_equal<float>(moved.output_tensor(0), {2, 3}, {0, 2, 0, 4, 0, 6});
  check_equal<float>(output, {2, 3}, {0, 2, 0, 4, 0, 6});
}

TEST_CASE("An output may be the next input") {
  Model model;
  Node& state = model.add_parameter(ElementType::f32, {3}, "state");
  Node& sum = model.add(op::v0::CumSum(), {state, model.add_constant(0)}, "sum");
  model.add_result(sum);
  // The first output is written before the input is read for the second.
  model.add_result(model.add(op::v1::Add(), {sum, state}, "both"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(0, f32({3}, {1, 1, 1}));
  request.infer();
  check_equal<float>(request.output_tensor(0), {3}, {1, 2, 3});
  request.set_input_tensor(0, request.output_tensor(0));
  request.infer();
  check_equal<float>(request.output_tensor(0), {3}, {1, 3, 6});
  check_equal<float>(request.output_tensor(1), {3}, {2, 5, 9});
}

TEST_CASE("Profiles name the steps") {
  CompileOptions options;
  options.optimize = false;
  const CompiledModel compiled = compile_model(small_network(), options);
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, {noise({1, 3, 20, 20}, 1)});
  std::vector<std::string> layers;
  for (const StepProfile& step : request.profile()) {
    layers.push_back(step.layer);
    CHECK_FALSE(step.kernel.empty());
    CHECK(step.milliseconds > 0);
    if (step.layer != "first") continue;
    CHECK(step.type == "Convolution");
    CHECK(step.outputs == std::vector<PartialShape>{{1, 16, 20, 20}});
    CHECK(step.flops >= 2.0 * 16 * 20 * 20 * 3 * 3 * 3);
  }
  CHECK(layers == std::vector<std::string>{"first", "biased", "active", "second", "residual", "tanh", "mean",
                                           "largest", "product", "softmax"});
}

TEST_CASE("Activations above the limit are refused by name and number") {
  CompileOptions options;
  options.optimize = false;
  options.max_activation_bytes = 20'000;
  CHECK(error_of([&] { (void)compile_model(small_network(), options); }) ==
        "first: IR-limit: the output is f32 of shape [1,16,20,20], which takes 25600 bytes; the limit "
        "max_activation_bytes is 20000");
  options.max_activation_bytes = 30'000;
  CHECK(error_of([&] {
          (void)compile_model(small_network(), options);
        }).starts_with("IR-limit: the activations take "));
  const CompiledModel dynamic = compile_model(small_network(Dimension()), options);
  InferRequest request = dynamic.create_infer_request();
  request.set_input_tensor(0, noise({2, 3, 20, 20}, 1));
  CHECK(error_of([&] { request.infer(); }) ==
        "first: IR-limit: the output is f32 of shape [2,16,20,20], which takes 51200 bytes; the limit "
        "max_activation_bytes is 30000");
  CHECK(error_of([&] { (void)request.output_tensor(0); }).starts_with("IR-output-missing"));
}

TEST_CASE("A value that is not there is refused when a layer is added") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  CHECK(error_of([&] { model.add(op::v0::ReLU(), {Output()}); }) ==
        "IR-port-unknown: input 0 of ReLU names no value");
  CHECK(error_of([&] {
          model.add(op::v1::Add(), {x, Output(&x, 1)});
        }) == "IR-port-unknown: input 1 of Add is output 1 of 'x', which has 1");
  CHECK(model.nodes().size() == 1);
}

TEST_CASE("A layer that reads a node of another model is refused by name") {
  Model other;
  Node& x = other.add_parameter(ElementType::f32, {1}, "x");
  Model model;
  Node& own = model.add_parameter(ElementType::f32, {1}, "own");
  model.add_result(model.add(op::v1::Add(), {own, x}, "sum"), "out");
  const std::string expected =
      "sum: IR-port-unknown: input 1 comes from no layer that precedes it in its model";
  CHECK(error_of([&] { (void)compile_model(model); }) == expected);
  CHECK(error_of([&] { (void)std::make_unique<Model>(model); }) == expected);
}

TEST_CASE("A body that reads a node of the model around it is refused by name") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  Node& yes = model.add_parameter(ElementType::boolean, {}, "yes");
  Model branch;
  branch.add_result(branch.add(op::v0::ReLU(), {x}, "inner"), "inner_out");
  const auto inner = std::make_shared<const Model>(std::move(branch));
  op::v8::If choice;
  for (Subgraph& body : choice.bodies) {
    body.body = inner;
    body.outputs = {{0, 0, std::nullopt}};
  }
  model.add_result(model.add(choice, {yes}, "choice"), "out");
  for (const bool optimize : {true, false}) {
    CompileOptions options;
    options.optimize = optimize;
    CHECK(error_of([&] { (void)compile_model(model, options); }) ==
          "inner: IR-port-unknown: input 0 comes from no layer that precedes it in its model");
  }
}

}  // namespace ir::test
