// How fmt writes dims, shapes and element types.
#ifndef RUNTIME_TYPES_FORMAT_H_
#define RUNTIME_TYPES_FORMAT_H_

#include <fmt/format.h>

#include <string_view>

#include "ir_runtime/element_type.h"
#include "ir_runtime/shape.h"

template <>
struct fmt::formatter<ir::Dimension> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const ir::Dimension& dim, Context& context) const {
    return fmt::formatter<std::string_view>::format(ir::to_string(dim), context);
  }
};

template <>
struct fmt::formatter<ir::PartialShape> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const ir::PartialShape& shape, Context& context) const {
    return fmt::formatter<std::string_view>::format(ir::to_string(shape), context);
  }
};

template <>
struct fmt::formatter<ir::ElementType> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(ir::ElementType type, Context& context) const {
    return fmt::formatter<std::string_view>::format(ir::name_of(type), context);
  }
};

#endif  // RUNTIME_TYPES_FORMAT_H_
