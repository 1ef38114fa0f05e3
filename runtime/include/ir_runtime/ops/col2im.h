// From sliding blocks back to an image.
#ifndef IR_RUNTIME_OPS_COL2IM_H_
#define IR_RUNTIME_OPS_COL2IM_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v15 {

/// Sums overlapping blocks to an image. Inputs: blocks [N, C * KY * KX, L] or [C * KY * KX, L] of any numeric
/// type, where L counts the windows of KY x KX over the padded image; the image's height and width; KY and
/// KX (both i32 or i64 [2]). Output [N, C, height, width] or [C, height, width]. Padding is dropped; pixels
/// without a block are 0. Definition: Col2Im-15.
struct Col2Im {
  static constexpr OpInfo info{.type = "Col2Im",
                               .first_opset = 15,
                               .family = "movement",
                               .summary = "Sums the sliding blocks of an image to the image."};
  std::vector<std::int64_t> strides = {1, 1};
  std::vector<std::int64_t> dilations = {1, 1};
  std::vector<std::int64_t> pads_begin = {0, 0};
  std::vector<std::int64_t> pads_end = {0, 0};

  static constexpr auto fields() {
    return std::array{
        optional<&Col2Im::strides>("strides", "Step from block to block.", at_least(1)),
        optional<&Col2Im::dilations>("dilations", "Distance between the elements of a block.", at_least(1)),
        optional<&Col2Im::pads_begin>("pads_begin", "Padding of the image before its first element.",
                                      at_least(0)),
        optional<&Col2Im::pads_end>("pads_end", "Padding of the image after its last element.", at_least(0)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v15

#endif  // IR_RUNTIME_OPS_COL2IM_H_
