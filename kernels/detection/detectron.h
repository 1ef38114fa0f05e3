// The detection head of Detectron: priors on a grid, the most probable regions, the final detections.
#ifndef KERNELS_DETECTION_DETECTRON_H_
#define KERNELS_DETECTION_DETECTRON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/detection/nms.h"

namespace ir::kernels {

/// ExperimentalDetectronPriorGridGenerator-6: `priors` [priors, 4] around the centre of each cell of a grid.
struct PriorGridParams {
  std::size_t priors = 0;
  std::size_t height = 0;  ///< of the grid
  std::size_t width = 0;
  float step_y = 0;
  float step_x = 0;
  /// Boxes that `out` has room for; the grid fills the first height * width * priors of them.
  std::size_t boxes = 0;
};

/// Writes `out` [boxes, 4], cells outermost; 0 after the grid. Parallel over rows. T: float, double.
template <class T>
void prior_grid(const PriorGridParams& params, const T* priors, T* out);

/// Writes the boxes `order[0..count)` of `rois` [*, 4] to `out` [rows, 4]; 0 after them. count <= rows.
/// T: float, double.
template <class T>
void take_boxes(const T* rois, const std::int32_t* order, std::size_t count, std::size_t rows, T* out);

/// Attributes of ExperimentalDetectronDetectionOutput-6, and sizes; rois * classes < 2^32.
struct DetectronOutputParams {
  std::size_t rois = 0;
  std::size_t classes = 1;  ///< class 0 is the background
  float score_threshold = 0;
  float nms_threshold = 0;
  float max_delta_log_wh = 0;
  std::array<float, 4> deltas_weights{1, 1, 1, 1};  ///< deltas are divided by them
  std::size_t post_nms_count = 0;                   ///< detections per class
  std::size_t max_detections = 0;                   ///< rows of the outputs
};

struct DetectronOutputInputs {
  const float* rois = nullptr;    ///< [rois, 4]
  const float* deltas = nullptr;  ///< [rois, classes, 4]
  const float* scores = nullptr;  ///< [rois, classes]
};

/// Memory that runs reuse; grows to what the largest run needed and is then not allocated again.
struct DetectronOutputScratch {
  struct Detection {
    ScoredIndex roi;
    std::uint32_t label;
    Box box;
  };
  std::vector<ScoredIndex> candidates;  ///< [classes, rois]
  std::vector<float> columns;           ///< their boxes
  std::vector<std::uint32_t> kept;      ///< [classes, rois]
  std::vector<std::size_t> kept_count;  ///< [classes]
  std::vector<Detection> detections;
};

/// Writes `boxes` [max_detections, 4], `labels` and `scores` [max_detections]; 0 after the last detection.
/// When there are more than max_detections, the best are written by score (equal ones: lower roi, then lower
/// class first), else all are, by class and best first. NaN scores do not count; regions without width or
/// height have score 0 and a box of zeros, so that they are seen with a threshold below 0 only. Boxes are
/// limited to coordinates >= 0 only, as in OpenVINO, whatever the size of the image. f32 in the order of the
/// definition, std::exp; parallel over classes.
void detectron_output(const DetectronOutputParams& params, const DetectronOutputInputs& inputs, float* boxes,
                      std::int32_t* labels, float* scores, DetectronOutputScratch& scratch);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_DETECTRON_H_
