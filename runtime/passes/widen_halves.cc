#include "runtime/passes/widen_halves.h"

#include <algorithm>

#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/type_conversion.h"
#include "ir_runtime/subgraph.h"
#include "runtime/ops/half_types.h"
#include "runtime/ops/infer.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/types/halves.h"

namespace ir {
namespace {

op::v0::Convert conversion_to(ElementType type) {
  op::v0::Convert convert;
  convert.destination_type = type;
  return convert;
}

bool has_halves(const Model& model) {
  return std::ranges::any_of(model.nodes(), [](const auto& node) {
    Op& op = node->op();
    const auto& record = op.op_class_record();
    if (record.subgraphs != nullptr) {
      for (const Subgraph& subgraph : record.subgraphs(op.descriptor())) {
        if (has_halves(*subgraph.body)) return true;
      }
    }
    return std::ranges::any_of(node->outputs(), [](const ValueInfo& value) { return is_half(value.type); });
  });
}

// What an operation says about element types: its type attributes and, for constants, the elements.
void widen_op(Op& op) {
  if (const auto* constant = op.as<op::v0::Constant>()) {
    if (is_half(constant->element_type) && constant->value) {
      op = op::v0::Constant(Tensor::of_codes(*constant->value));
    }
    return;
  }
  for (const Field& field : op.op_class_record().fields) {
    if (field.kind != FieldKind::element_type) continue;
    auto& type = field.in<ElementType>(op.descriptor());
    if (is_half(type)) type = ElementType::f32;
  }
}

void widen_nodes(Model& model, bool keep_borders);

void widen_bodies(Op& op) {
  if (op.op_class_record().subgraphs == nullptr) return;
  for (Subgraph& subgraph : op.op_class_record().subgraphs(op.descriptor())) {
    auto body = std::make_shared<Model>(*subgraph.body);
    // The values around a body are wide already.
    widen_nodes(*body, false);
    subgraph.body = std::move(body);
  }
}

// Who reads a parameter of halves reads it widened.
void widen_parameters(Model& model) {
  passes::Replacements widened;
  {
    Model::Insertions insertions(model);
    for (std::size_t i = 0; i + 1 < model.nodes().size(); ++i) {
      Node& node = *model.nodes()[i];
      if (!node.op().is<op::v0::Parameter>() || !is_half(node.output(0).type)) continue;
      widened.add(node, insertions.before(*model.nodes()[i + 1], conversion_to(ElementType::f32), {node},
                                          node.name() + "/f32"));
    }
  }
  widened.apply(model);
}

// Results get halves where they had some.
void narrow_results(Model& model, const std::vector<ElementType>& types) {
  Model::Insertions insertions(model);
  for (std::size_t i = 0; i < types.size(); ++i) {
    Node* result = model.results()[i];
    if (!is_half(types[i])) continue;
    result->set_input(
        0, insertions.before(*result, conversion_to(types[i]), {result->input(0)}, result->name() + "/half"));
    infer_node(*result);
  }
}

void widen_nodes(Model& model, bool keep_borders) {
  if (!has_halves(model)) return;
  std::vector<ElementType> result_types;
  for (const Node* result : model.results()) result_types.push_back(result->input(0).info().type);
  for (const auto& node : model.nodes()) {
    if (keep_borders && node->op().is<op::v0::Parameter>()) continue;
    if (!node->inputs().empty() && is_half(node->input(0).info().type))
      remember_half_type(node->op(), node->input(0).info().type);
    widen_op(node->op());
    widen_bodies(node->op());
  }
  if (keep_borders) widen_parameters(model);
  model.infer();
  if (keep_borders) narrow_results(model, result_types);
}

}  // namespace

void widen_halves(Model& model) { widen_nodes(model, true); }

}  // namespace ir
