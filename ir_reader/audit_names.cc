#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ir_reader/audit.h"
#include "runtime/model/layer_name.h"

namespace ir::reader {
namespace {

// Whether a list "a,b\,c" holds an empty name.
bool has_empty_name(std::string_view text) {
  bool empty = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && (i == 0 || text[i - 1] != '\\')) {
      if (empty) return true;
      empty = true;
    } else {
      empty = false;
    }
  }
  return empty && !text.empty();
}

class NameAudit {
 public:
  explicit NameAudit(const GraphView& view) : view_(view), state_(view.state) {
    for (std::size_t i = 0; i < view.graph.layers.size(); ++i) {
      if (view.graph.layers[i].type != "Result") continue;
      for (const auto& source : view.sources[i]) {
        if (source) outputs_.emplace(source->layer, source->output);
      }
    }
  }

  void check_layer(const Layer& layer) {
    if (!layer.xml.attribute("name")) return;
    if (layer.name.empty()) {
      state_.findings.warning("IR-name-empty", state_.document.where(layer.xml, "name"), layer.reference(),
                              "the layer's name is empty", "inputs, outputs and reports go by names");
      return;
    }
    const auto [first, is_new] = layers_.try_emplace(layer.name, &layer);
    if (is_new) return;
    const int line = state_.document.where(first->second->xml).line;
    state_.findings.warning("IR-name-duplicate", state_.document.where(layer.xml, "name"), layer.reference(),
                            fmt::format("the name belongs to the layer of line {}, too", line));
  }

  void check_tensors(std::size_t index) {
    const Layer& layer = view_.graph.layers[index];
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      const LayerPort& port = layer.outputs[i];
      if (has_empty_name(port.xml.attribute("names").value())) {
        report(Severity::warning, "IR-tensor-name", layer, port,
               fmt::format("the names of output port {} hold an empty name", port.id),
               "names are separated by one comma; a comma in a name is written '\\,'");
      }
      for (const std::string& name : port.names) {
        const Tensor tensor{index, i};
        const auto [first, is_new] = tensors_.try_emplace(name, tensor);
        if (!is_new && first->second != tensor) check_twice(name, first->second, tensor);
        if (is_shown(tensor)) shown_.try_emplace(name, tensor);
      }
    }
  }

  // In version 10 inputs and outputs of the model go by their layers, too.
  void check_shown_layer(std::size_t index) {
    const Layer& layer = view_.graph.layers[index];
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      const Tensor tensor{index, i};
      if (!is_shown(tensor)) continue;
      const std::string name = layer_name(layer.name, layer.outputs.size(), i);
      const auto owner = shown_.find(name);
      if (owner == shown_.end() || owner->second == tensor) continue;
      state_.findings.warning(
          "IR-tensor-name-duplicate", state_.document.where(layer.xml, "name"), layer.reference(),
          fmt::format("the name '{}' belongs to {}, too", name, tensor_text(owner->second)),
          "in version 10 inputs and outputs go by their layers' names, too; OpenVINO refuses the model");
    }
  }

  void check_rt_info(const Layer& layer) {
    check_entries(layer, nullptr, layer.xml.child("rt_info"), PortKind::none);
    for (const LayerPort& port : layer.inputs)
      check_entries(layer, &port, port.xml.child("rt_info"), PortKind::input);
    for (const LayerPort& port : layer.outputs)
      check_entries(layer, &port, port.xml.child("rt_info"), PortKind::output);
  }

 private:
  void check_entries(const Layer& layer, const LayerPort* port, const pugi::xml_node& rt_info,
                     PortKind kind) {
    std::set<std::pair<std::string_view, std::string_view>> known;
    for (const pugi::xml_node& entry : rt_info.children("attribute")) {
      const std::string_view name = entry.attribute("name").value();
      const auto warn = [&](std::string message, std::string hint) {
        state_.findings.add({.severity = Severity::warning,
                             .code = "IR-rt-info",
                             .where = state_.document.where(entry),
                             .layer = layer.reference(),
                             .message = std::move(message),
                             .hint = std::move(hint),
                             .port = port != nullptr ? port->reference(kind) : PortReference{}});
      };
      for (const char* needed : {"name", "version"}) {
        if (!entry.attribute(needed))
          warn(fmt::format("an <attribute> of <rt_info> has no attribute '{}'", needed),
               "readers pass over the entry");
      }
      const std::string_view version = entry.attribute("version").value();
      if (!name.empty() && !version.empty() && !known.emplace(name, version).second)
        warn(fmt::format("<rt_info> has a second <attribute> '{}'", name),
             "OpenVINO refuses the model where it knows the attribute");
      if (name == "layout" && port != nullptr) check_layout(entry.attribute("layout").value(), *port, warn);
    }
  }

  // "[N,C,H,W]" names as many dims as the port has; "..." stands for any number.
  template <class Warn>
  static void check_layout(std::string_view text, const LayerPort& port, const Warn& warn) {
    const std::size_t rank = port.shape.rank();
    if (rank == 0 || text.find("...") != std::string_view::npos || !text.starts_with('[')) return;
    const auto names = static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
    if (names != rank)
      warn(fmt::format("the layout {} has {} dims, the port has {}", text, names, rank),
           "mend or remove the layout");
  }

  // Layer and output port, by their places.
  using Tensor = std::pair<std::size_t, std::size_t>;

  // Converters leave the name of a tensor at those that it was made of, which does no harm unless both are
  // inputs of the model, or both are outputs; in version 10 one of each is too much for OpenVINO.
  void check_twice(const std::string& name, const Tensor& owner, const Tensor& other) {
    const bool ambiguous = state_.ir_version == 10 ? is_shown(owner) && is_shown(other)
                                                   : (is_input(owner) && is_input(other)) ||
                                                         (is_output(owner) && is_output(other));
    if (!ambiguous && !state_.scrutiny.notes) return;
    const Layer& layer = view_.graph.layers[other.first];
    report(ambiguous ? Severity::warning : Severity::note, "IR-tensor-name-duplicate", layer,
           layer.outputs[other.second],
           fmt::format("the tensor name '{}' belongs to {}, too", name, tensor_text(owner)));
  }

  std::string tensor_text(const Tensor& tensor) const {
    const Layer& layer = view_.graph.layers[tensor.first];
    return fmt::format("output port {} of layer '{}'", layer.outputs[tensor.second].id, layer.name);
  }

  bool is_input(const Tensor& tensor) const { return view_.graph.layers[tensor.first].type == "Parameter"; }

  bool is_output(const Tensor& tensor) const { return outputs_.contains(tensor); }

  bool is_shown(const Tensor& tensor) const { return is_input(tensor) || is_output(tensor); }

  void report(Severity severity, std::string code, const Layer& layer, const LayerPort& port,
              std::string message, std::string hint = {}) {
    state_.findings.add({.severity = severity,
                         .code = std::move(code),
                         .where = state_.document.where(port.xml, "names"),
                         .layer = layer.reference(),
                         .message = std::move(message),
                         .hint = std::move(hint),
                         .port = port.reference(PortKind::output)});
  }

  const GraphView& view_;
  const ReadState& state_;
  std::unordered_map<std::string_view, const Layer*> layers_;
  std::unordered_map<std::string_view, Tensor> tensors_;
  /// The tensors by name that are inputs or outputs of the model.
  std::unordered_map<std::string_view, Tensor> shown_;
  std::set<Tensor> outputs_;
};

}  // namespace

void audit_names(const GraphView& view) {
  NameAudit audit(view);
  for (std::size_t i = 0; i < view.graph.layers.size(); ++i) {
    audit.check_layer(view.graph.layers[i]);
    audit.check_tensors(i);
    audit.check_rt_info(view.graph.layers[i]);
  }
  if (view.state.ir_version != 10 || view.state.depth > 0) return;
  for (std::size_t i = 0; i < view.graph.layers.size(); ++i) audit.check_shown_layer(i);
}

}  // namespace ir::reader
