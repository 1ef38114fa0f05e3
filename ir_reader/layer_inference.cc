#include "ir_reader/layer_inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ir_reader/meant_attributes.h"
#include "ir_runtime/ops/infrastructure.h"
#include "runtime/ops/infer.h"

namespace ir::reader {
namespace {

// The entry for a value in a table by node and output; null when there is none.
template <class Entry>
const Entry* entry_for(const Output& value,
                       const std::unordered_map<const Node*, std::vector<std::optional<Entry>>>& table) {
  const auto found = table.find(value.node);
  if (found == table.end() || value.index >= found->second.size()) return nullptr;
  const std::optional<Entry>& entry = found->second[value.index];
  return entry ? &*entry : nullptr;
}

}  // namespace

bool LayerInference::Attempt::has(const Diagnostic& diagnostic) const {
  const auto same = [&](const Diagnostic& other) {
    return other.code == diagnostic.code && other.where == diagnostic.where;
  };
  return (failure && same(*failure)) || std::ranges::any_of(found, same, &PortFinding::diagnostic);
}

bool LayerInference::Attempt::better_than(const Attempt& other) const {
  if (failure.has_value() != other.failure.has_value()) return !failure;
  return count() < other.count();
}

void LayerInference::take_declared(const Layer& layer, Node& node) {
  std::vector<ValueInfo> outputs;
  for (const LayerPort& port : layer.outputs) outputs.push_back(declared_value(port));
  // A result has no ports, but what reads the model asks for its type.
  if (outputs.empty()) outputs.emplace_back();
  node.set_outputs(std::move(outputs));
}

void LayerInference::infer(const Layer& layer, Node& node) {
  std::vector<ValueInfo> inputs;
  inputs.reserve(node.inputs().size());
  for (const Output& input : node.inputs()) inputs.push_back(input.info());
  std::vector<PortFinding> at_inputs = check_inputs(state_, layer, inputs, has_unknown_rank(node));
  fold_crossed_inputs(layer, node, at_inputs);
  Attempt chosen = attempt(layer, node, inputs);
  advise_on_inputs(layer, chosen, at_inputs);
  const FindingId cause = report_inputs(layer, node, at_inputs);
  if (!chosen.clean()) try_what_was_meant(layer, node, std::move(inputs), at_inputs, cause, chosen);
  settle(layer, node, std::move(chosen));
}

LayerInference::Attempt LayerInference::attempt(const Layer& layer, const Node& node,
                                                std::span<const ValueInfo> inputs) const {
  Attempt result;
  try {
    result.outputs = infer_outputs(node.op(), inputs);
    result.found = check_outputs(state_, layer, node.op(), inputs, result.outputs, has_unknown_rank(node));
  } catch (const InferenceFailure& failure) {
    result.failure = diagnostic_of(failure, node);
    const auto input = failure.compared.input;
    if (input && *input < layer.inputs.size()) {
      result.failed_input = input;
      result.failure->port.id = layer.inputs[*input].id;
    }
  }
  if (!result.clean()) result.inputs.assign(inputs.begin(), inputs.end());
  return result;
}

bool LayerInference::has_unknown_rank(const Node& node) const {
  return !unknown_ranks_.empty() && std::ranges::any_of(node.inputs(), [&](const Output& input) {
    return unknown_ranks_.contains({input.node, input.index});
  });
}

const LayerInference::Doubt* LayerInference::doubt_about(const Output& value) const {
  return entry_for(value, doubts_);
}

const LayerInference::Taken* LayerInference::taken(const Output& value) const {
  return entry_for(value, taken_);
}

FindingId LayerInference::report_either(const Output& value, const Taken& taken, Diagnostic diagnostic) {
  diagnostic.hint = fmt::format(
      "without weights, output port {} of layer '{}' in line {} is taken as declared: see which is right",
      taken.port->id, taken.layer->name, state_.document.where(taken.port->xml).line);
  const FindingId id = state_.findings.add(std::move(diagnostic));
  // Other layers that read the value say the same.
  std::vector<std::optional<Doubt>>& doubts = doubts_[value.node];
  doubts.resize(std::max(doubts.size(), value.index + 1));
  doubts[value.index] = Doubt{taken.inferred, id};
  return id;
}

// Returns what the contradictions at the inputs come from.
FindingId LayerInference::report_inputs(const Layer& layer, const Node& node,
                                        std::vector<PortFinding>& found) {
  FindingId cause = kNoFinding;
  for (PortFinding& finding : found) {
    finding.diagnostic.rule = neighbours_.origin_of(layer, finding.port);
    const Doubt* doubt = doubt_about(node.input(finding.port));
    FindingId id = kNoFinding;
    if (doubt != nullptr && agrees(layer.inputs[finding.port], doubt->inferred)) {
      id = doubt->cause;
      state_.findings.add_consequence(id, std::move(finding.diagnostic));
    } else if (const Taken* source = taken(node.input(finding.port));
               source != nullptr && doubt == nullptr && !finding.no_more_than_a_hint) {
      id = report_either(node.input(finding.port), *source, std::move(finding.diagnostic));
    } else if (finding.follows && cause != kNoFinding) {
      id = cause;
      state_.findings.add_consequence(id, std::move(finding.diagnostic));
    } else {
      id = state_.findings.add(std::move(finding.diagnostic));
    }
    if (cause == kNoFinding && !finding.no_more_than_a_hint) cause = id;
  }
  return cause;
}

void LayerInference::try_what_was_meant(const Layer& layer, const Node& node, std::vector<ValueInfo> inputs,
                                        std::span<const PortFinding> at_inputs, FindingId cause,
                                        Attempt& chosen) {
  bool other = false;
  for (const PortFinding& finding : at_inputs) {
    if (finding.no_more_than_a_hint) continue;
    const LayerPort& port = layer.inputs[finding.port];
    const Doubt* doubt = doubt_about(node.input(finding.port));
    const bool inferred = doubt != nullptr && agrees(port, doubt->inferred);
    inputs[finding.port] = inferred ? doubt->inferred : declared_value(port, inputs[finding.port]);
    other = true;
  }
  if (!other) {
    // The input ports repeat what a layer before declares wrongly; the outputs may not.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Doubt* doubt = doubt_about(node.input(i));
      if (doubt == nullptr) continue;
      inputs[i] = doubt->inferred;
      if (cause == kNoFinding) cause = doubt->cause;
      other = true;
    }
  }
  if (!other || cause == kNoFinding) return;
  Attempt meant = attempt(layer, node, inputs);
  if (!meant.better_than(chosen)) return;
  const auto fold = [&](Diagnostic& diagnostic) {
    if (!meant.has(diagnostic)) state_.findings.add_consequence(cause, std::move(diagnostic));
  };
  if (chosen.failure) fold(*chosen.failure);
  for (PortFinding& finding : chosen.found) fold(finding.diagnostic);
  chosen = std::move(meant);
}

void LayerInference::fold_crossed_inputs(const Layer& layer, const Node& node,
                                         std::vector<PortFinding>& found) {
  if (found.empty()) return;
  const std::size_t a = found.front().port;
  const std::size_t b = found.back().port;
  const auto is_one_of_both = [&](const PortFinding& finding) {
    return finding.port == a || finding.port == b;
  };
  const bool crossed = a != b && std::ranges::all_of(found, is_one_of_both) &&
                       agrees(layer.inputs[a], node.input(b).info()) &&
                       agrees(layer.inputs[b], node.input(a).info());
  if (!crossed) return;
  found.front().diagnostic.hint =
      fmt::format("inputs {} and {} have what the other one declares: see whether their edges are crossed",
                  layer.inputs[a].id, layer.inputs[b].id);
  for (PortFinding& finding : std::span(found).subspan(1)) finding.follows = true;
}

const std::string& LayerInference::fitting_attributes(const Layer& layer, const Node& node, Attempt& chosen) {
  constexpr std::size_t kMaxSearches = 16;
  if (!chosen.fitting) {
    chosen.fitting =
        searches_++ < kMaxSearches ? attributes_that_fit(layer, node.op(), chosen.inputs) : std::string();
  }
  return *chosen.fitting;
}

void LayerInference::advise_on_inputs(const Layer& layer, const Attempt& chosen,
                                      std::vector<PortFinding>& found) {
  for (PortFinding& finding : found) {
    std::string& hint = finding.diagnostic.hint;
    if (!hint.empty() || finding.follows || finding.no_more_than_a_hint) continue;
    hint = neighbours_.unread_for(layer, finding.port);
    if (hint.empty() && chosen.clean())
      hint = "what comes in gives what the layer's outputs declare: mend the port";
  }
}

void LayerInference::advise(const Layer& layer, const Node& node, Attempt& chosen) {
  if (chosen.failure && chosen.failure->hint.empty()) {
    const std::string& attributes = fitting_attributes(layer, node, chosen);
    if (!attributes.empty()) {
      chosen.failure->hint = fmt::format("{} would fit, and give what is declared", attributes);
    } else if (chosen.failed_input) {
      chosen.failure->hint = neighbours_.origin_of(layer, *chosen.failed_input);
    }
  }
  std::set<std::size_t> seen;
  for (PortFinding& finding : chosen.found) {
    const bool is_first = seen.insert(finding.port).second;
    const bool is_error = finding.diagnostic.severity == Severity::error;
    if (!is_first || !is_error || finding.no_more_than_a_hint) continue;
    const std::string advice = advice_on_output(layer, node, chosen, finding.port);
    std::string& hint = finding.diagnostic.hint;
    if (!hint.empty() && !advice.empty()) hint += "; ";
    hint += advice;
  }
}

std::string LayerInference::advice_on_output(const Layer& layer, const Node& node, Attempt& chosen,
                                             std::size_t output) {
  const Readers readers = neighbours_.readers_of(layer, output, chosen.outputs[output]);
  if (readers.as_inferred && !readers.as_declared)
    return "what reads the port declares what inference gives: mend the port";
  const std::string& attributes = fitting_attributes(layer, node, chosen);
  if (!attributes.empty()) {
    return fmt::format("{} would give what {}", attributes,
                       readers.as_declared ? "the port and what reads it declare" : "is declared");
  }
  if (!readers.as_declared) return {};
  const std::string constants = neighbours_.constants_of(layer);
  return fmt::format("what reads the port declares the same: see whether inputs or attributes are wrong{}{}",
                     constants.empty() ? "" : "; ", constants);
}

void LayerInference::settle(const Layer& layer, Node& node, Attempt chosen) {
  advise(layer, node, chosen);
  if (chosen.failure) {
    // Without the input of an edge that ends nowhere, hardly any operation is what it was.
    if (layer.edge_fault != kNoFinding) {
      state_.findings.add_consequence(layer.edge_fault, std::move(*chosen.failure));
    } else {
      state_.findings.add(std::move(*chosen.failure));
    }
    take_declared(layer, node);
    return;
  }
  if (state_.scrutiny.notes && chosen.clean()) note_outputs(state_, layer, chosen.outputs);
  std::vector<std::optional<Doubt>> doubts;
  FindingId id = kNoFinding;
  for (PortFinding& finding : chosen.found) {
    if (finding.follows && id != kNoFinding) {
      state_.findings.add_consequence(id, std::move(finding.diagnostic));
      continue;
    }
    id = state_.findings.add(std::move(finding.diagnostic));
    if (finding.no_more_than_a_hint) continue;
    doubts.resize(chosen.outputs.size());
    if (doubts[finding.port]) continue;
    ValueInfo& output = chosen.outputs[finding.port];
    ValueInfo declared = declared_value(layer.outputs[finding.port], output);
    doubts[finding.port] = Doubt{std::exchange(output, std::move(declared)), id};
  }
  for (std::size_t i = 0; i < std::min(layer.outputs.size(), chosen.outputs.size()); ++i) {
    const bool accepted = i >= doubts.size() || !doubts[i];
    if (accepted && declares_unknown_rank(layer.outputs[i], chosen.outputs[i].shape))
      unknown_ranks_.emplace(&node, i);
  }
  take_open_dims(layer, node, doubts, chosen.outputs);
  // An edge may start at a declared port that the operation does not have, which has been reported.
  while (chosen.outputs.size() < layer.outputs.size())
    chosen.outputs.push_back(declared_value(layer.outputs[chosen.outputs.size()]));
  if (!node.op().is<op::v0::Constant>()) limit_known_values(layer, chosen.outputs);
  node.set_outputs(std::move(chosen.outputs));
  if (!doubts.empty()) doubts_.emplace(&node, std::move(doubts));
}

void LayerInference::take_open_dims(const Layer& layer, const Node& node,
                                    std::span<const std::optional<Doubt>> doubts,
                                    std::vector<ValueInfo>& outputs) {
  const ReadOptions& options = state_.options;
  // Converters leave old dims in bodies.
  if (!state_.scrutiny.audit || !options.without_weights || options.shape_check == ShapeCheck::off ||
      state_.depth > 0)
    return;
  for (std::size_t i = 0; i < std::min(outputs.size(), layer.outputs.size()); ++i) {
    if (i < doubts.size() && doubts[i]) continue;
    PartialShape shape = narrowed_shape(layer.outputs[i], outputs[i].shape);
    if (shape == outputs[i].shape) continue;
    std::vector<std::optional<Taken>>& taken = taken_[&node];
    taken.resize(i + 1);
    taken[i] = Taken{outputs[i], &layer, &layer.outputs[i]};
    outputs[i].shape = std::move(shape);
  }
}

// Every value by itself is small; a file may have a million of them.
void LayerInference::limit_known_values(const Layer& layer, std::vector<ValueInfo>& outputs) const {
  const std::int64_t limit = state_.options.limits.max_known_bytes;
  const bool within = state_.memory.known_bytes <= limit;
  for (ValueInfo& output : outputs) {
    if (output.constant) state_.memory.known_bytes += static_cast<std::int64_t>(output.constant->byte_size());
    if (output.elements)
      state_.memory.known_bytes += static_cast<std::int64_t>(output.elements->size() * sizeof(Dimension));
    if (output.reals)
      state_.memory.known_bytes += static_cast<std::int64_t>(output.reals->size() * sizeof(KnownReal));
    if (state_.memory.known_bytes > limit) output = {output.type, output.shape, nullptr, std::nullopt};
  }
  if (!within || state_.memory.known_bytes <= limit) return;
  state_.findings.error(
      "IR-limit", state_.document.where(layer.xml), layer.reference(),
      fmt::format("the values that are known before the model runs take {} bytes up to this layer, "
                  "the limit max_known_bytes is {}",
                  state_.memory.known_bytes, limit));
}

}  // namespace ir::reader
