#include <optional>

#include "ir_runtime/ops/pooling.h"
#include "runtime/ops/windows.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// The pooling without positions that gives the same maxima; empty where MaxPool-1 cannot say it.
template <class Pool>
std::optional<Op> without_positions(const Pool& pool) {
  const op::Rounding14 rounding = op::newest_rounding(pool.rounding_type);
  if (!op::all_are(pool.dilations, 1) || rounding == op::Rounding14::ceil_torch) return std::nullopt;
  op::v1::MaxPool plain;
  plain.strides = pool.strides;
  plain.pads_begin = pool.pads_begin;
  plain.pads_end = pool.pads_end;
  plain.kernel = pool.kernel;
  plain.rounding_type = rounding == op::Rounding14::ceil ? op::Rounding::ceil : op::Rounding::floor;
  plain.auto_pad = pool.auto_pad;
  return plain;
}

std::optional<Op> plain_pool(const Op& op) {
  if (const auto* pool = op.as<op::v8::MaxPool>()) return without_positions(*pool);
  if (const auto* pool = op.as<op::v14::MaxPool>()) return without_positions(*pool);
  return std::nullopt;
}

}  // namespace

bool drop_unused_positions(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    auto plain = plain_pool(node->op());
    if (!plain || readers.of(Output(node.get(), 1)) > 0) continue;
    rewrite(*node, *std::move(plain), {node->input(0)});
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
