#include "kernels/detection/detection_output.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

using Scratch = DetectionOutputScratch;

constexpr std::size_t kRow = 7;

Box to_unit(const Box& box) {
  const auto unit = [](float x) { return std::max(0.0F, std::min(1.0F, x)); };
  return {unit(box.x0), unit(box.y0), unit(box.x1), unit(box.y1)};
}

/// What one image sees of the inputs.
class Image {
 public:
  Image(const DetectionOutputParams& params, const DetectionOutputInputs& inputs, std::size_t image)
      : params_(params),
        locations_(params.share_location ? 1 : params.classes),
        logits_(inputs.box_logits + image * params.priors * locations_ * 4),
        scores_(inputs.class_scores + image * params.priors * params.classes) {
    const std::size_t prior_values = params.priors * prior_size();
    const std::size_t batch = params.prior_batches == 1 ? 0 : image;
    priors_ = inputs.priors + batch * prior_values * (params.variance_encoded_in_target ? 1 : 2);
    variances_ = params.variance_encoded_in_target ? nullptr : priors_ + prior_values;
    if (inputs.objectness != nullptr && inputs.first_box_logits != nullptr) {
      objectness_ = inputs.objectness + image * params.priors * 2;
      first_logits_ = inputs.first_box_logits + image * params.priors * locations_ * 4;
    }
  }

  /// Priors before the end mark, if there is one.
  [[nodiscard]] std::size_t priors() const {
    if (params_.normalized) return params_.priors;
    std::size_t count = 0;
    while (count < params_.priors && priors_[count * prior_size()] != -1.0F) ++count;
    return count;
  }

  [[nodiscard]] float score(std::size_t prior, std::size_t label) const {
    if (objectness_ != nullptr && objectness_[2 * prior + 1] < params_.objectness_score) {
      return static_cast<std::int64_t>(label) == params_.background_label_id ? 1.0F : 0.0F;
    }
    return scores_[prior * params_.classes + label];
  }

  [[nodiscard]] Box box(std::size_t prior, std::size_t label) const {
    const float* from = priors_ + prior * prior_size() + (params_.normalized ? 0 : 1);
    Box box{from[0], from[1], from[2], from[3]};
    const std::size_t at = (prior * locations_ + (params_.share_location ? 0 : label)) * 4;
    const float* variance = variances_ == nullptr ? nullptr : variances_ + prior * 4;
    if (first_logits_ != nullptr) box = move(box, first_logits_ + at, variance);
    return move(box, logits_ + at, variance);
  }

 private:
  [[nodiscard]] std::size_t prior_size() const { return params_.normalized ? 4 : 5; }

  [[nodiscard]] Box move(Box prior, const float* logits, const float* variance) const {
    if (!params_.normalized) {
      const auto width = static_cast<float>(params_.input_width);
      const auto height = static_cast<float>(params_.input_height);
      prior = {prior.x0 / width, prior.y0 / height, prior.x1 / width, prior.y1 / height};
    }
    const auto shift = [&](std::size_t i) {
      return variance == nullptr ? logits[i] : variance[i] * logits[i];
    };
    Box moved;
    if (params_.code_type == BoxCoding::corner) {
      moved = {prior.x0 + shift(0), prior.y0 + shift(1), prior.x1 + shift(2), prior.y1 + shift(3)};
    } else {
      const float width = prior.x1 - prior.x0;
      const float height = prior.y1 - prior.y0;
      const float x = shift(0) * width + (prior.x0 + prior.x1) / 2;
      const float y = shift(1) * height + (prior.y0 + prior.y1) / 2;
      const float half_width = std::exp(shift(2)) * width / 2;
      const float half_height = std::exp(shift(3)) * height / 2;
      moved = {x - half_width, y - half_height, x + half_width, y + half_height};
    }
    return params_.clip_before_nms ? to_unit(moved) : moved;
  }

  const DetectionOutputParams& params_;
  std::size_t locations_;
  const float* logits_;
  const float* scores_;
  const float* priors_ = nullptr;
  const float* variances_ = nullptr;
  const float* objectness_ = nullptr;
  const float* first_logits_ = nullptr;
};

std::size_t limit_or_all(std::int64_t limit) {
  return limit < 0 ? SIZE_MAX : static_cast<std::size_t>(limit);
}

/// Every class takes the priors that it scores above the threshold.
void find_by_class(const DetectionOutputParams& params, const Image& image, Scratch& scratch) {
  const std::size_t priors = image.priors();
  for (std::size_t prior = 0; prior < priors; ++prior) {
    for (std::size_t label = 0; label < params.classes; ++label) {
      const float score = image.score(prior, label);
      if (!(score > params.confidence_threshold)) continue;
      if (static_cast<std::int64_t>(label) == params.background_label_id) continue;
      scratch.found.push_back(
          {static_cast<std::uint32_t>(label), {score, static_cast<std::uint32_t>(prior)}});
    }
  }
}

/// Every prior counts for its best class; class 0 never counts.
void find_by_prior(const DetectionOutputParams& params, const Image& image, Scratch& scratch) {
  const std::size_t priors = image.priors();
  for (std::size_t prior = 0; prior < priors; ++prior) {
    float best = -1;
    std::size_t best_label = 0;
    for (std::size_t label = 1; label < params.classes; ++label) {
      if (static_cast<std::int64_t>(label) == params.background_label_id) continue;
      const float score = image.score(prior, label);
      if (score > best) {
        best = score;
        best_label = label;
      }
    }
    if (best_label == 0 || !(best >= params.confidence_threshold)) continue;
    scratch.found.push_back(
        {static_cast<std::uint32_t>(best_label), {best, static_cast<std::uint32_t>(prior)}});
  }
  const std::size_t limit = std::min(limit_or_all(params.top_k), scratch.found.size());
  const auto middle = scratch.found.begin() + static_cast<std::ptrdiff_t>(limit);
  if (middle == scratch.found.end()) return;
  std::nth_element(
      scratch.found.begin(), middle, scratch.found.end(),
      [](const Scratch::Candidate& a, const Scratch::Candidate& b) { return better(a.prior, b.prior); });
  scratch.found.resize(limit);
}

/// Sorts `found` into groups by label.
void group_by_label(std::size_t classes, Scratch& scratch) {
  scratch.label_begin.assign(classes + 1, 0);
  for (const Scratch::Candidate& candidate : scratch.found) ++scratch.label_begin[candidate.label + 1];
  for (std::size_t label = 0; label < classes; ++label)
    scratch.label_begin[label + 1] += scratch.label_begin[label];
  scratch.label_kept.assign(scratch.label_begin.begin(),
                            scratch.label_begin.end() - 1);  // here: where to put the next
  scratch.candidates.resize(scratch.found.size());
  for (const Scratch::Candidate& candidate : scratch.found) {
    scratch.candidates[scratch.label_kept[candidate.label]++] = candidate.prior;
  }
}

/// Suppresses within one label: its kept candidates move to the front of its group.
void suppress(const DetectionOutputParams& params, const Image& image, std::size_t label, Scratch& scratch) {
  const std::size_t begin = scratch.label_begin[label];
  const std::span<ScoredIndex> group(scratch.candidates.data() + begin,
                                     scratch.label_begin[label + 1] - begin);
  // By prior, top_k has been applied to the image.
  const std::size_t limit = params.decrease_label_id ? group.size() : limit_or_all(params.top_k);
  const std::size_t count = sort_best(group, limit);

  const std::size_t capacity = scratch.candidates.size();
  const BoxColumns columns = BoxColumns::over(scratch.columns.data(), capacity).from(begin);
  for (std::size_t i = 0; i < count; ++i) {
    const Box box = image.box(group[i].index, label);
    columns.set(i, box, box_area(box));
  }
  GreedyNmsParams greedy;
  greedy.iou_threshold = params.nms_threshold;
  std::uint32_t* kept = scratch.kept.data() + begin;
  const std::size_t kept_count = greedy_nms(columns, count, greedy, kept);
  for (std::size_t i = 0; i < kept_count; ++i) group[i] = group[kept[i]];
  scratch.label_kept[label] = kept_count;
}

/// Collects what is left of the image, limited to the best keep_top_k, by label and best first.
void collect(const DetectionOutputParams& params, Scratch& scratch) {
  scratch.detections.clear();
  const BoxColumns columns = BoxColumns::over(scratch.columns.data(), scratch.candidates.size());
  for (std::size_t label = 0; label < params.classes; ++label) {
    const std::size_t begin = scratch.label_begin[label];
    for (std::size_t i = begin; i < begin + scratch.label_kept[label]; ++i) {
      const ScoredIndex& prior = scratch.candidates[i];
      scratch.detections.push_back(
          {prior.score, static_cast<std::uint32_t>(label), prior.index, columns.box(i)});
    }
  }
  const std::size_t keep = limit_or_all(params.keep_top_k);
  if (scratch.detections.size() <= keep) return;
  const auto order = [](const Scratch::Detection& a, const Scratch::Detection& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.prior != b.prior ? a.prior < b.prior : a.label < b.label;
  };
  const auto by_label = [&order](const Scratch::Detection& a, const Scratch::Detection& b) {
    return a.label != b.label ? a.label < b.label : order(a, b);
  };
  const auto middle = scratch.detections.begin() + static_cast<std::ptrdiff_t>(keep);
  std::nth_element(scratch.detections.begin(), middle, scratch.detections.end(), order);
  scratch.detections.resize(keep);
  std::sort(scratch.detections.begin(), scratch.detections.end(), by_label);
}

}  // namespace

std::size_t detection_output_rows(const DetectionOutputParams& params) {
  if (params.keep_top_k > 0) return params.images * static_cast<std::size_t>(params.keep_top_k);
  if (params.top_k > 0) return params.images * static_cast<std::size_t>(params.top_k) * params.classes;
  return params.images * params.classes * params.priors;
}

void detection_output(const DetectionOutputParams& params, const DetectionOutputInputs& inputs, float* out,
                      DetectionOutputScratch& scratch) {
  const std::size_t rows = detection_output_rows(params);
  std::size_t row = 0;
  for (std::size_t i = 0; i < params.images; ++i) {
    const Image image(params, inputs, i);
    scratch.found.clear();
    if (params.decrease_label_id) {
      find_by_prior(params, image, scratch);
    } else {
      find_by_class(params, image, scratch);
    }
    group_by_label(params.classes, scratch);
    scratch.columns.resize(BoxColumns::floats_for(scratch.candidates.size()));
    scratch.kept.resize(scratch.candidates.size());
    const std::size_t cost = 64 * scratch.candidates.size() / params.classes;
    parallel_for(params.classes, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
      for (std::size_t label = begin; label < end; ++label) suppress(params, image, label, scratch);
    });
    collect(params, scratch);

    for (std::size_t j = 0; j < scratch.detections.size() && row < rows; ++j, ++row) {
      const Scratch::Detection& detection = scratch.detections[j];
      const Box box = params.clip_after_nms ? to_unit(detection.box) : detection.box;
      float* to = out + row * kRow;
      to[0] = static_cast<float>(i);
      to[1] =
          static_cast<float>(static_cast<std::int64_t>(detection.label) - (params.decrease_label_id ? 1 : 0));
      to[2] = detection.score;
      to[3] = box.x0;
      to[4] = box.y0;
      to[5] = box.x1;
      to[6] = box.y1;
    }
  }
  std::fill(out + row * kRow, out + rows * kRow, 0.0F);
  if (row < rows) out[row * kRow] = -1;
}

}  // namespace ir::kernels
