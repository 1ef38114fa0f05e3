// Whose threads do a caller's work, and in which modes.
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <thread>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"

namespace ir::test {

TEST_CASE("A pool of one thread lets any number of callers work at a time", "[parallel]") {
  const kernels::ThreadPool pool(1);
  constexpr int kCallers = 5;
  std::atomic<int> at_work = 0;
  std::vector<std::thread> callers;
  callers.reserve(kCallers);
  std::atomic<int> most_slots = 0;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&] {
      pool.run([&] {
        ++at_work;
        while (at_work < kCallers) std::this_thread::yield();  // for ever, if one of them has to wait
        most_slots = std::max(most_slots.load(), kernels::thread_slots());
      });
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(at_work == kCallers);
  CHECK(most_slots == 1);
}

TEST_CASE("Work has the floating-point modes of who made the pool", "[parallel]") {
  const kernels::ThreadPool pool(GENERATE(1, 2));
  std::fesetround(FE_UPWARD);
  int inside = FE_UPWARD;
  pool.run([&] { inside = std::fegetround(); });
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  CHECK(inside == FE_TONEAREST);
  CHECK(after == FE_UPWARD);
}

TEST_CASE("Work in the arena of its caller takes up none of the caller's other tasks", "[parallel]") {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 4);
  const kernels::ThreadPool pool = kernels::ThreadPool::of_caller();
  tbb::enumerable_thread_specific<int> depth(0);
  std::atomic<int> nested = 0;
  tbb::task_arena(4).execute([&] {
    tbb::parallel_for(0, 400, [&](int) {
      int& own = depth.local();
      nested += own;
      ++own;
      pool.run([&] {
        for (int loop = 0; loop < 3; ++loop) {
          kernels::parallel_for(8, 1, [](std::size_t, std::size_t) {
            for (int i = 0; i < 200; ++i) std::this_thread::yield();
          });
        }
      });
      --own;
    });
  });
  CHECK(nested == 0);
}

}  // namespace ir::test
