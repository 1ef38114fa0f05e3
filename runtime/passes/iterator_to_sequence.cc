#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/sequence.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/infer_model.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

constexpr std::int64_t kMostLengths = std::int64_t{1} << 20;

/// The value whose elements these are, in the same order.
Output without_shape_changes(Output value) {
  while (only_changes_shape(value.node->op())) value = value.node->input(0);
  return value;
}

/// The operation that runs a cell over a sequence, where there is one.
std::optional<Op> sequence_of(const Op& cell, op::RecurrentDirection direction) {
  const auto with = [direction](auto sequence, const op::RecurrentAttributes& attributes) {
    static_cast<op::RecurrentAttributes&>(sequence) = attributes;
    sequence.direction = direction;
    return sequence;
  };
  if (const auto* rnn = cell.as<op::v0::RNNCell>()) return Op(with(op::v5::RNNSequence(), *rnn));
  if (const auto* lstm = cell.as<op::v4::LSTMCell>()) return Op(with(op::v5::LSTMSequence(), *lstm));
  if (const auto* gru = cell.as<op::v3::GRUCell>()) {
    auto sequence = with(op::v5::GRUSequence(), *gru);
    sequence.linear_before_reset = gru->linear_before_reset;
    return Op(std::move(sequence));
  }
  if (const auto* lstm = cell.as<op::v0::LSTMCell>()) {
    auto sequence = with(op::v0::LSTMSequence(), *lstm);
    sequence.input_forget = lstm->input_forget;
    sequence.weights_format = lstm->weights_format;
    return Op(std::move(sequence));
  }
  return std::nullopt;
}

/// The cell, if a body has nothing else that computes something.
const Node* only_cell(const Model& body) {
  const Node* cell = nullptr;
  for (const auto& node : body.nodes()) {
    const Op& op = node->op();
    const bool computes_nothing = op.is<op::v0::Parameter>() || op.is<op::v0::Constant>() ||
                                  op.is<op::v0::Result>() || only_changes_shape(op);
    if (computes_nothing) continue;
    if (cell != nullptr || !sequence_of(op, op::RecurrentDirection::forward)) return nullptr;
    cell = node.get();
  }
  return cell;
}

/// What parameters of the body hold, whatever the iteration.
std::vector<ValueInfo> parameters_of(const Node& node, const Subgraph& subgraph) {
  std::vector<ValueInfo> parameters(subgraph.body->parameters().size());
  for (const Subgraph::Input& input : subgraph.inputs) {
    ValueInfo& parameter = parameters[input.parameter];
    if (input.outer < 0) {
      parameter = subgraph.body->parameters()[input.parameter]->output(0);
      continue;
    }
    parameter = node.input(static_cast<std::size_t>(input.outer)).info();
    if (!input.slicing && !input.back_edge) continue;
    parameter.constant = nullptr;
    parameter.elements.reset();
    parameter.reals.reset();
    const auto axis = input.slicing ? input.slicing->axis : -1;
    if (axis >= 0 && parameter.shape.has_rank() && static_cast<std::size_t>(axis) < parameter.shape.rank())
      parameter.shape[static_cast<std::size_t>(axis)] = Dimension(input.slicing->part_size);
  }
  return parameters;
}

/// Single elements of axis 0 or 1, one after the other, from the first to the last or back.
bool takes_every_element(const Slicing& slicing) {
  const bool forward = slicing.stride == 1 && slicing.start == 0 && slicing.end == -1;
  const bool reverse = slicing.stride == -1 && slicing.start == -1 && slicing.end == 0;
  return slicing.part_size == 1 && (slicing.axis == 0 || slicing.axis == 1) && (forward || reverse);
}

/// A TensorIterator or Loop whose body is a cell, and what it means to the operation that runs over
/// sequences.
class IteratedCell {
 public:
  /// Empty unless it is one.
  static std::optional<IteratedCell> find(const Node& node) {
    const bool is_loop = node.op().is<op::v5::Loop>();
    if (!is_loop && !node.op().is<op::v0::TensorIterator>()) return std::nullopt;
    const Subgraph& subgraph = subgraphs_of(node.op()).front();
    const Node* cell = only_cell(*subgraph.body);
    if (cell == nullptr) return std::nullopt;
    try {
      IteratedCell found(node, subgraph, *cell);
      const bool is_one = found.reads_sequence() && found.carries_states() && found.knows_weights() &&
                          found.gives_sequence_and_states() && (!is_loop || found.runs_to_end());
      return is_one ? std::optional(std::move(found)) : std::nullopt;
    } catch (const InferenceFailure&) {
      return std::nullopt;  // running the loop tells
    }
  }

  void replace(Replacements& replacements, Model::Insertions& insertions, Node& node) const;

 private:
  IteratedCell(const Node& node, const Subgraph& subgraph, const Node& cell)
      : node_(node),
        subgraph_(subgraph),
        cell_(cell),
        states_(cell.output_count()),
        values_(infer_model(*subgraph.body, parameters_of(node, subgraph))) {}

  [[nodiscard]] const Subgraph::Input* input_of(const Output& value) const {
    const auto& parameters = subgraph_.body->parameters();
    const auto at = std::ranges::find(parameters, value.node);
    if (at == parameters.end()) return nullptr;
    const auto index = static_cast<std::size_t>(at - parameters.begin());
    const auto found = std::ranges::find(subgraph_.inputs, index, &Subgraph::Input::parameter);
    return found == subgraph_.inputs.end() || found->outer < 0 ? nullptr : &*found;
  }
  [[nodiscard]] const Output& outer_of(const Subgraph::Input& input) const {
    return node_.input(static_cast<std::size_t>(input.outer));
  }
  [[nodiscard]] const Output& result(std::size_t index) const {
    return subgraph_.body->results()[index]->input(0);
  }
  [[nodiscard]] std::size_t weights() const { return 1 + states_; }
  [[nodiscard]] std::size_t bias() const { return weights() + 2; }
  [[nodiscard]] std::size_t batch_axis() const { return 1 - static_cast<std::size_t>(slicing_.axis); }

  /// The cell's input is a slice [1, batch, size] or [batch, 1, size].
  bool reads_sequence() {
    const Subgraph::Input* const input = input_of(without_shape_changes(cell_.input(0)));
    if (input == nullptr || !input->slicing || input->back_edge || !takes_every_element(*input->slicing))
      return false;
    sequence_ = outer_of(*input);
    slicing_ = *input->slicing;
    const ValueInfo& info = sequence_.info();
    return is_real(info.type) && info.shape.has_rank() && info.shape.rank() == 3 && info.shape[2].is_static();
  }

  /// States go round as they are.
  bool carries_states() {
    for (std::size_t state = 0; state < states_; ++state) {
      const Subgraph::Input* const input = input_of(cell_.input(1 + state));
      if (input == nullptr || input->slicing || !input->back_edge) return false;
      const Output& next = result(*input->back_edge);
      if (next.node != &cell_ || next.index != state) return false;
      const PartialShape& shape = outer_of(*input).info().shape;
      if (!shape.has_rank() || shape.rank() != 2) return false;
      if (!shape[0].compatible(sequence_.info().shape[batch_axis()])) return false;
      initial_.push_back(outer_of(*input));
    }
    return true;
  }

  [[nodiscard]] const Tensor* weight(std::size_t input) const {
    return values_.of(cell_.input(input)).constant.get();
  }
  /// Zeros, for cells that leave it out.
  [[nodiscard]] Tensor no_bias() const {
    const Tensor& w = *weight(weights());
    const auto* gru = cell_.op().as<op::v3::GRUCell>();
    const bool has_another = gru != nullptr && gru->linear_before_reset;
    Tensor bias(w.element_type(), {w.shape()[0] + (has_another ? gru->hidden_size : 0)});
    std::memset(bias.raw(), 0, bias.byte_size());
    return bias;
  }
  /// Peepholes are left to the cell.
  [[nodiscard]] bool knows_weights() const {
    for (std::size_t input = weights(); input < cell_.inputs().size(); ++input) {
      const Tensor* constant = weight(input);
      if (constant == nullptr || constant->shape().size() != (input < bias() ? 2U : 1U)) return false;
    }
    return cell_.inputs().size() <= bias() + 1 &&
           sequence_.info().shape[2] == Dimension(weight(weights())->shape()[1]);
  }

  /// Outputs are all hidden states, in the order of the sequence, or the last states.
  [[nodiscard]] bool gives_sequence_and_states() const {
    for (const Subgraph::Output& output : subgraph_.outputs) {
      if (output.outer < 0) continue;
      const Output& value = result(output.result);
      if (!output.slicing) {
        // A sequence without steps leaves the initial states, which the operation forgets.
        const bool has_steps = sequence_.info().shape[static_cast<std::size_t>(slicing_.axis)].min() >= 1;
        if (value.node != &cell_ || !has_steps) return false;
        continue;
      }
      const Slicing& slicing = *output.slicing;
      const Output hidden = without_shape_changes(value);
      const PartialShape& shape = values_.of(value).shape;
      const bool in_order =
          slicing.axis == slicing_.axis && slicing.stride == slicing_.stride && slicing.part_size == 1;
      if (hidden.node != &cell_ || hidden.index != 0 || !in_order) return false;
      const Dimension& size = values_.of(hidden).shape[1];
      if (!shape.has_rank() || shape.rank() != 3 || !shape[2].is_static() || shape[2] != size) return false;
      if (shape[static_cast<std::size_t>(slicing_.axis)] != Dimension(1)) return false;
    }
    return true;
  }

  /// The Loop makes as many trips as there are slices, and no condition ends it before.
  [[nodiscard]] bool runs_to_end() const {
    const auto trips = constant_integers(node_.input(0));
    const auto begins = constant_integers(node_.input(1));
    const Dimension& steps = sequence_.info().shape[static_cast<std::size_t>(slicing_.axis)];
    if (!trips || trips->size() != 1 || !steps.is_static() || steps.value() != trips->front()) return false;
    if (!begins || begins->size() != 1 || begins->front() == 0) return false;
    return std::ranges::all_of(subgraph_.outputs, [&](const Subgraph::Output& output) {
      if (output.outer >= 0) return true;
      const auto goes_on = constant_integers(result(output.result));
      return goes_on && goes_on->size() == 1 && goes_on->front() != 0;
    });
  }

  const Node& node_;
  const Subgraph& subgraph_;
  const Node& cell_;
  std::size_t states_;  ///< hidden and cell state, or one
  ModelValues values_;  ///< of the body
  Output sequence_;
  Slicing slicing_;
  std::vector<Output> initial_;
};

/// Nodes before one of the model's.
class Inserter {
 public:
  Inserter(Model::Insertions& insertions, const Node& position)
      : insertions_(insertions), position_(position) {}

  Node& add(Op op, std::vector<Output> inputs, const char* name) {
    return insertions_.before(position_, std::move(op), std::move(inputs), named(name));
  }
  Output constant(Tensor value, const char* name) {
    return insert_constant(insertions_, position_, std::move(value), named(name));
  }
  Output integers(const std::vector<std::int64_t>& values, const char* name) {
    return insert_integers(insertions_, position_, values, named(name));
  }

 private:
  [[nodiscard]] std::string named(const char* name) const { return position_.name() + "/" + name; }

  Model::Insertions& insertions_;
  const Node& position_;
};

/// For each batch element of `x` [batch, steps, ...] the number of steps.
Output lengths_of(const Output& x, Inserter& inserter) {
  const PartialShape& shape = x.info().shape;
  if (shape[0].is_static() && shape[1].is_static() && shape[0].value() <= kMostLengths) {
    const auto count = static_cast<std::size_t>(shape[0].value());
    return inserter.integers(std::vector<std::int64_t>(count, shape[1].value()), "lengths");
  }
  const Output dims = inserter.add(op::v3::ShapeOf(), {x}, "dims");
  const Output axis = inserter.constant(Tensor::of<std::int64_t>({}, {0}), "axis");
  const auto dim = [&](std::int64_t of) -> Output {
    return inserter.add(op::v8::Gather(), {dims, inserter.integers({of}, "index"), axis}, "dim");
  };
  return inserter.add(op::v3::Broadcast(), {dim(1), dim(0)}, "lengths");
}

void IteratedCell::replace(Replacements& replacements, Model::Insertions& insertions, Node& node) const {
  Inserter inserter(insertions, node);
  const bool steps_first = slicing_.axis == 0;
  const auto swap_outer_axes = [&](const Output& value, const char* name) -> Output {
    return inserter.add(op::v1::Transpose(), {value, inserter.integers({1, 0, 2}, "order")}, name);
  };
  const Output direction_axis = inserter.integers({1}, "direction");
  const Output x = steps_first ? swap_outer_axes(sequence_, "batches_first") : sequence_;

  std::vector<Output> inputs{x};
  for (const Output& state : initial_)
    inputs.push_back(inserter.add(op::v0::Unsqueeze(), {state, direction_axis}, "initial_state"));
  inputs.push_back(lengths_of(x, inserter));
  for (std::size_t input = weights(); input <= bias(); ++input) {
    const Tensor value = input < cell_.inputs().size() ? *weight(input) : no_bias();
    Shape shape = value.shape();
    shape.insert(shape.begin(), 1);
    inputs.push_back(inserter.constant(value.reshaped(std::move(shape)), "weights"));
  }
  const auto direction =
      slicing_.stride > 0 ? op::RecurrentDirection::forward : op::RecurrentDirection::reverse;
  Node& sequence = inserter.add(*sequence_of(cell_.op(), direction), std::move(inputs), "sequence");

  for (const Subgraph::Output& output : subgraph_.outputs) {
    if (output.outer < 0) continue;
    const Output& value = result(output.result);
    const std::size_t given = output.slicing ? 0 : 1 + value.index;
    Output replacement =
        inserter.add(op::v0::Squeeze(), {Output(&sequence, given), direction_axis}, "squeezed");
    if (output.slicing && steps_first) replacement = swap_outer_axes(replacement, "steps_first");
    replacements.add(Output(&node, static_cast<std::size_t>(output.outer)), replacement);
  }
}

}  // namespace

bool iterator_to_sequence(Model& model) {
  bool changed = false;
  Replacements replacements;
  {
    Model::Insertions insertions(model);
    for (Node* node : nodes_of(model)) {
      const auto cell = IteratedCell::find(*node);
      if (!cell) continue;
      cell->replace(replacements, insertions, *node);
      changed = true;
    }
  }
  replacements.apply(model);
  // Less may have been known of what iterations put together.
  if (changed) model.infer();
  return changed;
}

}  // namespace ir::passes
