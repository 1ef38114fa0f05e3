#include <optional>

#include "ir_runtime/ops/pooling.h"
#include "runtime/ops/pool_values.h"
#include "runtime/ops/windows.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

template <class To, class From>
op::SlidingPool<To> rounded(const op::SlidingPool<From>& pool, To rounding) {
  return {pool.strides, pool.pads_begin, pool.pads_end, pool.kernel, rounding, pool.auto_pad};
}

// The pooling without positions that gives the same maxima: MaxPool-1 where that can say it, which other
// rewrites know.
template <class Pool>
Op without_positions(const Pool& pool) {
  const op::Rounding14 rounding = op::newest_rounding(pool.rounding_type);
  if (!op::all_are(pool.dilations, 1) || rounding == op::Rounding14::ceil_torch)
    return op::MaxPoolValues{rounded(pool, rounding), pool.dilations};
  return op::v1::MaxPool{
      rounded(pool, rounding == op::Rounding14::ceil ? op::Rounding::ceil : op::Rounding::floor)};
}

std::optional<Op> pool_without_positions(const Op& op) {
  if (const auto* pool = op.as<op::v8::MaxPool>()) return without_positions(*pool);
  if (const auto* pool = op.as<op::v14::MaxPool>()) return without_positions(*pool);
  if (op.is<op::v8::AdaptiveMaxPool>()) return op::AdaptiveMaxPoolValues();
  return std::nullopt;
}

}  // namespace

bool drop_unused_positions(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    auto pool = pool_without_positions(node->op());
    if (!pool || readers.of(Output(node.get(), 1)) > 0) continue;
    rewrite(*node, *std::move(pool), {node->inputs().begin(), node->inputs().end()});
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
