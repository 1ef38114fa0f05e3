// f16 and bf16, which compute in f32.
#ifndef RUNTIME_TYPES_HALVES_H_
#define RUNTIME_TYPES_HALVES_H_

#include "ir_runtime/element_type.h"

namespace ir {

inline bool is_half(ElementType type) { return type == ElementType::f16 || type == ElementType::bf16; }

/// The type that values of `type` are computed and kept in.
inline ElementType computed_type(ElementType type) { return is_half(type) ? ElementType::f32 : type; }

}  // namespace ir

#endif  // RUNTIME_TYPES_HALVES_H_
