// Zeros that stand for a value which nothing has computed.
#ifndef RUNTIME_OPS_ZEROS_H_
#define RUNTIME_OPS_ZEROS_H_

#include <cstring>

#include "ir_runtime/tensor.h"

namespace ir {

/// The smallest shape that `shape` allows: unknown dims are as small as they may be, an unknown rank is one
/// axis of size 0.
inline Shape smallest_shape(const PartialShape& shape) {
  if (!shape.has_rank()) return {0};
  Shape smallest;
  for (const Dimension& dim : shape) smallest.push_back(dim.min());
  return smallest;
}

/// Zeros of the smallest shape that `shape` allows.
inline Tensor zeros_of(ElementType type, const PartialShape& shape) {
  Tensor zeros(type, smallest_shape(shape));
  if (zeros.byte_size() > 0) std::memset(zeros.raw(), 0, zeros.byte_size());
  return zeros;
}

}  // namespace ir

#endif  // RUNTIME_OPS_ZEROS_H_
