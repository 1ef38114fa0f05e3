#include "runtime/ops/einsum_equation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ir::op {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string without_blanks(std::string_view text) {
  std::string result(text);
  std::erase_if(result, [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; });
  return result;
}

struct Parsed {
  EinsumEquation equation;
  std::string problem;  // empty when there is none
};

std::optional<EinsumLabels> parse_subscript(std::string_view text, std::string& problem) {
  EinsumLabels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "...") {
      if (has_ellipsis(labels)) {
        problem = fmt::format("subscript '{}' has two ellipses", text);
        return std::nullopt;
      }
      labels.push_back(kEllipsis);
      i += 2;
    } else if (is_letter(text[i])) {
      labels.push_back(static_cast<unsigned char>(text[i]));
    } else {
      problem = fmt::format("subscript '{}' takes letters and one '...'", text);
      return std::nullopt;
    }
  }
  return labels;
}

// Labels that occur once, in alphabetical order, after the ellipsis.
EinsumLabels implicit_output(const std::vector<EinsumLabels>& inputs) {
  std::vector<std::size_t> counts(kEllipsis + 1, 0);
  for (const EinsumLabels& labels : inputs) {
    for (const EinsumLabel label : labels) ++counts[static_cast<std::size_t>(label)];
  }
  EinsumLabels output;
  if (counts[kEllipsis] > 0) output.push_back(kEllipsis);
  for (EinsumLabel label = 0; label < kEllipsis; ++label) {
    if (counts[static_cast<std::size_t>(label)] == 1) output.push_back(label);
  }
  return output;
}

std::string output_problem(const EinsumEquation& equation) {
  const auto in_inputs = [&](EinsumLabel label) {
    return std::ranges::any_of(equation.inputs, [&](const EinsumLabels& labels) {
      return std::ranges::find(labels, label) != labels.end();
    });
  };
  for (const EinsumLabel label : equation.output) {
    if (!in_inputs(label)) return fmt::format("no input has {}", name_of_label(label));
    if (std::ranges::count(equation.output, label) > 1) {
      return fmt::format("the output has {} twice", name_of_label(label));
    }
  }
  if (in_inputs(kEllipsis) && !has_ellipsis(equation.output)) return "the output lacks the '...' of an input";
  return {};
}

Parsed parse(std::string_view equation) {
  Parsed parsed;
  const std::string text = without_blanks(equation);
  const std::size_t arrow = text.find("->");
  std::string_view inputs = std::string_view(text).substr(0, arrow);
  for (;;) {
    const std::size_t comma = inputs.find(',');
    auto labels = parse_subscript(inputs.substr(0, comma), parsed.problem);
    if (!labels) return parsed;
    parsed.equation.inputs.push_back(std::move(*labels));
    if (comma == std::string_view::npos) break;
    inputs.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos) {
    parsed.equation.output = implicit_output(parsed.equation.inputs);
    return parsed;
  }
  auto labels = parse_subscript(std::string_view(text).substr(arrow + 2), parsed.problem);
  if (!labels) return parsed;
  parsed.equation.output = std::move(*labels);
  parsed.problem = output_problem(parsed.equation);
  return parsed;
}

}  // namespace

EinsumEquation parse_einsum(const InferContext& context, std::string_view equation) {
  Parsed parsed = parse(equation);
  context.require(parsed.problem.empty(), "IR-attribute-value",
                  {.found = words("'{}'", equation),
                   .expected = "subscripts of letters and '...'",
                   .rule = parsed.problem},
                  "equation '{}': {}", equation, parsed.problem);
  return std::move(parsed.equation);
}

EinsumEquation parse_einsum(std::string_view equation) { return parse(equation).equation; }

bool has_ellipsis(const EinsumLabels& labels) { return std::ranges::find(labels, kEllipsis) != labels.end(); }

EinsumLabels expanded(const EinsumLabels& labels, std::size_t axes) {
  EinsumLabels result;
  for (const EinsumLabel label : labels) {
    if (label != kEllipsis) {
      result.push_back(label);
      continue;
    }
    for (std::size_t i = axes; i-- > 0;) result.push_back(kEllipsis + static_cast<EinsumLabel>(i));
  }
  return result;
}

std::size_t ellipsis_axes(const EinsumLabels& labels, std::size_t rank) { return rank + 1 - labels.size(); }

EinsumEquation expanded(const EinsumEquation& equation, const std::vector<std::size_t>& ranks) {
  EinsumEquation result;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const EinsumLabels& labels = equation.inputs[i];
    const std::size_t axes = ellipsis_axes(labels, ranks[i]);
    if (has_ellipsis(labels)) widest = std::max(widest, axes);
    result.inputs.push_back(expanded(labels, axes));
  }
  result.output = expanded(equation.output, widest);
  return result;
}

std::string name_of_label(EinsumLabel label) {
  if (label < kEllipsis) return fmt::format("'{}'", static_cast<char>(label));
  return label == kEllipsis ? "'...'" : fmt::format("axis {} of '...'", kEllipsis - 1 - label);
}

}  // namespace ir::op
