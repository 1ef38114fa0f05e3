// NumPy broadcasting, once for every element-wise kernel of several operands.
#ifndef KERNELS_BASE_BROADCAST_H_
#define KERNELS_BASE_BROADCAST_H_

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "kernels/base/dims.h"
#include "kernels/threads/function_ref.h"

namespace ir::kernels {

/// How operands, dense and in row-major order, spread over an output. Built once per set of shapes, of any
/// rank.
///
/// Operand dims are aligned to the right of `output`; each is equal to the output's or 1 (the caller has
/// checked). For the PaddlePaddle rule (axis given), append ones to the operand's dims until it lines up.
class BroadcastPlan {
 public:
  static constexpr std::size_t kMaxOperands = 5;

  /// At most kMaxOperands operands.
  BroadcastPlan(Dims output, std::initializer_list<Dims> operands)
      : BroadcastPlan(output, std::span<const Dims>(operands.begin(), operands.size())) {}
  BroadcastPlan(Dims output, std::span<const Dims> operands);

  [[nodiscard]] std::size_t output_count() const { return output_count_; }
  [[nodiscard]] std::size_t operand_count() const { return operand_count_; }

  /// Whether the operand has one element for each of the output's, that is, needs no broadcasting.
  [[nodiscard]] bool is_full(std::size_t operand) const;

  /// Output dims without ones, adjacent dims merged where every operand allows it. At least one dim.
  [[nodiscard]] Dims dims() const { return dims_; }
  /// Elements that the operand moves by a step along a dim of `dims()`; 0 where it is broadcast.
  [[nodiscard]] std::size_t stride(std::size_t operand, std::size_t dim) const {
    return strides_[operand * dims_.size() + dim];
  }

 private:
  std::size_t output_count_ = 0;
  std::size_t operand_count_ = 0;
  std::vector<std::size_t> dims_;
  std::vector<std::size_t> strides_;  // [operand][dim]
};

/// An operand's part in a span of the output: one element per output element, or a single one for all.
struct SpanOperand {
  const void* data = nullptr;
  bool scalar = false;

  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

/// Where an operand's elements are and how many bytes each has (1, 2, 4 or 8).
struct BroadcastSource {
  const void* data = nullptr;
  std::size_t element_size = 0;
};

/// Calls `body(operands, begin, count)` in parallel for spans that cover the output once: output elements
/// [begin, begin + count) come from the elements of `operands[0..operand_count)`. Spans are long even where
/// the innermost dim is short (short rows are tiled into a buffer on the stack). A body may write its output
/// in place of a full operand. `cost` is the work per element in elementary operations (see grain_for_cost);
/// `loops` is how many times the body goes over a span: from two on, short rows are joined sooner.
void for_each_span(const BroadcastPlan& plan, std::span<const BroadcastSource> sources, std::size_t cost,
                   FunctionRef<void(const SpanOperand* operands, std::size_t begin, std::size_t count)> body,
                   std::size_t loops = 1);

}  // namespace ir::kernels

#endif  // KERNELS_BASE_BROADCAST_H_
