// How often values are there.
#ifndef IR_RUNTIME_OPS_HISTOGRAM_H_
#define IR_RUNTIME_OPS_HISTOGRAM_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v17 {

/// How often each of the values 0, 1, 2, ... is there. Inputs: a vector of i32, i64, u8, u16, u32 or u64,
/// none negative; optionally their weights, a vector as long of f32, f64, i32 or i64. Output: a vector of
/// i64, or of the type of the weights, which are added up then, in their order. Its length, max(largest value
/// + 1, minlength), is known only when the data is there. Definition: Bincount-17.
struct Bincount {
  static constexpr OpInfo info{.type = "Bincount",
                               .first_opset = 17,
                               .family = "condition",
                               .summary = "How often each value is there, or the sum of its weights."};
  std::int64_t minlength = 0;
  static constexpr auto fields() {
    return std::array{
        optional<&Bincount::minlength>("minlength", "Length that the output has at least.", at_least(0)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// How many elements fall into each of some equal bins. Input of a floating type and any shape; output [bins]
/// of its type. Bins divide [min_val, max_val], both borders included, or, where both are 0, the range of the
/// elements. Elements outside and NaN are not counted. OpenVINO has no text of Histc-17: the definition is
/// its header and its reference implementation, also where one element is NaN (it leaves the range as it is,
/// but for the first one, which leaves no range: nothing is counted) and where the range is one value (all
/// are in bin 0). Counts of halves are rounded once, in the end.
struct Histc {
  static constexpr OpInfo info{.type = "Histc",
                               .first_opset = 17,
                               .family = "condition",
                               .summary = "How many elements fall into each of some equal bins."};
  std::int64_t bins = 100;
  double min_val = 0;
  double max_val = 0;
  static constexpr auto fields() {
    return std::array{
        optional<&Histc::bins>("bins", "Number of bins.", at_least(0)),
        optional<&Histc::min_val>("min_val", "Lower border of the first bin."),
        optional<&Histc::max_val>("max_val",
                                  "Upper border of the last bin; with 0 for both, the elements' range."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v17

#endif  // IR_RUNTIME_OPS_HISTOGRAM_H_
