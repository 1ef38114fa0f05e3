// Softmax and its logarithm.
#ifndef IR_RUNTIME_OPS_SOFTMAX_H_
#define IR_RUNTIME_OPS_SOFTMAX_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// One input of a floating-point type and rank 1 or more; the output is alike. Each line along `axis` is
/// treated alone.
template <class Op>
struct AlongAxis {
  std::int64_t axis = 1;
  static constexpr auto fields() {
    return std::array{
        optional<&Op::axis>("axis",
                            "The axis; negative ones count from the end, but for SoftMax before opset8."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

namespace v1 {

/// exp(x) / sum(exp(x)).
struct SoftMax : AlongAxis<SoftMax> {
  static constexpr OpInfo info{.type = "SoftMax",
                               .last_opset = 7,
                               .family = "activation",
                               .summary = "Exponentials along an axis, scaled to a sum of 1."};
};

}  // namespace v1

namespace v5 {

/// log(exp(x) / sum(exp(x))).
struct LogSoftmax : AlongAxis<LogSoftmax> {
  static constexpr OpInfo info{.type = "LogSoftmax",
                               .first_opset = 5,
                               .family = "activation",
                               .summary = "Logarithm of SoftMax along an axis."};
};

}  // namespace v5

namespace v8 {

/// As v1::SoftMax.
struct SoftMax : AlongAxis<SoftMax> {
  static constexpr OpInfo info{.type = "SoftMax",
                               .first_opset = 8,
                               .family = "activation",
                               .summary = "Exponentials along an axis, scaled to a sum of 1."};
};

}  // namespace v8
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_SOFTMAX_H_
