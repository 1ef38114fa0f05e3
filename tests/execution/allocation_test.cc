// A run of a static model allocates nothing.
#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/pooling.h"
#include "tests/execution/allocation_counter.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

std::size_t allocations_of_a_run(const Model& model, const CompileOptions& options = {}) {
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
    Tensor input = request.input_tensor(i);
    std::memset(input.raw(), 0, input.byte_size());
  }
  // The first runs may grow what kernels keep from run to run.
  for (int warm_up = 0; warm_up < 3; ++warm_up) request.infer();
  const std::size_t before = allocation_count();
  for (int run = 0; run < 3; ++run) request.infer();
  return allocation_count() - before;
}

std::size_t allocations_of_plan(const Model& model) {
  const std::size_t before = allocation_count();
  const CompiledModel compiled = compile_model(model, {});
  return allocation_count() - before;
}

}  // namespace

TEST_CASE("The counter counts") {
  const std::size_t before = allocation_count();
  const Tensor tensor(ElementType::f32, {1});
  CHECK(allocation_count() > before);
}

TEST_CASE("A run of a static model allocates nothing") {
  for (const int threads : {1, 2}) {
    for (const bool rewrite : {true, false}) {
      CompileOptions options;
      options.threads = threads;
      options.optimize = rewrite;
      INFO(threads << " threads, optimize " << rewrite);
      CHECK(allocations_of_a_run(small_network(2), options) == 0);
      CHECK(allocations_of_a_run(small_network(2, ElementType::f16), options) == 0);
    }
  }
}

TEST_CASE("A model that is given away is compiled without a copy") {
  constexpr std::size_t kLayers = 500;
  Model model;
  Node* value = &model.add_parameter(ElementType::f32, {2, 3}, "x");
  for (std::size_t i = 0; i < kLayers; ++i) value = &model.add(op::v0::Abs(), {*value});
  model.add_result(*value);
  CompileOptions options;
  options.threads = 1;
  options.optimize = false;
  (void)compile_model(model, options);  // what is made once
  const std::size_t start = allocation_count();
  (void)compile_model(model, options);
  const std::size_t copied = allocation_count() - start;
  const CompiledModel compiled = compile_model(std::move(model), options);
  CHECK(allocation_count() - start - copied + kLayers <= copied);

  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(0, f32({2, 3}, {-1, 2, -3, 4, -5, 6}));
  request.infer();
  CHECK(same_bits({request.output_tensor(0)}, {f32({2, 3}, {1, 2, 3, 4, 5, 6})}));
}

TEST_CASE("Plans of convolutions do not grow with depth slices, which limits of memory would not know of") {
  const auto allocations_for = [](std::int64_t depth, bool grouped) {
    Model model;
    Node& x = model.add_parameter(ElementType::f32, {1, 2, depth, 3, 3}, "x");
    op::v1::GroupConvolution each;
    each.strides = each.dilations = each.pads_begin = each.pads_end = {1, 1, 1};
    op::v1::Convolution all;
    all.strides = all.dilations = all.pads_begin = all.pads_end = {1, 1, 1};
    model.add_result(grouped ? model.add(each, {x, model.add_constant(noise({2, 1, 1, 3, 3, 3}, 1))})
                             : model.add(all, {x, model.add_constant(noise({4, 2, 3, 3, 3}, 1))}));
    return allocations_of_plan(model);
  };
  for (const bool grouped : {false, true}) {
    (void)allocations_for(1000, grouped);  // what is made once
    CHECK(allocations_for(100'000, grouped) <= allocations_for(1000, grouped) + 100);
  }
}

TEST_CASE("A run with views and outputs that are copied allocates nothing") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {4, 6}, "x");
  Node& view = model.add(op::v1::Reshape(), {x, model.add_constant(std::vector<std::int64_t>{2, 12})});
  Node& turned = model.add(op::v1::Transpose(), {view, model.add_constant(std::vector<std::int64_t>{1, 0})});
  Node& negative = model.add(op::v0::Negative(), {turned});
  for (const Output& output : std::vector<Output>{x, view, negative, negative}) model.add_result(output);
  CHECK(allocations_of_a_run(model) == 0);
}

}  // namespace ir::test
