#include "kernels/depthwise/depthwise_kernels.h"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise/depthwise_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Taps anywhere; neighbouring outputs are kStep floats apart.
template <std::size_t kStep>
struct LooseTaps {
  static constexpr std::size_t step = kStep;
  static constexpr std::size_t most_rows = kOldProcessor ? 1 : 4;
  static constexpr std::size_t fewer_rows(std::size_t /*than*/) { return 1; }
  static constexpr std::size_t most_vectors(std::size_t /*rows*/) { return 2; }
  const std::int32_t* offsets;
  const float* weights;
  std::size_t taps;

  [[nodiscard]] bool allows(std::size_t /*rows_at_once*/) const { return true; }

  /// sum(r, v) += sum over the taps of weights[tap] * every kStep-th float from from[r * row_stride +
  /// offsets[tap]] on.
  template <std::size_t kRows, std::size_t kVectors>
  HWY_INLINE void sum(const float* from, std::size_t row_stride, V (&sums)[kRows][kVectors]) const {
    const D d;
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const V factor = hn::Set(d, weights[tap]);
      const float* const samples = from + offsets[tap];
      if constexpr (kStep == 1) {
        KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
          KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
            sums[r][v] = hn::MulAdd(factor, hn::LoadU(d, samples + r * row_stride + v * kLanes), sums[r][v]);
          }
        }
      } else {
        static_assert(kStep == 2);
        // Neighbouring taps share loads.
        const bool two = tap + 1 < taps && offsets[tap + 1] == offsets[tap] + 1;
        const V next_factor = hn::Set(d, two ? weights[tap + 1] : 0.0F);
        KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
          KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
            const float* const pair = samples + r * row_stride + 2 * v * kLanes;
            const V lower = hn::LoadU(d, pair);
            const V upper = hn::LoadU(d, pair + kLanes);
            sums[r][v] = hn::MulAdd(factor, hn::ConcatEven(d, upper, lower), sums[r][v]);
            if (two) sums[r][v] = hn::MulAdd(next_factor, hn::ConcatOdd(d, upper, lower), sums[r][v]);
          }
        }
        if (two) ++tap;
      }
    }
  }
};

/// A window without gaps between its rows, which go on row by row in the image: samples are loaded once for
/// all rows of outputs that see them. Sums in the order of LooseTaps.
struct DenseTaps {
  static constexpr std::size_t step = 1;
  static constexpr std::size_t most_rows = kOldProcessor ? 1 : kManyRegisters ? 8 : 4;
  static constexpr std::size_t fewer_rows(std::size_t than) { return than / 2; }
  static constexpr std::size_t most_vectors(std::size_t of_rows) {
    return of_rows == 1 && kMasksMemory<float> ? 4 : 2;
  }
  const float* weights;
  std::size_t rows;
  std::size_t columns;
  std::size_t column_step;

  [[nodiscard]] bool allows(std::size_t rows_at_once) const { return rows_at_once <= rows; }

  /// Not of more rows than the window has.
  template <std::size_t kRows, std::size_t kVectors>
  HWY_INLINE void sum(const float* from, std::size_t row_stride, V (&sums)[kRows][kVectors]) const {
    // The first rows of samples are seen by the first rows of outputs only, the last ones by the last ones.
    const auto begin = [&]<std::size_t... kSeen>(std::index_sequence<kSeen...>) HWY_ATTR {
      ((add_to<0, kSeen + 1>(from + kSeen * row_stride, weights + kSeen * columns, sums)), ...);
    };
    begin(std::make_index_sequence<kRows - 1>());
    from += (kRows - 1) * row_stride;
    for (std::size_t row = kRows - 1; row < rows; ++row, from += row_stride)
      add_to<0, kRows>(from, weights + row * columns, sums);
    const float* const last = weights + (rows - 1) * columns;
    const auto end = [&]<std::size_t... kDone>(std::index_sequence<kDone...>) HWY_ATTR {
      ((add_to<kDone + 1, kRows>(from + kDone * row_stride, last, sums)), ...);
    };
    end(std::make_index_sequence<kRows - 1>());
  }

 private:
  /// To rows of outputs [kFirst, kEnd). `line`: the weights with which the first of them sees the samples;
  /// the others have those before.
  template <std::size_t kFirst, std::size_t kEnd, std::size_t kRows, std::size_t kVectors>
  HWY_INLINE void add_to(const float* from, const float* line, V (&sums)[kRows][kVectors]) const {
    const D d;
    for (const float* const end = line + columns; line != end; ++line, from += column_step) {
      V samples[kVectors];
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        samples[v] = keep(hn::LoadU(d, from + v * kLanes));
      }
      const float* weight = line;
      KERNELS_UNROLL for (std::size_t r = kFirst; r < kEnd; ++r, weight -= columns) {
        const V factor = kVectors == 1 ? hn::Set(d, *weight) : keep(hn::Set(d, *weight));
        KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
          sums[r][v] = hn::MulAdd(factor, samples[v], sums[r][v]);
        }
      }
    }
  }
};

/// Several rows and vectors at once: enough independent sums to hide the latency of the multiply-add.
template <std::size_t kRows, std::size_t kVectors, class Taps>
void multiply_tile(const float* from, std::size_t row_stride, const Taps& taps, const Tile& tile) {
  V sums[kRows][kVectors];
  start_tile(sums, tile);
  taps.sum(from, row_stride, sums);
  // Where masks leave memory alone, whole vectors are stored as fast with one.
  if (!kMasksMemory<float> && tile.columns == kVectors * kLanes) {
    store_tile<kRows, kVectors, false>(sums, tile);
  } else {
    store_tile<kRows, kVectors, true>(sums, tile);
  }
}

template <std::size_t kRows, class Taps>
void multiply_rows(const float* from, std::size_t row_stride, const Taps& taps, const Tile& tile) {
  constexpr std::size_t kMost = Taps::most_vectors(kRows);
  Tile part = tile;
  for (std::size_t x = 0; x < tile.columns; x += kMost * kLanes) {
    part.out = tile.out + x;
    if (tile.residual != nullptr) part.residual = tile.residual + x;
    part.columns = std::min(kMost * kLanes, tile.columns - x);
    const std::size_t vectors = divide_up(part.columns, kLanes);
    const float* const samples = from + Taps::step * x;
    if (vectors == 1) {
      multiply_tile<kRows, 1>(samples, row_stride, taps, part);
    } else if (vectors == 2) {
      multiply_tile<kRows, 2>(samples, row_stride, taps, part);
    } else if constexpr (kMost == 4) {
      if (vectors == 3) {
        multiply_tile<kRows, 3>(samples, row_stride, taps, part);
      } else {
        multiply_tile<kRows, 4>(samples, row_stride, taps, part);
      }
    }
  }
}

/// Sums of kVectors vectors, the first of which begins at `from`. They start with the bias, as start_tile has
/// it: bits must not depend on how many rows there are.
template <std::size_t kVectors, class Taps>
HWY_INLINE void sum_run(const float* from, const Taps& taps, V bias, float* to) {
  const D d;
  V sums[1][kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[0][v] = bias;
  taps.sum(from, 0, sums);
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sums[0][v], d, to + v * kLanes);
}

constexpr std::size_t kRunFloats = 1024;

/// Rows shorter than vectors: `rows` of them are summed as one run, with what stands between them, and cut
/// out of it. The run is at most kRunFloats long, and row_stride a multiple of the step.
template <class Taps>
void multiply_run(const float* from, std::size_t row_stride, const Taps& taps, std::size_t rows,
                  const Tile& tile) {
  const D d;
  HWY_ALIGN float run[kRunFloats + kLanes];
  const std::size_t run_stride = row_stride / Taps::step;
  const std::size_t length = (rows - 1) * run_stride + tile.columns;
  const V bias = hn::Set(d, tile.row_bias != nullptr ? *tile.row_bias : 0.0F);
  std::size_t i = 0;
  for (; i + 3 * kLanes < length; i += 4 * kLanes) sum_run<4>(from + Taps::step * i, taps, bias, run + i);
  if (i + 2 * kLanes < length) {
    sum_run<3>(from + Taps::step * i, taps, bias, run + i);
  } else if (i + kLanes < length) {
    sum_run<2>(from + Taps::step * i, taps, bias, run + i);
  } else if (i < length) {
    sum_run<1>(from + Taps::step * i, taps, bias, run + i);
  }
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t x = 0; x < tile.columns; x += kLanes) {
      const std::size_t count = std::min(kLanes, tile.columns - x);
      V v = hn::LoadU(d, run + row * run_stride + x);
      if (tile.residual != nullptr) v = hn::Add(v, load_edge(tile.residual + row * tile.stride + x, count));
      store_edge(clamp(low, high, v), tile.out + row * tile.stride + x, count);
    }
  }
}

/// Rows that multiply_run may take at once, run_stride floats apart; 0: it makes no sense.
std::size_t rows_of_run(std::size_t run_stride, std::size_t rows, const Tile& tile) {
  if (tile.columns + run_stride > kRunFloats) return 0;
  const std::size_t run_vectors = divide_up((rows - 1) * run_stride + tile.columns, kLanes);
  if (run_vectors > rows * divide_up(tile.columns, kLanes)) return 0;
  return std::min(rows, (kRunFloats - tile.columns) / run_stride + 1);
}

/// As many rows at once as there are, and then fewer.
template <std::size_t kRows, class Taps>
void multiply_at_once(const float* from, std::size_t row_stride, const Taps& taps, std::size_t rows,
                      Tile& tile) {
  for (; rows >= kRows && taps.allows(kRows); rows -= kRows, from += kRows * row_stride) {
    multiply_rows<kRows>(from, row_stride, taps, tile);
    tile.out += kRows * tile.stride;
    if (tile.residual != nullptr) tile.residual += kRows * tile.stride;
  }
  if constexpr (kRows > 1) multiply_at_once<Taps::fewer_rows(kRows)>(from, row_stride, taps, rows, tile);
}

template <class Taps>
void multiply_all_rows(const float* from, std::size_t row_stride, const Taps& taps, std::size_t rows,
                       const Tile& tile) {
  float same_bias[Taps::most_rows];
  Tile part = tile;
  if (tile.row_bias != nullptr) {
    std::fill_n(same_bias, Taps::most_rows, *tile.row_bias);
    part.row_bias = same_bias;
  }
  multiply_at_once<Taps::most_rows>(from, row_stride, taps, rows, part);
}

template <std::size_t kStep>
void DepthwiseRows(const float* from, std::size_t row_stride, const DepthwiseTaps& taps, std::size_t rows,
                   const Tile& tile) {
  if (rows == 0) return;
  Tile part = tile;
  part.finish = true;
  if constexpr (kStep == 1) {
    if (taps.columns != 0) {
      const DenseTaps dense{taps.weights, taps.count / taps.columns, taps.columns, taps.column_step};
      return multiply_all_rows(from, row_stride, dense, rows, part);
    }
  }
  const LooseTaps<kStep> loose{taps.offsets, taps.weights, taps.count};
  const std::size_t most = row_stride % kStep == 0 ? rows_of_run(row_stride / kStep, rows, tile) : 0;
  if (most == 0) return multiply_all_rows(from, row_stride, loose, rows, part);
  for (std::size_t row = 0; row < rows; row += most) {
    part.out = tile.out + row * tile.stride;
    if (tile.residual != nullptr) part.residual = tile.residual + row * tile.stride;
    multiply_run(from + row * row_stride, row_stride, loose, std::min(most, rows - row), part);
  }
}

template <std::size_t kVectors>
void MultiplyChannels(const PlaneTaps& plane, const float* samples, const float* weights, float* results) {
  const D d;
  constexpr std::size_t kChannels = kVectors * kLanes;
  const PlaneTaps::Tap* tap = plane.taps.data();
  for (const std::uint32_t end : plane.ends) {
    V sums[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    for (; tap != plane.taps.data() + end; ++tap) {
      const float* const sample = samples + tap->sample * kChannels;
      const float* const weight = weights + tap->tap * kChannels;
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[v] = hn::MulAdd(hn::LoadU(d, sample + v * kLanes), hn::LoadU(d, weight + v * kLanes), sums[v]);
      }
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, results + v * kLanes);
    results += kChannels;
  }
}

/// As many vectors at once as there are registers for.
template <std::size_t kVectors>
void MultiplyWindows(const PlaneWindows& plane, const float* samples, const float* weights, float* results) {
  const D d;
  constexpr std::size_t kAtOnce = kManyRegisters ? kVectors : 1;
  constexpr std::size_t kChannels = kVectors * kLanes;
  for (std::size_t first = 0; first < kChannels; first += kAtOnce * kLanes) {
    V held[kHeldTaps][kAtOnce];
    KERNELS_UNROLL for (std::size_t t = 0; t < kHeldTaps; ++t) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kAtOnce; ++v) {
        held[t][v] = hn::LoadU(d, weights + t * kChannels + first + v * kLanes);
      }
    }
    float* to = results + first;
    for (std::size_t window = 0; window < plane.size(); window += kHeldTaps, to += kChannels) {
      V sums[kAtOnce];
      KERNELS_UNROLL for (std::size_t v = 0; v < kAtOnce; ++v) sums[v] = hn::Zero(d);
      KERNELS_UNROLL for (std::size_t t = 0; t < kHeldTaps; ++t) {
        const float* const sample = samples + plane[window + t] * kVectors + first;
        KERNELS_UNROLL for (std::size_t v = 0; v < kAtOnce; ++v) {
          sums[v] = hn::MulAdd(hn::LoadU(d, sample + v * kLanes), held[t][v], sums[v]);
        }
      }
      KERNELS_UNROLL for (std::size_t v = 0; v < kAtOnce; ++v) hn::StoreU(sums[v], d, to + v * kLanes);
    }
  }
}

}  // namespace

const DepthwiseChannelsKernels* ChannelsKernels() {
  static constexpr DepthwiseChannelsKernels kernels{MultiplyChannels<1>, MultiplyChannels<2>};
  return &kernels;
}

const DepthwiseWindowsKernels* WindowsKernels() {
  static constexpr DepthwiseWindowsKernels kernels{MultiplyWindows<1>, MultiplyWindows<2>};
  return &kernels;
}

DepthwiseKernel Kernel(std::size_t step) { return step == 2 ? DepthwiseRows<2> : DepthwiseRows<1>; }

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(Kernel);

HWY_EXPORT(ChannelsKernels);

const DepthwiseChannelsKernels& depthwise_channels_kernels() {
  return *HWY_DYNAMIC_DISPATCH(ChannelsKernels)();
}

HWY_EXPORT(WindowsKernels);

const DepthwiseWindowsKernels& depthwise_windows_kernels() { return *HWY_DYNAMIC_DISPATCH(WindowsKernels)(); }

DepthwiseKernel depthwise_kernel(std::size_t step) { return HWY_DYNAMIC_DISPATCH(Kernel)(step); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
