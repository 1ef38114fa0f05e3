// Checks of attributes that operations share.
#ifndef RUNTIME_OPS_ATTRIBUTE_CHECKS_H_
#define RUNTIME_OPS_ATTRIBUTE_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "runtime/ops/infer.h"

namespace ir::op {

/// Requires an attribute to lie in [min, max].
void require_range(const InferContext& context, std::string_view name, std::int64_t value, std::int64_t min,
                   std::int64_t max);
void require_at_least(const InferContext& context, std::string_view name, std::int64_t value,
                      std::int64_t min);

/// Requires a list of `size` values to hold one.
void require_not_empty(const InferContext& context, std::string_view name, std::size_t size);

/// Requires an attribute to be one of `allowed`.
void require_type_in(const InferContext& context, std::string_view name, ElementType type,
                     std::initializer_list<ElementType> allowed);

/// Requires an attribute to be the type of an output of indices, i32 or i64.
void require_type_of_indices(const InferContext& context, std::string_view name, ElementType type);

}  // namespace ir::op

#endif  // RUNTIME_OPS_ATTRIBUTE_CHECKS_H_
