#include "ir_runtime/ops/roi_pooling.h"

#include <algorithm>

#include "kernels/detection/roi_pooling.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/regions.h"
#include "runtime/ops/sizes.h"

namespace ir::op {
namespace {

constexpr std::int64_t kBoxSize = 5;  // batch index and corners

enum Port : std::size_t { kMaps, kBoxes, kOffsets };

void require_reals(const InferContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) context.require_real(i);
}

// Every bin of every output channel has a channel of its own; `product` names what multiplies to `needed`.
void require_channels(const InferContext& context, const Dimension& channels, const Dimension& needed,
                      std::string_view product) {
  context.require(
      channels.compatible(needed), "IR-shape",
      {.found = channels, .expected = needed, .rule = words("{} = {}", product, needed), .input = kMaps},
      "input 0 has {} channels; {} is {}", channels, product, needed);
}

kernels::RegionShapes shapes_of(const PrepareContext& context) {
  const Shape& maps = context.shape(kMaps);
  const Shape& out = context.output_shape();
  return {size_of(maps[1]), size_of(maps[2]), size_of(maps[3]),
          size_of(out[1]),  size_of(out[2]),  size_of(out[3])};
}

// How a region of batch -1 is read.
enum class NegativeBatch {
  ends_list,  ///< Proposal marks so that no more boxes follow; OpenVINO's CPU plugin stops there
  skipped,    ///< any negative batch, in OpenVINO's reference code of the deformable operation
};

// The number of regions to pool. Throws when one of them addresses no feature map.
std::size_t checked_regions(const float* boxes, std::size_t count, std::int64_t batches,
                            NegativeBatch negative) {
  for (std::size_t i = 0; i < count; ++i) {
    const float batch = boxes[i * kBoxSize];
    if (batch > -1 && batch < static_cast<float>(batches)) continue;
    const bool skipped = negative == NegativeBatch::skipped && batch <= -1;
    if (skipped) continue;
    if (batch > -2 && batch <= -1) return i;
    fail_batch(i, double{batch}, batches);
  }
  return count;
}

// `pool(input, memory)` writes the output of the input's regions; all others are zeros.
template <class Pool>
PreparedKernel prepare_pooling(const PrepareContext& context, std::string name, NegativeBatch negative,
                               double spatial_scale, Pool pool, std::size_t scratch_bytes = 0) {
  const std::size_t size = context.output_size();
  if (size == 0) return nothing_to_do(name);
  PreparedKernel prepared;
  prepared.name = std::move(name);
  prepared.scratch_bytes = scratch_bytes;
  const std::int64_t batches = context.shape(kMaps)[0];
  const std::size_t regions = size_of(context.shape(kBoxes)[0]);
  const bool empty = context.size(kMaps) == 0;
  const auto scale = static_cast<float>(spatial_scale);
  prepared.run = [=, pool = std::move(pool)](const StepMemory& memory) {
    kernels::RoiPoolingInput input{memory.in<float>(kMaps), memory.in<float>(kBoxes), 0, scale};
    const std::size_t checked = checked_regions(input.boxes, regions, batches, negative);
    if (!empty) input.rois = checked;
    pool(input, memory);
    float* out = memory.out<float>(0);
    std::fill(out + input.rois * (size / regions), out + size, 0.0F);
  };
  constexpr double kFlopsPerElement = 8;  // one bilinear sample
  prepared.flops = kFlopsPerElement * static_cast<double>(size);
  return computed_in_f32(context, std::move(prepared));
}

}  // namespace

void v0::ROIPooling::infer(InferContext& context) const {
  context.require_inputs(2);
  require_reals(context);
  const ElementType type = context.require_same_type({kMaps, kBoxes});
  require_at_least(context, "pooled_h", pooled_h, 1);
  require_at_least(context, "pooled_w", pooled_w, 1);
  require_spatial_scale(context, spatial_scale);
  const RegionDims dims = region_dims(context, kBoxSize);
  context.set_output(0, type, PartialShape{dims.regions.value, dims.channels.value, pooled_h, pooled_w});
}

PreparedKernel v0::ROIPooling::prepare(PrepareContext& context) const {
  const bool bilinear = method == RoiPoolingMethod::bilinear;
  kernels::RegionShapes shapes = shapes_of(context);
  if (context.size(kMaps) == 0) shapes.height = shapes.width = 0;  // else one of them may be anything
  const kernels::RoiPooling pooling(
      shapes, size_of(context.shape(kBoxes)[0]),
      bilinear ? kernels::RoiPoolingMethod::bilinear : kernels::RoiPoolingMethod::maximum);
  return prepare_pooling(
      context, bilinear ? "roi_pooling/bilinear" : "roi_pooling/max", NegativeBatch::ends_list, spatial_scale,
      [pooling](const kernels::RoiPoolingInput& input, const StepMemory& memory) {
        pooling.run(input, memory.out<float>(0), memory.scratch);
      },
      pooling.scratch_bytes());
}

void v0::PSROIPooling::infer(InferContext& context) const {
  context.require_inputs(2);
  require_reals(context);
  require_at_least(context, "output_dim", output_dim, 1);
  require_at_least(context, "group_size", group_size, 1);
  require_spatial_scale(context, spatial_scale);
  const RegionDims dims = region_dims(context, kBoxSize);
  const Dimension& channels = dims.channels.value;
  if (mode == PsRoiPoolingMode::average) {
    require_channels(context, channels, Dimension(output_dim) * Dimension(group_size) * Dimension(group_size),
                     "output_dim * group_size * group_size");
  } else {
    require_at_least(context, "spatial_bins_x", spatial_bins_x, 1);
    require_at_least(context, "spatial_bins_y", spatial_bins_y, 1);
    require_channels(context, channels,
                     Dimension(output_dim) * Dimension(spatial_bins_x) * Dimension(spatial_bins_y),
                     "output_dim * spatial_bins_x * spatial_bins_y");
  }
  context.set_output(0, context.type(kMaps),
                     PartialShape{dims.regions.value, output_dim, group_size, group_size});
}

PreparedKernel v0::PSROIPooling::prepare(PrepareContext& context) const {
  const kernels::RegionShapes shapes = shapes_of(context);
  if (mode == PsRoiPoolingMode::bilinear) {
    const kernels::Division parts{size_of(spatial_bins_y), size_of(spatial_bins_x)};
    return prepare_pooling(context, "ps_roi_pooling/bilinear", NegativeBatch::ends_list, spatial_scale,
                           [shapes, parts](const kernels::RoiPoolingInput& input, const StepMemory& memory) {
                             kernels::position_sensitive_bilinear(input, shapes, parts, memory.out<float>(0));
                           });
  }
  return prepare_pooling(context, "ps_roi_pooling/average", NegativeBatch::ends_list, spatial_scale,
                         [shapes](const kernels::RoiPoolingInput& input, const StepMemory& memory) {
                           kernels::position_sensitive_average(input, shapes, memory.out<float>(0));
                         });
}

namespace {

// Two offsets for each class of output channels and part of a region.
void require_offsets(const InferContext& context, const v1::DeformablePSROIPooling& op, SharedDim& regions) {
  SharedDim coordinates{"the number of offset channels", {}};
  SharedDim height{"the height of the offsets", {}};
  SharedDim width{"the width of the offsets", {}};
  unify(context, kOffsets, {&regions, &coordinates, &height, &width});
  if (const Dimension& count = coordinates.value; count.is_static()) {
    context.require(count.value() >= 2 && count.value() % 2 == 0, "IR-shape",
                    {.found = count,
                     .expected = "an even number of at least 2",
                     .rule = "it takes two for each class",
                     .input = kOffsets},
                    "input 2 has {} channels; it takes two for each class", count.value());
    context.require(op.output_dim % (count.value() / 2) == 0, "IR-shape",
                    {.found = op.output_dim,
                     .expected = words("a multiple of {}", count.value() / 2),
                     .rule = words("input 2 has offsets of {} classes", count.value() / 2),
                     .input = kOffsets},
                    "input 2 has offsets of {} classes; output_dim {} is no multiple of that",
                    count.value() / 2, op.output_dim);
  }
  const Dimension parts = Dimension(op.part_size) * Dimension(op.part_size);
  context.require((height.value * width.value).max() >= parts.max(), "IR-shape",
                  {.found = words("{} x {}", height.value, width.value),
                   .expected = words("at least {} parts", parts),
                   .rule = words("part_size is {}", op.part_size),
                   .input = kOffsets},
                  "input 2 has offsets of {} x {} parts; part_size is {}", height.value, width.value,
                  op.part_size);
}

}  // namespace

void v1::DeformablePSROIPooling::infer(InferContext& context) const {
  context.require_inputs(2, 3);
  require_reals(context);
  require_at_least(context, "output_dim", output_dim, 1);
  require_at_least(context, "group_size", group_size, 1);
  require_range(context, "spatial_bins_x", spatial_bins_x, 1, kMaxSpatialBins);
  require_range(context, "spatial_bins_y", spatial_bins_y, 1, kMaxSpatialBins);
  require_at_least(context, "part_size", part_size, 1);
  require_spatial_scale(context, spatial_scale);
  RegionDims dims = region_dims(context, kBoxSize);
  const Dimension& channels = dims.channels.value;
  const Dimension needed = Dimension(output_dim) * Dimension(group_size) * Dimension(group_size);
  context.require(channels.max() >= needed.max(), "IR-shape",
                  {.found = channels,
                   .expected = words("at least {}", needed),
                   .rule = words("output_dim * group_size * group_size = {}", needed),
                   .input = kMaps},
                  "input 0 has {} channels; output_dim * group_size * group_size is {}", channels, needed);
  if (context.input_count() > kOffsets) require_offsets(context, *this, dims.regions);
  context.set_output(0, context.type(kMaps),
                     PartialShape{dims.regions.value, output_dim, group_size, group_size});
}

PreparedKernel v1::DeformablePSROIPooling::prepare(PrepareContext& context) const {
  const bool moved = context.input_count() > kOffsets;
  kernels::BinOffsets offsets;
  offsets.classes = moved ? size_of(context.shape(kOffsets)[1]) / 2 : 1;
  offsets.part_size = size_of(part_size);
  offsets.scale = static_cast<float>(trans_std);
  const kernels::Division samples{size_of(spatial_bins_y), size_of(spatial_bins_x)};
  return prepare_pooling(context, "deformable_ps_roi_pooling", NegativeBatch::skipped, spatial_scale,
                         [shapes = shapes_of(context), samples, moved, offsets](
                             const kernels::RoiPoolingInput& input, const StepMemory& memory) {
                           kernels::BinOffsets these = offsets;
                           if (moved) these.data = memory.in<float>(kOffsets);
                           kernels::deformable_position_sensitive(input, shapes, samples, these,
                                                                  memory.out<float>(0));
                         });
}

}  // namespace ir::op
