// How tasks are dealt out to the threads of a loop. Internal to kernels/.
#ifndef KERNELS_THREADS_TASK_STRETCHES_H_
#define KERNELS_THREADS_TASK_STRETCHES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace ir::kernels {

/// Where the share of a worker of so many tasks begins. The first ones are the larger: worker 0 is the
/// caller, which need not wait for a thread to come.
inline std::size_t share_begin(std::size_t tasks, std::size_t worker, std::size_t workers) {
  return (tasks * worker + workers - 1) / workers;
}

/// Tasks are parts of groups that stay together as far as that goes.
struct TaskGroups {
  std::size_t groups = 0;
  std::size_t parts = 1;  ///< of each
};

/// Tasks [begin, end) for a worker; `done` is the end of its range before, 0 for its first.
struct TaskRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t worker = 0;
  std::size_t done = 0;
};

/// Tasks that are dealt out to workers: each has a stretch of its own, so that it finds what it wrote in the
/// step before in its own caches, and helps others when that is done.
class TaskStretches {
 public:
  TaskStretches(const TaskGroups& tasks, std::size_t workers)
      : parts_(tasks.parts), count_(std::min(workers, kMost)) {
    for (std::size_t i = 0; i < count_; ++i) {
      stretches_[i].next.store(border(tasks.groups, i), std::memory_order_relaxed);
      stretches_[i].end = border(tasks.groups, i + 1);
    }
  }

  /// Runs `body(range)` over what a worker gets, until nothing is left.
  template <class Body>
  void claim_all(std::size_t worker, const Body& body) {
    std::size_t done = 0;
    for (Range range = claim(worker); range.end != 0; range = claim(worker)) {
      body(TaskRange{range.begin, range.end, worker, done});
      done = range.end;
    }
  }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// The next tasks for a worker; none at the end.
  Range claim(std::size_t worker) {
    for (std::size_t i = 0; i < count_; ++i) {
      Stretch& stretch = stretches_[(worker + i) % count_];
      std::size_t begin = stretch.next.load(std::memory_order_relaxed);
      while (begin < stretch.end) {
        const std::size_t end = begin + share_of(stretch.end - begin);
        if (stretch.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) return {begin, end};
      }
    }
    return {};
  }

  static constexpr std::size_t kMost = 32;
  struct alignas(64) Stretch {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  /// Between groups, where there are so many that one more or less makes no difference.
  [[nodiscard]] std::size_t border(std::size_t groups, std::size_t i) const {
    constexpr std::size_t kMany = 8;
    return groups < kMany * count_ ? share_begin(groups * parts_, i, count_)
                                   : share_begin(groups, i, count_) * parts_;
  }
  /// Halves, so that there is something left to help with.
  [[nodiscard]] std::size_t share_of(std::size_t left) const {
    return left > parts_ ? (left / parts_ + 1) / 2 * parts_ : (left + 1) / 2;
  }

  std::size_t parts_;
  std::size_t count_;
  std::array<Stretch, kMost> stretches_;
};

}  // namespace ir::kernels

#endif  // KERNELS_THREADS_TASK_STRETCHES_H_
