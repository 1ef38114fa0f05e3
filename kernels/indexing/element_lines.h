// Where the updates of a ScatterElementsUpdate go. Internal to kernels/.
#ifndef KERNELS_INDEXING_ELEMENT_LINES_H_
#define KERNELS_INDEXING_ELEMENT_LINES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// The lines of index positions along the axis. Two positions can name the same element only within a line,
/// so lines may run in any order and at the same time.
class ElementLines {
 public:
  ElementLines(std::span<const std::size_t> data_dims, std::span<const std::size_t> index_dims,
               std::size_t axis);

  struct Start {
    std::size_t data = 0;
    std::size_t index = 0;
  };
  [[nodiscard]] Start start(std::size_t line) const;

  /// As many indices as find() gives at once.
  static constexpr std::size_t kTogether = 64;
  /// Numbers of elements along the axis, from index position `first` of a line on, `left` of which there are;
  /// returns how many these are.
  std::size_t find(IndexView indices, std::size_t first, std::size_t left, std::size_t* found) const;

  std::size_t length;  // index positions per line
  std::size_t size;    // of the axis in the data
  std::size_t count = 1;
  std::size_t data_stride = 1;
  std::size_t index_stride = 1;
  std::size_t data_count = 1;
  std::size_t index_count = 1;

 private:
  struct Axis {
    std::size_t dim;
    std::size_t data_stride;
    std::size_t index_stride;
  };
  std::vector<Axis> axes_;  // innermost first
};

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_ELEMENT_LINES_H_
