#include "runtime/ops/broadcast.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace ir::op {
namespace {

bool may_be_one(const Dimension& dim) { return dim.min() <= 1 && dim.max() >= 1; }

// First axis of the target for an operand of `rank` dims, without those at the end that can only be ones;
// empty when the operand does not fit.
struct Alignment {
  std::size_t axis = 0;
  std::size_t length = 0;
};
std::optional<Alignment> pdpd_alignment(const PartialShape& target, const PartialShape& operand,
                                        std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(target.rank());
  if (axis == -1) axis = rank - static_cast<std::int64_t>(operand.rank());
  if (axis < 0 || axis > rank) return std::nullopt;
  auto length = static_cast<std::int64_t>(operand.rank());
  while (length > rank - axis && may_be_one(operand[static_cast<std::size_t>(length - 1)])) --length;
  if (length > rank - axis) return std::nullopt;
  return Alignment{static_cast<std::size_t>(axis), static_cast<std::size_t>(length)};
}

// The dim that lines up with `axis` of a shape of rank `rank` by the NumPy rule.
Dimension aligned_dim(const PartialShape& operand, std::size_t axis, std::size_t rank) {
  const std::size_t missing = rank - operand.rank();
  return axis < missing ? Dimension(1) : operand[axis - missing];
}

std::optional<PartialShape> broadcast_numpy(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape();
  const std::size_t rank = std::max(a.rank(), b.rank());
  PartialShape shape = PartialShape::of_rank(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto dim = broadcast_dim(aligned_dim(a, axis, rank), aligned_dim(b, axis, rank));
    if (!dim) return std::nullopt;
    shape[axis] = *dim;
  }
  return shape;
}

// `target` with what the operand tells of the dims that it lines up with.
std::optional<PartialShape> aligned_pdpd(const PartialShape& target, const PartialShape& operand,
                                         std::int64_t axis) {
  const auto alignment = pdpd_alignment(target, operand, axis);
  if (!alignment) return std::nullopt;
  PartialShape shape = target;
  for (std::size_t i = 0; i < alignment->length; ++i) {
    if (may_be_one(operand[i])) continue;  // a one, or the target's dim
    const auto dim = target[alignment->axis + i].merged(operand[i]);
    if (!dim) return std::nullopt;
    shape[alignment->axis + i] = *dim;
  }
  return shape;
}

std::optional<PartialShape> broadcast_pdpd(const PartialShape& target, const PartialShape& operand,
                                           std::int64_t axis) {
  if (!target.has_rank() || !operand.has_rank() || target == operand) return target;
  if (auto shape = aligned_pdpd(target, operand, axis)) return shape;
  return target.merged(operand);  // equal shapes, wherever the axis points
}

// Where and by which rule two shapes fail to match.
std::string mismatch_of(const PartialShape& a, const PartialShape& b, const BroadcastRule& rule) {
  if (rule.mode == AutoBroadcast::none) return "auto_broadcast none takes equal shapes";
  if (rule.mode == AutoBroadcast::pdpd) return fmt::format("auto_broadcast pdpd, axis {}", rule.axis);
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::size_t axis = 0;
  while (axis + 1 < rank && broadcast_dim(aligned_dim(a, axis, rank), aligned_dim(b, axis, rank))) ++axis;
  return fmt::format("axis {} would be {} and {}", axis, to_string(aligned_dim(a, axis, rank)),
                     to_string(aligned_dim(b, axis, rank)));
}

}  // namespace

std::optional<Dimension> broadcast_dim(const Dimension& a, const Dimension& b) {
  if (a == Dimension(1)) return b;
  if (b == Dimension(1)) return a;
  if (may_be_one(a) && may_be_one(b)) {
    return Dimension(std::min(a.min(), b.min()), std::max(a.max(), b.max()));
  }
  if (may_be_one(a)) return b;
  if (may_be_one(b)) return a;
  return a.merged(b);
}

std::optional<PartialShape> broadcast_shape(const PartialShape& a, const PartialShape& b,
                                            const BroadcastRule& rule) {
  switch (rule.mode) {
    case AutoBroadcast::none:
      return a.merged(b);
    case AutoBroadcast::pdpd:
      return broadcast_pdpd(a, b, rule.axis);
    case AutoBroadcast::numpy:
      break;
  }
  return broadcast_numpy(a, b);
}

PartialShape require_matching(const InferContext& context, std::initializer_list<std::size_t> inputs,
                              const BroadcastRule& rule) {
  context.require(rule.axis >= -1, "IR-attribute-range", {.found = rule.axis, .expected = "-1 or an axis"},
                  "auto_broadcast_axis is {}; it takes -1 or an axis", rule.axis);
  const std::size_t first = *inputs.begin();
  PartialShape shape = context.shape(first);
  for (const std::size_t index : std::span(inputs.begin() + 1, inputs.size() - 1)) {
    const auto next = broadcast_shape(shape, context.shape(index), rule);
    if (!next) {
      const std::string mismatch = mismatch_of(shape, context.shape(index), rule);
      context.fail("IR-broadcast",
                   fmt::format("input {} of shape {} does not match {} of the inputs before it: {}", index,
                               to_string(context.shape(index)), to_string(shape), mismatch),
                   Compared{to_string(context.shape(index)), to_string(shape), mismatch, index});
    }
    shape = *next;
  }
  return shape;
}

PartialShape infer_broadcast(InferContext& context, std::initializer_list<std::size_t> inputs,
                             const BroadcastRule& rule, std::size_t output) {
  PartialShape shape = require_matching(context, inputs, rule);
  if (!context.explaining() || rule.mode != AutoBroadcast::numpy) return shape;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_static()) continue;
    std::string dims;
    for (const std::size_t index : inputs) {
      if (!dims.empty()) dims += " and ";
      dims += to_string(aligned_dim(context.shape(index), axis, shape.rank()));
    }
    context.explain(output, axis, fmt::format("{} broadcast to {}", dims, shape[axis].value()));
  }
  return shape;
}

bool spreads_over(const PartialShape& operand, const PartialShape& target, const BroadcastRule& rule) {
  if (!operand.has_rank()) return false;
  const std::vector<Dimension>& dims = operand.dims();
  const auto is_one = [](const Dimension& dim) { return dim == Dimension(1); };
  if (std::ranges::all_of(dims, is_one)) return true;
  if (!target.has_rank()) return false;
  const auto longer =
      std::max(std::ssize(dims) - static_cast<std::ptrdiff_t>(target.rank()), std::ptrdiff_t{0});
  const auto first = dims.begin() + longer;
  if (!std::all_of(dims.begin(), first, is_one)) return false;
  return broadcast_shape(target, PartialShape(std::vector(first, dims.end())), rule) == target;
}

void require_broadcastable(const InferContext& context, std::size_t index, const PartialShape& target,
                           const BroadcastRule& rule) {
  const PartialShape& operand = context.shape(index);
  const auto shape = broadcast_shape(target, operand, rule);
  const bool spreads = shape.has_value() && (!operand.has_rank() || !target.has_rank() ||
                                             (shape->rank() == target.rank() && shape->compatible(target)));
  if (spreads) return;
  context.fail("IR-broadcast",
               fmt::format("input {} has shape {}, which does not spread over {}", index, to_string(operand),
                           to_string(target)),
               Compared{to_string(operand), to_string(target), {}, index});
}

kernels::BroadcastPlan broadcast_plan(const Shape& output, std::initializer_list<Shape> operands,
                                      const BroadcastRule& rule) {
  std::vector<std::vector<std::size_t>> sizes;
  std::vector<kernels::Dims> dims;
  sizes.reserve(operands.size());
  for (const Shape& operand : operands) {
    const std::size_t longer = std::max(operand.size(), output.size()) - output.size();
    auto& one = sizes.emplace_back(operand.begin() + static_cast<std::ptrdiff_t>(longer), operand.end());
    if (rule.mode == AutoBroadcast::pdpd && operand != output) {
      const auto alignment = pdpd_alignment(output, operand, rule.axis).value_or(Alignment{0, one.size()});
      one.resize(alignment.length);
      one.resize(output.size() - alignment.axis, 1);
    }
    dims.emplace_back(one);
  }
  const std::vector<std::size_t> output_sizes(output.begin(), output.end());
  return {output_sizes, dims};
}

}  // namespace ir::op
