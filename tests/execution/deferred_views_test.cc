// Steps of unknown shape that only look at their input: nobody notices, whatever is done to the memory.
#include <algorithm>
#include <vector>

#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "tests/execution/stateful_models.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

/// Rows of a cache in the order of `beams`, then a new one. Outputs: the rows, the new cache, and the same
/// with another dim; the cache becomes the second or the third, seen as it was.
Model cache_model(bool assigns_view) {
  Model model;
  Node& beams = model.add_parameter(ElementType::i32, {Dimension()}, "beams");
  Node& row = model.add_parameter(ElementType::f32, {1, 2}, "row");
  Node& past = model.add(read_value("cache", ElementType::f32, {Dimension(), 2}),
                         {model.add_constant(f32({2, 2}, {1, 2, 3, 4}))}, "past");
  Node& rows = model.add(op::v8::Gather(), {past, beams, model.add_constant(0)}, "rows");
  Node& cache = model.add(op::v0::Concat(), {rows, row}, "cache");
  Node& deep = model.add(op::v0::Unsqueeze(), {cache, model.add_constant(1)}, "deep");
  Node& flat = model.add(op::v0::Squeeze(), {deep, model.add_constant(1)}, "flat");
  model.add(assign("cache"), {assigns_view ? flat : cache}, "assign");
  for (Node* result : {&rows, &cache, &deep}) model.add_result(*result);
  return model;
}

void check_rows(const Tensor& tensor, const std::vector<float>& rows) {
  const auto data = tensor.data<float>();
  CHECK(std::vector<float>(data.begin(), data.end()) == rows);
}

}  // namespace

TEST_CASE("What others look at is not the user's to write to", "[state]") {
  const Model model = cache_model(GENERATE(false, true));
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    const auto run = [&](std::vector<std::int32_t> beams, std::vector<float> row) {
      const auto count = static_cast<std::int64_t>(beams.size());
      request.set_input_tensor(0, i32({count}, std::move(beams)));
      request.set_input_tensor(1, f32({1, 2}, std::move(row)));
      request.infer();
    };
    const auto overwrite_outputs = [&] {
      for (std::size_t i = 0; i < 3; ++i) std::ranges::fill(request.output_tensor(i).data<float>(), -7.0F);
    };
    run({0, 1}, {5, 6});
    check_rows(request.output_tensor(0), {1, 2, 3, 4});
    check_rows(request.output_tensor(1), {1, 2, 3, 4, 5, 6});
    check_rows(request.output_tensor(2), {1, 2, 3, 4, 5, 6});
    CHECK(request.output_tensor(2).shape() == Shape{3, 1, 2});
    overwrite_outputs();
    run({0, 1, 2}, {7, 8});
    check_rows(request.output_tensor(0), {1, 2, 3, 4, 5, 6});
    check_rows(request.output_tensor(1), {1, 2, 3, 4, 5, 6, 7, 8});
    overwrite_outputs();
    // Others than all in turn.
    run({3, 1, 1, 0}, {9, 9});
    check_rows(request.output_tensor(0), {7, 8, 3, 4, 3, 4, 1, 2});
    check_rows(request.output_tensor(2), {7, 8, 3, 4, 3, 4, 1, 2, 9, 9});
    overwrite_outputs();
    run({0, 1}, {0, 0});
    check_rows(request.output_tensor(0), {7, 8, 3, 4});
    check_rows(state_of(request, "cache").get_state(), {7, 8, 3, 4, 0, 0});
  }
}

TEST_CASE("A view of an input is an output of its own", "[state]") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 2}, "x");
  Node& dims = model.add_parameter(ElementType::i64, {1}, "dims");
  model.add_result(model.add(op::v1::Reshape(), {x, dims}, "flat"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  Tensor values = f32({2, 2}, {1, 2, 3, 4});
  request.set_input_tensor(0, values);
  request.set_input_tensor(1, i64({1}, {4}));
  request.infer();
  std::ranges::fill(request.output_tensor(0).data<float>(), -7.0F);
  check_rows(values, {1, 2, 3, 4});
  request.infer();
  check_rows(request.output_tensor(0), {1, 2, 3, 4});
}

}  // namespace ir::test
