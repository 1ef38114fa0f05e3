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
constexpr std::array<std::string_view, 2> kInBody{"layers", "edges"};
constexpr std::array<std::string_view, 2> kInPort{"dim", "rt_info"};
// Blocks of ports may stand several times, as dims do.
constexpr std::array<std::string_view, 3> kRepeatable{"input", "output", "dim"};

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
  for (const Layer& layer : view.graph.layers) {
    audit.check_attributes(layer.xml, &layer);
    audit.check_id(layer.xml, layer.id, &layer);
    audit.check_children(layer.xml, kInLayer, &layer);
    if (const pugi::xml_node data = layer.xml.child("data")) audit.check_attributes(data, &layer);
    for (const std::vector<LayerPort>* ports : {&layer.inputs, &layer.outputs}) {
      for (const LayerPort& port : *ports) {
        audit.check_attributes(port.xml, &layer);
        audit.check_id(port.xml, port.id, &layer);
        audit.check_children(port.xml, kInPort, &layer);
      }
    }
  }
  for (const Edge& edge : view.graph.edges) audit.check_attributes(edge.xml, nullptr);
}

}  // namespace ir::reader
