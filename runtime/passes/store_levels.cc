#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir_runtime/ops/quantization.h"
#include "kernels/weights/integer_weights.h"
#include "runtime/ops/fused.h"
#include "runtime/ops/fused_elementwise.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::Quantization;

template <class Core>
const op::FusedTail* tail_of_integers(const Node& node, std::size_t window_axis) {
  const auto* fused = node.op().as<op::Fused<Core>>();
  if (fused == nullptr || !fused->input_grid) return nullptr;
  const PartialShape& filters = node.input(1).info().shape;  // of constants
  // Levels that miss 0 are none of what windows see outside of the image.
  bool is_window = false;
  for (std::size_t axis = window_axis; axis < filters.rank(); ++axis)
    is_window = is_window || filters[axis] != Dimension(1);
  return is_window && fused->input_grid->offset != 0 ? nullptr : &fused->tail;
}

// The tail of a convolution that multiplies integers of its image, as far as is known before its weights are
// looked at; nullptr for other operations.
const op::FusedTail* tail_of_integers(const Node& node) {
  if (node.op().is<op::FusedConvolution>()) return tail_of_integers<op::v1::Convolution>(node, 2);
  const op::FusedTail* const tail = tail_of_integers<op::v1::GroupConvolution>(node, 3);
  const bool is_depthwise = tail != nullptr && node.input(1).info().shape[2] == Dimension(1);
  return is_depthwise ? nullptr : tail;
}

// The quantisation that the results of a node are levels of, if it could store these.
std::optional<Quantization> levels_of_results(const Node& node) {
  std::optional<Quantization> found;
  if (const op::FusedTail* const tail = tail_of_integers(node)) {
    if (tail->functions.quantization.size() == 1 && !tail->residual) found = tail->functions.quantization[0];
  } else if (const auto* chain = node.op().as<op::FusedElementwise>()) {
    const auto* last = std::get_if<Quantization>(&chain->stages.back().function);
    if (last != nullptr) found = *last;
  } else if (node.output_count() == 1 && node.output(0).type == ElementType::f32) {
    found = quantization_function(node);
  }
  return found && found->has_bytes() && found->out_range > 0 ? found : std::nullopt;
}

class Storing {
 public:
  explicit Storing(Model& model)
      : model_(model),
        readers_(model.nodes().size()),
        passes_on_(model.nodes().size()),
        levels_(model.nodes().size()) {
    for (const auto& node : model.nodes()) {
      places_.emplace(node.get(), places_.size());
      for (const Output& input : node->inputs()) readers_[places_.at(input.node)].push_back(node.get());
    }
    for (std::size_t i = passes_on_.size(); i-- > 0;) {
      Node& node = *model.nodes()[i];
      passes_on_[i] = takes_maxima(node) && node.output_count() == 1 && all_read_levels(node);
    }
  }

  bool run() {
    bool changed = false;
    for (const auto& node : model_.nodes()) {
      const std::optional<Quantization> levels =
          passes_on(*node) ? stored(node->input(0)) : levels_of_results(*node);
      if (!levels || !all_read_levels(*node)) continue;
      levels_[places_.at(node.get())] = levels;
      changed = true;
    }
    for (const auto& node : model_.nodes()) {
      const bool reads =
          std::ranges::any_of(node->inputs(), [&](const Output& input) { return !!stored(input); });
      if (reads || stored(*node)) convert(*node);
    }
    return changed;
  }

 private:
  [[nodiscard]] std::optional<Quantization> stored(const Output& value) const {
    return value.index == 0 ? levels_[places_.at(value.node)] : std::nullopt;
  }

  [[nodiscard]] bool all_read_levels(const Output& value) const {
    const std::vector<const Node*>& readers = readers_[places_.at(value.node)];
    return !readers.empty() &&
           std::ranges::all_of(readers, [&](const Node* reader) { return reads_levels(*reader, value); });
  }
  /// The levels that it reads, if these are stored.
  [[nodiscard]] bool passes_on(const Node& node) const { return passes_on_[places_.at(&node)]; }
  [[nodiscard]] bool reads_levels(const Node& node, const Output& value) const {
    if (passes_on(node)) return true;
    if (node.op().is<op::FusedElementwise>() || quantization_function(node)) return true;
    return tail_of_integers(node) != nullptr && node.input(0) == value &&
           std::ranges::count(node.inputs(), value) == 1;
  }

  void convert(Node& node) const {
    Op op = node.op();
    if (auto* convolution = op.as<op::FusedConvolution>()) {
      convert(node, *convolution);
    } else if (auto* grouped = op.as<op::FusedGroupConvolution>()) {
      convert(node, *grouped);
    } else if (auto* chain = op.as<op::FusedElementwise>()) {
      chain->levels.inputs.clear();
      for (const Output& input : node.inputs()) chain->levels.inputs.push_back(stored(input));
      chain->levels.output = stored(node).has_value();
    } else if (const auto quantization = quantization_function(node)) {
      op::FusedElementwise levels;
      levels.inputs = 1;
      levels.stages.push_back({*quantization, {}});
      levels.types.push_back(node.op().type());
      levels.levels.inputs.push_back(stored(node.input(0)));
      levels.levels.output = stored(node).has_value();
      return rewrite(node, std::move(levels), {node.input(0)});
    }
    rewrite(node, std::move(op), {node.inputs().begin(), node.inputs().end()});
  }
  template <class Core>
  void convert(Node& node, op::Fused<Core>& convolution) const {
    convolution.input_levels = stored(node.input(0));
    convolution.tail.levels = stored(node).has_value();
  }

  Model& model_;
  std::unordered_map<const Node*, std::size_t> places_;
  std::vector<std::vector<const Node*>> readers_;    // of each node
  std::vector<bool> passes_on_;                      // of each node: readers know levels, and so does it
  std::vector<std::optional<Quantization>> levels_;  // that each node stores
};

}  // namespace

bool store_levels(Model& model) { return kernels::multiplies_bytes() && Storing(model).run(); }

}  // namespace ir::passes
