// Tasks that need a scratch slot each: like parallel_for, but the body knows which worker it runs on.
#ifndef KERNELS_TASK_QUEUE_H_
#define KERNELS_TASK_QUEUE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "kernels/function_ref.h"
#include "kernels/parallel.h"

namespace ir::kernels {

/// Runs `body(begin, end, worker)` over ranges that cover [0, tasks) once. `worker` < `max_workers` names the
/// scratch slot: no two bodies with the same worker run at once, and one thread always gets the same,
/// cache-warm slot (slots by chunk would either be many or go cold). How tasks are grouped into ranges
/// depends on the number of threads, so a task must not know its neighbours: then results are the same for
/// any grouping. `cost` is that of one task in elementary operations; small totals stay on the caller.
inline void for_each_task(std::size_t tasks, std::size_t cost, std::size_t max_workers,
                          FunctionRef<void(std::size_t begin, std::size_t end, std::size_t worker)> body) {
  if (tasks == 0) return;
  const std::size_t worth_a_thread = grain_for_cost(cost);
  const std::size_t workers = std::min(
      {max_workers, (tasks - 1) / worth_a_thread + 1, static_cast<std::size_t>(std::max(thread_slots(), 1))});
  if (workers <= 1) {
    body(0, tasks, 0);
    return;
  }
  // Large claims share more between tasks (packed panels), small ones at the end let workers finish together.
  constexpr std::size_t kShare = 2;
  std::atomic<std::size_t> next{0};
  parallel_for(workers, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t worker = first; worker < last; ++worker) {
      std::size_t begin = next.load(std::memory_order_relaxed);
      while (begin < tasks) {
        const std::size_t end = begin + std::max<std::size_t>(1, (tasks - begin) / (kShare * workers));
        if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
        body(begin, end, worker);
        begin = next.load(std::memory_order_relaxed);
      }
    }
  });
}

}  // namespace ir::kernels

#endif  // KERNELS_TASK_QUEUE_H_
