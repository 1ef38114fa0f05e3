// One request, inference after inference: shapes and numbers of findings that grow and shrink.
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/indexing.h"
#include "ir_runtime/ops/sort.h"
#include "ir_runtime/ops/unique.h"
#include "runtime/execution/executable.h"
#include "runtime/execution/run_state.h"
#include "tests/execution/sample_models.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

// What every request gives that runs these inputs alone and first.
void check_like_new(const Model& model, const std::vector<std::vector<Tensor>>& runs) {
  for (const bool rewrite : {true, false}) {
    for (const bool share : {true, false}) {
      CompileOptions options;
      options.optimize = rewrite;
      options.share_memory = share;
      const CompiledModel compiled = compile_model(model, options);
      InferRequest request = compiled.create_infer_request();
      for (std::size_t i = 0; i < runs.size(); ++i) {
        INFO("run " << i << ", optimize " << rewrite << ", share " << share);
        CHECK(same_bits(infer(request, compiled, runs[i]), results_of(model, runs[i], options)));
      }
    }
  }
}

std::vector<Tensor> vector_of(const std::vector<float>& values) {
  return {f32({static_cast<std::int64_t>(values.size())}, values)};
}

}  // namespace

TEST_CASE("Images of any size and batch follow one another") {
  Model model;
  Node& image = model.add_parameter(ElementType::f32, {Dimension(), 3, Dimension(), Dimension()}, "image");
  Node& first =
      model.add(same_size_convolution(), {image, model.add_constant(noise({8, 3, 3, 3}, 1))}, "first");
  Node& active = model.add(op::v0::ReLU(), {first}, "active");
  Node& axes = model.add_constant(std::vector<std::int64_t>{2, 3});
  Node& mean = model.add(op::v1::ReduceMean(), {active, axes}, "mean");
  op::v1::Reshape reshape;
  reshape.special_zero = true;
  Node& flat = model.add(reshape, {active, model.add_constant(std::vector<std::int64_t>{0, -1})}, "flat");
  model.add_result(model.add(op::v0::MatMul(), {mean, model.add_constant(noise({8, 5}, 2))}, "product"));
  model.add_result(model.add(op::v0::Negative(), {flat}, "negative"));
  std::vector<std::vector<Tensor>> runs;
  unsigned seed = 0;
  for (const Shape& shape : std::vector<Shape>{{1, 3, 8, 8},
                                               {2, 3, 16, 9},
                                               {1, 3, 1, 1},
                                               {0, 3, 4, 4},
                                               {1, 3, 8, 8},
                                               {3, 3, 5, 7},
                                               {2, 3, 16, 9},
                                               {1, 3, 2, 30}}) {
    runs.push_back({noise(shape, ++seed)});
  }
  check_like_new(model, runs);
}

TEST_CASE("Findings of NonZero grow and shrink") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  Node& positions = model.add(op::v3::NonZero(), {x}, "positions");
  Node& flat = model.add(op::v0::Squeeze(), {positions, model.add_constant(0)}, "flat");
  Node& found = model.add(op::v8::Gather(), {x, flat, model.add_constant(0)}, "found");
  Node& doubled = model.add(op::v1::Add(), {found, found}, "doubled");
  Node& both = model.add(op::v0::Concat(), {doubled, x}, "both");
  model.add_result(both);
  model.add_result(found);
  model.add_result(model.add(op::v3::ShapeOf(), {both}, "size"));
  check_like_new(model, {vector_of({0, 1, 0, 2}), vector_of({1, 2, 3, 4}), vector_of({0, 0, 0, 0}),
                         vector_of({5, 0, 0, 0}), vector_of({1, 2, 3, 4, 5, 6, 0}), vector_of({0}),
                         vector_of({}), vector_of({7, 8}), vector_of({0, 1, 0, 2})});
}

TEST_CASE("Different values that Unique finds grow and shrink") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  Node& unique = model.add(op::v10::Unique(), {x}, "unique");
  Node& again = model.add(op::v8::Gather(), {Output(&unique, 0), Output(&unique, 2), model.add_constant(0)});
  model.add_result(model.add(op::v0::Negative(), {Output(&unique, 0)}, "values"));
  // The values put back to where they were.
  model.add_result(model.add(op::v1::Subtract(), {again, x}, "difference"));
  model.add_result(Output(&unique, 3));
  check_like_new(model, {vector_of({1, 2, 1}), vector_of({3, 3, 3}), vector_of({4, 1, 2}),
                         vector_of({1, 1, 2, 2, 3, 3, 4, 4, 5}), vector_of({6}), vector_of({1, 2, 1})});
}

TEST_CASE("Boxes that are kept grow and shrink") {
  Model model;
  Node& boxes = model.add_parameter(ElementType::f32, {1, Dimension(), 4}, "boxes");
  Node& scores = model.add_parameter(ElementType::f32, {1, 1, Dimension()}, "scores");
  Node& kept = model.add(op::v9::NonMaxSuppression(),
                         {boxes, scores, model.add_constant(10), model.add_constant(f32({}, {0.5F})),
                          model.add_constant(f32({}, {0.2F}))},
                         "kept");
  Node& columns = model.add(op::v8::Gather(),
                            {Output(&kept, 0), model.add_constant(2), model.add_constant(1)}, "columns");
  Node& rows = model.add(op::v0::Squeeze(), {boxes, model.add_constant(0)}, "rows");
  model.add_result(model.add(op::v8::Gather(), {rows, columns, model.add_constant(0)}, "selected"));
  model.add_result(Output(&kept, 2));
  const auto inputs = [](const std::vector<float>& confidences) {
    const auto count = static_cast<std::int64_t>(confidences.size());
    std::vector<float> corners;
    for (std::int64_t i = 0; i < count; ++i) {
      // Neighbours in pairs overlap.
      const std::int64_t pair = i / 2;
      const auto at = static_cast<float>(3 * pair) + 0.1F * static_cast<float>(i % 2);
      corners.insert(corners.end(), {at, at, at + 2, at + 2});
    }
    return std::vector<Tensor>{f32({1, count, 4}, corners), f32({1, 1, count}, confidences)};
  };
  check_like_new(model,
                 {inputs({0.9F, 0.8F, 0.7F}), inputs({0.9F, 0.1F, 0.1F}), inputs({0.1F, 0.1F, 0.1F}),
                  inputs({0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F}), inputs({0.5F}), inputs({0.9F, 0.8F, 0.7F})});
}

TEST_CASE("A run takes over the memory of one that was as large") {
  auto model = std::make_shared<Model>(small_network(Dimension()));
  Executable executable(model, {});
  const auto plan_of = [&](std::int64_t batch) {
    return executable.plan_for(std::vector<Shape>{{batch, 3, 20, 20}});
  };
  RunState large(plan_of(4), {}, nullptr);
  Tensor arena = large.take_arena();
  const void* const address = arena.raw();
  RunState small(plan_of(1), {}, nullptr, std::move(arena));
  arena = small.take_arena();
  CHECK(arena.raw() == address);
  RunState larger(plan_of(8), {}, nullptr, std::move(arena));
  CHECK(larger.take_arena().byte_size() == plan_of(8)->arena_bytes);
}

}  // namespace ir::test
