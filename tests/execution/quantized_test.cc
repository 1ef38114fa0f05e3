// Quantised models: FakeQuantize before convolutions and products whose weights are integers that are scaled.
#include <utility>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/type_conversion.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/weights/integer_weights.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

// Scales that halves have, but products with integers do not.
Tensor scales(Shape shape) {
  Tensor tensor(ElementType::f32, std::move(shape));
  int number = 7;
  for (float& scale : tensor.data<float>()) scale = 0.001F * static_cast<float>(number++);
  return tensor;
}

/// A 1x1 convolution of 48 to 64 channels, and a product of 48 by 64 columns, both "quantised".
Model quantized_network(ElementType type) {
  Model model("quantized_network");
  const auto quantized = [&](Node& value) -> Node& {
    const auto number = [&](float limit) -> Node& {
      return model.add_constant(f32({}, {limit}).converted(type));
    };
    op::v0::FakeQuantize quantize;
    quantize.levels = 256;
    Node& low = number(-2);
    Node& high = number(1.984375F);
    return model.add(quantize, {value, low, high, low, high});
  };
  const auto weights = [&](const Shape& shape, const Shape& scale_shape) -> Node& {
    op::v0::Convert to_type;
    to_type.destination_type = type;
    Node& wide = model.add(to_type, {model.add_constant(bytes(shape))});
    return model.add(op::v1::Multiply(), {wide, model.add_constant(scales(scale_shape).converted(type))});
  };
  Node& image = model.add_parameter(type, {1, 48, 30, 30}, "image");
  Node& rows = model.add_parameter(type, {2, 100, 48}, "rows");
  op::v1::Convolution convolution;
  convolution.strides = convolution.dilations = {1, 1};
  convolution.pads_begin = convolution.pads_end = {0, 0};
  Node& filters = weights({64, 48, 1, 1}, {64, 1, 1, 1});
  model.add_result(model.add(convolution, {quantized(image), filters}, "convolution"));
  Node& columns = weights({48, 64}, {1, 64});
  model.add_result(model.add(op::v0::MatMul(), {quantized(rows), columns}, "product"));
  return model;
}

/// Two blocks of a residual network, all of it quantised.
Model residual_network() {
  Model model("residual_network");
  const auto quantized = [&](Node& value, float low, float high) -> Node& {
    op::v0::FakeQuantize quantize;
    quantize.levels = 256;
    Node& lowest = model.add_constant(f32({}, {low}));
    Node& highest = model.add_constant(f32({}, {high}));
    return model.add(quantize, {value, lowest, highest, lowest, highest});
  };
  const auto convolved = [&](Node& value, std::int64_t kernel) -> Node& {
    op::v1::Convolution convolution;
    convolution.strides = convolution.dilations = {1, 1};
    convolution.pads_begin = convolution.pads_end = {kernel / 2, kernel / 2};
    op::v0::Convert to_floats;
    Node& wide = model.add(to_floats, {model.add_constant(bytes({40, 40, kernel, kernel}))});
    Node& filters = model.add(op::v1::Multiply(), {wide, model.add_constant(scales({40, 1, 1, 1}))});
    return model.add(convolution, {value, filters});
  };
  Node* image = &quantized(model.add_parameter(ElementType::f32, {1, 40, 23, 19}, "image"), -1, 1.0103F);
  for (int block = 0; block < 2; ++block) {
    Node& inner = quantized(model.add(op::v0::ReLU(), {convolved(*image, 1)}), 0, 40.3F);
    Node& outer = quantized(convolved(inner, 3), -700, 713);
    image = &quantized(model.add(op::v0::ReLU(), {model.add(op::v1::Add(), {outer, *image})}), 0, 621.7F);
  }
  model.add_result(model.add(op::v0::Sigmoid(), {*image}, "result"));
  return model;
}

std::vector<Tensor> inputs(ElementType type) {
  return {noise({1, 48, 30, 30}, 3).converted(type), noise({2, 100, 48}, 4).converted(type)};
}

CompileOptions options_for(ExecutionMode mode) {
  CompileOptions options;
  options.threads = 1;
  options.execution_mode = mode;
  return options;
}

// How many steps multiply integers.
std::size_t integer_steps(const Model& model, ElementType type, ExecutionMode mode) {
  const CompiledModel compiled = compile_model(model, options_for(mode));
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, inputs(type));
  std::size_t steps = 0;
  for (const StepProfile& step : request.profile())
    steps += step.kernel.starts_with("convolution/integer") || step.kernel == "matmul/integer" ? 1 : 0;
  return steps;
}

}  // namespace

TEST_CASE("Quantised convolutions and products multiply integers, in half-precision models, too") {
  const std::size_t quantised_steps =
      kernels::gemm_integer_kernels(kernels::LaneForm::pairs) != nullptr ||
              kernels::gemm_integer_kernels(kernels::LaneForm::quads) != nullptr
          ? 2
          : 0;
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    const Model model = quantized_network(type);
    CHECK(integer_steps(model, type, ExecutionMode::performance) == quantised_steps);
    CHECK(integer_steps(model, type, ExecutionMode::accuracy) == 0);
    const auto results = results_of(model, inputs(type), options_for(ExecutionMode::performance));
    const auto expected = results_of(model, inputs(type), options_for(ExecutionMode::accuracy));
    for (std::size_t i = 0; i < results.size(); ++i)
      CHECK(relative_error(results[i], expected[i]) < (type == ElementType::f16 ? 1e-4 : 1e-6));
  }
}

TEST_CASE("Steps that multiply integers never make floats of weights") {
  if (!kernels::multiplies_bytes()) return;
  Model model("one_convolution");
  Tensor codes = bytes({64, 48, 1, 1});
  const Tensor weights = Tensor::of_codes(codes, scales({64}), 48);
  op::v0::FakeQuantize quantize;
  quantize.levels = 256;
  const auto number = [&](float limit) -> Node& { return model.add_constant(f32({}, {limit})); };
  Node& low = number(-2);
  Node& high = number(1.984375F);
  Node& image = model.add_parameter(ElementType::f32, {1, 48, 30, 30}, "image");
  Node& levels = model.add(quantize, {image, low, high, low, high});
  op::v1::Convolution convolution;
  convolution.strides = convolution.dilations = {1, 1};
  convolution.pads_begin = convolution.pads_end = {0, 0};
  model.add_result(model.add(convolution, {levels, model.add_constant(weights)}));
  const CompiledModel compiled = compile_model(model, options_for(ExecutionMode::performance));
  // They are made of the codes of the moment, if they were not before.
  codes.data<std::int8_t>()[0] = 99;
  CHECK(weights.data<float>()[0] == 99 * 0.007F);
}

TEST_CASE("A quantised residual network computes with bytes what it does with floats") {
  const Model model = residual_network();
  const std::vector<Tensor> image{noise({1, 40, 23, 19}, 8)};
  const auto expected = results_of(model, image, options_for(ExecutionMode::accuracy));
  for (const int threads : {1, 2}) {
    CompileOptions options = options_for(ExecutionMode::performance);
    options.threads = threads;
    const auto results = results_of(model, image, options);
    // Sums round in another order, which may decide where one is close to a tie.
    const auto got = results[0].data<float>();
    const auto want = expected[0].data<float>();
    std::size_t differing = 0;
    for (std::size_t i = 0; i < want.size(); ++i) differing += got[i] != Approx(want[i]).margin(1e-5) ? 1 : 0;
    CHECK(differing <= want.size() / 100);
  }
  const auto arena = [&](ExecutionMode mode) {
    return compile_model(model, options_for(mode)).activation_bytes();
  };
  if (kernels::multiplies_bytes()) CHECK(arena(ExecutionMode::performance) < arena(ExecutionMode::accuracy));
}

}  // namespace ir::test
