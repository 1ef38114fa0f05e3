#include "runtime/execution/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ir {
namespace {

std::size_t aligned(std::size_t bytes) {
  const std::size_t most = std::numeric_limits<std::size_t>::max() - kArenaAlignment;
  return (std::min(bytes, most) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

std::size_t saturating_sum(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::size_t>::max() : sum;
}

// Placed blocks by when they live: which of them a block meets is found without a look at all.
class PlacedBlocks {
 public:
  explicit PlacedBlocks(const std::vector<ArenaBlock>& blocks) : blocks_(blocks) {
    std::size_t last = 0;
    for (const ArenaBlock& block : blocks) last = std::max(last, block.last);
    stretches_.resize(last / kStretch + 1);
  }

  void add(std::size_t index) {
    const ArenaBlock& block = blocks_[index];
    const std::size_t first = block.first / kStretch;
    const std::size_t last = block.last / kStretch;
    if (last - first >= kFewStretches) {
      long_lived_.push_back(index);
      return;
    }
    for (std::size_t i = first; i <= last; ++i) stretches_[i].push_back(index);
  }

  /// Those that live together with `block`, in no order. They cost `looked_at` a look each.
  void find(const ArenaBlock& block, std::vector<std::size_t>& found, std::size_t& looked_at) const {
    found.clear();
    const std::size_t first = block.first / kStretch;
    const std::size_t last = block.last / kStretch;
    const auto meet = [&](std::size_t other) {
      return blocks_[other].first <= block.last && block.first <= blocks_[other].last;
    };
    for (const std::size_t other : long_lived_) {
      if (meet(other)) found.push_back(other);
    }
    looked_at += long_lived_.size();
    for (std::size_t i = first; i <= last; ++i) {
      for (const std::size_t other : stretches_[i]) {
        // Once, where it lies in several stretches.
        if (meet(other) && i == std::max(first, blocks_[other].first / kStretch)) found.push_back(other);
      }
      looked_at += 1 + stretches_[i].size();
    }
  }

 private:
  /// Steps.
  static constexpr std::size_t kStretch = 16;
  static constexpr std::size_t kFewStretches = 4;

  const std::vector<ArenaBlock>& blocks_;
  std::vector<std::vector<std::size_t>> stretches_;
  std::vector<std::size_t> long_lived_;
};

}  // namespace

ArenaLayout lay_out(const std::vector<ArenaBlock>& blocks) {
  // A second or two: what is left then lies behind all others.
  constexpr std::size_t kMostLooks = std::size_t{1} << 30;
  ArenaLayout layout;
  layout.offsets.resize(blocks.size());
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  PlacedBlocks placed(blocks);
  std::vector<std::size_t> others;
  std::size_t looked_at = 0;
  for (const std::size_t index : order) {
    const std::size_t bytes = aligned(blocks[index].bytes);
    std::size_t offset = 0;
    if (looked_at < kMostLooks) {
      placed.find(blocks[index], others, looked_at);
      std::ranges::sort(others, {}, [&](std::size_t i) { return layout.offsets[i]; });
      for (const std::size_t other : others) {
        if (saturating_sum(offset, bytes) <= layout.offsets[other]) break;
        offset = std::max(offset, saturating_sum(layout.offsets[other], aligned(blocks[other].bytes)));
      }
    } else {
      offset = layout.bytes;
    }
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, saturating_sum(offset, bytes));
    placed.add(index);
  }
  return layout;
}

}  // namespace ir
