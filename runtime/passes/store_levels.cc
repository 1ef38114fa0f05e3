#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "ir_runtime/ops/quantization.h"
#include "kernels/weights/integer_weights.h"
#include "runtime/ops/fused.h"
#include "runtime/ops/fused_elementwise.h"
#include "runtime/ops/fused_separable.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using kernels::Quantization;

// Whether everything from the image of the depthwise stage to that of the projection may be levels, as far as
// is known before weights are looked at.
bool has_levels_between(const op::FusedSeparable& chain) {
  const auto has_zero = [](const kernels::IntegerGrid& grid) { return grid.offset == 0; };
  const auto is_quantised_sum = [](const op::FusedTail& tail) {
    return op::clamp_of(tail.functions).has_value();
  };
  return chain.projection && chain.projection->input_grid && !chain.depthwise_grids.empty() &&
         std::ranges::all_of(chain.depthwise_grids, has_zero) && is_quantised_sum(chain.depthwise.tail) &&
         (!chain.expansion || is_quantised_sum(chain.expansion->tail));
}

template <class Core>
const op::FusedTail* tail_of_core(const Node& node) {
  const auto* fused = node.op().as<op::Fused<Core>>();
  return fused != nullptr && fused->input_grid ? &fused->tail : nullptr;
}

// The tail of a convolution that multiplies integers of its image, as far as is known before its weights are
// looked at; nullptr for other operations.
const op::FusedTail* tail_of_integers(const Node& node) {
  if (const auto* chain = node.op().as<op::FusedSeparable>()) {
    return has_levels_between(*chain) ? &chain->projection->tail : nullptr;
  }
  if (node.op().is<op::FusedConvolution>()) return tail_of_core<op::v1::Convolution>(node);
  const op::FusedTail* const tail = tail_of_core<op::v1::GroupConvolution>(node);
  const bool is_depthwise = tail != nullptr && node.input(1).info().shape[2] == Dimension(1);
  return is_depthwise ? nullptr : tail;
}

// Of all channels, or of each; empty: none.
using Levels = std::vector<Quantization>;

// The quantisation that the results of a node are levels of, if it could store these.
Levels levels_of_results(const Node& node) {
  Levels found;
  if (const op::FusedTail* const tail = tail_of_integers(node)) {
    if (!tail->residual) found = tail->functions.quantization;
  } else if (const auto* chain = node.op().as<op::FusedElementwise>()) {
    const auto* last = std::get_if<Quantization>(&chain->stages.back().function);
    if (last != nullptr) found = {*last};
  } else if (node.output_count() == 1 && node.output(0).type == ElementType::f32) {
    if (const auto quantization = quantization_function(node)) found = {*quantization};
  }
  const auto can_be_stored = [](const Quantization& of) { return of.has_bytes() && of.out_range > 0; };
  return std::ranges::all_of(found, can_be_stored) ? found : Levels();
}

// Whether the first stage of a chain takes levels, of each channel if it is the depthwise one.
bool reads_levels(const op::FusedSeparable& chain, bool of_each_channel) {
  return chain.expansion ? chain.expansion->input_grid && !of_each_channel : has_levels_between(chain);
}

class Storing {
 public:
  explicit Storing(Model& model)
      : model_(model),
        places_(model),
        readers_(model.nodes().size()),
        passes_on_(model.nodes().size()),
        own_levels_(model.nodes().size()),
        levels_(model.nodes().size()) {
    for (const auto& node : model.nodes()) {
      for (std::size_t i = 0; i < node->inputs().size(); ++i)
        readers_[places_.of(*node->input(i).node)].push_back({node.get(), i});
    }
    for (std::size_t i = 0; i < passes_on_.size(); ++i) {
      const Node& node = *model.nodes()[i];
      passes_on_[i] = gives_floats(node) ? inputs_passed_on(node) : 0;
      if (passes_on_[i] == 0) own_levels_[i] = levels_of_results(node);
    }
  }

  bool run() {
    settle();
    bool changed = false;
    for (const auto& node : model_.nodes()) {
      const auto is_stored = [&](const Output& input) { return !levels_of(*input.node).empty(); };
      if (levels_of(*node).empty() && std::ranges::none_of(node->inputs(), is_stored)) continue;
      convert(*node);
      changed = true;
    }
    return changed;
  }

 private:
  /// An input of a node.
  struct Reader {
    const Node* node;
    std::size_t input;
  };

  static bool gives_floats(const Node& node) {
    for (std::size_t i = 0; i < node.output_count(); ++i) {
      if (node.output(i).type != ElementType::f32) return false;
    }
    return true;
  }

  /// What is passed on depends on readers, and where there are several inputs on the others, whose readers
  /// the same nodes are: all may pass on levels, until one cannot.
  void settle() {
    constexpr int kMostRounds = 16;
    const auto is_in_vain = [&](const Node& node) { return !all_read_levels(node); };
    const auto is_mixed = [&](const Node& node) { return passes_on(node) > 1 && levels_of(node).empty(); };
    for (int round = 0; round < kMostRounds; ++round) {
      leave_to_floats(is_in_vain);
      find_levels();
      if (!leave_to_floats(is_mixed)) return;
    }
    leave_to_floats([&](const Node& node) { return passes_on(node) > 1; });
    leave_to_floats(is_in_vain);
    find_levels();
  }

  /// Nodes of which that is true pass nothing on, from the last one to the first; whether there are any.
  template <class IsTrue>
  bool leave_to_floats(const IsTrue& is_true) {
    bool any = false;
    for (std::size_t i = passes_on_.size(); i-- > 0;) {
      if (passes_on_[i] == 0 || !is_true(*model_.nodes()[i])) continue;
      passes_on_[i] = 0;
      any = true;
    }
    return any;
  }

  void find_levels() {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const Node& node = *model_.nodes()[i];
      if (passes_on_[i] != 0) {
        levels_[i] = common_levels(node.inputs().first(passes_on_[i]));
      } else if (all_read_levels(node)) {
        levels_[i] = own_levels_[i];
      } else {
        levels_[i].clear();
      }
    }
  }
  [[nodiscard]] Levels common_levels(std::span<const Output> values) const {
    const Levels& first = levels_of(*values[0].node);
    const auto agrees = [&](const Output& value) {
      const Levels& levels = levels_of(*value.node);
      return levels.size() == 1 && are_same_levels(levels[0], first[0]);
    };
    return first.size() == 1 && std::ranges::all_of(values, agrees) ? first : Levels();
  }

  [[nodiscard]] const Levels& levels_of(const Node& node) const { return levels_[places_.of(node)]; }
  [[nodiscard]] std::size_t passes_on(const Node& node) const { return passes_on_[places_.of(node)]; }

  [[nodiscard]] bool all_read_levels(const Node& node) const {
    const std::size_t place = places_.of(node);
    const bool of_each_channel = own_levels_[place].size() > 1;
    const std::vector<Reader>& readers = readers_[place];
    return !readers.empty() && std::ranges::all_of(readers, [&](const Reader& reader) {
      return reads_levels(reader, of_each_channel);
    });
  }
  [[nodiscard]] bool reads_levels(const Reader& reader, bool of_each_channel) const {
    const Node& node = *reader.node;
    if (const auto* chain = node.op().as<op::FusedSeparable>())
      return reader.input == 0 && passes::reads_levels(*chain, of_each_channel);
    if (of_each_channel) return false;
    if (reader.input < passes_on(node) || node.op().is<op::FusedElementwise>()) return true;
    return reader.input == 0 && (quantization_function(node) || tail_of_integers(node) != nullptr);
  }

  void convert(Node& node) const {
    Op op = node.op();
    if (auto* convolution = op.as<op::FusedConvolution>()) {
      convert(node, *convolution);
    } else if (auto* grouped = op.as<op::FusedGroupConvolution>()) {
      convert(node, *grouped);
    } else if (auto* separable = op.as<op::FusedSeparable>()) {
      const Levels& input = levels_of(*node.input(0).node);
      (separable->expansion ? separable->expansion->input_levels : separable->depthwise.input_levels) = input;
      if (separable->projection) separable->projection->tail.levels = !levels_of(node).empty();
    } else if (auto* chain = op.as<op::FusedElementwise>()) {
      chain->levels.inputs.clear();
      for (const Output& input : node.inputs()) chain->levels.inputs.push_back(levels_read_from(input));
      chain->levels.output = !levels_of(node).empty();
    } else if (const auto quantization = quantization_function(node)) {
      op::FusedElementwise levels;
      levels.inputs = 1;
      levels.stages.push_back({*quantization, {}});
      levels.types.push_back(node.op().type());
      levels.levels.inputs.push_back(levels_read_from(node.input(0)));
      levels.levels.output = !levels_of(node).empty();
      return rewrite(node, std::move(levels), {node.input(0)});
    }
    rewrite(node, std::move(op), {node.inputs().begin(), node.inputs().end()});
  }
  template <class Core>
  void convert(Node& node, op::Fused<Core>& convolution) const {
    convolution.input_levels = levels_of(*node.input(0).node);
    convolution.tail.levels = !levels_of(node).empty();
  }
  /// By what knows those of all channels only.
  [[nodiscard]] std::optional<Quantization> levels_read_from(const Output& value) const {
    const Levels& levels = levels_of(*value.node);
    return levels.empty() ? std::nullopt : std::optional(levels[0]);
  }

  Model& model_;
  NodePlaces places_;
  // Of each node:
  std::vector<std::vector<Reader>> readers_;
  std::vector<std::size_t> passes_on_;  ///< how many of its inputs' levels, if all of these are stored
  std::vector<Levels> own_levels_;      ///< those of its results, if it makes some
  std::vector<Levels> levels_;          ///< that all of its outputs store
};

}  // namespace

bool store_levels(Model& model) { return kernels::multiplies_bytes() && Storing(model).run(); }

}  // namespace ir::passes
