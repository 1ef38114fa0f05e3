#include "runtime/execution/executable.h"

#include <algorithm>

#include "runtime/execution/memory_need.h"
#include "runtime/execution/page_release.h"
#include "runtime/execution/planned_body.h"
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

}  // namespace

std::vector<Shape> shapes_of(std::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

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
      whole_floats_(passes::has_steep_gates(*model_)) {}

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
  return planned_body(body, options_, nullptr, forms_);
}

}  // namespace ir
