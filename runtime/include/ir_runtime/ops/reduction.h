// Reductions over any axes.
#ifndef IR_RUNTIME_OPS_REDUCTION_H_
#define IR_RUNTIME_OPS_REDUCTION_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// Inputs: data of any shape; axes, a scalar or vector of integers, negative ones counting from the end. As
/// in OpenVINO, an axis that is named twice counts once, and a scalar has an axis 0. The output has the
/// data's type and lacks the reduced axes, or has ones there. Without axes it is the data. Numeric types,
/// ReduceLogicalAnd and ReduceLogicalOr: boolean.
template <class Op>
struct Reduction {
  bool keep_dims = false;
  static constexpr auto fields() {
    return std::array{
        optional<&Op::keep_dims>("keep_dims", "Whether reduced axes stay, with dims of 1."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

namespace detail {

constexpr OpInfo reduction(std::string_view type, std::string_view summary, int first_opset = 1) {
  return {.type = type, .first_opset = first_opset, .family = "reduction", .summary = summary};
}

}  // namespace detail

namespace v1 {

struct ReduceLogicalAnd : Reduction<ReduceLogicalAnd> {
  static constexpr OpInfo info = detail::reduction("ReduceLogicalAnd", "Whether all are true.");
};

struct ReduceLogicalOr : Reduction<ReduceLogicalOr> {
  static constexpr OpInfo info = detail::reduction("ReduceLogicalOr", "Whether any is true.");
};

struct ReduceMax : Reduction<ReduceMax> {
  static constexpr OpInfo info = detail::reduction("ReduceMax", "Maximum over axes.");
};

/// Integers are rounded toward zero.
struct ReduceMean : Reduction<ReduceMean> {
  static constexpr OpInfo info = detail::reduction("ReduceMean", "Mean over axes.");
};

struct ReduceMin : Reduction<ReduceMin> {
  static constexpr OpInfo info = detail::reduction("ReduceMin", "Minimum over axes.");
};

struct ReduceProd : Reduction<ReduceProd> {
  static constexpr OpInfo info = detail::reduction("ReduceProd", "Product over axes.");
};

struct ReduceSum : Reduction<ReduceSum> {
  static constexpr OpInfo info = detail::reduction("ReduceSum", "Sum over axes.");
};

}  // namespace v1

namespace v4 {

struct ReduceL1 : Reduction<ReduceL1> {
  static constexpr OpInfo info = detail::reduction("ReduceL1", "Sum of absolute values over axes.", 4);
};

struct ReduceL2 : Reduction<ReduceL2> {
  static constexpr OpInfo info =
      detail::reduction("ReduceL2", "Square root of the sum of squares over axes.", 4);
};

}  // namespace v4
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_REDUCTION_H_
