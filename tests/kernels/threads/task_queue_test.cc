// Tasks are done once each, whoever does them.
#include "kernels/threads/task_queue.h"

#include <atomic>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"

namespace ir::test {
namespace {

constexpr std::size_t kMuch = 1'000'000;  // of work, so that it is spread
constexpr std::size_t kNobody = 1000;

}  // namespace

TEST_CASE("Every task is done once", "[parallel]") {
  const std::size_t tasks = GENERATE(0, 1, 2, 3, 7, 64, 1000);
  const std::size_t cost = GENERATE(1, 1'000'000);
  const int threads = GENERATE(1, 2, 3);
  const std::size_t most_workers = GENERATE(1, 2, 40);
  std::vector<std::atomic<int>> done(tasks);
  std::atomic<bool> is_sound = true;
  kernels::ThreadPool(threads).run([&] {
    kernels::for_each_task(tasks, cost, most_workers,
                           [&](std::size_t begin, std::size_t end, std::size_t worker) {
                             if (worker >= most_workers || begin >= end) is_sound = false;
                             for (std::size_t task = begin; task < end; ++task) ++done[task];
                           });
  });
  CHECK(is_sound);
  for (const std::atomic<int>& count : done) CHECK(count == 1);
}

TEST_CASE("Every part of every group is done once, and a slot is used by one at a time", "[parallel]") {
  const std::size_t groups = GENERATE(1, 2, 3, 5, 17);
  const std::size_t parts = GENERATE(1, 2, 3, 8);
  const int threads = GENERATE(1, 2, 3);
  constexpr std::size_t kWorkers = 3;
  std::vector<std::atomic<int>> done(groups * parts);
  std::vector<std::atomic<bool>> busy(kWorkers);
  std::vector<std::size_t> last_group(kWorkers, kNobody);
  std::atomic<bool> is_sound = true;
  kernels::ThreadPool(threads).run([&] {
    kernels::for_each_group(groups, parts, kMuch, kWorkers, [&](const kernels::GroupRange& range) {
      if (range.worker >= kWorkers || busy[range.worker].exchange(true) || range.first >= range.last ||
          range.last > parts || range.continues != (last_group[range.worker] == range.group)) {
        is_sound = false;
        return;
      }
      last_group[range.worker] = range.group;
      for (std::size_t part = range.first; part < range.last; ++part) ++done[range.group * parts + part];
      busy[range.worker] = false;
    });
  });
  CHECK(is_sound);
  for (const std::atomic<int>& count : done) CHECK(count == 1);
}

TEST_CASE("Little work stays on the caller", "[parallel]") {
  std::vector<std::size_t> workers;
  kernels::ThreadPool(3).run([&] {
    kernels::for_each_task(100, 1, 3,
                           [&](std::size_t, std::size_t, std::size_t worker) { workers.push_back(worker); });
  });
  CHECK(workers == std::vector<std::size_t>{0});
}

TEST_CASE("Work is for as many threads as get a chunk of it each", "[parallel]") {
  const std::size_t chunk = kernels::grain_for_cost(1);
  CHECK(kernels::threads_for_cost(0, 4) == 1);
  CHECK(kernels::threads_for_cost(2 * chunk - 1, 4) == 1);
  CHECK(kernels::threads_for_cost(2 * chunk, 4) == 2);
  CHECK(kernels::threads_for_cost(100 * chunk, 4) == 4);
  CHECK(kernels::threads_for_cost(100 * chunk, 0) == 1);
}

TEST_CASE("Shares differ by one at most, the larger ones first", "[parallel]") {
  const std::size_t tasks = GENERATE(0, 1, 3, 8, 25);
  const std::size_t workers = GENERATE(1, 2, 3, 8);
  CHECK(kernels::share_begin(tasks, 0, workers) == 0);
  CHECK(kernels::share_begin(tasks, workers, workers) == tasks);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const std::size_t share =
        kernels::share_begin(tasks, worker + 1, workers) - kernels::share_begin(tasks, worker, workers);
    CHECK(share >= tasks / workers);
    CHECK(share <= (tasks + workers - 1) / workers);
    if (worker == 0) CHECK(share == (tasks + workers - 1) / workers);
  }
}

}  // namespace ir::test
