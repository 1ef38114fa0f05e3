// The bodies of the control-flow operations.
#ifndef IR_RUNTIME_SUBGRAPH_H_
#define IR_RUNTIME_SUBGRAPH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir_runtime/model.h"

namespace ir {

/// How a value is cut into one slice per iteration, or put together from them, as the port maps of
/// TensorIterator (opset1) and Loop (opset5) define it.
struct Slicing {
  /// Axis that is cut; negative: from the end.
  std::int64_t axis = 0;
  /// First and last element of the axis that are in a slice; negative: from the end. Only for inputs.
  std::int64_t start = 0;
  std::int64_t end = -1;
  /// `part_size`, or -part_size to go from `start` down to `end`.
  std::int64_t stride = 1;
  /// Elements of a slice along the axis; at least 1.
  std::int64_t part_size = 1;
};

/// A body with the connections to the node around it. Parameters and results of the body are named by their
/// index in `Model::parameters()` and `Model::results()`.
struct Subgraph {
  struct Input {
    /// Input of the node; -1 for the number of the iteration, which Loop hands to its body.
    std::int64_t outer = 0;
    std::size_t parameter = 0;
    std::optional<Slicing> slicing;
    /// The body result that feeds the parameter in the next iteration.
    std::optional<std::size_t> back_edge;
  };
  struct Output {
    /// Output of the node; -1 for the value that tells Loop whether to go on.
    std::int64_t outer = 0;
    std::size_t result = 0;
    std::optional<Slicing> slicing;
  };

  std::shared_ptr<const Model> body;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

/// The bodies of an If, Loop or TensorIterator; none for any other operation.
inline std::span<const Subgraph> subgraphs_of(const Op& op) {
  const auto accessor = op.op_class_record().subgraphs;
  // The accessor serves writers too.
  return accessor == nullptr ? std::span<const Subgraph>() : accessor(const_cast<void*>(op.descriptor()));
}

}  // namespace ir

#endif  // IR_RUNTIME_SUBGRAPH_H_
