#include "kernels/threads/crew.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <chrono>
#include <exception>
#include <thread>

namespace ir::kernels {
namespace {

// The parts of Crew::state_. Helpers count themselves in before they look whether the loop is open, so that
// none reads a loop that the caller has left.
constexpr std::uint64_t kHelper = 1;
constexpr std::uint64_t kHelpers = 0xFFFF;
constexpr int kWidthAt = 16;
constexpr std::uint64_t kWidth = 0xFFFF;
constexpr std::uint64_t kOpen = std::uint64_t{1} << 32;
constexpr int kNumberAt = 33;

constexpr std::uint64_t width_of(std::uint64_t state) { return state >> kWidthAt & kWidth; }
constexpr std::uint64_t number_of(std::uint64_t state) { return state >> kNumberAt; }

/// Tells the core that this is a loop that waits.
void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Waiting that costs others the less the longer it takes.
class Patience {
 public:
  /// Waits a moment. False when that has gone on for so long that nothing may come.
  bool wait() {
    pause();
    if (++pauses_ % kPausesPerLook != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (pauses_ == kPausesPerLook) since_ = now;
    if (now - since_ < kAwake) return true;
    std::this_thread::yield();
    return now - since_ < kLongest;
  }

 private:
  static constexpr unsigned kPausesPerLook = 16;
  static constexpr std::chrono::microseconds kAwake{4};
  static constexpr std::chrono::microseconds kLongest{200};

  unsigned pauses_ = 0;
  std::chrono::steady_clock::time_point since_;
};

/// The one that this thread runs on; negative where that is not known.
int current_processor() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

/// Goes on on another one, if this thread may run there.
void leave_processor(int processor) {
#if defined(__linux__)
  cpu_set_t allowed;
  // Fails where processors have larger numbers than the set.
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(processor, &others);
  // Fails where there are no others.
  if (sched_setaffinity(0, sizeof others, &others) == 0) (void)sched_setaffinity(0, sizeof allowed, &allowed);
#else
  (void)processor;
#endif
}

}  // namespace

struct Crew::Loop {
  Loop(const TaskGroups& tasks, std::size_t width, FunctionRef<void(const TaskRange& range)> work)
      : stretches(tasks, width), body(work) {}

  void take_part(std::size_t member) {
    try {
      stretches.claim_all(member, body);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }

  TaskStretches stretches;
  FunctionRef<void(const TaskRange& range)> body;
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
};

void Crew::run(const TaskGroups& tasks, std::size_t width, FunctionRef<void(const TaskRange& range)> body) {
  Loop loop(tasks, width, body);
  loop_ = &loop;
  // Added, not stored: helpers who look in count themselves in and out at any time.
  const std::uint64_t last_width = width_of(state_.load(std::memory_order_relaxed));
  const std::uint64_t opening =
      kOpen + (std::uint64_t{1} << kNumberAt) + ((std::uint64_t{width} - last_width) << kWidthAt);
  state_.fetch_add(opening, std::memory_order_release);
  loop.take_part(0);
  state_.fetch_sub(kOpen, std::memory_order_relaxed);
  Patience patience;
  while ((state_.load(std::memory_order_acquire) & kHelpers) != 0) (void)patience.wait();
  if (loop.failure) std::rethrow_exception(loop.failure);
}

void Crew::note_call() {
  callers_processor_.store(current_processor(), std::memory_order_relaxed);
  called_at_ = std::chrono::steady_clock::now();
  has_made_way_ = false;
}

void Crew::make_way() {
  constexpr std::chrono::microseconds kLate{100};
  if (has_made_way_ || std::chrono::steady_clock::now() - called_at_ < kLate) return;
  has_made_way_ = true;
  std::this_thread::yield();
}

void Crew::help(std::size_t member) {
  // Systems in virtual machines may take a processor that halts for a busy one, and wake a helper where its
  // caller runs. Both would share that for some milliseconds.
  const int taken = callers_processor_.load(std::memory_order_relaxed);
  if (taken >= 0 && taken == current_processor()) leave_processor(taken);
  present_[member / kWord].fetch_or(bit_of(member), std::memory_order_relaxed);
  std::uint64_t last = 0;
  Patience patience;
  while (!is_dismissed_.load(std::memory_order_relaxed) && member < places()) {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    if ((state & kOpen) == 0 || number_of(state) == last || width_of(state) <= member) {
      if (!patience.wait()) break;
      continue;
    }
    state = state_.fetch_add(kHelper, std::memory_order_acquire);
    if ((state & kOpen) != 0 && width_of(state) > member) {
      last = number_of(state);
      loop_->take_part(member);
      patience = Patience();
    }
    state_.fetch_sub(kHelper, std::memory_order_release);
  }
  present_[member / kWord].fetch_and(~bit_of(member), std::memory_order_relaxed);
  called_[member / kWord].fetch_and(~bit_of(member), std::memory_order_release);
}

}  // namespace ir::kernels
