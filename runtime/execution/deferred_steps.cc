// Steps of a run that are prepared when their inputs are there.
#include <cstring>

#include "runtime/execution/planned_body.h"
#include "runtime/execution/run_state.h"
#include "runtime/execution/shareable_constants.h"
#include "runtime/ops/infer.h"

namespace ir {

std::unique_ptr<BodyRunner> RunState::Bodies::compile(const std::shared_ptr<const Model>& body) {
  return planned_body(body, options_, variables_, forms_);
}

void RunState::check_sizes(const Node& node, std::span<const ValueInfo> outputs) const {
  for (const ValueInfo& output : outputs) {
    if (output.shape.is_static()) (void)checked_bytes(output, node, plan_->limit);
  }
}

// For steps whose inputs' elements decide.
std::vector<Tensor> RunState::run_once(const PlanStep& step, std::span<const Tensor> inputs) {
  std::vector<ValueInfo> values;
  for (const Tensor& input : inputs) values.push_back(ir::value_of(input));
  check_sizes(*step.node, infer_types_and_shapes(step.node->op(), values));
  return evaluate(step.node->op(), inputs, &bodies_);
}

// Empty when the kernel has to run: memory of the arena is written again, and not by this step alone.
std::vector<Tensor> RunState::views_of(const PlanStep& step, const Prepared& prepared,
                                       std::span<const Tensor> inputs) const {
  const PreparedKernel& kernel = prepared.kernel;
  std::vector<View> views = kernel.views;
  const auto stays = [&](std::size_t input) {
    const Storage storage = plan_->values[step.inputs[input]].place.storage;
    return storage == Storage::slot || storage == Storage::constant || storage == Storage::input;
  };
  if (kernel.is_unchanged && stays(0)) {
    std::vector<const void*> addresses;
    for (const Tensor& input : inputs) addresses.push_back(input.raw());
    if (kernel.is_unchanged({addresses, {}})) views = {{0, 0}};
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Tensor& input = inputs[views[i].input];
    if (!stays(views[i].input) || input.element_type() == ElementType::string) return {};
    const ValueInfo& output = prepared.outputs[i];
    auto* const memory = static_cast<std::byte*>(const_cast<void*>(input.raw())) + views[i].byte_offset;
    tensors.emplace_back(output.type, output.shape.to_shape(), memory, std::make_shared<const Tensor>(input));
  }
  return tensors;
}

// Of a Concat of whole tensors, the first one is there already.
std::vector<Tensor> RunState::append(const PlanStep& step, const Prepared& prepared,
                                     std::span<const Tensor> inputs) {
  const ValueInfo& output = prepared.outputs[0];
  Tensor whole = variables_->grown(*step.appends_to, output.type, output.shape.to_shape());
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    std::memcpy(static_cast<std::byte*>(whole.raw()) + prepared.kernel.assembled[i], inputs[i].raw(),
                inputs[i].byte_size());
  }
  return {std::move(whole)};
}

RunState::Results RunState::run_deferred(const PlanStep& step, Prepared& prepared,
                                         std::span<const Tensor> inputs) {
  // Where shapes alone decide, the prepared kernel serves until they change.
  const bool ready = prepared.kernel.run || prepared.kernel.run_dynamic || !prepared.kernel.views.empty();
  if (!ready || prepared.inputs != shapes_of(inputs)) {
    std::vector<ValueInfo> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ValueInfo value{inputs[i].element_type(), inputs[i].shape(), nullptr, std::nullopt};
      const PlanValue& planned = plan_->values[step.inputs[i]];
      if (planned.place.storage == Storage::constant)
        value.constant = std::make_shared<const Tensor>(inputs[i]);
      values.push_back(std::move(value));
    }
    std::vector<ValueInfo> outputs = infer_types_and_shapes(step.node->op(), values);
    check_sizes(*step.node, outputs);
    PreparedKernel kernel;
    // The old kernel stays until there is a new one, which may share what it has packed.
    const kernels::PackingShared sharing(plan_->forms.get(), shareable_constants(*step.node));
    try {
      kernel = prepare_kernel(step.node->op(), values, outputs, &bodies_);
    } catch (const Error& error) {
      if (error.code() != "IR-needs-constant") throw;
    }
    if (!kernel.run && !kernel.run_dynamic && kernel.views.empty()) return {run_once(step, inputs)};
    prepared = {shapes_of(inputs), std::move(outputs), std::move(kernel)};
  }
  if (prepared.kernel.run_dynamic) return {prepared.kernel.run_dynamic(inputs)};
  if (auto views = views_of(step, prepared, inputs); !views.empty()) return {std::move(views), true};
  if (!prepared.kernel.run) return {run_once(step, inputs)};
  if (step.appends_to != nullptr && !prepared.kernel.assembled.empty() &&
      variables_->holds(*step.appends_to, inputs[0])) {
    return {append(step, prepared, inputs)};
  }
  std::vector<Tensor> results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& input : inputs) in.push_back(input.raw());
  for (const ValueInfo& output : prepared.outputs) {
    results.emplace_back(output.type, output.shape.to_shape());
    out.push_back(results.back().raw());
  }
  Tensor scratch(ElementType::u8, {static_cast<std::int64_t>(prepared.kernel.scratch_bytes)});
  prepared.kernel.run({in, out, static_cast<std::byte*>(scratch.raw())});
  return {std::move(results)};
}

}  // namespace ir
