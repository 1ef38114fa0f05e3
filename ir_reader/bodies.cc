#include "ir_reader/bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "ir_reader/graph.h"
#include "ir_runtime/subgraph.h"

namespace ir::reader {
namespace {

// Reads the port map and back edges of one body.
class PortMapReader {
 public:
  PortMapReader(const ReadState& state, const Layer& layer, Subgraph& subgraph)
      : state_(state), layer_(layer), subgraph_(subgraph) {
    index(subgraph.body->parameters(), parameters_);
    index(subgraph.body->results(), results_);
  }

  bool read(const pugi::xml_node& map, const pugi::xml_node& back_edges) {
    for (const pugi::xml_node& xml : map.children("input")) read_input(xml);
    read_outputs(map);
    for (const pugi::xml_node& xml : back_edges.children("edge")) read_back_edge(xml);
    require_all_parameters_fed(map);
    return good_;
  }

 private:
  static void index(const std::vector<Node*>& nodes, std::map<std::string, std::size_t, std::less<>>& by_id) {
    for (std::size_t i = 0; i < nodes.size(); ++i) by_id[nodes[i]->layer_id()] = i;
  }

  void error(std::string code, const pugi::xml_node& xml, std::string message) {
    good_ = false;
    state_.findings.error(std::move(code), state_.document.where(xml), layer_.reference(),
                          std::move(message));
  }

  std::int64_t number(const pugi::xml_node& xml, const char* name, std::int64_t fallback,
                      bool required = false) {
    const pugi::xml_attribute attribute = xml.attribute(name);
    if (!attribute) {
      if (required)
        error("IR-attribute-missing", xml, fmt::format("<{}> has no attribute '{}'", xml.name(), name));
      return fallback;
    }
    const std::string_view text = attribute.value();
    std::int64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size()) {
      error("IR-attribute-value", xml,
            fmt::format("attribute '{}' holds '{}', which is no integer", name, text));
      return fallback;
    }
    return value;
  }

  std::optional<std::size_t> inner(const pugi::xml_node& xml, const char* name, const char* kind,
                                   const std::map<std::string, std::size_t, std::less<>>& by_id) {
    const auto found = by_id.find(std::string_view(xml.attribute(name).value()));
    if (found == by_id.end()) {
      error("IR-port-map", xml,
            fmt::format("'{}' names layer {}, which is no {} of the body", name, xml.attribute(name).value(),
                        kind));
      return std::nullopt;
    }
    return found->second;
  }

  std::optional<Slicing> slicing(const pugi::xml_node& xml) {
    if (!xml.attribute("axis")) return std::nullopt;
    return Slicing{number(xml, "axis", 0), number(xml, "start", 0), number(xml, "end", -1),
                   number(xml, "stride", 1), number(xml, "part_size", 1)};
  }

  void read_input(const pugi::xml_node& xml) {
    const auto parameter = inner(xml, "internal_layer_id", "Parameter", parameters_);
    std::int64_t outer = number(xml, "external_port_id", -1, true);
    if (!parameter) return;
    if (outer >= 0) {
      const auto port = std::ranges::find(
          layer_.inputs, std::string_view(xml.attribute("external_port_id").value()), &LayerPort::id);
      if (port != layer_.inputs.end()) outer = port - layer_.inputs.begin();
      if (outer >= static_cast<std::int64_t>(layer_.inputs.size())) {
        // The parameter counts as fed all the same, so that nothing else is said of it.
        error("IR-port-map", xml,
              fmt::format("external_port_id {} is no input of the layer, which has {}", outer,
                          layer_.inputs.size()));
      }
    }
    if (!fed_.insert(*parameter).second) {
      return error(
          "IR-port-map", xml,
          fmt::format("the body parameter {} is mapped twice", xml.attribute("internal_layer_id").value()));
    }
    subgraph_.inputs.push_back({outer, *parameter, slicing(xml), std::nullopt});
  }

  // Outputs are numbered by the rank of their external ids: files count them on from the inputs or from zero.
  // Entries with one id are one output, the first.
  void read_outputs(const pugi::xml_node& map) {
    std::map<std::int64_t, Subgraph::Output> outputs;
    for (const pugi::xml_node& xml : map.children("output")) {
      const auto result = inner(xml, "internal_layer_id", "Result", results_);
      const std::int64_t outer = number(xml, "external_port_id", -1, true);
      if (!result) continue;
      const bool is_new = outputs.try_emplace(outer, Subgraph::Output{outer, *result, slicing(xml)}).second;
      if (state_.scrutiny.audit && outer >= 0) audit_output(xml, outer, is_new);
    }
    std::int64_t rank = 0;
    for (auto& [id, output] : outputs) {
      output.outer = id < 0 ? -1 : rank++;
      subgraph_.outputs.push_back(output);
    }
  }

  // Numbering by rank finds an output for any id; one that is no port and no number of an output is odd.
  void audit_output(const pugi::xml_node& xml, std::int64_t outer, bool is_new) {
    const auto warn = [&](std::string message, std::string hint) {
      state_.findings.warning("IR-port-map", state_.document.where(xml, "external_port_id"),
                              layer_.reference(), std::move(message), std::move(hint));
    };
    if (!is_new)
      return warn(fmt::format("external_port_id {} stands twice among the outputs", outer),
                  "the first one counts");
    const std::string_view id = xml.attribute("external_port_id").value();
    const bool is_port = std::ranges::find(layer_.outputs, id, &LayerPort::id) != layer_.outputs.end();
    if (!is_port && outer >= static_cast<std::int64_t>(layer_.outputs.size()))
      warn(fmt::format("external_port_id {} is no output port of the layer", outer),
           "outputs are numbered by the order of these ids");
  }

  void read_back_edge(const pugi::xml_node& xml) {
    const auto from = inner(xml, "from-layer", "Result", results_);
    const auto to = inner(xml, "to-layer", "Parameter", parameters_);
    if (!from || !to) return;
    const auto input = std::ranges::find(subgraph_.inputs, *to, &Subgraph::Input::parameter);
    if (input == subgraph_.inputs.end()) {
      return error("IR-port-map", xml,
                   fmt::format("the back edge feeds the parameter {}, which has no first value",
                               xml.attribute("to-layer").value()));
    }
    if (input->back_edge) {
      return error("IR-port-map", xml,
                   fmt::format("two back edges feed the parameter {}", xml.attribute("to-layer").value()));
    }
    input->back_edge = *from;
  }

  void require_all_parameters_fed(const pugi::xml_node& map) {
    for (const auto& [id, parameter] : parameters_) {
      if (!fed_.contains(parameter)) {
        error("IR-port-map", map ? map : layer_.xml,
              fmt::format("the body parameter {} is not mapped to any input", id));
      }
    }
  }

  const ReadState& state_;
  const Layer& layer_;
  Subgraph& subgraph_;
  std::map<std::string, std::size_t, std::less<>> parameters_;
  std::map<std::string, std::size_t, std::less<>> results_;
  std::set<std::size_t> fed_;
  bool good_ = true;
};

struct BodyNames {
  const char* body;
  const char* port_map;
};

constexpr BodyNames kSingle[] = {{"body", "port_map"}};
constexpr BodyNames kBranches[] = {{"then_body", "then_port_map"}, {"else_body", "else_port_map"}};

}  // namespace

bool read_bodies(const ReadState& state, const Layer& layer, Op& op) {
  if (state.depth >= state.options.limits.max_body_depth) {
    state.findings.error("IR-limit", state.document.where(layer.xml), layer.reference(),
                         fmt::format("bodies are nested deeper than the limit max_body_depth of {}",
                                     state.options.limits.max_body_depth));
    return false;
  }
  const std::span<Subgraph> subgraphs = op.op_class_record().subgraphs(op.descriptor());
  const std::span<const BodyNames> names =
      subgraphs.size() == 1 ? std::span<const BodyNames>(kSingle) : kBranches;
  ReadState inside = state;
  ++inside.depth;
  bool good = true;
  for (std::size_t i = 0; i < subgraphs.size(); ++i) {
    const pugi::xml_node body = layer.xml.child(names[i].body);
    if (!body) {
      state.findings.error("IR-structure", state.document.where(layer.xml), layer.reference(),
                           fmt::format("the layer has no <{}>", names[i].body));
      good = false;
      continue;
    }
    const std::int64_t errors_before = state.findings.errors();
    subgraphs[i].body = build_model(inside, body);
    if (state.findings.errors() != errors_before) {
      good = false;
      continue;
    }
    PortMapReader reader(state, layer, subgraphs[i]);
    good = reader.read(layer.xml.child(names[i].port_map), layer.xml.child("back_edges")) && good;
  }
  return good;
}

}  // namespace ir::reader
