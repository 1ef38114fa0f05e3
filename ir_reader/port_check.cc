#include "ir_reader/port_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "runtime/ops/infer.h"

namespace ir::reader {
namespace {

std::string_view name_of(PortKind kind) { return kind == PortKind::input ? "input" : "output"; }

bool all_static(std::span<const ValueInfo> values) {
  return std::ranges::all_of(values, [](const ValueInfo& value) { return value.shape.is_static(); });
}

// Whether a declared shape is the inferred one behind dims of 1.
bool has_ones_in_front(const PartialShape& declared, const PartialShape& inferred) {
  if (declared.rank() <= inferred.rank()) return false;
  const auto front = static_cast<std::ptrdiff_t>(declared.rank() - inferred.rank());
  return std::all_of(declared.begin(), declared.begin() + front,
                     [](const Dimension& dim) { return dim == Dimension(1); }) &&
         std::equal(declared.begin() + front, declared.end(), inferred.begin(),
                    [](const Dimension& a, const Dimension& b) { return a.compatible(b); });
}

bool in_another_order(const PartialShape& declared, const PartialShape& inferred) {
  return declared.is_static() && inferred.is_static() && declared != inferred &&
         std::ranges::is_permutation(declared, inferred);
}

// A <dim> that the port declares.
pugi::xml_node dim_of(const LayerPort& port, std::size_t axis) {
  const auto dims = port.xml.children("dim");
  return *std::next(dims.begin(), static_cast<std::ptrdiff_t>(axis));
}

// Checks the ports of one list.
class PortChecker {
 public:
  using RuleOf = std::function<std::string(std::size_t port, std::size_t axis)>;

  PortChecker(const ReadState& state, const Layer& layer, PortKind kind, bool inputs_known, RuleOf rule_of)
      : state_(state),
        layer_(layer),
        kind_(kind),
        inputs_known_(inputs_known),
        rule_of_(std::move(rule_of)) {}

  void check(std::size_t index, const LayerPort& port, const ValueInfo& inferred) {
    if (port.precision != ElementType::dynamic && inferred.type != ElementType::dynamic &&
        port.precision != inferred.type) {
      // Converters of version 10 declared FP32 in the midst of FP16 networks; inference always decided.
      const bool hint = state_.ir_version == 10 && is_real(port.precision) && is_real(inferred.type);
      report(index, "IR-precision-mismatch", state_.document.where(port.xml, "precision"),
             fmt::format("{} port {} is declared {}, inference gives {}", name_of(kind_), port.id,
                         port_name_of(port.precision), port_name_of(inferred.type)),
             {std::string(port_name_of(port.precision)), std::string(port_name_of(inferred.type)), {}}, hint);
    }
    if (!inferred.shape.has_rank()) return;
    if (port.shape.rank() != inferred.shape.rank()) {
      // OpenVINO writes a port of unknown rank without dims, like a scalar. It may know less than inference
      // here does, but not of a shape that is static and follows from inputs that are.
      if (port.shape.rank() == 0 && !(inputs_known_ && inferred.shape.is_static())) return;
      // Converters of version 10 left the 1 that MatMul puts before a vector; inference decides here, too.
      const bool hint = state_.ir_version == 10 && has_ones_in_front(port.shape, inferred.shape);
      report(index, "IR-shape-mismatch", state_.document.where(port.xml),
             fmt::format("{} port {} is declared {} of rank {}, inference gives {} of rank {}",
                         name_of(kind_), port.id, to_string(port.shape), port.shape.rank(),
                         to_string(inferred.shape), inferred.shape.rank()),
             {to_string(port.shape), to_string(inferred.shape), {}}, hint);
      return;
    }
    const std::size_t first = found_.size();
    for (std::size_t axis = 0; axis < port.shape.rank(); ++axis) {
      if (!port.shape[axis].compatible(inferred.shape[axis])) check_failed(index, port, inferred, axis);
    }
    if (found_.size() - first < 2 || !in_another_order(port.shape, inferred.shape)) return;
    // One mistake, of somebody who had another layout in mind.
    found_[first].diagnostic.hint =
        fmt::format("the port declares {}, which are the dims of {} in another order", to_string(port.shape),
                    to_string(inferred.shape));
    for (PortFinding& finding : std::span(found_).subspan(first + 1)) finding.follows = true;
  }

  void add(PortFinding finding) { found_.push_back(std::move(finding)); }
  [[nodiscard]] std::vector<PortFinding> take() { return std::move(found_); }

 private:
  struct Facts {
    std::string found;
    std::string expected;
    std::string rule;
  };

  void check_failed(std::size_t index, const LayerPort& port, const ValueInfo& inferred, std::size_t axis) {
    Facts facts{to_string(port.shape[axis]), to_string(inferred.shape[axis]),
                rule_of_ ? rule_of_(index, axis) : std::string()};
    std::string message = fmt::format("dim {} of {} port {} is declared {}, inference gives {}", axis,
                                      name_of(kind_), port.id, facts.found, facts.expected);
    if (!facts.rule.empty()) message += fmt::format(": {}, declared {}", facts.rule, facts.found);
    report(index, "IR-shape-mismatch", state_.document.where(dim_of(port, axis)), std::move(message),
           std::move(facts));
  }

  void report(std::size_t index, std::string code, SourceLocation where, std::string message, Facts facts,
              bool hint = false) {
    // What a Result declares has no use; in bodies converters leave dims of the values around them.
    const bool harmless = hint || layer_.type == "Result" || state_.depth > 0;
    const bool is_error = state_.options.shape_check == ShapeCheck::error && !harmless;
    const std::vector<LayerPort>& ports = kind_ == PortKind::input ? layer_.inputs : layer_.outputs;
    found_.push_back({index,
                      {.severity = is_error ? Severity::error : Severity::warning,
                       .code = std::move(code),
                       .where = std::move(where),
                       .layer = layer_.reference(),
                       .message = std::move(message),
                       .port = ports[index].reference(kind_),
                       .found = std::move(facts.found),
                       .expected = std::move(facts.expected),
                       .rule = std::move(facts.rule)},
                      hint});
  }

  const ReadState& state_;
  const Layer& layer_;
  PortKind kind_;
  bool inputs_known_;
  RuleOf rule_of_;
  std::vector<PortFinding> found_;
};

}  // namespace

ValueInfo declared_value(const LayerPort& port, const ValueInfo& flowing) {
  // Without dims the port is a scalar or of unknown rank; the latter is the safe reading.
  return {port.precision == ElementType::dynamic ? flowing.type : port.precision,
          port.shape.rank() == 0 ? PartialShape() : port.shape, nullptr, std::nullopt};
}

PartialShape narrowed_shape(const LayerPort& port, const PartialShape& inferred) {
  // Without dims the port may be of unknown rank.
  if (inferred.is_static() || port.shape.rank() == 0) return inferred;
  return inferred.merged(port.shape).value_or(inferred);
}

bool agrees(const LayerPort& port, const ValueInfo& value) {
  const bool type = port.precision == ElementType::dynamic || value.type == ElementType::dynamic ||
                    port.precision == value.type;
  return type && port.shape.compatible(value.shape);
}

bool declares_unknown_rank(const LayerPort& port, const PartialShape& inferred) {
  return port.shape.rank() == 0 && inferred.has_rank() && inferred.rank() != 0;
}

std::vector<PortFinding> check_inputs(const ReadState& state, const Layer& layer,
                                      std::span<const ValueInfo> inputs, bool unknown_rank) {
  if (state.options.shape_check == ShapeCheck::off) return {};
  PortChecker checker(state, layer, PortKind::input, all_static(inputs) && !unknown_rank, nullptr);
  for (std::size_t i = 0; i < std::min(layer.inputs.size(), inputs.size()); ++i)
    checker.check(i, layer.inputs[i], inputs[i]);
  return checker.take();
}

std::vector<PortFinding> check_outputs(const ReadState& state, const Layer& layer, const Op& op,
                                       std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs,
                                       bool unknown_rank) {
  // Only a dim that is wrong needs its rule.
  std::optional<std::vector<std::vector<std::string>>> rules;
  const auto rule_of = [&](std::size_t port, std::size_t axis) {
    if (!rules) rules = explain_outputs(op, inputs);
    return port < rules->size() && axis < (*rules)[port].size() ? (*rules)[port][axis] : std::string();
  };
  PortChecker checker(state, layer, PortKind::output, all_static(inputs) && !unknown_rank, rule_of);
  const bool compared = state.options.shape_check != ShapeCheck::off;
  for (std::size_t i = 0; compared && i < std::min(layer.outputs.size(), outputs.size()); ++i)
    checker.check(i, layer.outputs[i], outputs[i]);
  // Whatever the check: an edge may start at an output that does not exist.
  if (layer.outputs.size() > outputs.size()) {
    const LayerPort& port = layer.outputs[outputs.size()];
    checker.add({outputs.size(),
                 {.severity = Severity::error,
                  .code = "IR-output-count",
                  .where = state.document.where(port.xml),
                  .layer = layer.reference(),
                  .message = fmt::format("{} output ports are declared, {} gives {}", layer.outputs.size(),
                                         layer.type, outputs.size()),
                  .port = port.reference(PortKind::output),
                  .found = fmt::format("{}", layer.outputs.size()),
                  .expected = fmt::format("{}", outputs.size())},
                 true});
  }
  return checker.take();
}

void note_outputs(const ReadState& state, const Layer& layer, std::span<const ValueInfo> outputs) {
  const auto note = [&](std::string code, const LayerPort* port, std::string message, std::string found,
                        std::string expected) {
    state.findings.add({.severity = Severity::note,
                        .code = std::move(code),
                        .where = state.document.where(port != nullptr ? port->xml : layer.xml),
                        .layer = layer.reference(),
                        .message = std::move(message),
                        .port = port != nullptr ? port->reference(PortKind::output) : PortReference{},
                        .found = std::move(found),
                        .expected = std::move(expected)});
  };
  for (std::size_t i = 0; i < std::min(layer.outputs.size(), outputs.size()); ++i) {
    const LayerPort& port = layer.outputs[i];
    const PartialShape& known = outputs[i].shape;
    if (!known.has_rank() || known.rank() != port.shape.rank()) continue;
    const bool as_sharp = std::ranges::equal(port.shape, known, [](const Dimension& a, const Dimension& b) {
      return a.is_static() || !b.is_static();
    });
    if (as_sharp) continue;
    note("IR-dim-sharper", &port,
         fmt::format("output port {} is declared {}, inference gives {}", port.id, to_string(port.shape),
                     to_string(known)),
         to_string(port.shape), to_string(known));
  }
  if (layer.outputs.size() < outputs.size() && layer.type != "Result") {
    note("IR-output-undeclared", nullptr,
         fmt::format("{} output {} declared, {} gives {}", layer.outputs.size(),
                     layer.outputs.size() == 1 ? "port is" : "ports are", layer.type, outputs.size()),
         fmt::format("{}", layer.outputs.size()), fmt::format("{}", outputs.size()));
  }
}

}  // namespace ir::reader
