#include "kernels/elementwise/select.h"

#include <array>

#include "kernels/elementwise/block_operand.h"

namespace ir::kernels {
namespace {

/// Elements are moved as bits, so that any type of this size goes.
template <class Bits>
void select_span(const SpanOperand* operands, Bits* out, std::size_t count) {
  const BlockOperand<std::uint8_t> conditions(operands[0], count);
  const BlockOperand<Bits> blocks_a(operands[1], count);
  const BlockOperand<Bits> blocks_b(operands[2], count);
  for_each_block(count, [&](std::size_t begin, std::size_t size) {
    const std::uint8_t* condition = conditions.from(begin);
    const Bits* a = blocks_a.from(begin);
    const Bits* b = blocks_b.from(begin);
    Bits* to = out + begin;
    for (std::size_t i = 0; i < size; ++i) {
      const Bits x = a[i];  // read both, so that the choice is a blend and not a branch
      const Bits y = b[i];
      to[i] = condition[i] != 0 ? x : y;
    }
  });
}

template <class Bits>
void select_bits(const BroadcastPlan& plan, const std::uint8_t* condition, const void* a, const void* b,
                 void* out) {
  const std::array<BroadcastSource, 3> sources{{{condition, 1}, {a, sizeof(Bits)}, {b, sizeof(Bits)}}};
  for_each_span(plan, sources, 1, [&](const SpanOperand* operands, std::size_t begin, std::size_t count) {
    select_span(operands, static_cast<Bits*>(out) + begin, count);
  });
}

}  // namespace

void select(const BroadcastPlan& plan, std::size_t element_size, const std::uint8_t* condition, const void* a,
            const void* b, void* out) {
  switch (element_size) {
    case 1:
      return select_bits<std::uint8_t>(plan, condition, a, b, out);
    case 2:
      return select_bits<std::uint16_t>(plan, condition, a, b, out);
    case 4:
      return select_bits<std::uint32_t>(plan, condition, a, b, out);
    default:
      return select_bits<std::uint64_t>(plan, condition, a, b, out);
  }
}

}  // namespace ir::kernels
