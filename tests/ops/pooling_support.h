// What the tests of pooling share: images to pool.
#ifndef TESTS_OPS_POOLING_SUPPORT_H_
#define TESTS_OPS_POOLING_SUPPORT_H_

#include <numeric>

#include "tests/ops/support.h"

namespace ir::test {

/// 1, 2, 3, ...
inline Tensor counting(Shape shape) {
  Tensor tensor(ElementType::f32, std::move(shape));
  const auto data = tensor.data<float>();
  std::iota(data.begin(), data.end(), 1.0F);
  return tensor;
}

inline Tensor line(std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return f32({1, 1, size}, std::move(values));
}

inline ValueInfo image(PartialShape shape) { return value(ElementType::f32, std::move(shape)); }

}  // namespace ir::test

#endif  // TESTS_OPS_POOLING_SUPPORT_H_
