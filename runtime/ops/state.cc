#include "ir_runtime/ops/state.h"

#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/zeros.h"

namespace ir::op {
namespace {

void require_name(const InferContext& context, const std::string& variable_id) {
  context.require(!variable_id.empty(), "IR-attribute-value", {.found = "empty", .expected = "a name"},
                  "variable_id is empty");
}

// Input 0, of which the elements are never known: they are another inference's.
void pass_type_and_shape(InferContext& context, const std::string& variable_id) {
  context.require_inputs(1);
  require_name(context, variable_id);
  context.set_output(0, context.type(0), context.shape(0));
}

// Later values may have other dims; the rank stays, as no variable changes it.
PartialShape with_open_dims(const PartialShape& shape) {
  return shape.has_rank() ? PartialShape::of_rank(shape.rank()) : PartialShape();
}

}  // namespace

void v3::ReadValue::infer(InferContext& context) const { pass_type_and_shape(context, variable_id); }

void v3::Assign::infer(InferContext& context) const { pass_type_and_shape(context, variable_id); }

void v6::Assign::infer(InferContext& context) const { pass_type_and_shape(context, variable_id); }

void v6::ReadValue::infer(InferContext& context) const {
  context.require_inputs(0, 1);
  require_name(context, variable_id);
  const bool has_type = variable_type != ElementType::dynamic;
  if (context.input_count() == 0) {
    context.require(has_type && variable_shape.has_rank(), "IR-attribute-value",
                    {.found = words("{} and {}", variable_type, variable_shape),
                     .expected = "a type and a shape",
                     .rule = "there is no input"},
                    "variable_type is {} and variable_shape is {}; without an input they must say what the "
                    "variable holds",
                    variable_type, variable_shape);
  } else {
    const ElementType type = context.type(0);
    context.require(
        type == variable_type || type == ElementType::dynamic || variable_type == ElementType::dynamic,
        "IR-element-type",
        {.found = type,
         .expected = variable_type,
         .rule = words("variable_type is {}", variable_type),
         .input = 0},
        "input 0 is of type {}, variable_type is {}", type, variable_type);
    context.require(variable_shape.compatible(context.shape(0)), "IR-shape",
                    {.found = context.shape(0),
                     .expected = variable_shape,
                     .rule = words("variable_shape is {}", variable_shape),
                     .input = 0},
                    "input 0 has shape {}, variable_shape is {}", context.shape(0), variable_shape);
    // As OpenVINO's class: where neither attribute says something, the input decides.
    if (!has_type && !variable_shape.has_rank()) return context.set_output(0, type, context.shape(0));
    if (!has_type) return context.set_output(0, type, variable_shape);
    if (!variable_shape.has_rank())
      return context.set_output(0, variable_type, with_open_dims(context.shape(0)));
  }
  context.set_output(0, variable_type, variable_shape);
  if (!context.explaining()) return;
  for (std::size_t axis = 0; axis < variable_shape.rank(); ++axis) {
    context.explain(0, axis,
                    fmt::format("dim {} of variable_shape is {}", axis, to_string(variable_shape[axis])));
  }
}

// Outside of a plan no inference came before. Plans keep variables themselves.
PreparedKernel v3::ReadValue::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }
PreparedKernel v3::Assign::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }
PreparedKernel v6::Assign::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }

PreparedKernel v6::ReadValue::prepare(PrepareContext& context) const {
  PreparedKernel kernel;
  kernel.name = "read_value/initial";
  kernel.run_dynamic = [type = context.output(0).type,
                        shape = context.output(0).shape](std::span<const Tensor> inputs) {
    return std::vector<Tensor>{inputs.empty() ? zeros_of(type, shape) : inputs[0].clone()};
  };
  return kernel;
}

}  // namespace ir::op
