#include "runtime/execution/growing_dims.h"

#include <algorithm>
#include <unordered_map>

namespace ir {

std::vector<PartialShape> GrowingDims::settle(std::span<const Shape> inputs) {
  std::vector<Position> changed;
  const bool comparable = std::ranges::equal(inputs, last_, {}, &Shape::size, &Shape::size);
  for (std::size_t input = 0; comparable && input < inputs.size(); ++input) {
    for (std::size_t axis = 0; axis < inputs[input].size(); ++axis) {
      if (inputs[input][axis] != last_[input][axis]) changed.push_back({input, axis});
    }
  }
  changes_ = changed == changed_ ? changes_ + 1 : 1;
  changed_ = std::move(changed);
  last_.assign(inputs.begin(), inputs.end());
  std::vector<PartialShape> shapes(inputs.begin(), inputs.end());
  constexpr int kManyChanges = 2;
  if (changes_ < kManyChanges) return shapes;
  for (const auto& [input, axis] : changed_) shapes[input][axis] = Dimension();
  return shapes;
}

bool are_mostly_alike(const Plan& a, const Plan& b) {
  std::unordered_map<const Node*, const PlanStep*> steps;
  for (const PlanStep& step : a.steps) steps.emplace(step.node, &step);
  const auto have_same_shapes = [&](const std::vector<ValueId>& of_a, const std::vector<ValueId>& of_b) {
    return std::ranges::equal(
        of_a, of_b, [&](ValueId in_a, ValueId in_b) { return a.values[in_a].shape == b.values[in_b].shape; });
  };
  const auto is_alike = [&](const PlanStep& step) {
    const auto found = steps.find(step.node);
    return found != steps.end() && have_same_shapes(found->second->inputs, step.inputs) &&
           have_same_shapes(found->second->outputs, step.outputs);
  };
  const auto alike = static_cast<std::size_t>(std::ranges::count_if(b.steps, is_alike));
  return alike > b.steps.size() / 2;
}

}  // namespace ir
