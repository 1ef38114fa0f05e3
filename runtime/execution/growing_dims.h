// Shapes of which a few dims change from one inference to the next.
#ifndef RUNTIME_EXECUTION_GROWING_DIMS_H_
#define RUNTIME_EXECUTION_GROWING_DIMS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "ir_runtime/shape.h"
#include "runtime/execution/plan.h"

namespace ir {

/// The dims in which alone the shapes of inputs differ from one inference to the next, as the lengths of a
/// mask and of keys and values do while a language model produces tokens.
class GrowingDims {
 public:
  /// The shapes of an inference. Returns those to plan for: the same, or, when the same dims have been others
  /// three times in turn, with these unknown.
  std::vector<PartialShape> settle(std::span<const Shape> inputs);

 private:
  struct Position {
    std::size_t input;
    std::size_t axis;
    bool operator==(const Position&) const = default;
  };

  std::vector<Shape> last_;
  std::vector<Position> changed_;
  int changes_ = 0;
};

/// Whether most steps of two plans of one model read and write values of the same shapes: a plan that leaves
/// the others open prepares only those anew.
bool are_mostly_alike(const Plan& a, const Plan& b);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_GROWING_DIMS_H_
