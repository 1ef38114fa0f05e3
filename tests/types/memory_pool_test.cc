#include "runtime/types/memory_pool.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "ir_runtime/tensor.h"
#include "tests/catch.h"

using ir::ElementType;
using ir::MemoryPool;
using ir::Tensor;

namespace {

constexpr std::int64_t kMany = 1 << 20;

Tensor bytes(std::int64_t count) { return {ElementType::u8, {count}}; }

}  // namespace

TEST_CASE("Tensors of a run take over the memory of the run before") {
  MemoryPool pool;
  const void* address = nullptr;
  {
    const MemoryPool::Run run(&pool);
    const Tensor first = bytes(kMany);
    const Tensor second = bytes(kMany);
    CHECK(first.raw() != second.raw());
    CHECK(reinterpret_cast<std::uintptr_t>(first.raw()) % 64 == 0);
    CHECK(first.is_sole_owner());
    address = first.raw();
  }
  CHECK(pool.idle_bytes() >= 2 * kMany);
  const MemoryPool::Run run(&pool);
  // A little larger fits as well, and nobody else has it.
  Tensor third = bytes(kMany + kMany / 16);
  Tensor fourth = bytes(kMany);
  CHECK((third.raw() == address || fourth.raw() == address));
  std::memset(third.raw(), 1, third.byte_size());
  std::memset(fourth.raw(), 2, fourth.byte_size());
  CHECK(third.data<std::uint8_t>().back() == 1);
  CHECK(pool.idle_bytes() == 0);
}

TEST_CASE("Memory that some runs did not need goes back") {
  MemoryPool pool;
  const auto run_with = [&](std::int64_t count) {
    const MemoryPool::Run run(&pool);
    (void)bytes(count);
  };
  run_with(10 * kMany);
  CHECK(pool.idle_bytes() >= 10 * kMany);
  for (int i = 0; i < 4; ++i) run_with(kMany);
  CHECK(pool.idle_bytes() < 2 * kMany);
}

TEST_CASE("What a caller hands back alternates between two blocks") {
  MemoryPool pool;
  std::vector<const void*> addresses;
  Tensor kept;
  for (int i = 0; i < 6; ++i) {
    const MemoryPool::Run run(&pool);
    Tensor made = bytes(kMany);
    addresses.push_back(made.raw());
    kept = made;
  }
  for (std::size_t i = 2; i < addresses.size(); ++i) {
    CHECK(addresses[i] == addresses[i - 2]);
    CHECK(addresses[i] != addresses[i - 1]);
  }
}

TEST_CASE("Small tensors, those of other threads and of no run are the heap's") {
  MemoryPool pool;
  {
    const MemoryPool::Run run(&pool);
    (void)bytes(100);
    std::thread([] { (void)bytes(kMany); }).join();
    {
      const MemoryPool::Run without(nullptr);
      (void)bytes(kMany);
    }
  }
  (void)bytes(kMany);
  CHECK(pool.idle_bytes() == 0);
}

TEST_CASE("Tensors outlive their pool and end on any thread") {
  Tensor tensor;
  {
    MemoryPool pool;
    const MemoryPool::Run run(&pool);
    tensor = bytes(kMany);
    Tensor other = bytes(kMany);
    std::thread([&] { other = Tensor(); }).join();
    CHECK(pool.idle_bytes() >= kMany);
  }
  std::memset(tensor.raw(), 7, tensor.byte_size());
  CHECK(tensor.data<std::uint8_t>().back() == 7);
}
