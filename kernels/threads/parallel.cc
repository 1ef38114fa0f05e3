#include "kernels/threads/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <mutex>
#include <optional>
#include <utility>

#include "kernels/threads/crew.h"
#include "kernels/threads/hand_over.h"
#include "kernels/threads/loop_width.h"

namespace ir::kernels {
namespace {

// A microsecond or two: several times what it takes a crew to share a loop.
constexpr std::size_t kOperationsPerChunk = 8192;

thread_local int loop_width = 1;

/// A crew whose helpers are threads of the arena that it is made and run in.
class HiredCrew {
 public:
  explicit HiredCrew(const std::atomic<int>& sharers)
      : crew_(std::min(static_cast<std::size_t>(thread_slots()), Crew::kMost), sharers) {}
  HiredCrew(const HiredCrew&) = delete;
  HiredCrew& operator=(const HiredCrew&) = delete;
  ~HiredCrew() {
    crew_.dismiss();
    tasks_.wait();
    to_caller_.take();
  }

  /// Helpers come when the first loop wants them, and stay.
  void run(const TaskGroups& tasks, std::size_t width, FunctionRef<void(const TaskRange& range)> body) {
    width = std::min(width, Crew::kMost);
    const auto call = [&](std::size_t member) {
      to_helper_.give();
      tasks_.run([this, member] {
        to_helper_.take();
        crew_.help(member);
        to_caller_.give();
      });
    };
    // oneTBB looks without a fence whether its workers are awake: one that falls asleep just then sleeps on
    // until there is another task.
    crew_.muster(width, call, [&] { tasks_.run([] {}); });
    crew_.run(tasks, width, body);
  }

 private:
  Crew crew_;
  HandOver to_helper_;
  HandOver to_caller_;
  // Of its own: tasks may outlive what the caller who has them started is in.
  tbb::task_group_context context_{tbb::task_group_context::isolated};
  tbb::task_group tasks_{context_};
};

/// Of the work that this thread does. None inside of a loop: the crew has one loop at a time.
thread_local HiredCrew* current_crew = nullptr;

/// Whether this thread spreads no loops.
thread_local bool is_alone = false;

/// Whether this thread runs work of a pool that has no other.
thread_local bool is_whole_pool = false;

/// Sets a variable of the thread for as long as it lives.
template <class T>
class Scope {
 public:
  Scope(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { variable_ = before_; }

 private:
  T& variable_;
  T before_;
};

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  std::atomic<int>& count_;
};

/// The modes of floating-point arithmetic of another thread, as oneTBB's arenas have those of their maker.
class FloatingPointModes {
 public:
  explicit FloatingPointModes(const std::fenv_t& modes) {
    std::fegetenv(&before_);
    std::fesetenv(&modes);
  }
  FloatingPointModes(const FloatingPointModes&) = delete;
  FloatingPointModes& operator=(const FloatingPointModes&) = delete;
  ~FloatingPointModes() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

/// Isolated: a thread that waits inside of `work` must not pick up another caller's work in between.
void run_with(HiredCrew* crew, FunctionRef<void()> work) {
  tbb::this_task_arena::isolate([&] {
    const Scope scope(current_crew, crew);
    work();
  });
}

}  // namespace

int take_loop_width() { return std::exchange(loop_width, 1); }

void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(grain, 1);
  // The last chunk, if it is not whole, is not worth a thread.
  const std::size_t whole = count / grain;
  if (whole <= 1) return body(0, count);
  const std::size_t chunks = (count - 1) / grain + 1;
  // All in one place, which other threads have to fetch.
  const auto run_chunks = [count, grain, body](std::size_t chunk, std::size_t end) {
    for (; chunk < end; ++chunk) {
      const std::size_t begin = chunk * grain;
      body(begin, count - begin > grain ? begin + grain : count);
    }
  };
  const std::size_t width = std::min(whole, static_cast<std::size_t>(loop_threads()));
  loop_width = std::max(loop_width, static_cast<int>(width));
  if (width == 1) return run_chunks(0, chunks);
  if (HiredCrew* const crew = current_crew) {
    const Scope<HiredCrew*> none(current_crew, nullptr);
    crew->run({chunks}, width, [run_chunks](const TaskRange& range) { run_chunks(range.begin, range.end); });
    return;
  }
  const HandOver to_task;
  const HandOver to_caller;
  to_task.give();
  // The partitioner may hand several chunks to one task; their borders stay where `grain` put them. Isolated:
  // inside of a loop, the helpers of its crew that did not come yet must not be picked up here.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, chunks),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        to_task.take();
                        run_chunks(range.begin(), range.end());
                        to_caller.give();
                      });
  });
  to_caller.take();
}

void share_tasks(const TaskGroups& tasks, std::size_t workers,
                 FunctionRef<void(const TaskRange& range)> body) {
  workers = std::min(workers, static_cast<std::size_t>(loop_threads()));
  if (workers <= 1) return body({0, tasks.groups * tasks.parts});
  if (HiredCrew* const crew = current_crew) {
    loop_width = std::max(loop_width, static_cast<int>(workers));
    const Scope<HiredCrew*> none(current_crew, nullptr);
    return crew->run(tasks, workers, body);
  }
  TaskStretches stretches(tasks, workers);
  parallel_for(workers, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t worker = first; worker < last; ++worker) stretches.claim_all(worker, body);
  });
}

void run_alone(FunctionRef<void()> work) {
  const Scope alone(is_alone, true);
  work();
}

void call_threads() {
  parallel_for(static_cast<std::size_t>(thread_slots()), 1, [](std::size_t, std::size_t) {});
}

std::size_t threads_for_cost(std::size_t cost, std::size_t threads) {
  return std::clamp<std::size_t>(cost / kOperationsPerChunk, 1, std::max<std::size_t>(threads, 1));
}

std::size_t grain_for_cost(std::size_t cost) {
  return (kOperationsPerChunk - 1) / std::max<std::size_t>(1, cost) + 1;
}

int thread_slots() { return is_whole_pool ? 1 : tbb::this_task_arena::max_concurrency(); }

int loop_threads() { return is_alone ? 1 : thread_slots(); }

struct ThreadPool::Impl {
  virtual ~Impl() = default;
  [[nodiscard]] virtual int threads() const = 0;
  virtual void run(FunctionRef<void()> work) = 0;
};

/// Callers, however many, do their own work.
struct ThreadPool::Single final : Impl {
  Single() { std::fegetenv(&modes); }

  [[nodiscard]] int threads() const override { return 1; }
  void run(FunctionRef<void()> work) override {
    const FloatingPointModes as_made(modes);
    const Scope whole(is_whole_pool, true);
    work();
  }

  std::fenv_t modes;
};

/// One crew, which stays awake between two pieces of work that follow each other. Who comes while another
/// caller has it gets threads from the scheduler.
struct ThreadPool::Arena final : Impl {
  Arena(int slots, unsigned reserved) : arena(slots, reserved) {
    arena.execute([&] { crew.emplace(callers); });
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() noexcept override {
    arena.execute([&] { crew.reset(); });
  }

  [[nodiscard]] int threads() const override { return arena.max_concurrency(); }
  void run(FunctionRef<void()> work) override {
    const HandOver to_arena;
    const HandOver to_caller;
    to_arena.give();
    const Counted caller(callers);
    // Perhaps on another thread.
    arena.execute([&] {
      to_arena.take();
      const std::unique_lock lock(crew_is_taken, std::try_to_lock);
      run_with(lock ? &*crew : nullptr, work);
      to_caller.give();
    });
    to_caller.take();
  }

  tbb::task_arena arena;
  std::atomic<int> callers{0};
  std::optional<HiredCrew> crew;
  std::mutex crew_is_taken;
};

ThreadPool::ThreadPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadPool::ThreadPool(int threads) {
  const int slots = std::max(threads, 1);
  if (slots == 1) {
    impl_ = std::make_unique<Single>();
    return;
  }
  // Slots beyond the workers that oneTBB has are left to threads that enter the arena from outside: asking
  // for more workers than that brings none, and a warning on stderr.
  const auto allowed =
      static_cast<int>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  const auto reserved = static_cast<unsigned>(std::max(1, slots - std::max(allowed - 1, 0)));
  impl_ = std::make_unique<Arena>(slots, reserved);
}
ThreadPool ThreadPool::of_caller() { return ThreadPool(nullptr); }
ThreadPool::ThreadPool(ThreadPool&&) noexcept = default;
ThreadPool& ThreadPool::operator=(ThreadPool&&) noexcept = default;
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return impl_ ? impl_->threads() : thread_slots(); }

void ThreadPool::run(FunctionRef<void()> work) const {
  if (impl_) return impl_->run(work);
  // Its helpers leave in here, too: who waits for them outside might pick up whatever else the arena has.
  tbb::this_task_arena::isolate([&] {
    const std::atomic<int> nobody{0};
    HiredCrew crew(nobody);
    const Scope<HiredCrew*> hired(current_crew, &crew);
    work();
  });
}

}  // namespace ir::kernels
