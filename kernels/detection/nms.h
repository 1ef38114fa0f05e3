// Non-maximum suppression: the overlap measure, the greedy and the soft walk, and NonMaxSuppression itself.
#ifndef KERNELS_DETECTION_NMS_H_
#define KERNELS_DETECTION_NMS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/threads/function_ref.h"

namespace ir::kernels {

/// An axis-parallel box. Which of the axes is x does not matter to any function here.
struct Box {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
};

/// Area of a box; 0 when a side is negative. `extent` is what a side has beyond the difference of its ends:
/// 0 for normalized coordinates, 1 for pixel indices, where a box of less than a pixel ends before it begins.
inline float box_area(const Box& box, float extent = 0) {
  const float width = box.x1 - box.x0 + extent;
  const float height = box.y1 - box.y0 + extent;
  return width < 0 || height < 0 ? 0.0F : width * height;
}

/// Whether neither box ends before the other one begins; false for NaN.
inline bool touch(const Box& a, const Box& b) {
  return a.x0 <= b.x1 && b.x0 <= a.x1 && a.y0 <= b.y1 && b.y0 <= a.y1;
}

/// Intersection over union of two boxes whose areas are known; 0 when they do not touch. NaN coordinates
/// count as no intersection.
inline float intersection_over_union(const Box& a, float area_a, const Box& b, float area_b,
                                     float extent = 0) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0) + extent;
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0) + extent;
  if (!touch(a, b) || !(width > 0)) return 0;
  const float intersection = width * height;
  const float ratio = intersection / (area_a + area_b - intersection);
  return ratio > 0 ? ratio : 0.0F;
}

inline float intersection_over_union(const Box& a, const Box& b, float extent = 0) {
  return intersection_over_union(a, box_area(a, extent), b, box_area(b, extent), extent);
}

/// Boxes as five columns of equal length, so that one box is compared with a vector of others.
struct BoxColumns {
  float* x0 = nullptr;
  float* y0 = nullptr;
  float* x1 = nullptr;
  float* y1 = nullptr;
  float* area = nullptr;

  /// Columns of `capacity` boxes in `storage`, which has floats_for(capacity) elements.
  static BoxColumns over(float* storage, std::size_t capacity) {
    return {storage, storage + capacity, storage + 2 * capacity, storage + 3 * capacity,
            storage + 4 * capacity};
  }
  static constexpr std::size_t floats_for(std::size_t capacity) { return 5 * capacity; }

  [[nodiscard]] BoxColumns from(std::size_t i) const { return {x0 + i, y0 + i, x1 + i, y1 + i, area + i}; }
  [[nodiscard]] Box box(std::size_t i) const { return {x0[i], y0[i], x1[i], y1[i]}; }
  void set(std::size_t i, const Box& box, float box_area) const {
    x0[i] = box.x0;
    y0[i] = box.y0;
    x1[i] = box.x1;
    y1[i] = box.y1;
    area[i] = box_area;
  }
};

/// overlaps[i]: that of `box` with the i-th of `count` others. Returns the largest, or 0. Vectorised, with
/// the bits of `intersection_over_union`.
float overlaps_of(const Box& box, float area, const BoxColumns& others, std::size_t count, float extent,
                  float* overlaps);

struct GreedyNmsParams {
  float iou_threshold = 0;
  /// Whether an overlap that equals the threshold suppresses, too.
  bool suppress_at_threshold = false;
  /// See box_area.
  float extent = 0;
  /// Below 1: every kept box multiplies the threshold by this while it is above 0.5 (`nms_eta`).
  float eta = 1;
  /// Stops after so many kept boxes.
  std::size_t max_kept = SIZE_MAX;
};

/// Greedy suppression for DetectionOutput, NonMaxSuppression, MulticlassNms, Proposal and GenerateProposals:
/// walks over `count` boxes, best first, and keeps each one whose overlap with every box kept before does not
/// exceed the threshold. kept[i] becomes the position of the i-th kept box; returns their number. `kept` has
/// room for min(count, max_kept).
///
/// Allocates nothing: the columns of kept boxes are moved to the front of `boxes`, the rest is unspecified
/// afterwards. Vectorised; the overlaps have the bits of `intersection_over_union`.
std::size_t greedy_nms(const BoxColumns& boxes, std::size_t count, const GreedyNmsParams& params,
                       std::uint32_t* kept);

/// A candidate box of one class: where it stands in the input, and its score.
struct ScoredIndex {
  float score = 0;
  std::uint32_t index = 0;

  /// Higher scores first, lower indices first among equal ones.
  friend bool better(const ScoredIndex& a, const ScoredIndex& b) {
    return a.score > b.score || (a.score == b.score && a.index < b.index);
  }
};

/// Sorts the best `limit` candidates (all when fewer) to the front, best first, and returns their number.
/// Scores are not NaN.
std::size_t sort_best(std::span<ScoredIndex> candidates, std::size_t limit);

/// Which scores make a candidate of a box.
enum class ScoreLimit : std::uint8_t {
  above,        ///< those above the threshold
  at_or_above,  ///< and those that equal it
};

/// The candidates among boxes with these scores, in the order of the boxes. NaN scores make none. At most
/// 2^32 scores.
std::vector<ScoredIndex> candidates_of(std::span<const float> scores, float threshold,
                                       ScoreLimit limit = ScoreLimit::above);

/// What greedy_nms keeps of `candidates`, which are sorted best first; `box_of` gives the box of an index.
std::vector<ScoredIndex> keep_greedily(std::span<const ScoredIndex> candidates,
                                       FunctionRef<Box(std::uint32_t)> box_of, const GreedyNmsParams& params);

/// What greedy_nms keeps of candidates in any order.
std::vector<ScoredIndex> keep_best(std::vector<ScoredIndex> candidates,
                                   FunctionRef<Box(std::uint32_t)> box_of, const GreedyNmsParams& params);

/// A box that was kept for a class.
struct SelectedBox {
  std::int64_t batch = 0;
  std::int64_t label = 0;
  std::int64_t box = 0;
  float score = 0;
};

/// The results of `select` for each class of each batch element, batch elements first, in the order in which
/// select gave them. `select` runs in parallel and costs about `cost` elementary operations.
std::vector<SelectedBox> select_by_class(
    std::size_t batches, std::size_t classes, std::size_t cost,
    FunctionRef<std::vector<ScoredIndex>(std::size_t batch, std::size_t label)> select);

/// What results are sorted by; ties by what comes next in the list, boxes last.
enum class SelectedOrder : std::uint8_t {
  score,  ///< score (the highest first), batch, label
  label,  ///< label, batch, score (the highest first)
};

void sort_selected(std::span<SelectedBox> selected, SelectedOrder order);

enum class BoxEncoding : std::uint8_t {
  corner,  ///< y1, x1, y2, x2: any two opposite corners
  center,  ///< x_center, y_center, width, height
};

/// Attributes and scalar inputs of NonMaxSuppression-1, 3, 4, 5 and 9. Where OpenVINO's versions differ:
/// version 9 suppresses overlaps above the threshold and ignores the threshold in soft mode; its reference
/// code for version 5 and below suppresses at the threshold, in soft mode as well. (The CPU plugin turns all
/// versions into 9 and suppresses at the threshold.)
struct NonMaxSuppressionParams {
  BoxEncoding encoding = BoxEncoding::corner;
  /// Whether all results are sorted by score (then batch, class, box), or only within batch and class.
  bool sort_result_descending = true;
  /// Largest number of boxes per batch element and class; <= 0 selects none.
  std::int64_t max_output_boxes_per_class = 0;
  float iou_threshold = 0;
  /// Only scores above it are candidates.
  float score_threshold = 0;
  /// > 0: soft NMS, every kept box multiplies a candidate's score by exp(-iou * iou / (2 * sigma)).
  float soft_nms_sigma = 0;
  bool suppress_at_threshold = false;
  bool soft_suppresses_by_iou = false;
};

/// Selects from `boxes` [batches, count, 4] by `scores` [batches, classes, count], each class of each batch
/// element on its own. The number of results depends on the data: they are returned, at most
/// batches * classes * min(count, max_output_boxes_per_class) of them. NaN scores are never selected.
/// `count` < 2^32. Parallel over batch and class; allocates.
std::vector<SelectedBox> non_max_suppression(const float* boxes, const float* scores, std::size_t batches,
                                             std::size_t classes, std::size_t count,
                                             const NonMaxSuppressionParams& params);

/// Writes results as outputs: `indices` [rows, 3] of batch, class, box and `scores` [rows, 3] of batch,
/// class, score (nullptr: not wanted). Rows after the last result are -1, results after the last row are
/// dropped. Index: int32_t, int64_t.
template <class Index>
void write_selected(std::span<const SelectedBox> selected, std::size_t rows, Index* indices, float* scores);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_NMS_H_
