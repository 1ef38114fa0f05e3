#include "runtime/ops/fused_elementwise.h"

#include <memory>
#include <string>
#include <utility>

#include "runtime/ops/broadcast.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/op_class.h"
#include "runtime/ops/prepare.h"

namespace ir {
namespace op {
namespace {

// "+Multiply+Add+ReLU", or the first ones and how many more.
std::string listed(const std::vector<std::string_view>& types) {
  constexpr std::size_t kMost = 4;
  const std::size_t named = types.size() > kMost ? kMost - 1 : types.size();
  std::string text;
  for (std::size_t i = 0; i < named; ++i) text += fmt::format("+{}", types[i]);
  if (named < types.size()) text += fmt::format("+{} more", types.size() - named);
  return text;
}

}  // namespace

void FusedElementwise::infer(InferContext& context) const {
  context.require_inputs(inputs);
  std::vector<PartialShape> values;
  for (std::size_t i = 0; i < inputs; ++i) {
    const bool is_levels = !levels.inputs.empty() && levels.inputs[i];
    context.require_type(i, {is_levels ? ElementType::u8 : ElementType::f32});
    values.push_back(context.shape(i));
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const kernels::ElementwiseStage& stage = stages[s];
    PartialShape shape = values.at(stage.operands[0]);
    if (kernels::operand_count(stage.function) == 2) {
      const PartialShape& other = values.at(stage.operands[1]);
      const auto both = broadcast_shape(shape, other);
      context.require(both.has_value(), "IR-broadcast", {.found = other, .expected = shape},
                      "{} of shapes {} and {}, which do not match", types.at(s), shape, other);
      shape = *both;
    }
    values.push_back(std::move(shape));
  }
  context.set_output(0, levels.output ? ElementType::u8 : ElementType::f32, values.back());
}

PreparedKernel FusedElementwise::prepare(PrepareContext& context) const {
  const auto sizes_of = [](const Shape& shape) {
    return std::vector<std::size_t>(shape.begin(), shape.end());
  };
  std::vector<std::vector<std::size_t>> sizes;
  for (std::size_t i = 0; i < inputs; ++i) sizes.push_back(sizes_of(context.shape(i)));
  const std::vector<kernels::Dims> dims(sizes.begin(), sizes.end());
  const auto chain = std::make_shared<const kernels::ElementwiseChain>(
      stages, sizes_of(context.output_shape()), dims, levels);

  PreparedKernel prepared;
  prepared.name = "elementwise" + listed(types);
  prepared.run = [chain](const StepMemory& memory) { chain->run(memory.inputs, memory.outputs[0]); };
  for (std::size_t i = 0; i < inputs; ++i) {
    if (chain->is_full(i)) prepared.in_place.push_back(i);
  }
  prepared.per_target = true;
  prepared.flops = static_cast<double>(context.output_size()) * static_cast<double>(stages.size());
  return prepared;
}

}  // namespace op

template struct OpClassOf<op::FusedElementwise>;

}  // namespace ir
