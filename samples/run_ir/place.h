// Positions in tensors, for people.
#ifndef SAMPLES_RUN_IR_PLACE_H_
#define SAMPLES_RUN_IR_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ir_runtime/shape.h"

namespace run_ir {

/// "[0,3,17]" for a position in a dense tensor.
inline std::string place_of(std::size_t position, const ir::Shape& shape) {
  ir::Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto dim = static_cast<std::size_t>(shape[axis]);
    index[axis] = static_cast<std::int64_t>(position % dim);
    position /= dim;
  }
  return ir::to_string(index);
}

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_PLACE_H_
