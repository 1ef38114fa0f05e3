#include "runtime/execution/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>

#include "kernels/matmul/gemm.h"
#include "kernels/threads/loop_width.h"
#include "runtime/execution/memory_need.h"
#include "runtime/execution/page_release.h"
#include "runtime/execution/shareable_constants.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/zeros.h"
#include "runtime/passes/gates.h"

namespace ir {
namespace {

// Plans: always, and where their forms of constants do not take too much.
constexpr std::size_t kKeptPlans = 8;
constexpr std::size_t kMostPlans = 32;

std::vector<ValueInfo> input_values(const Model& model, std::span<const PartialShape> shapes) {
  std::vector<ValueInfo> values;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    values.push_back({model.parameters()[i]->output(0).type, shapes[i], nullptr, std::nullopt});
  }
  return values;
}

bool fits(const PartialShape& planned, const Shape& shape) {
  if (planned.rank() != shape.size()) return false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!planned[axis].compatible(Dimension(shape[axis]))) return false;
  }
  return true;
}

std::vector<Shape> shapes_of(std::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

// Runs a body on states of its own; several requests may do so at once.
class PlannedBody final : public BodyRunner {
 public:
  PlannedBody(std::shared_ptr<const Model> body, const CompileOptions& options, Variables* variables,
              std::shared_ptr<kernels::SharedForms> forms)
      : executable_(std::move(body), options, std::move(forms)), variables_(variables) {}

  std::vector<Tensor> run(std::span<const Tensor> inputs) override {
    std::unique_ptr<RunState> state = take_state(executable_.plan_for(shapes_of(inputs)));
    state->run(inputs);
    std::vector<Tensor> outputs;
    // The state's memory is written again by the next run.
    for (std::size_t i = 0; i < state->plan().outputs.size(); ++i)
      outputs.push_back(state->output(i).clone());
    const std::lock_guard lock(mutex_);
    // The oldest goes: its plan may not be kept any more, and no run would ever take it.
    if (idle_.size() == kKeptPlans) idle_.pop_front();
    idle_.push_back(std::move(state));
    return outputs;
  }

 private:
  std::unique_ptr<RunState> take_state(std::shared_ptr<const Plan> plan) {
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          std::ranges::find_if(idle_, [&](const auto& state) { return &state->plan() == plan.get(); });
      if (found != idle_.end()) {
        std::unique_ptr<RunState> state = std::move(*found);
        idle_.erase(found);
        return state;
      }
    }
    return std::make_unique<RunState>(std::move(plan), executable_.options(), variables_);
  }

  Executable executable_;
  Variables* variables_;
  // Guards idle_.
  std::mutex mutex_;
  std::deque<std::unique_ptr<RunState>> idle_;
};

}  // namespace

Executable::FormBytes::FormBytes(const Model& model, const CompileOptions& options) {
  if (is_memory_limited(options)) return;
  constexpr double kLeastSpare = 0x1p23;
  constexpr double kAny = 0x1p62;
  const MemoryNeed need = memory_need_of(model);
  const double constants = static_cast<double>(need.constants) + static_cast<double>(need.packed);
  spare = options.extra_weights < 0
              ? kAny
              : std::min(std::max(kLeastSpare, options.extra_weights * constants), kAny);
  most = constants + spare;
}

Executable::Executable(std::shared_ptr<const Model> model, const CompileOptions& options,
                       std::shared_ptr<kernels::SharedForms> forms)
    : model_(std::move(model)),
      options_(options),
      forms_(std::move(forms)),
      form_bytes_(*model_, options),
      has_static_inputs_(
          std::ranges::all_of(model_->parameters(),
                              [](const auto& parameter) { return parameter->output(0).shape.is_static(); })),
      whole_floats_(kernels::may_split_floats() && passes::has_steep_gates(*model_)) {}

std::shared_ptr<const Plan> Executable::plan_for(std::span<const Shape> inputs) {
  if (auto plan = kept_plan(inputs)) return plan;
  // Without the lock: to pack weights takes long, and requests of other shapes have their plans.
  const std::vector<PartialShape> shapes = shapes_to_plan(inputs);
  std::shared_ptr<const Plan> plan =
      make_plan(model_, input_values(*model_, shapes), options_, *this, forms_, recent_forms_);
  // What later plans read is mostly there then.
  std::call_once(pages_provided_, [&] { provide_pages(plan->constants); });
  if (auto others = kept_plan(inputs)) return others;
  const std::lock_guard lock(mutex_);
  plans_.push_front({shapes, plan});
  const auto are_too_many = [&] {
    return plans_.size() > kMostPlans ||
           (plans_.size() > kKeptPlans && static_cast<double>(forms_->bytes()) > form_bytes_.most);
  };
  for (; are_too_many(); recent_forms_.trim(static_cast<std::size_t>(form_bytes_.spare))) plans_.pop_back();
  return plan;
}

std::shared_ptr<const Plan> Executable::kept_plan(std::span<const Shape> inputs) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      plans_, [&](const CachedPlan& cached) { return std::ranges::equal(cached.inputs, inputs, fits); });
  if (found == plans_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, found);
  return found->plan;
}

std::vector<PartialShape> Executable::shapes_to_plan(std::span<const Shape> inputs) {
  const std::lock_guard lock(mutex_);
  std::vector<PartialShape> shapes = growing_.settle(inputs);
  if (std::ranges::all_of(shapes, &PartialShape::is_static)) return shapes;
  // The plans of the last two inferences show what changes with these dims.
  const bool is_worth_it =
      plans_.size() >= 2 && are_mostly_alike(*plans_.front().plan, *std::next(plans_.begin())->plan);
  return is_worth_it ? shapes : std::vector<PartialShape>(inputs.begin(), inputs.end());
}

std::unique_ptr<BodyRunner> Executable::compile(const std::shared_ptr<const Model>& body) {
  // Of plans, which requests share. Bodies with variables are left to the requests.
  return std::make_unique<PlannedBody>(body, options_, nullptr, forms_);
}

std::unique_ptr<BodyRunner> RunState::Bodies::compile(const std::shared_ptr<const Model>& body) {
  return std::make_unique<PlannedBody>(body, options_, variables_, forms_);
}

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
  // Each tensor has been held to the limit before it was made.
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
