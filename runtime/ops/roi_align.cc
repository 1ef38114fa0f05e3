#include "ir_runtime/ops/roi_align.h"

#include <algorithm>

#include "kernels/detection/roi_align.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/regions.h"
#include "runtime/ops/sizes.h"

namespace ir::op {
namespace {

enum Port : std::size_t { kMaps, kBoxes, kBatches };

constexpr std::int64_t kUprightBox = 4;  // corners
constexpr std::int64_t kRotatedBox = 5;  // centre, size and angle

void infer_align(InferContext& context, const RoiAlignAttributes& op, std::int64_t box_size) {
  context.require_inputs(3);
  context.require_real(kMaps);
  context.require_real(kBoxes);
  context.require_integer(kBatches);
  const ElementType type = context.require_same_type({kMaps, kBoxes});
  require_at_least(context, "pooled_h", op.pooled_h, 1);
  require_at_least(context, "pooled_w", op.pooled_w, 1);
  require_range(context, "sampling_ratio", op.sampling_ratio, 0, kMaxSamplingRatio);
  require_spatial_scale(context, op.spatial_scale);
  RegionDims dims = region_dims(context, box_size);
  unify(context, kBatches, {&dims.regions});
  context.set_output(0, type,
                     PartialShape{dims.regions.value, dims.channels.value, op.pooled_h, op.pooled_w});
}

// Of one bilinear sample, added to the others.
constexpr double kFlopsPerSample = 8;

// `box_of(values)` gives the sampling box of the `box_size` values of a region.
template <class BoxOf>
PreparedKernel prepare_align(const PrepareContext& context, const RoiAlignAttributes& op,
                             kernels::RoiAlignMode mode, std::size_t box_size, BoxOf box_of) {
  require_index_type(context, kBatches);
  const Shape& shape = context.shape(kMaps);
  const std::int64_t batches = shape[0];
  const std::size_t height = size_of(shape[2]);
  const std::size_t width = size_of(shape[3]);
  kernels::RoiAlignParams params;
  params.rois = size_of(context.shape(kBoxes)[0]);
  params.channels = size_of(shape[1]);
  if (context.size(kMaps) != 0) params.most_positions = height * width;
  params.pooled_height = size_of(op.pooled_h);
  params.pooled_width = size_of(op.pooled_w);
  params.sampling_ratio = size_of(op.sampling_ratio);
  params.mode = mode;

  PreparedKernel prepared;
  prepared.name = "roi_align";
  const kernels::RoiAlign align(params);
  prepared.scratch_bytes = align.scratch_bytes();
  prepared.run = [=, index_type = context.type(kBatches)](const StepMemory& memory) {
    const kernels::IndexView indices = index_view(index_type, memory.inputs[kBatches]);
    for (std::size_t i = 0; i < params.rois; ++i) {
      if (indices[i] < 0 || indices[i] >= batches) fail_batch(i, static_cast<double>(indices[i]), batches);
    }
    const std::size_t map_size = params.channels * height * width;
    const auto roi = [&](std::size_t i) {
      return kernels::AlignedRoi{memory.in<float>(kMaps) + size_of(indices[i]) * map_size, height, width,
                                 box_of(memory.in<float>(kBoxes) + i * box_size)};
    };
    align.run(roi, memory.out<float>(0), memory.scratch);
  };
  prepared.flops = kFlopsPerSample * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

template <class Op>
PreparedKernel prepare_upright(const Op& op, const PrepareContext& context) {
  kernels::UprightBoxParams box;
  box.scale = static_cast<float>(op.spatial_scale);
  auto aligned = RoiAlignedMode::asymmetric;
  if constexpr (requires { op.aligned_mode; }) aligned = op.aligned_mode;
  box.at_least_one = aligned == RoiAlignedMode::asymmetric;
  if (aligned == RoiAlignedMode::half_pixel) box.offset_before = 0.5F;
  if (aligned != RoiAlignedMode::asymmetric) box.offset_after = -0.5F;
  const auto mode =
      op.mode == RoiAlignMode::avg ? kernels::RoiAlignMode::average : kernels::RoiAlignMode::maximum;
  return prepare_align(context, op, mode, kUprightBox,
                       [box](const float* corners) { return kernels::upright_box(corners, box); });
}

}  // namespace

void v3::ROIAlign::infer(InferContext& context) const { infer_align(context, *this, kUprightBox); }
PreparedKernel v3::ROIAlign::prepare(PrepareContext& context) const {
  return prepare_upright(*this, context);
}

void v9::ROIAlign::infer(InferContext& context) const { infer_align(context, *this, kUprightBox); }
PreparedKernel v9::ROIAlign::prepare(PrepareContext& context) const {
  return prepare_upright(*this, context);
}

void v15::ROIAlignRotated::infer(InferContext& context) const { infer_align(context, *this, kRotatedBox); }
PreparedKernel v15::ROIAlignRotated::prepare(PrepareContext& context) const {
  return prepare_align(context, *this, kernels::RoiAlignMode::average, kRotatedBox,
                       [scale = static_cast<float>(spatial_scale), clockwise = clockwise_mode](
                           const float* values) { return kernels::rotated_box(values, scale, clockwise); });
}

void v6::ExperimentalDetectronROIFeatureExtractor::infer(InferContext& context) const {
  context.require_min_inputs(2);
  const std::size_t levels = context.input_count() - 1;
  context.require(pyramid_scales.size() >= levels, "IR-attribute-size",
                  {.found = pyramid_scales.size(),
                   .expected = words("at least {}", levels),
                   .rule = words("there are {} levels", levels)},
                  "pyramid_scales has {} values for {} levels", pyramid_scales.size(), levels);
  for (const std::int64_t scale : pyramid_scales) require_at_least(context, "pyramid_scales", scale, 1);
  require_at_least(context, "output_size", output_size, 1);
  require_range(context, "sampling_ratio", sampling_ratio, 0, kMaxSamplingRatio);

  SharedDim regions{"the number of regions", {}};
  SharedDim box_size{"the size of a region", kUprightBox};
  SharedDim images{"the batch size", 1};
  SharedDim channels{"the number of channels", {}};
  context.require_real(0);
  unify(context, 0, {&regions, &box_size});
  ElementType type = context.type(0);
  for (std::size_t i = 1; i <= levels; ++i) {
    SharedDim height{"the height", {}};
    SharedDim width{"the width", {}};
    context.require_real(i);
    type = context.require_same_type({0, i});
    unify(context, i, {&images, &channels, &height, &width});
  }
  context.set_output(0, type, PartialShape{regions.value, channels.value, output_size, output_size});
  context.set_output(1, type, PartialShape{regions.value, box_size.value});
}

PreparedKernel v6::ExperimentalDetectronROIFeatureExtractor::prepare(PrepareContext& context) const {
  struct Level {
    std::size_t height;
    std::size_t width;
    kernels::UprightBoxParams box;
  };
  std::vector<Level> levels;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    kernels::UprightBoxParams box;
    box.scale = 1 / static_cast<float>(pyramid_scales[i - 1]);
    box.offset_after = aligned ? -0.5F : 0;
    box.at_least_one = true;
    levels.push_back({size_of(context.shape(i)[2]), size_of(context.shape(i)[3]), box});
  }
  kernels::RoiAlignParams params;
  params.rois = size_of(context.shape(0)[0]);
  params.channels = size_of(context.output_shape()[1]);
  for (const Level& level : levels)
    params.most_positions = std::max(params.most_positions, level.height * level.width);
  params.pooled_height = size_of(output_size);
  params.pooled_width = size_of(output_size);
  params.sampling_ratio = size_of(sampling_ratio);

  PreparedKernel prepared;
  prepared.name = "roi_align/pyramid";
  const kernels::RoiAlign align(params);
  prepared.scratch_bytes = align.scratch_bytes();
  prepared.run = [align, levels = std::move(levels), regions = params.rois](const StepMemory& memory) {
    const auto* boxes = memory.in<float>(0);
    const auto roi = [&](std::size_t i) {
      const float* corners = boxes + i * kUprightBox;
      const std::size_t index = kernels::pyramid_level(corners, levels.size());
      if (index == levels.size()) return kernels::AlignedRoi{};
      const Level& level = levels[index];
      return kernels::AlignedRoi{memory.in<float>(1 + index), level.height, level.width,
                                 kernels::upright_box(corners, level.box)};
    };
    align.run(roi, memory.out<float>(0), memory.scratch);
    std::copy_n(boxes, regions * kUprightBox, memory.out<float>(1));
  };
  prepared.flops = kFlopsPerSample * static_cast<double>(context.output_size());
  return computed_in_f32(context, std::move(prepared));
}

}  // namespace ir::op
