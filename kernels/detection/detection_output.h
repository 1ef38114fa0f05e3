// DetectionOutput: decodes the boxes of an SSD head, suppresses overlaps per class and lists what is left.
#ifndef KERNELS_DETECTION_DETECTION_OUTPUT_H_
#define KERNELS_DETECTION_DETECTION_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/detection/nms.h"

namespace ir::kernels {

/// How box logits move a prior: its corners, or its centre and the logarithm of its size.
enum class BoxCoding : std::uint8_t { corner, center_size };

/// Attributes of DetectionOutput-1 and -8 under their own names, and the sizes of the inputs.
/// Preconditions: classes >= 1, priors * classes < 2^32, prior_batches is 1 or `images`.
struct DetectionOutputParams {
  std::size_t images = 1;
  std::size_t priors = 0;
  std::size_t classes = 1;
  /// First dim of the proposals: 1 shares them between the images.
  std::size_t prior_batches = 1;

  std::int64_t background_label_id = 0;  ///< -1: there is none
  std::int64_t top_k = -1;               ///< candidates before suppression (per class, or image); -1: all
  std::int64_t keep_top_k = -1;          ///< keep_top_k[0]: detections per image; -1: all
  float nms_threshold = 0;
  float confidence_threshold = 0;
  float objectness_score = 0;
  BoxCoding code_type = BoxCoding::corner;
  bool variance_encoded_in_target = false;
  bool share_location = true;
  bool clip_before_nms = false;
  bool clip_after_nms = false;
  /// false: every class takes the priors with scores above the threshold (Caffe). true: every prior counts
  /// for its best class other than 0, at or above the threshold, and labels are written minus 1 (MXNet).
  bool decrease_label_id = false;
  /// false: priors are pixels, divided by input_width and input_height, of 5 values each with an image id
  /// before the box; an id of -1 ends the priors of an image (as in OpenVINO's CPU plugin).
  bool normalized = false;
  std::int64_t input_height = 1;
  std::int64_t input_width = 1;
};

/// The inputs in the order of the op. Locations are 1 or, without share_location, `classes`.
struct DetectionOutputInputs {
  const float* box_logits = nullptr;    ///< [images, priors, locations, 4]
  const float* class_scores = nullptr;  ///< [images, priors, classes]
  /// [prior_batches, 1 or 2, priors * (normalized ? 4 : 5)]: boxes, then unless variance_encoded_in_target
  /// [priors, 4] variances.
  const float* priors = nullptr;
  /// Inputs 4 and 5 of the op, both or none. [images, priors, 2]: priors whose second value is below
  /// objectness_score get score 1 for the background class and 0 for all others.
  const float* objectness = nullptr;
  /// As box_logits: moves the priors before box_logits does.
  const float* first_box_logits = nullptr;
};

/// Memory that runs reuse; grows to what the largest run needed and is then not allocated again.
class DetectionOutputScratch {
 public:
  struct Candidate {
    std::uint32_t label;
    ScoredIndex prior;
  };
  struct Detection {
    float score;
    std::uint32_t label;
    std::uint32_t prior;
    Box box;
  };
  std::vector<Candidate> found;          ///< of one image, by prior
  std::vector<ScoredIndex> candidates;   ///< the same, grouped by label
  std::vector<std::size_t> label_begin;  ///< where the group of a label starts
  std::vector<std::size_t> label_kept;   ///< how many of a group survive
  std::vector<float> columns;            ///< their boxes, for greedy_nms
  std::vector<std::uint32_t> kept;
  std::vector<Detection> detections;
};

/// Rows of the output [1, 1, rows, 7].
std::size_t detection_output_rows(const DetectionOutputParams& params);

/// Writes rows of image, label, score, x_min, y_min, x_max, y_max; per image by label, best first. When rows
/// are left, the first of them starts with -1; everything after it is 0. Equal scores: lower prior first,
/// under keep_top_k then lower label. Parallel over classes. The exponential of center_size is std::exp,
/// everything else is f32 in the order of the definition.
void detection_output(const DetectionOutputParams& params, const DetectionOutputInputs& inputs, float* out,
                      DetectionOutputScratch& scratch);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_DETECTION_OUTPUT_H_
