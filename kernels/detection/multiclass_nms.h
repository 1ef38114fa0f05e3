// Suppression for all classes of an image together: MulticlassNms and MatrixNms.
#ifndef KERNELS_DETECTION_MULTICLASS_NMS_H_
#define KERNELS_DETECTION_MULTICLASS_NMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/detection/nms.h"

namespace ir::kernels {

/// Boxes (x0, y0, x1, y1) and scores of several images in one of two layouts. Image i has the rows
/// starts[i] .. starts[i + 1] of all boxes.
struct MulticlassInput {
  const float* boxes = nullptr;
  const float* scores = nullptr;
  std::size_t classes = 0;
  /// Scores of one class that lie side by side: those of an image when boxes are shared, those of all images
  /// when not.
  std::size_t scores_per_class = 0;
  /// Whether all classes have the same boxes: boxes [rows, 4], scores [images, classes, boxes of an image];
  /// otherwise boxes [classes, rows, 4] and scores [classes, rows].
  bool shared_boxes = true;
  /// One more than there are images, ascending from 0.
  std::span<const std::size_t> starts;

  [[nodiscard]] std::size_t images() const { return starts.size() - 1; }
  /// The scores that a class has in an image.
  [[nodiscard]] std::span<const float> scores_of(std::size_t image, std::size_t label) const;
  /// The four numbers of a box; `row` counts from the first image.
  [[nodiscard]] const float* box_of(std::size_t label, std::size_t row) const;
};

/// What MulticlassNms and MatrixNms have in common.
struct MulticlassLimits {
  float score_threshold = 0;
  /// Whether boxes are fractions of the image, or pixel indices (which makes them larger by one pixel).
  bool normalized = true;
  /// Candidates of a class.
  std::size_t max_candidates = SIZE_MAX;
  /// Results of an image.
  std::size_t max_per_image = SIZE_MAX;
  /// The class that is left out; -1: none.
  std::int64_t background = -1;
};

struct MulticlassNmsParams {
  MulticlassLimits limits;
  /// An overlap that is not below it suppresses.
  float iou_threshold = 0;
  /// See GreedyNmsParams.
  float eta = 1;
};

enum class DecayFunction : std::uint8_t { linear, gaussian };

struct MatrixNmsParams {
  MulticlassLimits limits;
  DecayFunction decay = DecayFunction::linear;
  float gaussian_sigma = 2;
  /// Only decayed scores above it are results.
  float post_threshold = 0;
};

/// Results of all images: `box` counts from the first image, batch is the image.
struct MulticlassSelection {
  std::vector<SelectedBox> boxes;
  /// Their number, for each image.
  std::vector<std::size_t> per_image;
};

/// Which results are sorted together.
enum class SortScope : std::uint8_t { image, batch };

/// MulticlassNms-8 and 9: boxes whose score is at least the threshold, after greedy suppression in each
/// class. Results are in order of the images and sorted by score within them. The boxes of an image are fewer
/// than 2^32. Parallel over images and classes; allocates.
MulticlassSelection multiclass_nms(const MulticlassInput& input, const MulticlassNmsParams& params);

/// MatrixNms-8: as multiclass_nms, but boxes whose score is above the threshold, and nothing is suppressed:
/// the score decays by the overlap with better boxes of the class. Time grows with the square of the number
/// of candidates, memory does not.
MulticlassSelection matrix_nms(const MulticlassInput& input, const MatrixNmsParams& params);

/// Sorts the results within each image or all together.
void sort_selection(MulticlassSelection& selection, SelectedOrder order, SortScope scope);

/// Writes results as outputs: `outputs` [n, 6] of class, score and box, `indices` [n] of positions among all
/// boxes of the input, `counts` [images]. Index: int32_t, int64_t.
template <class Index>
void write_selection(const MulticlassInput& input, const MulticlassSelection& selection, float* outputs,
                     Index* indices, Index* counts);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_MULTICLASS_NMS_H_
