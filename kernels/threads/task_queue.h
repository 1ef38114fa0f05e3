// Tasks that need a scratch slot each: like parallel_for, but the body knows which worker it runs on.
#ifndef KERNELS_THREADS_TASK_QUEUE_H_
#define KERNELS_THREADS_TASK_QUEUE_H_

#include <algorithm>
#include <cstddef>

#include "kernels/threads/function_ref.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_stretches.h"

namespace ir::kernels {

/// Workers claim ranges of tasks until none is left. `cost` is that of one task in elementary operations;
/// small totals stay on the caller. `body(begin, end, worker, done)`: `done` is the end of the worker's range
/// before this one, 0 for its first.
template <class Body>
void claim_tasks(std::size_t groups, std::size_t parts, std::size_t cost, std::size_t max_workers,
                 const Body& body) {
  const std::size_t tasks = groups * parts;
  if (tasks == 0) return;
  const std::size_t workers = std::min(
      {max_workers, tasks / grain_for_cost(cost), static_cast<std::size_t>(std::max(loop_threads(), 1))});
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

#endif  // KERNELS_THREADS_TASK_QUEUE_H_
