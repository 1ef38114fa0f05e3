#include <memory>

#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

// A convolution with weights of which the memory is watched.
struct Watched {
  Model model;
  std::weak_ptr<const void> weights;
};

Watched convolution_model(const Dimension& batch, bool gives_weights) {
  Watched watched;
  Node& image = watched.model.add_parameter(ElementType::f32, {batch, 8, 12, 12}, "image");
  const auto memory = std::make_shared<Tensor>(noise({16, 8, 3, 3}, 1));
  watched.weights = memory;
  Node& weights = watched.model.add_constant(Tensor(ElementType::f32, {16, 8, 3, 3}, memory->raw(), memory));
  watched.model.add_result(watched.model.add(same_size_convolution(), {image, weights}, "convolution"));
  if (gives_weights) watched.model.add_result(weights);
  return watched;
}

std::vector<Tensor> outputs_of(const CompiledModel& compiled, std::int64_t batch) {
  InferRequest request = compiled.create_infer_request();
  return infer(request, compiled, {noise({batch, 8, 12, 12}, 2)});
}

CompiledModel compiled_without_model(Watched& watched) {
  const CompiledModel compiled = compile_model(watched.model);
  watched.model = Model();
  return compiled;
}

}  // namespace

TEST_CASE("Weights leave a compiled model when a kernel keeps them in a form of its own") {
  Watched fixed = convolution_model(1, false);
  const CompiledModel compiled = compiled_without_model(fixed);
  CHECK(fixed.weights.expired());

  SECTION("unless plans for other shapes need them") {
    Watched dynamic = convolution_model({1, 4}, false);
    const CompiledModel for_all = compiled_without_model(dynamic);
    const std::vector<Tensor> outputs = outputs_of(for_all, 1);
    CHECK(outputs_of(for_all, 2)[0].shape() == Shape{2, 16, 12, 12});
    CHECK_FALSE(dynamic.weights.expired());
    CHECK(same_bits(outputs, outputs_of(compiled, 1)));
  }
  SECTION("unless somebody else reads them") {
    Watched read = convolution_model(1, true);
    const CompiledModel with_weights = compiled_without_model(read);
    CHECK_FALSE(read.weights.expired());
    const std::vector<Tensor> outputs = outputs_of(with_weights, 1);
    CHECK(same_bits(outputs[0], outputs_of(compiled, 1)[0]));
    CHECK(same_bits(outputs[1], noise({16, 8, 3, 3}, 1)));
  }
}

}  // namespace ir::test
