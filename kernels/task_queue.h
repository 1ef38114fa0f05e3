// Tasks that need a scratch slot each: like parallel_for, but the body knows which worker it runs on.
#ifndef KERNELS_TASK_QUEUE_H_
#define KERNELS_TASK_QUEUE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "kernels/function_ref.h"
#include "kernels/parallel.h"

namespace ir::kernels {

/// Where the share of a worker of so many tasks begins. The first ones are the larger: worker 0 is the
/// caller, which need not wait for a thread to come.
inline std::size_t share_begin(std::size_t tasks, std::size_t worker, std::size_t workers) {
  return (tasks * worker + workers - 1) / workers;
}

/// Tasks in `parts` parts of groups, dealt out to workers: each has a stretch of its own, so that it finds
/// what it wrote in the step before in its own caches, and helps others when that is done.
class TaskStretches {
 public:
  TaskStretches(std::size_t groups, std::size_t parts, std::size_t workers)
      : parts_(parts), count_(std::min(workers, kMost)) {
    for (std::size_t i = 0; i < count_; ++i) {
      stretches_[i].next.store(border(groups, i), std::memory_order_relaxed);
      stretches_[i].end = border(groups, i + 1);
    }
  }

  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// The next tasks for a worker; none at the end.
  Range claim(std::size_t worker) {
    for (std::size_t i = 0; i < count_; ++i) {
      Stretch& stretch = stretches_[(worker + i) % count_];
      std::size_t begin = stretch.next.load(std::memory_order_relaxed);
      while (begin < stretch.end) {
        const std::size_t end = begin + share_of(stretch.end - begin);
        if (stretch.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) return {begin, end};
      }
    }
    return {};
  }

 private:
  static constexpr std::size_t kMost = 32;
  struct alignas(64) Stretch {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  /// Between groups, where there are so many that one more or less makes no difference.
  [[nodiscard]] std::size_t border(std::size_t groups, std::size_t i) const {
    constexpr std::size_t kMany = 8;
    return groups < kMany * count_ ? share_begin(groups * parts_, i, count_)
                                   : share_begin(groups, i, count_) * parts_;
  }
  /// Halves, so that there is something left to help with.
  [[nodiscard]] std::size_t share_of(std::size_t left) const {
    return left > parts_ ? (left / parts_ + 1) / 2 * parts_ : (left + 1) / 2;
  }

  std::size_t parts_;
  std::size_t count_;
  std::array<Stretch, kMost> stretches_;
};

/// Workers claim ranges of tasks until none is left. `cost` is that of one task in elementary operations;
/// small totals stay on the caller. `body(begin, end, worker, done)`: `done` is the end of the worker's range
/// before this one, 0 for its first.
template <class Body>
void claim_tasks(std::size_t groups, std::size_t parts, std::size_t cost, std::size_t max_workers,
                 const Body& body) {
  const std::size_t tasks = groups * parts;
  if (tasks == 0) return;
  const std::size_t workers = std::min(
      {max_workers, tasks / grain_for_cost(cost), static_cast<std::size_t>(std::max(thread_slots(), 1))});
  if (workers <= 1) {
    body(0, tasks, 0, 0);
    return;
  }
  TaskStretches stretches(groups, parts, workers);
  parallel_for(workers, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t worker = first; worker < last; ++worker) {
      std::size_t done = 0;
      for (auto range = stretches.claim(worker); range.end != 0; range = stretches.claim(worker)) {
        body(range.begin, range.end, worker, done);
        done = range.end;
      }
    }
  });
}

/// Runs `body(begin, end, worker)` over ranges that cover [0, tasks) once. `worker` < `max_workers` names the
/// scratch slot: no two bodies with the same worker run at once, and one thread always gets the same,
/// cache-warm slot (slots by chunk would either be many or go cold). How tasks are grouped into ranges
/// depends on the number and the speed of the threads, so a task must not know its neighbours: then results
/// are the same for any grouping. `cost` as in claim_tasks.
inline void for_each_task(std::size_t tasks, std::size_t cost, std::size_t max_workers,
                          FunctionRef<void(std::size_t begin, std::size_t end, std::size_t worker)> body) {
  claim_tasks(
      tasks, 1, cost, max_workers,
      [&](std::size_t begin, std::size_t end, std::size_t worker, std::size_t) { body(begin, end, worker); });
}

/// Consecutive parts of one group, on their way to one worker.
struct GroupRange {
  std::size_t group = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t worker = 0;
  /// The worker's range before this one was of the same group: what it prepared is still in its slot.
  bool continues = false;
};

/// The same for `parts` tasks in each of `groups` groups. What is done first for a range serves all of its
/// parts: groups stay whole until too few are left.
inline void for_each_group(std::size_t groups, std::size_t parts, std::size_t cost, std::size_t max_workers,
                           FunctionRef<void(const GroupRange&)> body) {
  claim_tasks(groups, parts, cost, max_workers,
              [&](std::size_t begin, std::size_t end, std::size_t worker, std::size_t done) {
                while (begin < end) {
                  const std::size_t group = begin / parts;
                  const std::size_t first = begin % parts;
                  const std::size_t last = std::min(parts, first + end - begin);
                  body({group, first, last, worker, done > group * parts && done <= begin});
                  begin += last - first;
                }
              });
}

}  // namespace ir::kernels

#endif  // KERNELS_TASK_QUEUE_H_
