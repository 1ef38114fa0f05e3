#include <numeric>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/infer.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/shape_elements.h"

namespace ir::passes {
namespace {

constexpr std::size_t kChannelAxis = 1;

// The node of MVN over all axes behind the one of groups, with the variance.
const Node* group_mvn(const Output& value) {
  const Node& node = *value.node;
  const auto* mvn = node.op().as<op::v6::MVN>();
  const PartialShape& shape = value.info().shape;
  if (mvn == nullptr || !mvn->normalize_variance || mvn->eps_mode != op::MvnEpsMode::inside_sqrt ||
      !shape.has_rank() || shape.rank() <= kChannelAxis + 1)
    return nullptr;
  std::vector<std::size_t> expected(shape.rank() - kChannelAxis - 1);
  std::iota(expected.begin(), expected.end(), kChannelAxis + 1);
  return known_axes(node.input(1), shape) == expected ? &node : nullptr;
}

// Whether the node gives [N, C, ...] the shape [N, groups, ...].
bool divides_channels(const Node& node) {
  const auto* reshape = node.op().as<op::v1::Reshape>();
  const PartialShape& from = node.input(0).info().shape;
  const PartialShape& to = node.output(0).shape;
  if (reshape == nullptr || !from.has_rank() || from.rank() <= kChannelAxis ||
      !from[kChannelAxis].is_static() || !to[kChannelAxis].is_static() || to[kChannelAxis].value() == 0 ||
      from[kChannelAxis].value() % to[kChannelAxis].value() != 0)
    return false;
  if (from[0].is_static() && to[0].is_static()) return from[0].value() == to[0].value();
  const auto target = constant_integers(node.input(1));
  return reshape->special_zero && target && target->front() == 0;
}

// Whether a Reshape of groups gives them the shape of `x`, which they came from with axis 0 as it was.
bool gives_back(const Node& node, const Output& x) {
  if (surely_same_shape(node.output(0), x.info())) return true;
  const auto* reshape = node.op().as<op::v1::Reshape>();
  const auto target = shape_elements(node.input(1));
  if (!target || target->size() != x.info().shape.rank()) return false;
  std::size_t left = 0;  // to what remains
  for (std::size_t axis = 0; axis < target->size(); ++axis) {
    const ShapeElement& element = (*target)[axis];
    const bool copies = element.number == 0 && reshape->special_zero && axis == 0;
    if (element.number == -1) {
      ++left;
    } else if (!copies && !is_dim_of(element, x, axis)) {
      return false;
    }
  }
  return left <= 1;
}

// What is normalised in groups, and in how many.
struct Groups {
  Output x;
  std::int64_t count = 0;
  double eps = 0;
};

std::optional<Groups> groups_of(const Output& value, const ReaderCounts& readers) {
  const bool is_reshaped = value.node->op().is<op::v1::Reshape>();
  const Output normal = is_reshaped ? value.node->input(0) : value;
  const Node* const mvn = group_mvn(normal);
  if (mvn == nullptr || !readers.single(normal)) return std::nullopt;
  Groups groups{mvn->input(0), 0, mvn->op().as<op::v6::MVN>()->eps};
  if (is_reshaped) {
    const Node& division = *mvn->input(0).node;
    if (!divides_channels(division)) return std::nullopt;
    groups.x = division.input(0);
    if (!gives_back(*value.node, groups.x)) return std::nullopt;
  }
  const Dimension& count = normal.info().shape[kChannelAxis];
  if (!count.is_static()) return std::nullopt;
  groups.count = count.value();
  return groups;
}

}  // namespace

bool fuse_group_norm(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->output_count() != 1 || node->output(0).type != ElementType::f32) continue;
    if (!aligns_last_axes<op::v1::Add>(node->op())) continue;
    const auto shifted = with_channels(*node, kChannelAxis);
    if (!shifted || !readers.single(shifted->value) ||
        !aligns_last_axes<op::v1::Multiply>(shifted->value.node->op()))
      continue;
    const auto scaled = with_channels(*shifted->value.node, kChannelAxis);
    const auto groups =
        scaled && readers.single(scaled->value) ? groups_of(scaled->value, readers) : std::nullopt;
    if (!groups) continue;
    op::v12::GroupNormalization norm;
    norm.num_groups = groups->count;
    norm.epsilon = groups->eps;
    const Output scale = insert_constant(insertions, *node, scaled->numbers, node->name() + "/scale");
    const Output shift = insert_constant(insertions, *node, shifted->numbers, node->name() + "/shift");
    rewrite(*node, norm, {groups->x, scale, shift});
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
