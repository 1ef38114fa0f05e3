#include "runtime/execution/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "kernels/threads/loop_width.h"
#include "runtime/execution/memory_need.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/zeros.h"

namespace ir {
namespace {

// New memory has all of its pages from the start: the first run, which is timed like any other, need not wait
// for them.
void provide(Tensor& memory, std::size_t bytes) {
  if (memory && memory.byte_size() >= bytes) return;
  memory = Tensor(ElementType::u8, {static_cast<std::int64_t>(bytes)});
  constexpr std::size_t kPage = 4096;
  const auto touched = memory.data<std::uint8_t>();
  for (std::size_t at = 0; at < touched.size(); at += kPage) touched[at] = 0;
}

}  // namespace

RunState::RunState(std::shared_ptr<const Plan> plan, const CompileOptions& options, Variables* variables,
                   Tensor arena)
    : plan_(std::move(plan)),
      variables_(variables),
      bodies_(options, variables, *plan_),
      arena_(std::move(arena)) {
  provide(arena_, plan_->arena_bytes);
  if (plan_->slots > 0 && !is_memory_limited(options)) pool_ = std::make_unique<MemoryPool>();
  slots_.resize(plan_->slots);
  slot_shares_.resize(plan_->slots);
  prepared_.resize(plan_->steps.size());
  costs_.resize(plan_->steps.size());
  for (const PlanOutput& output : plan_->outputs) {
    const PlanValue& value = plan_->values[output.value];
    const bool fixed = value.shape.is_static() && value.place.storage != Storage::slot;
    outputs_.push_back(fixed ? Tensor(value.type, value.shape.to_shape()) : Tensor());
  }
  std::size_t most_inputs = 0;
  std::size_t most_outputs = 0;
  for (const PlanStep& step : plan_->steps) {
    most_inputs = std::max(most_inputs, step.inputs.size());
    most_outputs = std::max(most_outputs, step.outputs.size());
  }
  in_addresses_.resize(most_inputs);
  out_addresses_.resize(most_outputs);
}

void* RunState::address_of(const Place& place, std::span<const Tensor> inputs) {
  const auto base = [&]() -> const void* {
    switch (place.storage) {
      case Storage::input:
        return inputs[place.index].raw();
      case Storage::constant:
        return plan_->constants[place.index].raw();
      case Storage::output:
        return outputs_[place.index].raw();
      case Storage::slot:
        return slots_[place.index].raw();
      case Storage::arena:
        break;
    }
    return arena_.raw();
  };
  // Steps write only to outputs, slots and the arena.
  return static_cast<std::byte*>(const_cast<void*>(base())) + place.offset;
}

Tensor RunState::tensor_of(ValueId id, std::span<const Tensor> inputs) {
  const PlanValue& value = plan_->values[id];
  const bool in_slot = value.place.storage == Storage::slot;
  // Only inputs, and what a step with data made, have a shape of their own; views are of static shape.
  if (!value.shape.is_static()) return in_slot ? slots_[value.place.index] : inputs[value.place.index];
  std::shared_ptr<const void> owner;
  if (in_slot) owner = std::make_shared<const Tensor>(slots_[value.place.index]);
  return Tensor(value.type, value.shape.to_shape(), address_of(value.place, inputs), std::move(owner));
}

// An input may be an output of the last run, handed back: then this run writes to new memory.
void RunState::part_from(std::span<const Tensor> inputs) {
  const auto end = [](const Tensor& tensor) {
    return static_cast<const std::byte*>(tensor.raw()) + tensor.byte_size();
  };
  const std::less<const void*> before;
  for (Tensor& output : outputs_) {
    if (!output) continue;
    for (const Tensor& input : inputs) {
      if (!before(input.raw(), end(output)) || !before(output.raw(), end(input))) continue;
      output = Tensor(output.element_type(), output.shape());
      break;
    }
  }
}

void RunState::run(std::span<const Tensor> inputs) {
  const MemoryPool::Run run(pool_.get());
  part_from(inputs);
  if (!profiling_) {
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) run_step(i, inputs);
  } else {
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      (void)kernels::take_loop_width();
      run_step(i, inputs);
      costs_[i].milliseconds =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      costs_[i].threads = kernels::take_loop_width();
    }
  }
  finish_outputs(inputs);
}

void RunState::run_step(std::size_t index, std::span<const Tensor> inputs) {
  const PlanStep& step = plan_->steps[index];
  if (step.first_value_of != nullptr && variables_->has_value(*step.first_value_of)) return;
  try {
    if (step.kind == StepKind::read_variable) {
      read_variable(step, inputs);
    } else if (step.kind == StepKind::assign_variable) {
      assign_variable(step, inputs);
    } else if (step.kernel.run) {
      run_fixed(step, inputs);
    } else {
      run_with_data(step, index, inputs);
    }
  } catch (const InferenceFailure& failure) {
    throw Error({diagnostic_of(failure, *step.node)});
  } catch (const Error& error) {
    throw located(error, *step.node);
  }
}

void RunState::run_fixed(const PlanStep& step, std::span<const Tensor> inputs) {
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    in_addresses_[i] = address_of(plan_->values[step.inputs[i]].place, inputs);
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    out_addresses_[i] = address_of(plan_->values[step.outputs[i]].place, inputs);
  }
  step.kernel.run({{in_addresses_.data(), step.inputs.size()},
                   {out_addresses_.data(), step.outputs.size()},
                   static_cast<std::byte*>(arena_.raw()) + step.scratch_offset});
}

void RunState::run_with_data(const PlanStep& step, std::size_t index, std::span<const Tensor> inputs) {
  std::vector<Tensor> tensors;
  for (const ValueId id : step.inputs) tensors.push_back(tensor_of(id, inputs));
  Results results = step.kernel.run_dynamic ? Results{step.kernel.run_dynamic(tensors)}
                                            : run_deferred(step, prepared_[index], tensors);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const PlanValue& planned = plan_->values[step.outputs[i]];
    // Steps behind this one were prepared for what inference said.
    Tensor& result = results.tensors[i];
    if (result.element_type() != planned.type || !planned.shape.compatible(result.shape())) {
      throw Error("IR-shape", fmt::format("output {} is {} of shape {}, but {} of shape {} was inferred", i,
                                          name_of(result.element_type()), to_string(result.shape()),
                                          name_of(planned.type), to_string(planned.shape)));
    }
    put_in_slot(planned.place.index, std::move(result), results.shared);
  }
}

void RunState::put_in_slot(std::size_t slot, Tensor value, bool shared) {
  slot_shares_[slot] = shared;
  slot_bytes_ +=
      static_cast<std::int64_t>(value.byte_size()) - static_cast<std::int64_t>(slots_[slot].byte_size());
  slots_[slot] = std::move(value);
  // What this run made has been held to the limit together (Budget); values of variables were made before.
  if (slot_bytes_ <= plan_->limit.bytes) return;
  throw Error("IR-limit",
              fmt::format("the values whose shapes depend on data take {} bytes up to this layer; the "
                          "limit {} is {}",
                          slot_bytes_, plan_->limit.name, plan_->limit.bytes));
}

void RunState::read_variable(const PlanStep& step, std::span<const Tensor> inputs) {
  const std::string& id = *variable_read_by(step.node->op());
  const bool has_value = variables_->has_value(id);
  Tensor value = has_value ? variables_->value(id) : first_value(step, inputs);
  const PlanValue& planned = plan_->values[step.outputs[0]];
  // Steps behind this one were prepared for what inference said.
  if (value.element_type() != planned.type || !planned.shape.compatible(value.shape())) {
    throw Error("IR-variable-shape",
                fmt::format("the variable '{}' {} {} of shape {}, but takes {} of shape {}", id,
                            has_value ? "is" : "starts with", name_of(value.element_type()),
                            to_string(value.shape()), name_of(planned.type), to_string(planned.shape)));
  }
  put_in_slot(planned.place.index, std::move(value), true);
}

Tensor RunState::first_value(const PlanStep& step, std::span<const Tensor> inputs) {
  const PlanValue& planned = plan_->values[step.outputs[0]];
  if (step.inputs.empty()) return zeros_of(planned.type, planned.shape);
  const Storage storage = plan_->values[step.inputs[0]].place.storage;
  Tensor value = tensor_of(step.inputs[0], inputs);
  // The arena is written again, and the user may write to what is theirs.
  return storage == Storage::constant || storage == Storage::slot ? value : value.clone();
}

void RunState::assign_variable(const PlanStep& step, std::span<const Tensor> inputs) {
  const std::string& id = *variable_assigned_by(step.node->op());
  const std::size_t slot = plan_->values[step.inputs[0]].place.index;
  if (step.takes_memory && !slot_shares_[slot]) {
    variables_->share(id, slots_[slot]);
  } else {
    variables_->copy(id, tensor_of(step.inputs[0], inputs));
  }
}

void RunState::finish_outputs(std::span<const Tensor> inputs) {
  for (std::size_t i = 0; i < plan_->outputs.size(); ++i) {
    const PlanOutput& output = plan_->outputs[i];
    const PlanValue& value = plan_->values[output.value];
    if (value.place.storage == Storage::slot) {
      const Tensor tensor = tensor_of(output.value, inputs);
      outputs_[i] = output.copied || slot_shares_[value.place.index] ? tensor.clone() : tensor;
    } else if (value.type == ElementType::string || !value.shape.is_static()) {
      outputs_[i] = tensor_of(output.value, inputs).clone();
    } else if (output.copied && outputs_[i].byte_size() > 0) {
      std::memcpy(outputs_[i].raw(), address_of(value.place, inputs), outputs_[i].byte_size());
    }
  }
}

}  // namespace ir
