#include "kernels/matmul/matrix_tiles.h"

#include <algorithm>
#include <atomic>

#include "kernels/base/processor.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matrix_tiles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/matrix_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

#ifdef KERNELS_HAVE_MATRIX_TILES
namespace {

constexpr std::size_t kPairs = kSize;
constexpr std::size_t kStepTerms = MatrixTiles::kStepTerms;
static_assert(kStepTerms == 2 * kPairs);

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

HWY_INLINE VU upper_halves(VU v) { return hn::And(v, hn::Set(DU(), 0xFFFF0000)); }

/// `second` gives the upper halves of lanes.
HWY_INLINE V paired(VU first, VU second) {
  return hn::BitCast(D(), hn::Or(hn::ShiftRight<16>(first), upper_halves(second)));
}

/// Parts, `distance` apart, of which all but the last are rounded; of some NaN they are numbers. What is left
/// at last is cut off after it has grown by about half of a unit of what stays, which comes close to rounding
/// and leaves a NaN one.
template <std::size_t kParts>
HWY_INLINE void split(V first, V second, float* to, std::size_t distance) {
  const D d;
  const DU du;
  const VU half = hn::Set(du, 0x8000);
  KERNELS_UNROLL for (std::size_t part = 0; part + 1 < kParts; ++part, to += distance) {
    const VU first_rounded = hn::Add(hn::BitCast(du, first), half);
    const VU second_rounded = hn::Add(hn::BitCast(du, second), half);
    hn::StoreU(paired(first_rounded, second_rounded), d, to);
    first = hn::Sub(first, hn::BitCast(d, upper_halves(first_rounded)));
    second = hn::Sub(second, hn::BitCast(d, upper_halves(second_rounded)));
  }
  const V growth = hn::Set(d, 1 + 0.7F / 256);
  hn::StoreU(paired(hn::BitCast(du, hn::Mul(first, growth)), hn::BitCast(du, hn::Mul(second, growth))), d,
             to);
}

template <std::size_t kParts>
void SplitRows(const float* from, std::size_t row_stride, std::size_t rows, std::size_t terms,
               std::size_t tiles, float* to) {
  const D d;
  const std::size_t part = tiles * kTileFloats;
  const std::size_t first = std::min(terms, kPairs);
  const std::size_t second = terms - first;
  for (std::size_t row = 0; row < rows; ++row, from += row_stride, to += kPairs) {
    if (second == kPairs) {
      split<kParts>(hn::LoadU(d, from), hn::LoadU(d, from + kPairs), to, part);
    } else {
      split<kParts>(load_edge(from, first), load_edge(from + first, second), to, part);
    }
  }
  for (std::size_t row = rows; row < tiles * kSize; ++row, to += kPairs)
    split<kParts>(hn::Zero(d), hn::Zero(d), to, part);
}

template <std::size_t kParts>
void SplitColumns(const float* from, std::size_t stride, std::size_t terms, std::size_t columns, float* to,
                  std::size_t to_stride, std::size_t to_part) {
  const D d;
  for (std::size_t pair = 0; pair < kPairs; ++pair, to += to_stride) {
    const float* const first = from + pair * stride;
    const float* const second = first + kPairs * stride;
    const bool has_first = pair < terms;
    const bool has_second = pair + kPairs < terms;
    std::size_t column = 0;
    if (has_second) {
      for (; column + kLanes <= columns; column += kLanes)
        split<kParts>(hn::LoadU(d, first + column), hn::LoadU(d, second + column), to + column, to_part);
    }
    for (; column < columns; column += kLanes) {
      const std::size_t count = std::min(kLanes, columns - column);
      split<kParts>(has_first ? load_edge(first + column, count) : hn::Zero(d),
                    has_second ? load_edge(second + column, count) : hn::Zero(d), to + column, to_part);
    }
  }
}

template <std::size_t kParts>
void SplitLines(const float* from, std::size_t stride, std::size_t terms, std::size_t columns, float* to) {
  const D d;
  constexpr std::size_t kColumns = 4;
  const RepeatedLastRow lines{{from, stride}, terms - 1};
  for (std::size_t column = 0; column < columns; column += kColumns) {
    V first[kColumns];
    V second[kColumns];
    if (terms == kStepTerms) {
      load_transposed(d, EvenRows{from + column, stride}, first);
      load_transposed(d, EvenRows{from + kPairs * stride + column, stride}, second);
    } else {
      load_transposed(
          d, [&](std::size_t i) HWY_ATTR { return lines(i) + column; }, first);
      load_transposed(
          d, [&](std::size_t i) HWY_ATTR { return lines(kPairs + i) + column; }, second);
    }
    KERNELS_UNROLL for (std::size_t i = 0; i < kColumns; ++i, to += kParts * kPairs)
        split<kParts>(first[i], second[i], to, kPairs);
  }
}

template <std::size_t kParts>
constexpr MatrixTiles tiles_of_parts() {
  MatrixTiles tiles = products_of_parts<kParts>();
  tiles.split_rows = SplitRows<kParts>;
  tiles.split_columns = SplitColumns<kParts>;
  tiles.split_lines = SplitLines<kParts>;
  tiles.finish = tiles.move = FinishFloats;
  return tiles;
}

}  // namespace

const MatrixTiles* MatrixTilesOfTarget(bool whole) {
  static constexpr MatrixTiles kTwoParts = tiles_of_parts<2>();
  static constexpr MatrixTiles kThreeParts = tiles_of_parts<3>();
  return whole ? &kThreeParts : &kTwoParts;
}
#else
const MatrixTiles* MatrixTilesOfTarget(bool) { return nullptr; }
#endif

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(MatrixTilesOfTarget);

namespace {

std::atomic<bool> are_allowed{true};

/// Linux lets a program use them once it has asked: they are kilobytes more to save for each of its threads.
bool ask_for_matrix_tiles() {
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
  if (!has_matrix_tiles()) return false;
  constexpr long kAskForState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

void allow_matrix_tiles(bool allowed) { are_allowed = allowed; }

bool may_use_matrix_tiles() {
  static const bool may_use = ask_for_matrix_tiles();
  return may_use && are_allowed;
}

const MatrixTiles* matrix_tiles(bool whole) {
  return may_use_matrix_tiles() ? HWY_DYNAMIC_DISPATCH(MatrixTilesOfTarget)(whole) : nullptr;
}

double tile_product_cost(const MatrixTiles& tiles, std::size_t row_tiles, std::size_t column_tiles,
                         std::size_t steps) {
  constexpr double kProduct = 16 * 1.25;
  // Of a tile: to begin with and to store it, and to begin the second round of three parts.
  const double start = tiles.parts == 3 ? 290 : 60;
  return static_cast<double>(row_tiles * column_tiles) *
         (kProduct * static_cast<double>(tiles.products * steps) + start);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
