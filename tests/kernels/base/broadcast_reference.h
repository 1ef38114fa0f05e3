// Broadcasting, written down a second time for tests: one coordinate at a time.
#ifndef TESTS_KERNELS_BASE_BROADCAST_REFERENCE_H_
#define TESTS_KERNELS_BASE_BROADCAST_REFERENCE_H_

#include <cstddef>
#include <vector>

namespace ir::test {

using Shape = std::vector<std::size_t>;

inline std::size_t count_of(const Shape& shape) {
  std::size_t count = 1;
  for (const std::size_t dim : shape) count *= dim;
  return count;
}

/// Index in an operand of the output element `index`.
inline std::size_t operand_index(const Shape& output, const Shape& operand, std::size_t index) {
  std::size_t result = 0;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::size_t coordinate = index % output[output.size() - 1 - i];
    index /= output[output.size() - 1 - i];
    if (i >= operand.size()) continue;
    const std::size_t dim = operand[operand.size() - 1 - i];
    result += (dim == 1 ? 0 : coordinate) * stride;
    stride *= dim;
  }
  return result;
}

/// Output and two operand shapes that cover the ways of walking: equal, scalars, short and long rows, rows
/// and columns repeated, high ranks, empty tensors.
struct BroadcastShapes {
  Shape output;
  Shape a;
  Shape b;
};
inline const std::vector<BroadcastShapes>& broadcast_shapes() {
  static const std::vector<BroadcastShapes> kShapes = {
      {{}, {}, {}},
      {{7}, {7}, {7}},
      {{7}, {}, {7}},
      {{300}, {300}, {1}},
      {{5, 3}, {5, 3}, {3}},
      {{5, 3}, {5, 1}, {1, 3}},
      {{400, 3}, {400, 3}, {3}},
      {{400, 3}, {400, 1}, {400, 3}},
      {{2, 70}, {2, 70}, {70}},
      {{3, 100}, {3, 1}, {3, 100}},
      {{2, 3, 4, 5}, {2, 3, 4, 5}, {3, 1, 1}},
      {{2, 3, 4, 5}, {2, 1, 4, 1}, {3, 1, 5}},
      {{8, 7, 6, 5}, {8, 1, 6, 1}, {7, 1, 5}},
      {{2, 300, 5}, {2, 300, 1}, {1, 1, 5}},
      {{2, 3, 2, 3, 2, 3}, {3, 1, 3, 1, 3}, {2, 1, 2, 1, 2, 1}},
      {{1, 1, 9, 1}, {1, 1, 9, 1}, {9, 1}},
      {{3, 0, 4}, {3, 0, 4}, {1, 4}},
      {{0}, {0}, {1}},
      {{2, 9000}, {2, 9000}, {9000}},
  };
  return kShapes;
}

/// Shapes whose last dim has `length` elements, over which operands are constant or which they repeat, in
/// matrices of many rows and of few.
inline std::vector<BroadcastShapes> shapes_of_runs(std::size_t length) {
  const std::size_t rows = 2100 / length + 2;
  return {
      {{rows, length}, {rows, length}, {rows, 1}},
      {{rows, length}, {rows, 1}, {length}},
      {{rows, length}, {length}, {rows, length}},
      {{2, rows, length}, {2, rows, length}, {rows, 1}},
      {{rows, 3, length}, {rows, 3, length}, {rows, 1, length}},
      {{rows, 3, length}, {rows, 1, length}, {3, 1}},
      {{rows, 3, length}, {3, length}, {rows, 3, 1}},
      {{rows, 2, length}, {rows, 1, 1}, {2, length}},
  };
}

}  // namespace ir::test

#endif  // TESTS_KERNELS_BASE_BROADCAST_REFERENCE_H_
