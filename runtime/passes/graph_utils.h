// What rewrites share: who reads a value, what is known of it, and how a node becomes another.
#ifndef RUNTIME_PASSES_GRAPH_UTILS_H_
#define RUNTIME_PASSES_GRAPH_UTILS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir_runtime/model.h"
#include "ir_runtime/ops/attributes.h"
#include "runtime/model/state.h"

namespace ir::passes {

/// The nodes that the model has now: others may be inserted while these are gone through.
std::vector<Node*> nodes_of(const Model& model);

/// How many inputs read each value, as the model was when this was made.
class ReaderCounts {
 public:
  explicit ReaderCounts(const Model& model);

  [[nodiscard]] std::size_t of(const Output& value) const;
  [[nodiscard]] bool single(const Output& value) const { return of(value) == 1; }

 private:
  std::vector<Output> reads_;  // sorted
};

/// Where each node stands in the model, as the model was when this was made.
class NodePlaces {
 public:
  explicit NodePlaces(const Model& model);

  [[nodiscard]] std::size_t of(const Node& node) const { return places_.at(&node); }

 private:
  std::unordered_map<const Node*, std::size_t> places_;
};

/// Values that give way to others, for all of their readers in one walk.
class Replacements {
 public:
  void add(const Output& from, const Output& to) { others_.insert_or_assign({from.node, from.index}, to); }
  /// As Model::replace does for each.
  void apply(const Model& model) const;

 private:
  std::map<std::pair<const Node*, std::size_t>, Output> others_;
};

/// The elements of a value that are known before the model runs, else null.
inline const Tensor* constant_of(const Output& value) { return value.info().constant.get(); }

/// The number that a constant of real type repeats in all of its elements.
std::optional<double> repeated_number(const Output& value);

/// The elements of a constant of an integer type.
std::optional<std::vector<std::int64_t>> constant_integers(const Output& value);

/// Where each axis of the output of a Transpose comes from, when that is known; empty for other nodes.
std::optional<AxisOrder> transposed_order(const Node& node);

inline std::vector<std::int64_t> as_integers(const AxisOrder& order) { return {order.begin(), order.end()}; }

/// Whether two values have the same shape whatever the model runs with. Of dims that are not known, equal
/// ones may turn out to be different numbers, unless one value is computed from the other one in a way that
/// keeps them: arithmetic with a constant changes a dim to a number that is known, or not at all.
bool surely_same_shape(const ValueInfo& a, const ValueInfo& b);

/// Axes of values of that shape, if they and its rank are known; ascending.
std::optional<std::vector<std::size_t>> known_axes(const Output& axes, const PartialShape& shape);

/// Whether it is this operation of two operands, whose last axes line up, as the rewrites take it. By the
/// rule of PDPD the second one's may lie at any axis of the first.
template <class T>
bool aligns_last_axes(const Op& op) {
  const auto* binary = op.as<T>();
  return binary != nullptr && binary->auto_broadcast != op::AutoBroadcast::pdpd;
}

/// Whether what is computed from `value` and numbers, of whatever shapes, is sure to have its shape.
bool surely_keeps_shape(const Node& node, const Output& value);

/// Whether it gives its first input's elements in the same order, in a shape that may be another one:
/// Reshape, Squeeze, Unsqueeze.
bool only_changes_shape(const Op& op);

bool is_shape_of(const Op& op);

/// Whether it is a Gather, the same one for all batches.
bool gathers(const Op& op);

/// Whether the node is a Gather of slices along axis 0, the same ones for all batches.
bool gathers_slices(const Node& node);

/// Turns `node`, where it stands and with its name, into another operation. Its outputs must keep their types
/// and shapes; inputs come from nodes before it.
void rewrite(Node& node, Op op, std::vector<Output> inputs);

/// A constant that nodes from `position` on can read.
Output insert_constant(Model::Insertions& insertions, const Node& position, Tensor value, std::string name);
/// The same of i64, as shapes and axes are given.
Output insert_integers(Model::Insertions& insertions, const Node& position,
                       std::span<const std::int64_t> values, std::string name);

/// Two operands in the order (first one for which `is_wanted` holds, other one); empty when it holds for
/// none.
template <class F>
std::optional<std::pair<Output, Output>> either_way(const Node& node, const F& is_wanted) {
  if (is_wanted(node.input(0))) return std::pair(node.input(0), node.input(1));
  if (is_wanted(node.input(1))) return std::pair(node.input(1), node.input(0));
  return std::nullopt;
}

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_GRAPH_UTILS_H_
