// The parts of Detectron's models that have no operations elsewhere.
#ifndef IR_RUNTIME_OPS_EXPERIMENTAL_DETECTRON_H_
#define IR_RUNTIME_OPS_EXPERIMENTAL_DETECTRON_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v6 {

/// Moves regions by the deltas of each class, suppresses overlaps per class and lists what is left. Inputs of
/// one real type: [rois, 4] regions, [rois, num_classes * 4] deltas, [rois, num_classes] scores, [1, 3] image
/// size. Outputs: [max_detections_per_image, 4] boxes of that type, [max_detections_per_image] classes of
/// i32, [max_detections_per_image] scores; 0 after the last. Class 0 is the background and never listed.
/// Definition: ExperimentalDetectronDetectionOutput-6; as in OpenVINO, and unlike the text, boxes are not
/// limited to the image but to coordinates from 0 on.
struct ExperimentalDetectronDetectionOutput {
  static constexpr OpInfo info{.type = "ExperimentalDetectronDetectionOutput",
                               .first_opset = 6,
                               .family = "detection",
                               .summary = "The detections of a Detectron head."};
  double score_threshold = 0;
  double nms_threshold = 0;
  double max_delta_log_wh = 0;
  std::int64_t num_classes = 0;
  std::int64_t post_nms_count = 0;
  std::int64_t max_detections_per_image = 0;
  bool class_agnostic_box_regression = false;
  std::vector<double> deltas_weights;
  static constexpr auto fields() {
    using Op = ExperimentalDetectronDetectionOutput;
    return std::array{
        required<&Op::score_threshold>("score_threshold", "Score that a detection is above."),
        required<&Op::nms_threshold>("nms_threshold", "Overlap above which the box of lower score goes."),
        required<&Op::max_delta_log_wh>("max_delta_log_wh", "Largest logarithm of a factor of a size."),
        required<&Op::num_classes>("num_classes", "Number of classes.", at_least(1)),
        required<&Op::post_nms_count>("post_nms_count", "Detections for each class; -1: all.", at_least(-1)),
        required<&Op::max_detections_per_image>("max_detections_per_image", "Rows of the outputs.",
                                                at_least(0)),
        optional<&Op::class_agnostic_box_regression>(
            "class_agnostic_box_regression",
            "Without meaning: the background is never listed, and each class "
            "has its own deltas."),
        required<&Op::deltas_weights>("deltas_weights", "Divisors of the deltas of x, y, width and height."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The best of the boxes that anchors and deltas give for one image. Inputs of one real type: [3] height,
/// width and scale of the image, [height * width * anchors, 4] anchors, [4 * anchors, height, width] deltas,
/// [anchors, height, width] scores. Outputs of that type: [post_nms_count, 4] boxes, best first, and
/// [post_nms_count] scores; 0 after the last. Definition:
/// ExperimentalDetectronGenerateProposalsSingleImage-6; as in OpenVINO, and unlike the text, boxes that are
/// too small are not dropped but have score 0.
struct ExperimentalDetectronGenerateProposalsSingleImage {
  static constexpr OpInfo info{
      .type = "ExperimentalDetectronGenerateProposalsSingleImage",
      .first_opset = 6,
      .family = "detection",
      .summary = "The best of the boxes that anchors and deltas give, for one image."};
  double min_size = 0;
  double nms_threshold = 0;
  std::int64_t post_nms_count = 0;
  std::int64_t pre_nms_count = 0;
  static constexpr auto fields() {
    using Op = ExperimentalDetectronGenerateProposalsSingleImage;
    return std::array{
        required<&Op::min_size>("min_size", "Smallest side of a box."),
        required<&Op::nms_threshold>("nms_threshold", "Overlap above which the box of lower score goes."),
        required<&Op::post_nms_count>("post_nms_count", "Rows of the outputs.", at_least(0)),
        required<&Op::pre_nms_count>("pre_nms_count", "Boxes before suppression.", at_least(0)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Prior boxes around the centre of every cell of a grid. Inputs of one real type: [priors, 4] boxes around
/// the origin, a feature map and an image, both of rank 4 [N, C, height, width], of which only the sizes
/// count. Output of that type: [height * width * priors, 4] or, unless flatten, [height, width, priors, 4]
/// for the height and width of the feature map; h and w make the grid smaller, and what is left is 0.
/// Definition: ExperimentalDetectronPriorGridGenerator-6.
struct ExperimentalDetectronPriorGridGenerator {
  static constexpr OpInfo info{.type = "ExperimentalDetectronPriorGridGenerator",
                               .first_opset = 6,
                               .family = "detection",
                               .summary = "Given boxes around the cells of a grid."};
  bool flatten = true;
  std::int64_t h = 0;
  std::int64_t w = 0;
  double stride_x = 0;
  double stride_y = 0;
  static constexpr auto fields() {
    using Op = ExperimentalDetectronPriorGridGenerator;
    return std::array{
        optional<&Op::flatten>("flatten", "Whether the output has rank 2."),
        optional<&Op::h>("h", "Height of the grid; 0: that of the feature map.", at_least(0)),
        optional<&Op::w>("w", "Width of the grid; 0: that of the feature map.", at_least(0)),
        optional<&Op::stride_x>("stride_x", "Distance of cells along x; 0: image width over grid width."),
        optional<&Op::stride_y>("stride_y", "Distance of cells along y; 0: image height over grid height."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The most probable regions. Inputs of one real type: [rois, 4] regions, [rois] probabilities. Output of
/// that type: [max_rois, 4], the most probable first; 0 after the last. Among equal probabilities lower
/// positions come first. Definition: ExperimentalDetectronTopKROIs-6.
struct ExperimentalDetectronTopKROIs {
  static constexpr OpInfo info{.type = "ExperimentalDetectronTopKROIs",
                               .first_opset = 6,
                               .family = "sort",
                               .summary = "The most probable regions."};
  std::int64_t max_rois = 0;
  static constexpr auto fields() {
    using Op = ExperimentalDetectronTopKROIs;
    return std::array{optional<&Op::max_rois>("max_rois", "Rows of the output.", at_least(0))};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v6

#endif  // IR_RUNTIME_OPS_EXPERIMENTAL_DETECTRON_H_
