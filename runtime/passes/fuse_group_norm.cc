#include <numeric>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/infer.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

constexpr std::size_t kChannelAxis = 1;

// A value and the constant, as a vector of channels, that `Operation` combines it with.
struct Scaled {
  Output value;
  Tensor channels;
};

template <class Operation>
std::optional<Scaled> with_channels(const Node& node, const ReaderCounts& readers) {
  const auto* operation = node.op().as<Operation>();
  if (operation == nullptr || operation->auto_broadcast != op::AutoBroadcast::numpy) return std::nullopt;
  const auto operands =
      either_way(node, [](const Output& operand) { return constant_of(operand) == nullptr; });
  if (!operands || !readers.single(operands->first)) return std::nullopt;
  const PartialShape& shape = operands->first.info().shape;
  if (shape != node.output(0).shape || !shape.has_rank() || shape.rank() <= kChannelAxis + 1)
    return std::nullopt;
  auto channels = per_channel(operands->second, shape, kChannelAxis);
  return channels ? std::optional(Scaled{operands->first, *std::move(channels)}) : std::nullopt;
}

// The node of MVN over all axes behind the one of groups, with the variance.
const Node* group_mvn(const Output& value) {
  const Node& node = *value.node;
  const auto* mvn = node.op().as<op::v6::MVN>();
  const PartialShape& shape = value.info().shape;
  if (mvn == nullptr || !mvn->normalize_variance || mvn->eps_mode != op::MvnEpsMode::inside_sqrt ||
      !shape.has_rank() || shape.rank() <= kChannelAxis + 1)
    return nullptr;
  auto axes = constant_integers(node.input(1));
  if (!axes) return nullptr;
  for (std::int64_t& axis : *axes) axis += axis < 0 ? static_cast<std::int64_t>(shape.rank()) : 0;
  std::ranges::sort(*axes);
  std::vector<std::int64_t> expected(shape.rank() - kChannelAxis - 1);
  std::iota(expected.begin(), expected.end(), std::int64_t{kChannelAxis} + 1);
  return *axes == expected ? &node : nullptr;
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
  }
  const Dimension& count = normal.info().shape[kChannelAxis];
  if (!count.is_static() || groups.x.info().shape != value.info().shape) return std::nullopt;
  groups.count = count.value();
  return groups;
}

}  // namespace

bool fuse_group_norm(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->output_count() != 1 || node->output(0).type != ElementType::f32) continue;
    const auto shifted = with_channels<op::v1::Add>(*node, readers);
    const auto scaled =
        shifted ? with_channels<op::v1::Multiply>(*shifted->value.node, readers) : std::nullopt;
    const auto groups = scaled ? groups_of(scaled->value, readers) : std::nullopt;
    if (!groups) continue;
    op::v12::GroupNormalization norm;
    norm.num_groups = groups->count;
    norm.epsilon = groups->eps;
    const Output scale = insert_constant(model, *node, scaled->channels, node->name() + "/scale");
    const Output shift = insert_constant(model, *node, shifted->channels, node->name() + "/shift");
    rewrite(*node, norm, {groups->x, scale, shift});
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
