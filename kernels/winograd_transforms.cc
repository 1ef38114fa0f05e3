#include "kernels/winograd_transforms.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd_transforms.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/gemm-inl.h"
#include "kernels/winograd-inl.h"
#include "kernels/winograd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Down the columns: sample rows of one row of tiles become kOutputs + 2 lines of `count` floats, sample
/// `first` first. Whole vectors are stored.
template <std::size_t kOutputs>
HWY_INLINE void transform_down(const TileSamples& samples, const float* const* rows, std::size_t first,
                               std::size_t count, float* lines, std::size_t line_floats) {
  constexpr std::size_t kSamples = kOutputs + 2;
  const D d;
  const std::size_t left = samples.left;
  const std::size_t last = first + count;
  const std::size_t begin = std::clamp(left, first, last);
  for (std::size_t i = 0; begin > first && i < kSamples; ++i) {
    std::fill_n(lines + i * line_floats, begin - first, 0.0F);
  }
  for (std::size_t x = begin; x < last; x += kLanes) {
    const std::size_t end = left + samples.width;
    const std::size_t present = end > x ? std::min(kLanes, end - x) : 0;
    V down[kSamples];
    V transformed[kSamples];
    if (present == kLanes) {
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) down[i] = hn::LoadU(d, rows[i] + (x - left));
    } else if (present != 0) {
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
        down[i] = load_edge(rows[i] + (x - left), present);
      }
    } else {
      KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) down[i] = hn::Zero(d);
    }
    Transform<kOutputs>::input(down, transformed);
    KERNELS_UNROLL for (std::size_t i = 0; i < kSamples; ++i) {
      hn::StoreU(transformed[i], d, lines + i * line_floats + (x - first));
    }
  }
}

template <std::size_t kOutputs>
void InputTransform(const TileSamples& samples, const TileBlockSize& block, const TileVector* vectors,
                    std::size_t channel, float* columns, std::size_t point_stride, float* scratch) {
  constexpr std::size_t kSamples = kOutputs + 2;
  const D d;
  // Rows of tiles side by side: in `near` the first kOutputs samples of each tile, in `far` as many of those
  // behind them, of which two are used.
  const std::size_t tiles = block.tiles();
  const std::size_t padded = divide_up(tiles, kLanes) * kLanes;
  const std::size_t line = padded * kOutputs + kLanes;
  const std::size_t width = block.columns * kOutputs;
  float* const near = scratch;
  float* const far = near + kSamples * line;
  for (std::size_t row = 0; row < block.rows; ++row) {
    const float* const* const rows = samples.rows + row * kOutputs;
    transform_down<kOutputs>(samples, rows, 0, width, near + row * width, line);
    transform_down<kOutputs>(samples, rows, kOutputs, width, far + row * width, line);
  }
  for (std::size_t i = 0; i < 2 * kSamples; ++i) {
    std::fill_n(scratch + i * line + tiles * kOutputs, (padded - tiles) * kOutputs, 0.0F);
  }
  // Along the rows: vectors of tiles.
  for (std::size_t first = 0; first < tiles; first += kLanes) {
    const TileVector& vector = vectors[first / kLanes];
    float* const to = columns + vector.to + channel * vector.channel_stride;
    for (std::size_t i = 0; i < kSamples; ++i) {
      V along[kSamples];
      V transformed[kSamples];
      V v[kOutputs];
      load_strided<kOutputs>(near + i * line + first * kOutputs, v);
      KERNELS_UNROLL for (std::size_t j = 0; j < kOutputs; ++j) along[j] = v[j];
      load_strided<kOutputs>(far + i * line + first * kOutputs, v);
      KERNELS_UNROLL for (std::size_t j = 0; j < 2; ++j) along[kOutputs + j] = v[j];
      Transform<kOutputs>::input(along, transformed);
      KERNELS_UNROLL for (std::size_t j = 0; j < kSamples; ++j) {
        hn::StoreU(transformed[j], d, to + (i * kSamples + j) * point_stride);
      }
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

template <std::size_t kOutputs>
void FilterTransform(const float* filters, std::size_t count, float* to, std::size_t point_stride) {
  constexpr std::size_t kSamples = kOutputs + 2;
  constexpr std::size_t kTaps = 9;
  const auto& factors = Transform<kOutputs>::kFilter;
  const hn::ScalableTag<double> d;
  using VD = hn::Vec<decltype(d)>;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double taps[kTaps][HWY_MAX_BYTES / sizeof(double)] = {};
  const auto sum_of = [&](const VD& a, const VD& b, const VD& c, const double(&row)[3]) HWY_ATTR {
    return hn::MulAdd(c, hn::Set(d, row[2]),
                      hn::MulAdd(b, hn::Set(d, row[1]), hn::Mul(a, hn::Set(d, row[0]))));
  };
  for (std::size_t k = 0; k < count; k += lanes) {
    const std::size_t present = std::min(lanes, count - k);
    for (std::size_t lane = 0; lane < present; ++lane) {
      for (std::size_t t = 0; t < kTaps; ++t)
        taps[t][lane] = static_cast<double>(filters[(k + lane) * kTaps + t]);
    }
    for (std::size_t i = 0; i < kSamples; ++i) {
      VD down[3];
      for (std::size_t x = 0; x < 3; ++x) {
        down[x] =
            sum_of(hn::Load(d, taps[x]), hn::Load(d, taps[3 + x]), hn::Load(d, taps[6 + x]), factors[i]);
      }
      for (std::size_t j = 0; j < kSamples; ++j) {
        const VD sum = sum_of(down[0], down[1], down[2], factors[j]);
        store_n(hn::DemoteTo(df, sum), df, to + (i * kSamples + j) * point_stride + k, present);
      }
    }
  }
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
