#include "kernels/winograd_transforms.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd_transforms.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/gemm-inl.h"
#include "kernels/transpose-inl.h"
#include "kernels/winograd-inl.h"
#include "kernels/winograd_filters-inl.h"
#include "kernels/winograd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Down the columns: sample rows of one row of tiles become kOutputs + 2 lines of `count` floats. Whole
/// vectors are stored.
template <std::size_t kOutputs>
HWY_INLINE void transform_down(const TileSamples& samples, const float* const* sample_rows, std::size_t count,
                               float* lines, std::size_t line_floats) {
  constexpr std::size_t kSamples = kOutputs + 2;
  const D d;
  constexpr std::size_t kLine = 16;
  const std::size_t left = std::min(samples.left, count);
  for (std::size_t i = 0; left > 0 && i < kSamples; ++i) std::fill_n(lines + i * line_floats, left, 0.0F);
  lines += left;
  count -= left;
  const std::size_t end = std::min(samples.width, count);
  const float* rows[kSamples];
  for (std::size_t i = 0; i < kSamples; ++i) rows[i] = sample_rows[i];
  V down[kSamples];
  V transformed[kSamples];
  std::size_t x = 0;
  for (; x + kLanes <= end; x += kLanes) {
    if (samples.next != 0 && x % kLine == 0) {
      KERNELS_UNROLL for (std::size_t i = 2; i < kSamples; ++i)
          fetch_to_second_level(rows[i] + samples.next + x);
    }
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) down[i] = hn::LoadU(d, rows[i] + x);
    Transform<kOutputs>::input(down, transformed);
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      hn::StoreU(transformed[i], d, lines + i * line_floats + x);
    }
  }
  for (; x < count; x += kLanes) {
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      down[i] = x < end ? load_edge(rows[i] + x, end - x) : hn::Zero(d);
    }
    Transform<kOutputs>::input(down, transformed);
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      hn::StoreU(transformed[i], d, lines + i * line_floats + x);
    }
  }
}

/// Where each tile of a vector begins in a line.
struct TileStarts {
  const float* line;
  const std::size_t* offsets;
  HWY_INLINE const float* operator()(std::size_t tile) const { return line + offsets[tile]; }
};

/// Along the rows: the points of the tiles of a vector, whose samples in line i begin at starts(i).
template <std::size_t kOutputs, class Starts>
HWY_INLINE void transform_along(const Starts& starts, float* to, std::size_t point_stride) {
  constexpr std::size_t kSamples = kOutputs + 2;
  constexpr std::size_t kBlocks = (kSamples + 3) / 4;
  for (std::size_t i = 0; i < kSamples; ++i) {
    V along[kBlocks][4];
    KERNELS_UNROLL for (std::size_t b = 0; b < kBlocks; ++b) {
      load_transposed(D(), starts(i, 4 * b), along[b]);
    }
    V samples[kSamples];
    V transformed[kSamples];
    KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) samples[j] = along[j / 4][j % 4];
    Transform<kOutputs>::input(samples, transformed);
    KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) {
      hn::StoreU(transformed[j], D(), to + (i * kSamples + j) * point_stride);
    }
  }
}

template <std::size_t kOutputs>
void InputTransform(const TileSamples& samples, const TileBlockSize& block, const TileVector* vectors,
                    std::size_t channel, float* columns, std::size_t point_stride, float* scratch) {
  // A line has the samples of all rows of tiles, one behind the other: neighbours share those between them.
  const std::size_t tiles = block.tiles();
  const std::size_t width = block.columns * kOutputs + 2;
  const std::size_t row_floats = line_row_floats(kOutputs, block.columns);
  const std::size_t line = block.rows * row_floats + kLanes;
  for (std::size_t row = 0; row < block.rows; ++row) {
    transform_down<kOutputs>(samples, samples.rows + row * kOutputs, width, scratch + row * row_floats, line);
  }
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t first = 0; first < tiles; first += kLanes) {
    const TileVector& vector = vectors[first / kLanes];
    float* const to = columns + vector.to + channel * vector.channel_stride;
    if (column + kLanes <= block.columns) {
      const float* const from = scratch + row * row_floats + column * kOutputs;
      transform_along<kOutputs>(
          [=](std::size_t i, std::size_t j) HWY_ATTR {
            return EvenRows{from + i * line + j, kOutputs};
          },
          to, point_stride);
      column += kLanes;
      continue;
    }
    std::size_t offsets[kLanes];
    for (std::size_t& offset : offsets) {
      if (column == block.columns && row + 1 < block.rows) {
        column = 0;
        ++row;
      }
      // Behind the last tile: the last one again.
      offset = row * row_floats + std::min(column, block.columns - 1) * kOutputs;
      column = std::min(column + 1, block.columns);
    }
    transform_along<kOutputs>(
        [&](std::size_t i, std::size_t j) HWY_ATTR {
          return TileStarts{scratch + i * line + j, offsets};
        },
        to, point_stride);
  }
}

template <std::size_t kOutputs>
void OutputTransform(const float* points, std::size_t point_stride, const TileBlockSize& block,
                     std::size_t rows, const Tile& tile, float* scratch) {
  constexpr std::size_t kSamples = kOutputs + 2;
  const D d;
  const std::size_t tiles = block.tiles();
  const std::size_t line = divide_up(tiles, kLanes) * kLanes * kOutputs + kLanes;
  for (std::size_t first = 0; first < tiles; first += kLanes) {
    HWY_ALIGN float half_done[kOutputs][kSamples][kLanes];  // [row][column]
    for (std::size_t j = 0; j < kSamples; ++j) {
      V transformed[kSamples];
      V sums[kOutputs];
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
        transformed[i] = hn::LoadU(d, points + (i * kSamples + j) * point_stride + first);
      }
      Transform<kOutputs>::output(transformed, sums);
      KERNELS_UNROLL for (std::size_t i = 0; i < kOutputs; ++i) hn::Store(sums[i], d, half_done[i][j]);
    }
    for (std::size_t i = 0; i < kOutputs; ++i) {
      V transformed[kSamples];
      V sums[kOutputs];
      KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) transformed[j] = hn::Load(d, half_done[i][j]);
      Transform<kOutputs>::output(transformed, sums);
      store_strided<kOutputs>(sums, scratch + i * line + first * kOutputs);
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t from = row / kOutputs * block.columns * kOutputs;
    finish_row(scratch + row % kOutputs * line + from, tile, row);
  }
}

// The factors are constants: those of 0 cost nothing.
HWY_INLINE FilterVector sum_of(const FilterVector (&taps)[3], const double (&factors)[3]) {
  const FilterTag d;
  FilterVector sum = hn::Zero(d);
  bool is_first = true;
  KERNELS_UNROLL for (std::size_t t = 0; t < 3; ++t) {
    if (factors[t] == 0) continue;
    const FilterVector factor = hn::Set(d, factors[t]);
    sum = is_first ? hn::Mul(taps[t], factor) : hn::MulAdd(taps[t], factor, sum);
    is_first = false;
  }
  return sum;
}

template <std::size_t kOutputs>
void FilterTransform(const float* filters, std::size_t count, float* to, std::size_t point_stride) {
  constexpr std::size_t kSamples = kOutputs + 2;
  constexpr const auto& kFactors = Transform<kOutputs>::kFilter;
  for_each_filter_vector<9>(
      filters, count, [&](std::size_t k, std::size_t present, const FilterVector(&taps)[9]) HWY_ATTR {
        KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
          FilterVector down[3];
          KERNELS_UNROLL for (std::size_t x = 0; x < 3; ++x) {
            down[x] = sum_of({taps[x], taps[3 + x], taps[6 + x]}, kFactors[i]);
          }
          KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) {
            store_points(sum_of(down, kFactors[j]), present, to + (i * kSamples + j) * point_stride + k);
          }
        }
      });
}

template <std::size_t kOutputs>
constexpr WinogradTransforms make_transforms() {
  WinogradTransforms transforms;
  transforms.outputs = kOutputs;
  transforms.input = InputTransform<kOutputs>;
  transforms.output = OutputTransform<kOutputs>;
  transforms.filters = FilterTransform<kOutputs>;
  return transforms;
}

}  // namespace

const std::array<WinogradTransforms, 2>* Transforms() {
  static constexpr std::array<WinogradTransforms, 2> kAll{make_transforms<2>(), make_transforms<4>()};
  return &kAll;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(Transforms);

const std::array<WinogradTransforms, 2>& winograd_transforms() { return *HWY_DYNAMIC_DISPATCH(Transforms)(); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
