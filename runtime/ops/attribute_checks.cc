#include "runtime/ops/attribute_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace ir::op {

void require_range(const InferContext& context, std::string_view name, std::int64_t value, std::int64_t min,
                   std::int64_t max) {
  context.require(value >= min && value <= max, "IR-attribute-range",
                  {.found = value, .expected = words("values from {} to {}", min, max)},
                  "{} is {}; it takes values from {} to {}", name, value, min, max);
}

void require_at_least(const InferContext& context, std::string_view name, std::int64_t value,
                      std::int64_t min) {
  context.require(value >= min, "IR-attribute-range",
                  {.found = value, .expected = words("values of at least {}", min)},
                  "{} is {}; it takes values of at least {}", name, value, min);
}

void require_not_empty(const InferContext& context, std::string_view name, std::size_t size) {
  context.require(size > 0, "IR-attribute-size", {.found = "empty", .expected = "a value"}, "{} is empty",
                  name);
}

void require_type_in(const InferContext& context, std::string_view name, ElementType type,
                     std::initializer_list<ElementType> allowed) {
  if (std::ranges::find(allowed, type) != allowed.end()) return;
  std::string names;
  for (const ElementType& one : allowed) {
    const bool last = &one + 1 == allowed.end();
    names += fmt::format("{}{}", names.empty() ? "" : last ? " or " : ", ", name_of(one));
  }
  context.fail("IR-attribute-value", fmt::format("{} is {}; it takes {}", name, type, names),
               Compared{std::string(name_of(type)), names});
}

void require_type_of_indices(const InferContext& context, std::string_view name, ElementType type) {
  require_type_in(context, name, type, {ElementType::i32, ElementType::i64});
}

}  // namespace ir::op
