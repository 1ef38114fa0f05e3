// Permutation of dims at memory bandwidth.
#ifndef KERNELS_MOVEMENT_TRANSPOSE_H_
#define KERNELS_MOVEMENT_TRANSPOSE_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/movement/strided_copy.h"

namespace ir::kernels {

/// Transpose-1: out.dim[i] = in.dim[order[i]], element (i0, i1, ...) of out is the element of in whose
/// coordinate along order[k] is ik. Dims that stay together are merged first, so that most permutations
/// become a batch of 2-D transposes (blocked in registers for elements of 1, 2, 4 and 8 bytes) or a copy of
/// long rows. run() allocates nothing and may be called from several threads.
class Transpose {
 public:
  Transpose() = default;

  /// `order` is a permutation of 0 .. rank - 1; rank 0 is a copy of one element. element_size >= 1 bytes.
  Transpose(std::span<const std::size_t> dims, std::span<const std::size_t> order, std::size_t element_size);

  /// For profiles: "planes" (of 2-D transposes in registers) or "rows".
  [[nodiscard]] std::string_view algorithm() const { return planar_ ? "planes" : "rows"; }
  /// Both dense; no overlap.
  void run(const void* in, void* out) const;

 private:
  // With `planar_`: for each point of `batch_`, out[c][r] = in[r][c] of a rows_ x columns_ plane whose rows
  // lie row_stride_ apart in `in` and whose columns lie column_stride_ apart in `out`. Otherwise copy_ does
  // it all.
  struct Axis {
    std::size_t dim;
    std::size_t in_stride;   // elements
    std::size_t out_stride;  // elements
  };
  bool planar_ = false;
  std::vector<Axis> batch_;
  std::size_t rows_ = 1;
  std::size_t columns_ = 1;
  std::size_t row_stride_ = 1;
  std::size_t column_stride_ = 1;
  std::size_t element_size_ = 1;
  StridedCopy copy_;
};

/// out[c * rows + r] = in[r * in_stride + c] for r < rows, c < columns. No overlap.
void interleave_rows(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns,
                     float* out);

}  // namespace ir::kernels

#endif  // KERNELS_MOVEMENT_TRANSPOSE_H_
