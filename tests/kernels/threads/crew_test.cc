// Loops are done whoever helps, and helpers never outstay their welcome.
#include "kernels/threads/crew.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"

namespace ir::test {
namespace {

using kernels::Crew;
using kernels::TaskGroups;
using kernels::TaskRange;

constexpr std::size_t kAll = 4;

/// Threads that help for good: those that leave come back until the end.
class Helpers {
 public:
  explicit Helpers(Crew& crew) : crew_(crew) {
    for (std::size_t member = 1; member < kAll; ++member) {
      threads_.emplace_back([this, member] {
        while (!is_over_) crew_.help(member);
      });
    }
  }
  ~Helpers() {
    is_over_ = true;
    crew_.dismiss();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  Crew& crew_;
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

/// Calls `body(chunk)` for all of them.
template <class Body>
void run(Crew& crew, const TaskGroups& chunks, std::size_t width, const Body& body) {
  crew.run(chunks, width, [&](const TaskRange& range) {
    for (std::size_t chunk = range.begin; chunk < range.end; ++chunk) body(chunk);
  });
}

bool is_done_once(Crew& crew, const TaskGroups& chunks, std::size_t width) {
  const std::size_t count = chunks.groups * chunks.parts;
  std::vector<int> done(count, 0);  // plain: one chunk is one thread's, and the loop's end is seen by all
  run(crew, chunks, width, [&](std::size_t chunk) { ++done[chunk]; });
  return done == std::vector<int>(count, 1);
}

}  // namespace

TEST_CASE("A crew does every chunk once, with and without helpers", "[parallel]") {
  const std::size_t groups = GENERATE(1, 2, 3, 7, 64, 1000);
  const std::size_t parts = GENERATE(1, 5);
  const TaskGroups chunks{groups, parts};
  const std::size_t width = GENERATE(2, 3, 4, 40);
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  CHECK(is_done_once(crew, chunks, width));
  const Helpers helpers(crew);
  for (int i = 0; i < 200; ++i) REQUIRE(is_done_once(crew, chunks, width));
}

TEST_CASE("Ranges know their member, and where its range before ended", "[parallel]") {
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  const Helpers helpers(crew);
  const std::size_t width = GENERATE(1, 2, 4);
  std::vector<std::size_t> done(width, 0);  // plain: by member
  for (int i = 0; i < 200; ++i) {
    std::ranges::fill(done, 0);
    std::atomic<bool> is_right = true;
    crew.run({9, 3}, width, [&](const TaskRange& range) {
      if (range.worker >= width || range.begin >= range.end || range.done != done[range.worker])
        is_right = false;
      done[range.worker % width] = range.end;
    });
    REQUIRE(is_right);
  }
}

TEST_CASE("Helpers take part in loops that are wide enough for them", "[parallel]") {
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> arrived = 0;
  std::thread helper([&] {
    while (arrived < 2) crew.help(2);
  });
  std::atomic<bool> is_alone = true;
  for (int i = 0; i < 50; ++i) {
    run(crew, {8}, 2, [&](std::size_t) {
      if (std::this_thread::get_id() != caller) is_alone = false;
    });
  }
  CHECK(is_alone);
  // The caller waits inside of its chunk until the helper has one.
  run(crew, {2}, 3, [&](std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  CHECK(arrived == 2);
  crew.dismiss();
  helper.join();
}

TEST_CASE("An exception of any member reaches the caller, and the crew goes on", "[parallel]") {
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  const Helpers helpers(crew);
  const std::size_t bad = GENERATE(0, 5, 63);
  for (int i = 0; i < 50; ++i) {
    CHECK_THROWS_AS(run(crew, {64}, kAll,
                        [&](std::size_t chunk) {
                          if (chunk == bad) throw std::out_of_range("a chunk");
                        }),
                    std::out_of_range);
    REQUIRE(is_done_once(crew, {64}, kAll));
  }
}

TEST_CASE("Helpers leave when nothing comes", "[parallel]") {
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  crew.help(1);
}

TEST_CASE("Helpers leave when others share their places, or the crew is dismissed", "[parallel]") {
  std::atomic<int> sharers = 1;
  Crew crew(kAll, sharers);
  const bool is_shared = GENERATE(false, true);
  std::atomic<bool> has_come = false;
  std::atomic<bool> has_left = false;
  std::thread helper([&] {
    crew.help(2);
    has_left = true;
  });
  // Loops that come all the time keep it.
  const auto work = [&](std::size_t chunk) {
    if (chunk == 2) has_come = true;
  };
  for (int i = 0; i < 1000 && !has_come; ++i) run(crew, {3}, kAll, work);
  if (is_shared) {
    sharers = 2;
  } else {
    crew.dismiss();
  }
  for (int i = 0; i < 10'000'000 && !has_left; ++i) run(crew, {3}, kAll, work);
  CHECK(has_left);
  helper.join();
}

void never() { FAIL("nobody is awaited for long"); }

TEST_CASE("No more members are called than have a place", "[parallel]") {
  std::atomic<int> sharers = 0;
  Crew crew(5, sharers);
  std::vector<std::size_t> called;
  const auto call = [&](std::size_t member) { called.push_back(member); };
  sharers = 2;
  crew.muster(4, call, never);
  CHECK(called == std::vector<std::size_t>{1});
  sharers = 1;
  crew.muster(9, call, never);
  CHECK(called == std::vector<std::size_t>{1, 2, 3, 4});
}

TEST_CASE("Members are called once until they have left", "[parallel]") {
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  std::vector<std::size_t> called;
  const auto call = [&](std::size_t member) { called.push_back(member); };
  crew.muster(3, call, never);
  crew.muster(4, call, never);
  CHECK(called == std::vector<std::size_t>{1, 2, 3});
  crew.dismiss();
  crew.help(2);
  crew.muster(4, call, never);
  CHECK(called == std::vector<std::size_t>{1, 2, 3, 2});
}

TEST_CASE("Members that do not come are called again, ever more rarely, until they are there", "[parallel]") {
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  int calls = 0;
  int repeated = 0;
  const auto muster = [&](int loops) {
    for (int loop = 0; loop < loops; ++loop)
      crew.muster(
          2, [&](std::size_t) { ++calls; }, [&] { ++repeated; });
  };
  muster(10);
  CHECK(repeated == 0);
  muster(190);
  CHECK(repeated > 0);
  CHECK(repeated < 6);
  const int before = repeated;
  muster(1000);
  CHECK(repeated > before);
  CHECK(repeated < 10);
  CHECK(calls == 1);
  // While it works, it is not called.
  const int until_there = repeated;
  std::atomic<bool> has_come = false;
  std::atomic<bool> may_end = false;
  std::thread helper([&] {
    while (!may_end) crew.help(1);
  });
  crew.run({2}, 2, [&](const TaskRange& range) {
    if (range.worker == 1) {
      has_come = true;
      while (!may_end) std::this_thread::yield();
    } else {
      while (!has_come) std::this_thread::yield();
      muster(1000);
      may_end = true;
    }
  });
  CHECK(repeated == until_there);
  crew.dismiss();
  helper.join();
}

TEST_CASE("Loops inside of loops are done, too", "[parallel]") {
  const int threads = GENERATE(1, 2, 5);
  std::vector<std::atomic<int>> done(24 * 30);
  kernels::ThreadPool(threads).run([&] {
    for (int repeat = 0; repeat < 20; ++repeat) {
      kernels::parallel_for(24, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          kernels::parallel_for(30, 1, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) ++done[row * 30 + i];
          });
        }
      });
    }
  });
  for (const std::atomic<int>& count : done) REQUIRE(count == 20);
}

TEST_CASE("Loops of work that runs alone stay on its thread, with the same chunks", "[parallel]") {
  kernels::ThreadPool(3).run([&] {
    const std::thread::id caller = std::this_thread::get_id();
    using Chunks = std::vector<std::pair<std::size_t, std::size_t>>;
    const auto chunks = [&] {
      Chunks begins(100);
      kernels::parallel_for(100, 7, [&](std::size_t begin, std::size_t end) {
        begins[begin] = {begin, end};
        // What a loop inside of a loop does follows the loop around it.
        kernels::parallel_for(8, 1, [&](std::size_t, std::size_t) {});
      });
      return begins;
    };
    const Chunks shared = chunks();
    CHECK(kernels::thread_slots() == 3);
    CHECK(kernels::loop_threads() == 3);
    kernels::run_alone([&] {
      CHECK(kernels::thread_slots() == 3);
      CHECK(kernels::loop_threads() == 1);
      CHECK(chunks() == shared);
      for (int i = 0; i < 100; ++i) {
        kernels::parallel_for(64, 1, [&](std::size_t, std::size_t) {
          if (std::this_thread::get_id() != caller) throw std::logic_error("shared");
        });
      }
    });
    CHECK_THROWS_AS(kernels::run_alone([] { throw std::out_of_range("work"); }), std::out_of_range);
    // Behind both, loops are shared: this one's chunks wait for each other.
    std::atomic<int> arrived = 0;
    kernels::parallel_for(2, 1, [&](std::size_t, std::size_t) {
      ++arrived;
      for (int i = 0; i < 1'000'000 && arrived < 2; ++i) std::this_thread::yield();
    });
    CHECK(arrived == 2);
  });
}

TEST_CASE("Callers of one pool work at the same time, on more or fewer threads than it has", "[parallel]") {
  const kernels::ThreadPool pool(GENERATE(1, 2, 4));
  constexpr std::size_t kCallers = 5;
  std::vector<std::size_t> sums(kCallers, 0);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int run = 0; run < 20; ++run) {
        pool.run([&] {
          for (int loop = 0; loop < 10; ++loop) {
            std::vector<std::size_t> parts(16, 0);
            kernels::parallel_for(16, 1, [&](std::size_t begin, std::size_t end) {
              for (std::size_t i = begin; i < end; ++i) parts[i] = caller + i;
            });
            for (const std::size_t part : parts) sums[caller] += part;
          }
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::size_t caller = 0; caller < kCallers; ++caller) CHECK(sums[caller] == 200 * (16 * caller + 120));
}

#if defined(__linux__)
namespace {

cpu_set_t processors_of_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  (void)sched_getaffinity(0, sizeof set, &set);
  return set;
}

bool set_processors_of_thread(const cpu_set_t& set) { return sched_setaffinity(0, sizeof set, &set) == 0; }

cpu_set_t only(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return set;
}

}  // namespace

TEST_CASE("A helper that wakes up where its caller runs goes elsewhere if it may", "[parallel]") {
  const cpu_set_t all = processors_of_thread();
  const int callers = sched_getcpu();
  if (callers < 0 || CPU_COUNT(&all) < 2 || !set_processors_of_thread(only(callers))) return;
  const std::atomic<int> nobody = 0;
  Crew crew(kAll, nobody);
  crew.muster(
      2, [](std::size_t /*member*/) {}, [] {});
  crew.dismiss();  // a helper leaves as soon as it has come
  const bool is_free = GENERATE(true, false);
  const cpu_set_t allowed = is_free ? all : only(callers);
  int elsewhere = 0;
  bool stays_allowed = true;
  std::thread([&] {
    for (int i = 0; i < 20; ++i) {
      (void)set_processors_of_thread(only(callers));
      (void)set_processors_of_thread(allowed);
      crew.help(1);
      elsewhere += sched_getcpu() != callers ? 1 : 0;
      const cpu_set_t after = processors_of_thread();
      stays_allowed = stays_allowed && CPU_EQUAL(&after, &allowed) != 0;
    }
  }).join();
  REQUIRE(set_processors_of_thread(all));
  CHECK(stays_allowed);
  if (is_free) {
    CHECK(elsewhere > 0);  // the kernel may put it back
  } else {
    CHECK(elsewhere == 0);
  }
}
#endif

}  // namespace ir::test
