// Rows that are quantised while a model runs, where CompileOptions allow it.
#include <cstdint>
#include <string>
#include <vector>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/type_conversion.h"
#include "kernels/weights/integer_weights.h"
#include "tests/execution/support.h"

namespace ir::test {
namespace {

constexpr std::int64_t kTerms = 256;
constexpr std::int64_t kColumns = 96;

/// Rows times weights of 8 bits with a scale for each row of weights, as exporters write them.
Model product_of_bytes() {
  Model model("product");
  Node& rows = model.add_parameter(ElementType::f32, {Dimension(), kTerms}, "rows");
  Tensor codes(ElementType::i8, {kColumns, kTerms});
  std::int64_t next = 0;
  for (std::int8_t& code : codes.data<std::int8_t>())
    code = static_cast<std::int8_t>(next++ * 37 % 251 - 125);
  op::v0::Convert convert;
  convert.destination_type = ElementType::f32;
  Node& floats = model.add(convert, {model.add_constant(codes)}, "floats");
  Tensor scales(ElementType::f32, {kColumns, 1});
  for (float& scale : scales.data<float>()) scale = 0.01F;
  Node& weights = model.add(op::v1::Multiply(), {floats, model.add_constant(scales)}, "weights");
  op::v0::MatMul product;
  product.transpose_b = true;
  model.add_result(model.add(product, {rows, weights}, "product"));
  return model;
}

struct Run {
  std::string kernel;
  Tensor result;
};

Run run_with(const CompileOptions& options, std::int64_t rows) {
  const CompiledModel compiled = compile_model(product_of_bytes(), options);
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  Run run;
  run.result = infer(request, compiled, {noise({rows, kTerms}, 5)})[0];
  for (const StepProfile& step : request.profile()) {
    if (step.layer == "product") run.kernel = step.kernel;
  }
  return run;
}

}  // namespace

TEST_CASE("Rows are quantised where the options say so, but not one alone, nor where all is to be accurate") {
  CompileOptions options;
  options.threads = 1;
  const Run floats = run_with(options, 24);
  CHECK(floats.kernel == "matmul/compressed");
  options.dynamic_quantization_group_size = 64;
  const Run bytes = run_with(options, 24);
  CHECK(bytes.kernel == (kernels::multiplies_bytes() ? "matmul/quantised" : "matmul/compressed"));
  const double error = relative_error(bytes.result, floats.result);
  CHECK(error < 0.01);
  CHECK((error > 0.0005) == kernels::multiplies_bytes());
  CHECK(run_with(options, 1).kernel == "matmul/compressed");
  options.execution_mode = ExecutionMode::accuracy;
  const Run accurate = run_with(options, 24);
  CHECK(accurate.kernel == "matmul/compressed");
  CHECK(same_bits(accurate.result, floats.result));
}

}  // namespace ir::test
