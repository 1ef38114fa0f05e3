// The reference of operations, written from their field tables.
#ifndef RUNTIME_OPS_DOCUMENTATION_H_
#define RUNTIME_OPS_DOCUMENTATION_H_

#include <string>

#include "ir_runtime/op.h"

namespace ir {

/// The opsets that hold a class: "opset1 to opset7", "opset1 and opset3 to opset17", "nGraph (opset0)".
std::string opsets_of(const OpInfo& info);

/// The text of docs/operations.md: every op class by family and type, with its opsets, summary and
/// attributes.
std::string operations_markdown();

}  // namespace ir

#endif  // RUNTIME_OPS_DOCUMENTATION_H_
