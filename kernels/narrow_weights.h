// Weights in 24 bits instead of 32, for products that take as long as it takes to read them. Internal to
// kernels/.
#ifndef KERNELS_NARROW_WEIGHTS_H_
#define KERNELS_NARROW_WEIGHTS_H_

#include <cstddef>

namespace ir::kernels {

struct Tile;

/// A narrow weight is a float without the last eight bits of its fraction: rounded to the nearest, so that it
/// is off by 2^-16 of its size at most, and exact where it came from a half or bfloat16. Infinite and NaN
/// stay what they are.
/// A panel is four vectors of columns; each term of it is three vectors of words, two of upper halves and one
/// of the bytes behind them.
struct NarrowKernels {
  static constexpr std::size_t kVectors = 4;
  static constexpr std::size_t kWordVectors = 3;

  std::size_t lanes = 0;
  /// Narrows `depth` terms of a panel; vector v of term k is at from[(v * depth + k) * lanes].
  void (*narrow)(const float* from, std::size_t depth, float* panel) = nullptr;
  /// out[0, tile.columns) = x[0, terms) times the columns of a panel, of which that many exist. Terms are
  /// added up in f32, in blocks of 256. Of the tile, what finishes a row counts.
  void (*multiply)(const float* x, const float* panel, std::size_t terms, const Tile& tile) = nullptr;

  [[nodiscard]] std::size_t columns() const { return kVectors * lanes; }
  /// Floats' worth of memory for terms of a panel.
  [[nodiscard]] std::size_t floats(std::size_t terms) const { return kWordVectors * lanes * terms; }
};

/// Those of the SIMD target that dispatch picks now.
const NarrowKernels& narrow_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_NARROW_WEIGHTS_H_
