#include "kernels/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <utility>

#include "kernels/hand_over.h"
#include "kernels/loop_width.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kOperationsPerChunk = 32768;

thread_local int loop_width = 1;

}  // namespace

int take_loop_width() { return std::exchange(loop_width, 1); }

void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t chunks = (count - 1) / grain + 1;
  // The last chunk, if it is not whole, is not worth a thread.
  const std::size_t width = std::clamp<std::size_t>(count / grain, 1, thread_slots());
  loop_width = std::max(loop_width, static_cast<int>(width));
  const auto run_chunk = [&](std::size_t chunk) {
    const std::size_t begin = chunk * grain;
    body(begin, count - begin > grain ? begin + grain : count);
  };
  if (width == 1) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) run_chunk(chunk);
    return;
  }
  const HandOver to_task;
  const HandOver to_caller;
  to_task.give();
  // The partitioner may hand several chunks to one task; their borders stay where `grain` put them.
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, chunks),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      to_task.take();
                      for (std::size_t chunk = range.begin(); chunk < range.end(); ++chunk) run_chunk(chunk);
                      to_caller.give();
                    });
  to_caller.take();
}

std::size_t threads_for_cost(std::size_t cost, std::size_t threads) {
  return std::clamp<std::size_t>(cost / kOperationsPerChunk, 1, std::max<std::size_t>(threads, 1));
}

std::size_t grain_for_cost(std::size_t cost) {
  return (kOperationsPerChunk - 1) / std::max<std::size_t>(1, cost) + 1;
}

int thread_slots() { return tbb::this_task_arena::max_concurrency(); }

struct ThreadPool::Impl {
  tbb::task_arena arena;
  bool of_caller = false;
};

ThreadPool::ThreadPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadPool::ThreadPool(int threads) {
  const int slots = std::max(threads, 1);
  // Slots beyond the workers that oneTBB has are left to threads that enter the arena from outside: asking
  // for more workers than that brings none, and a warning on stderr.
  const auto allowed =
      static_cast<int>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  const auto reserved = static_cast<unsigned>(std::max(1, slots - std::max(allowed - 1, 0)));
  impl_ = std::make_unique<Impl>(Impl{tbb::task_arena(slots, reserved), false});
}
ThreadPool ThreadPool::of_caller() {
  return ThreadPool(std::make_unique<Impl>(Impl{tbb::task_arena(1), true}));
}
ThreadPool::ThreadPool(ThreadPool&&) noexcept = default;
ThreadPool& ThreadPool::operator=(ThreadPool&&) noexcept = default;
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return impl_->of_caller ? thread_slots() : impl_->arena.max_concurrency(); }

void ThreadPool::run(FunctionRef<void()> work) const {
  if (impl_->of_caller) {
    work();
  } else {
    const HandOver to_arena;
    const HandOver to_caller;
    to_arena.give();
    // Perhaps on another thread. Isolated: a thread that waits inside of `work` must not pick up another
    // caller's work in between.
    impl_->arena.execute([&] {
      to_arena.take();
      tbb::this_task_arena::isolate([&] { work(); });
      to_caller.give();
    });
    to_caller.take();
  }
}

}  // namespace ir::kernels
