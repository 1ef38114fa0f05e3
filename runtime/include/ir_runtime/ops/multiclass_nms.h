// Suppression for all classes of an image together.
#ifndef IR_RUNTIME_OPS_MULTICLASS_NMS_H_
#define IR_RUNTIME_OPS_MULTICLASS_NMS_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// The order of the boxes that MulticlassNms and MatrixNms select.
enum class SelectionSort : int { label, score, none };
inline constexpr std::array kSelectionSortSpellings{
    Spelling{static_cast<int>(SelectionSort::label), "classid"},
    Spelling{static_cast<int>(SelectionSort::score), "score"},
    Spelling{static_cast<int>(SelectionSort::none), "none"},
};
constexpr std::span<const Spelling> spellings_of(SelectionSort) { return kSelectionSortSpellings; }

/// How MatrixNms lowers the scores of boxes that overlap better ones.
enum class DecayFunction : int { linear, gaussian };
inline constexpr std::array kDecayFunctionSpellings{
    Spelling{static_cast<int>(DecayFunction::linear), "linear"},
    Spelling{static_cast<int>(DecayFunction::gaussian), "gaussian"},
};
constexpr std::span<const Spelling> spellings_of(DecayFunction) { return kDecayFunctionSpellings; }

/// What MulticlassNms and MatrixNms have in common.
struct SelectionAttributes {
  SelectionSort sort_result_type = SelectionSort::none;
  bool sort_result_across_batch = false;
  ElementType output_type = ElementType::i64;
  double score_threshold = 0;
  std::int64_t nms_top_k = -1;
  std::int64_t keep_top_k = -1;
  std::int64_t background_class = -1;
  bool normalized = true;
};

/// Attributes of both versions of MulticlassNms.
struct MulticlassNmsAttributes : SelectionAttributes {
  double iou_threshold = 0;
  double nms_eta = 1;
};

namespace detail {

template <class Op, class... More>
constexpr auto selection_fields(More... more) {
  return std::array{
      optional<&Op::sort_result_type>("sort_result_type", "Order of the boxes of an image."),
      optional<&Op::sort_result_across_batch>("sort_result_across_batch",
                                              "Whether the boxes of all images are sorted together."),
      optional<&Op::output_type>("output_type", "Type of the indices and counts: i32 or i64."),
      optional<&Op::score_threshold>("score_threshold", "Least score of a candidate."),
      optional<&Op::nms_top_k>("nms_top_k", "Candidates of each class; -1: all.", at_least(-1)),
      optional<&Op::keep_top_k>("keep_top_k", "Boxes of each image; -1: all.", at_least(-1)),
      optional<&Op::background_class>("background_class", "Class that is left out; -1: none.", at_least(-1)),
      optional<&Op::normalized>("normalized", "Whether boxes are fractions of the image, not pixels."),
      more...,
  };
}

template <class Op>
constexpr auto multiclass_nms_fields() {
  return selection_fields<Op>(
      optional<&Op::iou_threshold>("iou_threshold", "Overlap from which the box of lower score goes."),
      optional<&Op::nms_eta>("nms_eta",
                             "Every kept box multiplies the overlap threshold by this while it is above 0.5.",
                             between(0, 1)));
}

}  // namespace detail

namespace v8 {

/// Drops boxes that overlap a box of higher score, in each class of each image, and keeps the best of each
/// image. Inputs of a real type: [images, boxes, 4] x_min, y_min, x_max, y_max and [images, classes, boxes]
/// scores. Outputs: [rows, 6] class, score and box; [rows, 1] positions in the list of all boxes; [images]
/// rows of each image. Definition: MulticlassNonMaxSuppression-8; a score that equals the threshold makes a
/// candidate, and an overlap that equals the threshold suppresses, as in OpenVINO's code. With sorting `none`
/// boxes come by score within each image.
struct MulticlassNms : MulticlassNmsAttributes {
  static constexpr OpInfo info{
      .type = "MulticlassNms",
      .first_opset = 8,
      .last_opset = 8,
      .family = "sort",
      .summary = "Drops boxes that overlap a box of higher score, and keeps the best of each image."};
  static constexpr auto fields() { return detail::multiclass_nms_fields<MulticlassNms>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// As MulticlassNms, but nothing is dropped at once: the score of a box decays by its overlaps with all
/// better boxes of the class, and what is not above `post_threshold` then goes. Definition:
/// MatrixNonMaxSuppression-8; as in OpenVINO's code, sorting by class counts across the batch only.
struct MatrixNms : SelectionAttributes {
  static constexpr OpInfo info{.type = "MatrixNms",
                               .first_opset = 8,
                               .family = "sort",
                               .summary = "Lowers the scores of boxes by their overlaps with better ones."};
  DecayFunction decay_function = DecayFunction::linear;
  double gaussian_sigma = 2;
  double post_threshold = 0;
  static constexpr auto fields() {
    using Op = MatrixNms;
    return detail::selection_fields<Op>(
        optional<&Op::decay_function>("decay_function", "How an overlap lowers a score."),
        optional<&Op::gaussian_sigma>("gaussian_sigma", "Strength of the gaussian decay."),
        optional<&Op::post_threshold>("post_threshold", "Only lowered scores above it are results."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8

namespace v9 {

/// As v8::MulticlassNms, or with boxes of their own for every class: inputs [classes, boxes, 4], [classes,
/// boxes] and [images] of an integer type, the number of boxes in each image, one image behind the other.
/// Positions then count all boxes of all classes, classes innermost.
struct MulticlassNms : MulticlassNmsAttributes {
  static constexpr OpInfo info{
      .type = "MulticlassNms",
      .first_opset = 9,
      .family = "sort",
      .summary = "Drops boxes that overlap a box of higher score, and keeps the best of each image."};
  static constexpr auto fields() { return detail::multiclass_nms_fields<MulticlassNms>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v9
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_MULTICLASS_NMS_H_
