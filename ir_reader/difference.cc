#include "ir_reader/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "ir_reader/layer_order.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/subgraph.h"
#include "runtime/ops/fields.h"

namespace ir::reader {
namespace {

using Difference = std::optional<std::string>;

Difference differing(std::string_view what, const std::string& a, const std::string& b) {
  if (a == b) return std::nullopt;
  return fmt::format("{} is '{}' and '{}'", what, a, b);
}

Difference differing(std::string_view what, std::size_t a, std::size_t b) {
  if (a == b) return std::nullopt;
  return fmt::format("the number of {} is {} and {}", what, a, b);
}

// The first difference that the comparisons find, tried in turn.
template <class... Comparisons>
Difference first_of(const Comparisons&... comparisons) {
  Difference found;
  (void)((found = comparisons()).has_value() || ...);
  return found;
}

template <class List, class Compare>
Difference first_in(std::string_view what, const List& a, const List& b, const Compare& compare) {
  if (Difference found = differing(what, a.size(), b.size())) return found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (Difference found = compare(i)) return found;
  }
  return std::nullopt;
}

// The names of the elements themselves are those of their places.
Difference difference(const Annotations& a, const Annotations& b) {
  return first_of(
      [&] {
        return first_in("attributes", a.attributes, b.attributes, [&](std::size_t i) {
          const auto& mine = a.attributes[i];
          const auto& other = b.attributes[i];
          return first_of([&] { return differing("an attribute's name", mine.first, other.first); },
                          [&] { return differing("attribute " + mine.first, mine.second, other.second); });
        });
      },
      [&] { return differing("the text", a.text, b.text); },
      [&] {
        return first_in("elements", a.children, b.children, [&](std::size_t i) -> Difference {
          const Annotations& child = a.children[i];
          if (Difference found = differing("an element's name", child.name, b.children[i].name)) return found;
          const Difference found = difference(child, b.children[i]);
          return found ? fmt::format("<{}>: {}", child.name, *found) : found;
        });
      });
}

std::string text_of(const std::optional<Slicing>& slicing) {
  if (!slicing) return "whole";
  return fmt::format("axis {} from {} to {} by {} in parts of {}", slicing->axis, slicing->start,
                     slicing->end, slicing->stride, slicing->part_size);
}

std::string text_of(const Subgraph::Input& input) {
  return fmt::format("input {} for parameter {}, {}, then {}", input.outer, input.parameter,
                     text_of(input.slicing),
                     input.back_edge ? fmt::format("result {}", *input.back_edge) : "the same");
}

std::string text_of(const Subgraph::Output& output) {
  return fmt::format("result {} for output {}, {}", output.result, output.outer, text_of(output.slicing));
}

std::string text_of(const ValueInfo& value) {
  return fmt::format("{} {}", name_of(value.type), to_string(value.shape));
}

Difference difference(const op::v0::Constant& a, const op::v0::Constant& b) {
  const auto type_of = [](const op::v0::Constant& constant) {
    return fmt::format("{} {}", name_of(constant.element_type), to_string(constant.shape));
  };
  if (Difference found = differing("the constant", type_of(a), type_of(b))) return found;
  if (a.value == nullptr && b.value == nullptr) return std::nullopt;
  if (a.value == nullptr || b.value == nullptr) return "only one of the constants has elements";
  if (!identical(*a.value, *b.value)) return "the elements of the constant differ";
  return std::nullopt;
}

Difference difference_of_fields(const Op& a, const Op& b) {
  for (const Field& field : a.op_class_record().fields) {
    if (fields_equal({&field, 1}, a.descriptor(), b.descriptor())) continue;
    return fmt::format("attribute {} is '{}' and '{}'", field.name, field_text(field, a.descriptor()),
                       field_text(field, b.descriptor()));
  }
  return std::nullopt;
}

// Compares two models, or two bodies.
class Comparison {
 public:
  Comparison(const Model& a, const Model& b) : a_(in_layer_order(a)), b_(in_layer_order(b)) {
    for (std::size_t i = 0; i < a_.size(); ++i) places_a_[a_[i]] = i;
    for (std::size_t i = 0; i < b_.size(); ++i) places_b_[b_[i]] = i;
  }

  [[nodiscard]] Difference run() const {
    // What is missing is told best by the first layer that has something else in its place.
    for (std::size_t i = 0; i < std::min(a_.size(), b_.size()); ++i) {
      const Node& node = *a_[i];
      if (const Difference found = nodes(node, *b_[i]))
        return fmt::format("layer '{}' ({}): {}", node.name(), node.op().type(), *found);
    }
    return differing("layers", a_.size(), b_.size());
  }

 private:
  [[nodiscard]] Difference nodes(const Node& a, const Node& b) const {
    return first_of([&] { return differing("the name", a.name(), b.name()); },
                    [&] { return ops(a.op(), b.op()); }, [&] { return connections(a, b); },
                    [&] { return outputs(a, b); }, [&] { return annotations(a, b); });
  }

  static Difference ops(const Op& a, const Op& b) {
    const auto name_of_class = [](const Op& op) {
      return fmt::format("{} of {}", op.type(), op.op_class_record().version());
    };
    if (&a.op_class_record() != &b.op_class_record())
      return differing("the operation", name_of_class(a), name_of_class(b));
    if (const auto* constant = a.as<op::v0::Constant>())
      return difference(*constant, *b.as<op::v0::Constant>());
    if (Difference found = difference_of_fields(a, b)) return found;
    const auto bodies_a = subgraphs_of(a);
    const auto bodies_b = subgraphs_of(b);
    return first_in("bodies", bodies_a, bodies_b, [&](std::size_t i) -> Difference {
      const Difference found = subgraphs(bodies_a[i], bodies_b[i]);
      return found ? fmt::format("body {}: {}", i, *found) : found;
    });
  }

  static Difference subgraphs(const Subgraph& a, const Subgraph& b) {
    return first_of([&] { return Comparison(*a.body, *b.body).run(); },
                    [&] {
                      return first_in("mapped inputs", a.inputs, b.inputs, [&](std::size_t i) {
                        return differing("the mapping", text_of(a.inputs[i]), text_of(b.inputs[i]));
                      });
                    },
                    [&] {
                      return first_in("mapped outputs", a.outputs, b.outputs, [&](std::size_t i) {
                        return differing("the mapping", text_of(a.outputs[i]), text_of(b.outputs[i]));
                      });
                    });
  }

  [[nodiscard]] Difference connections(const Node& a, const Node& b) const {
    const auto source = [](const Output& output, const auto& places) {
      return fmt::format("output {} of layer {} '{}'", output.index, places.at(output.node),
                         output.node->name());
    };
    return first_in("inputs", a.inputs(), b.inputs(), [&](std::size_t i) {
      return differing(fmt::format("input {}", i), source(a.input(i), places_a_),
                       source(b.input(i), places_b_));
    });
  }

  static Difference outputs(const Node& a, const Node& b) {
    return first_in("outputs", a.outputs(), b.outputs(), [&](std::size_t i) -> Difference {
      if (Difference found =
              differing(fmt::format("output {}", i), text_of(a.output(i)), text_of(b.output(i))))
        return found;
      return first_in("names of an output", a.output_names(i), b.output_names(i), [&](std::size_t name) {
        return differing(fmt::format("a name of output {}", i), a.output_names(i)[name],
                         b.output_names(i)[name]);
      });
    });
  }

  static Difference annotations(const Node& a, const Node& b) {
    const auto at = [](const std::string& place, const Annotations& left, const Annotations& right) {
      const Difference found = difference(left, right);
      return found ? fmt::format("rt_info{}: {}", place, *found) : found;
    };
    if (Difference found = at("", a.annotations(), b.annotations())) return found;
    for (std::size_t i = 0; i < a.inputs().size(); ++i) {
      Difference found = at(fmt::format(" of input {}", i), a.input_annotations(i), b.input_annotations(i));
      if (found) return found;
    }
    for (std::size_t i = 0; i < a.output_count(); ++i) {
      Difference found =
          at(fmt::format(" of output {}", i), a.output_annotations(i), b.output_annotations(i));
      if (found) return found;
    }
    return std::nullopt;
  }

  std::vector<const Node*> a_;
  std::vector<const Node*> b_;
  std::unordered_map<const Node*, std::size_t> places_a_;
  std::unordered_map<const Node*, std::size_t> places_b_;
};

}  // namespace

bool identical(const Tensor& a, const Tensor& b) {
  if (a.element_type() != b.element_type() || a.shape() != b.shape()) return false;
  if (a.element_type() == ElementType::string)
    return std::ranges::equal(a.data<std::string>(), b.data<std::string>());
  return a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

std::optional<std::string> difference(const Model& a, const Model& b) {
  return first_of([&] { return differing("the model's name", a.name(), b.name()); },
                  [&] { return Comparison(a, b).run(); },
                  [&]() -> Difference {
                    const Difference found = difference(a.annotations(), b.annotations());
                    return found ? fmt::format("the model's annotations: {}", *found) : found;
                  });
}

}  // namespace ir::reader
