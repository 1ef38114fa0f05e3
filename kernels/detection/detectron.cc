#include "kernels/detection/detectron.h"

#include <algorithm>
#include <limits>

#include "kernels/detection/box_deltas.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr float kExtent = 1;

Box box_at(const float* values) { return {values[0], values[1], values[2], values[3]}; }

bool has_area(const Box& box) { return box.x1 - box.x0 > 0 && box.y1 - box.y0 > 0; }

Box refined(const DetectronOutputParams& params, const Box& roi, const float* values) {
  const BoxDeltas deltas{values[0] / params.deltas_weights[0], values[1] / params.deltas_weights[1],
                         values[2] / params.deltas_weights[2], values[3] / params.deltas_weights[3]};
  Box box = moved(roi, limited(deltas, params.max_delta_log_wh), kExtent);
  box.x1 -= kExtent;
  box.y1 -= kExtent;
  constexpr float kAnywhere = std::numeric_limits<float>::infinity();
  return limited(box, kAnywhere, kAnywhere);
}

/// The detections of one class: its candidates and boxes, best first, at the front of its part of scratch.
void select_class(const DetectronOutputParams& params, const DetectronOutputInputs& inputs, std::size_t label,
                  DetectronOutputScratch& scratch) {
  const std::size_t begin = label * params.rois;
  ScoredIndex* candidates = scratch.candidates.data() + begin;
  std::size_t count = 0;
  for (std::size_t roi = 0; roi < params.rois; ++roi) {
    const bool counts = has_area(box_at(inputs.rois + 4 * roi));
    const float score = counts ? inputs.scores[roi * params.classes + label] : 0.0F;
    if (!(score > params.score_threshold)) continue;
    candidates[count++] = {score, static_cast<std::uint32_t>(roi)};
  }
  sort_best({candidates, count}, count);

  const BoxColumns columns =
      BoxColumns::over(scratch.columns.data(), params.classes * params.rois).from(begin);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t roi = candidates[i].index;
    const Box region = box_at(inputs.rois + 4 * roi);
    if (!has_area(region)) {
      columns.set(i, Box(), 0);
      continue;
    }
    const Box box = refined(params, region, inputs.deltas + 4 * (roi * params.classes + label));
    columns.set(i, box, box_area(box, kExtent));
  }
  GreedyNmsParams greedy;
  greedy.iou_threshold = params.nms_threshold;
  greedy.extent = kExtent;
  greedy.max_kept = params.post_nms_count;
  std::uint32_t* kept = scratch.kept.data() + begin;
  const std::size_t kept_count = greedy_nms(columns, count, greedy, kept);
  for (std::size_t i = 0; i < kept_count; ++i) candidates[i] = candidates[kept[i]];
  scratch.kept_count[label] = kept_count;
}

}  // namespace

template <class T>
void prior_grid(const PriorGridParams& params, const T* priors, T* out) {
  const std::size_t row_size = params.width * params.priors * 4;
  parallel_for(params.height, grain_for_cost(row_size), [&](std::size_t begin, std::size_t end) {
    T* to = out + begin * row_size;
    for (std::size_t row = begin; row < end; ++row) {
      const float y = params.step_y * (static_cast<float>(row) + 0.5F);
      for (std::size_t column = 0; column < params.width; ++column) {
        const float x = params.step_x * (static_cast<float>(column) + 0.5F);
        for (std::size_t i = 0; i < 4 * params.priors; i += 4, to += 4) {
          to[0] = priors[i] + x;
          to[1] = priors[i + 1] + y;
          to[2] = priors[i + 2] + x;
          to[3] = priors[i + 3] + y;
        }
      }
    }
  });
  std::fill(out + params.height * row_size, out + 4 * params.boxes, T{0});
}

template <class T>
void take_boxes(const T* rois, const std::int32_t* order, std::size_t count, std::size_t rows, T* out) {
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(rois + 4 * static_cast<std::size_t>(order[i]), 4, out + 4 * i);
  }
  std::fill(out + 4 * count, out + 4 * rows, T{0});
}

void detectron_output(const DetectronOutputParams& params, const DetectronOutputInputs& inputs, float* boxes,
                      std::int32_t* labels, float* scores, DetectronOutputScratch& scratch) {
  const std::size_t most = params.classes * params.rois;
  scratch.candidates.resize(most);
  scratch.columns.resize(BoxColumns::floats_for(most));
  scratch.kept.resize(most);
  scratch.kept_count.resize(params.classes);
  parallel_for(params.classes, grain_for_cost(64 * params.rois), [&](std::size_t begin, std::size_t end) {
    for (std::size_t label = std::max<std::size_t>(begin, 1); label < end; ++label) {
      select_class(params, inputs, label, scratch);
    }
  });

  std::vector<DetectronOutputScratch::Detection>& detections = scratch.detections;
  detections.clear();
  for (std::size_t label = 1; label < params.classes; ++label) {
    const std::size_t begin = label * params.rois;
    const BoxColumns columns = BoxColumns::over(scratch.columns.data(), most).from(begin);
    for (std::size_t i = 0; i < scratch.kept_count[label]; ++i) {
      detections.push_back(
          {scratch.candidates[begin + i], static_cast<std::uint32_t>(label), columns.box(i)});
    }
  }
  if (detections.size() > params.max_detections) {
    const auto middle = detections.begin() + static_cast<std::ptrdiff_t>(params.max_detections);
    std::partial_sort(detections.begin(), middle, detections.end(), [](const auto& a, const auto& b) {
      return better(a.roi, b.roi) || (!better(b.roi, a.roi) && a.label < b.label);
    });
    detections.erase(middle, detections.end());
  }

  std::fill_n(boxes, 4 * params.max_detections, 0.0F);
  std::fill_n(labels, params.max_detections, 0);
  std::fill_n(scores, params.max_detections, 0.0F);
  for (std::size_t i = 0; i < detections.size(); ++i) {
    const DetectronOutputScratch::Detection& detection = detections[i];
    boxes[4 * i] = detection.box.x0;
    boxes[4 * i + 1] = detection.box.y0;
    boxes[4 * i + 2] = detection.box.x1;
    boxes[4 * i + 3] = detection.box.y1;
    labels[i] = static_cast<std::int32_t>(detection.label);
    scores[i] = detection.roi.score;
  }
}

template void prior_grid<float>(const PriorGridParams&, const float*, float*);
template void prior_grid<double>(const PriorGridParams&, const double*, double*);
template void take_boxes<float>(const float*, const std::int32_t*, std::size_t, std::size_t, float*);
template void take_boxes<double>(const double*, const std::int32_t*, std::size_t, std::size_t, double*);

}  // namespace ir::kernels
