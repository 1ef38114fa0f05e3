// Changes of the element type.
#ifndef IR_RUNTIME_OPS_TYPE_CONVERSION_H_
#define IR_RUNTIME_OPS_TYPE_CONVERSION_H_

#include <array>

#include "ir_runtime/ops/elementwise_unary.h"

namespace ir::op {
namespace v0 {

/// One input of any type but string and any shape. Floats are truncated toward zero and saturated in
/// integers; integers wrap.
struct Convert {
  static constexpr OpInfo info{.type = "Convert", .family = "type", .summary = "Elements as another type."};
  ElementType destination_type = ElementType::f32;

  Convert() = default;
  explicit Convert(ElementType type) : destination_type(type) {}

  static constexpr auto fields() {
    return std::array{required<&Convert::destination_type>("destination_type", "Type of the output.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v1 {

/// Input 0 as the type of input 1, by the rules of v0::Convert. The elements of input 1 do not matter.
struct ConvertLike : WithoutAttributes {
  static constexpr OpInfo info{
      .type = "ConvertLike", .family = "type", .summary = "Elements as the type of another tensor."};
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v14 {

/// Two inputs of any types and shapes; the outputs are both of one type that fits: floats before integers
/// before boolean, and wide enough for both.
struct ConvertPromoteTypes {
  static constexpr OpInfo info{.type = "ConvertPromoteTypes",
                               .first_opset = 14,
                               .family = "type",
                               .summary = "Two tensors as a type that fits both."};
  bool promote_unsafe = false;
  bool pytorch_scalar_promotion = false;
  ElementType u64_integer_promotion_target = ElementType::f32;
  static constexpr auto fields() {
    return std::array{
        optional<&ConvertPromoteTypes::promote_unsafe>(
            "promote_unsafe", "Whether types may get wider than both, or lose precision."),
        optional<&ConvertPromoteTypes::pytorch_scalar_promotion>(
            "pytorch_scalar_promotion", "Whether a scalar takes the type of a tensor of the same kind."),
        optional<&ConvertPromoteTypes::u64_integer_promotion_target>("u64_integer_promotion_target",
                                                                     "Type for u64 and a signed integer."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v14
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_TYPE_CONVERSION_H_
