#include <algorithm>
#include <limits>
#include <utility>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/select.h"
#include "ir_runtime/ops/softmax.h"
#include "runtime/ops/fused.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/seen_tensor.h"

namespace ir::passes {
namespace {

// Products of queries and keys, scaled and then masked.
struct Scores {
  const Node* product = nullptr;
  double scale = 1;
  std::optional<Output> mask;
};

// A matrix product, and what was fused into it.
struct Product {
  op::v0::MatMul op;
  std::optional<Output> residual;
};

std::optional<Product> product_at(const Node& node) {
  if (const auto* plain = node.op().as<op::v0::MatMul>()) return Product{*plain, std::nullopt};
  const auto* fused = node.op().as<op::FusedMatMul>();
  if (fused == nullptr || !fused->tail.residual) return std::nullopt;
  if (fused->tail.bias || !fused->tail.functions.is_empty()) return std::nullopt;
  return Product{fused->core, node.inputs().back()};
}

// Whether scores can be masked by a value that spreads over them.
bool can_mask(const Output& mask, const Output& scores, const Output& masked) {
  const PartialShape& shape = mask.info().shape;
  const PartialShape& target = scores.info().shape;
  return shape.has_rank() && shape.rank() >= 2 && shape.rank() <= target.rank() &&
         masked.info().shape == target && shape[shape.rank() - 1].compatible(target[target.rank() - 1]);
}

std::optional<Scores> scores_of(const Output& value, const ReaderCounts& readers);

// Scores that get one more operand: a factor or a mask.
std::optional<Scores> scores_behind(const Output& scores, const ReaderCounts& readers) {
  return readers.single(scores) ? scores_of(scores, readers) : std::nullopt;
}

std::optional<Scores> added_scores(const Node& node, const ReaderCounts& readers) {
  for (const std::size_t side : {0U, 1U}) {
    const Output& operand = node.input(side);
    const Output& mask = node.input(1 - side);
    auto scores = scores_behind(operand, readers);
    if (!scores || scores->mask || !can_mask(mask, operand, Output(const_cast<Node&>(node)))) continue;
    scores->mask = mask;
    return scores;
  }
  return std::nullopt;
}

// Scores where a condition holds, else the lowest number.
std::optional<Scores> selected_scores(const Node& node, const ReaderCounts& readers) {
  const auto* select = node.op().as<op::v1::Select>();
  if (select->auto_broadcast != op::AutoBroadcast::numpy ||
      repeated_number(node.input(2)) != static_cast<double>(std::numeric_limits<float>::lowest())) {
    return std::nullopt;
  }
  auto scores = scores_behind(node.input(1), readers);
  if (!scores || scores->mask || !can_mask(node.input(0), node.input(1), Output(const_cast<Node&>(node)))) {
    return std::nullopt;
  }
  scores->mask = node.input(0);
  return scores;
}

std::optional<Scores> scaled_scores(const Node& node, const ReaderCounts& readers) {
  const bool divides = node.op().is<op::v1::Divide>();
  for (const std::size_t side : {0U, 1U}) {
    const auto number = repeated_number(node.input(1 - side));
    if (!number || (divides && (side == 1 || *number == 0))) continue;
    auto scores = scores_behind(node.input(side), readers);
    if (!scores || scores->mask || node.input(side).info().shape != node.output(0).shape) continue;
    scores->scale = divides ? scores->scale / *number : scores->scale * *number;
    return scores;
  }
  return std::nullopt;
}

std::optional<Scores> scores_of(const Output& value, const ReaderCounts& readers) {
  const Node& node = *value.node;
  if (value.info().type != ElementType::f32 || !value.info().shape.has_rank()) return std::nullopt;
  if (const auto product = product_at(node)) return Scores{&node, 1, product->residual};
  if (node.op().is<op::v1::Add>()) return added_scores(node, readers);
  if (node.op().is<op::v1::Select>()) return selected_scores(node, readers);
  if (node.op().is<op::v1::Multiply>() || node.op().is<op::v1::Divide>()) return scaled_scores(node, readers);
  return std::nullopt;
}

// What a softmax over the last axis is of.
std::optional<Output> softmax_operand(const Node& node) {
  std::int64_t axis = 0;
  if (const auto* old = node.op().as<op::v1::SoftMax>()) {
    axis = old->axis;
  } else if (const auto* softmax = node.op().as<op::v8::SoftMax>()) {
    axis = softmax->axis;
  } else {
    return std::nullopt;
  }
  const PartialShape& shape = node.output(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (!shape.has_rank() || (axis != -1 && axis != rank - 1)) return std::nullopt;
  return node.input(0);
}

std::size_t tensor_rank(const SeenTensor& seen) {
  return seen.pattern ? seen.pattern->size() : seen.tensor.info().shape.rank();
}

bool has_columns_in_line(const SeenTensor& seen) { return seen.view.order.back() + 1 == tensor_rank(seen); }

bool has_rows_or_columns_in_line(const SeenTensor& seen) {
  return has_columns_in_line(seen) || seen.view.order[seen.view.order.size() - 2] + 1 == tensor_rank(seen);
}

// An operand of a product as [batch..., rows, columns], found as far back as the kernel can read it.
template <class Accepts>
std::optional<SeenTensor> operand_of(const Output& value, bool transposed, std::size_t rank,
                                     const Accepts& accepts) {
  if (value.info().shape.rank() != rank) return std::nullopt;
  SeenTensor start{value, op::TensorView::whole(rank), 1, std::nullopt};
  if (transposed) std::swap(start.view.order[rank - 2], start.view.order[rank - 1]);
  // A transposed operand may be one that was transposed before: the start itself need not be readable.
  SeenTensor found = trace_back(start, accepts);
  return accepts(found) ? std::optional(std::move(found)) : std::nullopt;
}

// softmax(scale * query x key^T + mask) x value.
bool fuse_products(Model& model, Node& node, const ReaderCounts& readers) {
  const auto weighing = node.op().as<op::v0::MatMul>();
  if (weighing == nullptr || weighing->transpose_a || node.output(0).type != ElementType::f32) return false;
  const Output& weights = node.input(0);
  const auto masked = readers.single(weights) ? softmax_operand(*weights.node) : std::nullopt;
  if (!masked) return false;
  const auto scores = scores_behind(*masked, readers);
  const std::size_t rank = weights.info().shape.rank();
  if (!scores || rank < 3 || node.output(0).shape.rank() != rank) return false;
  const op::v0::MatMul product = product_at(*scores->product)->op;
  const auto query = operand_of(scores->product->input(0), product.transpose_a, rank, has_columns_in_line);
  const auto key =
      operand_of(scores->product->input(1), !product.transpose_b, rank, has_rows_or_columns_in_line);
  // A factor of the values is not one of the scores.
  const auto value = operand_of(node.input(1), weighing->transpose_b, rank, [](const SeenTensor& seen) {
    return has_columns_in_line(seen) && seen.factor == 1;
  });
  if (!query || !key || !value) return false;
  op::FusedAttention attention;
  attention.query = query->view;
  attention.key = key->view;
  attention.value = value->view;
  attention.out_order = op::TensorView::whole(rank).order;
  attention.scale = scores->scale * query->factor * key->factor;
  std::vector<Output> inputs{query->put(model, node), key->put(model, node), value->put(model, node)};
  if (scores->mask) inputs.push_back(*scores->mask);
  rewrite(node, attention, std::move(inputs));
  return true;
}

// A Transpose behind attention that leaves the last axis where it is.
bool fuse_transpose(Node& node, const ReaderCounts& readers) {
  if (!node.op().is<op::v1::Transpose>() || !readers.single(node.input(0))) return false;
  const auto* attention = node.input(0).node->op().as<op::FusedAttention>();
  const SeenTensor seen{node, op::TensorView::whole(node.output(0).shape.rank()), 1, std::nullopt};
  if (attention == nullptr) return false;
  const SeenTensor before = trace_back(seen, [&](const SeenTensor& candidate) {
    return candidate.tensor == node.input(0) && has_columns_in_line(candidate);
  });
  if (before.tensor != node.input(0)) return false;
  op::FusedAttention fused = *attention;
  for (std::size_t axis = 0; axis < fused.out_order.size(); ++axis)
    fused.out_order[axis] = attention->out_order[before.view.order[axis]];
  const auto inputs = node.input(0).node->inputs();
  rewrite(node, fused, {inputs.begin(), inputs.end()});
  return true;
}

}  // namespace

bool fuse_attention(Model& model) {
  const ReaderCounts readers(model);
  std::vector<Node*> nodes;  // nodes are inserted on the way
  for (const auto& node : model.nodes()) nodes.push_back(node.get());
  bool changed = false;
  for (Node* node : nodes) {
    if (node->inputs().empty() || node->output_count() != 1) continue;
    changed = fuse_products(model, *node, readers) || fuse_transpose(*node, readers) || changed;
  }
  return changed;
}

}  // namespace ir::passes
