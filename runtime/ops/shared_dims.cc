#include "runtime/ops/shared_dims.h"

namespace ir::op {

void unify(const InferContext& context, std::size_t index, std::initializer_list<SharedDim*> dims) {
  context.require_rank(index, dims.size());
  const PartialShape& shape = context.shape(index);
  if (!shape.has_rank()) return;
  std::size_t axis = 0;
  for (SharedDim* dim : dims) {
    const auto merged = dim->value.merged(shape[axis]);
    if (!merged) {
      context.fail("IR-shape",
                   fmt::format("input {} has shape {}: axis {} is {}, but {} is {}", index, to_string(shape),
                               axis, to_string(shape[axis]), dim->name, to_string(dim->value)),
                   Compared{to_string(shape[axis]), to_string(dim->value),
                            fmt::format("{} is {}", dim->name, to_string(dim->value)), index});
    }
    dim->value = *merged;
    ++axis;
  }
}

void require_one_element(const InferContext& context, std::size_t index) {
  context.require_rank(index, 0, 1);
  require_element_count_of_one(context, index);
}

void require_element_count_of_one(const InferContext& context, std::size_t index, std::string_view what) {
  const PartialShape& shape = context.shape(index);
  if (shape.element_count().compatible(1)) return;
  const std::string name = what.empty() ? fmt::format("input {}", index) : std::string(what);
  context.fail("IR-shape", fmt::format("{} has shape {}; it takes one element", name, shape),
               Compared{to_string(shape), "one element", {}, index});
}

}  // namespace ir::op
