#include "runtime/ops/fused_separable.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/depthwise/separable_convolution.h"
#include "runtime/ops/constant_weights.h"
#include "runtime/ops/convolution_kernel.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/op_class.h"
#include "runtime/ops/prepare.h"

namespace ir {
namespace op {
namespace {

// Calls `use(stage, layout)` for the stages that there are.
template <class Use>
void for_each_stage(const FusedSeparable& chain, const Use& use) {
  if (chain.expansion) use(*chain.expansion, FilterLayout{});
  use(chain.depthwise, FilterLayout{.grouped = true});
  if (chain.projection) use(*chain.projection, FilterLayout{});
}

std::size_t input_count_of(const FusedSeparable& chain) {
  std::size_t count = 1;
  for_each_stage(chain,
                 [&](const auto& stage, const FilterLayout&) { count += 1 + tail_inputs(stage.tail); });
  return count;
}

// The inputs of the stages, one stage after the other.
class StageInputs {
 public:
  template <class Context>
  explicit StageInputs(const Context& context) : image_(context.input(0)) {
    for (std::size_t i = 1; i < context.input_count(); ++i) rest_.push_back(context.input(i));
  }

  /// Infers the stage's output, which is then the image of the next one. Returns its inputs.
  template <class Stage>
  std::vector<ValueInfo> take(const Stage& stage) {
    std::vector<ValueInfo> inputs{image_};
    const auto end = rest_.begin() + static_cast<std::ptrdiff_t>(1 + tail_inputs(stage.tail));
    inputs.insert(inputs.end(), rest_.begin(), end);
    rest_.erase(rest_.begin(), end);
    InferContext context(Stage::info.type, inputs, false);
    stage.infer(context);
    image_ = context.outputs().at(0);
    return inputs;
  }
  [[nodiscard]] const ValueInfo& image() const { return image_; }

 private:
  ValueInfo image_;
  std::vector<ValueInfo> rest_;
};

/// The only functions, where they are quantisations of that kind (ConvolutionStage::quantization).
std::span<const kernels::Quantization> byte_quantization(const kernels::PostFunctions* functions) {
  if (functions == nullptr || functions->exact || !functions->activation.empty()) return {};
  const auto has_bytes = [](const kernels::Quantization& quantization) { return quantization.has_bytes(); };
  return std::ranges::all_of(functions->quantization, has_bytes) ? functions->quantization
                                                                 : std::span<const kernels::Quantization>();
}

/// Stages as kernels take them, and what they point to.
struct Stages {
  std::vector<kernels::ConvolutionStage> list;
  std::vector<std::shared_ptr<const kernels::PostFunctions>> functions;
  std::vector<std::shared_ptr<const std::vector<kernels::Quantization>>> levels;
  bool has_residual = false;  ///< the last one
  double flops = 0;

  void append(const PrepareContext& context, const WindowAttributes& window, const FilterLayout& layout,
              const FusedTail& tail) {
    const Shape& output = context.output_shape(0);
    const std::optional<std::int64_t> count = element_count(output);
    if (!count || !storage_bytes(ElementType::f32, *count)) {
      throw Error("IR-limit",
                  fmt::format("a value of shape {} takes more than 2^63 bytes", to_string(output)));
    }
    const Tensor* const filters = context.constant(1);
    if (filters == nullptr) throw Error("IR-needs-constant", "filters of a fused operation are not constant");
    const FastConvolution convolution = fast_convolution(context, window, layout);
    const EpilogueOfStep epilogue = epilogue_of(context, tail);
    list.push_back({convolution.params, constant_weights(filters), epilogue.epilogue});
    functions.push_back(epilogue.functions);
    levels.push_back(epilogue.levels);
    list.back().quantization = byte_quantization(functions.back().get());
    has_residual = epilogue.residual_input.has_value();
    flops += convolution.flops;
  }
};

/// Notes in a stage what integers its values are known to be, for kernels that multiply these.
template <class Stage>
void note_integers(const FusedSeparable& chain, const Stage& stage, const FilterLayout& layout,
                   kernels::ConvolutionStage& noted) {
  noted.params.image_levels = stage.input_levels;
  if (noted.params.accurate) return;
  if (layout.grouped) {
    noted.windows = kernels::integer_windows(noted.params, noted.weights, chain.depthwise_grids);
  } else if (stage.input_grid) {
    noted.params.integers = kernels::integer_filters(noted.params, noted.weights, *stage.input_grid);
  }
}

Stages stages_of(const FusedSeparable& chain, const PrepareContext& context) {
  StageInputs inputs(context);
  Stages stages;
  for_each_stage(chain, [&](const auto& stage, const FilterLayout& layout) {
    const std::vector<ValueInfo> stage_inputs = inputs.take(stage);
    const PrepareContext stage_context = context.part(stage_inputs, std::span(&inputs.image(), 1));
    stages.append(stage_context, window_of(stage.core), layout, stage.tail);
    note_integers(chain, stage, layout, stages.list.back());
  });
  return stages;
}

kernels::SeparableStages as_kernels_take(const Stages& stages, const FusedSeparable& chain) {
  kernels::SeparableStages taken;
  std::size_t next = 0;
  if (chain.expansion) taken.expansion = stages.list[next++];
  taken.depthwise = stages.list[next++];
  if (chain.projection) taken.projection = stages.list[next];
  return taken;
}

/// Makes the kernel of that name, of none the one that is expected to be the fastest; null where it does not
/// fit.
std::shared_ptr<const kernels::Convolution> kernel_named(std::string_view name,
                                                         const kernels::SeparableStages& stages) {
  if (name.empty()) return kernels::create_separable_convolution(stages);
  for (const kernels::NamedSeparableAlgorithm& known : kernels::kSeparableAlgorithms) {
    if (known.name != name) continue;
    auto kernel = kernels::create_separable_convolution(stages, known.algorithm);
    if (kernel->algorithm() == name) return kernel;
  }
  return nullptr;
}

/// What measured times are kept by.
std::string key_of(const std::vector<kernels::ConvolutionStage>& stages) {
  std::vector<std::string> geometries;
  geometries.reserve(stages.size());
  for (const kernels::ConvolutionStage& stage : stages) {
    const bool are_bytes = stage.windows.weights != nullptr;
    geometries.push_back(geometry_key(stage.params) + (are_bytes ? " bytes" : ""));
  }
  return fmt::format("separable {}", fmt::join(geometries, " + "));
}

std::vector<KernelEstimate> algorithms() {
  std::vector<KernelEstimate> estimates;
  for (const kernels::NamedSeparableAlgorithm& known : kernels::kSeparableAlgorithms)
    estimates.push_back({.algorithm = known.name});
  return estimates;
}

}  // namespace

void FusedSeparable::infer(InferContext& context) const {
  context.require_inputs(input_count_of(*this));
  StageInputs inputs(context);
  for_each_stage(*this, [&](const auto& stage, const FilterLayout&) { (void)inputs.take(stage); });
  context.set_output(0, inputs.image().type, inputs.image().shape);
}

PreparedKernel FusedSeparable::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("separable/empty");

  const Stages stages = stages_of(*this, context);
  const kernels::SeparableStages chain = as_kernels_take(stages, *this);
  const bool has_residual = stages.has_residual;
  const std::size_t constants = context.input_count() - (has_residual ? 1 : 0);
  PreparedKernel prepared;
  prepared.flops = stages.flops;
  prepared.per_target = true;
  for (std::size_t input = 1; input < constants; ++input) prepared.absorbed.push_back(input);
  const auto prepare = [&](std::string_view name) -> std::optional<PreparedKernel> {
    std::shared_ptr<const kernels::Convolution> kernel = kernel_named(name, chain);
    if (kernel == nullptr) return std::nullopt;
    PreparedKernel made = prepared;
    made.name = fmt::format("separable/{}", kernel->algorithm());
    made.scratch_bytes = kernel->scratch_bytes();
    // The residual is often the image, of which other strips read more: its memory is not taken over.
    made.run = [kernel = std::move(kernel), functions = stages.functions, has_residual,
                constants](const StepMemory& memory) {
      kernel->run({memory.in<float>(0), nullptr, has_residual ? memory.in<float>(constants) : nullptr},
                  memory.out<float>(0), memory.scratch);
    };
    return made;
  };
  return context.choose({[&] { return key_of(stages.list); }, algorithms, prepare});
}

}  // namespace op

template struct OpClassOf<op::FusedSeparable>;

}  // namespace ir
