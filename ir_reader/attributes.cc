#include "ir_reader/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "ir_reader/near_names.h"
#include "ir_reader/operation_lookup.h"
#include "runtime/ops/fields.h"
#include "runtime/types/trimmed.h"

namespace ir::reader {
namespace {

// A finding repeats no more of a text than this.
std::string shortened(std::string_view text) { return std::string(text.substr(0, 200)); }

// "did you mean 'numpy'?" where the values of an attribute are words; empty when none is near.
std::string meant_value(const Field& field, std::string_view text) {
  if (field.kind == FieldKind::element_type) return did_you_mean_type(trimmed(text), name_of);
  std::vector<std::string_view> values;
  if (field.kind == FieldKind::boolean) values = {"true", "false"};
  for (const Spelling& spelling : field.spellings) values.push_back(spelling.name);
  return did_you_mean(trimmed(text), values);
}

// Reads the <data> of one layer into a descriptor.
class AttributeReader {
 public:
  AttributeReader(const ReadState& state, const Layer& layer, Op& op)
      : state_(state),
        layer_(layer),
        op_(op),
        fields_(op.op_class_record().fields),
        data_(layer.xml.child("data")) {}

  bool read() {
    find_unknown();
    for (const Field& field : fields_) {
      if (field.kind == FieldKind::ignored) continue;
      if (const pugi::xml_attribute attribute = data_.attribute(field.name.data())) {
        read_value(field, attribute.value());
      } else if (field.required) {
        report_missing(field);
      }
    }
    for (const Unknown& unknown : unknown_) report(unknown);
    return good_;
  }

 private:
  struct Unknown {
    std::string_view name;
    // The attribute that was meant, as it seems.
    std::string_view meant;
  };

  void find_unknown() {
    for (const pugi::xml_attribute& attribute : data_.attributes()) {
      const std::string_view name = attribute.name();
      if (std::ranges::find(fields_, name, &Field::name) != fields_.end()) continue;
      if (state_.findings.full()) return state_.findings.stop_counting();
      std::vector<std::string_view> absent;
      for (const Field& field : fields_) {
        if (field.kind != FieldKind::ignored && !data_.attribute(field.name.data()))
          absent.push_back(field.name);
      }
      unknown_.push_back({name, nearest(name, absent)});
    }
  }

  void read_value(const Field& field, std::string_view text) {
    if (exceeds(field, text.size(), "bytes", state_.options.limits.max_attribute_bytes,
                "max_attribute_bytes"))
      return;
    const auto entries = static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
    const bool is_text = field.kind == FieldKind::text;
    if (!is_text && exceeds(field, entries, "entries", state_.options.limits.max_attribute_entries,
                            "max_attribute_entries"))
      return;
    if (auto wrong = read_field(field, op_.descriptor(), text)) {
      error("IR-attribute-value", field.name, std::move(*wrong), meant_value(field, text), shortened(text),
            accepted_text(field));
    }
  }

  bool exceeds(const Field& field, std::size_t size, std::string_view unit, std::int64_t limit,
               std::string_view name) {
    if (static_cast<std::int64_t>(size) <= limit) return false;
    error(
        "IR-limit", field.name,
        fmt::format("the attribute '{}' has {} {}, the limit {} is {}", field.name, size, unit, name, limit),
        {}, fmt::format("{}", size), fmt::format("at most {}", limit));
    return true;
  }

  void report_missing(const Field& field) {
    good_ = false;
    // A misspelt attribute is reported as that.
    if (std::ranges::find(unknown_, field.name, &Unknown::meant) != unknown_.end()) return;
    error("IR-attribute-missing", {}, fmt::format("the attribute '{}' is missing", field.name),
          std::string(field.doc), {}, accepted_text(field));
  }

  void report(const Unknown& unknown) {
    // A misspelt attribute changes what the model computes; one that means nothing here does not.
    const bool misspelt = !unknown.meant.empty();
    if (misspelt) good_ = false;
    state_.findings.add(
        {.severity = misspelt ? Severity::error : Severity::warning,
         .code = "IR-attribute-unknown",
         .where = state_.document.where(data_, unknown.name),
         .layer = layer_.reference(),
         .message = fmt::format("{} of {} has no attribute '{}'", layer_.type, layer_.version, unknown.name),
         .hint = misspelt ? fmt::format("did you mean '{}'?", unknown.meant) : "it is ignored",
         .found = std::string(unknown.name),
         .expected = std::string(unknown.meant)});
  }

  void error(std::string code, std::string_view attribute, std::string message, std::string hint,
             std::string found, std::string expected) {
    good_ = false;
    const auto where = attribute.empty() ? state_.document.where(data_ ? data_ : layer_.xml)
                                         : state_.document.where(data_, attribute);
    state_.findings.add({.severity = Severity::error,
                         .code = std::move(code),
                         .where = where,
                         .layer = layer_.reference(),
                         .message = std::move(message),
                         .hint = std::move(hint),
                         .found = std::move(found),
                         .expected = std::move(expected)});
  }

  const ReadState& state_;
  const Layer& layer_;
  Op& op_;
  std::span<const Field> fields_;
  pugi::xml_node data_;
  std::vector<Unknown> unknown_;
  bool good_ = true;
};

}  // namespace

std::optional<Op> read_op(const ReadState& state, const Layer& layer) {
  const OpClass* found = find_class(state, layer);
  if (found == nullptr) return std::nullopt;
  Op op(*found);
  return AttributeReader(state, layer, op).read() ? std::optional<Op>(std::move(op)) : std::nullopt;
}

}  // namespace ir::reader
