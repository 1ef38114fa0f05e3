#include "kernels/detection/multiclass_nms.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ir::kernels {

std::span<const float> MulticlassInput::scores_of(std::size_t image, std::size_t label) const {
  const std::size_t count = starts[image + 1] - starts[image];
  if (shared_boxes) return {scores + (image * classes + label) * scores_per_class, count};
  return {scores + label * scores_per_class + starts[image], count};
}

const float* MulticlassInput::box_of(std::size_t label, std::size_t row) const {
  return boxes + 4 * (shared_boxes ? row : label * scores_per_class + row);
}

namespace {

using SelectClass = FunctionRef<std::vector<ScoredIndex>(std::size_t image, std::size_t label)>;

/// Selects in each class but the background, then keeps the best of each image.
MulticlassSelection select_per_image(const MulticlassInput& input, const MulticlassLimits& limits,
                                     std::size_t cost, SelectClass select_class) {
  // Empty images are left out, for nothing bounds their number times that of the classes.
  std::vector<std::size_t> images;
  for (std::size_t image = 0; image < input.images(); ++image) {
    if (input.starts[image] < input.starts[image + 1]) images.push_back(image);
  }
  MulticlassSelection selection;
  selection.per_image.resize(input.images());
  if (images.empty()) return selection;
  const auto select = [&](std::size_t i, std::size_t label) {
    if (std::cmp_equal(label, limits.background)) return std::vector<ScoredIndex>();
    return select_class(images[i], label);
  };
  std::vector<SelectedBox> all = select_by_class(images.size(), input.classes, cost, select);
  std::span<SelectedBox> rest = all;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t image = images[i];
    const auto end =
        std::ranges::find_if_not(rest, [i](const SelectedBox& box) { return std::cmp_equal(box.batch, i); });
    const std::span found = rest.first(static_cast<std::size_t>(end - rest.begin()));
    rest = rest.subspan(found.size());
    for (SelectedBox& box : found) {
      box.batch = static_cast<std::int64_t>(image);
      box.box += static_cast<std::int64_t>(input.starts[image]);
    }
    sort_selected(found, SelectedOrder::score);
    const std::span best = found.first(std::min(found.size(), limits.max_per_image));
    selection.boxes.insert(selection.boxes.end(), best.begin(), best.end());
    selection.per_image[image] = best.size();
  }
  return selection;
}

std::vector<ScoredIndex> best_candidates(std::span<const float> scores, const MulticlassLimits& limits,
                                         ScoreLimit score_limit) {
  std::vector<ScoredIndex> candidates = candidates_of(scores, limits.score_threshold, score_limit);
  candidates.resize(sort_best(candidates, limits.max_candidates));
  return candidates;
}

std::size_t boxes_of_largest_image(const MulticlassInput& input) {
  std::size_t most = 0;
  for (std::size_t image = 0; image < input.images(); ++image)
    most = std::max(most, input.starts[image + 1] - input.starts[image]);
  return most;
}

}  // namespace

MulticlassSelection multiclass_nms(const MulticlassInput& input, const MulticlassNmsParams& params) {
  GreedyNmsParams greedy;
  greedy.iou_threshold = params.iou_threshold;
  greedy.suppress_at_threshold = true;
  greedy.eta = params.eta;
  // Boxes of pixels that lie less than a pixel apart overlap, which GreedyNmsParams::extent does not count.
  const float extent = params.limits.normalized ? 0.0F : 1.0F;
  const auto select = [&](std::size_t image, std::size_t label) {
    const auto box_of = [&](std::uint32_t i) -> Box {
      const float* box = input.box_of(label, input.starts[image] + i);
      return {box[0], box[1], box[2] + extent, box[3] + extent};
    };
    const std::vector<ScoredIndex> candidates =
        best_candidates(input.scores_of(image, label), params.limits, ScoreLimit::at_or_above);
    return keep_greedily(candidates, box_of, greedy);
  };
  return select_per_image(input, params.limits, 8 * boxes_of_largest_image(input), select);
}

namespace {

float decay(const MatrixNmsParams& params, float overlap, float largest_overlap_of_rival) {
  if (params.decay == DecayFunction::gaussian) {
    const float squares = largest_overlap_of_rival * largest_overlap_of_rival - overlap * overlap;
    return std::exp(squares * params.gaussian_sigma);
  }
  // The small number keeps the quotient of two rivals that coincide finite.
  return static_cast<float>((1.0 - overlap) / (1.0 - largest_overlap_of_rival + 1e-10F));
}

/// Multiplies the score of each candidate by its decay; `candidates` are sorted best first.
void decay_scores(std::vector<ScoredIndex>& candidates, FunctionRef<Box(std::uint32_t)> box_of,
                  const MatrixNmsParams& params) {
  const float extent = params.limits.normalized ? 0.0F : 1.0F;
  // A rival that overlaps more with one of its own betters leaves the score as it is.
  const bool only_largest_decay = params.decay == DecayFunction::linear || params.gaussian_sigma >= 0;
  const std::size_t count = candidates.size();
  std::vector<float> storage(BoxColumns::floats_for(count) + 2 * count);
  const BoxColumns boxes = BoxColumns::over(storage.data(), count);
  float* const overlaps = storage.data() + BoxColumns::floats_for(count);
  float* const largest_overlaps = overlaps + count;  // of each candidate with better ones
  for (std::size_t i = 0; i < count; ++i) {
    const Box box = box_of(candidates[i].index);
    // Here, a box of less than a pixel has no area.
    const bool inverted = box.x1 < box.x0 || box.y1 < box.y0;
    const float area = inverted ? 0.0F : box_area(box, extent);
    const float largest = overlaps_of(box, area, boxes, i, extent, overlaps);
    float least_decay = 1;
    for (std::size_t rival = 0; rival < i; ++rival) {
      if (only_largest_decay && overlaps[rival] < largest_overlaps[rival]) continue;
      least_decay = std::min(least_decay, decay(params, overlaps[rival], largest_overlaps[rival]));
    }
    boxes.set(i, box, area);
    largest_overlaps[i] = largest;
    candidates[i].score *= least_decay;
  }
}

}  // namespace

MulticlassSelection matrix_nms(const MulticlassInput& input, const MatrixNmsParams& params) {
  const auto select = [&](std::size_t image, std::size_t label) {
    const auto box_of = [&](std::uint32_t i) -> Box {
      const float* box = input.box_of(label, input.starts[image] + i);
      return {box[0], box[1], box[2], box[3]};
    };
    auto candidates = best_candidates(input.scores_of(image, label), params.limits, ScoreLimit::above);
    decay_scores(candidates, box_of, params);
    std::erase_if(candidates,
                  [&](const ScoredIndex& candidate) { return !(candidate.score > params.post_threshold); });
    return candidates;
  };
  return select_per_image(input, params.limits, 16 * boxes_of_largest_image(input), select);
}

void sort_selection(MulticlassSelection& selection, SelectedOrder order, SortScope scope) {
  std::span<SelectedBox> rest = selection.boxes;
  if (scope == SortScope::batch) return sort_selected(rest, order);
  for (const std::size_t count : selection.per_image) {
    sort_selected(rest.first(count), order);
    rest = rest.subspan(count);
  }
}

template <class Index>
void write_selection(const MulticlassInput& input, const MulticlassSelection& selection, float* outputs,
                     Index* indices, Index* counts) {
  for (const SelectedBox& selected : selection.boxes) {
    const auto label = static_cast<std::size_t>(selected.label);
    const auto row = static_cast<std::size_t>(selected.box);
    const float* box = input.box_of(label, row);
    *outputs++ = static_cast<float>(selected.label);
    *outputs++ = selected.score;
    outputs = std::copy_n(box, 4, outputs);
    *indices++ = static_cast<Index>(input.shared_boxes ? row : row * input.classes + label);
  }
  std::transform(selection.per_image.begin(), selection.per_image.end(), counts,
                 [](std::size_t count) { return static_cast<Index>(count); });
}

template void write_selection<std::int32_t>(const MulticlassInput&, const MulticlassSelection&, float*,
                                            std::int32_t*, std::int32_t*);
template void write_selection<std::int64_t>(const MulticlassInput&, const MulticlassSelection&, float*,
                                            std::int64_t*, std::int64_t*);

}  // namespace ir::kernels
