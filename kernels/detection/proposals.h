// Region proposals: anchors moved by the predictions of every cell of a feature map, the best of them after
// suppression.
#ifndef KERNELS_DETECTION_PROPOSALS_H_
#define KERNELS_DETECTION_PROPOSALS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/detection/nms.h"

namespace ir::kernels {

/// Memory that runs reuse; grows to what the largest run needed and is then not allocated again.
struct ProposalsScratch {
  std::vector<Box> boxes;               ///< one for each cell and anchor
  std::vector<ScoredIndex> candidates;  ///< positions in `boxes`
  std::vector<float> columns;
  std::vector<std::uint32_t> kept;
};

/// What Proposal's anchors and coordinates follow.
enum class ProposalFramework : std::uint8_t {
  caffe,       ///< coordinates are pixel indices; anchor sizes are rounded
  tensorflow,  ///< coordinates are edges, y before x; anchors are centred on the cell and cut at the image
};

/// The anchors of a cell at (0, 0), scales innermost: base_size^2 with the sides in each ratio of height to
/// width, times each scale. Proposal-1.
std::vector<Box> proposal_anchors(float base_size, std::span<const float> ratios,
                                  std::span<const float> scales, ProposalFramework framework);

/// Attributes of Proposal-1 and -4, and sizes.
struct ProposalParams {
  std::size_t images = 1;
  std::size_t height = 1;  ///< of the feature map
  std::size_t width = 1;
  std::vector<Box> anchors;
  ProposalFramework framework = ProposalFramework::caffe;
  float feat_stride = 1;
  float min_size = 0;
  float box_coordinate_scale = 1;  ///< deltas are divided by it
  float box_size_scale = 1;
  bool clip_before_nms = true;
  bool clip_after_nms = false;
  bool normalize = false;  ///< divides the results by the size of the image
  std::size_t pre_nms_topn = 0;
  std::size_t post_nms_topn = 0;
  float nms_thresh = 0;
};

struct ProposalInputs {
  const float* class_probs = nullptr;  ///< [images, 2 * anchors, height, width]: background, then foreground
  const float* deltas = nullptr;       ///< [images, 4 * anchors, height, width]
  float image_height = 0;              ///< limits y0 and y1 in Caffe, x0 and x1 in TensorFlow
  float image_width = 0;
  float scale_height = 1;  ///< factors of min_size
  float scale_width = 1;
};

/// Writes `rois` [images * post_nms_topn, 5] of image and box, best first within an image, and their
/// probabilities `probs` [images * post_nms_topn] unless that is nullptr. Unused rows are 0; the first of
/// them in each image starts with -1. As in OpenVINO's reference code, boxes that are too small are not
/// dropped but get probability 0. Equal probabilities: lower cell first, then lower anchor; NaN is never
/// selected. images * height * width * anchors < 2^32. f32 in the order of the definition, std::exp; parallel
/// over cells.
void proposal(const ProposalParams& params, const ProposalInputs& inputs, float* rois, float* probs,
              ProposalsScratch& scratch);

/// Attributes of ExperimentalDetectronGenerateProposalsSingleImage-6 and, for one image, GenerateProposals-9.
struct ImageProposalsParams {
  std::size_t cells = 1;    ///< of the feature map
  std::size_t anchors = 1;  ///< of a cell
  std::size_t pre_nms_count = 0;
  std::size_t post_nms_count = 0;
  float nms_threshold = 0;
  float nms_eta = 1;
  /// See box_area: of boxes where deltas move them, and where they overlap.
  float extent = 0;
  float nms_extent = 0;
  /// Whether boxes that are too small stay, with score 0. Otherwise they go, after pre_nms_count counted
  /// them.
  bool keep_small = false;
};

struct ImageProposalsInputs {
  const float* anchors = nullptr;  ///< [cells, anchors, 4]
  const float* deltas = nullptr;   ///< [anchors, 4, cells]
  const float* scores = nullptr;   ///< [anchors, cells]
  float image_height = 0;
  float image_width = 0;
  float min_height = 0;
  float min_width = 0;
};

/// Selects the proposals of one image, best first, and returns their number, at most
/// min(cells * anchors, post_nms_count): the front of scratch.candidates, until the next run. Equal scores:
/// lower cell first, then lower anchor; NaN is never selected. cells * anchors < 2^32. Parallel over cells.
std::size_t select_proposals(const ImageProposalsParams& params, const ImageProposalsInputs& inputs,
                             ProposalsScratch& scratch);

/// Writes the first `count` results of select_proposals as boxes [rows, 4] and scores [rows]; 0 after them.
/// count <= rows.
void write_proposals(const ProposalsScratch& scratch, std::size_t count, std::size_t rows, float* boxes,
                     float* scores);

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_PROPOSALS_H_
