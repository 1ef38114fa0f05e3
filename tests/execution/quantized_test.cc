// Quantised models: FakeQuantize before convolutions whose weights are integers that are scaled.
#include <cmath>
#include <string>
#include <vector>

#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/type_conversion.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

// Scales that halves have, but products with integers do not.
Tensor scales(std::int64_t channels) {
  std::vector<float> values;
  for (std::int64_t c = 0; c < channels; ++c) values.push_back(0.001F * static_cast<float>(c + 7));
  return f32({channels, 1, 1, 1}, std::move(values));
}

Tensor bytes(Shape shape) {
  Tensor tensor(ElementType::i8, std::move(shape));
  int value = 0;
  for (std::int8_t& byte : tensor.data<std::int8_t>())
    byte = static_cast<std::int8_t>((value++ * 37) % 255 - 127);
  return tensor;
}

/// A 1x1 convolution of [1, 48, 30, 30] to 64 channels.
Model quantized_network(ElementType type) {
  Model model("quantized_network");
  const auto number = [&](float value) -> Node& {
    return model.add_constant(f32({}, {value}).converted(type));
  };
  Node& image = model.add_parameter(type, {1, 48, 30, 30}, "image");
  op::v0::FakeQuantize quantize;
  quantize.levels = 256;
  Node& low = number(-2);
  Node& high = number(1.984375F);
  Node& quantized = model.add(quantize, {image, low, high, low, high});
  op::v0::Convert to_type;
  to_type.destination_type = type;
  Node& wide = model.add(to_type, {model.add_constant(bytes({64, 48, 1, 1}))});
  Node& weights = model.add(op::v1::Multiply(), {wide, model.add_constant(scales(64).converted(type))});
  op::v1::Convolution convolution;
  convolution.strides = convolution.dilations = {1, 1};
  convolution.pads_begin = convolution.pads_end = {0, 0};
  model.add_result(model.add(convolution, {quantized, weights}, "convolution"));
  return model;
}

std::string kernel_of_convolution(const Model& model, ExecutionMode mode) {
  CompileOptions options;
  options.threads = 1;
  options.execution_mode = mode;
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, {noise({1, 48, 30, 30}, 3).converted(compiled.inputs().at(0).type)});
  for (const StepProfile& step : request.profile()) {
    if (step.layer == "convolution") return step.kernel;
  }
  return "none";
}

}  // namespace

TEST_CASE("Quantised convolutions multiply integers, in half-precision models, too") {
#if defined(__x86_64__)
  const bool has_integers = true;
#else
  const bool has_integers = false;
#endif
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    const Model model = quantized_network(type);
    CHECK(kernel_of_convolution(model, ExecutionMode::performance).starts_with("convolution/integer") ==
          has_integers);
    CHECK_FALSE(kernel_of_convolution(model, ExecutionMode::accuracy).starts_with("convolution/integer"));

    const Tensor image = noise({1, 48, 30, 30}, 3).converted(type);
    CompileOptions accurate;
    accurate.execution_mode = ExecutionMode::accuracy;
    const Tensor result = results_of(model, {image}).at(0).converted(ElementType::f32);
    const Tensor expected = results_of(model, {image}, accurate).at(0).converted(ElementType::f32);
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < result.data<float>().size(); ++i) {
      const double want = expected.data<float>()[i];
      error += std::pow(result.data<float>()[i] - want, 2);
      size += want * want;
    }
    CHECK(size > 0);
    CHECK(std::sqrt(error / size) < (type == ElementType::f16 ? 1e-4 : 1e-6));
  }
}

}  // namespace ir::test
