// What algorithms may do for speed, and the choice between those of products.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/attention.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/tuning.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/matrix_tiles.h"
#include "tests/execution/sample_models.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::test {
namespace {

/// A convolution and a product that have faster forms; the batch may be open. The sigmoid of the image times
/// `steepness`, unless that is 0, scales the image.
Model large_network(const Dimension& batch = 1, float steepness = 0) {
  Model model("large_network");
  Node& parameter = model.add_parameter(ElementType::f32, {batch, 64, 40, 40}, "image");
  const auto gated = [&]() -> Node& {
    Node& factor = model.add_constant(Tensor::of<float>({1}, {steepness}));
    Node& argument = model.add(op::v1::Multiply(), {parameter, factor}, "argument");
    Node& gate = model.add(op::v0::Sigmoid(), {argument}, "gate");
    return model.add(op::v1::Multiply(), {parameter, gate}, "scaled");
  };
  Node& image = steepness == 0 ? parameter : gated();
  Node& filters = model.add_constant(noise({64, 64, 3, 3}, 1));
  model.add_result(model.add(same_size_convolution(), {image, filters}, "convolution"));
  Node& rows = model.add_parameter(ElementType::f32, {batch, 256, 512}, "rows");
  Node& weights = model.add_constant(noise({512, 512}, 2));
  model.add_result(model.add(op::v0::MatMul(), {rows, weights}, "product"));
  return model;
}

std::vector<Tensor> inputs() { return {noise({1, 64, 40, 40}, 3), noise({1, 256, 512}, 4)}; }

std::map<std::string, std::string> kernels_of(const Model& model, const CompileOptions& options,
                                              const std::vector<Tensor>& values = inputs()) {
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, values);
  std::map<std::string, std::string> kernels;
  for (const StepProfile& step : request.profile()) kernels[step.layer] = step.kernel;
  return kernels;
}

CompileOptions options_for(ExecutionMode mode) {
  CompileOptions options;
  options.threads = 1;
  options.execution_mode = mode;
  return options;
}

std::string fastest_product(bool whole_floats = false) {
  kernels::GemmParams params;
  params.whole_floats = whole_floats;
  params.m = 256;
  params.n = params.k = 512;
  params.constant = kernels::GemmConstant::b;
  return std::string(kernels::gemm_algorithms(params).front().name);
}

TEST_CASE("Winograd's and Strassen's algorithms are taken for speed, and not for accuracy") {
  const WithoutMatrixTiles without_tiles;
  const CompileOptions fast = options_for(ExecutionMode::performance);
  const CompileOptions accurate = options_for(ExecutionMode::accuracy);
  for (const Dimension& batch : {Dimension(1), Dimension(1, 2)}) {
    const Model model = large_network(batch);
    auto kernels = kernels_of(model, fast);
    CHECK(kernels["convolution"].starts_with("convolution/winograd_4x4"));
    // In one level or two, if at all, whichever the machine's vectors make faster.
    CHECK(kernels["product"] == "matmul/" + fastest_product());
    kernels = kernels_of(model, accurate);
    CHECK(std::string_view(kernels["convolution"]).find("winograd") == std::string_view::npos);
    CHECK(kernels["product"] == "matmul/gemm");
  }
  const std::vector<Tensor> results = results_of(large_network(), inputs(), fast);
  const std::vector<Tensor> exact = results_of(large_network(), inputs(), accurate);
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t j = 0; j < results[i].data<float>().size(); ++j)
      CHECK(std::abs(results[i].data<float>()[j] - exact[i].data<float>()[j]) < 1e-3F);
  }
}

TEST_CASE("Networks with steep gates add operands up only where that gains much") {
  const WithoutMatrixTiles without_tiles;
  const CompileOptions fast = options_for(ExecutionMode::performance);
  for (const Dimension& batch : {Dimension(1), Dimension(1, 2)}) {
    CHECK(kernels_of(large_network(batch, 1), fast)["product"] == "matmul/" + fastest_product());
    CHECK(kernels_of(large_network(batch, 100), fast)["product"] == "matmul/" + fastest_product(true));
  }
}

TEST_CASE("Products are tuned like convolutions, and choices do not overrule the execution mode") {
  const WithoutMatrixTiles without_tiles;
  CompileOptions options = options_for(ExecutionMode::performance);
  options.tuning = std::make_shared<Tuning>();
  options.tune = true;
  (void)compile_model(large_network(), options);
  options.tune = false;
  std::size_t products = 0;
  for (const auto& [key, algorithm] : options.tuning->choices()) {
    if (key.find(" matmul rows=256 columns=512 terms=512") == std::string::npos) continue;
    ++products;
    const std::vector<std::string> known = {"gemm", "strassen", "strassen_twice"};
    CHECK(std::find(known.begin(), known.end(), algorithm) != known.end());
    for (const std::string& choice : known) {
      options.tuning->set_choice(key, choice);
      CHECK(kernels_of(large_network(), options)["product"] == "matmul/" + choice);
    }
  }
  CHECK(products == 1);
  options.execution_mode = ExecutionMode::accuracy;
  CHECK(kernels_of(large_network(), options)["product"] == "matmul/gemm");
}

/// Channels scaled by the sigmoid of a large number or by a plain input, then a 1x1 convolution, of which
/// that becomes a part.
Model scaled_channels(bool gated) {
  Model model("scaled_channels");
  Node& image = model.add_parameter(ElementType::f32, {1, 64, 20, 20}, "image");
  Node& scale = model.add_parameter(ElementType::f32, {1, 64, 1, 1}, "scale");
  Node& hundred = model.add_constant(Tensor::of<float>({1}, {100}));
  Node& large = model.add(op::v1::Multiply(), {scale, hundred}, "large");
  Node& factor = gated ? model.add(op::v0::Sigmoid(), {large}, "gate") : scale;
  Node& scaled = model.add(op::v1::Multiply(), {image, factor}, "scaled");
  op::v1::Convolution convolution;
  convolution.strides = convolution.dilations = {1, 1};
  convolution.pads_begin = convolution.pads_end = {0, 0};
  model.add_result(
      model.add(convolution, {scaled, model.add_constant(noise({64, 64, 1, 1}, 1))}, "convolution"));
  return model;
}

TEST_CASE("Convolutions that scale their image know of the execution mode") {
  for (const bool gated : {false, true}) {
    const Model model = scaled_channels(gated);
    const CompiledModel compiled = compile_model(model, options_for(ExecutionMode::accuracy));
    InferRequest request = compiled.create_infer_request();
    request.set_profiling(true);
    (void)infer(request, compiled, {noise({1, 64, 20, 20}, 2), noise({1, 64, 1, 1}, 3)});
    for (const StepProfile& step : request.profile())
      CHECK(step.kernel.find("matrix_tiles") == std::string::npos);
  }
}

TEST_CASE("Attention knows of the execution mode") {
  Model model("attention");
  std::vector<Output> operands;
  std::vector<Tensor> values;
  for (const unsigned seed : {1U, 2U, 3U}) {
    operands.emplace_back(model.add_parameter(ElementType::f32, {2, 128, 64}));
    values.push_back(noise({2, 128, 64}, seed));
  }
  model.add_result(model.add(op::v13::ScaledDotProductAttention(), operands, "attention"));
  const CompileOptions fast = options_for(ExecutionMode::performance);
  const CompileOptions exact = options_for(ExecutionMode::accuracy);
  CHECK(kernels_of(model, exact, values)["attention"] == "attention/tiled");
  const bool has_tiles = kernels::matrix_tiles(false) != nullptr;
  CHECK(kernels_of(model, fast, values)["attention"] ==
        (has_tiles ? "attention/matrix_tiles" : "attention/tiled"));
  CHECK(relative_error(results_of(model, values, fast).at(0), results_of(model, values, exact).at(0)) < 7e-6);
}

TEST_CASE("Models with steep gates keep all bits of operands, others within what is said") {
  const std::vector<Tensor> inputs = {noise({1, 64, 20, 20}, 2), noise({1, 64, 1, 1}, 3)};
  for (const bool gated : {false, true}) {
    const Model model = scaled_channels(gated);
    const auto fast = results_of(model, inputs, options_for(ExecutionMode::performance)).at(0);
    const auto exact = results_of(model, inputs, options_for(ExecutionMode::accuracy)).at(0);
    const double error = relative_error(fast, exact);
    INFO("gated " << gated << ": " << error);
    CHECK(error < (gated ? 6e-7 : 7e-6));
  }
}

}  // namespace
}  // namespace ir::test
