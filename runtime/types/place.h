// Positions in tensors, for people.
#ifndef RUNTIME_TYPES_PLACE_H_
#define RUNTIME_TYPES_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ir_runtime/shape.h"

namespace ir {

/// "[0,3,17]" for a position in a dense tensor of elements that exist.
inline std::string place_of(std::size_t position, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto dim = static_cast<std::size_t>(shape[axis]);
    index[axis] = static_cast<std::int64_t>(position % dim);
    position /= dim;
  }
  return to_string(index);
}

}  // namespace ir

#endif  // RUNTIME_TYPES_PLACE_H_
