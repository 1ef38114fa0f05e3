#include "kernels/winograd/winograd_transforms.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/winograd_transforms.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/winograd/winograd-inl.h"
#include "kernels/winograd/winograd_filters-inl.h"
#include "kernels/winograd/winograd_rows-inl.h"
#include "kernels/winograd/winograd_samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Along the rows: the points of a vector of tiles, of whose samples load(i, v) gives row i.
template <std::size_t kOutputs, class Load>
HWY_INLINE void transform_along(const Load& load, float* to, std::size_t point_stride) {
  constexpr std::size_t kSamples = kOutputs + 2;
  for (std::size_t i = 0; i < kSamples; ++i) {
    V along[kSamples];
    V transformed[kSamples];
    load(i, along);
    Transform<kOutputs>::input(along, transformed);
    KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) {
      hn::StoreU(transformed[j], D(), to + (i * kSamples + j) * point_stride);
    }
  }
}

/// Where each tile of a vector begins in a line.
struct TileStarts {
  const float* line;
  const std::size_t* starts;
  HWY_INLINE const float* operator()(std::size_t tile) const { return line + starts[tile]; }
};

/// What lies between the transforms down the columns and along the rows, for each row of samples of a tile: a
/// line with those of rows of tiles, one behind the other, of which neighbours share what is between them.
/// Vectors of tiles are made of blocks of four lanes from anywhere.
template <std::size_t kOutputs>
class SampleLines {
 public:
  static constexpr std::size_t kSamples = kOutputs + 2;

  HWY_INLINE SampleLines(const TileBlockSize& block, std::size_t* starts)
      : tiles_(block.tiles()),
        row_floats_(line_row_floats(kOutputs, block.columns)),
        stride_(block.rows * row_floats_ + kLanes),
        starts_(starts) {
    const std::size_t padded = divide_up(tiles_, kLanes) * kLanes;
    for (std::size_t row = 0; row < block.rows; ++row) {
      for (std::size_t column = 0; column < block.columns; ++column)
        *starts++ = row * row_floats_ + column * kOutputs;
    }
    // Behind the last tile: the last one again.
    for (std::size_t tile = tiles_; tile < padded; ++tile, ++starts) *starts = starts[-1];
  }

  HWY_INLINE void put_zeros(float* lines, std::size_t row, std::size_t count) const {
    for (std::size_t x = 0; x < count; x += kLanes) {
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
        hn::StoreU(hn::Zero(D()), D(), lines + i * stride_ + row * row_floats_ + x);
      }
    }
  }
  /// Columns of a row of tiles, of which two follow those of the last tile, vector by vector from left to
  /// right: what these reach beyond is overwritten by what is put later.
  HWY_INLINE void put(float* lines, std::size_t row, std::size_t column, const V (&v)[kSamples]) const {
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      hn::StoreU(v[i], D(), lines + i * stride_ + row * row_floats_ + column);
    }
  }
  /// A vector of tiles, which may reach over the ends of rows.
  HWY_INLINE void transform(const float* lines, std::size_t tile, float* to, std::size_t point_stride) const {
    const std::size_t* const starts = starts_ + tile;
    if (tile + kLanes <= tiles_ && starts[kLanes - 1] - starts[0] == (kLanes - 1) * kOutputs) {  // of one row
      transform_rows(
          [=](const float* line) HWY_ATTR {
            return EvenRows{line + starts[0], kOutputs};
          },
          lines, to, point_stride);
    } else {
      transform_rows(
          [=](const float* line) HWY_ATTR {
            return TileStarts{line, starts};
          },
          lines, to, point_stride);
    }
  }

 private:
  template <class RowsOf>
  HWY_INLINE void transform_rows(const RowsOf& rows_of, const float* lines, float* to,
                                 std::size_t point_stride) const {
    constexpr std::size_t kBlocks = (kSamples + 3) / 4;
    transform_along<kOutputs>(
        [&](std::size_t i, V(&v)[kSamples]) HWY_ATTR {
          V parts[kBlocks][4];
          KERNELS_UNROLL for (std::size_t b = 0; b < kBlocks; ++b) {
            load_transposed(D(), rows_of(lines + i * stride_ + 4 * b), parts[b]);
          }
          KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) v[j] = parts[j / 4][j % 4];
        },
        to, point_stride);
  }

  std::size_t tiles_;
  std::size_t row_floats_;
  std::size_t stride_;
  std::size_t* starts_;  ///< of all tiles, and some behind them
};

/// Down the columns: a row of tiles of a channel. What is right of all samples is the same for all channels:
/// it is put for the first one.
template <std::size_t kOutputs>
HWY_INLINE void transform_down(const TileSamples& samples, std::size_t channel, std::size_t row,
                               std::size_t columns, const SampleLines<kOutputs>& lines, float* to) {
  constexpr std::size_t kSamples = kOutputs + 2;
  const D d;
  constexpr std::size_t kLine = 16;
  const float* rows[kSamples];
  for (std::size_t i = 0; i < kSamples; ++i) rows[i] = samples.row(row * kOutputs + i, channel);
  const std::ptrdiff_t next = samples.next_to(channel);
  const std::size_t count = columns * kOutputs + 2;
  const std::size_t left = std::min(samples.left, count);
  const std::size_t end = left + samples.width;
  const std::size_t last = channel == 0 ? count : std::min(count, end);
  // Vectors begin at column 0, or with the first sample where there are no masks.
  const std::size_t first = kMasksMemory<float> ? 0 : left;
  if constexpr (!kMasksMemory<float>) lines.put_zeros(to, row, left);
  for (std::size_t x = first; x < last; x += kLanes) {
    const std::ptrdiff_t sample = static_cast<std::ptrdiff_t>(x) - static_cast<std::ptrdiff_t>(left);
    if (next != 0 && (x - first) % kLine == 0) {
      const std::ptrdiff_t from = next + std::max<std::ptrdiff_t>(sample, 0);
      KERNELS_UNROLL for (std::size_t i = 2; i < kSamples; ++i) fetch_to_second_level(rows[i] + from);
    }
    V down[kSamples];
    V transformed[kSamples];
    if (x >= left && x + kLanes <= end) {
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) down[i] = hn::LoadU(d, rows[i] + sample);
    } else if constexpr (kMasksMemory<float>) {
      const auto inside =
          hn::AndNot(hn::FirstN(d, left - std::min(x, left)), hn::FirstN(d, end - std::min(x, end)));
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
        down[i] = hn::MaskedLoad(inside, d, rows[i] + sample);
      }
    } else {
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
        down[i] = x < end ? load_edge(rows[i] + sample, end - x) : hn::Zero(d);
      }
    }
    Transform<kOutputs>::input(down, transformed);
    lines.put(to, row, x, transformed);
  }
}

template <std::size_t kOutputs>
void InputTransform(const TileSamples& samples, const TileBlockSize& block, const TileVector* vectors,
                    std::size_t channel, float* columns, std::size_t point_stride, float* scratch) {
  if constexpr (kLanes > 8) {
    if (block.columns >= SampleVectors<kOutputs>::kLeastColumns) {
      return transform_samples<kOutputs>(samples, block, vectors, channel, columns, point_stride, scratch);
    }
  }
  const SampleLines<kOutputs> lines(block, reinterpret_cast<std::size_t*>(scratch));
  scratch += WinogradTransforms::starts_floats(block);
  for (std::size_t c = 0; c < samples.channels; ++c) {
    for (std::size_t row = 0; row < block.rows; ++row) {
      transform_down<kOutputs>(samples, c, row, block.columns, lines, scratch);
    }
    for (std::size_t tile = 0; tile < block.tiles(); tile += kLanes) {
      const TileVector& vector = vectors[tile / kLanes];
      const std::size_t term = channel + c;
      lines.transform(scratch, tile, columns + vector.to + term * vector.channel_stride, point_stride);
    }
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
void FilterTransform(const float* filters, std::size_t stride, std::size_t count, float* to,
                     std::size_t point_stride) {
  constexpr std::size_t kSamples = kOutputs + 2;
  constexpr const auto& kFactors = Transform<kOutputs>::kFilter;
  for_each_filter_vector<9>(
      filters, stride, count, [&](std::size_t k, std::size_t present, const FilterVector(&taps)[9]) HWY_ATTR {
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
