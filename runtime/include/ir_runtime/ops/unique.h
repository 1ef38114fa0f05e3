// The distinct elements of a tensor.
#ifndef IR_RUNTIME_OPS_UNIQUE_H_
#define IR_RUNTIME_OPS_UNIQUE_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v10 {

/// The distinct elements of a tensor or, with an axis, its distinct slices. Inputs: a tensor of any type but
/// string; optionally the axis, one integer. Outputs: the distinct elements as a vector, or the tensor with
/// its distinct slices only; for each of them where it is first; for each element or slice of the input which
/// of the distinct ones it equals; how often each is there. Definition: Unique-10. -0 equals +0; NaN equals
/// nothing and comes last when sorted.
struct Unique {
  static constexpr OpInfo info{.type = "Unique",
                               .first_opset = 10,
                               .family = "movement",
                               .summary = "The distinct elements of a tensor, or slices along an axis."};
  bool sorted = true;
  ElementType index_element_type = ElementType::i64;
  ElementType count_element_type = ElementType::i64;
  static constexpr auto fields() {
    return std::array{
        optional<&Unique::sorted>("sorted",
                                  "Whether the result ascends; if not, it is in order of occurrence."),
        optional<&Unique::index_element_type>("index_element_type", "Type of the positions: i32 or i64."),
        optional<&Unique::count_element_type>("count_element_type", "Type of the counts: i32 or i64."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v10

#endif  // IR_RUNTIME_OPS_UNIQUE_H_
