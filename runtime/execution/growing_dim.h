// Shapes of which one dim changes from one inference to the next.
#ifndef RUNTIME_EXECUTION_GROWING_DIM_H_
#define RUNTIME_EXECUTION_GROWING_DIM_H_

#include <cstddef>
#include <span>
#include <vector>

#include "ir_runtime/shape.h"

namespace ir {

/// A dim in which alone the shapes of inputs differ from one inference to the next, as the length of a mask
/// does while a language model produces tokens.
class GrowingDim {
 public:
  /// The shapes of an inference. Returns those to plan for: the same, or, when the dim has been another one
  /// three times in turn, with that dim unknown.
  std::vector<PartialShape> settle(std::span<const Shape> inputs);

 private:
  std::vector<Shape> last_;
  std::size_t input_ = 0;
  std::size_t axis_ = 0;
  int changes_ = 0;
};

}  // namespace ir

#endif  // RUNTIME_EXECUTION_GROWING_DIM_H_
