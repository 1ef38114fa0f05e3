#include <array>
#include <memory>
#include <span>

#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/subgraph.h"
#include "runtime/passes/growing_variables.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/settle_variables.h"
#include "runtime/passes/widen_halves.h"

namespace ir {
namespace {

// Earlier ones bring later ones about; in turn until nothing changes.
constexpr std::array kRewrites{
    &passes::fold_constants,
    &passes::drop_unused_positions,
    &passes::fuse_dequantization,
    &passes::eliminate_identities,
    &passes::iterator_to_sequence,
    &passes::einsum_to_product,
    &passes::fuse_swish,
    &passes::fuse_gelu,
    &passes::fuse_softmax,
    &passes::fuse_layer_norm,
    &passes::fuse_group_norm,
    &passes::fuse_reshaped_mask,
    &passes::fuse_attention,
    &passes::fuse_dilation,
    &passes::fuse_pad,
    &passes::sink_transposes,
    &passes::fuse_matrix_transpose,
    &passes::fuse_batch_norm_and_scale,
    &passes::fuse_bias,
    &passes::fuse_residual,
    &passes::fuse_activation,
    &passes::fuse_quantization,
};

// Once each, when nothing is left that could be fused.
constexpr std::array kLastRewrites{
    // Where a 1x1 convolution is part of a longer chain, that saves more.
    &passes::fuse_separable,
    &passes::fuse_prologue,
    // All others look for element-wise operations of their own.
    &passes::fuse_elementwise,
    &passes::find_integer_inputs,
    &passes::find_rectified_inputs,
};

// Whether one of them changed something.
bool apply_in_turn(std::span<passes::Rewrite* const> rewrites, Model& model) {
  bool changed = false;
  for (const auto rewrite : rewrites) {
    if (!rewrite(model)) continue;
    model.remove_unreachable();
    changed = true;
  }
  return changed;
}

void reorder_growing_variables(Model& model, std::vector<VariableInfo>& variables) {
  const auto orders = passes::keep_growing_axes_first(model);
  for (VariableInfo& variable : variables) {
    if (const auto order = orders.find(variable.id); order != orders.end()) variable.order = order->second;
  }
}

// Forgets the rank of values that go round and come back with another one, if it may be another one.
bool forget_changing_ranks(const Subgraph& subgraph, Model& body) {
  bool changed = false;
  for (const Subgraph::Input& input : subgraph.inputs) {
    if (!input.back_edge) continue;
    PartialShape& shape = body.parameters()[input.parameter]->op().as<op::v0::Parameter>()->shape;
    const PartialShape& next = body.results()[*input.back_edge]->input(0).info().shape;
    if (!shape.has_rank() || (next.has_rank() && next.rank() == shape.rank())) continue;
    shape = PartialShape();
    changed = true;
  }
  return changed;
}

// A copy of a body in which dims of parameters are unknown: what the body's own file says of them is no
// promise, they come from outside and may change from iteration to iteration, as ranks may. Null where it
// cannot be inferred so.
std::shared_ptr<Model> generalised_body(const Subgraph& subgraph, const Node& around) {
  auto body = std::make_shared<Model>(*subgraph.body);
  for (const Subgraph::Input& input : subgraph.inputs) {
    auto* parameter = body->parameters().at(input.parameter)->op().as<op::v0::Parameter>();
    if (input.outer < 0) continue;
    const ValueInfo& outer = around.input(static_cast<std::size_t>(input.outer)).info();
    const bool same_rank = outer.shape.has_rank() && parameter->shape.has_rank() &&
                           outer.shape.rank() == parameter->shape.rank();
    parameter->element_type = outer.type;
    parameter->shape = same_rank ? PartialShape::of_rank(outer.shape.rank()) : PartialShape();
  }
  try {
    body->infer();
    while (forget_changing_ranks(subgraph, *body)) body->infer();
  } catch (const Error&) {
    return nullptr;
  }
  return body;
}

void optimize_bodies(Model& model) {
  for (const auto& node : model.nodes()) {
    const OpClass& record = node->op().op_class_record();
    if (record.subgraphs == nullptr) continue;
    for (Subgraph& subgraph : record.subgraphs(node->op().descriptor())) {
      auto body = generalised_body(subgraph, *node);
      if (body == nullptr) continue;  // it stays as it is; if it is wrong, running it tells
      optimize(*body);
      subgraph.body = std::move(body);
    }
  }
}

}  // namespace

void passes::apply_with_bodies(Rewrite& rewrite, Model& model) {
  for (const auto& node : model.nodes()) {
    const OpClass& record = node->op().op_class_record();
    if (record.subgraphs == nullptr) continue;
    for (Subgraph& subgraph : record.subgraphs(node->op().descriptor())) {
      auto body = std::make_shared<Model>(*subgraph.body);
      apply_with_bodies(rewrite, *body);
      subgraph.body = std::move(body);
    }
  }
  if (rewrite(model)) model.remove_unreachable();
}

void optimize(Model& model) {
  optimize_bodies(model);
  // Models that are meant to be run take three at most; others could be made to take as many as they have
  // nodes.
  constexpr int kMostRounds = 16;
  for (int round = 0; round < kMostRounds && apply_in_turn(kRewrites, model); ++round) {
  }
  (void)apply_in_turn(kLastRewrites, model);
}

std::vector<VariableInfo> lower(Model& model, const Lowering& lowering,
                                const std::function<void()>& before_folding) {
  settle_variables(model);
  std::vector<VariableInfo> variables = variables_of(model);
  if (lowering.optimized) passes::apply_with_bodies(passes::keep_compressed_weights, model);
  before_folding();
  // What is constant is computed in the types that the model states, halves mostly included; what it was
  // made of need not be widened.
  if (lowering.optimized && passes::fold_constants(model)) model.remove_unreachable();
  widen_halves(model);
  if (!lowering.optimized) return variables;
  reorder_growing_variables(model, variables);
  optimize(model);
  if (lowering.integers) {
    passes::apply_with_bodies(passes::part_joined_images, model);
    passes::apply_with_bodies(passes::store_levels, model);
  }
  return variables;
}

}  // namespace ir
