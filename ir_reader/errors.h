// Errors of one diagnostic, about a file.
#ifndef IR_READER_ERRORS_H_
#define IR_READER_ERRORS_H_

#include <string>
#include <utility>

#include "ir_runtime/diagnostics.h"

namespace ir::reader {

/// What is wrong at a place of a file.
inline Error error_at(std::string code, SourceLocation where, std::string message, std::string hint = {}) {
  return Error({Diagnostic{.code = std::move(code),
                           .where = std::move(where),
                           .message = std::move(message),
                           .hint = std::move(hint)}});
}

/// What is wrong with a file as a whole.
inline Error file_error(std::string code, std::string file, std::string message, std::string hint = {}) {
  return error_at(std::move(code), {std::move(file), 0, 0}, std::move(message), std::move(hint));
}

}  // namespace ir::reader

#endif  // IR_READER_ERRORS_H_
