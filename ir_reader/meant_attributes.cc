#include "ir_reader/meant_attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "ir_reader/port_check.h"
#include "runtime/ops/fields.h"
#include "runtime/ops/infer.h"

namespace ir::reader {
namespace {

constexpr std::size_t kMaxAlternatives = 3;
constexpr std::size_t kMaxEntries = 8;

std::vector<std::int64_t> numbers_near(std::int64_t value, bool below_zero) {
  // Beyond this no attribute of shapes is near to anything, and sums could overflow.
  constexpr std::int64_t kLarge = 1 << 30;
  if (value > kLarge || value < -kLarge) return {};
  std::vector<std::int64_t> near{value + 1, value - 1, value + 2, value - 2, value * 2, value / 2};
  for (std::int64_t small = 0; small <= 4; ++small) near.push_back(small);
  for (std::int64_t small = -1; small >= -4; --small) near.push_back(small);
  if (!below_zero) std::erase_if(near, [](std::int64_t number) { return number < 0; });
  return near;
}

std::string joined(std::span<const std::int64_t> values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

// Lists with one entry changed, all entries changed alike, one more or one less, or in another order.
std::vector<std::string> lists_near(const std::vector<std::int64_t>& values) {
  std::vector<std::string> lists;
  if (values.empty() || values.size() > kMaxEntries) return lists;
  // Pads of less than nothing are allowed, and never meant.
  const bool below_zero = std::ranges::any_of(values, [](std::int64_t value) { return value < 0; });
  const bool all_alike = std::ranges::count(values, values.front()) == std::ssize(values);
  if (all_alike) {
    for (const std::int64_t number : numbers_near(values.front(), below_zero))
      lists.push_back(joined(std::vector<std::int64_t>(values.size(), number)));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<std::int64_t> changed = values;
    for (const std::int64_t number : numbers_near(values[i], below_zero)) {
      changed[i] = number;
      lists.push_back(joined(changed));
    }
  }
  lists.push_back(joined(std::span(values).first(values.size() - 1)));
  std::vector<std::int64_t> longer = values;
  longer.push_back(values.back());
  lists.push_back(joined(longer));
  std::vector<std::int64_t> reversed(values.rbegin(), values.rend());
  lists.push_back(joined(reversed));
  return lists;
}

// Values that may have been meant instead of the one that the attribute has.
std::vector<std::string> values_near(const Field& field, const Op& op, const Layer& layer) {
  std::vector<std::string> values;
  switch (field.kind) {
    case FieldKind::boolean:
      values = {field.in<bool>(op.descriptor()) ? "false" : "true"};
      break;
    case FieldKind::integer:
      for (const std::int64_t number : numbers_near(field.in<std::int64_t>(op.descriptor()), true))
        values.push_back(fmt::format("{}", number));
      break;
    case FieldKind::integers:
      values = lists_near(field.in<std::vector<std::int64_t>>(op.descriptor()));
      break;
    case FieldKind::enumeration:
      for (const Spelling& spelling : field.spellings) values.emplace_back(spelling.name);
      break;
    case FieldKind::element_type:
      for (const LayerPort& port : layer.outputs) values.emplace_back(name_of(port.precision));
      break;
    case FieldKind::partial_shape:
      for (const LayerPort& port : layer.outputs) {
        const std::string shape = to_string(port.shape);
        values.push_back(shape.substr(1, shape.size() - 2));
      }
      break;
    case FieldKind::real:
    case FieldKind::text:
    case FieldKind::reals:
    case FieldKind::texts:
    case FieldKind::ignored:
      break;
  }
  return values;
}

bool gives_what_is_declared(const Layer& layer, const Op& op, std::span<const ValueInfo> inputs) {
  try {
    const std::vector<ValueInfo> outputs = infer_types_and_shapes(op, inputs);
    if (outputs.size() < layer.outputs.size()) return false;
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      if (!agrees(layer.outputs[i], outputs[i])) return false;
    }
    return true;
  } catch (const InferenceFailure&) {
    return false;
  }
}

}  // namespace

std::string attributes_that_fit(const Layer& layer, const Op& op, std::span<const ValueInfo> inputs) {
  // Bodies are more than attributes, and take long.
  if (layer.outputs.empty() || op.op_class_record().subgraphs != nullptr) return {};
  std::vector<std::string> found;
  for (const Field& field : op.op_class_record().fields) {
    for (const std::string& value : values_near(field, op, layer)) {
      Op other = op;
      const bool is_value = !read_field(field, other.descriptor(), value);
      const bool is_new = !fields_equal({&field, 1}, op.descriptor(), other.descriptor());
      if (!is_value || !is_new || !gives_what_is_declared(layer, other, inputs)) continue;
      found.push_back(fmt::format("{}=\"{}\"", field.name, field_text(field, other.descriptor())));
      break;
    }
  }
  if (found.size() > kMaxAlternatives) return {};
  return fmt::format("{}", fmt::join(found, " or "));
}

}  // namespace ir::reader
