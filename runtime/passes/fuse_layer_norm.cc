
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/reduction.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// Axes of a mean that keeps its dims, ascending.
std::optional<std::vector<std::size_t>> mean_axes(const Node& node) {
  const auto* mean = node.op().as<op::v1::ReduceMean>();
  if (mean == nullptr || !mean->keep_dims) return std::nullopt;
  return known_axes(node.input(1), node.input(0).info().shape);
}

// x - mean(x), and which mean that is.
struct Deviation {
  Output x;
  const Node* mean = nullptr;
};

std::optional<Deviation> deviation_of(const Output& value) {
  const Node& node = *value.node;
  if (!node.op().is<op::v1::Subtract>() && !node.op().is<op::v0::SquaredDifference>()) return std::nullopt;
  const Node* mean = node.input(1).node;
  if (!mean_axes(*mean) || mean->input(0) != node.input(0)) return std::nullopt;
  return Deviation{node.input(0), mean};
}

// What `value` is the square of.
std::optional<Output> squared_value(const Output& value) {
  const Node& node = *value.node;
  const bool is_square = (node.op().is<op::v1::Power>() && repeated_number(node.input(1)) == 2.0) ||
                         (node.op().is<op::v1::Multiply>() && node.input(0) == node.input(1));
  return is_square ? std::optional(node.input(0)) : std::nullopt;
}

// The deviation that `value` is the square of.
std::optional<Deviation> squared_deviation_of(const Output& value) {
  if (value.node->op().is<op::v0::SquaredDifference>()) return deviation_of(value);
  const auto deviation = squared_value(value);
  if (!deviation || !deviation->node->op().is<op::v1::Subtract>()) return std::nullopt;
  return deviation_of(*deviation);
}

// What `value` is the square root of.
std::optional<Output> radicand_of(const Output& value) {
  const Node& node = *value.node;
  const bool is_root = node.op().is<op::v0::Sqrt>() ||
                       (node.op().is<op::v1::Power>() && repeated_number(node.input(1)) == 0.5);
  return is_root ? std::optional(node.input(0)) : std::nullopt;
}

// What 1 / sqrt is taken of to get `value`.
std::optional<Output> inverse_radicand_of(const Output& value) {
  const Node& node = *value.node;
  if (node.op().is<op::v1::Divide>() && repeated_number(node.input(0)) == 1.0)
    return radicand_of(node.input(1));
  if (!node.op().is<op::v1::Power>()) return std::nullopt;
  const auto exponent = repeated_number(node.input(1));
  if (exponent == -1.0) return radicand_of(node.input(0));
  return exponent == -0.5 ? std::optional(node.input(0)) : std::nullopt;
}

// numerator / sqrt(radicand)
struct Quotient {
  Output numerator;
  Output radicand;
};

std::optional<Quotient> quotient_of(const Node& node) {
  if (node.op().is<op::v1::Divide>()) {
    const auto radicand = radicand_of(node.input(1));
    return radicand ? std::optional(Quotient{node.input(0), *radicand}) : std::nullopt;
  }
  if (!node.op().is<op::v1::Multiply>()) return std::nullopt;
  const auto factors =
      either_way(node, [](const Output& operand) { return inverse_radicand_of(operand).has_value(); });
  return factors ? std::optional(Quotient{factors->second, *inverse_radicand_of(factors->first)})
                 : std::nullopt;
}

// Mean of `value` over `axes`, plus eps.
struct MeanPlusEps {
  Output value;
  std::vector<std::size_t> axes;
  double eps = 0;
};

std::optional<MeanPlusEps> mean_plus_eps(const Output& value) {
  if (!value.node->op().is<op::v1::Add>()) return std::nullopt;
  const auto sum =
      either_way(*value.node, [](const Output& operand) { return repeated_number(operand).has_value(); });
  if (!sum) return std::nullopt;
  auto axes = mean_axes(*sum->second.node);
  if (!axes) return std::nullopt;
  return MeanPlusEps{sum->second.node->input(0), *std::move(axes), *repeated_number(sum->first)};
}

// The deviation that is normalised, and what it is multiplied by before that.
struct Numerator {
  Deviation deviation;
  std::optional<Output> factor;
};

std::optional<Numerator> numerator_of(const Output& value) {
  const auto is_deviation = [](const Output& operand) {
    return operand.node->op().is<op::v1::Subtract>() && deviation_of(operand).has_value();
  };
  if (is_deviation(value)) return Numerator{*deviation_of(value), {}};
  if (!aligns_last_axes<op::v1::Multiply>(value.node->op())) return std::nullopt;
  const auto factors = either_way(*value.node, is_deviation);
  return factors ? std::optional(Numerator{*deviation_of(factors->first), factors->second}) : std::nullopt;
}

// (x - mean(x)) [* factor] / sqrt(mean((x - mean(x))^2) + eps) -> MVN, whose axes are input 1.
bool fuse_deviation(Model::Insertions& insertions, Node& node, const Quotient& quotient,
                    const MeanPlusEps& variance) {
  const auto numerator = numerator_of(quotient.numerator);
  const auto squared = squared_deviation_of(variance.value);
  if (!numerator || !squared) return false;
  const auto& [deviation, factor] = *numerator;
  if (squared->x != deviation.x || mean_axes(*squared->mean) != variance.axes ||
      mean_axes(*deviation.mean) != variance.axes || deviation.x.info().shape != node.output(0).shape)
    return false;
  op::v6::MVN mvn;
  mvn.eps = variance.eps;
  const std::vector inputs{deviation.x, deviation.mean->input(1)};
  if (factor) {
    const Output normal = insertions.before(node, mvn, inputs, node.name() + "/normal");
    rewrite(node, op::v1::Multiply(), {normal, *factor});
  } else {
    rewrite(node, mvn, inputs);
  }
  return true;
}

// x / sqrt(mean(x^2) + eps) over the last axis -> LayerNorm that is not centered.
bool fuse_root_mean_square(Node& node, const Quotient& quotient, const MeanPlusEps& square) {
  const Output& x = quotient.numerator;
  const PartialShape& shape = x.info().shape;
  if (squared_value(square.value) != x || shape != node.output(0).shape ||
      square.axes != std::vector{shape.rank() - 1})
    return false;
  op::LayerNorm norm;
  norm.eps = square.eps;
  norm.centered = false;
  rewrite(node, norm, {x});
  return true;
}

// scale / sqrt(variance of x + eps), without scale 1 / sqrt(...).
struct InverseDeviation {
  std::optional<Output> scale;
  Output radicand;
};

std::optional<InverseDeviation> inverse_deviation_of(const Output& value) {
  if (const auto radicand = inverse_radicand_of(value)) return InverseDeviation{{}, *radicand};
  const auto quotient = quotient_of(*value.node);
  return quotient ? std::optional(InverseDeviation{quotient->numerator, quotient->radicand}) : std::nullopt;
}

// x * r + (shift - mean(x) * r) with r = scale / sqrt(variance + eps), as TensorFlow spells it out, of which
// `product` is x * r and `rest` what is added -> MVN, times scale, plus shift.
bool fuse_distributed(Model::Insertions& insertions, Node& node, const Node& product, const Node& rest) {
  if (!aligns_last_axes<op::v1::Multiply>(product.op()) || !aligns_last_axes<op::v1::Subtract>(rest.op()))
    return false;
  const Output& shift = rest.input(0);
  const Node& shifted = *rest.input(1).node;
  const auto is_mean = [](const Output& operand) { return mean_axes(*operand.node).has_value(); };
  const auto factors =
      aligns_last_axes<op::v1::Multiply>(shifted.op()) ? either_way(shifted, is_mean) : std::nullopt;
  if (!factors) return false;
  const auto& [mean, ratio] = *factors;
  const Output& x = mean.node->input(0);
  const auto operands = either_way(product, [&](const Output& operand) { return operand == x; });
  const auto inverse = operands && operands->second == ratio ? inverse_deviation_of(ratio) : std::nullopt;
  const auto variance = inverse ? mean_plus_eps(inverse->radicand) : std::nullopt;
  const auto squared = variance ? squared_deviation_of(variance->value) : std::nullopt;
  const PartialShape& shape = x.info().shape;
  if (!squared || squared->x != x || mean_axes(*squared->mean) != variance->axes ||
      mean_axes(*mean.node) != variance->axes || shape != product.output(0).shape ||
      shape != node.output(0).shape)
    return false;
  op::v6::MVN mvn;
  mvn.eps = variance->eps;
  Output normal = insertions.before(node, mvn, {x, mean.node->input(1)}, node.name() + "/normal");
  if (inverse->scale)
    normal = insertions.before(node, op::v1::Multiply(), {normal, *inverse->scale}, node.name() + "/scaled");
  rewrite(node, op::v1::Add(), {normal, shift});
  return true;
}

bool fuse_spelled_out(Model::Insertions& insertions, Node& node) {
  if (aligns_last_axes<op::v1::Add>(node.op())) {
    const Node& first = *node.input(0).node;
    const Node& second = *node.input(1).node;
    return fuse_distributed(insertions, node, first, second) ||
           fuse_distributed(insertions, node, second, first);
  }
  const auto quotient = quotient_of(node);
  const auto mean = quotient ? mean_plus_eps(quotient->radicand) : std::nullopt;
  return mean && (fuse_deviation(insertions, node, *quotient, *mean) ||
                  fuse_root_mean_square(node, *quotient, *mean));
}

// A layer normalisation with what has been fused into it so far.
struct Layer {
  Output x;
  op::LayerNorm op;
  std::optional<Output> scale;
  std::optional<Output> shift;
};

// Whether MVN over the last axes of a value of that shape normalises lines of `length` elements.
bool normalises_lines(const Node& mvn, const PartialShape& shape, const Dimension& length) {
  const auto axes = shape.has_rank() ? known_axes(mvn.input(1), shape) : std::nullopt;
  if (!axes || axes->empty() || axes->front() + axes->size() != shape.rank() || !length.is_static())
    return false;
  Dimension line(1);
  for (const std::size_t axis : *axes) line = line * shape[axis];
  return line == length;
}

// MVN over lines as long as the last axis, also between changes of shape.
std::optional<Layer> normalised_lines(const Output& value, const ReaderCounts& readers) {
  const bool is_reshaped = only_changes_shape(value.node->op());
  const Output normal = is_reshaped ? value.node->input(0) : value;
  const Node& node = *normal.node;
  const auto* mvn = node.op().as<op::v6::MVN>();
  const PartialShape& shape = value.info().shape;
  if (mvn == nullptr || !mvn->normalize_variance || mvn->eps_mode != op::MvnEpsMode::inside_sqrt ||
      value.info().type != ElementType::f32 || !shape.has_rank() || shape.rank() == 0 ||
      !normalises_lines(node, normal.info().shape, shape[shape.rank() - 1]))
    return std::nullopt;
  Layer found{node.input(0), {}, {}, {}};
  found.op.eps = mvn->eps;
  if (is_reshaped) {
    const Node& before = *node.input(0).node;
    if (!readers.single(normal) || !only_changes_shape(before.op())) return std::nullopt;
    found.x = before.input(0);
    if (!surely_same_shape(found.x.info(), value.info())) return std::nullopt;
  }
  return found;
}

std::optional<Layer> layer_of(const Output& value, const ReaderCounts& readers) {
  const Node& node = *value.node;
  if (const auto* norm = node.op().as<op::LayerNorm>()) {
    Layer found{node.input(0), *norm, {}, {}};
    if (norm->scale) found.scale = node.input(1);
    if (norm->shift) found.shift = node.inputs().back();
    return found;
  }
  return normalised_lines(value, readers);
}

// The node that multiplies or adds a constant to a layer normalisation becomes one.
bool fuse_affine(Model::Insertions& insertions, Node& node, const ReaderCounts& readers) {
  const bool is_factor = aligns_last_axes<op::v1::Multiply>(node.op());
  if (!is_factor && !aligns_last_axes<op::v1::Add>(node.op())) return false;
  const PartialShape& shape = node.output(0).shape;
  if (!shape.has_rank() || shape.rank() == 0) return false;
  const auto found = with_channels(node, shape.rank() - 1);
  auto layer = found && readers.single(found->value) ? layer_of(found->value, readers) : std::nullopt;
  if (!layer) return false;
  std::optional<Output>& place = is_factor ? layer->scale : layer->shift;
  if (layer->shift || place) return false;
  place = insert_constant(insertions, node, found->numbers, node.name() + (is_factor ? "/scale" : "/shift"));
  std::vector<Output> inputs{layer->x};
  if (layer->scale) inputs.push_back(*layer->scale);
  if (layer->shift) inputs.push_back(*layer->shift);
  layer->op.scale = layer->scale.has_value();
  layer->op.shift = layer->shift.has_value();
  rewrite(node, layer->op, std::move(inputs));
  return true;
}

}  // namespace

bool fuse_layer_norm(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->output_count() != 1 || node->output(0).type != ElementType::f32) continue;
    changed = fuse_spelled_out(insertions, *node) || fuse_affine(insertions, *node, readers) || changed;
  }
  return changed;
}

}  // namespace ir::passes
