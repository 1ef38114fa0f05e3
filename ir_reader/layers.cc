#include "ir_reader/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ir_reader/duplicate_ids.h"
#include "ir_reader/errors.h"
#include "ir_reader/near_names.h"
#include "ir_reader/number.h"
#include "runtime/types/trimmed.h"

namespace ir::reader {
namespace {

LayerReference reference_of(const pugi::xml_node& layer) {
  return {layer.attribute("id").value(), layer.attribute("name").value(), layer.attribute("type").value()};
}

// The text of an attribute that the element, one of a layer or the layer itself, must have.
std::string_view required_text(const ReadState& state, const pugi::xml_node& node, const char* name,
                               const pugi::xml_node& layer) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) {
    std::vector<std::string_view> present;
    for (const pugi::xml_attribute& other : node.attributes()) present.push_back(other.name());
    const std::string_view similar = nearest(name, present);
    state.findings.error("IR-attribute-missing", state.document.where(node), reference_of(layer),
                         fmt::format("<{}> has no attribute '{}'", node.name(), name),
                         similar.empty() ? "" : fmt::format("is '{}' meant for it?", similar));
  }
  return attribute.value();
}

// How long a list of what the file has gets.
std::size_t length_for(const pugi::xml_object_range<pugi::xml_named_node_iterator>& elements,
                       std::int64_t limit) {
  const std::int64_t count = std::distance(elements.begin(), elements.end());
  return static_cast<std::size_t>(std::clamp<std::int64_t>(limit, 0, count));
}

// "the layer has output ports 1, 2"
std::string list_of_ports(const std::vector<LayerPort>& ports, std::string_view kind) {
  constexpr std::size_t kMaxNamed = 8;
  std::string ids;
  for (std::size_t i = 0; i < std::min(ports.size(), kMaxNamed); ++i)
    ids.append(ids.empty() ? "" : ", ").append(ports[i].id);
  if (ports.size() > kMaxNamed) ids += ", ...";
  return ids.empty() ? fmt::format("the layer has no {} ports", kind)
                     : fmt::format("the layer has {} {} {}", kind, ports.size() == 1 ? "port" : "ports", ids);
}

// "a,b\,c" -> {"a", "b,c"}
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      name += ',';
      ++i;
    } else if (text[i] == ',') {
      names.push_back(std::move(name));
      name.clear();
    } else {
      name += text[i];
    }
  }
  names.push_back(std::move(name));
  std::erase(names, "");
  return names;
}

void read_dims(const ReadState& state, LayerPort& port, const Layer& layer) {
  constexpr std::size_t kUsualRank = 4;
  std::vector<Dimension> dims;
  dims.reserve(kUsualRank);
  for (const pugi::xml_node& dim : port.xml.children("dim")) {
    const std::string_view text = trimmed(dim.text().get());
    const auto value = number_of<std::int64_t>(text);
    if (!value || *value < -1) {
      state.findings.error(
          "IR-dim", state.document.where(dim), layer.reference(),
          fmt::format("<dim> holds '{}'; it takes one integer that is -1 (unknown) or more", text));
    }
    dims.push_back(value && *value >= 0 ? Dimension(*value) : Dimension());
    if (static_cast<std::int64_t>(dims.size()) > state.options.limits.max_rank) {
      state.findings.error("IR-limit", state.document.where(dim), layer.reference(),
                           fmt::format("port '{}' has more dims than the limit max_rank of {}", port.id,
                                       state.options.limits.max_rank));
      break;
    }
  }
  port.shape = PartialShape(std::move(dims));
}

// Ports of a list by id; of those that share one, the first.
class PortIndex {
 public:
  /// `ports` are the same list each time, which may have grown.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view id, const std::vector<LayerPort>& ports) {
    // Layers have few ports as a rule: to look through them is cheaper than any table.
    constexpr std::size_t kFew = 8;
    if (ports.size() <= kFew) {
      const auto found = std::ranges::find(ports, id, &LayerPort::id);
      if (found == ports.end()) return std::nullopt;
      return static_cast<std::size_t>(found - ports.begin());
    }
    if (places_ == nullptr) places_ = std::make_unique<Places>();
    for (; known_ < ports.size(); ++known_) places_->try_emplace(ports[known_].id, known_);
    const auto found = places_->find(id);
    if (found == places_->end()) return std::nullopt;
    return found->second;
  }

 private:
  using Places = std::unordered_map<std::string_view, std::size_t>;
  std::unique_ptr<Places> places_;  // there are two indices for each layer, and hardly a table
  std::size_t known_ = 0;           // of the ports, that are in the table
};

void read_ports(const ReadState& state, Layer& layer, const char* block, std::vector<LayerPort>& ports) {
  PortIndex index;
  // Several blocks of one kind count as one.
  for (const pugi::xml_node& list : layer.xml.children(block)) {
    // A file of many blocks must not move its ports with each of them.
    if (ports.empty())
      ports.reserve(length_for(list.children("port"), state.options.limits.max_ports_per_layer));
    for (const pugi::xml_node& xml : list.children("port")) {
      if (static_cast<std::int64_t>(ports.size()) >= state.options.limits.max_ports_per_layer) {
        state.findings.error("IR-limit", state.document.where(xml), layer.reference(),
                             fmt::format("more ports than the limit max_ports_per_layer of {}",
                                         state.options.limits.max_ports_per_layer));
        return;
      }
      LayerPort port;
      port.xml = xml;
      port.id = required_text(state, xml, "id", layer.xml);
      if (index.find(port.id, ports)) {
        state.findings.error("IR-port-duplicate", state.document.where(xml, "id"), layer.reference(),
                             fmt::format("two {} ports have the id {}", block, port.id));
      }
      if (const pugi::xml_attribute precision = xml.attribute("precision")) {
        const auto type = element_type_of(precision.value());
        if (!type) {
          state.findings.error(
              "IR-precision", state.document.where(xml, "precision"), layer.reference(),
              fmt::format("port {} has the unknown precision '{}'", port.id, precision.value()),
              did_you_mean_type(trimmed(precision.value()), port_name_of));
        }
        port.precision = type.value_or(ElementType::dynamic);
      }
      port.names = split_names(xml.attribute("names").value());
      read_dims(state, port, layer);
      ports.push_back(std::move(port));
    }
  }
}

struct LayerEnds {
  std::size_t index = 0;
  PortIndex inputs;
  PortIndex outputs;
};

// Reads the edges of a network by the ids of its layers and ports.
class EdgeReader {
 public:
  EdgeReader(const ReadState& state, LayerGraph& graph) : state_(state), graph_(graph) {
    layers_.reserve(graph.layers.size());
    for (std::size_t i = 0; i < graph.layers.size(); ++i) layers_[graph.layers[i].id].index = i;
  }

  void read(const pugi::xml_node& xml) {
    const std::optional<End> from = find_end(xml, "from-layer", "from-port", true);
    fault_ = kNoFinding;
    const std::optional<End> to = find_end(xml, "to-layer", "to-port", false);
    if (to) {
      const End start = from.value_or(End{});
      graph_.edges.push_back({start.layer, start.port, to->layer, to->port, !from, xml});
    } else if (from && fault_ != kNoFinding) {
      graph_.strays.push_back(fault_);
    }
  }

 private:
  struct End {
    std::size_t layer = 0;
    std::size_t port = 0;
  };

  std::optional<End> find_end(const pugi::xml_node& xml, const char* layer_key, const char* port_key,
                              bool source) {
    const pugi::xml_attribute layer_id = xml.attribute(layer_key);
    const pugi::xml_attribute port_id = xml.attribute(port_key);
    if (!layer_id || !port_id) {
      state_.findings.error("IR-edge", state_.document.where(xml), {},
                            fmt::format("<edge> has no attribute '{}'", layer_id ? port_key : layer_key));
      return std::nullopt;
    }
    const std::string_view verb = source ? "starts at" : "ends at";
    const auto layer = layers_.find(layer_id.value());
    if (layer == layers_.end()) {
      report_missing(layer_id.value(), {.code = "IR-edge",
                                        .where = state_.document.where(xml, layer_key),
                                        .message = fmt::format("the edge {} layer {}, which does not exist",
                                                               verb, layer_id.value())});
      return std::nullopt;
    }
    Layer& owner = graph_.layers[layer->second.index];
    PortIndex& index = source ? layer->second.outputs : layer->second.inputs;
    const std::vector<LayerPort>& ports = source ? owner.outputs : owner.inputs;
    if (const auto port = index.find(port_id.value(), ports)) return End{layer->second.index, *port};
    const char* kind = source ? "output" : "input";
    fault_ =
        state_.findings.add({.code = "IR-edge",
                             .where = state_.document.where(xml, port_key),
                             .layer = owner.reference(),
                             .message = fmt::format("the edge {} {} port {}, which the layer does not have",
                                                    verb, kind, port_id.value()),
                             .hint = list_of_ports(ports, kind)});
    if (!source && owner.edge_fault == kNoFinding) owner.edge_fault = fault_;
    return std::nullopt;
  }

  // Of several edges to or from one layer that does not exist, the others follow from the first.
  void report_missing(std::string_view id, Diagnostic found) {
    const auto [first, is_new] = missing_.try_emplace(id, kNoFinding);
    if (is_new) {
      first->second = fault_ = state_.findings.add(std::move(found));
    } else {
      state_.findings.add_consequence(first->second, std::move(found));
    }
  }

  const ReadState& state_;
  LayerGraph& graph_;
  std::unordered_map<std::string_view, LayerEnds> layers_;
  std::unordered_map<std::string_view, FindingId> missing_;
  // What was found last.
  FindingId fault_ = kNoFinding;
};

void read_edges(const ReadState& state, const pugi::xml_node& parent, LayerGraph& graph) {
  EdgeReader reader(state, graph);
  for (const pugi::xml_node& xml : parent.child("edges").children("edge")) {
    // Nothing further on is read: what the rest says of edges, or of layers, that were left out would be
    // wrong.
    if (static_cast<std::int64_t>(graph.edges.size()) >= state.options.limits.max_edges) {
      throw error_at(
          "IR-limit", state.document.where(xml),
          fmt::format("more edges than the limit max_edges of {}", state.options.limits.max_edges));
    }
    reader.read(xml);
  }
}

// A network whose layers have inputs has edges. When nothing that is read holds one, that is the one mistake.
FindingId check_edges(const ReadState& state, const pugi::xml_node& parent, const LayerGraph& graph) {
  const bool needs_edges =
      std::ranges::any_of(graph.layers, [](const Layer& layer) { return !layer.inputs.empty(); });
  const pugi::xml_node edges = parent.child("edges");
  if (!needs_edges || edges.child("edge")) return kNoFinding;
  if (const FindingId second = report_second_edges(state, parent); second != kNoFinding) return second;
  const pugi::xml_node place = edges ? edges : parent;
  const char* wanted = edges ? "edge" : "edges";
  std::vector<std::string_view> present;
  for (const pugi::xml_node& child : place.children()) {
    // Other elements of a network are not meant for edges, however they are spelt.
    if (child.type() == pugi::node_element && std::string_view(child.name()) != "layers")
      present.push_back(child.name());
  }
  const std::string_view similar = nearest(wanted, present);
  const pugi::xml_node meant = similar.empty() ? place : place.child(std::string(similar).c_str());
  return state.findings.add(
      {.severity = Severity::error,
       .code = "IR-structure",
       .where = state.document.where(meant),
       .message = fmt::format("<{}> has no <{}>, so that the layers are not connected", place.name(), wanted),
       .hint = similar.empty() ? "" : fmt::format("<{}> is not read: did you mean '{}'?", similar, wanted)});
}

// Layers with the id of another one. When edges name one id that no layer has, one of both is meant by it.
void report_duplicates(const ReadState& state, const pugi::xml_node& parent, LayerGraph& graph,
                       std::vector<DuplicateId> duplicates) {
  const auto report = [&](const Layer& layer, const Layer& other, std::string_view more, std::string hint) {
    state.findings.error(
        "IR-id-duplicate", state.document.where(layer.xml, "id"), reference_of(layer.xml),
        fmt::format("the id {} belongs to the layer of line {}{}", layer.xml.attribute("id").value(),
                    state.document.where(other.xml).line, more),
        std::move(hint));
  };
  std::vector<std::string_view> missing;
  if (duplicates.size() == 1) missing = missing_ids(parent, graph.layers, 2);
  if (missing.size() != 1) {
    for (const DuplicateId& one : duplicates) report(one.layer, graph.layers[one.first], " already", {});
    return;
  }
  const std::size_t first = duplicates.front().first;
  const std::size_t changed =
      part_layers(parent, std::move(duplicates.front()), missing.front(), graph.layers);
  const bool is_first = changed == first;
  report(graph.layers[changed], is_first ? graph.layers.back() : graph.layers[first],
         is_first ? ", too" : " already",
         fmt::format("edges name layer {}, which does not exist: is id=\"{}\" meant?", missing.front(),
                     missing.front()));
}

}  // namespace

FindingId report_second_edges(const ReadState& state, const pugi::xml_node& parent) {
  const pugi::xml_node first = parent.child("edges");
  const pugi::xml_node second = first.next_sibling("edges");
  if (!second) return kNoFinding;
  return state.findings.add({.severity = Severity::error,
                             .code = "IR-structure",
                             .where = state.document.where(second),
                             .message = fmt::format("a second <edges> is not read, beside that of line {}: "
                                                    "layers are not connected",
                                                    state.document.where(first).line),
                             .hint = "one <edges> holds all edges"});
}

LayerGraph read_layers(const ReadState& state, const pugi::xml_node& parent) {
  LayerGraph graph;
  std::unordered_map<std::string_view, std::size_t> seen;
  std::vector<DuplicateId> duplicates;
  const pugi::xml_node layers = parent.child("layers");
  if (!layers) {
    state.findings.error("IR-structure", state.document.where(parent), {},
                         fmt::format("<{}> has no <layers>", parent.name()));
    return graph;
  }
  graph.layers.reserve(length_for(layers.children("layer"), state.options.limits.max_layers));
  for (const pugi::xml_node& xml : layers.children("layer")) {
    const std::size_t count = graph.layers.size() + duplicates.size();
    if (static_cast<std::int64_t>(count) >= state.options.limits.max_layers) {
      throw error_at(
          "IR-limit", state.document.where(xml),
          fmt::format("more layers than the limit max_layers of {}", state.options.limits.max_layers));
    }
    Layer layer;
    layer.xml = xml;
    layer.id = required_text(state, xml, "id", xml);
    layer.name = required_text(state, xml, "name", xml);
    layer.type = required_text(state, xml, "type", xml);
    layer.version = required_text(state, xml, "version", xml);
    const pugi::xml_attribute id = xml.attribute("id");
    if (!id) continue;
    const auto [first, is_new] = seen.try_emplace(id.value(), graph.layers.size());
    // Of many layers with the same id only the first could be told apart.
    if (is_new || duplicates.empty()) {
      read_ports(state, layer, "input", layer.inputs);
      read_ports(state, layer, "output", layer.outputs);
      layer.output_names = split_names(xml.attribute("output_names").value());
    }
    if (is_new) {
      graph.layers.push_back(std::move(layer));
    } else {
      duplicates.push_back({first->second, std::move(layer)});
    }
  }
  if (!duplicates.empty()) report_duplicates(state, parent, graph, std::move(duplicates));
  read_edges(state, parent, graph);
  graph.edges_fault = check_edges(state, parent, graph);
  return graph;
}

}  // namespace ir::reader
