// Broadcasting for kernels that go over several rows themselves, where constants of a row stay in registers.
#ifndef KERNELS_BASE_BROADCAST_ROWS_H_
#define KERNELS_BASE_BROADCAST_ROWS_H_

#include <cstddef>
#include <span>

#include "kernels/base/broadcast.h"

namespace ir::kernels {

/// An operand's part in rows of the output: in each, one element per output element, or a single one for all.
/// Without initial values: many are made for every span, few are used.
struct RowsOperand {
  const void* data;
  bool scalar;
  std::size_t step;  // elements between rows

  template <class T>
  const T* row(std::size_t index) const {
    return static_cast<const T*>(data) + index * step;
  }
};

/// As for_each_span, with spans of `rows` rows of `columns` elements: several of them where these are `most`
/// elements or less. Only what is too short for vectors is joined.
void for_each_rows(
    const BroadcastPlan& plan, std::span<const BroadcastSource> sources, std::size_t cost, std::size_t most,
    FunctionRef<void(const RowsOperand* operands, std::size_t begin, std::size_t rows, std::size_t columns)>
        body);

}  // namespace ir::kernels

#endif  // KERNELS_BASE_BROADCAST_ROWS_H_
