// Where values belong in an ascending sequence.
#ifndef IR_RUNTIME_OPS_SEARCH_SORTED_H_
#define IR_RUNTIME_OPS_SEARCH_SORTED_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

namespace v3 {

/// The bucket of every element. Inputs: elements of a numeric type and any shape, ascending boundaries of a
/// numeric type, a vector. Output: the number of boundaries below each element, of its shape. Definition:
/// Bucketize-3.
struct Bucketize {
  static constexpr OpInfo info{.type = "Bucketize",
                               .first_opset = 3,
                               .family = "condition",
                               .summary = "The bucket that every element falls into."};
  ElementType output_type = ElementType::i64;
  bool with_right_bound = true;
  static constexpr auto fields() {
    return std::array{
        optional<&Bucketize::output_type>("output_type", "Type of the output: i32 or i64."),
        optional<&Bucketize::with_right_bound>(
            "with_right_bound", "Whether a boundary belongs to the bucket below it, not to the one above."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v15 {

/// Where every value would have to be inserted to keep a sequence ascending. Inputs of one numeric type:
/// ascending along the last axis; values. Without it the dims of both agree, or the sequence is a vector for
/// values of any shape. Output: positions of the shape of the values. Definition: SearchSorted-15; later
/// releases of OpenVINO write `output_type`, too.
struct SearchSorted {
  static constexpr OpInfo info{.type = "SearchSorted",
                               .first_opset = 15,
                               .family = "sort",
                               .summary = "Where values belong in an ascending sequence."};
  bool right_mode = false;
  ElementType output_type = ElementType::i64;
  static constexpr auto fields() {
    return std::array{
        optional<&SearchSorted::right_mode>(
            "right_mode", "Whether the position is behind equal elements, not before them."),
        optional<&SearchSorted::output_type>("output_type", "Type of the output: i32 or i64."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v15
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_SEARCH_SORTED_H_
