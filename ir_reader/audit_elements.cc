#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir_reader/audit.h"
#include "ir_reader/near_names.h"

namespace ir::reader {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 7> kInNet{
    "layers", "edges", "rt_info", "meta_data", "quantization_parameters", "pre-process", "statistics"};
constexpr std::array<std::string_view, 11> kInLayer{
    "data", "input",         "output",        "rt_info",   "port_map", "back_edges",
    "body", "then_port_map", "else_port_map", "then_body", "else_body"};
constexpr std::array<std::string_view, 3> kInBody{"layers", "edges", "rt_info"};
constexpr std::array<std::string_view, 2> kInPort{"dim", "rt_info"};
constexpr std::array<std::string_view, 1> kInLayers{"layer"};
constexpr std::array<std::string_view, 1> kInEdges{"edge"};
constexpr std::array<std::string_view, 1> kInBlock{"port"};
constexpr std::array<std::string_view, 2> kInPortMap{"input", "output"};
constexpr std::array<std::string_view, 1> kInRtInfo{"attribute"};
constexpr std::array<std::string_view, 1> kInPreprocess{"channel"};
constexpr std::array<std::string_view, 1> kInChannel{"mean"};
// Blocks of ports may stand several times, as dims do.
constexpr std::array<std::string_view, 8> kRepeatable{"input", "output", "dim",       "layer",
                                                      "edge",  "port",   "attribute", "channel"};

// `precision` is of old versions.
constexpr std::array<std::string_view, 6> kOfLayer{"id",      "name",         "type",
                                                   "version", "output_names", "precision"};
constexpr std::array<std::string_view, 4> kOfPort{"id", "precision", "names", "rt_info"};
constexpr std::array<std::string_view, 4> kOfEdge{"from-layer", "from-port", "to-layer", "to-port"};
constexpr std::array<std::string_view, 8> kOfMapEntry{
    "external_port_id", "internal_layer_id", "axis", "start", "end", "stride", "part_size", "purpose"};
constexpr std::array<std::string_view, 2> kOfPreprocess{"reference-layer-name", "mean-precision"};
constexpr std::array<std::string_view, 1> kOfChannel{"id"};
constexpr std::array<std::string_view, 3> kOfMean{"value", "offset", "size"};
constexpr std::array<const char*, 3> kPortMaps{"port_map", "then_port_map", "else_port_map"};

bool contains(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

class ElementAudit {
 public:
  /// `edges_fault` is what was said of <edges> as a whole.
  ElementAudit(const ReadState& state, FindingId edges_fault) : state_(state), edges_fault_(edges_fault) {}

  /// The children of `xml` are among `known`, and stand once.
  void check_children(const pugi::xml_node& xml, Names known, const Layer* layer) {
    std::uint32_t seen = 0;
    for (const pugi::xml_node& child : xml.children()) {
      if (child.type() != pugi::node_element) continue;
      const std::string_view name = child.name();
      const auto place = std::ranges::find(known, name);
      if (place == known.end()) {
        report_unknown(child, known, layer);
        continue;
      }
      const std::uint32_t bit = 1U << static_cast<unsigned>(place - known.begin());
      if ((seen & bit) != 0 && !contains(kRepeatable, name))
        report({.severity = Severity::warning,
                .code = "IR-element-repeated",
                .where = state_.document.where(child),
                .layer = reference(layer),
                .message = fmt::format("a second <{}> is not read", name)},
               name == "edges");
      seen |= bit;
    }
  }

  /// Nothing stands behind the root, as it does when files were joined.
  void check_behind(const pugi::xml_node& root) {
    for (pugi::xml_node other = root.next_sibling(); other; other = other.next_sibling()) {
      if (other.type() != pugi::node_element) continue;
      state_.findings.warning(
          "IR-element-repeated", state_.document.where(other), {},
          fmt::format("<{}> stands behind the end of <{}> and is not read", other.name(), root.name()),
          "a file holds one network");
    }
  }

  void check_attributes(const pugi::xml_node& xml, const Layer* layer) {
    // Few attributes are compared one by one; a file may hold any number.
    constexpr std::ptrdiff_t kFew = 16;
    const auto attributes = xml.attributes();
    if (std::distance(attributes.begin(), attributes.end()) > kFew) return check_many_attributes(xml, layer);
    for (pugi::xml_attribute first = xml.first_attribute(); first; first = first.next_attribute()) {
      for (pugi::xml_attribute other = first.next_attribute(); other; other = other.next_attribute()) {
        if (std::strcmp(first.name(), other.name()) == 0) return report_twice(xml, first.name(), layer);
      }
    }
  }

  /// Attributes are read there, or are not near to one that is.
  void check_spelling(const pugi::xml_node& xml, Names known, const Layer* layer) {
    for (const pugi::xml_attribute& attribute : xml.attributes()) {
      const std::string_view name = attribute.name();
      if (contains(known, name)) continue;
      const std::string_view meant = nearest(name, {known.begin(), known.end()});
      if (meant.empty()) continue;
      state_.findings.warning("IR-attribute-unknown", state_.document.where(xml, name), reference(layer),
                              fmt::format("<{}> has an attribute '{}', which is not read", xml.name(), name),
                              fmt::format("did you mean '{}'?", meant));
    }
  }

  /// An <rt_info> of a layer or port, which may hold more than is read, has no misspelt entry.
  void check_rt_info(const pugi::xml_node& rt_info, const Layer* layer) {
    for (const pugi::xml_node& child : rt_info.children()) {
      if (child.type() != pugi::node_element || contains(kInRtInfo, child.name())) continue;
      if (!nearest(child.name(), {kInRtInfo.begin(), kInRtInfo.end()}).empty())
        report_unknown(child, kInRtInfo, layer);
    }
  }

  void check_port_map(const pugi::xml_node& map, const Layer* layer) {
    check_children(map, kInPortMap, layer);
    for (const pugi::xml_node& entry : map.children()) check_spelling(entry, kOfMapEntry, layer);
  }

  void check_edges(const pugi::xml_node& edges, const Layer* layer) {
    check_children(edges, kInEdges, layer);
    for (const pugi::xml_node& edge : edges.children("edge")) {
      check_attributes(edge, layer);
      check_spelling(edge, kOfEdge, layer);
    }
  }

  /// A scale beside a mean, for instance, is not read.
  void check_preprocess(const pugi::xml_node& process) {
    check_children(process, kInPreprocess, nullptr);
    check_spelling(process, kOfPreprocess, nullptr);
    for (const pugi::xml_node& channel : process.children("channel")) {
      check_children(channel, kInChannel, nullptr);
      check_spelling(channel, kOfChannel, nullptr);
      check_spelling(channel.child("mean"), kOfMean, nullptr);
    }
  }

  void check_layer(const Layer& layer) {
    check_attributes(layer.xml, &layer);
    check_spelling(layer.xml, kOfLayer, &layer);
    check_id(layer.xml, layer.id, &layer);
    check_children(layer.xml, kInLayer, &layer);
    check_rt_info(layer.xml.child("rt_info"), &layer);
    if (const pugi::xml_node data = layer.xml.child("data")) check_attributes(data, &layer);
    for (const char* map : kPortMaps) check_port_map(layer.xml.child(map), &layer);
    check_edges(layer.xml.child("back_edges"), &layer);
    for (const char* block : {"input", "output"}) {
      for (const pugi::xml_node& ports : layer.xml.children(block)) check_children(ports, kInBlock, &layer);
    }
    for (const std::vector<LayerPort>* ports : {&layer.inputs, &layer.outputs}) {
      for (const LayerPort& port : *ports) check_port(port, layer);
    }
  }

  void check_port(const LayerPort& port, const Layer& layer) {
    check_attributes(port.xml, &layer);
    check_spelling(port.xml, kOfPort, &layer);
    check_id(port.xml, port.id, &layer);
    check_children(port.xml, kInPort, &layer);
    check_rt_info(port.xml.child("rt_info"), &layer);
  }

  void check_id(const pugi::xml_node& xml, std::string_view id, const Layer* layer) {
    if (!xml.attribute("id")) return;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
    const bool number = error != std::errc::invalid_argument && end == id.data() + id.size();
    if (number && error == std::errc()) return;
    state_.findings.add(
        {.severity = Severity::warning,
         .code = "IR-id-text",
         .where = state_.document.where(xml, "id"),
         .layer = reference(layer),
         .message = fmt::format("the id '{}' {}", id, number ? "does not fit into 64 bits" : "is no number"),
         .hint = "OpenVINO refuses it; number layers and ports",
         .found = std::string(id),
         .expected = "a number"});
  }

 private:
  static LayerReference reference(const Layer* layer) {
    return layer == nullptr ? LayerReference{} : layer->reference();
  }

  void report_unknown(const pugi::xml_node& xml, Names known, const Layer* layer) {
    const std::vector<std::string_view> candidates{known.begin(), known.end()};
    const std::string_view meant = nearest(xml.name(), candidates);
    report({.severity = Severity::warning,
            .code = "IR-element-unknown",
            .where = state_.document.where(xml),
            .layer = reference(layer),
            .message =
                fmt::format("<{}> has an element <{}>, which is not read", xml.parent().name(), xml.name()),
            .hint = did_you_mean(xml.name(), candidates)},
           meant == "edges" || meant == "edge");
  }

  // What is odd about edges may have been reported with more to it.
  void report(Diagnostic found, bool about_edges) {
    if (about_edges && edges_fault_ != kNoFinding) {
      state_.findings.add_consequence(edges_fault_, std::move(found));
    } else {
      state_.findings.add(std::move(found));
    }
  }

  void check_many_attributes(const pugi::xml_node& xml, const Layer* layer) {
    std::unordered_set<std::string_view> seen;
    for (const pugi::xml_attribute& attribute : xml.attributes()) {
      if (!seen.insert(attribute.name()).second) return report_twice(xml, attribute.name(), layer);
    }
  }

  void report_twice(const pugi::xml_node& xml, std::string_view name, const Layer* layer) {
    state_.findings.warning("IR-attribute-duplicate", state_.document.where(xml, name), reference(layer),
                            fmt::format("the attribute '{}' stands twice", name), "the first one counts");
  }

  const ReadState& state_;
  FindingId edges_fault_;
};

}  // namespace

void audit_elements(const GraphView& view) {
  ElementAudit audit(view.state, view.graph.edges_fault);
  if (view.state.depth == 0) audit.check_behind(view.xml);
  audit.check_children(view.xml, view.state.depth == 0 ? Names(kInNet) : Names(kInBody), nullptr);
  audit.check_children(view.xml.child("layers"), kInLayers, nullptr);
  for (const Layer& layer : view.graph.layers) audit.check_layer(layer);
  audit.check_edges(view.xml.child("edges"), nullptr);
  audit.check_preprocess(view.xml.child("pre-process"));
}

}  // namespace ir::reader
