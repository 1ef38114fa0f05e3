// What rewrites of convolutions and pooling share: lists with an entry per spatial axis.
#ifndef RUNTIME_PASSES_SPATIAL_AXES_H_
#define RUNTIME_PASSES_SPATIAL_AXES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir_runtime/ops/attributes.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {

/// The entries of the spatial axes in a constant with one per axis of [N, C, spatial...]; empty when it is
/// none, or those of batch and channels are not `none`.
inline std::optional<std::vector<std::int64_t>> spatial_integers(const Output& value, std::int64_t none) {
  auto all = constant_integers(value);
  if (!all || all->size() < 3 || (*all)[0] != none || (*all)[1] != none) return std::nullopt;
  all->erase(all->begin(), all->begin() + 2);
  return all;
}

struct SpatialPads {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
};

/// The pads of something that slides over so many spatial axes; empty when they are derived from the shape.
template <class Sliding>
std::optional<SpatialPads> pads_of(const Sliding& sliding, std::size_t axes) {
  const bool valid = sliding.auto_pad == op::AutoPad::valid;
  if (!valid && sliding.auto_pad != op::AutoPad::explicit_) return std::nullopt;
  const std::vector<std::int64_t> none(axes, 0);
  SpatialPads pads{valid || sliding.pads_begin.empty() ? none : sliding.pads_begin,
                   valid || sliding.pads_end.empty() ? none : sliding.pads_end};
  if (pads.begin.size() != axes || pads.end.size() != axes) return std::nullopt;
  return pads;
}

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_SPATIAL_AXES_H_
