// Object detection: prior boxes of SSD heads and the decoding of what the heads predict.
#ifndef IR_RUNTIME_OPS_DETECTION_H_
#define IR_RUNTIME_OPS_DETECTION_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// How box logits move a prior: its corners, or its centre and the logarithm of its size.
enum class CodeType : int { corner, center_size };
inline constexpr std::array kCodeTypeSpellings{
    Spelling{static_cast<int>(CodeType::corner), "caffe.PriorBoxParameter.CORNER"},
    Spelling{static_cast<int>(CodeType::center_size), "caffe.PriorBoxParameter.CENTER_SIZE"},
};
constexpr std::span<const Spelling> spellings_of(CodeType) { return kCodeTypeSpellings; }

/// Attributes of both versions of PriorBox; sizes and steps in pixels.
struct PriorBoxAttributes {
  std::vector<double> min_size;
  std::vector<double> max_size;
  std::vector<double> aspect_ratio;
  std::vector<double> density;
  std::vector<double> fixed_ratio;
  std::vector<double> fixed_size;
  bool clip = false;
  bool flip = false;
  double step = 0;
  double offset = 0;
  std::vector<double> variance;
  bool scale_all_sizes = true;
};

/// Attributes of both versions of DetectionOutput.
struct DetectionOutputAttributes {
  std::int64_t background_label_id = 0;
  std::int64_t top_k = -1;
  bool variance_encoded_in_target = false;
  std::vector<std::int64_t> keep_top_k;
  CodeType code_type = CodeType::corner;
  bool share_location = true;
  double nms_threshold = 0;
  double confidence_threshold = 0;
  bool clip_after_nms = false;
  bool clip_before_nms = false;
  bool decrease_label_id = false;
  bool normalized = false;
  std::int64_t input_height = 1;
  std::int64_t input_width = 1;
  double objectness_score = 0;
};

namespace detail {

template <class Op, class... More>
constexpr auto prior_box_fields(More... more) {
  return std::array{
      optional<&Op::min_size>("min_size", "Sizes of the square boxes.", at_least(0)),
      optional<&Op::max_size>("max_size", "Sizes that give a second square box, as large as the mean.",
                              at_least(0)),
      optional<&Op::aspect_ratio>("aspect_ratio", "Width over height of further boxes.", at_least(0)),
      optional<&Op::density>("density", "Boxes per axis in which a fixed size is spread over its area.",
                             at_least(1)),
      optional<&Op::fixed_ratio>("fixed_ratio", "Width over height of boxes of the fixed sizes.",
                                 at_least(0)),
      optional<&Op::fixed_size>("fixed_size", "Sizes of boxes that are spread by density.", at_least(0)),
      optional<&Op::clip>("clip", "Whether coordinates are limited to [0, 1]."),
      optional<&Op::flip>("flip", "Whether each aspect ratio counts upside down, too."),
      optional<&Op::step>("step", "Distance of box centres; 0: image size over grid size."),
      required<&Op::offset>("offset", "Centre of the first box, in steps."),
      optional<&Op::variance>("variance", "Variances of the box coordinates: none, one or four."),
      optional<&Op::scale_all_sizes>(
          "scale_all_sizes",
          "Whether the aspect ratios go with every min_size; if not, they go with the "
          "first, and sizes and step are fractions of the image, as in MXNet."),
      more...,
  };
}

template <class Op, class... More>
constexpr auto detection_output_fields(More... more) {
  return std::array{
      optional<&Op::background_label_id>("background_label_id", "Class of the background; -1: none."),
      optional<&Op::top_k>("top_k", "Candidates before suppression, for each class; -1: all."),
      optional<&Op::variance_encoded_in_target>("variance_encoded_in_target",
                                                "Whether the logits are scaled by the variances already."),
      required<&Op::keep_top_k>("keep_top_k", "Detections for each image (the first value); -1: all."),
      optional<&Op::code_type>("code_type", "How box logits move a prior box."),
      optional<&Op::share_location>("share_location", "Whether all classes have the same boxes."),
      required<&Op::nms_threshold>("nms_threshold", "Overlap above which the box of lower score goes."),
      optional<&Op::confidence_threshold>("confidence_threshold", "Lowest score of a candidate."),
      optional<&Op::clip_after_nms>("clip_after_nms", "Whether boxes are limited to [0, 1] at the end."),
      optional<&Op::clip_before_nms>("clip_before_nms",
                                     "Whether boxes are limited to [0, 1] before suppression."),
      optional<&Op::decrease_label_id>("decrease_label_id",
                                       "Whether each prior counts for its best class only, as in MXNet."),
      optional<&Op::normalized>("normalized", "Whether prior boxes are fractions of the image."),
      optional<&Op::input_height>("input_height", "Height of the image; used unless normalized."),
      optional<&Op::input_width>("input_width", "Width of the image; used unless normalized."),
      optional<&Op::objectness_score>("objectness_score",
                                      "Lowest objectness (input 3) of a prior that counts."),
      ignored("eta", "Written by old converters from Caffe's parameters; unused."),
      ignored("prob", "Written by old converters from Caffe's parameters; unused."),
      ignored("height", "Written by old converters from Caffe's parameters; unused."),
      ignored("width", "Written by old converters from Caffe's parameters; unused."),
      ignored("height_scale", "Written by old converters from Caffe's parameters; unused."),
      ignored("width_scale", "Written by old converters from Caffe's parameters; unused."),
      ignored("interp_mode", "Written by old converters from Caffe's parameters; unused."),
      ignored("pad_mode", "Written by old converters from Caffe's parameters; unused."),
      ignored("pad_value", "Written by old converters from Caffe's parameters; unused."),
      ignored("resize_mode", "Written by old converters from Caffe's parameters; unused."),
      ignored("visualize_threshold", "Written by old converters from Caffe's parameters; unused."),
      more...,
  };
}

}  // namespace detail

namespace v0 {

/// Boxes of given sizes around the centre of every cell of a grid. Inputs: [2] height and width of the grid,
/// [2] height and width of the image, of any integer type. Output [2, height * width * boxes * 4] of f32: the
/// boxes as fractions of the image, then their variances. Definition: PriorBox-1; the number and the order of
/// the boxes of a cell are those of OpenVINO's reference code.
struct PriorBox : PriorBoxAttributes {
  static constexpr OpInfo info{.type = "PriorBox",
                               .last_opset = 7,
                               .family = "detection",
                               .summary = "Boxes of given sizes around the cells of a grid."};
  static constexpr auto fields() { return detail::prior_box_fields<PriorBox>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Boxes of given widths and heights around the centre of every cell. Inputs and output as PriorBox.
/// Definition: PriorBoxClustered-1.
struct PriorBoxClustered {
  static constexpr OpInfo info{.type = "PriorBoxClustered",
                               .family = "detection",
                               .summary = "Boxes of given widths and heights around the cells of a grid."};
  std::vector<double> width{1.0};
  std::vector<double> height{1.0};
  bool clip = true;
  double step = 0;
  double step_w = 0;
  double step_h = 0;
  double offset = 0;
  std::vector<double> variance;
  static constexpr auto fields() {
    using Op = PriorBoxClustered;
    return std::array{
        optional<&Op::width>("width", "Widths of the boxes in pixels."),
        optional<&Op::height>("height", "Heights of the boxes in pixels."),
        optional<&Op::clip>("clip", "Whether coordinates are limited to [0, 1]."),
        optional<&Op::step>("step", "Distance of box centres where step_w or step_h is 0."),
        optional<&Op::step_w>("step_w", "Distance of box centres along x; all 0: image size over grid size."),
        optional<&Op::step_h>("step_h", "Distance of box centres along y."),
        required<&Op::offset>("offset", "Centre of the first box, in steps."),
        optional<&Op::variance>("variance", "Variances of the box coordinates: none, one or four."),
        ignored("flip", "Written by old converters; the operation has no ratios to flip."),
        ignored("img_h", "Written by old converters; input 1 says it."),
        ignored("img_w", "Written by old converters; input 1 says it."),
        ignored("img_size", "Written by old converters; input 1 says it."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Decodes the boxes of an SSD head, suppresses overlaps per class and lists what is left. Inputs of a real
/// type: [images, priors * locations * 4] box logits (locations is 1 or, without share_location, the number
/// of classes), [images, priors * classes] scores, [1 or images, 2, priors * 4] prior boxes and variances
/// (one row when variance_encoded_in_target; 5 values a prior unless normalized), and both or none of
/// [images, priors * 2] objectness and first box logits shaped as input 0. Output [1, 1, rows, 7]: image,
/// label, score, box; a row of image -1 ends the list. Definition: DetectionOutput-1.
struct DetectionOutput : DetectionOutputAttributes {
  static constexpr OpInfo info{.type = "DetectionOutput",
                               .last_opset = 7,
                               .family = "detection",
                               .summary = "Decodes and filters the predictions of an SSD head."};
  std::int64_t num_classes = 0;
  static constexpr auto fields() {
    return detail::detection_output_fields<DetectionOutput>(
        required<&DetectionOutput::num_classes>("num_classes", "Number of classes.", at_least(1)));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v8 {

/// As v0::PriorBox, with a choice of the order within a cell.
struct PriorBox : PriorBoxAttributes {
  static constexpr OpInfo info{.type = "PriorBox",
                               .first_opset = 8,
                               .family = "detection",
                               .summary = "Boxes of given sizes around the cells of a grid."};
  bool min_max_aspect_ratios_order = true;
  static constexpr auto fields() {
    return detail::prior_box_fields<PriorBox>(optional<&PriorBox::min_max_aspect_ratios_order>(
        "min_max_aspect_ratios_order",
        "Whether the box of max_size comes before those of the aspect ratios, as in Caffe."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// As v0::DetectionOutput; the number of classes follows from the shapes.
struct DetectionOutput : DetectionOutputAttributes {
  static constexpr OpInfo info{.type = "DetectionOutput",
                               .first_opset = 8,
                               .family = "detection",
                               .summary = "Decodes and filters the predictions of an SSD head."};
  static constexpr auto fields() {
    return detail::detection_output_fields<DetectionOutput>(
        ignored("num_classes", "Of the older version; the shapes say it."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_DETECTION_H_
