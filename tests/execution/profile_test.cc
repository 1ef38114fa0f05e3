// What profiles say of the steps.
#include <map>

#include "ir_runtime/ops/infrastructure.h"
#include "kernels/base/targets.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

std::map<std::string, StepProfile> profile_of(const Model& model, const std::vector<Tensor>& inputs,
                                              const CompileOptions& options = {}) {
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, inputs);
  std::map<std::string, StepProfile> steps;
  for (const StepProfile& step : request.profile()) steps[step.layer] = step;
  return steps;
}

TEST_CASE("A step's bytes are its inputs, its constants and its outputs") {
  CompileOptions options;
  options.optimize = false;
  auto steps = profile_of(small_network(), {noise({1, 3, 20, 20}, 1)}, options);
  CHECK(steps["first"].bytes == 4.0 * (3 * 400 + 16 * 3 * 9 + 16 * 400));
  CHECK(steps["active"].bytes == 4.0 * (2 * 16 * 400));
}

TEST_CASE("A compiled model counts its operations without a request") {
  const CompiledModel compiled = compile_model(small_network());
  double flops = 0;
  for (const StepProfile& step : compiled.create_infer_request().profile()) flops += step.flops;
  CHECK(flops > 0);
  CHECK(compiled.flops() == flops);
  Model dynamic;
  dynamic.add_result(dynamic.add(op::v0::Tanh(), {dynamic.add_parameter(ElementType::f32, {Dimension()})}));
  CHECK(compile_model(dynamic).flops() == 0);
}

TEST_CASE("An operand that is read twice counts once") {
  Model model;
  Node& data = model.add_parameter(ElementType::f32, {2, 50}, "data");
  model.add_result(model.add(op::v1::Multiply(), {data, data}, "square"));
  CHECK(profile_of(model, {noise({2, 50}, 1)})["square"].bytes == 4.0 * 200);
}

TEST_CASE("Profiles name the SIMD target of kernels that have several") {
  CompileOptions options;
  options.optimize = false;
  auto steps = profile_of(small_network(), {noise({1, 3, 20, 20}, 1)}, options);
  CHECK(steps["first"].simd_target == kernels::active_target());
  CHECK(steps["softmax"].simd_target == kernels::active_target());

  Model integers;
  Node& data = integers.add_parameter(ElementType::i32, {100}, "data");
  integers.add_result(integers.add(op::v1::Add(), {data, data}, "sum"));
  CHECK(profile_of(integers, {Tensor(ElementType::i32, {100})})["sum"].simd_target.empty());
}

TEST_CASE("Profiles tell how many threads a step's loops were for") {
  Model model;
  Node& large = model.add_parameter(ElementType::f32, {1 << 20}, "large");
  Node& small = model.add_parameter(ElementType::f32, {10}, "small");
  model.add_result(model.add(op::v0::Tanh(), {large}, "wide"));
  model.add_result(model.add(op::v0::Tanh(), {small}, "narrow"));
  for (const int threads : {1, 2}) {
    CompileOptions options;
    options.threads = threads;
    auto steps = profile_of(model, {noise({1 << 20}, 1), noise({10}, 2)}, options);
    CHECK(steps["wide"].threads == threads);
    CHECK(steps["narrow"].threads == 1);
  }
}

TEST_CASE("A step whose shapes come from data has the kernel and the bytes of the last run") {
  Model model;
  Node& data = model.add_parameter(ElementType::f32, {20}, "data");
  Node& shape = model.add_parameter(ElementType::i64, {2}, "shape");
  Node& view = model.add(op::v1::Reshape(), {data, shape}, "view");
  model.add_result(model.add(op::v0::Tanh(), {view}, "tanh"));
  auto steps = profile_of(model, {noise({20}, 1), Tensor::of<std::int64_t>({2}, {4, 5})});
  CHECK(steps["tanh"].kernel == "unary/Tanh");
  CHECK(steps["tanh"].bytes == 4.0 * 40);
  CHECK(steps["tanh"].flops == 20);
}

}  // namespace
}  // namespace ir::test
