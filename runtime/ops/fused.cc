#include "runtime/ops/fused.h"

#include <utility>
#include <vector>

#include "runtime/ops/convolution_kernel.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/matrix_kernel.h"
#include "runtime/ops/op_class.h"

namespace ir {
namespace op {
namespace {

template <class Core>
constexpr bool kIsProduct = std::is_same_v<Core, v0::MatMul> || std::is_same_v<Core, CompressedMatMul>;

// The axis of the output that the bias belongs to.
template <class Core>
std::size_t bias_axis(const PartialShape& output) {
  return kIsProduct<Core> ? output.rank() - 1 : 1;
}

// Whether an input of the core, of so many, is another one than of type f32: codes, or an output's shape.
template <class Core>
bool has_own_type(std::size_t input, std::size_t core_inputs) {
  return std::is_same_v<Core, CompressedMatMul> ? input == 1 : input == 2 && core_inputs == 3;
}

PreparedKernel prepare_core(PrepareContext& context, const v1::Convolution& core, std::size_t,
                            const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  return prepare_convolution(context, window_of(core), {}, false, epilogue, prologue);
}
PreparedKernel prepare_core(PrepareContext& context, const v1::GroupConvolution& core, std::size_t,
                            const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  return prepare_convolution(context, window_of(core), {.grouped = true}, false, epilogue, prologue);
}
PreparedKernel prepare_core(PrepareContext& context, const v1::ConvolutionBackpropData& core,
                            std::size_t inputs, const EpilogueOfStep& epilogue, const PrologueOfStep&) {
  return prepare_convolution(context, window_of(core), {.transposed = true}, inputs == 3, epilogue);
}
PreparedKernel prepare_core(PrepareContext& context, const v1::GroupConvolutionBackpropData& core,
                            std::size_t inputs, const EpilogueOfStep& epilogue, const PrologueOfStep&) {
  return prepare_convolution(context, window_of(core), {.grouped = true, .transposed = true}, inputs == 3,
                             epilogue);
}
PreparedKernel prepare_core(PrepareContext& context, const v0::MatMul& core, std::size_t,
                            const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  return prepare_matmul(context, core, epilogue, prologue);
}
PreparedKernel prepare_core(PrepareContext& context, const CompressedMatMul& core, std::size_t inputs,
                            const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  return prepare_compressed_matmul(context, core, inputs, epilogue, prologue.rectified);
}

}  // namespace

std::size_t tail_inputs(const FusedTail& tail) { return (tail.bias ? 1U : 0U) + (tail.residual ? 1U : 0U); }

std::string name_of(const FusedTail& tail) {
  std::string name;
  if (tail.bias) name += "+bias";
  if (tail.residual) name += "+residual";
  if (!tail.functions.activation.empty()) name += "+activation";
  if (!tail.functions.quantization.empty()) name += "+quantization";
  return name;
}

std::optional<ClampBounds> clamp_of(const kernels::PostFunctions& functions) {
  if (functions.activation.empty()) return ClampBounds{};
  if (functions.activation.size() > 1) return std::nullopt;
  const kernels::UnarySpec& activation = functions.activation.front();
  if (activation.op == kernels::UnaryOp::relu) return ClampBounds{.low = 0};
  if (activation.op != kernels::UnaryOp::clamp) return std::nullopt;
  return ClampBounds{static_cast<float>(activation.params.alpha), static_cast<float>(activation.params.beta)};
}

EpilogueOfStep epilogue_of(const PrepareContext& context, const FusedTail& tail) {
  EpilogueOfStep step;
  std::size_t input = context.input_count() - tail_inputs(tail);
  if (tail.bias) {
    const Tensor* bias = context.constant(input);
    if (bias == nullptr) throw Error("IR-needs-constant", "the bias of a fused operation is not constant");
    step.epilogue.bias = bias->data<float>().data();
    ++input;
  }
  if (tail.residual) {
    step.epilogue.residual = true;
    step.residual_input = input;
  }
  kernels::PostFunctions functions = tail.functions;
  functions.exact = context.accurate();
  if (tail.levels) {
    step.levels =
        std::make_shared<const std::vector<kernels::Quantization>>(std::exchange(functions.quantization, {}));
    step.epilogue.levels = *step.levels;
  }
  if (const auto bounds = clamp_of(functions)) {
    step.epilogue.low = bounds->low;
    step.epilogue.high = bounds->high;
    functions.activation.clear();
  }
  if (!functions.is_empty()) {
    step.epilogue.post_by_channel = functions.by_channel();
    step.functions = std::make_shared<const kernels::PostFunctions>(functions);
    step.epilogue.post = kernels::apply_post_functions;
    step.epilogue.post_context = step.functions.get();
  }
  return step;
}

template <class Core>
void Fused<Core>::infer(InferContext& context) const {
  const std::size_t count = context.input_count();
  context.require_min_inputs(2 + tail_inputs(tail));
  std::vector<ValueInfo> inputs;
  for (std::size_t i = 0; i < count; ++i) inputs.push_back(context.input(i));
  const std::size_t core_inputs = count - tail_inputs(tail);
  if (!input_levels.empty()) {
    context.require_type(0, {ElementType::u8});
    inputs[0].type = ElementType::f32;
  }
  InferContext core_context(info.type, std::span(inputs).first(core_inputs), false);
  core.infer(core_context);
  const ValueInfo output = core_context.outputs().at(0);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_levels = i == 0 && !input_levels.empty();
    if (!is_levels && !has_own_type<Core>(i, core_inputs)) context.require_type(i, {ElementType::f32});
  }
  std::size_t input = core_inputs;
  if (tail.bias) {
    context.require_rank(input, 1);
    const PartialShape& bias = context.shape(input);
    if (bias.has_rank() && output.shape.has_rank()) {
      context.require(
          output.shape.rank() > 0 && bias[0].compatible(output.shape[bias_axis<Core>(output.shape)]),
          "IR-shape",
          {.found = bias, .expected = output.shape, .rule = "a number for each channel", .input = input},
          "the bias has shape {}, the output {}", bias, output.shape);
    }
    ++input;
  }
  if (tail.residual) {
    context.require(context.shape(input).compatible(output.shape), "IR-shape",
                    {.found = context.shape(input), .expected = output.shape, .input = input},
                    "the residual has shape {}, the output {}", context.shape(input), output.shape);
  }
  context.set_output(0, tail.levels ? ElementType::u8 : output.type, output.shape);
}

template <class Core>
PreparedKernel Fused<Core>::prepare(PrepareContext& context) const {
  PrologueOfStep prologue;
  prologue.grid = input_grid;
  prologue.rectified = input_is_rectified;
  prologue.levels = input_levels;
  PreparedKernel kernel = prepare_core(context, core, context.input_count() - tail_inputs(tail),
                                       epilogue_of(context, tail), prologue);
  kernel.name += name_of(tail);
  return kernel;
}

template struct Fused<v1::Convolution>;
template struct Fused<v1::GroupConvolution>;
template struct Fused<v1::ConvolutionBackpropData>;
template struct Fused<v1::GroupConvolutionBackpropData>;
template struct Fused<v0::MatMul>;
template struct Fused<CompressedMatMul>;

}  // namespace op

template struct OpClassOf<op::FusedConvolution>;
template struct OpClassOf<op::FusedGroupConvolution>;
template struct OpClassOf<op::FusedDeconvolution>;
template struct OpClassOf<op::FusedGroupDeconvolution>;
template struct OpClassOf<op::FusedMatMul>;
template struct OpClassOf<op::FusedCompressedMatMul>;

}  // namespace ir
