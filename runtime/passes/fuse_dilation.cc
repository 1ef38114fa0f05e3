#include <algorithm>
#include <utility>
#include <vector>

#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/space.h"
#include "runtime/ops/windows.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/spatial_axes.h"

namespace ir::passes {
namespace {

using Integers = std::vector<std::int64_t>;

// What BatchToSpace or SpaceToBatch does to the spatial axes of a value [N, C, spatial...].
struct Blocks {
  Output value;  ///< that is moved
  Integers block;
  Integers begin;
  Integers end;
};

template <class Op>
std::optional<Blocks> blocks_of(const Node& node) {
  if (!node.op().is<Op>() || !node.output(0).shape.has_rank()) return std::nullopt;
  auto block = spatial_integers(node.input(1), 1);
  auto begin = spatial_integers(node.input(2), 0);
  auto end = spatial_integers(node.input(3), 0);
  if (!block || !begin || !end) return std::nullopt;
  return Blocks{node.input(0), std::move(*block), std::move(*begin), std::move(*end)};
}

// What a convolution of blocks counts in elements of the whole: blocks are `block` elements apart there, and
// so many are added and cut off. Empty where that is no number of a window.
std::optional<Integers> in_elements(const Integers& of_blocks, const Integers& block, const Integers& added,
                                    const Integers& cut) {
  Integers elements;
  for (std::size_t axis = 0; axis < block.size(); ++axis) {
    std::int64_t element = 0;
    if (__builtin_mul_overflow(of_blocks[axis], block[axis], &element) ||
        __builtin_add_overflow(element, added[axis], &element) ||
        __builtin_sub_overflow(element, cut[axis], &element) || element < 0 ||
        element > op::kMaxWindowNumber) {
      return std::nullopt;
    }
    elements.push_back(element);
  }
  return elements;
}

// Whether BatchToSpace might cut off all that there is, which are whole blocks: no convolution has an output
// without elements.
bool may_cut_off_all(const Node& back, const Blocks& to_space) {
  for (std::size_t axis = 0; axis < to_space.block.size(); ++axis) {
    const std::int64_t block = to_space.block[axis];
    const std::int64_t rest = to_space.begin[axis] % block + to_space.end[axis] % block;
    const bool cuts = to_space.begin[axis] > 0 || to_space.end[axis] > 0;
    if (cuts && rest % block == 0 && back.output(0).shape[axis + 2].min() == 0) return true;
  }
  return false;
}

template <class Convolution>
bool fuse_around(Node& back, const Blocks& to_space, const ReaderCounts& readers) {
  const Node& node = *to_space.value.node;
  const auto* old = node.op().as<Convolution>();
  if (old == nullptr || !readers.single(to_space.value) || !readers.single(node.input(0))) return false;
  const auto from_space = blocks_of<op::v1::SpaceToBatch>(*node.input(0).node);
  const std::size_t axes = to_space.block.size();
  if (!from_space || from_space->block != to_space.block || may_cut_off_all(back, to_space)) return false;
  const auto is_one = [](std::int64_t stride) { return stride == 1; };
  if (old->strides.size() != axes || !std::ranges::all_of(old->strides, is_one)) return false;

  const auto pads = pads_of(*old, axes);
  if (!pads || old->dilations.size() != axes) return false;
  const Integers none(axes, 0);
  auto dilations = in_elements(old->dilations, to_space.block, none, none);
  auto begin = in_elements(pads->begin, to_space.block, from_space->begin, to_space.begin);
  auto end = in_elements(pads->end, to_space.block, from_space->end, to_space.end);
  if (!dilations || !begin || !end) return false;

  Convolution dilated = *old;
  dilated.auto_pad = op::AutoPad::explicit_;
  dilated.dilations = std::move(*dilations);
  dilated.pads_begin = std::move(*begin);
  dilated.pads_end = std::move(*end);
  rewrite(back, dilated, {from_space->value, node.input(1)});
  return true;
}

}  // namespace

bool fuse_dilation(Model& model) {
  const ReaderCounts readers(model);
  bool changed = false;
  for (const auto& node : model.nodes()) {
    const auto to_space = blocks_of<op::v1::BatchToSpace>(*node);
    if (!to_space) continue;
    changed = fuse_around<op::v1::Convolution>(*node, *to_space, readers) ||
              fuse_around<op::v1::GroupConvolution>(*node, *to_space, readers) || changed;
  }
  // Where dims are not known, other bounds follow for them without blocks.
  if (changed) model.infer();
  return changed;
}

}  // namespace ir::passes
