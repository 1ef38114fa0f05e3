// Simulated quantisation.
#ifndef IR_RUNTIME_OPS_QUANTIZATION_H_
#define IR_RUNTIME_OPS_QUANTIZATION_H_

#include <array>

#include "ir_runtime/ops/elementwise_binary.h"

namespace ir::op {
namespace v0 {

/// Maps [input low, input high] to `levels` evenly spaced values of [output low, output high], and what lies
/// outside to the nearer end. Inputs: data, input low, input high, output low, output high, of one
/// floating-point type; the limits spread over the data, whose shape the output has (ones before its axes do
/// not count).
struct FakeQuantize {
  static constexpr OpInfo info{.type = "FakeQuantize",
                               .family = "quantization",
                               .summary = "Values rounded to a number of levels between limits."};
  std::int64_t levels = 256;
  AutoBroadcast auto_broadcast = AutoBroadcast::numpy;
  std::int64_t auto_broadcast_axis = -1;
  static constexpr auto fields() {
    const auto broadcast = detail::broadcast_fields<FakeQuantize>();
    return std::array{
        required<&FakeQuantize::levels>("levels", "Number of values.", at_least(2)),
        broadcast[0],
        broadcast[1],
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v13 {

/// (f8(data * scale - shift) + shift) / scale, where f8 rounds to the nearest value of an 8-bit float and
/// saturates at the largest, 448 of f8e4m3 and 57344 of f8e5m2. Inputs: data, scale and, if given, shift, of
/// one type, f16, bf16 or f32; scale and shift spread over the data.
struct FakeConvert {
  static constexpr OpInfo info{.type = "FakeConvert",
                               .first_opset = 13,
                               .family = "quantization",
                               .summary = "Values rounded to those of an 8-bit float."};
  ElementType destination_type = ElementType::f8e4m3;
  static constexpr auto fields() {
    return std::array{
        required<&FakeConvert::destination_type>("destination_type", "The float: f8e4m3 or f8e5m2.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v13
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_QUANTIZATION_H_
