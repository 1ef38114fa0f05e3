// Weights in 16 or 24 bits instead of 32, for products that take as long as it takes to read them. Internal
// to kernels/.
#ifndef KERNELS_WEIGHTS_NARROW_WEIGHTS_H_
#define KERNELS_WEIGHTS_NARROW_WEIGHTS_H_

#include <cstddef>
#include <string_view>

#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// What narrowing does to weights, as sums of squares, about.
struct NarrowLoss {
  double errors = 0;
  double weights = 0;  ///< not finite where one of them is not
};

/// One way to keep weights. A panel is four vectors of columns; terms of it lie one behind the other, in
/// groups that begin with what their weights share.
struct NarrowForm {
  std::string_view name;
  std::size_t term_floats = 0;
  std::size_t group_floats = 0;
  std::size_t group_terms = 1;
  /// Narrows `depth` terms of a panel, from the first one of a group on; vector v of term k is at
  /// from[(v * depth + k) * lanes].
  NarrowLoss (*narrow)(const float* from, std::size_t depth, float* panel) = nullptr;
  /// out[0, tile.columns) = x[0, terms) times the columns of a panel, of which that many exist. Terms are
  /// added up in f32, in blocks. Of the tile, what finishes a row counts.
  void (*multiply)(const float* x, const float* panel, std::size_t terms, const Tile& tile) = nullptr;

  /// Floats' worth of memory for terms of a panel.
  [[nodiscard]] std::size_t floats(std::size_t terms) const {
    return term_floats * terms + group_floats * divide_up(terms, group_terms);
  }
};

struct NarrowKernels {
  static constexpr std::size_t kVectors = 4;
  /// What groups have no more terms than, and blocks that are narrowed at a time have a multiple of.
  static constexpr std::size_t kGroupTerms = 32;

  std::size_t lanes = 0;
  /// 16 bits and a bit: 32 terms of a column are integers from -32767 to 32767 of a step of their own. A
  /// weight is off by half a step at most: 1.5e-5 of the largest one of its group.
  NarrowForm integers;
  /// 24 bits: floats without the last eight bits of their fraction, rounded to the nearest, so that a weight
  /// is off by 2^-16 of its size at most, and exact where it came from a half or bfloat16. Infinite and NaN
  /// stay what they are. A term is three vectors of words, two of upper halves and one of the bytes behind
  /// them.
  NarrowForm floats;

  [[nodiscard]] std::size_t columns() const { return kVectors * lanes; }
};

/// Those of the SIMD target that dispatch picks now.
const NarrowKernels& narrow_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_NARROW_WEIGHTS_H_
