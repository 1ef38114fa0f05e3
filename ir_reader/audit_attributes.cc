#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "ir_reader/audit.h"
#include "ir_runtime/element_type.h"
#include "runtime/ops/fields.h"
#include "runtime/types/letter_case.h"
#include "runtime/types/trimmed.h"

namespace ir::reader {
namespace {

// An attribute that is read only while another one has certain values.
struct Dependence {
  std::string_view attribute;
  std::string_view on;
  std::span<const std::string_view> values;
};

constexpr std::array<std::string_view, 1> kExplicit{"explicit"};
constexpr std::array<std::string_view, 2> kCubic{"cubic", "bicubic_pillow"};
constexpr std::array<std::string_view, 1> kNearest{"nearest"};
constexpr std::array<std::string_view, 1> kGaussian{"gaussian"};
constexpr std::array<std::string_view, 1> kPdpd{"pdpd"};
constexpr std::array<std::string_view, 2> kSorted{"value", "index"};
constexpr std::array kDependences{
    Dependence{"pads_begin", "auto_pad", kExplicit},
    Dependence{"pads_end", "auto_pad", kExplicit},
    Dependence{"cube_coeff", "mode", kCubic},
    Dependence{"nearest_mode", "mode", kNearest},
    Dependence{"gaussian_sigma", "decay_function", kGaussian},
    Dependence{"auto_broadcast.auto_broadcast_axis", "auto_broadcast", kPdpd},
    Dependence{"stable", "sort", kSorted},
};

// Types by which OpenVINO finds inputs, outputs, constants and variables, exactly as they are spelled.
constexpr std::array<std::string_view, 4> kExactTypes{"Parameter", "Result", "Const", "Assign"};

class AttributeAudit {
 public:
  explicit AttributeAudit(const ReadState& state) : state_(state) {}

  void check_type(const Layer& layer, const OpClass& record) {
    const std::string_view type = record.info.type;
    if (layer.type == type) return;
    const bool exact = std::ranges::find(kExactTypes, type) != kExactTypes.end();
    report_spelling(layer, layer.xml, "type", fmt::format("the type is written '{}'", layer.type), layer.type,
                    type, exact);
  }

  void check_fields(const Layer& layer, const Op& op) {
    const pugi::xml_node data = layer.xml.child("data");
    for (const Field& field : op.op_class_record().fields) {
      const std::string_view text = data.attribute(field.name.data()).value();
      const bool is_word = field.kind == FieldKind::enumeration || field.kind == FieldKind::element_type;
      if (text.empty() || !(is_word || (is_list(field) && trimmed(text).ends_with(',')))) continue;
      const std::string right = field_text(field, op.descriptor());
      if (text == right) continue;
      // Attributes have the one spelling of element types, ports the other one; "undefined" was both.
      const bool refused = field.kind == FieldKind::element_type && !equal_ignoring_case(text, right) &&
                           !equal_ignoring_case(text, "undefined");
      report_spelling(layer, data, field.name, fmt::format("attribute {} is written '{}'", field.name, text),
                      text, right, refused);
    }
    if (state_.scrutiny.notes && data) check_dependences(layer, op, data);
  }

  void check_precisions(const Layer& layer) {
    for (const LayerPort& port : layer.inputs) check_precision(layer, port, PortKind::input);
    for (const LayerPort& port : layer.outputs) check_precision(layer, port, PortKind::output);
  }

 private:
  static bool is_list(const Field& field) {
    return field.kind == FieldKind::integers || field.kind == FieldKind::reals ||
           field.kind == FieldKind::texts || field.kind == FieldKind::partial_shape;
  }

  void check_precision(const Layer& layer, const LayerPort& port, PortKind kind) {
    const pugi::xml_attribute precision = port.xml.attribute("precision");
    if (!precision) {
      if (kind == PortKind::output) report_no_precision(layer, port);
      return;
    }
    const std::string_view text = precision.value();
    const std::string_view right = port_name_of(port.precision);
    // A precision that is none has been reported.
    if (text == right || !element_type_of(text)) return;
    report_spelling(layer, port.xml, "precision",
                    fmt::format("the precision of port {} is written '{}'", port.id, text), text, right,
                    false);
  }

  void report_no_precision(const Layer& layer, const LayerPort& port) {
    add_once("precision", {.severity = Severity::warning,
                           .code = "IR-precision-missing",
                           .where = state_.document.where(port.xml),
                           .layer = layer.reference(),
                           .message = fmt::format("output port {} states no precision", port.id),
                           .hint = "OpenVINO needs it; inference gives it here",
                           .port = port.reference(PortKind::output)});
  }

  void report_spelling(const Layer& layer, const pugi::xml_node& xml, std::string_view attribute,
                       std::string message, std::string_view found, std::string_view right, bool refused) {
    if (!refused && !state_.scrutiny.notes) return;
    const std::string key = fmt::format("{} {} {}", attribute, found.substr(0, 64), right);
    add_once(key, {.severity = refused ? Severity::warning : Severity::note,
                   .code = "IR-spelling",
                   .where = state_.document.where(xml, attribute),
                   .layer = layer.reference(),
                   .message = std::move(message),
                   .hint = fmt::format("write '{}'{}", right,
                                       refused ? ", the only spelling that OpenVINO takes" : ""),
                   .found = std::string(found.substr(0, 64)),
                   .expected = std::string(right)});
  }

  void check_dependences(const Layer& layer, const Op& op, const pugi::xml_node& data) {
    const std::span<const Field> fields = op.op_class_record().fields;
    for (const Dependence& dependence : kDependences) {
      const auto field = std::ranges::find(fields, dependence.attribute, &Field::name);
      const auto master = std::ranges::find(fields, dependence.on, &Field::name);
      if (field == fields.end() || master == fields.end() || !data.attribute(field->name.data())) continue;
      const std::string mode = field_text(*master, op.descriptor());
      if (std::ranges::find(dependence.values, mode) != dependence.values.end()) continue;
      const std::string text = field_text(*field, op.descriptor());
      if (is_neutral(*field, op, text)) continue;
      add_once(fmt::format("{} {}", field->name, mode),
               {.severity = Severity::note,
                .code = "IR-attribute-ignored",
                .where = state_.document.where(data, field->name),
                .layer = layer.reference(),
                .message = fmt::format("{} is \"{}\" and is not read: {} is {}", field->name, text,
                                       master->name, mode),
                .found = text});
    }
  }

  // Zeros and defaults stand beside any value of the other attribute.
  static bool is_neutral(const Field& field, const Op& op, const std::string& text) {
    if (text.find_first_not_of("0, ") == std::string::npos) return true;
    const Op defaults(op.op_class_record());
    return text == field_text(field, defaults.descriptor());
  }

  // What a writer does, it does everywhere: the first finding of a kind holds the others.
  void add_once(const std::string& key, Diagnostic diagnostic) {
    const auto [first, is_new] = first_.try_emplace(key, kNoFinding);
    if (is_new) {
      first->second = state_.findings.add(std::move(diagnostic));
    } else {
      state_.findings.add_consequence(first->second, std::move(diagnostic));
    }
  }

  const ReadState& state_;
  std::map<std::string, FindingId, std::less<>> first_;
};

}  // namespace

void audit_attributes(const GraphView& view) {
  AttributeAudit audit(view.state);
  for (std::size_t i = 0; i < view.graph.layers.size(); ++i) {
    const Layer& layer = view.graph.layers[i];
    const Node* node = view.nodes[i];
    // A layer that could not be read stands for itself.
    if (node != nullptr && node->op().op_class_record().info.last_opset >= 0) {
      audit.check_type(layer, node->op().op_class_record());
      audit.check_fields(layer, node->op());
    }
    audit.check_precisions(layer);
  }
}

}  // namespace ir::reader
