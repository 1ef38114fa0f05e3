#include "ir_runtime/ops/space.h"

#include "kernels/movement/space.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/axes.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

// block^spatial_rank, when it is a number that a tensor can have.
std::int64_t block_volume(const InferContext& context, std::int64_t block, std::size_t spatial_rank) {
  require_at_least(context, "block_size", block, 1);
  std::int64_t volume = 1;
  for (std::size_t i = 0; i < spatial_rank && block > 1; ++i) {
    context.require(
        !__builtin_mul_overflow(volume, block, &volume), "IR-attribute-range",
        {.found = block, .expected = words("a number of which the power of {} can be counted", spatial_rank)},
        "block_size is {}; its power of {} overflows", block, spatial_rank);
  }
  return volume;
}

template <class Op>
PreparedKernel prepare_blocks(const PrepareContext& context, const Op& op, std::string_view name,
                              kernels::Transpose (*make)(std::span<const std::size_t>, std::size_t,
                                                         kernels::DepthMode, std::size_t)) {
  if (op.block_size == 1) return PreparedKernel::view_of(0);
  if (context.output_size() == 0) return nothing_to_do(name);
  const auto mode =
      op.mode == DepthMode::blocks_first ? kernels::DepthMode::blocks_first : kernels::DepthMode::depth_first;
  const kernels::Transpose transpose =
      make(sizes_of(context.shape(0)), static_cast<std::size_t>(op.block_size), mode, moved_bytes(context));
  return moving_kernel(context, name, {0}, [transpose](const StepMemory& memory) {
    transpose.run(memory.inputs[0], memory.outputs[0]);
  });
}

// Blocks of `block_size` elements along each spatial axis move from the channels into space, or back.
void infer_blocks(InferContext& context, std::int64_t block_size, bool into_space) {
  context.require_inputs(1);
  require_min_rank(context, 0, 3);
  PartialShape shape = context.shape(0);
  if (shape.has_rank()) {
    const std::int64_t volume = block_volume(context, block_size, shape.rank() - 2);
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
      const Dimension from = shape[axis];
      const bool channels = axis == 1;
      const std::int64_t factor = channels ? volume : block_size;
      const bool grows = channels != into_space;
      shape[axis] = grows ? from * Dimension(factor) : exact_quotient(context, from, factor, axis);
      if (!context.explaining()) continue;
      context.explain(
          0, axis,
          fmt::format("{} {} {} = {}", to_string(from), grows ? '*' : '/', factor, to_string(shape[axis])));
    }
  }
  context.set_output(0, context.type(0), shape);
}

}  // namespace

void v0::DepthToSpace::infer(InferContext& context) const { infer_blocks(context, block_size, true); }

PreparedKernel v0::DepthToSpace::prepare(PrepareContext& context) const {
  return prepare_blocks(context, *this, "depth_to_space", kernels::make_depth_to_space);
}

void v0::SpaceToDepth::infer(InferContext& context) const { infer_blocks(context, block_size, false); }

PreparedKernel v0::SpaceToDepth::prepare(PrepareContext& context) const {
  return prepare_blocks(context, *this, "space_to_depth", kernels::make_space_to_depth);
}

void v0::ShuffleChannels::infer(InferContext& context) const {
  context.require_inputs(1);
  require_min_rank(context, 0, 1);
  require_at_least(context, "group", group, 1);
  const PartialShape& shape = context.shape(0);
  if (shape.has_rank()) {
    const std::size_t channels = context.require_axis(axis, shape.rank(), "axis");
    (void)exact_quotient(context, shape[channels], group, channels);
  }
  context.set_output(0, context.type(0), shape);
}

PreparedKernel v0::ShuffleChannels::prepare(PrepareContext& context) const {
  if (group == 1) return PreparedKernel::view_of(0);
  if (context.output_size() == 0) return nothing_to_do("shuffle_channels");
  const Shape& shape = context.shape(0);
  const std::size_t channels = normalized_axis(axis, shape.size());
  const kernels::Transpose transpose = kernels::make_shuffle_channels(
      sizes_of(shape), channels, static_cast<std::size_t>(group), moved_bytes(context));
  return moving_kernel(context, "shuffle_channels", {0}, [transpose](const StepMemory& memory) {
    transpose.run(memory.inputs[0], memory.outputs[0]);
  });
}

namespace {

// Inputs 1 to 3 of BatchToSpace and SpaceToBatch: one entry per axis.
struct Blocks {
  std::vector<Dimension> block;
  std::vector<Dimension> begin;
  std::vector<Dimension> end;
};

// Checks the inputs; empty when the rank of input 0 is not known.
std::optional<Blocks> read_blocks(const InferContext& context, std::string_view margin) {
  context.require_inputs(4);
  require_min_rank(context, 0, 2);
  const PartialShape& data = context.shape(0);
  for (std::size_t index = 1; index < 4; ++index) {
    const Dimension length = require_integer_vector(context, index);
    require_one_per_axis(context, index, length, "entries");
  }
  if (!data.has_rank()) return std::nullopt;
  Blocks blocks{elements_or_unknown(context, 1, data.rank()), elements_or_unknown(context, 2, data.rank()),
                elements_or_unknown(context, 3, data.rank())};
  for (std::size_t axis = 0; axis < data.rank(); ++axis) {
    Dimension& block = blocks.block[axis];
    context.require(block.max() >= 1, "IR-value", {.found = block, .expected = "at least 1", .input = 1},
                    "block size {} of axis {} is less than 1", block, axis);
    block = element_maximum(block, Dimension(1));
    for (Dimension* one : {&blocks.begin[axis], &blocks.end[axis]}) {
      *one = require_size(context, one == &blocks.begin[axis] ? 2U : 3U, *one,
                          "the {} {} of axis {} is negative", margin, *one, axis);
    }
  }
  context.require(
      blocks.block[0].compatible(1) && blocks.begin[0].compatible(0) && blocks.end[0].compatible(0),
      "IR-value",
      {.found = words("{}, {} and {}", blocks.block[0], blocks.begin[0], blocks.end[0]),
       .expected = "1, 0 and 0"},
      "axis 0 has block size {} and {}s {} and {}; it takes 1, 0 and 0", blocks.block[0], margin,
      blocks.begin[0], blocks.end[0]);
  blocks.block[0] = Dimension(1);
  blocks.begin[0] = blocks.end[0] = Dimension(0);
  return blocks;
}

Dimension product_of(std::span<const Dimension> dims) {
  Dimension product(1);
  for (const Dimension& dim : dims) product = product * dim;
  return product;
}

using BlockFunction = void (*)(std::span<const std::size_t>, std::span<const std::size_t>,
                               std::span<const std::size_t>, std::span<const std::size_t>, std::size_t,
                               const void*, void*);

PreparedKernel prepare_block_function(const PrepareContext& context, std::string_view name,
                                      BlockFunction function) {
  const std::vector<std::size_t> block = sizes_of(context.integers(1));
  const std::vector<std::size_t> begin = sizes_of(context.integers(2));
  const std::vector<std::size_t> end = sizes_of(context.integers(3));
  if (context.output_size() == 0) return nothing_to_do(name);
  return moving_kernel(
      context, name, {0},
      [=, dims = sizes_of(context.shape(0)), element = moved_bytes(context)](const StepMemory& memory) {
        function(dims, block, begin, end, element, memory.inputs[0], memory.outputs[0]);
      });
}

}  // namespace

void v1::BatchToSpace::infer(InferContext& context) const {
  context.require_inputs(4);
  (void)context.require_same_type({1, 2, 3});
  const auto blocks = read_blocks(context, "crop");
  PartialShape shape = context.shape(0);
  if (blocks) {
    const Dimension parts = product_of(blocks->block);
    const Dimension batch = shape[0];
    shape[0] =
        parts.is_static() ? exact_quotient(context, batch, parts.value(), 0) : Dimension(0, batch.max());
    if (context.explaining()) {
      context.explain(0, 0,
                      fmt::format("{} / {} = {}", to_string(batch), to_string(parts), to_string(shape[0])));
    }
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
      const Dimension whole = shape[axis] * blocks->block[axis];
      const Dimension crops = blocks->begin[axis] + blocks->end[axis];
      const Dimension left = element_subtract(whole, crops);
      context.require(left.max() >= 0, "IR-shape",
                      {.found = crops,
                       .expected = words("at most {}", whole),
                       .rule = words("{} * {} = {}", shape[axis], blocks->block[axis], whole)},
                      "{} elements are cut off axis {}, which has {} * {}", crops, axis, shape[axis],
                      blocks->block[axis]);
      if (context.explaining()) {
        context.explain(
            0, axis,
            fmt::format("{} * {} - {} - {} = {}", to_string(shape[axis]), to_string(blocks->block[axis]),
                        to_string(blocks->begin[axis]), to_string(blocks->end[axis]), to_string(left)));
      }
      shape[axis] = element_maximum(left, Dimension(0));
    }
  }
  context.set_output(0, context.type(0), shape);
}

PreparedKernel v1::BatchToSpace::prepare(PrepareContext& context) const {
  return prepare_block_function(context, "batch_to_space", kernels::batch_to_space);
}

void v1::SpaceToBatch::infer(InferContext& context) const {
  const auto blocks = read_blocks(context, "pad");
  PartialShape shape = context.shape(0);
  if (blocks) {
    const Dimension parts = product_of(blocks->block);
    const Dimension batch = shape[0];
    shape[0] = batch * parts;
    if (context.explaining()) {
      context.explain(0, 0,
                      fmt::format("{} * {} = {}", to_string(batch), to_string(parts), to_string(shape[0])));
    }
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
      const Dimension padded = shape[axis] + blocks->begin[axis] + blocks->end[axis];
      const Dimension& block = blocks->block[axis];
      const Dimension part = block.is_static() ? exact_quotient(context, padded, block.value(), axis)
                                               : Dimension(0, padded.max());
      if (context.explaining()) {
        context.explain(
            0, axis,
            fmt::format("({} + {} + {}) / {} = {}", to_string(shape[axis]), to_string(blocks->begin[axis]),
                        to_string(blocks->end[axis]), to_string(block), to_string(part)));
      }
      shape[axis] = part;
    }
  }
  context.set_output(0, context.type(0), shape);
}

PreparedKernel v1::SpaceToBatch::prepare(PrepareContext& context) const {
  return prepare_block_function(context, "space_to_batch", kernels::space_to_batch);
}

}  // namespace ir::op
