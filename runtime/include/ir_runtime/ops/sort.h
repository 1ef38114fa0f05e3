// Selection by value: the largest elements of an axis, the best of overlapping boxes.
#ifndef IR_RUNTIME_OPS_SORT_H_
#define IR_RUNTIME_OPS_SORT_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// What the four numbers of a box are.
enum class BoxEncoding : int {
  corner,  ///< y1, x1, y2, x2: any two opposite corners
  center,  ///< x_center, y_center, width, height
};
inline constexpr std::array kBoxEncodingSpellings{
    Spelling{static_cast<int>(BoxEncoding::corner), "corner"},
    Spelling{static_cast<int>(BoxEncoding::center), "center"},
};
constexpr std::span<const Spelling> spellings_of(BoxEncoding) { return kBoxEncodingSpellings; }

/// Which elements TopK takes.
enum class TopKMode : int { max, min };
inline constexpr std::array kTopKModeSpellings{
    Spelling{static_cast<int>(TopKMode::max), "max"},
    Spelling{static_cast<int>(TopKMode::min), "min"},
};
constexpr std::span<const Spelling> spellings_of(TopKMode) { return kTopKModeSpellings; }

/// The order of what TopK took.
enum class TopKSort : int { none, index, value };
inline constexpr std::array kTopKSortSpellings{
    Spelling{static_cast<int>(TopKSort::none), "none"},
    Spelling{static_cast<int>(TopKSort::index), "index"},
    Spelling{static_cast<int>(TopKSort::value), "value"},
};
constexpr std::span<const Spelling> spellings_of(TopKSort) { return kTopKSortSpellings; }

/// Attributes of every version of NonMaxSuppression; version 1 has no output_type.
struct NonMaxSuppressionAttributes {
  BoxEncoding box_encoding = BoxEncoding::corner;
  bool sort_result_descending = true;
  ElementType output_type = ElementType::i64;
};

/// Attributes of every version of TopK.
struct TopKAttributes {
  std::int64_t axis = 0;
  TopKMode mode = TopKMode::max;
  TopKSort sort = TopKSort::none;
  ElementType index_element_type = ElementType::i32;
};

namespace detail {

template <class Op, class... More>
constexpr auto non_max_suppression_fields(More... more) {
  return std::array{
      optional<&Op::box_encoding>("box_encoding", "What the four numbers of a box are."),
      optional<&Op::sort_result_descending>(
          "sort_result_descending",
          "Whether results are sorted by score over all batches and classes, not only within them."),
      more...,
  };
}

template <class Op>
constexpr auto typed_non_max_suppression_fields() {
  return non_max_suppression_fields<Op>(
      optional<&Op::output_type>("output_type", "Type of the indices: i32 or i64."));
}

template <class Op, class... More>
constexpr auto top_k_fields(More... more) {
  return std::array{
      required<&Op::axis>("axis", "Axis to select along; negative ones count from the end."),
      required<&Op::mode>("mode", "Whether the largest or the smallest elements are taken."),
      required<&Op::sort>("sort", "Order of the taken elements."),
      optional<&Op::index_element_type>("index_element_type", "Type of the positions: i32 or i64."),
      more...,
  };
}

}  // namespace detail

namespace v1 {

/// Greedy suppression for each class of each batch element. Inputs: boxes [batches, boxes, 4] and scores
/// [batches, classes, boxes] of real types; then, each one element and optional with default 0, the largest
/// number of boxes per class (an integer type), the overlap and the score threshold. Output
/// [min(boxes, max boxes * classes), 3] of i64: batch, class and box of what is left; unused rows hold -1.
/// Overlaps that equal the threshold suppress, as in OpenVINO's reference code. Definition:
/// NonMaxSuppression-1.
struct NonMaxSuppression : NonMaxSuppressionAttributes {
  static constexpr OpInfo info{.type = "NonMaxSuppression",
                               .last_opset = 2,
                               .family = "sort",
                               .summary = "Drops boxes that overlap a box of higher score."};
  static constexpr auto fields() { return detail::non_max_suppression_fields<NonMaxSuppression>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The k largest or smallest elements along an axis, and their positions. Inputs: data of any rank from 1 and
/// any numeric type; k, one element of an integer type. Both outputs are as the data with k for the axis.
/// Among equal elements lower positions come first. Definition: TopK-1.
struct TopK : TopKAttributes {
  static constexpr OpInfo info{.type = "TopK",
                               .last_opset = 2,
                               .family = "sort",
                               .summary = "The k largest or smallest elements along an axis."};
  static constexpr auto fields() { return detail::top_k_fields<TopK>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v3 {

/// As v1::NonMaxSuppression, with a choice of the output's type.
struct NonMaxSuppression : NonMaxSuppressionAttributes {
  static constexpr OpInfo info{.type = "NonMaxSuppression",
                               .first_opset = 3,
                               .last_opset = 3,
                               .family = "sort",
                               .summary = "Drops boxes that overlap a box of higher score."};
  static constexpr auto fields() { return detail::typed_non_max_suppression_fields<NonMaxSuppression>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// As v1::TopK.
struct TopK : TopKAttributes {
  static constexpr OpInfo info{.type = "TopK",
                               .first_opset = 3,
                               .last_opset = 10,
                               .family = "sort",
                               .summary = "The k largest or smallest elements along an axis."};
  static constexpr auto fields() { return detail::top_k_fields<TopK>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v4 {

/// As v3::NonMaxSuppression; the output has min(boxes, max boxes) * batches * classes rows.
struct NonMaxSuppression : NonMaxSuppressionAttributes {
  static constexpr OpInfo info{.type = "NonMaxSuppression",
                               .first_opset = 4,
                               .last_opset = 4,
                               .family = "sort",
                               .summary = "Drops boxes that overlap a box of higher score."};
  static constexpr auto fields() { return detail::typed_non_max_suppression_fields<NonMaxSuppression>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v4

namespace v5 {

/// As v4::NonMaxSuppression with as many rows as there are results, an input 5 that makes it soft
/// suppression when above 0 (a kept box lowers the scores of those it overlaps), and two more outputs: [rows,
/// 3] batch, class and score as f32, and [1] the number of rows.
struct NonMaxSuppression : NonMaxSuppressionAttributes {
  static constexpr OpInfo info{
      .type = "NonMaxSuppression",
      .first_opset = 5,
      .last_opset = 8,
      .family = "sort",
      .summary = "Drops boxes that overlap a box of higher score, or lowers their scores."};
  static constexpr auto fields() { return detail::typed_non_max_suppression_fields<NonMaxSuppression>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v5

namespace v9 {

/// As v5::NonMaxSuppression, but only overlaps above the threshold suppress, and soft suppression does not
/// look at it.
struct NonMaxSuppression : NonMaxSuppressionAttributes {
  static constexpr OpInfo info{
      .type = "NonMaxSuppression",
      .first_opset = 9,
      .family = "sort",
      .summary = "Drops boxes that overlap a box of higher score, or lowers their scores."};
  static constexpr auto fields() { return detail::typed_non_max_suppression_fields<NonMaxSuppression>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v9

namespace v11 {

/// As v3::TopK; `stable` asks for what all versions do here.
struct TopK : TopKAttributes {
  static constexpr OpInfo info{.type = "TopK",
                               .first_opset = 11,
                               .family = "sort",
                               .summary = "The k largest or smallest elements along an axis."};
  bool stable = false;
  static constexpr auto fields() {
    return detail::top_k_fields<TopK>(
        optional<&TopK::stable>("stable", "Whether equal elements keep their order; they always do here."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v11
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_SORT_H_
