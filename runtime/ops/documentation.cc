#include "runtime/ops/documentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "runtime/ops/fields.h"

namespace ir {
namespace {

// Classes of one type, oldest first.
using Versions = std::vector<const OpClass*>;
using Family = std::map<std::string_view, Versions>;

std::map<std::string_view, Family> classes_by_family() {
  std::map<std::string_view, Family> families;
  for (const OpClass* op_class : all_op_classes()) {
    families[op_class->info.family][op_class->info.type].push_back(op_class);
  }
  return families;
}

std::string range_of_opsets(int first, int last) {
  return first == last ? fmt::format("opset{}", first) : fmt::format("opset{} to opset{}", first, last);
}

std::string_view name_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::boolean:
      return "boolean";
    case FieldKind::integer:
      return "integer";
    case FieldKind::real:
      return "real";
    case FieldKind::text:
      return "text";
    case FieldKind::integers:
    case FieldKind::shape:
      return "integers";
    case FieldKind::reals:
      return "reals";
    case FieldKind::texts:
      return "texts";
    case FieldKind::element_type:
      return "element type";
    case FieldKind::partial_shape:
      return "shape";
    case FieldKind::enumeration:
      return "enumeration";
    case FieldKind::ignored:
      break;
  }
  return "ignored";
}

// "`explicit` (or `notset`), `valid`"
std::string spellings_of(const Field& field) {
  std::string text;
  int previous = 0;
  for (const Spelling& spelling : field.spellings) {
    if (text.empty()) {
      text = fmt::format("`{}`", spelling.name);
    } else if (spelling.value == previous) {
      text += fmt::format(" (or `{}`)", spelling.name);
    } else {
      text += fmt::format(", `{}`", spelling.name);
    }
    previous = spelling.value;
  }
  return text;
}

std::string values_of(const Field& field) {
  if (field.kind == FieldKind::enumeration) return spellings_of(field);
  const auto [min, max] = field.range;
  if (std::isfinite(min) && std::isfinite(max)) return fmt::format("{} to {}", min, max);
  if (std::isfinite(min)) return fmt::format("at least {}", min);
  if (std::isfinite(max)) return fmt::format("at most {}", max);
  return {};
}

std::string default_of(const Field& field, const void* descriptor) {
  if (field.required) return "required";
  const std::string text = field_text(field, descriptor);
  return text.empty() ? "empty" : fmt::format("`{}`", text);
}

// "`a`, `b`: what they were for", one line for each text.
std::string ignored_of(std::span<const Field> fields) {
  std::vector<std::pair<std::string_view, std::string>> names_by_doc;
  for (const Field& field : fields) {
    if (field.kind != FieldKind::ignored) continue;
    const auto same =
        std::ranges::find(names_by_doc, field.doc, [](const auto& entry) { return entry.first; });
    if (same == names_by_doc.end()) {
      names_by_doc.emplace_back(field.doc, fmt::format("`{}`", field.name));
    } else {
      same->second += fmt::format(", `{}`", field.name);
    }
  }
  std::string lines;
  for (const auto& [doc, names] : names_by_doc) lines += fmt::format("- {}: {}\n", names, doc);
  return lines;
}

std::string attributes_of(const OpClass& op_class) {
  const auto descriptor = op_class.create();
  std::string rows;
  for (const Field& field : op_class.fields) {
    if (field.kind == FieldKind::ignored) continue;
    rows += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.name, name_of(field.kind),
                        default_of(field, descriptor.get()), values_of(field), field.doc);
  }
  std::string text = "No attributes.\n";
  if (!rows.empty())
    text = "| attribute | type | default | values | meaning |\n|---|---|---|---|---|\n" + rows;
  const std::string ignored = ignored_of(op_class.fields);
  if (!ignored.empty()) text += "\nAccepted and not read:\n\n" + ignored;
  return text;
}

std::string notes_of(const OpClass& op_class) {
  std::string notes;
  if (!op_class.info.version.empty()) {
    notes += fmt::format(" Written as `version=\"{}\"`.", op_class.version());
  }
  if (op_class.info.stateful) notes += " Runs with equal inputs may differ.";
  if (op_class.subgraphs != nullptr) notes += " Holds other models.";
  return notes;
}

std::string type_section(std::string_view type, const Versions& versions) {
  std::string text = fmt::format("### {}\n", type);
  std::string earlier;
  std::string earlier_opsets;
  for (const OpClass* op_class : versions) {
    const std::string opsets = opsets_of(op_class->info);
    text += fmt::format("\n**{}**: {}{}\n\n", opsets, op_class->info.summary, notes_of(*op_class));
    const std::string attributes = attributes_of(*op_class);
    text += attributes == earlier ? fmt::format("Attributes as in {}.\n", earlier_opsets) : attributes;
    if (attributes != earlier) earlier_opsets = opsets;
    earlier = attributes;
  }
  return text;
}

}  // namespace

std::string opsets_of(const OpInfo& info) {
  if (info.last_opset == 0) return "nGraph (opset0)";
  if (info.missing_opset < 0) return range_of_opsets(info.first_opset, info.last_opset);
  return fmt::format("{} and {}", range_of_opsets(info.first_opset, info.missing_opset - 1),
                     range_of_opsets(info.missing_opset + 1, info.last_opset));
}

std::string operations_markdown() {
  const auto families = classes_by_family();
  std::size_t types = 0;
  for (const auto& [name, family] : families) types += family.size();

  std::string text = fmt::format(
      "# Operations\n\n"
      "{} types in {} versions, generated from their field tables (runtime/ops/documentation.cc): do not "
      "edit.\n"
      "A version serves a range of opsets; a layer may name any of them. Lists are separated by commas.\n\n"
      "| family | types |\n|---|---|\n",
      types, all_op_classes().size());
  for (const auto& [name, family] : families) {
    std::string names;
    for (const auto& [type, versions] : family) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", type);
    }
    text += fmt::format("| [{}](#{}) | {} |\n", name, name, names);
  }
  for (const auto& [name, family] : families) {
    text += fmt::format("\n## {}\n", name);
    for (const auto& [type, versions] : family) text += "\n" + type_section(type, versions);
  }
  return text;
}

}  // namespace ir
