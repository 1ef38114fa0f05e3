// Threads that stay awake for the loops of one piece of work. Internal to kernels/.
#ifndef KERNELS_THREADS_CREW_H_
#define KERNELS_THREADS_CREW_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "kernels/threads/function_ref.h"
#include "kernels/threads/task_stretches.h"

namespace ir::kernels {

/// The thread that does the work (member 0) and helpers. Handing a loop to a task scheduler takes about as
/// long as a small layer; a helper that watches for the next loop finds it in a fraction of that. Loops never
/// wait for a helper to come: who is not there when the last chunk is taken, missed it.
class Crew {
 public:
  static constexpr std::size_t kMost = 1024;

  /// At most `places` members, or as many fewer as `sharers` (0 counts as 1) have to get by with them:
  /// helpers leave when others come.
  Crew(std::size_t places, const std::atomic<int>& sharers) : places_(places), sharers_(sharers) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Runs `body` over ranges that cover all tasks once, on the calling thread and on helpers below `width` <=
  /// kMost: one loop at a time. An exception of a body reaches the caller after the others have ended.
  void run(const TaskGroups& tasks, std::size_t width, FunctionRef<void(const TaskRange& range)> body);

  /// Calls `call(member)` for the members below `width` that have a place and are not there; each has to end
  /// up in `help`, in time or too late, or not at all. `call_again()`, now and then while one of them is
  /// still awaited, is for a scheduler that may not have heard of it.
  template <class Call, class CallAgain>
  void muster(std::size_t width, const Call& call, const CallAgain& call_again) {
    const std::size_t end = std::min(width, places());
    bool is_one_awaited = false;
    for (std::size_t member = 1; member < end; ++member) {
      const std::size_t word = member / kWord;
      if ((called_[word].load(std::memory_order_acquire) & bit_of(member)) != 0) {
        is_one_awaited |= !is_present(member);
        continue;
      }
      called_[word].fetch_or(bit_of(member), std::memory_order_relaxed);
      note_call();
      call(member);
    }
    if (is_one_awaited) make_way();
    loops_awaiting_ = is_one_awaited ? loops_awaiting_ + 1 : 0;
    // Ever more rarely: it may be busy.
    if (loops_awaiting_ >= kPatientLoops && std::has_single_bit(loops_awaiting_)) call_again();
  }

  /// Whether a member has come, and not left.
  [[nodiscard]] bool is_present(std::size_t member) const {
    return (present_[member / kWord].load(std::memory_order_relaxed) & bit_of(member)) != 0;
  }

  /// A helper's part: takes its share of loops until it has no place, the crew is dismissed, or nothing came
  /// for some time.
  void help(std::size_t member);

  /// No loop comes any more.
  void dismiss() { is_dismissed_.store(true, std::memory_order_relaxed); }

 private:
  struct Loop;
  static constexpr std::size_t kWord = 64;
  static constexpr std::uint64_t kPatientLoops = 32;  ///< several times what a helper takes to come

  /// Where and when the caller calls a member.
  void note_call();
  /// Once a member is late, the caller lets it run: it may wait for the caller's own processor.
  void make_way();

  [[nodiscard]] std::size_t places() const {
    const int sharers = sharers_.load(std::memory_order_relaxed);
    return sharers > 1 ? places_ / static_cast<std::size_t>(sharers) : places_;
  }
  static std::uint64_t bit_of(std::size_t member) { return std::uint64_t{1} << (member % kWord); }

  // What helpers watch.
  /// Helpers that are in the loop, its width, whether it is open, and its number: see crew.cc.
  alignas(64) std::atomic<std::uint64_t> state_{0};
  Loop* loop_ = nullptr;
  std::size_t places_;
  const std::atomic<int>& sharers_;
  // The caller's.
  std::uint64_t loops_awaiting_ = 0;  ///< that a member was awaited in
  std::chrono::steady_clock::time_point called_at_;
  bool has_made_way_ = false;
  std::atomic<int> callers_processor_{-1};  ///< where it last called a member
  std::atomic<bool> is_dismissed_{false};
  alignas(64) std::array<std::atomic<std::uint64_t>, kMost / kWord> called_{};
  std::array<std::atomic<std::uint64_t>, kMost / kWord> present_{};  ///< of those that are called
};

}  // namespace ir::kernels

#endif  // KERNELS_THREADS_CREW_H_
