// Lets a loop over contiguous elements serve broadcast scalars too, so that it is written (and compiled)
// once.
#ifndef KERNELS_ELEMENTWISE_BLOCK_OPERAND_H_
#define KERNELS_ELEMENTWISE_BLOCK_OPERAND_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/base/broadcast.h"

namespace ir::kernels {

/// Elements per block of for_each_block.
inline constexpr std::size_t kBlockSize = 256;

/// A span's operand as blocks of contiguous elements: its own memory or, for a scalar, a buffer full of it.
template <class T>
class BlockOperand {
 public:
  /// `count` elements will be asked for in all.
  BlockOperand(const SpanOperand& operand, std::size_t count) : operand_(operand) {
    if (operand.scalar) std::fill_n(buffer_.begin(), std::min(count, kBlockSize), *operand.as<T>());
  }
  BlockOperand(const BlockOperand&) = delete;
  BlockOperand& operator=(const BlockOperand&) = delete;

  /// Elements [begin, begin + kBlockSize), as far as they exist.
  const T* from(std::size_t begin) const {
    return operand_.scalar ? buffer_.data() : operand_.as<T>() + begin;
  }

 private:
  SpanOperand operand_;
  std::array<T, kBlockSize> buffer_;  // filled as far as it is read
};

/// Calls `body(begin, size)` for blocks of at most kBlockSize elements.
template <class F>
void for_each_block(std::size_t count, F body) {
  for (std::size_t begin = 0; begin < count; begin += kBlockSize)
    body(begin, std::min(kBlockSize, count - begin));
}

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_BLOCK_OPERAND_H_
