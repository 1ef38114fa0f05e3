// What the work of a thread may use, for code that does not see the options of the caller.
#ifndef RUNTIME_TYPES_BUDGET_H_
#define RUNTIME_TYPES_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "ir_runtime/element_type.h"
#include "ir_runtime/shape.h"

namespace ir {

/// A limit, and the option that users know it by.
struct ByteLimit {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  std::string_view name;
};

/// In force on the thread that makes it, as long as it lives; an inner one takes the place of an outer one.
/// Without any nothing is limited.
class Budget {
 public:
  struct Limits {
    /// For every tensor that is made, with those made before that still live, and for what a loop keeps of
    /// its iterations.
    ByteLimit tensor = {};
    /// Iterations of all loops, loops in loops included.
    std::int64_t loop_iterations = std::numeric_limits<std::int64_t>::max();
    /// Constants that constant folding holds at a time.
    std::int64_t folded_bytes = std::numeric_limits<std::int64_t>::max();
  };

  explicit Budget(const Limits& limits);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Throw Error `IR-limit` when the budget in force does not allow it.
  static void require_tensor(std::int64_t bytes, ElementType type, const Shape& shape);
  static void require_kept(std::int64_t bytes);
  static void count_iteration();

  /// Bytes of tensors made under a budget, from when they are made until they end, on whatever thread.
  using Living = std::atomic<std::int64_t>;
  /// Those of the budget in force; nullptr where it limits no tensors.
  static std::shared_ptr<Living> living();

  static std::int64_t most_folded_bytes();

 private:
  Limits limits_;
  std::int64_t iterations_ = 0;
  std::shared_ptr<Living> living_;  ///< nullptr before the first tensor
  Budget* outer_;
};

}  // namespace ir

#endif  // RUNTIME_TYPES_BUDGET_H_
