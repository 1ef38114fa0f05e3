// What ThreadSanitizer is told of work that goes from thread to thread through oneTBB. Distributions ship
// oneTBB without instrumentation, so that every hand-over would look like a race. Nothing in other builds.
#ifndef KERNELS_THREADS_HAND_OVER_H_
#define KERNELS_THREADS_HAND_OVER_H_

#if IR_RUNTIME_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace ir::kernels {

/// What a thread has done before it gives comes before what another thread does after it takes.
class HandOver {
 public:
#if IR_RUNTIME_THREAD_SANITIZER
  void give() const { __tsan_release(address()); }
  void take() const { __tsan_acquire(address()); }

 private:
  [[nodiscard]] void* address() const { return const_cast<char*>(&place_); }
  char place_ = 0;
#else
  void give() const {}
  void take() const {}
#endif
};

}  // namespace ir::kernels

#endif  // KERNELS_THREADS_HAND_OVER_H_
