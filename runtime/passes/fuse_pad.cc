#include <algorithm>

#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "runtime/ops/windows.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/spatial_axes.h"

namespace ir::passes {
namespace {

using Integers = std::vector<std::int64_t>;

// Zeros around the spatial axes of a value [N, C, spatial...].
struct Border {
  Output inside;
  Integers begin;
  Integers end;
};

// The pads of the spatial axes; empty when batch or channels are padded, too, or something is cut off.
std::optional<Integers> pads_around(const Output& value) {
  auto pads = spatial_integers(value, 0);
  if (pads && std::ranges::any_of(*pads, [](std::int64_t pad) { return pad < 0; })) return std::nullopt;
  return pads;
}

std::optional<Border> border_of(const Output& value, const ReaderCounts& readers) {
  const Node& node = *value.node;
  const auto* old = node.op().as<op::v1::Pad>();
  const auto* pad = node.op().as<op::v12::Pad>();
  if ((old == nullptr && pad == nullptr) || !readers.single(value)) return std::nullopt;
  if ((old != nullptr ? old->pad_mode : pad->pad_mode) != op::PadMode::constant) return std::nullopt;
  if (node.inputs().size() > 3 && repeated_number(node.input(3)) != 0.0) return std::nullopt;
  auto begin = pads_around(node.input(1));
  auto end = pads_around(node.input(2));
  if (!begin || !end) return std::nullopt;
  return Border{node.input(0), std::move(*begin), std::move(*end)};
}

// Pads where nothing is derived from the shape.
template <class Sliding>
bool add_pads(Sliding& sliding, const Border& border) {
  auto pads = pads_of(sliding, border.begin.size());
  if (!pads) return false;
  std::ranges::transform(pads->begin, border.begin, pads->begin.begin(), std::plus());
  std::ranges::transform(pads->end, border.end, pads->end.begin(), std::plus());
  sliding.auto_pad = op::AutoPad::explicit_;
  sliding.pads_begin = std::move(pads->begin);
  sliding.pads_end = std::move(pads->end);
  return true;
}

template <class Convolution>
bool fuse_into_convolution(Node& node, const Border& border) {
  const auto* old = node.op().as<Convolution>();
  if (old == nullptr) return false;
  Convolution padded = *old;
  if (!add_pads(padded, border)) return false;
  rewrite(node, padded, {border.inside, node.input(1)});
  return true;
}

// An average over zeros that are part of the image is one over zeros that count as padding.
template <class AvgPool>
bool fuse_into_average(Node& node, const Border& border) {
  const auto* old = node.op().as<AvgPool>();
  if (old == nullptr) return false;
  AvgPool padded = *old;
  if (!op::has_no_pads(*old) || old->rounding_type != decltype(old->rounding_type)::floor ||
      !add_pads(padded, border)) {
    return false;
  }
  padded.exclude_pad = false;
  rewrite(node, padded, {border.inside});
  return true;
}

bool fuse_border(Node& node, const ReaderCounts& readers) {
  const auto border = node.inputs().empty() ? std::nullopt : border_of(node.input(0), readers);
  return border && (fuse_into_convolution<op::v1::Convolution>(node, *border) ||
                    fuse_into_convolution<op::v1::GroupConvolution>(node, *border) ||
                    fuse_into_average<op::v1::AvgPool>(node, *border) ||
                    fuse_into_average<op::v14::AvgPool>(node, *border) ||
                    fuse_into_average<op::v16::AvgPool>(node, *border));
}

}  // namespace

bool fuse_pad(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    // A Pad may come after another one.
    while (fuse_border(*node, readers)) changed = true;
  }
  return changed;
}

}  // namespace ir::passes
