// Pages of constants in a file: those that kernels have packed, and those that they will read there.
#ifndef RUNTIME_EXECUTION_PAGE_RELEASE_H_
#define RUNTIME_EXECUTION_PAGE_RELEASE_H_

#include <cstddef>
#include <span>

#include "ir_runtime/model.h"
#include "kernels/weights/packing_pieces.h"
#include "runtime/ops/infer.h"

namespace ir {

/// As long as it lives, memory of constants that lie in a file goes back to the system as soon as a kernel
/// that this thread prepares has packed it: a large constant is never there twice as a whole. (Should
/// somebody read it again, it comes back.)
class PageRelease {
 public:
  /// `inputs` of the operation that is prepared, which must outlive this.
  explicit PageRelease(std::span<const ValueInfo> inputs)
      : release_{inputs}, packed_(release_), listener_(packed_) {}

 private:
  struct Release {
    std::span<const ValueInfo> inputs;
    void operator()(std::span<const std::byte> part) const;
  };

  Release release_;
  kernels::PackingListener::Packed packed_;
  kernels::PackingListener listener_;
};

/// Gives back what has been read of constants in the file: whoever read a small one got up to 2 MiB around
/// it.
void release_pages(const Model& model);

/// Brings constants that kernels read where they lie from the file, so that they are there before the first
/// run, like the arena. Large ones come while they are read, on all threads.
void provide_pages(std::span<const Tensor> constants);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_PAGE_RELEASE_H_
