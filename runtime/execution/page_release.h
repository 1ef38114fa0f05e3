// Pages of constants in a file: those that kernels have packed, and those that they will read there.
#ifndef RUNTIME_EXECUTION_PAGE_RELEASE_H_
#define RUNTIME_EXECUTION_PAGE_RELEASE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ir_runtime/model.h"
#include "kernels/weights/packing_pieces.h"
#include "runtime/ops/infer.h"

namespace ir {

/// As long as it lives, memory of constants goes back to the system as soon as a kernel that this thread
/// prepares has packed it, so that a large one is never there twice as a whole: of constants that lie in a
/// file, from where they come back should somebody read them again, and of those that only `inputs` hold,
/// where the kernel never does.
class PageRelease {
 public:
  /// `inputs` of the operation that is prepared, which must outlive this.
  explicit PageRelease(std::span<const ValueInfo> inputs);

 private:
  struct Release {
    std::vector<std::shared_ptr<const Tensor>> constants;
    void operator()(std::span<const std::byte> part, kernels::Rereads rereads) const;
  };

  Release release_;
  kernels::PackingListener::Packed packed_;
  kernels::PackingListener listener_;
};

/// What lies in a file of the constants of `model`, which may be gone when it is used.
std::vector<Tensor> file_constants_of(const Model& model);

/// Gives back what has been read of constants in the file: whoever read a small one got up to 2 MiB around
/// it.
void release_pages(std::span<const Tensor> constants);

/// Brings constants that kernels read where they lie from the file, so that they are there before the first
/// run, like the arena. Large ones come while they are read, on all threads.
void provide_pages(std::span<const Tensor> constants);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_PAGE_RELEASE_H_
