#include "runtime/execution/arena.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "tests/catch.h"

namespace {

using ir::ArenaBlock;
using ir::ArenaLayout;
using ir::kArenaAlignment;
using ir::lay_out;

std::vector<ArenaBlock> random_blocks(std::mt19937& random, std::size_t count) {
  std::uniform_int_distribution<std::size_t> bytes(0, 5000);
  std::uniform_int_distribution<std::size_t> step(0, 40);
  std::vector<ArenaBlock> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [first, last] = std::minmax({step(random), step(random)});
    blocks.push_back({bytes(random), first, last});
  }
  return blocks;
}

bool live_together(const ArenaBlock& a, const ArenaBlock& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Pairs of blocks that share a byte, of those for which `forbidden` holds.
template <class Forbidden>
std::size_t collisions(const std::vector<ArenaBlock>& blocks, const ArenaLayout& layout,
                       Forbidden&& forbidden) {
  std::size_t found = 0;
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    for (std::size_t b = a + 1; b < blocks.size(); ++b) {
      const bool apart = layout.offsets[a] + blocks[a].bytes <= layout.offsets[b] ||
                         layout.offsets[b] + blocks[b].bytes <= layout.offsets[a];
      const bool empty = blocks[a].bytes == 0 || blocks[b].bytes == 0;
      if (!apart && !empty && forbidden(blocks[a], blocks[b])) ++found;
    }
  }
  return found;
}

void check_bounds(const std::vector<ArenaBlock>& blocks, const ArenaLayout& layout) {
  REQUIRE(layout.offsets.size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(layout.offsets[i] % kArenaAlignment == 0);
    CHECK(layout.offsets[i] + blocks[i].bytes <= layout.bytes);
  }
}

std::size_t aligned_sum(const std::vector<ArenaBlock>& blocks) {
  std::size_t sum = 0;
  for (const ArenaBlock& block : blocks)
    sum += (block.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  return sum;
}

// The bytes that live at once in the busiest step: no layout needs less.
std::size_t busiest_step(const std::vector<ArenaBlock>& blocks) {
  std::size_t most = 0;
  for (std::size_t step = 0; step <= 40; ++step) {
    std::size_t live = 0;
    for (const ArenaBlock& block : blocks)
      live += block.first <= step && step <= block.last ? block.bytes : 0;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

TEST_CASE("Blocks that live at the same time share no bytes") {
  std::mt19937 random(1);
  for (const std::size_t count : {0U, 1U, 2U, 3U, 10U, 50U, 200U}) {
    const std::vector<ArenaBlock> blocks = random_blocks(random, count);
    const ArenaLayout layout = lay_out(blocks);
    INFO(count << " blocks");
    check_bounds(blocks, layout);
    CHECK(collisions(blocks, layout, live_together) == 0);
    CHECK(layout.bytes <= aligned_sum(blocks));
    CHECK(layout.bytes >= busiest_step(blocks));
  }
}

TEST_CASE("Each block lies at the lowest offset that is free, however long others live") {
  std::mt19937 random(2);
  std::uniform_int_distribution<std::size_t> start(0, 1000);
  std::uniform_int_distribution<std::size_t> bytes(0, 2000);
  std::vector<ArenaBlock> blocks;
  for (std::size_t i = 0; i < 700; ++i) {
    const std::size_t length = std::array<std::size_t, 5>{0, 1, 20, 100, 600}[i % 5];
    const std::size_t first = start(random);
    blocks.push_back({bytes(random), first, first + length});
  }
  const ArenaLayout layout = lay_out(blocks);
  check_bounds(blocks, layout);
  CHECK(collisions(blocks, layout, live_together) == 0);
  // Nothing could move down to where another block ends, with only those in its way that came before.
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto is_free = [&](std::size_t offset) {
      return std::ranges::none_of(layout.offsets, [&](const std::size_t& other) {
        const auto j = static_cast<std::size_t>(&other - layout.offsets.data());
        const bool came_before =
            blocks[j].bytes > blocks[i].bytes || (blocks[j].bytes == blocks[i].bytes && j < i);
        return came_before && live_together(blocks[i], blocks[j]) && offset < other + blocks[j].bytes &&
               other < offset + blocks[i].bytes;
      });
    };
    if (layout.offsets[i] > 0 && blocks[i].bytes > 0) {
      CHECK_FALSE(is_free(0));
    }
    CHECK(is_free(layout.offsets[i]));
  }
}

TEST_CASE("Blocks that no memory holds do not wrap") {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const ArenaLayout layout = lay_out({{kMost, 0, 1}, {kMost / 2, 0, 1}, {kMost / 2, 0, 1}});
  CHECK(layout.bytes == kMost);
}

TEST_CASE("Blocks one after the other take the place of the largest") {
  const std::vector<ArenaBlock> blocks{{1000, 0, 1}, {3000, 2, 3}, {2000, 4, 5}};
  const ArenaLayout layout = lay_out(blocks);
  CHECK(layout.offsets == std::vector<std::size_t>{0, 0, 0});
  CHECK(layout.bytes == 3008);
}

TEST_CASE("A block goes into a gap that fits it") {
  // The first block ends before the third starts; the second, behind the first, lives on.
  const std::vector<ArenaBlock> blocks{{1024, 0, 1}, {512, 0, 5}, {512, 2, 5}, {512, 3, 5}};
  const ArenaLayout layout = lay_out(blocks);
  CHECK(layout.offsets == std::vector<std::size_t>{0, 1024, 0, 512});
  CHECK(layout.bytes == 1536);
}

TEST_CASE("A block that ends in the step in which another starts lives with it") {
  const std::vector<ArenaBlock> blocks{{64, 0, 1}, {64, 1, 2}};
  CHECK(lay_out(blocks).bytes == 128);
}

TEST_CASE("No blocks take no bytes") {
  CHECK(lay_out({}).bytes == 0);
  CHECK(lay_out({{0, 0, 3}}).bytes == 0);
}
