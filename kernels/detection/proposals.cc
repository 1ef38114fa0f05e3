#include "kernels/detection/proposals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/detection/box_deltas.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kRoi = 5;
// An exponential each for width and height, and the rest.
constexpr std::size_t kCostOfBox = 64;

/// What a detector predicts for one image.
struct Predictions {
  std::size_t cells;
  std::size_t anchors;
  const float* deltas;  // [anchors, 4, cells]
  const float* scores;  // [anchors, cells]
};

/// Fills boxes and candidates, cells outermost; `box_of(cell, anchor, deltas)` decodes.
template <class BoxOf>
void decode(const Predictions& predictions, BoxOf box_of, ProposalsScratch& scratch) {
  const std::size_t cells = predictions.cells;
  const std::size_t anchors = predictions.anchors;
  scratch.boxes.resize(cells * anchors);
  scratch.candidates.resize(cells * anchors);
  parallel_for(cells, grain_for_cost(kCostOfBox * anchors), [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) {
      for (std::size_t anchor = 0; anchor < anchors; ++anchor) {
        const float* deltas = predictions.deltas + 4 * anchor * cells + cell;
        const std::size_t i = cell * anchors + anchor;
        scratch.boxes[i] =
            box_of(cell, anchor, BoxDeltas{deltas[0], deltas[cells], deltas[2 * cells], deltas[3 * cells]});
        scratch.candidates[i] = {predictions.scores[anchor * cells + cell], static_cast<std::uint32_t>(i)};
      }
    }
  });
  std::erase_if(scratch.candidates, [](const ScoredIndex& candidate) { return std::isnan(candidate.score); });
}

/// Candidates for which `without` holds have score 0 afterwards.
template <class Predicate>
void take_scores(std::span<ScoredIndex> candidates, const Predicate& without) {
  for (ScoredIndex& candidate : candidates) {
    if (without(candidate)) candidate.score = 0;
  }
}

/// Suppresses among the candidates, which are sorted; what is left moves to the front. Returns its number.
std::size_t suppress(const GreedyNmsParams& params, std::size_t count, ProposalsScratch& scratch) {
  scratch.columns.resize(BoxColumns::floats_for(count));
  const BoxColumns columns = BoxColumns::over(scratch.columns.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const Box& box = scratch.boxes[scratch.candidates[i].index];
    columns.set(i, box, box_area(box, params.extent));
  }
  scratch.kept.resize(std::min(count, params.max_kept));
  const std::size_t kept = greedy_nms(columns, count, params, scratch.kept.data());
  // kept[i] >= i, so a forward walk reads every candidate before it is overwritten.
  for (std::size_t i = 0; i < kept; ++i) scratch.candidates[i] = scratch.candidates[scratch.kept[i]];
  return kept;
}

Box caffe_anchor(float base_size, float ratio, float scale) {
  const float width = std::round(std::sqrt(base_size * base_size / ratio));
  const float height = std::round(width * ratio);
  const float center = 0.5F * (base_size - 1);
  const float half_width = 0.5F * (width * scale - 1);
  const float half_height = 0.5F * (height * scale - 1);
  return {center - half_width, center - half_height, center + half_width, center + half_height};
}

Box tensorflow_anchor(float base_size, float ratio, float scale) {
  const float width = std::sqrt(base_size * base_size / ratio);
  const float half_width = 0.5F * (width * scale);
  const float half_height = 0.5F * (width * ratio * scale);
  return {-half_width, -half_height, half_width, half_height};
}

/// Decodes and selects for one image.
std::size_t select(const ProposalParams& params, const ProposalInputs& inputs, std::size_t image,
                   ProposalsScratch& scratch) {
  const bool tensorflow = params.framework == ProposalFramework::tensorflow;
  const float extent = tensorflow ? 0.0F : 1.0F;
  const std::size_t cells = params.height * params.width;
  const std::size_t count = cells * params.anchors.size();
  // The foreground is the second half.
  const Predictions predictions{cells, params.anchors.size(), inputs.deltas + image * 4 * count,
                                inputs.class_probs + (2 * image + 1) * count};
  decode(
      predictions,
      [&](std::size_t cell, std::size_t anchor, BoxDeltas deltas) {
        const std::size_t cell_row = cell / params.width;
        const std::size_t cell_column = cell % params.width;
        const float row = static_cast<float>(cell_row) * params.feat_stride;
        const float column = static_cast<float>(cell_column) * params.feat_stride;
        const float x = tensorflow ? row : column;
        const float y = tensorflow ? column : row;
        Box box = params.anchors[anchor];
        box = {x + box.x0, y + box.y0, x + box.x1, y + box.y1};
        if (tensorflow) box = limited(box, inputs.image_width, inputs.image_height);
        deltas.x /= params.box_coordinate_scale;
        deltas.y /= params.box_coordinate_scale;
        deltas.log_width /= params.box_size_scale;
        deltas.log_height /= params.box_size_scale;
        box = moved(box, deltas, extent);
        return params.clip_before_nms
                   ? limited(box, inputs.image_width - extent, inputs.image_height - extent)
                   : box;
      },
      scratch);

  const float min_width = params.min_size * inputs.scale_width;
  const float min_height = params.min_size * inputs.scale_height;
  take_scores(scratch.candidates, [&](const ScoredIndex& candidate) {
    return !at_least_as_large(scratch.boxes[candidate.index], min_width, min_height, extent);
  });
  GreedyNmsParams greedy;
  greedy.iou_threshold = params.nms_thresh;
  greedy.extent = extent;
  greedy.max_kept = params.post_nms_topn;
  return suppress(greedy, sort_best(scratch.candidates, params.pre_nms_topn), scratch);
}

}  // namespace

std::vector<Box> proposal_anchors(float base_size, std::span<const float> ratios,
                                  std::span<const float> scales, ProposalFramework framework) {
  std::vector<Box> anchors;
  for (const float ratio : ratios) {
    for (const float scale : scales) {
      anchors.push_back(framework == ProposalFramework::caffe ? caffe_anchor(base_size, ratio, scale)
                                                              : tensorflow_anchor(base_size, ratio, scale));
    }
  }
  return anchors;
}

void proposal(const ProposalParams& params, const ProposalInputs& given, float* rois, float* probs,
              ProposalsScratch& scratch) {
  ProposalInputs inputs = given;
  // The first coordinate of a box, here x, counts rows then.
  if (params.framework == ProposalFramework::tensorflow) std::swap(inputs.image_height, inputs.image_width);
  const std::size_t rows = params.post_nms_topn;
  std::fill_n(rois, params.images * rows * kRoi, 0.0F);
  if (probs != nullptr) std::fill_n(probs, params.images * rows, 0.0F);
  for (std::size_t image = 0; image < params.images; ++image) {
    const std::size_t count = select(params, inputs, image, scratch);
    float* roi = rois + image * rows * kRoi;
    for (std::size_t i = 0; i < count; ++i, roi += kRoi) {
      Box box = scratch.boxes[scratch.candidates[i].index];
      if (params.clip_after_nms) box = limited(box, inputs.image_width, inputs.image_height);
      if (params.normalize) {
        box = {box.x0 / inputs.image_width, box.y0 / inputs.image_height, box.x1 / inputs.image_width,
               box.y1 / inputs.image_height};
      }
      roi[0] = static_cast<float>(image);
      roi[1] = box.x0;
      roi[2] = box.y0;
      roi[3] = box.x1;
      roi[4] = box.y1;
      if (probs != nullptr) probs[image * rows + i] = scratch.candidates[i].score;
    }
    if (count < rows) roi[0] = -1;
  }
}

std::size_t select_proposals(const ImageProposalsParams& params, const ImageProposalsInputs& inputs,
                             ProposalsScratch& scratch) {
  const float max_log = std::log(1000.0F / 16.0F);
  decode(
      Predictions{params.cells, params.anchors, inputs.deltas, inputs.scores},
      [&](std::size_t cell, std::size_t anchor, const BoxDeltas& deltas) {
        const float* from = inputs.anchors + 4 * (cell * params.anchors + anchor);
        Box box = moved({from[0], from[1], from[2], from[3]}, limited(deltas, max_log), params.extent);
        box.x1 -= params.extent;
        box.y1 -= params.extent;
        return limited(box, inputs.image_width - params.extent, inputs.image_height - params.extent);
      },
      scratch);

  const auto too_small = [&](const ScoredIndex& candidate) {
    return !at_least_as_large(scratch.boxes[candidate.index], inputs.min_width, inputs.min_height,
                              params.extent);
  };
  if (params.keep_small) take_scores(scratch.candidates, too_small);
  scratch.candidates.resize(sort_best(scratch.candidates, params.pre_nms_count));
  if (!params.keep_small) std::erase_if(scratch.candidates, too_small);
  GreedyNmsParams greedy;
  greedy.iou_threshold = params.nms_threshold;
  greedy.extent = params.nms_extent;
  greedy.eta = params.nms_eta;
  greedy.max_kept = params.post_nms_count;
  return suppress(greedy, scratch.candidates.size(), scratch);
}

void write_proposals(const ProposalsScratch& scratch, std::size_t count, std::size_t rows, float* boxes,
                     float* scores) {
  for (std::size_t i = 0; i < count; ++i) {
    const ScoredIndex& candidate = scratch.candidates[i];
    const Box& box = scratch.boxes[candidate.index];
    boxes[4 * i] = box.x0;
    boxes[4 * i + 1] = box.y0;
    boxes[4 * i + 2] = box.x1;
    boxes[4 * i + 3] = box.y1;
    scores[i] = candidate.score;
  }
  std::fill(boxes + 4 * count, boxes + 4 * rows, 0.0F);
  std::fill(scores + count, scores + rows, 0.0F);
}

}  // namespace ir::kernels
