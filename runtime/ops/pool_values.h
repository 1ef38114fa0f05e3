// Pools whose positions nobody reads, which no IR contains; passes make them.
#ifndef RUNTIME_OPS_POOL_VALUES_H_
#define RUNTIME_OPS_POOL_VALUES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "ir_runtime/ops/pooling.h"

namespace ir::op {

/// Output 0 of v8::MaxPool and v14::MaxPool.
struct MaxPoolValues : SlidingPool<Rounding14> {
  static constexpr OpInfo info{.type = "MaxPoolValues",
                               .family = "fused",
                               .summary = "Maximum over a sliding window, without its position."};
  std::vector<std::int64_t> dilations;

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Output 0 of v8::AdaptiveMaxPool.
struct AdaptiveMaxPoolValues {
  static constexpr OpInfo info{
      .type = "AdaptiveMaxPoolValues",
      .family = "fused",
      .summary = "Maximum over windows fitted to the output size, without its position."};

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_POOL_VALUES_H_
