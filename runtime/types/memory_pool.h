// Memory of tensors that come and go with every run.
#ifndef RUNTIME_TYPES_MEMORY_POOL_H_
#define RUNTIME_TYPES_MEMORY_POOL_H_

#include <cstddef>
#include <memory>

namespace ir {

/// Keeps what tensors of one run leave for those of the next: new pages cost more than most steps do. Blocks
/// that a few runs did not need go back to the heap. Tensors may outlive the pool, and end on any thread.
class MemoryPool {
 public:
  MemoryPool();
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// One run: large tensors that its thread makes as long as this lives take their memory from the pool, or,
  /// where that is nullptr, from the heap, whatever an outer run uses.
  class Run {
   public:
    explicit Run(MemoryPool* pool);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    MemoryPool* outer_;
  };

  /// Memory aligned to 64 bytes: from the pool that the thread uses, or, without one and for small sizes,
  /// from the heap. Blocks of no bytes, too, have an address of their own. nullptr when memory runs out.
  /// Counts as living (budget.h).
  static std::shared_ptr<void> allocate(std::size_t bytes);

  /// What waits for the next tensors.
  [[nodiscard]] std::size_t idle_bytes() const;

 private:
  struct Blocks;
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace ir

#endif  // RUNTIME_TYPES_MEMORY_POOL_H_
