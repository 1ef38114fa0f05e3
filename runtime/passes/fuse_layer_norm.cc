
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
  if (!value.node->op().is<op::v1::Multiply>()) return std::nullopt;
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

bool fuse_spelled_out(Model::Insertions& insertions, Node& node) {
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

std::optional<Layer> layer_of(const Output& value) {
  const Node& node = *value.node;
  if (const auto* norm = node.op().as<op::LayerNorm>()) {
    Layer found{node.input(0), *norm, {}, {}};
    if (norm->scale) found.scale = node.input(1);
    if (norm->shift) found.shift = node.inputs().back();
    return found;
  }
  const auto* mvn = node.op().as<op::v6::MVN>();
  const PartialShape& shape = value.info().shape;
  if (mvn == nullptr || !mvn->normalize_variance || mvn->eps_mode != op::MvnEpsMode::inside_sqrt ||
      value.info().type != ElementType::f32 || !shape.has_rank() || shape.rank() == 0 ||
      known_axes(node.input(1), shape) != std::vector{shape.rank() - 1})
    return std::nullopt;
  Layer found{node.input(0), {}, {}, {}};
  found.op.eps = mvn->eps;
  return found;
}

// The node that multiplies or adds a constant to a layer normalisation becomes one.
bool fuse_affine(Model::Insertions& insertions, Node& node, const ReaderCounts& readers) {
  const bool is_factor = node.op().is<op::v1::Multiply>();
  if (!is_factor && !node.op().is<op::v1::Add>()) return false;
  const PartialShape& shape = node.output(0).shape;
  if (!shape.has_rank() || shape.rank() == 0) return false;
  const auto found = with_channels(node, shape.rank() - 1);
  auto layer = found && readers.single(found->value) ? layer_of(found->value) : std::nullopt;
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
