// ElementType as kernels name it.
#ifndef RUNTIME_TYPES_SCALAR_TYPE_H_
#define RUNTIME_TYPES_SCALAR_TYPE_H_

#include "ir_runtime/element_type.h"
#include "kernels/base/scalar_type.h"

namespace ir {

/// Throws Error `IR-unsupported` for `dynamic` and `string`, which have no scalar.
kernels::ScalarType scalar_type_of(ElementType type);

}  // namespace ir

#endif  // RUNTIME_TYPES_SCALAR_TYPE_H_
