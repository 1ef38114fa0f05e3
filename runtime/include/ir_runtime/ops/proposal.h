// Region proposals of two-stage detectors.
#ifndef IR_RUNTIME_OPS_PROPOSAL_H_
#define IR_RUNTIME_OPS_PROPOSAL_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// Attributes of both versions of Proposal; sizes in pixels.
struct ProposalAttributes {
  std::int64_t base_size = 0;
  std::int64_t pre_nms_topn = 0;
  std::int64_t post_nms_topn = 0;
  double nms_thresh = 0;
  std::int64_t feat_stride = 1;
  std::int64_t min_size = 1;
  std::vector<double> ratio;
  std::vector<double> scale;
  bool clip_before_nms = true;
  bool clip_after_nms = false;
  bool normalize = false;
  double box_size_scale = 1;
  double box_coordinate_scale = 1;
  /// What the anchors and coordinates follow. Empty or "caffe": coordinates are pixel indices, x before y,
  /// and anchor sizes are rounded. "tensorflow": coordinates are edges, y before x; anchors are centred on
  /// the cell and cut at the image.
  std::string framework;
};

namespace detail {

template <class Op>
constexpr auto proposal_fields() {
  return std::array{
      required<&Op::base_size>("base_size", "Side of the square that the anchors are made from.",
                               at_least(0)),
      required<&Op::pre_nms_topn>("pre_nms_topn", "Boxes of an image before suppression.", at_least(0)),
      required<&Op::post_nms_topn>("post_nms_topn", "Boxes of an image after suppression.", at_least(0)),
      required<&Op::nms_thresh>("nms_thresh", "Overlap above which the box of lower score goes."),
      required<&Op::feat_stride>("feat_stride", "Distance of the cells in pixels.", at_least(0)),
      required<&Op::min_size>("min_size", "Smallest side of a box, times the scale in input 2.", at_least(0)),
      required<&Op::ratio>("ratio", "Height over width of the anchors."),
      required<&Op::scale>("scale", "Sizes of the anchors over base_size."),
      optional<&Op::clip_before_nms>("clip_before_nms",
                                     "Whether boxes are limited to the image before suppression."),
      optional<&Op::clip_after_nms>("clip_after_nms", "Whether boxes are limited to the image at the end."),
      optional<&Op::normalize>("normalize", "Whether results are fractions of the image."),
      optional<&Op::box_size_scale>("box_size_scale", "Divisor of the deltas of sizes."),
      optional<&Op::box_coordinate_scale>("box_coordinate_scale", "Divisor of the deltas of centres."),
      optional<&Op::framework>("framework",
                               "What anchors and coordinates follow: empty or caffe, or tensorflow."),
      ignored("for_deformable", "Written by old converters; anchors are as in Caffe or TensorFlow."),
  };
}

}  // namespace detail

namespace v0 {

/// The best boxes of a region proposal network. Inputs of real types: [images, 2 * anchors, height, width]
/// probabilities of background and foreground, [images, 4 * anchors, height, width] deltas, and [3] or [4]
/// height and width of the image and the scale (of height and of width) that min_size is multiplied by. There
/// are as many anchors as ratios times scales. Output [images * post_nms_topn, 5] of the type of input 0:
/// image and box; unused rows are 0, the first of them in each image starts with -1. Definition: Proposal-1;
/// where the text leaves room, as OpenVINO's reference code: boxes below min_size are not dropped, but get
/// probability 0.
struct Proposal : ProposalAttributes {
  static constexpr OpInfo info{.type = "Proposal",
                               .last_opset = 3,
                               .family = "detection",
                               .summary = "The best boxes of a region proposal network."};
  static constexpr auto fields() { return detail::proposal_fields<Proposal>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v4 {

/// As v0::Proposal, with a second output [images * post_nms_topn]: the foreground's probability of each row.
struct Proposal : ProposalAttributes {
  static constexpr OpInfo info{
      .type = "Proposal",
      .first_opset = 4,
      .family = "detection",
      .summary = "The best boxes of a region proposal network, with their probabilities."};
  static constexpr auto fields() { return detail::proposal_fields<Proposal>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v4

namespace v9 {

/// The best boxes of a region proposal network, as many as there are. Inputs of one real type: [images, 3] or
/// [images, 4] height and width of the image and the scale (of height and of width) that min_size is
/// multiplied by, [height, width, anchors, 4] anchors, [images, 4 * anchors, height, width] deltas, [images,
/// anchors, height, width] scores. Outputs: [rows, 4] boxes and [rows] scores of that type, image after image
/// and best first, and [images] numbers of rows. Boxes below min_size still count for pre_nms_count.
/// Definition: GenerateProposals-9.
struct GenerateProposals {
  static constexpr OpInfo info{.type = "GenerateProposals",
                               .first_opset = 9,
                               .family = "detection",
                               .summary = "The best of the boxes that anchors and deltas give."};
  double min_size = 0;
  double nms_threshold = 0;
  std::int64_t pre_nms_count = 0;
  std::int64_t post_nms_count = 0;
  bool normalized = true;
  double nms_eta = 1;
  ElementType roi_num_type = ElementType::i64;
  static constexpr auto fields() {
    using Op = GenerateProposals;
    return std::array{
        required<&Op::min_size>("min_size", "Smallest side of a box, times the scale in input 0."),
        required<&Op::nms_threshold>("nms_threshold", "Overlap above which the box of lower score goes."),
        required<&Op::post_nms_count>("post_nms_count", "Boxes of an image after suppression.", at_least(0)),
        required<&Op::pre_nms_count>("pre_nms_count", "Boxes of an image before suppression.", at_least(0)),
        optional<&Op::normalized>("normalized", "Whether coordinates are edges; if not, pixel indices."),
        optional<&Op::nms_eta>(
            "nms_eta", "Factor of the threshold for every kept box, while it is above 0.5.", between(0, 1)),
        optional<&Op::roi_num_type>("roi_num_type", "Type of the numbers of rows: i32 or i64."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v9
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_PROPOSAL_H_
