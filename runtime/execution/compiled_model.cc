#include "ir_runtime/compiled_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <system_error>

#include "kernels/threads/parallel.h"
#include "runtime/execution/executable.h"
#include "runtime/execution/loop_sharing.h"
#include "runtime/execution/memory_need.h"
#include "runtime/execution/page_release.h"
#include "runtime/execution/run_state.h"
#include "runtime/execution/threads.h"
#include "runtime/execution/variables.h"
#include "runtime/model/own_nodes.h"
#include "runtime/model/ports.h"
#include "runtime/passes/passes.h"
#include "runtime/types/exhaustion.h"
#include "runtime/types/processor.h"

namespace ir {

struct CompiledModel::Impl {
  Impl(const std::shared_ptr<const Model>& lowered, const CompileOptions& compile_options,
       std::vector<Port> model_inputs, std::vector<Port> model_outputs)
      : inputs(std::move(model_inputs)),
        outputs(std::move(model_outputs)),
        pool(compile_options.use_callers_arena ? kernels::ThreadPool::of_caller()
                                               : kernels::ThreadPool(compile_options.threads)),
        executable(std::make_shared<Executable>(lowered, compile_options)) {}

  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<VariableInfo> variables;
  kernels::ThreadPool pool;
  std::shared_ptr<Executable> executable;
  /// When all inputs have static shapes.
  std::shared_ptr<const Plan> plan;
  /// Of the lowered model.
  MemoryNeed need;

  /// Throws Error when the plan takes more memory than there may be.
  [[nodiscard]] std::shared_ptr<const Plan> checked(std::shared_ptr<const Plan> made) const {
    require_memory(need, made->activation_bytes, executable->options());
    return made;
  }
};

struct InferRequest::Impl {
  explicit Impl(std::shared_ptr<const CompiledModel::Impl> compiled_model)
      : compiled(std::move(compiled_model)), variables(std::make_shared<Variables>(compiled->variables)) {
    tensors.resize(compiled->inputs.size());
    if (compiled->plan) enter(compiled->plan);
  }

  void enter(std::shared_ptr<const Plan> plan) {
    Tensor arena = state ? state->take_arena() : Tensor();
    state.emplace(std::move(plan), compiled->executable->options(), variables.get(), std::move(arena));
    sharing = LoopSharing();
  }

  /// The memory that input `index` reads; made when there is none.
  Tensor input(std::size_t index);
  void infer();
  void infer_once();
  void run_plan();

  std::shared_ptr<const CompiledModel::Impl> compiled;
  std::vector<Tensor> tensors;
  /// Shared with those who query them.
  std::shared_ptr<Variables> variables;
  std::optional<RunState> state;
  LoopSharing sharing;
  /// The last `infer` came to its end.
  bool has_outputs = false;
  bool profiling = false;
  /// The inference that was started last, until somebody waited for it; goes first, as it uses the others.
  std::future<void> started;

  [[nodiscard]] bool is_busy() const {
    return started.valid() && started.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }
};

namespace {

const Port& checked_port(const std::vector<Port>& ports, std::size_t index, std::string_view kind) {
  if (index >= ports.size()) {
    throw Error("IR-port-unknown",
                fmt::format("{} {} does not exist, the model has {}", kind, index, ports.size()));
  }
  return ports[index];
}

}  // namespace

InferRequest::InferRequest(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InferRequest::InferRequest(InferRequest&&) noexcept = default;
InferRequest& InferRequest::operator=(InferRequest&&) noexcept = default;
InferRequest::~InferRequest() = default;

void InferRequest::set_input_tensor(std::size_t index, Tensor tensor) {
  const Port& port = checked_port(idle().compiled->inputs, index, "input");
  if (tensor.element_type() != port.type) {
    throw Error("IR-input-type", fmt::format("input '{}' takes {}, the tensor holds {}", port.name(),
                                             name_of(port.type), name_of(tensor.element_type())));
  }
  if (!port.shape.compatible(tensor.shape())) {
    throw Error("IR-input-shape", fmt::format("input '{}' takes shape {}, the tensor has {}", port.name(),
                                              to_string(port.shape), to_string(tensor.shape())));
  }
  if (tensor.size() > 0 && tensor.codes() == nullptr && tensor.raw() == nullptr)
    throw Error("IR-input-missing", fmt::format("input '{}' was given a tensor without memory", port.name()));
  idle().tensors[index] = std::move(tensor);
}

void InferRequest::set_tensor(std::string_view name, Tensor tensor) {
  set_input_tensor(input_named(idle().compiled->inputs, name), std::move(tensor));
}

Tensor InferRequest::input_tensor(std::size_t index) { return idle().input(index); }

InferRequest::Impl& InferRequest::idle() const {
  if (impl_->is_busy()) throw Error("IR-request-busy", "the request is running", "wait for it first");
  return *impl_;
}

void InferRequest::infer() {
  Impl& request = idle();
  request.started = {};
  request.infer();
}

void InferRequest::start_async() {
  Impl& request = idle();
  const auto run = [&request] { request.infer(); };
  try {
    request.started =
        reporting_exhaustion("a thread was started", [&] { return std::async(std::launch::async, run); });
  } catch (const std::system_error& error) {
    throw Error("IR-limit", fmt::format("no thread can be started: {}", error.what()));
  }
}

void InferRequest::wait() {
  if (impl_->started.valid()) impl_->started.get();
}

bool InferRequest::wait_for(std::chrono::milliseconds most) {
  if (!impl_->started.valid()) return true;
  // So that nanoseconds can be counted.
  const std::chrono::milliseconds countable =
      std::min<std::chrono::milliseconds>(most, std::chrono::years(1));
  if (impl_->started.wait_for(countable) != std::future_status::ready) return false;
  wait();
  return true;
}

Tensor InferRequest::Impl::input(std::size_t index) {
  const Port& port = checked_port(compiled->inputs, index, "input");
  Tensor& tensor = tensors[index];
  if (!tensor) {
    if (!port.shape.is_static()) {
      throw Error("IR-input-shape",
                  fmt::format("input '{}' has shape {}: set a tensor of the shape that is wanted",
                              port.name(), to_string(port.shape)));
    }
    tensor = Tensor(port.type, port.shape.to_shape());
  }
  return tensor;
}

void InferRequest::Impl::infer() {
  reporting_exhaustion("the model ran", [this] { infer_once(); });
}

void InferRequest::Impl::infer_once() {
  has_outputs = false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]) {
      throw Error("IR-input-missing",
                  fmt::format("input '{}' was not given a tensor", compiled->inputs[i].name()));
    }
  }
  compiled->pool.run([&] {
    if (!compiled->plan) {
      std::shared_ptr<const Plan> plan =
          compiled->checked(compiled->executable->plan_for(shapes_of(tensors)));
      if (!state || &state->plan() != plan.get()) enter(std::move(plan));
    }
    state->set_profiling(profiling);
    const CompileOptions& options = compiled->executable->options();
    const Budget budget(
        {.tensor = activation_limit(options), .loop_iterations = options.max_loop_iterations});
    try {
      run_plan();
    } catch (...) {
      variables->undo();
      throw;
    }
  });
  variables->keep();
  has_outputs = true;
}

void InferRequest::Impl::run_plan() {
  const auto run = [&] { state->run(tensors); };
  if (compiled->pool.threads() == 1) return run();
  const auto start = std::chrono::steady_clock::now();
  if (sharing.shares()) {
    run();
  } else {
    kernels::run_alone(run);
  }
  sharing.took(std::chrono::steady_clock::now() - start);
}

std::vector<VariableState> InferRequest::query_state() const {
  std::vector<VariableState> states;
  for (const VariableInfo& variable : idle().compiled->variables)
    states.push_back(VariableState(idle().variables, variable.id));
  return states;
}

void InferRequest::reset_state() { idle().variables->reset(); }

Tensor InferRequest::output_tensor(std::size_t index) const {
  const Port& port = checked_port(idle().compiled->outputs, index, "output");
  if (!idle().has_outputs) {
    throw Error("IR-output-missing", fmt::format("output '{}' has no data before infer", port.name()));
  }
  return idle().state->output(index);
}

Tensor InferRequest::tensor(std::string_view name) const {
  if (const auto output = find_output(idle().compiled->outputs, name)) return output_tensor(*output);
  if (const auto input = find_input(idle().compiled->inputs, name)) return idle().input(*input);
  throw Error("IR-port-unknown",
              fmt::format("the request has no tensor '{}'; inputs: {}; outputs: {}", name,
                          names_of(idle().compiled->inputs), names_of(idle().compiled->outputs)));
}

void InferRequest::set_profiling(bool on) { idle().profiling = on; }

std::vector<StepProfile> InferRequest::profile() const {
  return idle().state ? idle().state->profile() : std::vector<StepProfile>();
}

const std::vector<Port>& CompiledModel::inputs() const { return impl_->inputs; }
const std::vector<Port>& CompiledModel::outputs() const { return impl_->outputs; }
int CompiledModel::threads() const { return impl_->pool.threads(); }
std::size_t CompiledModel::activation_bytes() const { return impl_->plan ? impl_->plan->arena_bytes : 0; }

double CompiledModel::flops() const {
  double flops = 0;
  if (!impl_->plan) return flops;
  for (const PlanStep& step : impl_->plan->steps) flops += step.kernel.flops;
  return flops;
}

InferRequest CompiledModel::create_infer_request() const {
  return reporting_exhaustion("a request was made",
                              [this] { return InferRequest(std::make_unique<InferRequest::Impl>(impl_)); });
}

namespace {

void require_sound_variables(const Model& model) {
  std::vector<Diagnostic> findings = check_variables(model);
  if (std::ranges::any_of(findings, [](const Diagnostic& d) { return d.severity == Severity::error; }))
    throw Error(std::move(findings));
}

void require_possible_threads(int threads) {
  if (threads > kMostThreads)
    throw Error("IR-limit",
                fmt::format("{} threads are asked for, at most {} are possible", threads, kMostThreads));
}

void require_sound(const Model& model) {
  require_processor();
  require_own_nodes(model);
  require_sound_variables(model);
}

/// Of forms of constants. Less than those take: a large page that is not filled is there for nothing, and
/// what reading has left of small ones is filled, too.
std::size_t bytes_in_large_pages(const MemoryNeed& need) {
  constexpr std::int64_t kInSmallPages = std::int64_t{8} << 20;
  return static_cast<std::size_t>(std::max<std::int64_t>(need.packed_together / 10 * 9 - kInSmallPages, 0));
}

std::shared_ptr<const CompiledModel::Impl> compile(const std::shared_ptr<Model>& model,
                                                   const CompileOptions& options) {
  CompileOptions effective = options;
  if (effective.threads <= 0) effective.threads = default_threads();
  require_possible_threads(effective.threads);
  if (effective.max_memory_bytes <= 0) effective.max_memory_bytes = usable_memory();
  const auto impl =
      std::make_shared<CompiledModel::Impl>(model, effective, model->inputs(), model->outputs());
  impl->pool.run([&] {
    kernels::call_threads();
    const std::vector<Tensor> file_constants = file_constants_of(*model);
    const Budget budget({.folded_bytes = std::min(effective.max_folded_bytes, effective.max_memory_bytes)});
    impl->variables = lower(*model, {.optimized = effective.optimize, .integers = !is_accurate(effective)},
                            [&] { require_memory(memory_need_of(*model), std::nullopt, effective); });
    impl->need = memory_need_of(*model);
    if (impl->executable->has_other_plans()) return;
    release_pages(file_constants);
    impl->executable->forms()->reserve(bytes_in_large_pages(impl->need));
    impl->plan =
        impl->checked(make_only_plan(model, effective, *impl->executable, impl->executable->forms()));
    impl->executable->forms()->reserve(0);
    release_pages(file_constants);
    provide_pages(impl->plan->constants);
  });
  return impl;
}

}  // namespace

CompiledModel compile_model(const Model& model, const CompileOptions& options) {
  return reporting_exhaustion("the model was compiled", [&] {
    require_sound(model);
    return CompiledModel(compile(std::make_shared<Model>(model), options));
  });
}

CompiledModel compile_model(Model&& model, const CompileOptions& options) {
  return reporting_exhaustion("the model was compiled", [&] {
    require_sound(model);
    return CompiledModel(compile(std::make_shared<Model>(std::move(model)), options));
  });
}

}  // namespace ir
