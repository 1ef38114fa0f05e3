#include "runtime/types/memory_pool.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/types/budget.h"

namespace ir {
namespace {

constexpr std::align_val_t kAlignment{64};
// Below that the heap is as fast.
constexpr std::size_t kLeastBytes = std::size_t{1} << 16;
constexpr std::size_t kMostBytes = std::size_t{1} << 62;
// Runs for which a block may be idle: what a caller hands back as an input is free in every second one.
constexpr std::uint64_t kIdleRuns = 2;

thread_local MemoryPool* in_use = nullptr;

void* new_block(std::size_t bytes) { return ::operator new(bytes, kAlignment, std::nothrow); }

void free_block(void* memory) { ::operator delete(memory, kAlignment); }

// Up to an eighth more: tensors that grow fit for a while.
std::size_t with_room(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 8, 1);
  return (bytes / step + 1) * step;
}

}  // namespace

struct MemoryPool::Blocks {
  struct Block {
    void* memory = nullptr;
    std::uint64_t last_run = 0;
  };

  ~Blocks() { release_all(); }

  // A block of at least `bytes`, which become what it has.
  void* take(std::size_t& bytes) {
    void* memory = nullptr;
    {
      const std::lock_guard lock(mutex);
      const auto found = idle.lower_bound(bytes);
      // A much larger one would be missed where it is needed.
      if (found != idle.end() && found->first < 2 * bytes) {
        bytes = found->first;
        memory = found->second.memory;
        idle.erase(found);
      }
    }
    return memory == nullptr ? new_block(bytes) : memory;
  }

  void give_back(void* memory, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex);
    if (closed) return free_block(memory);
    try {
      idle.emplace(bytes, Block{memory, run});
    } catch (const std::bad_alloc&) {
      free_block(memory);
    }
  }

  void end_run() {
    const std::lock_guard lock(mutex);
    std::erase_if(idle, [&](const auto& entry) {
      const bool goes = entry.second.last_run + kIdleRuns < run;
      if (goes) free_block(entry.second.memory);
      return goes;
    });
    ++run;
  }

  void close() {
    const std::lock_guard lock(mutex);
    closed = true;
    release_all();
  }

  void release_all() {
    for (const auto& [bytes, block] : idle) free_block(block.memory);
    idle.clear();
  }

  // Guards what follows.
  std::mutex mutex;
  std::multimap<std::size_t, Block> idle;  ///< by size
  std::uint64_t run = 0;
  bool closed = false;
};

MemoryPool::MemoryPool() : blocks_(std::make_shared<Blocks>()) {}

MemoryPool::~MemoryPool() { blocks_->close(); }

MemoryPool::Run::Run(MemoryPool* pool) : outer_(std::exchange(in_use, pool)) {}

MemoryPool::Run::~Run() {
  const MemoryPool* const pool = std::exchange(in_use, outer_);
  if (pool != nullptr) pool->blocks_->end_run();
}

std::shared_ptr<void> MemoryPool::allocate(std::size_t bytes) {
  std::shared_ptr<Budget::Living> living = Budget::living();
  const bool pooled = in_use != nullptr && bytes >= kLeastBytes && bytes <= kMostBytes;
  std::shared_ptr<Blocks> blocks = pooled ? in_use->blocks_ : nullptr;
  std::size_t size = pooled ? with_room(bytes) : bytes;
  void* const memory = pooled ? blocks->take(size) : new_block(size);
  if (memory == nullptr) return nullptr;
  if (living != nullptr) *living += static_cast<std::int64_t>(bytes);
  const auto release = [blocks = std::move(blocks), living = std::move(living), size, bytes](void* mine) {
    if (blocks != nullptr) {
      blocks->give_back(mine, size);
    } else {
      free_block(mine);
    }
    if (living != nullptr) *living -= static_cast<std::int64_t>(bytes);
  };
  return std::shared_ptr<void>(memory, release);
}

std::size_t MemoryPool::idle_bytes() const {
  const std::lock_guard lock(blocks_->mutex);
  std::size_t bytes = 0;
  for (const auto& entry : blocks_->idle) bytes += entry.first;
  return bytes;
}

}  // namespace ir
