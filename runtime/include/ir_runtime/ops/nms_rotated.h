// Selection of the best of boxes at an angle.
#ifndef IR_RUNTIME_OPS_NMS_ROTATED_H_
#define IR_RUNTIME_OPS_NMS_ROTATED_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v13 {

/// Drops boxes that overlap a box of higher score, in each class of each batch element. Inputs: [batches,
/// boxes, 5] x_center, y_center, width, height and angle in radians, [batches, classes, boxes] scores, and
/// one element each: the largest number of boxes per class, the overlap above which a box goes, the score
/// above which a box counts. Outputs as v9::NonMaxSuppression. Definition: NMSRotated-13.
struct NMSRotated {
  static constexpr OpInfo info{.type = "NMSRotated",
                               .first_opset = 13,
                               .family = "sort",
                               .summary = "Drops boxes at an angle that overlap a box of higher score."};
  bool sort_result_descending = true;
  ElementType output_type = ElementType::i64;
  bool clockwise = true;
  static constexpr auto fields() {
    return std::array{
        optional<&NMSRotated::sort_result_descending>(
            "sort_result_descending",
            "Whether results are sorted by score over all batches and classes, not only within them."),
        optional<&NMSRotated::output_type>("output_type", "Type of the indices: i32 or i64."),
        optional<&NMSRotated::clockwise>("clockwise", "Whether positive angles turn clockwise."),
        ignored("box_encoding", "Of the first writers; boxes have a centre and a size."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v13

#endif  // IR_RUNTIME_OPS_NMS_ROTATED_H_
