// The special layers of YOLO 2 and 3.
#ifndef IR_RUNTIME_OPS_YOLO_H_
#define IR_RUNTIME_OPS_YOLO_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v0 {

/// The activations of YOLO's last layer: sigmoid of the first two coordinates and of the objectness, softmax
/// or sigmoid of the classes. Input of a real type: [N, C, H, W]; C holds coords + 1 + classes channels for
/// each region. Output with do_softmax: the input with the axes from `axis` to `end_axis` made one; there are
/// `num` regions. Output without: [N, (coords + 1 + classes) * length of mask, H, W]; channels beyond are
/// dropped. Definition: RegionYolo-1.
struct RegionYolo {
  static constexpr OpInfo info{
      .type = "RegionYolo", .family = "detection", .summary = "The activations of YOLO's last layer."};
  std::vector<double> anchors;
  std::int64_t axis = 0;
  std::int64_t coords = 0;
  std::int64_t classes = 0;
  std::int64_t end_axis = 0;
  std::int64_t num = 0;
  bool do_softmax = true;
  std::vector<std::int64_t> mask;
  static constexpr auto fields() {
    using Op = RegionYolo;
    return std::array{
        optional<&Op::anchors>("anchors",
                               "Width and height of each prior box, for whoever decodes the output."),
        required<&Op::axis>("axis", "First axis that do_softmax flattens; negative ones count from the end."),
        required<&Op::coords>("coords", "Coordinates of a region.", at_least(0)),
        required<&Op::classes>("classes", "Number of classes.", at_least(0)),
        required<&Op::end_axis>("end_axis", "Last axis that do_softmax flattens."),
        required<&Op::num>("num", "Number of regions with do_softmax.", at_least(0)),
        optional<&Op::do_softmax>("do_softmax", "Whether the classes exclude each other: YOLO 2, not 3."),
        optional<&Op::mask>("mask", "One entry for each region without do_softmax."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Moves blocks from space to channels the way YOLO 2 does: [N, C, H, W] of any type, seen as [N, C /
/// stride^2, H * stride, W * stride], becomes [N, C * stride^2, H / stride, W / stride], the position in the
/// block outermost. Definition: ReorgYolo-1.
struct ReorgYolo {
  static constexpr OpInfo info{.type = "ReorgYolo",
                               .first_opset = 2,
                               .family = "detection",
                               .summary = "Blocks moved from space into the channels as in YOLO 2."};
  std::vector<std::int64_t> stride;
  static constexpr auto fields() {
    return std::array{
        required<&ReorgYolo::stride>("stride", "Side length of a block (the first value).", at_least(1))};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v0

#endif  // IR_RUNTIME_OPS_YOLO_H_
