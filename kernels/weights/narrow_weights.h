// Weights in 8, 16 or 24 bits instead of 32, for products that take as long as it takes to read them, and do
// not read those that meet zeros. Internal to kernels/.
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

  NarrowLoss& operator+=(const NarrowLoss& other) {
    errors += other.errors;
    weights += other.weights;
    return *this;
  }
};

/// Where the weights of some neighbouring columns lie, a panel of some units of four vectors of columns.
/// Terms follow each other in groups: what the weights of a group share, of each unit, then term by term, of
/// each unit, the weights. So those of a term lie together, by kilobytes, and memory need not be read for
/// others.
struct NarrowUnits {
  float* group = nullptr;  ///< the first one of the panel that is meant, on a cache-line border
  std::size_t units = 0;   ///< of the panel
  std::size_t first = 0;   ///< of those that are meant
  std::size_t count = 0;
};

/// A row of terms, or part of one from the beginning of a group on. At most NarrowKernels::kMostTerms meet
/// several units.
struct NarrowTerms {
  const float* x = nullptr;
  std::size_t count = 0;
  /// Whether weights that meet zeros may be left out, where there are several units: those that are not
  /// finite may not.
  bool skips_zeros = false;
};

/// Rows of terms, `stride` apart, or parts of them from the beginning of a group on. At most
/// NarrowKernels::most_rows.
struct NarrowRows {
  const float* x = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0;
  std::size_t count = 0;  ///< of terms
};

/// One way to keep weights.
struct NarrowForm {
  std::string_view name;
  /// Of a unit: floats' worth of memory for a term, and for what a group shares.
  std::size_t term_floats = 0;
  std::size_t group_floats = 0;
  /// Narrows `depth` terms of at most kUnitsAtOnce units, from the first one of a group on; of the first
  /// unit, vector v of term k is at from[(v * depth + k) * lanes], and those of the next one lie behind them.
  NarrowLoss (*narrow)(const float* from, std::size_t depth, const NarrowUnits& to) = nullptr;
  /// sums[0, units * columns()) = terms times the weights of a panel. Added up in f32, group by group; the
  /// same bits for any number of units, and whether zeros are skipped or not.
  void (*multiply)(const NarrowTerms& terms, const float* panel, std::size_t units, float* sums) = nullptr;
  /// The same for rows and a panel of one unit; the sums of a row are `stride` behind those of the one
  /// before. nullptr: bytes have none.
  void (*multiply_rows)(const NarrowRows& rows, const float* panel, float* sums,
                        std::size_t stride) = nullptr;

  /// Floats' worth of memory for terms of a unit.
  [[nodiscard]] std::size_t floats(std::size_t terms) const;
};

struct NarrowKernels {
  static constexpr std::size_t kVectors = 4;
  static constexpr std::size_t kGroupTerms = 32;
  /// That are narrowed term by term: memory is written in longer stretches.
  static constexpr std::size_t kUnitsAtOnce = 4;
  /// Of what is multiplied at once: sums of columns stay in the first-level cache.
  static constexpr std::size_t kMostColumns = 2048;
  static constexpr std::size_t kMostTerms = 2048;

  std::size_t lanes = 0;
  std::size_t most_units = 0;  ///< of a panel
  /// That meet weights of 16 and 24 bits at once in less time than those of 32.
  std::size_t most_rows = 0;
  /// 16 bits and a bit: the terms of a group of a column are integers from -32767 to 32767 of a step of their
  /// own. A weight is off by half a step at most: 1.5e-5 of the largest one of its group.
  NarrowForm integers;
  /// 24 bits: floats without the last eight bits of their fraction, rounded to the nearest, so that a weight
  /// is off by 2^-16 of its size at most, and exact where it came from a half or bfloat16. Infinite and NaN
  /// stay what they are. A term is three vectors of words, two of upper halves and one of the bytes behind
  /// them.
  NarrowForm floats;
  /// Weights that are integers from -128 to 127.
  NarrowForm bytes;
  /// Adds up `parts` rows of sums, `stride` apart, in turn. Of the tile, column_scale and what finishes a row
  /// count.
  void (*finish)(const float* sums, std::size_t parts, std::size_t stride, const Tile& tile) = nullptr;

  /// Of a unit.
  [[nodiscard]] std::size_t columns() const { return kVectors * lanes; }
};

inline std::size_t NarrowForm::floats(std::size_t terms) const {
  return term_floats * terms + group_floats * divide_up(terms, NarrowKernels::kGroupTerms);
}

/// Those of the SIMD target that dispatch picks now.
const NarrowKernels& narrow_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_NARROW_WEIGHTS_H_
