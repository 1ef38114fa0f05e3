// Where values lie in a request's memory: blocks whose lifetimes overlap never share bytes.
#ifndef RUNTIME_EXECUTION_ARENA_H_
#define RUNTIME_EXECUTION_ARENA_H_

#include <cstddef>
#include <vector>

namespace ir {

/// Alignment of every block: a cache line, and the widest vector.
inline constexpr std::size_t kArenaAlignment = 64;

/// A block that is needed from step `first` to step `last`, both included.
struct ArenaBlock {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct ArenaLayout {
  /// Offset of each block, in the order given.
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};

/// Lays blocks out, larger ones first, each at the lowest offset that is free during its life.
ArenaLayout lay_out(const std::vector<ArenaBlock>& blocks);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_ARENA_H_
