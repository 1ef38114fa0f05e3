#include "ir_reader/ir_version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "ir_reader/number.h"
#include "ir_reader/opset_releases.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/type_conversion.h"
#include "ir_runtime/subgraph.h"
#include "runtime/ops/infer.h"

namespace ir::reader {
namespace {

constexpr int kOldestVersion = 10;
constexpr int kNewestVersion = 11;

[[noreturn]] void fail(std::string code, SourceLocation where, std::string message, std::string hint = {}) {
  throw Error({Diagnostic{
      Severity::error, std::move(code), std::move(where), {}, std::move(message), std::move(hint)}});
}

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
  for (Node* node : model.parameters()) {
    if (node->output(0).type != ElementType::f16) continue;
    node->op().as<op::v0::Parameter>()->element_type = ElementType::f32;
    infer_node(*node);
    // Inputs stay together at the front, as files list them.
    const auto at = std::ranges::find(model.nodes(), node, &std::unique_ptr<Node>::get);
    const auto behind = std::find_if(at, model.nodes().end(), [](const auto& other) {
      return !other->op().template is<op::v0::Parameter>();
    });
    if (behind == model.nodes().end()) continue;  // nothing reads the input
    Node& half =
        model.insert_before(**behind, op::v0::Convert(ElementType::f16), {*node}, node->name() + "/f16");
    model.replace(*node, half);
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
Node& shown_as(Model& model, const Output& value, ElementType type, const Node& result) {
  Node& source = *value.node;
  const std::string name = source.name();
  const auto named_by_type = [&](ElementType of) { return fmt::format("{}/{}", name, name_of(of)); };
  const bool is_input = source.op().is<op::v0::Parameter>();
  const bool is_only = source.output_count() == 1;
  Node& shown = model.insert_before(result, op::v0::Convert(type), {value},
                                    is_input  ? named_by_type(type)
                                    : is_only ? name
                                              : fmt::format("{}.{}", name, value.index));
  if (is_input) return shown;
  shown.set_output_names(0, source.output_names(value.index));
  source.set_output_names(value.index, {});
  if (is_only) source.set_name(named_by_type(value.info().type));
  return shown;
}

void convert_outputs(Model& model) {
  std::vector<std::pair<Output, Node*>> converted;
  for (Node* node : model.results()) {
    const Output value = node->input(0);
    const ElementType type = shown_type(value.info().type);
    if (value.info().type == type) continue;
    auto known = std::ranges::find(converted, value, &std::pair<Output, Node*>::first);
    if (known == converted.end())
      known = converted.insert(known, {value, &shown_as(model, value, type, *node)});
    node->set_input(0, *known->second);
    infer_node(*node);
  }
}

}  // namespace

int read_ir_version(const Document& document) {
  const pugi::xml_node root = document.root();
  if (!is_net(root.name())) {
    fail("IR-structure", document.where(root),
         fmt::format("the root element is <{}>, an IR has <net>", root.name()));
  }
  const pugi::xml_attribute attribute = root.attribute("version");
  if (!attribute) fail("IR-version", document.where(root), "<net> has no attribute 'version'");
  const std::string_view text = attribute.value();
  const auto number = number_of<int>(text);
  if (!number)
    fail("IR-version", document.where(root, "version"), fmt::format("the version '{}' is no number", text));
  const int version = *number;
  if (const std::string_view last = last_release_of_ir(version); !last.empty()) {
    fail("IR-version", document.where(root, "version"),
         fmt::format("IR version {} is a format of before 2020", version),
         fmt::format("OpenVINO {} was the last release to read it; convert the model again from its source",
                     last));
  }
  if (version < kOldestVersion || version > kNewestVersion) {
    fail("IR-version", document.where(root, "version"),
         fmt::format("IR version {} is not supported; versions {} and {} are", version, kOldestVersion,
                     kNewestVersion));
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
