#include "ir_reader/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ir::reader {
namespace {

void read_element(const ReadState& state, const pugi::xml_node& xml, std::int64_t depth, Annotations& entry) {
  entry.name = xml.name();
  for (const pugi::xml_attribute& attribute : xml.attributes())
    entry.attributes.emplace_back(attribute.name(), attribute.value());
  for (const pugi::xml_node& child : xml.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) entry.text += child.value();
    if (child.type() != pugi::node_element) continue;
    if (depth >= state.options.limits.max_body_depth) {
      state.findings.error("IR-limit", state.document.where(child), {},
                           fmt::format("elements are nested deeper than the limit max_body_depth of {}",
                                       state.options.limits.max_body_depth));
      return;
    }
    read_element(state, child, depth + 1, entry.children.emplace_back());
  }
}

}  // namespace

Annotations read_annotations(const ReadState& state, const pugi::xml_node& xml) {
  Annotations annotations;
  if (xml) read_element(state, xml, 0, annotations);
  return annotations;
}

void read_net_annotations(const ReadState& state, const pugi::xml_node& net, Annotations& annotations) {
  constexpr std::array<std::string_view, 3> kNames{"rt_info", "meta_data", "quantization_parameters"};
  for (const pugi::xml_node& child : net.children()) {
    if (std::ranges::find(kNames, child.name()) == kNames.end()) continue;
    read_element(state, child, 0, annotations.children.emplace_back());
  }
}

void write_annotations(const Annotations& annotations, pugi::xml_node xml) {
  for (const auto& [name, value] : annotations.attributes) xml.append_attribute(name.c_str()) = value.c_str();
  if (!annotations.text.empty()) xml.append_child(pugi::node_pcdata).set_value(annotations.text.c_str());
  for (const Annotations& entry : annotations.children)
    write_annotations(entry, xml.append_child(entry.name.c_str()));
}

}  // namespace ir::reader
