#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/space.h"
#include "kernels/base/indices.h"
#include "runtime/ops/prepare.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// What a node computes from values that lie in one order: element by element, one behind the other, or by
// moving elements along axes.
struct Arithmetic {
  std::size_t operands = 0;  ///< its first inputs
  bool is_concat = false;
  /// Inputs behind the operands that have an integer for each axis; those behind them are single numbers.
  std::size_t lists = 0;
  bool has_blocks = false;  ///< the first list; they lie in axis 0 in the order of their axes
};

bool is_single(const Output& value) {
  const Tensor* constant = constant_of(value);
  return constant != nullptr && constant->size() == 1;
}

std::optional<Arithmetic> arithmetic_of(const Node& node) {
  const Op& op = node.op();
  if (unary_function(node) && std::ranges::all_of(node.inputs().subspan(1), is_single)) return Arithmetic{1};
  if (binary_function(node)) return Arithmetic{2};
  // A vector of slopes goes by an axis of its own.
  if (op.is<op::v0::PReLU>() && node.input(1).info().shape.has_rank() &&
      node.input(1).info().shape.rank() > 1)
    return Arithmetic{2};
  const auto* quantization = op.as<op::v0::FakeQuantize>();
  if (quantization != nullptr && quantization->auto_broadcast == op::AutoBroadcast::numpy)
    return Arithmetic{5};
  if (op.is<op::v0::Concat>()) return Arithmetic{.operands = node.inputs().size(), .is_concat = true};
  if (op.is<op::v1::SpaceToBatch>() || op.is<op::v1::BatchToSpace>())
    return Arithmetic{.operands = 1, .lists = 3, .has_blocks = true};
  if (op.is<op::v1::Pad>() || op.is<op::v12::Pad>()) return Arithmetic{.operands = 1, .lists = 2};
  return std::nullopt;
}

// Arithmetic on values that were all transposed alike, as arithmetic on the values before.
class Sinking {
 public:
  Sinking(const ReaderCounts& readers, const std::unordered_set<const Node*>& undone,
          Model::Insertions& insertions, const Node& position, AxisOrder order)
      : readers_(readers),
        undone_(undone),
        insertions_(insertions),
        position_(position),
        order_(std::move(order)) {}

  // Whether all that the node computes from is constant or transposed for it alone.
  [[nodiscard]] bool is_possible(const Node& node) const {
    std::size_t visits = 0;
    return is_possible(node, visits);
  }

  Output before(const Node& node) {
    std::vector<Output> inputs(node.inputs().begin(), node.inputs().end());
    const Arithmetic arithmetic = *arithmetic_of(node);
    for (std::size_t i = 0; i < arithmetic.operands; ++i) inputs[i] = operand_before(inputs[i]);
    for (std::size_t i = 0; i < arithmetic.lists; ++i) {
      Output& list = inputs[arithmetic.operands + i];
      list = list_before(list);
    }
    Op op = node.op();
    if (arithmetic.is_concat) {
      std::int64_t& axis = op.as<op::v0::Concat>()->axis;
      axis = static_cast<std::int64_t>(order_[kernels::normalize_index(axis, order_.size())]);
    }
    return insertions_.before(position_, std::move(op), std::move(inputs), node.name() + "/untransposed");
  }

 private:
  [[nodiscard]] bool is_possible(const Node& node, std::size_t& visits) const {
    // More are seldom between transposes, and a node may be looked at for each of its readers.
    constexpr std::size_t kMostVisits = 64;
    const auto arithmetic = arithmetic_of(node);
    if (!arithmetic || ++visits > kMostVisits) return false;
    if (arithmetic->has_blocks && !keeps_order_of_blocks(node.input(1))) return false;
    const auto is_good = [&](const Output& operand) {
      if (constant_of(operand) != nullptr)
        return !arithmetic->is_concat && operand.info().shape.rank() <= order_.size();
      if (!readers_.single(operand)) return false;
      return is_leaf(operand) || is_possible(*operand.node, visits);
    };
    const auto is_list = [&](const Output& input) {
      const auto integers = constant_integers(input);
      return integers && integers->size() == order_.size();
    };
    const auto operands = node.inputs().first(arithmetic->operands);
    return std::ranges::all_of(node.inputs().subspan(operands.size(), arithmetic->lists), is_list) &&
           std::ranges::all_of(operands, is_good) && std::ranges::any_of(operands, [](const Output& operand) {
             return constant_of(operand) == nullptr;
           });
  }

  [[nodiscard]] bool is_leaf(const Output& value) const {
    return transposed_order(*value.node) == order_ && value.node->input(0).info().shape.has_rank() &&
           !undone_.contains(value.node);
  }

  [[nodiscard]] bool keeps_order_of_blocks(const Output& list) const {
    const auto blocks = constant_integers(list);
    if (order_[0] != 0 || !blocks || blocks->size() != order_.size()) return false;
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < blocks->size(); ++axis) {
      if ((*blocks)[axis] != 1) axes.push_back(order_[axis]);
    }
    return std::ranges::is_sorted(axes);
  }

  Output list_before(const Output& list) {
    const std::vector<std::int64_t> behind = *constant_integers(list);
    std::vector<std::int64_t> before(behind.size());
    for (std::size_t axis = 0; axis < behind.size(); ++axis) before[order_[axis]] = behind[axis];
    return insert_integers(insertions_, position_, before, list.node->name() + "/untransposed");
  }

  Output operand_before(const Output& operand) {
    if (is_leaf(operand)) return operand.node->input(0);
    const Tensor* constant = constant_of(operand);
    if (constant == nullptr) return before(*operand.node);
    if (constant->size() == 1) return operand;
    Shape shape = constant->shape();
    shape.insert(shape.begin(), order_.size() - shape.size(), 1);
    const std::vector<Tensor> inputs{
        constant->reshaped(std::move(shape)),
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(order_.size())}, as_integers(inverse(order_)))};
    return insert_constant(insertions_, position_, evaluate_constants(op::v1::Transpose(), inputs).at(0),
                           operand.node->name() + "/untransposed");
  }

  const ReaderCounts& readers_;
  const std::unordered_set<const Node*>& undone_;
  Model::Insertions& insertions_;
  const Node& position_;
  AxisOrder order_;
};

}  // namespace

bool sink_transposes(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  std::unordered_set<const Node*> undone;  // by one that meets them now
  bool changed = false;
  for (const Node* back : nodes_of(model)) {
    const auto order = transposed_order(*back);
    if (!order) continue;
    Node& node = *back->input(0).node;
    Sinking sinking(readers, undone, insertions, node, inverse(*order));
    if (!sinking.is_possible(node)) continue;
    const Output value = sinking.before(node);
    const Output back_order =
        insert_integers(insertions, node, as_integers(inverse(*order)), node.name() + "/order");
    rewrite(node, op::v1::Transpose(), {value, back_order});
    undone.insert(back);
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
