#include "ir_reader/ir_version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir_reader/errors.h"
#include "ir_reader/number.h"
#include "ir_reader/opset_releases.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/type_conversion.h"
#include "ir_runtime/subgraph.h"
#include "runtime/model/layer_name.h"
#include "runtime/ops/infer.h"

namespace ir::reader {
namespace {

constexpr int kOldestVersion = 10;
constexpr int kNewestVersion = 11;

bool is_net(std::string_view name) {
  return name.size() == 3 &&
         std::ranges::equal(name, std::string_view("net"),
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

void drop_later_additions(Model& model) {
  for (const auto& node : model.nodes()) {
    node->annotations() = {};
    for (std::size_t i = 0; i < node->inputs().size(); ++i) node->set_input_annotations(i, {});
    for (std::size_t i = 0; i < node->output_count(); ++i) node->set_output_annotations(i, {});
    if (node->op().is<op::v0::Result>()) node->set_output_names(0, {});
    const OpClass& record = node->op().op_class_record();
    if (record.subgraphs == nullptr) continue;
    for (Subgraph& subgraph : record.subgraphs(node->op().descriptor())) {
      // Others may share the body.
      auto body = std::make_shared<Model>(*subgraph.body);
      drop_later_additions(*body);
      subgraph.body = std::move(body);
    }
  }
}

void widen_inputs(Model& model) {
  // Each with what its Convert comes before: inputs stay together at the front, as files list them.
  std::vector<std::pair<Node*, const Node*>> widened;
  const Node* behind = nullptr;
  for (auto node = model.nodes().rbegin(); node != model.nodes().rend(); ++node) {
    auto* const parameter = (*node)->op().as<op::v0::Parameter>();
    if (parameter == nullptr) {
      behind = node->get();
    } else if ((*node)->output(0).type == ElementType::f16) {
      parameter->element_type = ElementType::f32;
      infer_node(**node);
      if (behind != nullptr) widened.emplace_back(node->get(), behind);  // else nothing reads the input
    }
  }
  if (widened.empty()) return;
  std::unordered_map<const Node*, Node*> halves;
  {
    Model::Insertions insertions(model);
    for (auto input = widened.rbegin(); input != widened.rend(); ++input) {
      Node& node = *input->first;
      halves.emplace(&node, &insertions.before(*input->second, op::v0::Convert(ElementType::f16), {node},
                                               node.name() + "/f16"));
    }
  }
  for (const auto& node : model.nodes()) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      const auto half = halves.find(node->input(i).node);
      if (half != halves.end() && half->second != node.get()) node->set_input(i, *half->second);
    }
  }
}

ElementType shown_type(ElementType type) {
  switch (type) {
    case ElementType::i32:
    case ElementType::u32:
    case ElementType::i64:
    case ElementType::u64:
      return ElementType::i32;
    case ElementType::string:
    case ElementType::dynamic:
      return type;
    default:
      return ElementType::f32;
  }
}

// What shows the value goes by all the names that it had, as the output did. An input keeps its own.
Node& shown_as(Model::Insertions& insertions, const Output& value, ElementType type, const Node& result) {
  Node& source = *value.node;
  const std::string name = source.name();
  const auto named_by_type = [&](ElementType of) { return fmt::format("{}/{}", name, name_of(of)); };
  const bool is_input = source.op().is<op::v0::Parameter>();
  Node& shown = insertions.before(
      result, op::v0::Convert(type), {value},
      is_input ? named_by_type(type) : layer_name(name, source.output_count(), value.index));
  if (is_input) return shown;
  shown.set_output_names(0, source.output_names(value.index));
  source.set_output_names(value.index, {});
  if (source.output_count() == 1) source.set_name(named_by_type(value.info().type));
  return shown;
}

void convert_outputs(Model& model) {
  Model::Insertions insertions(model);
  std::map<std::pair<const Node*, std::size_t>, Node*> converted;
  for (Node* node : model.results()) {
    const Output value = node->input(0);
    const ElementType type = shown_type(value.info().type);
    if (value.info().type == type) continue;
    Node*& shown = converted[{value.node, value.index}];
    if (shown == nullptr) shown = &shown_as(insertions, value, type, *node);
    node->set_input(0, *shown);
    infer_node(*node);
  }
}

}  // namespace

int read_ir_version(const Document& document) {
  const pugi::xml_node root = document.root();
  if (!is_net(root.name())) {
    throw error_at("IR-structure", document.where(root),
                   fmt::format("the root element is <{}>, an IR has <net>", root.name()));
  }
  const pugi::xml_attribute attribute = root.attribute("version");
  if (!attribute) throw error_at("IR-version", document.where(root), "<net> has no attribute 'version'");
  const std::string_view text = attribute.value();
  const auto number = number_of<int>(text);
  if (!number)
    throw error_at("IR-version", document.where(root, "version"),
                   fmt::format("the version '{}' is no number", text));
  const int version = *number;
  if (const std::string_view last = last_release_of_ir(version); !last.empty()) {
    throw error_at(
        "IR-version", document.where(root, "version"),
        fmt::format("IR version {} is a format of before 2020", version),
        fmt::format("OpenVINO {} was the last release to read it; convert the model again from its source",
                    last));
  }
  if (version < kOldestVersion || version > kNewestVersion) {
    throw error_at("IR-version", document.where(root, "version"),
                   fmt::format("IR version {} is not supported; versions {} and {} are", version,
                               kOldestVersion, kNewestVersion));
  }
  return version;
}

void require_known_version(int version) {
  if (version >= kOldestVersion && version <= kNewestVersion) return;
  throw Error("IR-version", fmt::format("IR version {} cannot be written; versions {} and {} can", version,
                                        kOldestVersion, kNewestVersion));
}

void present_as_v10(Model& model) {
  drop_later_additions(model);
  widen_inputs(model);
  convert_outputs(model);
}

}  // namespace ir::reader
