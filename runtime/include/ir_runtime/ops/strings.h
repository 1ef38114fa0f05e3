// String tensors to and from numbers.
#ifndef IR_RUNTIME_OPS_STRINGS_H_
#define IR_RUNTIME_OPS_STRINGS_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op::v15 {

/// Strings from one run of characters. Inputs: where each string begins and ends, of any shape, both i32 or
/// i64; characters, u8 [n]. Output: strings of the shape of the beginnings. Strings may overlap and leave
/// characters out. Definition: StringTensorPack-15.
struct StringTensorPack {
  static constexpr OpInfo info{.type = "StringTensorPack",
                               .first_opset = 15,
                               .family = "string",
                               .summary = "Strings from one run of characters."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Strings as one run of characters. Input: strings of any shape. Outputs: where each begins and ends, i32 of
/// that shape; the characters of all, u8 [n]. Definition: StringTensorUnpack-15.
struct StringTensorUnpack {
  static constexpr OpInfo info{.type = "StringTensorUnpack",
                               .first_opset = 15,
                               .family = "string",
                               .summary = "Strings as one run of characters."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op::v15

#endif  // IR_RUNTIME_OPS_STRINGS_H_
