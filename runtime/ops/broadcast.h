// Broadcasting of shapes: one rule for everything that matches operands of different shapes.
#ifndef RUNTIME_OPS_BROADCAST_H_
#define RUNTIME_OPS_BROADCAST_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "ir_runtime/ops/attributes.h"
#include "kernels/base/broadcast.h"
#include "runtime/ops/infer.h"

namespace ir::op {

/// How operands are matched.
///
/// - numpy: dims are aligned to the right; two dims match when they are equal or one of them is 1.
/// - none: shapes are equal.
/// - pdpd: the second operand is spread over the first, whose shape is the result: its dims, without ones at
///   the end, line up with the first operand's from `axis` on (-1: so that both end together).
struct BroadcastRule {
  AutoBroadcast mode = AutoBroadcast::numpy;
  std::int64_t axis = -1;
};

/// The dim that two dims give by the NumPy rule; empty when they cannot match.
std::optional<Dimension> broadcast_dim(const Dimension& a, const Dimension& b);

/// The shape that `a` and `b` give; of unknown rank when it depends on an unknown rank, empty when they
/// cannot match.
std::optional<PartialShape> broadcast_shape(const PartialShape& a, const PartialShape& b,
                                            const BroadcastRule& rule = {});

/// The shape that these inputs give together, from left to right. Fails with IR-broadcast, naming inputs,
/// axis and dims; explains the axes of output `output` when wanted.
PartialShape infer_broadcast(InferContext& context, std::initializer_list<std::size_t> inputs,
                             const BroadcastRule& rule = {}, std::size_t output = 0);

/// The same where the output has a shape of its own: fails as infer_broadcast does, and explains nothing.
PartialShape require_matching(const InferContext& context, std::initializer_list<std::size_t> inputs,
                              const BroadcastRule& rule = {});

/// Whether an operand that inference has matched with `target` spreads over it without changing it, whatever
/// the unknown dims are. Ones that a longer operand begins with do not count.
bool spreads_over(const PartialShape& operand, const PartialShape& target, const BroadcastRule& rule = {});

/// Fails with IR-broadcast unless input `index` spreads over `target` without changing it.
void require_broadcastable(const InferContext& context, std::size_t index, const PartialShape& target,
                           const BroadcastRule& rule = {});

/// The plan for kernels, for static shapes that inference has matched. All operands but those of the rank of
/// `output` follow `rule`; longer ones begin with ones, which are left out.
kernels::BroadcastPlan broadcast_plan(const Shape& output, std::initializer_list<Shape> operands,
                                      const BroadcastRule& rule = {});

}  // namespace ir::op

#endif  // RUNTIME_OPS_BROADCAST_H_
