// Infers the layers of a network one after another, compares them with what the file declares, and tells
// causes from consequences.
#ifndef IR_READER_LAYER_INFERENCE_H_
#define IR_READER_LAYER_INFERENCE_H_

#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir_reader/layers.h"
#include "ir_reader/neighbours.h"
#include "ir_reader/port_check.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// Where inference and file contradict each other, what the file declares is taken as the truth for the
/// layers behind. When a layer behind contradicts that, and would not contradict what inference gave, its
/// findings only repeat the first one, and are kept as its consequences.
///
/// A validator without weights cannot infer dims that depend on values. There, too, what the file declares is
/// taken, so that the layers behind are compared with each other at least.
class LayerInference {
 public:
  LayerInference(const ReadState& state, const LayerGraph& graph, const Sources& sources)
      : state_(state), neighbours_(state, graph, sources) {}

  /// Sets the outputs of the node, whose inputs have been inferred before.
  void infer(const Layer& layer, Node& node);
  /// Whether some node holds what the file declares against inference.
  [[nodiscard]] bool took_declared() const { return !doubts_.empty(); }
  /// Sets the outputs of a node that could not be understood.
  static void take_declared(const Layer& layer, Node& node);

 private:
  // What inference says of an output for which the file's declaration was taken.
  struct Doubt {
    ValueInfo inferred;
    FindingId cause = kNoFinding;
  };
  // An output that is known as far as its port declares it.
  struct Taken {
    ValueInfo inferred;
    const Layer* layer = nullptr;
    const LayerPort* port = nullptr;
  };
  // What becomes of a layer for given inputs.
  struct Attempt {
    std::vector<ValueInfo> outputs;
    std::optional<Diagnostic> failure;
    /// The input that the failure is about, when it is about one.
    std::optional<std::size_t> failed_input;
    std::vector<PortFinding> found;
    /// What it was given, when something is wrong.
    std::vector<ValueInfo> inputs;
    /// Attributes that would fit (attributes_that_fit), once they were looked for.
    std::optional<std::string> fitting;

    [[nodiscard]] bool clean() const { return !failure && found.empty(); }
    [[nodiscard]] std::size_t count() const { return found.size() + (failure ? 1 : 0); }
    [[nodiscard]] bool has(const Diagnostic& diagnostic) const;
    /// Contradicts less. A failure says nothing of the outputs, so that any other attempt is better.
    [[nodiscard]] bool better_than(const Attempt& other) const;
  };

  Attempt attempt(const Layer& layer, const Node& node, std::span<const ValueInfo> inputs) const;
  /// Whether some input comes from a port that declares its rank unknown.
  [[nodiscard]] bool has_unknown_rank(const Node& node) const;
  [[nodiscard]] const Doubt* doubt_about(const Output& value) const;
  [[nodiscard]] const Taken* taken(const Output& value) const;
  /// Adds a finding at an input port whose value was taken from a declaration: one of both is wrong.
  FindingId report_either(const Output& value, const Taken& taken, Diagnostic diagnostic);
  FindingId report_inputs(const Layer& layer, const Node& node, std::vector<PortFinding>& found);
  /// The attempt with inputs as the layer or inference means them, when it contradicts less.
  void try_what_was_meant(const Layer& layer, const Node& node, std::vector<ValueInfo> inputs,
                          std::span<const PortFinding> at_inputs, FindingId cause, Attempt& chosen);
  void settle(const Layer& layer, Node& node, Attempt chosen);
  /// When two inputs have what the port of the other one declares, one finding says so; the others follow.
  void fold_crossed_inputs(const Layer& layer, const Node& node, std::vector<PortFinding>& found);
  /// Completes findings at outputs, or that inference failed, by what would fit, before they are added.
  void advise(const Layer& layer, const Node& node, Attempt& chosen);
  /// Says which edge was meant, or that the port is wrong where the layer gives what it declares.
  void advise_on_inputs(const Layer& layer, const Attempt& chosen, std::vector<PortFinding>& found);
  std::string advice_on_output(const Layer& layer, const Node& node, Attempt& chosen, std::size_t output);
  const std::string& fitting_attributes(const Layer& layer, const Node& node, Attempt& chosen);
  void take_open_dims(const Layer& layer, const Node& node, std::span<const std::optional<Doubt>> doubts,
                      std::vector<ValueInfo>& outputs);
  void limit_known_values(const Layer& layer, std::vector<ValueInfo>& outputs) const;

  const ReadState& state_;
  Neighbours neighbours_;
  // Layers for which attributes were tried: each takes some hundred inferences.
  std::size_t searches_ = 0;
  // Outputs of which the rank is declared unknown, whatever inference knows of it.
  std::set<std::pair<const Node*, std::size_t>> unknown_ranks_;
  // By node, one entry per output.
  std::unordered_map<const Node*, std::vector<std::optional<Doubt>>> doubts_;
  std::unordered_map<const Node*, std::vector<std::optional<Taken>>> taken_;
};

}  // namespace ir::reader

#endif  // IR_READER_LAYER_INFERENCE_H_
