#include <algorithm>
#include <cmath>
#include <utility>

#include "ir_runtime/ops/attention.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/select.h"
#include "ir_runtime/ops/softmax.h"
#include "runtime/ops/fused.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/seen_tensor.h"

namespace ir::passes {
namespace {

// Products of queries and keys, scaled and then masked.
struct Scores {
  const Node* product = nullptr;
  double scale = 1;
  std::optional<Output> mask;
  bool mask_hides = false;            // one of booleans that is true where there is no score
  std::optional<double> hidden;       // the score where there is none
  std::optional<Output> second_mask;  // a constant one, as the first one is
};

// A matrix product, and what was fused into it.
struct ScoresProduct {
  op::v0::MatMul op;
  std::optional<Output> residual;
};

std::optional<ScoresProduct> product_at(const Node& node) {
  if (const auto* plain = node.op().as<op::v0::MatMul>()) return ScoresProduct{*plain, std::nullopt};
  const auto* fused = node.op().as<op::FusedMatMul>();
  if (fused == nullptr || !fused->tail.residual) return std::nullopt;
  if (fused->tail.bias || !fused->tail.functions.is_empty()) return std::nullopt;
  return ScoresProduct{fused->core, node.inputs().back()};
}

// Whether scores can be masked by a value that spreads over them.
bool can_mask(const Output& mask, const Output& scores, const Node& masked) {
  const PartialShape& shape = mask.info().shape;
  const PartialShape& target = scores.info().shape;
  return shape.has_rank() && shape.rank() >= 2 && shape.rank() <= target.rank() &&
         masked.output(0).shape == target && shape[shape.rank() - 1].compatible(target[target.rank() - 1]);
}

// Whether masks are numbers that can be added ahead, without too many of them.
bool can_add(const Output& first, const Output& second) {
  constexpr std::int64_t kMostGrowth = 1 << 20;
  const Tensor* const a = constant_of(first);
  const Tensor* const b = constant_of(second);
  if (a == nullptr || b == nullptr || a->element_type() != ElementType::f32 ||
      b->element_type() != ElementType::f32) {
    return false;
  }
  const std::size_t rank = std::max(a->shape().size(), b->shape().size());
  const auto dim = [&](const Tensor& mask, std::size_t axis) {
    const std::size_t missing = rank - mask.shape().size();
    return axis < missing ? 1 : mask.shape()[axis - missing];
  };
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (__builtin_mul_overflow(count, std::max(dim(*a, axis), dim(*b, axis)), &count)) return false;
  }
  return count <= a->size() + b->size() + kMostGrowth;
}

// Factors and masks that are looked through from a softmax to the product.
constexpr int kMostSteps = 16;

std::optional<Scores> scores_of(const Output& value, const ReaderCounts& readers, int steps);

// Scores that get one more operand: a factor or a mask.
std::optional<Scores> scores_behind(const Output& scores, const ReaderCounts& readers, int steps) {
  return steps > 0 && readers.single(scores) ? scores_of(scores, readers, steps - 1) : std::nullopt;
}

std::optional<Scores> added_scores(const Node& node, const ReaderCounts& readers, int steps) {
  for (const std::size_t side : {0U, 1U}) {
    const Output& operand = node.input(side);
    const Output& mask = node.input(1 - side);
    auto scores = scores_behind(operand, readers, steps);
    if (!scores || !can_mask(mask, operand, node)) continue;
    if (!scores->mask) {
      scores->mask = mask;
    } else if (!scores->second_mask && can_add(*scores->mask, mask)) {
      scores->second_mask = mask;
    } else {
      continue;
    }
    return scores;
  }
  return std::nullopt;
}

// Scores where a condition holds, else a number; or the other way round.
std::optional<Scores> selected_scores(const Node& node, const ReaderCounts& readers, int steps) {
  const auto* select = node.op().as<op::v1::Select>();
  const auto chosen = repeated_number(node.input(1));
  const bool hides = chosen.has_value();
  const auto hidden = hides ? chosen : repeated_number(node.input(2));
  if (select->auto_broadcast != op::AutoBroadcast::numpy || !hidden) return std::nullopt;
  const Output& operand = node.input(hides ? 2 : 1);
  auto scores = scores_behind(operand, readers, steps);
  if (!scores || scores->mask || !can_mask(node.input(0), operand, node)) return std::nullopt;
  scores->mask = node.input(0);
  scores->mask_hides = hides;
  scores->hidden = hidden;
  return scores;
}

std::optional<Scores> scaled_scores(const Node& node, const ReaderCounts& readers, int steps) {
  const bool divides = node.op().is<op::v1::Divide>();
  for (const std::size_t side : {0U, 1U}) {
    const auto number = repeated_number(node.input(1 - side));
    if (!number || (divides && (side == 1 || *number == 0))) continue;
    auto scores = scores_behind(node.input(side), readers, steps);
    if (!scores || scores->mask || node.input(side).info().shape != node.output(0).shape) continue;
    scores->scale = divides ? scores->scale / *number : scores->scale * *number;
    return scores;
  }
  return std::nullopt;
}

std::optional<Scores> scores_of(const Output& value, const ReaderCounts& readers, int steps) {
  const Node& node = *value.node;
  if (value.info().type != ElementType::f32 || !value.info().shape.has_rank()) return std::nullopt;
  if (const auto product = product_at(node)) {
    Scores scores;
    scores.product = &node;
    scores.mask = product->residual;
    return scores;
  }
  if (aligns_last_axes<op::v1::Add>(node.op())) return added_scores(node, readers, steps);
  if (node.op().is<op::v1::Select>()) return selected_scores(node, readers, steps);
  if (node.op().is<op::v1::Multiply>() || node.op().is<op::v1::Divide>())
    return scaled_scores(node, readers, steps);
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

bool has_rows_or_columns_in_line(const SeenTensor& seen) {
  const std::vector<std::size_t>& order = seen.view.order;
  return std::max(order.back(), order[order.size() - 2]) + 1 == tensor_rank(seen);
}

// An operand of a product as [batch..., rows, columns], found as far back as the kernel can read it.
template <class Accepts>
std::optional<SeenTensor> operand_of(const Output& value, bool transposed, std::size_t rank,
                                     const Accepts& accepts) {
  if (value.info().shape.rank() != rank) return std::nullopt;
  SeenTensor start{value, op::TensorView::whole(rank)};
  if (transposed) std::swap(start.view.order[rank - 2], start.view.order[rank - 1]);
  return trace_back(start, accepts);
}

// softmax(...) x value, or its transpose, value^T x softmax(...)^T.
struct Weighing {
  Output weights;
  Output value;
  bool value_transposed;
  bool out_transposed;
};

std::optional<Weighing> weighing_of(const Node& node) {
  const auto* product = node.op().as<op::v0::MatMul>();
  if (product == nullptr || node.output(0).type != ElementType::f32) return std::nullopt;
  const auto weighs = [](const Output& value) { return softmax_operand(*value.node).has_value(); };
  if (!product->transpose_a && weighs(node.input(0)))
    return Weighing{node.input(0), node.input(1), product->transpose_b, false};
  if (product->transpose_b && weighs(node.input(1)))
    return Weighing{node.input(1), node.input(0), !product->transpose_a, true};
  return std::nullopt;
}

struct Operands {
  SeenTensor query;
  SeenTensor key;
  SeenTensor value;
};

// [batch..., rows, columns], unless it is said to be transposed.
struct Operand {
  Output value;
  bool transposed = false;
};

// The three operands as far back as the kernel can read them: it repeats keys and values alike, or neither.
std::optional<Operands> operands_of(const Operand& query, const Operand& key, const Operand& value,
                                    std::size_t rank) {
  for (const bool repeats : {true, false}) {
    // A factor of the values is not one of the scores.
    const auto accepts = [&](bool takes_factor, bool takes_repeats) {
      return [=](const SeenTensor& seen) {
        return has_rows_or_columns_in_line(seen) && (takes_factor || seen.factor == 1) &&
               (takes_repeats || seen.repeats == 1);
      };
    };
    auto queries = operand_of(query.value, query.transposed, rank, accepts(true, false));
    auto keys = operand_of(key.value, key.transposed, rank, accepts(true, repeats));
    auto values = operand_of(value.value, value.transposed, rank, accepts(false, repeats));
    if (!queries || !keys || !values) return std::nullopt;
    if (keys->repeats == values->repeats)
      return Operands{std::move(*queries), std::move(*keys), std::move(*values)};
  }
  return std::nullopt;
}

// Without scale, mask and order of the output.
op::FusedAttention attention_of(const Operands& operands, std::size_t rank) {
  op::FusedAttention attention;
  attention.query = operands.query.view;
  attention.key = operands.key.view;
  attention.value = operands.value.view;
  attention.repeats = operands.key.repeats;
  attention.out_order = op::TensorView::whole(rank).order;
  return attention;
}

std::vector<Output> put(const Operands& operands, Model::Insertions& insertions, const Node& node) {
  return {operands.query.put(insertions, node), operands.key.put(insertions, node),
          operands.value.put(insertions, node)};
}

// The operation itself, where that saves copies.
bool fuse_operation(Model::Insertions& insertions, Node& node) {
  const auto* attention = node.op().as<op::v13::ScaledDotProductAttention>();
  const PartialShape& shape = node.output(0).shape;
  if (attention == nullptr || node.output(0).type != ElementType::f32 || !shape.has_rank()) return false;
  constexpr std::size_t kMask = 3;
  constexpr std::size_t kScale = 4;
  const auto inputs = node.inputs();
  const PartialShape& query = inputs[0].info().shape;
  const Dimension depth = query.has_rank() ? query[query.rank() - 1] : Dimension();
  std::optional<double> scale;
  if (inputs.size() > kScale) {
    scale = repeated_number(inputs[kScale]);
  } else if (depth.is_static() && depth.value() > 0) {
    scale = 1 / std::sqrt(static_cast<float>(depth.value()));
  }
  // A sink is left to the operation; so is a mask that may turn out to be a scalar, which is none.
  const bool has_mask = inputs.size() > kMask && !attention->causal;
  if (!scale || inputs.size() > kScale + 1 || (has_mask && !inputs[kMask].info().shape.has_rank()))
    return false;
  const bool masked = has_mask && inputs[kMask].info().shape.rank() > 0;
  const std::size_t rank = shape.rank();
  const auto operands = operands_of({inputs[0]}, {inputs[1]}, {inputs[2]}, rank);
  if (!operands) return false;
  op::FusedAttention fused = attention_of(*operands, rank);
  fused.scale = *scale * operands->query.factor * operands->key.factor;
  fused.causal = attention->causal;
  std::vector<Output> tensors = put(*operands, insertions, node);
  if (masked) tensors.push_back(inputs[kMask]);
  rewrite(node, fused, std::move(tensors));
  return true;
}

// True where there are scores.
Output kept_by(const Scores& scores, Model::Insertions& insertions, Node& node) {
  const Output& mask = *scores.mask;
  if (!scores.mask_hides) return mask;
  if (mask.node->op().is<op::v1::LogicalNot>()) return mask.node->input(0);
  return insertions.before(node, op::v1::LogicalNot(), {mask}, node.name() + "/mask");
}

// softmax(scale * query x key^T + mask) x value.
bool fuse_products(Model::Insertions& insertions, Node& node, const ReaderCounts& readers) {
  const auto weighing = weighing_of(node);
  if (!weighing || !readers.single(weighing->weights)) return false;
  const auto scores = scores_behind(*softmax_operand(*weighing->weights.node), readers, kMostSteps);
  const std::size_t rank = weighing->weights.info().shape.rank();
  if (!scores || rank < 3 || node.output(0).shape.rank() != rank) return false;
  const op::v0::MatMul product = product_at(*scores->product)->op;
  const auto operands = operands_of({scores->product->input(0), product.transpose_a},
                                    {scores->product->input(1), !product.transpose_b},
                                    {weighing->value, weighing->value_transposed}, rank);
  if (!operands) return false;
  op::FusedAttention attention = attention_of(*operands, rank);
  if (weighing->out_transposed) std::swap(attention.out_order[rank - 2], attention.out_order[rank - 1]);
  attention.scale = scores->scale * operands->query.factor * operands->key.factor;
  std::vector<Output> inputs = put(*operands, insertions, node);
  if (scores->second_mask) {
    Tensor sum = computed(op::v1::Add(), *constant_of(*scores->mask), *constant_of(*scores->second_mask));
    inputs.push_back(insert_constant(insertions, node, std::move(sum), node.name() + "/mask"));
  } else if (scores->mask) {
    inputs.push_back(kept_by(*scores, insertions, node));
    if (scores->hidden) attention.hidden_score = *scores->hidden;
  }
  rewrite(node, attention, std::move(inputs));
  return true;
}

// A Transpose behind attention that makes its queries or its columns the last axis.
bool fuse_transpose(Node& node, const ReaderCounts& readers) {
  const auto order = transposed_order(node);
  if (!order || !readers.single(node.input(0))) return false;
  const auto* attention = node.input(0).node->op().as<op::FusedAttention>();
  if (attention == nullptr || order->size() != attention->out_order.size()) return false;
  op::FusedAttention fused = *attention;
  for (std::size_t axis = 0; axis < fused.out_order.size(); ++axis)
    fused.out_order[axis] = attention->out_order[(*order)[axis]];
  if (fused.out_order.back() + 2 < fused.out_order.size()) return false;
  const auto inputs = node.input(0).node->inputs();
  rewrite(node, fused, {inputs.begin(), inputs.end()});
  return true;
}

}  // namespace

bool fuse_attention(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->inputs().empty() || node->output_count() != 1) continue;
    changed = fuse_products(insertions, *node, readers) || fuse_operation(insertions, *node) ||
              fuse_transpose(*node, readers) || changed;
  }
  return changed;
}

}  // namespace ir::passes
