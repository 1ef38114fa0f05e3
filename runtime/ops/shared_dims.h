// Dims that several inputs of an operation have in common: batch size, classes, boxes.
#ifndef RUNTIME_OPS_SHARED_DIMS_H_
#define RUNTIME_OPS_SHARED_DIMS_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/ops/infer.h"

namespace ir::op {

/// A dim under the name that messages use ("batch size"), narrowed by every input that has it.
struct SharedDim {
  std::string name;
  Dimension value;
};

/// Requires input `index` to have the rank of `dims` and narrows each of them by the input's dim. Fails with
/// IR-rank or IR-shape; inputs of unknown rank say nothing.
void unify(const InferContext& context, std::size_t index, std::initializer_list<SharedDim*> dims);

/// Requires input `index` to hold one element: a scalar or a vector of length 1.
void require_one_element(const InferContext& context, std::size_t index);

/// Requires input `index` to hold one element, of whatever rank. Messages call it `what`, or "input 0".
void require_element_count_of_one(const InferContext& context, std::size_t index, std::string_view what = {});

}  // namespace ir::op

#endif  // RUNTIME_OPS_SHARED_DIMS_H_
