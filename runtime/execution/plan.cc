#include "runtime/execution/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir_runtime/ops/infrastructure.h"
#include "kernels/threads/parallel.h"
#include "runtime/execution/memory_need.h"
#include "runtime/execution/page_release.h"
#include "runtime/execution/plan_memory.h"
#include "runtime/execution/shareable_constants.h"
#include "runtime/execution/tuner.h"
#include "runtime/execution/weight_price.h"
#include "runtime/model/state.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/infer_model.h"
#include "runtime/ops/zeros.h"

namespace ir {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

/// Whether other plans will be made of the model, which then must stay as it is.
enum class Plans { several, one };

// What values are for: a variable's first value, or null when others need them, too.
using Purposes = std::unordered_map<ValueId, const std::string*>;

void use_for(const std::string* variable, ValueId value, Purposes& purposes) {
  const auto [purpose, first] = purposes.emplace(value, variable);
  const bool same = purpose->second != nullptr && variable != nullptr && *purpose->second == *variable;
  if (!first && !same) purpose->second = nullptr;
}

// That of all of these values that somebody reads.
const std::string* common_purpose(std::span<const ValueId> values, const Purposes& purposes) {
  const std::string* common = nullptr;
  for (const ValueId value : values) {
    const auto purpose = purposes.find(value);
    if (purpose == purposes.end()) continue;
    if (purpose->second == nullptr || (common != nullptr && *common != *purpose->second)) return nullptr;
    common = purpose->second;
  }
  return common;
}

// Steps of which only a first value of one variable comes.
void find_first_values(Plan& plan) {
  Purposes purposes;
  for (const PlanOutput& output : plan.outputs) use_for(nullptr, output.value, purposes);
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    const bool may_be_left_out = step->kind == StepKind::compute && !is_sink(*step->node) &&
                                 !step->node->op().op_class_record().info.stateful;
    if (may_be_left_out) step->first_value_of = common_purpose(step->outputs, purposes);
    const bool reads = step->kind == StepKind::read_variable;
    const std::string* purpose = reads ? variable_read_by(step->node->op()) : step->first_value_of;
    for (const ValueId value : step->inputs) use_for(purpose, value, purposes);
  }
}

class PlanBuilder {
 public:
  PlanBuilder(std::shared_ptr<const Model> model, Plans plans, std::span<const ValueInfo> inputs,
              const CompileOptions& options, PlanServices& services,
              std::shared_ptr<kernels::SharedForms> forms, kernels::RecentForms* recent = nullptr)
      : plans_(plans),
        options_(options),
        services_(services),
        recent_forms_(recent),
        plan_(std::make_shared<Plan>()) {
    plan_->model = std::move(model);
    plan_->forms = std::move(forms);
    plan_->whole_floats = services.whole_floats();
    plan_->limit = activation_limit(options);
    try {
      known_ = infer_model(*plan_->model, inputs);
    } catch (const InferenceFailure& failure) {
      throw Error(failure.code, failure.message, failure.hint);
    }
  }

  std::shared_ptr<const Plan> build() {
    find_needed();
    check_inputs();
    make_choosers();
    for (std::size_t i = 0; i < plan_->model->parameters().size(); ++i) {
      add_value(Output(*plan_->model->parameters()[i]), {Storage::input, i, 0});
    }
    plan_->steps.reserve(needed_.size());
    for (const auto& node : plan_->model->nodes()) {
      if (needed_.contains(node.get())) add_node(*node);
    }
    place_outputs();
    // Not when the first request reads them.
    for (Tensor& constant : plan_->constants) constant = constant.in_memory();
    find_first_values(*plan_);
    place_values(*plan_, options_.share_memory, static_cast<std::size_t>(kernels::thread_slots()));
    count_activations();
    return plan_;
  }

 private:
  [[nodiscard]] bool is_input(const Node& node) const { return node.op().is<op::v0::Parameter>(); }

  // Nodes whose elements some result needs; what is known already needs no step.
  void find_needed() {
    std::vector<const Node*> pending;
    const auto want = [&](const Output& output) {
      ++readers_[output.node];
      if (known_.of(output).constant != nullptr || is_input(*output.node)) return;
      if (output.node->op().is<op::v0::Constant>())
        throw located(Error("IR-constant-missing", "the elements of the constant were not read"),
                      *output.node);
      if (needed_.insert(output.node).second) pending.push_back(output.node);
    };
    for (const Node* result : plan_->model->results()) want(result->input(0));
    for (const auto& node : plan_->model->nodes()) {
      if (is_sink(*node) && needed_.insert(node.get()).second) pending.push_back(node.get());
    }
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      for (const Output& input : node->inputs()) want(input);
    }
    for (const auto& [node, count] : readers_) {
      if (count > 1 && node->op().is<op::v0::Constant>()) repeated_.insert(node);
    }
    for (const Node* node : needed_) {
      if (const std::string* id = variable_read_by(node->op())) ++reads_to_come_[*id];
    }
  }

  /// What there is to choose is looked at as a whole before any kernel is prepared.
  void make_choosers() {
    const auto chooses = [](const Node* node) { return WeightSurvey::concerns(node->op()); };
    if (options_.tuning == nullptr && std::ranges::none_of(needed_, chooses)) return;
    const MemoryNeed need = memory_need_of(*plan_->model);
    if (options_.extra_weights >= 0) {
      WeightSurvey survey;
      for (const auto& node : plan_->model->nodes()) {
        if (!needed_.contains(node.get())) continue;
        const std::vector<ValueInfo> inputs = known_.inputs_of(*node);
        const std::span<const ValueInfo> outputs = known_.of(*node);
        survey.add_step(inputs, outputs);
        if (WeightSurvey::concerns(node->op())) (void)prepared(*node, inputs, outputs, &survey);
      }
      priced_choice_ = PricedChoice(survey.price(need, options_.extra_weights));
    }
    if (options_.tuning != nullptr) chooser_ = &tuner_.emplace(options_, need, priced_choice_);
  }

  ValueId add_value(const Output& output, Place place) {
    const ValueInfo& info = known_.of(output);
    plan_->values.push_back({info.type, info.shape, place});
    const ValueId id = plan_->values.size() - 1;
    ids_[output.node].resize(std::max(ids_[output.node].size(), output.index + 1), kNone);
    ids_[output.node][output.index] = id;
    return id;
  }

  ValueId value_of(const Output& output) {
    const auto found = ids_.find(output.node);
    if (found != ids_.end() && output.index < found->second.size() && found->second[output.index] != kNone) {
      return found->second[output.index];
    }
    // Not computed by a step: a constant, by find_needed().
    plan_->constants.push_back(*known_.of(output).constant);
    return add_value(output, {Storage::constant, plan_->constants.size() - 1, 0});
  }

  void add_node(const Node& node) {
    if (variable_read_by(node.op()) != nullptr) return add_read(node);
    if (variable_assigned_by(node.op()) != nullptr) return add_assign(node);
    PlanStep step;
    step.node = &node;
    const std::vector<ValueInfo> inputs = known_.inputs_of(node);
    const std::span<const ValueInfo> outputs = known_.of(node);
    for (const Output& input : node.inputs()) step.inputs.push_back(value_of(input));
    const std::vector<std::size_t> lent = lend_constants(node);
    Prepared made = prepared(node, inputs, outputs, chooser_);
    step.kernel = std::move(made.kernel);
    count_tables(node, step.kernel.table_bytes);
    for (const std::size_t input : lent) put_constant(node.input(input), inputs[input]);
    for (const std::size_t input : step.kernel.absorbed) {
      const Output& constant = node.input(input);
      if (made.has_read_constants) known_.of(constant).constant->release_pages();
      absorb(constant);
    }
    const bool fixed = step.kernel.run != nullptr || !step.kernel.views.empty();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Output output(const_cast<Node*>(&node), i);
      const Place place = fixed ? Place{Storage::arena, kNone, 0} : Place{Storage::slot, plan_->slots++, 0};
      step.outputs.push_back(add_value(output, place));
    }
    plan_->steps.push_back(std::move(step));
  }

  // The inputs of `node` that nobody but the values it is prepared with holds meanwhile: constants that it is
  // the only one to read, in the only plan that will be made. What has been packed of them can go at once.
  std::vector<std::size_t> lend_constants(const Node& node) {
    std::vector<std::size_t> lent;
    // What is tried out is packed more than once.
    if (plans_ != Plans::one || tuner_) return lent;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Output& input = node.input(i);
      if (repeated_.contains(input.node) || !input.node->op().is<op::v0::Constant>()) continue;
      const ValueInfo& value = known_.of(input);
      put_constant(input, {value.type, value.shape, nullptr, std::nullopt});
      lent.push_back(i);
    }
    return lent;
  }

  // The constant, or that there is none, wherever it is kept.
  void put_constant(const Output& constant, const ValueInfo& value) {
    plan_->constants[plan_->values[value_of(constant)].place.index] =
        value.constant != nullptr ? *value.constant : Tensor();
    known_.set(*constant.node, {value});
    constant.node->op().as<op::v0::Constant>()->value = value.constant;
    constant.node->set_outputs({value});
  }

  // A kernel keeps the constant in a form of its own.
  void absorb(const Output& constant) {
    if (--readers_[constant.node] > 0) return;
    if (plans_ != Plans::one || !constant.node->op().is<op::v0::Constant>()) {
      plan_->constants[plan_->values[value_of(constant)].place.index] = Tensor();
      return;
    }
    if (repeated_.contains(constant.node)) plan_->forms->forget(floats_of_constant(*constant.node));
    const ValueInfo& value = known_.of(constant);
    put_constant(constant, {value.type, value.shape, nullptr, std::nullopt});
  }

  void add_read(const Node& node) {
    PlanStep step;
    step.kind = StepKind::read_variable;
    step.node = &node;
    step.kernel.name = "read_variable";
    for (const Output& input : node.inputs()) step.inputs.push_back(value_of(input));
    const Output output(const_cast<Node*>(&node), 0);
    const PartialShape& shape = known_.of(output).shape;
    (void)checked_bytes({known_.of(output).type, smallest_shape(shape), nullptr, std::nullopt}, node,
                        plan_->limit);
    step.outputs.push_back(add_value(output, {Storage::slot, plan_->slots++, 0}));
    plan_->steps.push_back(std::move(step));
    const std::string& id = *variable_read_by(node.op());
    if (--reads_to_come_[id] > 0) return;
    for (PlanStep& assign : late_assigns_[id]) plan_->steps.push_back(std::move(assign));
    late_assigns_.erase(id);
  }

  // The output is the input. Reads of the variable come first, wherever they stand.
  void add_assign(const Node& node) {
    PlanStep step;
    step.kind = StepKind::assign_variable;
    step.node = &node;
    step.kernel.name = "assign_variable";
    step.inputs.push_back(value_of(node.input(0)));
    ids_[&node] = {step.inputs[0]};
    const std::string& id = *variable_assigned_by(node.op());
    if (reads_to_come_[id] > 0) {
      late_assigns_[id].push_back(std::move(step));
    } else {
      plan_->steps.push_back(std::move(step));
    }
  }

  struct Prepared {
    /// Empty for steps that must wait for data.
    PreparedKernel kernel = {};
    /// False where there were forms of all constants that it keeps.
    bool has_read_constants = false;
  };

  Prepared prepared(const Node& node, const std::vector<ValueInfo>& inputs,
                    std::span<const ValueInfo> outputs, KernelChooser* chooser) {
    const auto fixed = [](const ValueInfo& value) { return value.shape.is_static(); };
    // The variables in a body are the request's: it is compiled for each.
    if (!std::ranges::all_of(inputs, fixed) || has_stateful_body(node)) return {};
    // Before anything is prepared: kernels may make tables as large as their outputs.
    for (const ValueInfo& output : outputs) {
      if (fixed(output)) (void)checked_bytes(output, node, plan_->limit);
    }
    const PageRelease release(inputs);
    // Of an only plan, constants go when the last of their readers has packed them.
    const auto stays = [this](const Node* constant) {
      return plans_ == Plans::several || repeated_.contains(constant);
    };
    const kernels::PackingShared sharing(plan_->forms.get(), shareable_constants(node, stays), recent_forms_);
    try {
      PreparedKernel kernel = prepare_kernel(node.op(), inputs, outputs, &services_, chooser);
      return {std::move(kernel), plans_ == Plans::one || sharing.has_packed()};
    } catch (const Error& error) {
      if (error.code() == "IR-needs-constant") return {};
      throw located(error, node);
    }
  }

  void place_outputs() {
    for (const Node* result : plan_->model->results())
      plan_->outputs.push_back({value_of(result->input(0)), true});
  }

  // Before kernels are prepared, which trust the sizes of what they read.
  void check_inputs() {
    for (const Node* parameter : plan_->model->parameters()) {
      const ValueInfo& value = known_.of(Output(*const_cast<Node*>(parameter)));
      if (value.type == ElementType::dynamic || !value.shape.is_static()) continue;
      input_bytes_ = saturating_sum(
          input_bytes_, static_cast<std::int64_t>(checked_bytes(value, *parameter, plan_->limit)));
    }
  }

  // At once, before those of the next step come to them.
  void count_tables(const Node& node, std::int64_t bytes) {
    table_bytes_ = saturating_sum(table_bytes_, bytes);
    if (table_bytes_ <= plan_->limit.bytes) return;
    throw located(Error("IR-limit", fmt::format("the tables of the kernels up to this one take {} bytes; the "
                                                "limit {} is {}",
                                                table_bytes_, plan_->limit.name, plan_->limit.bytes)),
                  node);
  }

  // Before anything of it is allocated.
  void count_activations() {
    const auto as_number = [](std::size_t bytes) {
      return std::cmp_less(bytes, kMostBytes) ? static_cast<std::int64_t>(bytes) : kMostBytes;
    };
    std::int64_t bytes = saturating_sum(as_number(plan_->arena_bytes), table_bytes_);
    const std::vector<Node*>& results = plan_->model->results();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const PlanValue& value = plan_->values[plan_->outputs[i].value];
      if (value.place.storage == Storage::slot || !value.shape.is_static()) continue;
      bytes = saturating_sum(
          bytes, as_number(checked_bytes({value.type, value.shape, nullptr, {}}, *results[i], plan_->limit)));
    }
    if (bytes > plan_->limit.bytes) {
      throw Error("IR-limit", fmt::format("the activations take {} bytes, the limit {} is {}", bytes,
                                          plan_->limit.name, plan_->limit.bytes));
    }
    plan_->activation_bytes = saturating_sum(bytes, input_bytes_);
  }

  Plans plans_;
  const CompileOptions& options_;
  PlanServices& services_;
  kernels::RecentForms* recent_forms_;
  PricedChoice priced_choice_;
  std::optional<Tuner> tuner_;
  KernelChooser* chooser_ = &priced_choice_;
  std::shared_ptr<Plan> plan_;
  ModelValues known_;
  std::unordered_set<const Node*> needed_;
  /// Inputs and results that have not taken over the value of a node.
  std::unordered_map<const Node*, std::size_t> readers_;
  /// Constants that had several readers to begin with.
  std::unordered_set<const Node*> repeated_;
  /// By variable: ReadValues that have no step yet, and assignments that wait for them.
  std::unordered_map<std::string, std::size_t> reads_to_come_;
  std::unordered_map<std::string, std::vector<PlanStep>> late_assigns_;
  std::unordered_map<const Node*, std::vector<ValueId>> ids_;
  std::int64_t input_bytes_ = 0;
  std::int64_t table_bytes_ = 0;
};

}  // namespace

std::shared_ptr<const Plan> make_plan(std::shared_ptr<const Model> model, std::span<const ValueInfo> inputs,
                                      const CompileOptions& options, PlanServices& services,
                                      std::shared_ptr<kernels::SharedForms> forms,
                                      kernels::RecentForms& recent) {
  return PlanBuilder(std::move(model), Plans::several, inputs, options, services, std::move(forms), &recent)
      .build();
}

std::shared_ptr<const Plan> make_only_plan(const std::shared_ptr<Model>& model, const CompileOptions& options,
                                           PlanServices& services,
                                           std::shared_ptr<kernels::SharedForms> forms) {
  std::vector<ValueInfo> inputs;
  for (const Node* parameter : model->parameters()) inputs.push_back(parameter->output(0));
  return PlanBuilder(model, Plans::one, inputs, options, services, std::move(forms)).build();
}

}  // namespace ir
