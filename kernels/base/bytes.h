// Plain bytes: what every kernel that moves data without looking at it needs.
#ifndef KERNELS_BASE_BYTES_H_
#define KERNELS_BASE_BYTES_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "kernels/base/fill.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {

/// Cost for grain_for_cost of moving `bytes`: a memory-bound loop moves some 8 of them per elementary
/// operation.
inline std::size_t cost_of_bytes(std::size_t bytes) { return bytes / 8 + 4; }

/// std::memcpy in parallel. No overlap.
inline void copy_bytes(const void* in, void* out, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  parallel_for(lines, grain_for_cost(cost_of_bytes(kLine) - 4), [&](std::size_t begin, std::size_t end) {
    const std::size_t from = begin * kLine;
    std::memcpy(static_cast<char*>(out) + from, static_cast<const char*>(in) + from,
                std::min(bytes, end * kLine) - from);
  });
}

/// `pattern` of `unit` bytes, `count` times in a row: an element by vectors, what is longer doubled until a
/// block that stays in the cache is full.
inline void repeat_bytes(const void* pattern, std::size_t unit, std::size_t count, void* out) {
  constexpr std::size_t kMaxBlock = 8192;
  if (unit <= 8 && std::has_single_bit(unit)) return fill_elements(pattern, unit, count, out);
  const std::size_t total = unit * count;
  if (total == 0) return;
  auto* to = static_cast<char*>(out);
  std::memcpy(to, pattern, unit);
  std::size_t block = unit;
  for (std::size_t filled = unit; filled < total;) {
    const std::size_t size = std::min(block, total - filled);
    std::memcpy(to + filled, to, size);
    filled += size;
    if (block < kMaxBlock) block = filled;
  }
}

/// Calls f(copy) where copy(from, to) moves one unit; the usual sizes are constants to the compiler.
template <class F>
void with_unit_copy(std::size_t unit, const F& f) {
  switch (unit) {
    case 1:
      f([](const void* from, void* to) { std::memcpy(to, from, 1); });
      break;
    case 2:
      f([](const void* from, void* to) { std::memcpy(to, from, 2); });
      break;
    case 4:
      f([](const void* from, void* to) { std::memcpy(to, from, 4); });
      break;
    case 8:
      f([](const void* from, void* to) { std::memcpy(to, from, 8); });
      break;
    default:
      f([unit](const void* from, void* to) { std::memcpy(to, from, unit); });
      break;
  }
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_BYTES_H_
