#include "runtime/passes/growing_variables.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/state.h"
#include "kernels/base/indices.h"
#include "runtime/model/state.h"
#include "runtime/ops/infer.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {
namespace {

/// ReadValue, perhaps Gather of batches, Concat, Assign.
struct Growth {
  Node* read = nullptr;
  Node* gather = nullptr;
  Node* concat = nullptr;
  Node* assign = nullptr;
  std::size_t axis = 0;
};

class GrowingVariables {
 public:
  explicit GrowingVariables(Model& model) : model_(model) {}

  std::map<std::string, AxisOrder, std::less<>> run() {
    std::map<std::string, AxisOrder, std::less<>> orders;
    if (std::ranges::any_of(model_.nodes(), [](const auto& node) { return has_stateful_body(*node); }))
      return orders;
    for (const Growth& growth : find()) {
      AxisOrder order{growth.axis};
      for (std::size_t axis = 0; axis < growth.read->output(0).shape.rank(); ++axis) {
        if (axis != growth.axis) order.push_back(axis);
      }
      turn(growth, order);
      orders.emplace(*variable_read_by(growth.read->op()), std::move(order));
    }
    if (!orders.empty()) model_.infer();
    return orders;
  }

 private:
  std::vector<Growth> find() const {
    std::map<std::string_view, std::vector<Node*>> reads;
    std::map<std::string_view, std::vector<Node*>> assigns;
    for (const auto& node : model_.nodes()) {
      if (const std::string* id = variable_read_by(node->op())) reads[*id].push_back(node.get());
      if (const std::string* id = variable_assigned_by(node->op())) assigns[*id].push_back(node.get());
    }
    std::vector<Growth> found;
    // Each goes through the whole model; language models have some hundred.
    constexpr std::size_t kMostVisits = std::size_t{1} << 23;
    if (reads.size() > kMostVisits / model_.nodes().size()) return found;
    for (const auto& [id, nodes] : reads) {
      if (nodes.size() != 1 || assigns[id].size() != 1) continue;
      if (const auto growth = growth_of(*nodes[0], *assigns[id][0])) found.push_back(*growth);
    }
    return found;
  }

  std::optional<Growth> growth_of(Node& read, Node& assign) const {
    Growth growth;
    growth.read = &read;
    growth.assign = &assign;
    growth.concat = assign.input(0).node;
    const auto* concat = growth.concat->op().as<op::v0::Concat>();
    const PartialShape& shape = read.output(0).shape;
    if (concat == nullptr || !read.op().is<op::v6::ReadValue>() || !shape.has_rank()) return std::nullopt;
    Node* first = growth.concat->input(0).node;
    if (gathers_slices(*first) && first->input(1).info().shape.has_rank() &&
        first->input(1).info().shape.rank() == 1) {
      growth.gather = first;
      first = first->input(0).node;
    }
    growth.axis = kernels::normalize_index(concat->axis, shape.rank());
    if (first != &read || !moves(shape, growth.axis) || !is_seen_only_there(growth)) return std::nullopt;
    return growth;
  }

  // Whether what is there would have to move to make room.
  static bool moves(const PartialShape& shape, std::size_t axis) {
    for (std::size_t before = 0; before < axis; ++before) {
      if (shape[before] != Dimension(1)) return true;
    }
    return false;
  }

  // Others may only ask for the shape of what was there before.
  bool is_seen_only_there(const Growth& growth) const {
    const auto takes_part = [&](const Node* node) { return node == growth.gather || node == growth.concat; };
    return std::ranges::all_of(model_.nodes(), [&](const auto& node) {
      if (std::ranges::find(node->inputs(), Output(*growth.assign)) != node->inputs().end()) return false;
      if (takes_part(node.get()))
        return std::ranges::count_if(node->inputs(), [&](const Output& input) {
                 return input.node == growth.read || input.node == growth.gather;
               }) == 1;
      return is_shape_of(node->op()) || std::ranges::none_of(node->inputs(), [&](const Output& input) {
               return input.node == growth.read || input.node == growth.gather;
             });
    });
  }

  void turn(const Growth& growth, const AxisOrder& order) {
    auto& read = *growth.read->op().as<op::v6::ReadValue>();
    std::vector<Dimension> dims;
    for (const std::size_t axis : order) dims.push_back(growth.read->output(0).shape[axis]);
    read.variable_shape = PartialShape(std::move(dims));
    if (!growth.read->inputs().empty())
      growth.read->set_input(0, transposed(growth.read->input(0), order, *growth.read));
    infer_node(*growth.read);
    if (growth.gather != nullptr) {
      const std::vector<std::int64_t> axis{static_cast<std::int64_t>(inverse(order)[0])};
      Model::Insertions insertions(model_);
      growth.gather->set_input(2,
                               insert_constant(insertions, *growth.gather, Tensor::of<std::int64_t>({}, axis),
                                               growth.gather->name() + "/axis"));
      infer_node(*growth.gather);
    }
    for (std::size_t i = 1; i < growth.concat->inputs().size(); ++i)
      growth.concat->set_input(i, transposed(growth.concat->input(i), order, *growth.concat));
    growth.concat->op().as<op::v0::Concat>()->axis = 0;
    infer_node(*growth.concat);
    Node& seen = *transposed(*growth.concat, inverse(order), after(*growth.concat)).node;
    model_.replace(*growth.concat, seen);
    growth.assign->set_input(0, *growth.concat);
    turn_shapes(*growth.read, *growth.read, order);
    if (growth.gather != nullptr) turn_shapes(*growth.gather, *growth.gather, order);
    turn_shapes(seen, *growth.concat, order);
  }

  // Who asks for the shape of `seen` gets that of `turned`, in the order from before: no Transpose has to
  // run.
  void turn_shapes(const Node& seen, Node& turned, const AxisOrder& order) {
    for (Node* node : nodes_of(model_)) {
      if (!is_shape_of(node->op()) || node->input(0).node != &seen) continue;
      node->set_input(0, turned);
      infer_node(*node);
      if (node == model_.nodes().back().get()) return;  // nobody reads it
      const Node& position = after(*node);
      model_.replace(*node, in_order(*node, inverse(order), position));
    }
  }

  // The elements of a shape, in another order.
  Output in_order(Node& shape, const AxisOrder& order, const Node& position) {
    Model::Insertions insertions(model_);
    const Output places = insert_integers(insertions, position, as_integers(order), shape.name() + "/places");
    const Output axis =
        insert_constant(insertions, position, Tensor::of<std::int64_t>({}, {0}), shape.name() + "/axis");
    return insertions.before(position, op::v8::Gather(), {shape, places, axis}, shape.name() + "/as_seen");
  }

  Output transposed(const Output& value, const AxisOrder& order, const Node& position) {
    const std::string& name = position.name();
    Model::Insertions insertions(model_);
    const Output axes = insert_integers(insertions, position, as_integers(order), name + "/axes");
    return insertions.before(position, op::v1::Transpose(), {value, axes}, name + "/turned");
  }

  /// The next node; there is one.
  [[nodiscard]] const Node& after(const Node& node) const {
    const auto found = std::ranges::find(model_.nodes(), &node, &std::unique_ptr<Node>::get);
    return **(found + 1);
  }

  Model& model_;
};

}  // namespace

std::map<std::string, AxisOrder, std::less<>> keep_growing_axes_first(Model& model) {
  return GrowingVariables(model).run();
}

}  // namespace ir::passes
