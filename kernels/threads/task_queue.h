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
/// small totals stay on the caller.
inline void claim_tasks(const TaskGroups& tasks, std::size_t cost, std::size_t max_workers,
                        FunctionRef<void(const TaskRange& range)> body) {
  const std::size_t count = tasks.groups * tasks.parts;
  if (count != 0) share_tasks(tasks, std::min(max_workers, count / grain_for_cost(cost)), body);
}

/// Runs `body(begin, end, worker)` over ranges that cover [0, tasks) once. `worker` < `max_workers` names the
/// scratch slot: no two bodies with the same worker run at once, and one thread always gets the same,
/// cache-warm slot (slots by chunk would either be many or go cold). How tasks are grouped into ranges
/// depends on the number and the speed of the threads, so a task must not know its neighbours: then results
/// are the same for any grouping. `cost` as in claim_tasks.
inline void for_each_task(std::size_t tasks, std::size_t cost, std::size_t max_workers,
                          FunctionRef<void(std::size_t begin, std::size_t end, std::size_t worker)> body) {
  claim_tasks({tasks}, cost, max_workers,
              [body](const TaskRange& range) { body(range.begin, range.end, range.worker); });
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
  claim_tasks({groups, parts}, cost, max_workers, [parts, body](const TaskRange& range) {
    for (std::size_t begin = range.begin; begin < range.end;) {
      const std::size_t group = begin / parts;
      const std::size_t first = begin % parts;
      const std::size_t last = std::min(parts, first + range.end - begin);
      body({group, first, last, range.worker, range.done > group * parts && range.done <= begin});
      begin += last - first;
    }
  });
}

}  // namespace ir::kernels

#endif  // KERNELS_THREADS_TASK_QUEUE_H_
