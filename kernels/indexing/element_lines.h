// Where the updates of a ScatterElementsUpdate go. Internal to kernels/.
#ifndef KERNELS_INDEXING_ELEMENT_LINES_H_
#define KERNELS_INDEXING_ELEMENT_LINES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/indices.h"
#include "kernels/threads/function_ref.h"

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

  /// Updates that are made together; no element is in two batches that run at the same time.
  struct Batch {
    const std::size_t* elements;  // of the data, or nullptr: `count` of them, from `first` on
    std::size_t first;
    std::size_t count;
    std::size_t position;  // of the first index; the others follow `stride` apart
    std::size_t stride;
  };
  /// Calls f for batches that hold all updates of the lines [begin, end), those of each line in order.
  void for_each_batch(IndexView indices, std::size_t begin, std::size_t end,
                      FunctionRef<void(const Batch& batch)> f) const;
  /// Lines side by side that are worth going along together, or 1.
  [[nodiscard]] std::size_t side_by_side() const;

  std::size_t length;  // index positions per line
  std::size_t size;    // of the axis in the data
  std::size_t count = 1;
  std::size_t data_stride = 1;
  std::size_t index_stride = 1;
  std::size_t data_count = 1;
  std::size_t index_count = 1;

 private:
  void for_each_piece(IndexView indices, std::size_t line, FunctionRef<void(const Batch& batch)> f) const;
  void for_each_row(IndexView indices, std::size_t line, std::size_t together,
                    FunctionRef<void(const Batch& batch)> f) const;

  struct Axis {
    std::size_t dim;
    std::size_t data_stride;
    std::size_t index_stride;
  };
  std::vector<Axis> axes_;  // innermost first, those of one element left out
};

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_ELEMENT_LINES_H_
