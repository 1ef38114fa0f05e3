// String tensors as weights files hold them.
#ifndef IR_READER_PACKED_STRINGS_H_
#define IR_READER_PACKED_STRINGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ir_runtime/tensor.h"

namespace ir::reader {

/// Bytes that `count` empty strings take; empty when they cannot be counted with 31 bits.
std::optional<std::int64_t> packed_string_bytes(std::int64_t count);

/// The strings in OpenVINO's layout of string constants: i32 numbers, namely how many there are and, unless
/// there are none, where each starts and where the last one ends in the characters behind these numbers.
/// Throws Error `IR-const-size` when `bytes` is too short for the numbers, `IR-const-value` when they are no
/// such layout or not of as many strings as `shape`. `bytes` may be unaligned and longer than the strings.
Tensor unpack_strings(Shape shape, std::span<const std::byte> bytes);

/// The other way. Throws Error `IR-tensor-size` for strings of 2 GiB and more.
std::string pack_strings(const Tensor& tensor);

}  // namespace ir::reader

#endif  // IR_READER_PACKED_STRINGS_H_
