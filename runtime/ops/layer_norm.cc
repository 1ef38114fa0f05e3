#include "runtime/ops/layer_norm.h"

#include "kernels/reduction/normalization.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/op_class.h"
#include "runtime/ops/prepare.h"

namespace ir {
namespace op {

void LayerNorm::infer(InferContext& context) const {
  context.require_inputs(1 + (scale ? 1U : 0U) + (shift ? 1U : 0U));
  const PartialShape& shape = context.shape(0);
  context.require(!shape.has_rank() || shape.rank() >= 1, "IR-rank",
                  {.found = "a scalar", .expected = "a rank of at least 1", .input = 0},
                  "input 0 is a scalar");
  for (std::size_t i = 0; i < context.input_count(); ++i) context.require_type(i, {ElementType::f32});
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    context.require_rank(i, 1);
    const PartialShape& vector = context.shape(i);
    context.require(!shape.has_rank() || !vector.has_rank() || vector[0].compatible(shape[shape.rank() - 1]),
                    "IR-shape",
                    {.found = vector,
                     .expected = shape,
                     .rule = "a number for each element of the last axis",
                     .input = i},
                    "input {} has shape {}, input 0 {}", i, vector, shape);
  }
  context.set_output(0, ElementType::f32, shape);
}

PreparedKernel LayerNorm::prepare(PrepareContext& context) const {
  PreparedKernel prepared;
  prepared.name = centered ? "layer_norm" : "rms_norm";
  const std::size_t count = context.output_size();
  if (count == 0) return nothing_to_do(prepared.name);
  const auto length = static_cast<std::size_t>(context.shape(0).back());
  const kernels::LayerNormParams params{count / length, length, eps, centered};
  prepared.run = [=, scale = scale, shift = shift](const StepMemory& memory) {
    kernels::layer_norm(params, scale ? memory.in<float>(1) : nullptr,
                        shift ? memory.in<float>(scale ? 2 : 1) : nullptr, memory.in<float>(0),
                        memory.out<float>(0));
  };
  prepared.in_place = {0};
  prepared.per_target = true;
  prepared.flops = 8.0 * static_cast<double>(count);
  return prepared;
}

}  // namespace op

template struct OpClassOf<op::LayerNorm>;

}  // namespace ir
