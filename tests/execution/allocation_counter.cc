#include "tests/execution/allocation_counter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> live{0};
std::atomic<std::size_t> most_live{0};
// The number of the allocation that fails.
std::atomic<std::size_t> failing{0};

void* counted(std::size_t size, std::size_t alignment) {
  if (allocations.fetch_add(1, std::memory_order_relaxed) + 1 == failing.load(std::memory_order_relaxed))
    return nullptr;
  // Whole multiples of the alignment, and never zero.
  void* memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  const std::size_t bytes = ::malloc_usable_size(memory);
  const std::size_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t most = most_live.load(std::memory_order_relaxed);
  while (most < now && !most_live.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return memory;
}

void release(void* memory) {
  live.fetch_sub(::malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

void* counted_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = counted(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kDefault = alignof(std::max_align_t);

}  // namespace

namespace ir::test {

std::size_t allocation_count() { return allocations.load(); }

std::size_t live_bytes() { return live.load(); }

LivePeak::LivePeak() : before_(live.load()) { most_live = before_; }

std::size_t LivePeak::bytes() const { return most_live.load() - before_; }

FailingAllocation::FailingAllocation(std::size_t after) : number_(allocations.load() + after + 1) {
  failing = number_;
}

FailingAllocation::~FailingAllocation() { failing = 0; }

bool FailingAllocation::happened() const { return allocations.load() >= number_; }

}  // namespace ir::test

// The forms for arrays call these.
void* operator new(std::size_t bytes) { return counted_or_throw(bytes, kDefault); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, kDefault); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
