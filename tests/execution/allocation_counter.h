// Counts what an executable allocates, and lets it fail: linking allocation_counter.cc replaces its
// allocation functions.
#ifndef TESTS_EXECUTION_ALLOCATION_COUNTER_H_
#define TESTS_EXECUTION_ALLOCATION_COUNTER_H_

#include <cstddef>

namespace ir::test {

/// Calls of operator new by any thread so far.
std::size_t allocation_count();

/// What operator new has given and operator delete not taken back.
std::size_t live_bytes();

/// The most of live_bytes() since it was made, beyond what there was then. One at a time.
class LivePeak {
 public:
  LivePeak();
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::size_t before_;
};

/// As long as it lives, one allocation fails: the one behind `after` others.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::size_t after);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  [[nodiscard]] bool happened() const;

 private:
  std::size_t number_;
};

}  // namespace ir::test

#endif  // TESTS_EXECUTION_ALLOCATION_COUNTER_H_
