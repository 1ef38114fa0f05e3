#include <algorithm>
#include <unordered_set>

#include "runtime/ops/fused_elementwise.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::ElementwiseChain;
using Function = kernels::ElementwiseFunction;

// The function that a node is, if a chain can take it.
std::optional<Function> function_of(const Node& node) {
  if (node.output_count() != 1 || node.output(0).type != ElementType::f32) return std::nullopt;
  if (const auto unary = unary_function(node)) return *unary;
  if (const auto quantization = quantization_function(node)) return *quantization;
  if (const auto binary = binary_function(node)) return *binary;
  return std::nullopt;
}

std::span<const Output> operands_of(const Node& node, const Function& function) {
  return node.inputs().first(kernels::operand_count(function));
}

// What a pass over the model looks up.
struct Surroundings {
  explicit Surroundings(const Model& model) : readers(model), places(model) {}
  ReaderCounts readers;
  NodePlaces places;
};

// A node and what is computed for it alone, as one operation.
class Chain {
 public:
  Chain(const Node& last, const Function& function, const Surroundings& surroundings)
      : surroundings_(surroundings), shape_(last.output(0).shape) {
    (void)take(last, function);
    while (Input* input = next_candidate()) {
      const auto more = function_of(*input->value.node);
      // What takes a member moves the inputs; what does not leaves them alone.
      if (!more || !take(*input->value.node, *more)) input->stays = true;
    }
  }

  [[nodiscard]] const auto& members() const { return members_; }

  void put(Node& last) const {
    op::FusedElementwise fused;
    std::vector<Output> values;
    for (const Input& input : inputs_) values.push_back(input.value);
    std::vector<Output> inputs = values;
    fused.inputs = inputs.size();
    for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
      kernels::ElementwiseStage stage{member->function, {}};
      std::size_t index = 0;
      for (const Output& operand : operands_of(*member->node, member->function))
        stage.operands[index++] =
            static_cast<std::size_t>(std::ranges::find(values, operand) - values.begin());
      fused.stages.push_back(stage);
      values.emplace_back(const_cast<Node*>(member->node), 0);
      fused.types.push_back(member->node->op().type());
    }
    rewrite(last, std::move(fused), std::move(inputs));
  }

 private:
  struct Member {
    const Node* node = nullptr;
    Function function;
  };
  struct Input {
    Output value;
    std::size_t reads = 0;  // by members
    bool stays = false;
  };

  // The last one of the inputs that nobody else reads and that have the shape of the result. Of results with
  // fewer elements, each would be computed many times.
  Input* next_candidate() {
    Input* latest = nullptr;
    const auto place = [&](const Input& input) { return surroundings_.places.of(*input.value.node); };
    for (Input& input : inputs_) {
      if (input.stays || surroundings_.readers.of(input.value) != input.reads) continue;
      if (input.value.info().shape != shape_) continue;
      if (latest == nullptr || place(input) > place(*latest)) latest = &input;
    }
    return latest;
  }

  // False when the chain would get too long or too wide.
  bool take(const Node& node, const Function& function) {
    std::vector<Input> inputs = inputs_;
    std::erase_if(inputs, [&](const Input& input) { return input.value.node == &node; });
    for (const Output& operand : operands_of(node, function)) {
      const auto found = std::ranges::find(inputs, operand, &Input::value);
      if (found == inputs.end()) {
        inputs.push_back({operand, 1, false});
      } else {
        ++found->reads;
      }
    }
    const auto tensors = std::ranges::count_if(inputs, [](const Input& input) {
      const PartialShape& shape = input.value.info().shape;
      return !shape.is_static() || shape.element_count() != Dimension(1);
    });
    if (static_cast<std::size_t>(tensors) > ElementwiseChain::kMaxTensors ||
        inputs.size() > ElementwiseChain::kMaxInputs || members_.size() == ElementwiseChain::kMaxStages)
      return false;
    inputs_ = std::move(inputs);
    members_.push_back({&node, function});
    return true;
  }

  const Surroundings& surroundings_;
  const PartialShape& shape_;
  std::vector<Member> members_;  // the last one first
  std::vector<Input> inputs_;
};

}  // namespace

bool fuse_elementwise(Model& model) {
  const Surroundings surroundings(model);
  std::unordered_set<const Node*> taken;
  bool changed = false;
  for (auto node = model.nodes().rbegin(); node != model.nodes().rend(); ++node) {
    if (taken.contains(node->get())) continue;
    const auto function = function_of(**node);
    if (!function) continue;
    const Chain chain(**node, *function, surroundings);
    if (chain.members().size() < 2) continue;
    for (const auto& member : chain.members()) taken.insert(member.node);
    chain.put(**node);
    changed = true;
  }
  if (changed) model.remove_unreachable();
  return changed;
}

}  // namespace ir::passes
