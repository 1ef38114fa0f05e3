#include <algorithm>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/reduction.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// Axes of a mean that keeps its dims, ascending.
std::optional<std::vector<std::int64_t>> mean_axes(const Node& node) {
  const auto* mean = node.op().as<op::v1::ReduceMean>();
  if (mean == nullptr || !mean->keep_dims || constant_of(node.input(1)) == nullptr) return std::nullopt;
  const PartialShape& shape = node.input(0).info().shape;
  if (!shape.has_rank()) return std::nullopt;
  std::vector<std::int64_t> axes = integers_of(*constant_of(node.input(1)));
  for (std::int64_t& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(shape.rank()) : 0;
  std::ranges::sort(axes);
  return axes;
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

// The deviation that `value` is the square of.
std::optional<Deviation> squared_deviation_of(const Output& value) {
  const Node& node = *value.node;
  if (node.op().is<op::v0::SquaredDifference>()) return deviation_of(value);
  const bool is_square = (node.op().is<op::v1::Power>() && repeated_number(node.input(1)) == 2.0) ||
                         (node.op().is<op::v1::Multiply>() && node.input(0) == node.input(1));
  if (!is_square || !node.input(0).node->op().is<op::v1::Subtract>()) return std::nullopt;
  return deviation_of(node.input(0));
}

// What `value` is the square root of.
std::optional<Output> radicand_of(const Output& value) {
  const Node& node = *value.node;
  const bool is_root = node.op().is<op::v0::Sqrt>() ||
                       (node.op().is<op::v1::Power>() && repeated_number(node.input(1)) == 0.5);
  return is_root ? std::optional(node.input(0)) : std::nullopt;
}

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) as MVN, whose axes are input 1.
struct Normalisation {
  op::v6::MVN mvn;
  std::vector<Output> inputs;
};

std::optional<Normalisation> normalisation_of(const Node& node) {
  if (!node.op().is<op::v1::Divide>() || !node.input(0).node->op().is<op::v1::Subtract>())
    return std::nullopt;
  const auto deviation = deviation_of(node.input(0));
  const auto radicand = radicand_of(node.input(1));
  if (!deviation || !radicand || !radicand->node->op().is<op::v1::Add>()) return std::nullopt;
  const auto sum =
      either_way(*radicand->node, [](const Output& operand) { return repeated_number(operand).has_value(); });
  if (!sum) return std::nullopt;
  const Node& variance = *sum->second.node;
  const auto axes = mean_axes(variance);
  const auto squared = axes ? squared_deviation_of(variance.input(0)) : std::nullopt;
  if (!squared || squared->x != deviation->x || mean_axes(*squared->mean) != axes ||
      mean_axes(*deviation->mean) != axes || deviation->x.info().shape != node.output(0).shape) {
    return std::nullopt;
  }
  Normalisation found;
  found.mvn.eps = *repeated_number(sum->first);
  found.inputs = {deviation->x, deviation->mean->input(1)};
  return found;
}

// A layer normalisation with what has been fused into it so far.
struct Layer {
  Output x;
  double eps = 0;
  std::optional<Output> scale;
  std::optional<Output> shift;
};

std::optional<Layer> layer_of(const Output& value) {
  const Node& node = *value.node;
  if (const auto* layer = node.op().as<op::LayerNorm>()) {
    Layer found{node.input(0), layer->eps, {}, {}};
    if (layer->scale) found.scale = node.input(1);
    if (layer->shift) found.shift = node.inputs().back();
    return found;
  }
  const auto* mvn = node.op().as<op::v6::MVN>();
  const PartialShape& shape = value.info().shape;
  if (mvn == nullptr || !mvn->normalize_variance || mvn->eps_mode != op::MvnEpsMode::inside_sqrt ||
      value.info().type != ElementType::f32 || !shape.has_rank() || shape.rank() == 0 ||
      constant_of(node.input(1)) == nullptr) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> axes = integers_of(*constant_of(node.input(1)));
  const auto last = static_cast<std::int64_t>(shape.rank()) - 1;
  if (axes.size() != 1 || (axes[0] != -1 && axes[0] != last)) return std::nullopt;
  return Layer{node.input(0), mvn->eps, {}, {}};
}

// A constant with one number for each element of the last axis of `shape`, as a vector.
std::optional<Tensor> last_axis_vector(const Output& value, const PartialShape& shape) {
  const Tensor* constant = constant_of(value);
  const Dimension& length = shape[shape.rank() - 1];
  if (constant == nullptr || constant->element_type() != ElementType::f32 || !length.is_static() ||
      constant->size() != length.value() || constant->shape().size() > shape.rank() ||
      constant->shape().empty() || constant->shape().back() != length.value()) {
    return std::nullopt;
  }
  return constant->reshaped({length.value()});
}

// The node that multiplies or adds a constant to a layer normalisation becomes one.
bool fuse_affine(Model& model, Node& node, const ReaderCounts& readers) {
  const bool is_factor = node.op().is<op::v1::Multiply>();
  if (!is_factor && !node.op().is<op::v1::Add>()) return false;
  const auto operands =
      either_way(node, [](const Output& operand) { return constant_of(operand) == nullptr; });
  if (!operands || !readers.single(operands->first)) return false;
  auto layer = layer_of(operands->first);
  if (!layer) return false;
  const auto vector = last_axis_vector(operands->second, operands->first.info().shape);
  std::optional<Output>& place = is_factor ? layer->scale : layer->shift;
  if (!vector || layer->shift || place) return false;
  place = insert_constant(model, node, *vector, node.name() + (is_factor ? "/scale" : "/shift"));
  std::vector<Output> inputs{layer->x};
  if (layer->scale) inputs.push_back(*layer->scale);
  if (layer->shift) inputs.push_back(*layer->shift);
  op::LayerNorm op;
  op.eps = layer->eps;
  op.scale = layer->scale.has_value();
  op.shift = layer->shift.has_value();
  rewrite(node, op, std::move(inputs));
  return true;
}

}  // namespace

bool fuse_layer_norm(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->output_count() != 1 || node->output(0).type != ElementType::f32) continue;
    if (const auto found = normalisation_of(*node)) {
      rewrite(*node, found->mvn, found->inputs);
      changed = true;
    } else {
      changed = fuse_affine(model, *node, readers) || changed;
    }
  }
  return changed;
}

}  // namespace ir::passes
