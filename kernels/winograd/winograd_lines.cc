// Winograd's transforms along one axis: F(4, r) for filters that are r long there.
//
// Interpolation at 0, pairs of points +-p and, for an odd number of taps, infinity: y = A' ((G g) * (B' d))
// where with M(x) = x * product of (x^2 - p^2)
//   B' has the coefficients of M(x) / (x - point), of M itself for infinity,
//   G has the powers of the point, divided by M'(point), and the last tap for infinity,
//   A' has the powers of the point, and adds infinity to the last output.
#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/winograd/winograd_transforms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/winograd_lines.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/stage_rows-inl.h"
#include "kernels/winograd/winograd-inl.h"
#include "kernels/winograd/winograd_filters-inl.h"
#include "kernels/winograd/winograd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t kOutputs = 4;

/// The p > 0 of the pairs: of those that are multiples of 1/8, about the ones that give the smallest error.
template <std::size_t kPairs>
constexpr std::array<double, kPairs> interpolation_points() {
  if constexpr (kPairs == 2) {
    return {0.75, 1.5};
  } else if constexpr (kPairs == 3) {
    return {0.5, 1, 2};
  } else {
    static_assert(kPairs == 4);
    return {0.375, 0.75, 1.25, 2.5};
  }
}

/// Coefficients, by powers of x^2, of the product of (x^2 - p^2) over the points but number `left_out`.
template <std::size_t kPairs>
constexpr std::array<double, kPairs + 1> polynomial(std::size_t left_out) {
  const std::array<double, kPairs> points = interpolation_points<kPairs>();
  std::array<double, kPairs + 1> coefficients{1};
  std::size_t degree = 0;
  for (std::size_t i = 0; i < kPairs; ++i) {
    if (i == left_out) continue;
    ++degree;
    for (std::size_t j = degree + 1; j-- > 0;) {
      coefficients[j] = (j > 0 ? coefficients[j - 1] : 0) - points[i] * points[i] * coefficients[j];
    }
  }
  return coefficients;
}

template <std::size_t kPairs>
constexpr std::array<std::array<double, kPairs + 1>, kPairs + 1> polynomials() {
  std::array<std::array<double, kPairs + 1>, kPairs + 1> all{};
  for (std::size_t i = 0; i <= kPairs; ++i) all[i] = polynomial<kPairs>(i);
  return all;
}

template <std::size_t kTaps>
struct LineTransform {
  static constexpr std::size_t kSamples = kOutputs + kTaps - 1;
  static constexpr std::size_t kPairs = (kSamples - 1) / 2;
  static constexpr bool kInfinity = kSamples % 2 == 0;
  static constexpr auto kPoints = interpolation_points<kPairs>();
  static constexpr auto kPolynomials = polynomials<kPairs>();  ///< [pair left out, kPairs: none]

  /// The sum of coefficients times every second sample from `first` on, the last one with factor 1.
  template <std::size_t kDegree>
  static HWY_INLINE V evaluate(const std::array<double, kPairs + 1>& coefficients, const V (&d)[kSamples],
                               std::size_t first) {
    V sum = d[first + 2 * kDegree];
    KERNELS_UNROLL for (std::size_t i = 1; i <= kDegree; ++i) {
      const std::size_t j = kDegree - i;
      sum = add_times(sum, static_cast<float>(coefficients[j]), d[first + 2 * j]);
    }
    return sum;
  }

  static HWY_INLINE void input(const V (&d)[kSamples], V (&t)[kSamples]) {
    t[0] = evaluate<kPairs>(kPolynomials[kPairs], d, 0);
    KERNELS_UNROLL for (std::size_t i = 0; i < kPairs; ++i) {
      const V even = evaluate<kPairs - 1>(kPolynomials[i], d, 2);
      const V odd = evaluate<kPairs - 1>(kPolynomials[i], d, 1);
      t[1 + 2 * i] = add_times(even, static_cast<float>(kPoints[i]), odd);
      t[2 + 2 * i] = add_times(even, static_cast<float>(-kPoints[i]), odd);
    }
    if constexpr (kInfinity) t[kSamples - 1] = evaluate<kPairs>(kPolynomials[kPairs], d, 1);
  }

  static HWY_INLINE void output(const V (&t)[kSamples], V (&y)[kOutputs]) {
    y[0] = t[0];
    KERNELS_UNROLL for (std::size_t i = 0; i < kPairs; ++i) {
      const auto p = static_cast<float>(kPoints[i]);
      const V sum = hn::Add(t[1 + 2 * i], t[2 + 2 * i]);
      const V difference = hn::Sub(t[1 + 2 * i], t[2 + 2 * i]);
      y[0] = hn::Add(y[0], sum);
      y[1] = i == 0 ? hn::Mul(hn::Set(D(), p), difference) : add_times(y[1], p, difference);
      y[2] = i == 0 ? hn::Mul(hn::Set(D(), p * p), sum) : add_times(y[2], p * p, sum);
      y[3] = i == 0 ? hn::Mul(hn::Set(D(), p * p * p), difference) : add_times(y[3], p * p * p, difference);
    }
    if constexpr (kInfinity) y[3] = hn::Add(y[3], t[kSamples - 1]);
  }

  /// Of the samples of a pair, the second has the factors of the first, but for the sign of every other one.
  static constexpr std::array<std::array<double, kTaps>, kSamples> filter() {
    std::array<std::array<double, kTaps>, kSamples> factors{};
    factors[0][0] = 1 / kPolynomials[kPairs][0];
    for (std::size_t i = 0; i < kPairs; ++i) {
      const double square = kPoints[i] * kPoints[i];
      double value = 0;
      for (std::size_t j = kPairs; j-- > 0;) value = value * square + kPolynomials[i][j];
      double power = 1 / (2 * square * value);
      for (std::size_t k = 0; k < kTaps; ++k, power *= kPoints[i]) {
        factors[1 + 2 * i][k] = power;
        factors[2 + 2 * i][k] = k % 2 == 0 ? power : -power;
      }
    }
    if (kInfinity) factors[kSamples - 1][kTaps - 1] = 1;
    return factors;
  }
  static constexpr auto kFilter = filter();
};

/// `count` samples of a row that lie side by side, sample `first` first. Whole vectors are stored.
HWY_INLINE void stage_neighbours(const TileSamples& samples, const float* row, std::size_t first,
                                 std::size_t count, float* to) {
  const D d;
  const std::size_t left = samples.left;
  const std::size_t last = first + count;
  const std::size_t end = left + samples.width;
  const std::size_t begin = std::clamp(left, first, last);
  if (begin > first) std::fill_n(to, begin - first, 0.0F);
  for (std::size_t x = begin; x < last; x += kLanes) {
    const std::size_t present = end > x ? std::min(kLanes, end - x) : 0;
    V v = hn::Zero(d);
    if (present == kLanes) {
      v = hn::LoadU(d, row + (x - left));
    } else if (present != 0) {
      v = load_edge(row + (x - left), present);
    }
    hn::StoreU(v, d, to + (x - first));
  }
}

/// The same with a stride, but no more than `count` floats.
HWY_NOINLINE void stage_strided(const TileSamples& samples, const float* row, std::size_t first,
                                std::size_t count, float* to) {
  const std::size_t last = first + count;
  const std::size_t begin = std::clamp(samples.left, first, last);
  const std::size_t end = std::clamp(samples.left + samples.width, begin, last);
  StagedRows staged;
  staged.before = begin - first;
  staged.samples = end - begin;
  staged.after = last - end;
  staged.stride = samples.stride;
  stage_row(begin < end ? row + (begin - samples.left) * samples.stride : row, staged, to);
}

/// Where the lines of a block's samples are.
struct StagedLines {
  float* lines;
  std::size_t stride;  ///< between them
  std::size_t count;
};

/// Lines in which the tiles of all rows stand side by side, so that vectors of tiles may reach over the ends
/// of rows: one line per sample of a tile. Zeros follow up to `padded` tiles.
HWY_NOINLINE void stage_vertical(const TileSamples& samples, const TileBlockSize& block, std::size_t padded,
                                 const StagedLines& to) {
  for (std::size_t row = 0; row < block.rows; ++row) {
    for (std::size_t i = 0; i < to.count; ++i) {
      stage_neighbours(samples, samples.rows[row * kOutputs + i], 0, block.columns,
                       to.lines + i * to.stride + row * block.columns);
    }
  }
  const std::size_t tiles = block.tiles();
  for (std::size_t i = 0; i < to.count; ++i) {
    std::fill_n(to.lines + i * to.stride + tiles, padded - tiles, 0.0F);
  }
}

/// The same along the rows: line b has samples [kOutputs * b, kOutputs * (b + 1)) of each tile.
HWY_NOINLINE void stage_horizontal(const TileSamples& samples, const TileBlockSize& block, std::size_t padded,
                                   const StagedLines& to) {
  const std::size_t width = block.columns * kOutputs;
  for (std::size_t row = 0; row < block.rows; ++row) {
    for (std::size_t b = 0; b < to.count; ++b) {
      float* const line = to.lines + b * to.stride + row * width;
      if (samples.stride == 1) {
        stage_neighbours(samples, samples.rows[row], b * kOutputs, width, line);
      } else {
        stage_strided(samples, samples.rows[row], b * kOutputs, width, line);
      }
    }
  }
  const std::size_t tiles = block.tiles();
  for (std::size_t b = 0; b < to.count; ++b) {
    std::fill_n(to.lines + b * to.stride + tiles * kOutputs, (padded - tiles) * kOutputs, 0.0F);
  }
}

template <std::size_t kTaps>
struct VerticalLines {
  static constexpr std::size_t kSamples = kOutputs + kTaps - 1;

  std::size_t stride;
  float* lines;

  HWY_INLINE VerticalLines(const TileSamples& samples, const TileBlockSize& block, std::size_t padded,
                           float* scratch)
      : stride(padded + kLanes), lines(scratch) {
    stage_vertical(samples, block, padded, {lines, stride, kSamples});
  }

  HWY_INLINE void load(std::size_t first, V (&v)[kSamples]) const {
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      v[i] = hn::LoadU(D(), lines + i * stride + first);
    }
  }
};

template <std::size_t kTaps>
struct HorizontalLines {
  static constexpr std::size_t kSamples = kOutputs + kTaps - 1;
  static constexpr std::size_t kLines = (kSamples + kOutputs - 1) / kOutputs;

  std::size_t stride;
  float* lines;

  HWY_INLINE HorizontalLines(const TileSamples& samples, const TileBlockSize& block, std::size_t padded,
                             float* scratch)
      : stride(padded * kOutputs + kLanes), lines(scratch) {
    stage_horizontal(samples, block, padded, {lines, stride, kLines});
  }

  HWY_INLINE void load(std::size_t first, V (&v)[kSamples]) const {
    KERNELS_UNROLL for (std::size_t b = 0; b < kLines; ++b) {
      V part[kOutputs];
      load_strided<kOutputs>(lines + b * stride + first * kOutputs, part);
      KERNELS_UNROLL for (std::size_t j = 0; j < kOutputs; ++j) {
        if (b * kOutputs + j < kSamples) v[b * kOutputs + j] = part[j];
      }
    }
  }
};

template <std::size_t kTaps, class Lines>
void InputTransform(const TileSamples& samples, const TileBlockSize& block, const TileVector* vectors,
                    std::size_t channel, float* columns, std::size_t point_stride, float* scratch) {
  constexpr std::size_t kSamples = LineTransform<kTaps>::kSamples;
  const std::size_t padded = divide_up(block.tiles(), kLanes) * kLanes;
  const Lines lines(samples, block, padded, scratch);
  for (std::size_t first = 0; first < padded; first += kLanes) {
    const TileVector& vector = vectors[first / kLanes];
    float* const to = columns + vector.to + channel * vector.channel_stride;
    V along[kSamples];
    V transformed[kSamples];
    lines.load(first, along);
    LineTransform<kTaps>::input(along, transformed);
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      hn::StoreU(transformed[i], D(), to + i * point_stride);
    }
  }
  clear_upper_halves();
}

/// The rows of a block's outputs, which lie as HorizontalLines or VerticalLines do, `stride` floats apart.
template <TileAxes kAxes>
HWY_NOINLINE void finish_rows(const float* lines, std::size_t stride, const TileBlockSize& block,
                              std::size_t rows, const Tile& tile) {
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const from = kAxes == TileAxes::vertical
                                  ? lines + row % kOutputs * stride + row / kOutputs * block.columns
                                  : lines + row * block.columns * kOutputs;
    finish_row(from, tile, row);
  }
}

template <std::size_t kTaps, TileAxes kAxes>
void OutputTransform(const float* points, std::size_t point_stride, const TileBlockSize& block,
                     std::size_t rows, const Tile& tile, float* scratch) {
  constexpr std::size_t kSamples = LineTransform<kTaps>::kSamples;
  const std::size_t tiles = block.tiles();
  const std::size_t line = divide_up(tiles, kLanes) * kLanes + kLanes;
  for (std::size_t first = 0; first < tiles; first += kLanes) {
    V transformed[kSamples];
    V sums[kOutputs];
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      transformed[i] = hn::LoadU(D(), points + i * point_stride + first);
    }
    LineTransform<kTaps>::output(transformed, sums);
    if constexpr (kAxes == TileAxes::vertical) {
      KERNELS_UNROLL for (std::size_t i = 0; i < kOutputs; ++i) {
        hn::StoreU(sums[i], D(), scratch + i * line + first);
      }
    } else {
      store_strided<kOutputs>(sums, scratch + first * kOutputs);
    }
  }
  finish_rows<kAxes>(scratch, line, block, rows, tile);
}

template <std::size_t kTaps>
void FilterTransform(const float* filters, std::size_t stride, std::size_t count, float* to,
                     std::size_t point_stride) {
  using Line = LineTransform<kTaps>;
  const FilterTag d;
  for_each_filter_vector<kTaps>(
      filters, stride, count,
      [&](std::size_t k, std::size_t present, const FilterVector(&taps)[kTaps]) HWY_ATTR {
        float* const at = to + k;
        store_points(hn::Mul(taps[0], hn::Set(d, Line::kFilter[0][0])), present, at);
        for (std::size_t i = 1; i <= 2 * Line::kPairs; i += 2) {
          const std::array<double, kTaps>& factors = Line::kFilter[i];
          FilterVector even = hn::Mul(taps[0], hn::Set(d, factors[0]));
          FilterVector odd = hn::Mul(taps[1], hn::Set(d, factors[1]));
          KERNELS_UNROLL for (std::size_t t = 2; t < kTaps; ++t) {
            FilterVector& sum = t % 2 == 0 ? even : odd;
            sum = hn::MulAdd(taps[t], hn::Set(d, factors[t]), sum);
          }
          const FilterVector pair[2] = {hn::Add(even, odd), hn::Sub(even, odd)};
          for (std::size_t j = 0; j < 2; ++j) store_points(pair[j], present, at + (i + j) * point_stride);
        }
        if constexpr (Line::kInfinity) {
          store_points(taps[kTaps - 1], present, at + (Line::kSamples - 1) * point_stride);
        }
      });
}

template <std::size_t kTaps, TileAxes kAxes>
constexpr WinogradTransforms make_transforms() {
  using Lines = std::conditional_t<kAxes == TileAxes::vertical, VerticalLines<kTaps>, HorizontalLines<kTaps>>;
  WinogradTransforms transforms;
  transforms.outputs = kOutputs;
  transforms.taps = kTaps;
  transforms.axes = kAxes;
  transforms.input = InputTransform<kTaps, Lines>;
  transforms.output = OutputTransform<kTaps, kAxes>;
  transforms.filters = FilterTransform<kTaps>;
  return transforms;
}

}  // namespace

const WinogradLineTransforms* LineTransforms() {
  constexpr TileAxes kVertical = TileAxes::vertical;
  constexpr TileAxes kHorizontal = TileAxes::horizontal;
  static constexpr WinogradLineTransforms kAll{
      make_transforms<3, kVertical>(),   make_transforms<4, kVertical>(),   make_transforms<5, kVertical>(),
      make_transforms<6, kVertical>(),   make_transforms<7, kVertical>(),   make_transforms<3, kHorizontal>(),
      make_transforms<4, kHorizontal>(), make_transforms<5, kHorizontal>(), make_transforms<6, kHorizontal>(),
      make_transforms<7, kHorizontal>()};
  return &kAll;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(LineTransforms);

const WinogradLineTransforms& winograd_line_transforms() { return *HWY_DYNAMIC_DISPATCH(LineTransforms)(); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
