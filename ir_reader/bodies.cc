#include "ir_reader/bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "ir_reader/graph.h"
#include "ir_reader/near_names.h"
#include "ir_reader/number.h"
#include "ir_runtime/subgraph.h"

namespace ir::reader {
namespace {

// What a Loop does with an entry beside what its external_port_id says; whatever that is.
constexpr const char* kIteration = "current_iteration";
constexpr const char* kCondition = "execution_condition";

// Reads the port map and back edges of one body.
class PortMapReader {
 public:
  PortMapReader(const ReadState& state, const Layer& layer, bool is_loop, Subgraph& subgraph)
      : state_(state), layer_(layer), is_loop_(is_loop), subgraph_(subgraph) {
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

  /// The external ids of outputs.
  [[nodiscard]] const std::set<std::int64_t>& output_ids() const { return output_ids_; }

 private:
  static void index(const std::vector<Node*>& nodes, std::map<std::string, std::size_t, std::less<>>& by_id) {
    for (std::size_t i = 0; i < nodes.size(); ++i) by_id[nodes[i]->layer_id()] = i;
  }

  void error(std::string code, const pugi::xml_node& xml, std::string message, std::string hint = {}) {
    error_at(std::move(code), state_.document.where(xml), std::move(message), std::move(hint));
  }

  void error_at(std::string code, SourceLocation where, std::string message, std::string hint) {
    good_ = false;
    state_.findings.error(std::move(code), std::move(where), layer_.reference(), std::move(message),
                          std::move(hint));
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
    const auto value = number_of<std::int64_t>(text);
    if (!value) {
      error("IR-attribute-value", xml,
            fmt::format("attribute '{}' holds '{}', which is no integer", name, text));
    }
    return value.value_or(fallback);
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

  // Whether the entry, of a Loop, has the one purpose that such an entry may have.
  bool has_purpose(const pugi::xml_node& xml, const char* purpose) {
    const pugi::xml_attribute attribute = xml.attribute("purpose");
    if (!is_loop_ || !attribute) return false;
    const std::string_view text = attribute.value();
    if (text == purpose) return true;
    const std::string meant = did_you_mean(text, {purpose});
    error_at("IR-port-map", state_.document.where(xml, "purpose"),
             fmt::format("the purpose '{}' of an <{}> is not known", text, xml.name()),
             meant.empty() ? fmt::format("it can be '{}'", purpose) : meant);
    return false;
  }

  // Nothing when the id cannot be read, which has been reported.
  std::optional<std::int64_t> external_id(const pugi::xml_node& xml) {
    constexpr std::int64_t kUnreadable = std::numeric_limits<std::int64_t>::min();
    const std::int64_t id = number(xml, "external_port_id", kUnreadable, true);
    return id == kUnreadable ? std::nullopt : std::optional(id);
  }

  void read_input(const pugi::xml_node& xml) {
    const auto parameter = inner(xml, "internal_layer_id", "Parameter", parameters_);
    const auto id = external_id(xml);
    const bool is_iteration = has_purpose(xml, kIteration);
    if (!parameter) return;
    // From here on the parameter counts as fed, so that nothing else is said of it.
    std::int64_t outer = is_iteration ? -1 : id.value_or(0);
    if (!is_iteration && outer < 0) {
      error("IR-port-map", xml,
            fmt::format("external_port_id {} is no input of the layer, which has {}", outer,
                        layer_.inputs.size()),
            is_loop_ ? fmt::format("the number of the iteration has purpose=\"{}\"", kIteration) : "");
    } else if (!is_iteration) {
      const auto port = std::ranges::find(
          layer_.inputs, std::string_view(xml.attribute("external_port_id").value()), &LayerPort::id);
      if (port != layer_.inputs.end()) outer = port - layer_.inputs.begin();
      if (outer >= static_cast<std::int64_t>(layer_.inputs.size())) {
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
    subgraph_.inputs.push_back({outer, *parameter, is_iteration ? std::nullopt : slicing(xml), std::nullopt});
  }

  // Outputs are numbered by the rank of their external ids: files count them on from the inputs or from zero.
  // Entries with one id are one output, the first; those with a negative id are none.
  void read_outputs(const pugi::xml_node& map) {
    std::map<std::int64_t, Subgraph::Output> outputs;
    pugi::xml_node useless;
    for (const pugi::xml_node& xml : map.children("output")) {
      const auto result = inner(xml, "internal_layer_id", "Result", results_);
      const auto outer = external_id(xml);
      const bool is_condition = has_purpose(xml, kCondition);
      if (is_condition) read_condition(xml, result);
      if (outer && *outer < 0 && !is_condition && !useless) useless = xml;
      if (!result || !outer || *outer < 0) continue;
      const bool is_new = outputs.try_emplace(*outer, Subgraph::Output{*outer, *result, slicing(xml)}).second;
      if (state_.scrutiny.audit) audit_output(xml, *outer, is_new);
    }
    // Any other mistake may be the reason that there is none.
    if (is_loop_ && !condition_ && good_) {
      error("IR-port-map",
            useless ? useless
            : map   ? map
                    : layer_.xml,
            "no <output> is marked as the condition of the next iteration",
            fmt::format("the entry of the body's condition has purpose=\"{}\"", kCondition));
    } else if (useless && good_ && state_.scrutiny.audit) {
      warn(useless,
           fmt::format("external_port_id {} is no output port of the layer",
                       useless.attribute("external_port_id").value()),
           "the entry is not read");
    }
    std::int64_t rank = 0;
    for (auto& [id, output] : outputs) {
      output.outer = rank++;
      output_ids_.insert(id);
      subgraph_.outputs.push_back(output);
    }
  }

  // The result may be an output of the layer, too.
  void read_condition(const pugi::xml_node& xml, std::optional<std::size_t> result) {
    if (condition_)
      return error("IR-port-map", xml,
                   fmt::format("a second <output> has the purpose '{}', beside that of line {}", kCondition,
                               state_.document.where(condition_).line));
    condition_ = xml;
    if (result) subgraph_.outputs.push_back({-1, *result, std::nullopt});
  }

  void warn(const pugi::xml_node& xml, std::string message, std::string hint) {
    state_.findings.warning("IR-port-map", state_.document.where(xml, "external_port_id"), layer_.reference(),
                            std::move(message), std::move(hint));
  }

  // Numbering by rank finds an output for any id; one that is no port and no number of an output is odd.
  void audit_output(const pugi::xml_node& xml, std::int64_t outer, bool is_new) {
    if (!is_new)
      return warn(xml, fmt::format("external_port_id {} stands twice among the outputs", outer),
                  "the first one counts");
    const std::string_view id = xml.attribute("external_port_id").value();
    const bool is_port = std::ranges::find(layer_.outputs, id, &LayerPort::id) != layer_.outputs.end();
    if (!is_port && outer >= static_cast<std::int64_t>(layer_.outputs.size()))
      warn(xml, fmt::format("external_port_id {} is no output port of the layer", outer),
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
    if (input->slicing) {
      state_.findings.warning(
          "IR-port-map", state_.document.where(xml, "to-layer"), layer_.reference(),
          fmt::format("the back edge feeds the parameter {}, which takes slices of an input",
                      xml.attribute("to-layer").value()),
          "the back edge is not read");
      return;
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
  bool is_loop_;
  Subgraph& subgraph_;
  /// The entry of a Loop's condition.
  pugi::xml_node condition_;
  std::map<std::string, std::size_t, std::less<>> parameters_;
  std::map<std::string, std::size_t, std::less<>> results_;
  std::set<std::size_t> fed_;
  std::set<std::int64_t> output_ids_;
  bool good_ = true;
};

struct BodyNames {
  const char* body;
  const char* port_map;
};

constexpr BodyNames kSingle[] = {{"body", "port_map"}};
constexpr BodyNames kBranches[] = {{"then_body", "then_port_map"}, {"else_body", "else_port_map"}};

// Both branches of an If give all of its outputs. As ids only count by their order, one that is missing would
// shift those behind it.
bool check_branches(const ReadState& state, const Layer& layer,
                    const std::array<std::set<std::int64_t>, 2>& output_ids) {
  if (output_ids[0].size() == output_ids[1].size()) return true;
  for (std::size_t branch = 0; branch < 2; ++branch) {
    const char* name = kBranches[branch].port_map;
    const pugi::xml_node map = layer.xml.child(name);
    std::vector<std::int64_t> missing;
    std::ranges::set_difference(output_ids[1 - branch], output_ids[branch], std::back_inserter(missing));
    for (const std::int64_t id : missing) {
      state.findings.error("IR-port-map", state.document.where(map ? map : layer.xml), layer.reference(),
                           fmt::format("<{}> has no <output> with external_port_id {}, which <{}> has", name,
                                       id, kBranches[1 - branch].port_map),
                           "both branches give all outputs of the layer");
    }
  }
  return false;
}

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
  std::array<std::set<std::int64_t>, 2> output_ids;
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
    PortMapReader reader(state, layer, op.type() == "Loop", subgraphs[i]);
    good = reader.read(layer.xml.child(names[i].port_map), layer.xml.child("back_edges")) && good;
    output_ids[i] = reader.output_ids();
  }
  if (good && subgraphs.size() == 2) good = check_branches(state, layer, output_ids);
  return good;
}

}  // namespace ir::reader
