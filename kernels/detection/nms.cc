#include "kernels/detection/nms.h"

#include <array>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/detection/nms.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

/// One box, to be compared with vectors of others. `kPixels`: the extent is not 0; without one, boxes of
/// which one ends before the other begins have no intersection anyway.
template <bool kPixels>
class Comparison {
 public:
  Comparison(const Box& box, float area, float extent)
      : x0_(hn::Set(F32(), box.x0)),
        y0_(hn::Set(F32(), box.y0)),
        x1_(hn::Set(F32(), box.x1)),
        y1_(hn::Set(F32(), box.y1)),
        area_(hn::Set(F32(), area)),
        extent_(hn::Set(F32(), extent)) {}

  /// Overlaps with the first boxes of `others`, as intersection_over_union gives them.
  HWY_INLINE V32 overlaps(const BoxColumns& others) const {
    const F32 d;
    const auto zero = hn::Zero(d);
    const auto x0 = hn::LoadU(d, others.x0);
    const auto y0 = hn::LoadU(d, others.y0);
    const auto x1 = hn::LoadU(d, others.x1);
    const auto y1 = hn::LoadU(d, others.y1);
    auto width = hn::Sub(hn::Min(x1_, x1), hn::Max(x0_, x0));
    auto height = hn::Sub(hn::Min(y1_, y1), hn::Max(y0_, y0));
    if constexpr (kPixels) {
      width = hn::Add(width, extent_);
      height = hn::Add(height, extent_);
    }
    const auto intersection = hn::Mul(width, height);
    const auto both = hn::Sub(hn::Add(area_, hn::LoadU(d, others.area)), intersection);
    const auto ratio = hn::Div(intersection, both);
    auto meet = hn::And(hn::Gt(width, zero), hn::Gt(ratio, zero));
    if constexpr (kPixels) {
      const auto touch = hn::And(hn::And(hn::Le(x0_, x1), hn::Le(x0, x1_)),  //
                                 hn::And(hn::Le(y0_, y1), hn::Le(y0, y1_)));
      meet = hn::And(meet, touch);
    }
    return hn::IfThenElseZero(meet, ratio);
  }

 private:
  V32 x0_;
  V32 y0_;
  V32 x1_;
  V32 y1_;
  V32 area_;
  V32 extent_;
};

/// Whether one of `count` boxes overlaps `box` by more than (or at) the threshold.
template <bool kPixels>
bool AnyOverlap(const BoxColumns& boxes, std::size_t count, const Box& box, float area,
                const GreedyNmsParams& params, float threshold) {
  const F32 d;
  const Comparison<kPixels> comparison(box, area, params.extent);
  const auto limit = hn::Set(d, threshold);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto iou = comparison.overlaps(boxes.from(i));
    const auto over = params.suppress_at_threshold ? hn::Ge(iou, limit) : hn::Gt(iou, limit);
    if (!hn::AllFalse(d, over)) return true;
  }
  for (; i < count; ++i) {
    const float iou = intersection_over_union(box, area, boxes.box(i), boxes.area[i], params.extent);
    if (params.suppress_at_threshold ? iou >= threshold : iou > threshold) return true;
  }
  return false;
}

template <bool kPixels>
float OverlapsWith(const Box& box, float area, const BoxColumns& others, std::size_t count, float extent,
                   float* overlaps) {
  const F32 d;
  const Comparison<kPixels> comparison(box, area, extent);
  auto largest_of_lane = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto iou = comparison.overlaps(others.from(i));
    largest_of_lane = hn::Max(largest_of_lane, iou);
    hn::StoreU(iou, d, overlaps + i);
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, largest_of_lane));
  for (; i < count; ++i) {
    overlaps[i] = intersection_over_union(box, area, others.box(i), others.area[i], extent);
    largest = std::max(largest, overlaps[i]);
  }
  return largest;
}

float OverlapsOf(const Box& box, float area, const BoxColumns& others, std::size_t count, float extent,
                 float* overlaps) {
  return extent == 0 ? OverlapsWith<false>(box, area, others, count, extent, overlaps)
                     : OverlapsWith<true>(box, area, others, count, extent, overlaps);
}

template <bool kPixels>
std::size_t GreedyWalk(const BoxColumns& boxes, std::size_t count, const GreedyNmsParams& params,
                       std::uint32_t* kept) {
  float threshold = params.iou_threshold;
  std::size_t kept_count = 0;
  for (std::size_t i = 0; i < count && kept_count < params.max_kept; ++i) {
    const Box box = boxes.box(i);
    const float area = boxes.area[i];
    if (AnyOverlap<kPixels>(boxes, kept_count, box, area, params, threshold)) continue;
    boxes.set(kept_count, box, area);
    kept[kept_count++] = static_cast<std::uint32_t>(i);
    if (params.eta < 1 && threshold > 0.5F) threshold *= params.eta;
  }
  return kept_count;
}

std::size_t GreedyNms(const BoxColumns& boxes, std::size_t count, const GreedyNmsParams& params,
                      std::uint32_t* kept) {
  return params.extent == 0 ? GreedyWalk<false>(boxes, count, params, kept)
                            : GreedyWalk<true>(boxes, count, params, kept);
}

/// The candidates among `count` scores, the first of which is that of box `first`. Most vectors have none.
std::size_t Candidates(const float* scores, std::size_t first, std::size_t count, float threshold,
                       bool at_threshold, ScoredIndex* out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, threshold);
  std::size_t found = 0;
  const auto look = [&](std::size_t begin, std::size_t end) HWY_ATTR {
    for (std::size_t i = begin; i < end; ++i) {
      out[found] = {scores[i], static_cast<std::uint32_t>(first + i)};
      found += scores[i] > threshold || (at_threshold && scores[i] == threshold) ? 1 : 0;
    }
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, scores + i);
    if (!hn::AllFalse(d, hn::Ge(v, limit))) look(i, i + lanes);
  }
  look(i, count);
  return found;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(Candidates);
HWY_EXPORT(GreedyNms);
HWY_EXPORT(OverlapsOf);

std::size_t greedy_nms(const BoxColumns& boxes, std::size_t count, const GreedyNmsParams& params,
                       std::uint32_t* kept) {
  return HWY_DYNAMIC_DISPATCH(GreedyNms)(boxes, count, params, kept);
}

float overlaps_of(const Box& box, float area, const BoxColumns& others, std::size_t count, float extent,
                  float* overlaps) {
  return HWY_DYNAMIC_DISPATCH(OverlapsOf)(box, area, others, count, extent, overlaps);
}

std::size_t sort_best(std::span<ScoredIndex> candidates, std::size_t limit) {
  const auto in_order = [](const ScoredIndex& a, const ScoredIndex& b) { return better(a, b); };
  const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(limit, candidates.size()));
  if (middle != candidates.end()) std::nth_element(candidates.begin(), middle, candidates.end(), in_order);
  std::sort(candidates.begin(), middle, in_order);
  return static_cast<std::size_t>(middle - candidates.begin());
}

std::vector<ScoredIndex> candidates_of(std::span<const float> scores, float threshold, ScoreLimit limit) {
  constexpr std::size_t kBlock = 1024;
  std::array<ScoredIndex, kBlock> block;
  std::vector<ScoredIndex> candidates;
  for (std::size_t first = 0; first < scores.size(); first += kBlock) {
    const std::size_t found = HWY_DYNAMIC_DISPATCH(Candidates)(
        scores.data() + first, first, std::min(kBlock, scores.size() - first), threshold,
        limit == ScoreLimit::at_or_above, block.data());
    candidates.insert(candidates.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(found));
  }
  return candidates;
}

std::vector<ScoredIndex> keep_greedily(std::span<const ScoredIndex> candidates,
                                       FunctionRef<Box(std::uint32_t)> box_of,
                                       const GreedyNmsParams& params) {
  const std::size_t count = candidates.size();
  std::vector<float> storage(BoxColumns::floats_for(count));
  const BoxColumns columns = BoxColumns::over(storage.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const Box box = box_of(candidates[i].index);
    columns.set(i, box, box_area(box, params.extent));
  }
  std::vector<std::uint32_t> positions(std::min(params.max_kept, count));
  positions.resize(greedy_nms(columns, count, params, positions.data()));
  std::vector<ScoredIndex> kept(positions.size());
  std::ranges::transform(positions, kept.begin(), [&](std::uint32_t i) { return candidates[i]; });
  return kept;
}

std::vector<ScoredIndex> keep_best(std::vector<ScoredIndex> candidates,
                                   FunctionRef<Box(std::uint32_t)> box_of, const GreedyNmsParams& params) {
  // Where few are kept, they are found among the best ones: to sort all would take most of the time.
  constexpr std::size_t kFew = 64;
  const std::span<ScoredIndex> all(candidates);
  std::size_t sorted = 0;
  for (std::size_t next = kFew + std::min(params.max_kept, all.size()); true; next *= 4) {
    sorted += sort_best(all.subspan(sorted), next - sorted);
    std::vector<ScoredIndex> kept = keep_greedily(all.first(sorted), box_of, params);
    if (kept.size() == params.max_kept || sorted == all.size()) return kept;
  }
}

std::vector<SelectedBox> select_by_class(
    std::size_t batches, std::size_t classes, std::size_t cost,
    FunctionRef<std::vector<ScoredIndex>(std::size_t batch, std::size_t label)> select) {
  std::vector<std::vector<ScoredIndex>> by_class(batches * classes);
  parallel_for(by_class.size(), grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) by_class[i] = select(i / classes, i % classes);
  });
  std::vector<SelectedBox> selected;
  for (std::size_t i = 0; i < by_class.size(); ++i) {
    for (const ScoredIndex& box : by_class[i]) {
      selected.push_back({static_cast<std::int64_t>(i / classes), static_cast<std::int64_t>(i % classes),
                          static_cast<std::int64_t>(box.index), box.score});
    }
  }
  return selected;
}

void sort_selected(std::span<SelectedBox> selected, SelectedOrder order) {
  const auto by_score = [](const SelectedBox& a, const SelectedBox& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::tie(a.batch, a.label, a.box) < std::tie(b.batch, b.label, b.box);
  };
  const auto by_label = [](const SelectedBox& a, const SelectedBox& b) {
    return std::tie(a.label, a.batch, b.score, a.box) < std::tie(b.label, b.batch, a.score, b.box);
  };
  if (order == SelectedOrder::score) {
    std::sort(selected.begin(), selected.end(), by_score);
  } else {
    std::sort(selected.begin(), selected.end(), by_label);
  }
}

namespace {

Box decode(const float* box, BoxEncoding encoding) {
  if (encoding == BoxEncoding::center) {
    const float half_width = box[2] / 2;
    const float half_height = box[3] / 2;
    return {box[0] - half_width, box[1] - half_height, box[0] + half_width, box[1] + half_height};
  }
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]),
          std::max(box[0], box[2])};
}

/// One class of one batch element.
struct ClassInput {
  const float* boxes;
  std::span<const float> scores;
};

std::vector<ScoredIndex> select_hard(const ClassInput& input, std::size_t limit,
                                     const NonMaxSuppressionParams& params) {
  GreedyNmsParams greedy;
  greedy.iou_threshold = params.iou_threshold;
  greedy.suppress_at_threshold = params.suppress_at_threshold;
  greedy.max_kept = limit;
  const auto box_of = [&](std::uint32_t i) {
    return decode(input.boxes + std::size_t{4} * i, params.encoding);
  };
  return keep_best(candidates_of(input.scores, params.score_threshold), box_of, greedy);
}

std::vector<ScoredIndex> select_soft(const ClassInput& input, std::size_t limit,
                                     const NonMaxSuppressionParams& params) {
  struct Waiting {
    ScoredIndex candidate;
    std::size_t compared = 0;  ///< so many selected boxes have decayed the score already
  };
  const auto worse = [](const Waiting& a, const Waiting& b) { return better(b.candidate, a.candidate); };
  std::vector<Waiting> all;
  for (const ScoredIndex& candidate : candidates_of(input.scores, params.score_threshold))
    all.push_back({candidate});
  std::priority_queue<Waiting, std::vector<Waiting>, decltype(worse)> queue(worse, std::move(all));

  const float scale = -0.5F / params.soft_nms_sigma;
  const auto suppressed = [&params](float iou) {
    if (!params.soft_suppresses_by_iou) return false;
    return params.suppress_at_threshold ? iou >= params.iou_threshold : iou > params.iou_threshold;
  };
  const auto survives = [&](ScoredIndex& candidate, const Box& box, std::span<const Box> rivals) {
    for (std::size_t i = rivals.size(); i-- > 0;) {
      const float iou = intersection_over_union(box, rivals[i]);
      // Boxes apart change nothing, however steep the scale. A score that became NaN is not kept.
      if (iou != 0) candidate.score *= std::exp(scale * iou * iou);
      if (suppressed(iou) || !(candidate.score > params.score_threshold)) return false;
    }
    return true;
  };

  std::vector<ScoredIndex> selected;
  std::vector<Box> selected_boxes;
  while (!queue.empty() && selected.size() < limit) {
    Waiting top = queue.top();
    queue.pop();
    const float score = top.candidate.score;
    const Box box = decode(input.boxes + std::size_t{4} * top.candidate.index, params.encoding);
    if (!survives(top.candidate, box, std::span(selected_boxes).subspan(top.compared))) continue;
    if (top.candidate.score == score) {
      selected.push_back(top.candidate);
      selected_boxes.push_back(box);
    } else {
      top.compared = selected.size();
      queue.push(top);
    }
  }
  return selected;
}

}  // namespace

std::vector<SelectedBox> non_max_suppression(const float* boxes, const float* scores, std::size_t batches,
                                             std::size_t classes, std::size_t count,
                                             const NonMaxSuppressionParams& params) {
  // Without boxes nothing bounds the number of classes.
  if (params.max_output_boxes_per_class <= 0 || count == 0) return {};
  const auto limit = static_cast<std::size_t>(params.max_output_boxes_per_class);
  const auto select = [&](std::size_t batch, std::size_t label) {
    const ClassInput input{boxes + batch * count * 4, {scores + (batch * classes + label) * count, count}};
    return params.soft_nms_sigma > 0 ? select_soft(input, limit, params) : select_hard(input, limit, params);
  };
  std::vector<SelectedBox> selected = select_by_class(batches, classes, 8 * count, select);
  if (params.sort_result_descending) sort_selected(selected, SelectedOrder::score);
  return selected;
}

template <class Index>
void write_selected(std::span<const SelectedBox> selected, std::size_t rows, Index* indices, float* scores) {
  const std::size_t written = std::min(selected.size(), rows);
  for (std::size_t i = 0; i < written; ++i) {
    const SelectedBox& box = selected[i];
    indices[3 * i] = static_cast<Index>(box.batch);
    indices[3 * i + 1] = static_cast<Index>(box.label);
    indices[3 * i + 2] = static_cast<Index>(box.box);
    if (scores == nullptr) continue;
    scores[3 * i] = static_cast<float>(box.batch);
    scores[3 * i + 1] = static_cast<float>(box.label);
    scores[3 * i + 2] = box.score;
  }
  std::fill(indices + 3 * written, indices + 3 * rows, static_cast<Index>(-1));
  if (scores != nullptr) std::fill(scores + 3 * written, scores + 3 * rows, -1.0F);
}

template void write_selected<std::int32_t>(std::span<const SelectedBox>, std::size_t, std::int32_t*, float*);
template void write_selected<std::int64_t>(std::span<const SelectedBox>, std::size_t, std::int64_t*, float*);

}  // namespace ir::kernels
#endif  // HWY_ONCE
