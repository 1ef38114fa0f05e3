// The only door to oneTBB: loops over index ranges and the pool that they run on.
#ifndef KERNELS_THREADS_PARALLEL_H_
#define KERNELS_THREADS_PARALLEL_H_

#include <cstddef>
#include <memory>

#include "kernels/threads/function_ref.h"
#include "kernels/threads/task_stretches.h"

namespace ir::kernels {

/// Runs `body(begin, end)` over [0, count) in chunks of `grain` indices (the last one may be shorter).
/// The chunk borders depend on `count` and `grain` only, never on the number of threads, so a body that
/// writes only what belongs to its indices gives the same bits on any pool. Less than two whole chunks are
/// one, on the calling thread. An exception of a body reaches the caller. `grain` of 0 counts as 1. While it
/// waits for others, the calling thread takes over no work but this loop's: it may hold locks.
void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body);

/// Runs `body` over ranges that cover all tasks once, for at most `workers` of the threads that loops are
/// spread over now: no two bodies with the same `worker` run at once, and a thread of the crew has its own.
/// How tasks are grouped into ranges depends on the number and the speed of the threads.
void share_tasks(const TaskGroups& tasks, std::size_t workers,
                 FunctionRef<void(const TaskRange& range)> body);

/// Grain for `parallel_for` when one index costs about `cost` elementary operations (of vectors, as a
/// multiply-add): a chunk is then worth a microsecond or more, so that sharing a loop inside of
/// ThreadPool::run never costs more than it brings.
std::size_t grain_for_cost(std::size_t cost);

/// Of `threads`, as many as get a chunk each of work that costs about `cost` elementary operations in all; at
/// least 1. Work that is cut for more of them is done in smaller pieces for nothing.
std::size_t threads_for_cost(std::size_t cost, std::size_t threads);

/// Number of threads that the calling code may use: the slots of the pool it runs in.
int thread_slots();

/// Most threads that loops of the calling code are spread over now: as many, or 1 inside of run_alone.
int loop_threads();

/// Has the threads of the pool made, if they are not there: what follows need not wait for that.
void call_threads();

/// Runs `work`, whose loops are not spread: they run on the calling thread, with the same chunks.
void run_alone(FunctionRef<void()> work);

/// Threads that work may be spread over. All loops inside `run` use this pool and no other. From the first
/// loop that is spread on, threads of the pool stay awake for the next ones, also of the next `run`, as long
/// as no more than some 200 microseconds lie in between; several callers at once share them. As many callers
/// as the pool has threads work at a time, others wait; a pool of one lets all of them work.
class ThreadPool {
 public:
  /// `threads` >= 1. One thread means: everything runs on the caller. Work has the floating-point modes of
  /// the thread that makes the pool.
  explicit ThreadPool(int threads);
  /// The pool of the caller: the TBB arena that the calling thread is in when `run` is called.
  static ThreadPool of_caller();
  ThreadPool(ThreadPool&&) noexcept;
  ThreadPool& operator=(ThreadPool&&) noexcept;
  ~ThreadPool();

  [[nodiscard]] int threads() const;
  void run(FunctionRef<void()> work) const;

 private:
  struct Impl;
  struct Single;
  struct Arena;
  explicit ThreadPool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ir::kernels

#endif  // KERNELS_THREADS_PARALLEL_H_
