// Inferences that run on a thread of their own.
#include <chrono>
#include <vector>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/ops/control_flow.h"
#include "tests/execution/bodies.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

using std::chrono::milliseconds;

constexpr const char* kBusy = "IR-request-busy: the request is running";

// Goes round until the limit of iterations ends it.
Model endless_model() {
  Body body = new_body();
  Node& x = body->add_parameter(ElementType::f32, {1}, "inner");
  body->add_result(add_condition(*body, true));
  body->add_result(body->add(op::v0::Negative(), {x}));
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, {}}}};
  Model model;
  Node& trips = model.add_constant(std::int64_t{-1});
  Node& go = model.add_constant(truth(true));
  Node& x0 = model.add_parameter(ElementType::f32, {1}, "x");
  model.add_result(model.add(loop, {trips, go, x0}, "loop"));
  return model;
}

InferRequest endless_request() {
  CompileOptions options;
  options.max_loop_iterations = 300'000;
  InferRequest request = compile_model(endless_model(), options).create_infer_request();
  request.set_input_tensor(0, f32({1}, {1}));
  return request;
}

}  // namespace

TEST_CASE("What was started gives what infer gives") {
  CompileOptions options;
  options.threads = GENERATE(1, 2);
  const CompiledModel compiled = compile_model(small_network(), options);
  const Tensor data = noise({1, 3, 20, 20}, 3);
  InferRequest alone = compiled.create_infer_request();
  alone.set_input_tensor(0, data);
  alone.infer();
  std::vector<InferRequest> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(compiled.create_infer_request());
    requests.back().set_input_tensor(0, data);
    requests.back().start_async();
  }
  for (InferRequest& request : requests) {
    request.wait();
    CHECK(request.wait_for(milliseconds(0)));  // there is nothing left to wait for
    for (std::size_t i = 0; i < compiled.outputs().size(); ++i)
      CHECK(same_bits({request.output_tensor(i)}, {alone.output_tensor(i)}));
  }
}

TEST_CASE("A request that runs is left alone") {
  const std::vector<std::string> expected(11, kBusy);
  std::vector<std::string> errors;
  // A machine may be so busy that the model ends before the last of these lines.
  for (int attempt = 0; attempt < 100 && errors != expected; ++attempt) {
    InferRequest request = endless_request();
    request.start_async();
    errors = {error_of([&] { request.infer(); }),
              error_of([&] { request.start_async(); }),
              error_of([&] { request.set_input_tensor(0, f32({1}, {2})); }),
              error_of([&] { request.set_tensor("x", f32({1}, {2})); }),
              error_of([&] { (void)request.input_tensor(0); }),
              error_of([&] { (void)request.output_tensor(0); }),
              error_of([&] { (void)request.tensor("x"); }),
              error_of([&] { request.set_profiling(true); }),
              error_of([&] { (void)request.profile(); }),
              error_of([&] { (void)request.query_state(); }),
              error_of([&] { request.reset_state(); })};
  }
  CHECK(errors == expected);
}

TEST_CASE("Who waits gets what went wrong, once") {
  SECTION("at the beginning") {
    InferRequest request = compile_model(small_network()).create_infer_request();
    request.start_async();
    CHECK(error_of([&] { request.wait(); }) == "IR-input-missing: input 'data' was not given a tensor");
    CHECK(error_of([&] { request.wait(); }) == "no error");
    CHECK(error_of([&] { (void)request.output_tensor(0); }).starts_with("IR-output-missing"));
  }
  SECTION("in the middle") {
    InferRequest request = endless_request();
    request.start_async();
    CHECK(error_of([&] { (void)request.wait_for(milliseconds::max()); }).starts_with("loop: IR-limit"));
    CHECK(request.wait_for(milliseconds(0)));
  }
  SECTION("of the last inference only") {
    InferRequest request = compile_model(small_network()).create_infer_request();
    request.start_async();
    while (error_of([&] { (void)request.input_tensor(0); }) == kBusy) {
    }
    request.infer();
    CHECK(error_of([&] { request.wait(); }) == "no error");
  }
}

TEST_CASE("A request that runs can be moved and destroyed") {
  InferRequest moved = [] {
    InferRequest request = endless_request();
    request.start_async();
    return request;
  }();
  moved = endless_request();
  CHECK(moved.wait_for(milliseconds(0)));
  moved.start_async();
}

}  // namespace ir::test
