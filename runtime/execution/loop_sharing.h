// Whether short inferences share their loops among threads, by how long they took either way.
#ifndef RUNTIME_EXECUTION_LOOP_SHARING_H_
#define RUNTIME_EXECUTION_LOOP_SHARING_H_

#include <array>
#include <chrono>
#include <cstddef>

namespace ir {

/// What small loops gain by being shared depends on the distance of the threads' caches, which no cost model
/// knows: virtual processors come to lie in other packages for minutes, another process takes a core. So
/// now and then a few inferences that take less than four milliseconds are run the other way; two are enough
/// where that is far slower. Such trials take a seventeenth of the time at first, and the less the longer
/// nothing changes, with half a second from one to the next at most, more where an inference takes more than
/// one millisecond. For one request with one plan; results are the same bits either way.
class LoopSharing {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// Whether the next inference is to share its loops.
  [[nodiscard]] bool shares() const { return shares_; }
  /// That inference took so long.
  void took(Duration time);

 private:
  enum class Phase { settled, measured, trial };
  /// Inferences in a row: at least so many, and so long that threads that sleep have the time to come.
  struct Sample {
    static constexpr std::size_t kLeast = 7;
    std::array<Duration, kLeast> last{};
    std::size_t inferences = 0;
    Duration sum{0};
    Duration fastest = Duration::max();

    void add(Duration time);
    [[nodiscard]] bool is_complete() const;
    /// Whether it tells already that these are slower by far.
    [[nodiscard]] bool is_hopeless(Duration usual) const;
    [[nodiscard]] Duration median() const;
  };

  void settle(int patience);
  void begin(Phase phase);
  /// Back to the usual way, for longer than the last time.
  void give_up();

  bool shares_ = true;
  Phase phase_ = Phase::settled;
  int patience_ = 1;                              ///< samples' times from one trial to the next
  Duration left_ = std::chrono::milliseconds(5);  ///< time until the next trial; first runs are no measure
  Sample sample_;
  Duration usual_{0};  ///< median time the usual way, before the trial
};

}  // namespace ir

#endif  // RUNTIME_EXECUTION_LOOP_SHARING_H_
