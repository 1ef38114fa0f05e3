// Operations that run other models: If, Loop, TensorIterator.
#ifndef IR_RUNTIME_OPS_CONTROL_FLOW_H_
#define IR_RUNTIME_OPS_CONTROL_FLOW_H_

#include <array>

#include "ir_runtime/op.h"
#include "ir_runtime/subgraph.h"

namespace ir::op {

namespace v0 {

/// Runs a body once per slice of those inputs that the port map cuts, which all have as many. Inputs and
/// outputs of any types and shapes: the port map (`Subgraph`) says which parameters and results of the body
/// they are.
struct TensorIterator {
  static constexpr OpInfo info{.type = "TensorIterator",
                               .family = "infrastructure",
                               .summary = "Runs a body once per slice of its inputs."};
  Subgraph body;
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  std::span<Subgraph> subgraphs() { return {&body, 1}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v5 {

/// Runs a body until input 0 (trip count, one i32 or i64; negative: no bound) or its condition ends it. Input
/// 1, one boolean, is the condition before the first run. Further inputs and outputs as TensorIterator.
struct Loop {
  static constexpr OpInfo info{.type = "Loop",
                               .first_opset = 5,
                               .family = "infrastructure",
                               .summary = "Runs a body a number of times or while a condition holds."};
  Subgraph body;
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  std::span<Subgraph> subgraphs() { return {&body, 1}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v5

namespace v8 {

/// Runs one of two bodies, as input 0, one boolean, says. Further inputs are those of the bodies, which give
/// outputs of the same types; shapes may differ.
struct If {
  static constexpr OpInfo info{
      .type = "If", .first_opset = 8, .family = "condition", .summary = "Runs one of two bodies."};
  /// The body for true, the body for false.
  std::array<Subgraph, 2> bodies;
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  std::span<Subgraph> subgraphs() { return bodies; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_CONTROL_FLOW_H_
