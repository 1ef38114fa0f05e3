#include "runtime/execution/arena.h"

#include <algorithm>
#include <numeric>

namespace ir {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace

ArenaLayout lay_out(const std::vector<ArenaBlock>& blocks) {
  ArenaLayout layout;
  layout.offsets.resize(blocks.size());
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  // Placed blocks, by offset.
  std::vector<std::size_t> placed;
  for (const std::size_t index : order) {
    const ArenaBlock& block = blocks[index];
    const std::size_t bytes = aligned(block.bytes);
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      const bool together = blocks[other].first <= block.last && block.first <= blocks[other].last;
      if (!together) continue;
      if (offset + bytes <= layout.offsets[other]) break;
      offset = std::max(offset, layout.offsets[other] + aligned(blocks[other].bytes));
    }
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    const auto at =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t i) { return layout.offsets[i]; });
    placed.insert(at, index);
  }
  return layout;
}

}  // namespace ir
