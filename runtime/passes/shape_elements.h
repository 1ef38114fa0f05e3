// Shapes that a model computes, element by element: which of them are surely the dims of a tensor.
#ifndef RUNTIME_PASSES_SHAPE_ELEMENTS_H_
#define RUNTIME_PASSES_SHAPE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir_runtime/model.h"

namespace ir::passes {

/// One element of a shape that is computed: a number, or a dim of a tensor; neither where it is not known.
struct ShapeElement {
  std::optional<std::int64_t> number;
  std::optional<Output> tensor;
  std::size_t axis = 0;
};

/// The elements of a vector of integers, as far as they come from constants and ShapeOf; empty where it is
/// not known how many there are.
std::optional<std::vector<ShapeElement>> shape_elements(const Output& value);

/// Whether the element is the dim of that axis of a tensor of known rank, whatever it is.
bool is_dim_of(const ShapeElement& element, const Output& tensor, std::size_t axis);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_SHAPE_ELEMENTS_H_
