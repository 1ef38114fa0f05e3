// Text that came from somewhere else, made safe to show.
#ifndef RUNTIME_TYPES_PRINTABLE_H_
#define RUNTIME_TYPES_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "ir_runtime/diagnostics.h"

namespace ir {

/// The first byte of `text` that is no part of well-formed UTF-8; npos when all is well.
std::size_t ill_formed_utf8_at(std::string_view text);

/// As `printable` (ir_runtime/diagnostics.h), cut to about `most` bytes where it is longer: a file may hold
/// megabytes where a name should be.
std::string printable(std::string_view text, std::size_t most);

/// As `printable`, but line breaks and tabs stay: for text of several lines that this program composed.
std::string printable_lines(std::string_view text);

}  // namespace ir

#endif  // RUNTIME_TYPES_PRINTABLE_H_
