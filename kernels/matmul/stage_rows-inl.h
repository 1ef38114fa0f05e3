// Rows of an image on their way to the staging of a convolution. Included inside a foreach_target file, after
// highway.h.
#if defined(KERNELS_MATMUL_STAGE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_MATMUL_STAGE_ROWS_INL_H_
#undef KERNELS_MATMUL_STAGE_ROWS_INL_H_
#else
#define KERNELS_MATMUL_STAGE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE void copy_samples(const float* from, std::size_t stride, std::size_t count, float* to) {
  const D d;
  std::size_t i = 0;
  if (stride == 1) {
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < count) store_edge(load_edge(from + i, count - i), to + i, count - i);
  } else if (stride == 2) {
    // A pair of vectors ends one past the last sample that is needed.
    for (; i + kLanes < count; i += kLanes) {
      const V lower = hn::LoadU(d, from + 2 * i);
      const V upper = hn::LoadU(d, from + 2 * i + kLanes);
      hn::StoreU(hn::ConcatEven(d, upper, lower), d, to + i);
    }
    if (i < count) {
      const std::size_t samples = 2 * (count - i) - 1;
      const V lower = load_edge(from + 2 * i, std::min(samples, kLanes));
      const V upper = samples > kLanes ? load_edge(from + 2 * i + kLanes, samples - kLanes) : hn::Zero(d);
      store_edge(hn::ConcatEven(d, upper, lower), to + i, count - i);
    }
  } else {
    // What lies between the samples is loaded with them; behind the last one, memory may end.
    V first;
    V between;
    if (stride == 3) {
      for (; i + kLanes < count; i += kLanes) {
        hn::LoadInterleaved3(d, from + 3 * i, first, between, between);
        hn::StoreU(first, d, to + i);
      }
    } else if (stride == 4) {
      for (; i + kLanes < count; i += kLanes) {
        hn::LoadInterleaved4(d, from + 4 * i, first, between, between, between);
        hn::StoreU(first, d, to + i);
      }
    }
    for (; i < count; ++i) to[i] = from[i * stride];
  }
}

HWY_INLINE void fill(V value, float* to, std::size_t count) {
  // No loop of floats: compilers make a call of it.
  for (; count >= kLanes; count -= kLanes, to += kLanes) hn::StoreU(value, D(), to);
  if (count != 0) store_edge(value, to, count);
}

/// What of a row is staged: all samples, every second one, or every second one here and the others there.
enum class Sampling { all, halves, pairs };

/// Vectors of a staged row.
template <Sampling kSampling>
struct RowVectors {
  static constexpr std::size_t step = kSampling == Sampling::all ? 1 : 2;

  std::size_t total;        ///< floats of a staged row, or of each half of it
  std::size_t end;          ///< vectors that end here or earlier read nothing behind the samples
  std::ptrdiff_t first;     ///< where the first staged float is, from the first sample
  std::ptrdiff_t last;      ///< behind the last sample that is needed
  std::size_t pair_stride;  ///< of pairs

  HWY_INLINE explicit RowVectors(const StagedRows& rows) : pair_stride(rows.pair_stride) {
    const auto before = static_cast<std::ptrdiff_t>(rows.before);
    if constexpr (kSampling == Sampling::pairs) {
      total = (rows.before + rows.samples + rows.after) / 2;
      end = (rows.before + rows.samples) / 2;
      first = -before;
      last = static_cast<std::ptrdiff_t>(rows.samples);
    } else {
      total = rows.before + rows.samples + rows.after;
      // A pair of vectors would end one past the last sample that is needed: the image may end there.
      end = rows.before + rows.samples - (step - 1);
      first = -static_cast<std::ptrdiff_t>(step) * before;
      last = static_cast<std::ptrdiff_t>(step * (rows.samples - 1) + 1);
    }
  }

  /// Stores what was loaded for floats [at, at + kLanes) of the staged row.
  template <class Store>
  HWY_INLINE void store(V lower, V upper, float* to, const Store& store) const {
    const D d;
    if constexpr (kSampling == Sampling::all) {
      store(lower, to);
    } else {
      store(hn::ConcatEven(d, upper, lower), to);
      if constexpr (kSampling == Sampling::pairs) store(hn::ConcatOdd(d, upper, lower), to + pair_stride);
    }
  }
};

/// A vector of a staged row that is not all samples: what it has of them is loaded with masks, which are the
/// same for all rows.
template <Sampling kSampling>
class EdgeVector {
 public:
  /// Floats [at, at + kLanes) of the staged row.
  HWY_INLINE EdgeVector(const RowVectors<kSampling>& row, std::size_t at, V padding)
      : row_(row), at_(at), from_(row.first + static_cast<std::ptrdiff_t>(row.step * at)), padding_(padding) {
    constexpr auto kNext = static_cast<std::ptrdiff_t>(kLanes);
    lower_ = lanes(-from_, row.last - from_);
    upper_ = lanes(-from_ - kNext, row.last - from_ - kNext);
    stored_ = lanes(0, static_cast<std::ptrdiff_t>(row.total - at));
  }
  /// kWhole: the row goes on to the end of the vector.
  template <bool kWhole>
  HWY_INLINE void copy(const float* from, float* to) const {
    const D d;
    const V lower = loaded(lower_, from + from_);
    V upper = lower;
    if constexpr (kSampling != Sampling::all) upper = loaded(upper_, from + from_ + kLanes);
    row_.store(lower, upper, to + at_, [&](V v, float* place) HWY_ATTR {
      if constexpr (kWhole) {
        hn::StoreU(v, d, place);
      } else {
        hn::BlendedStore(v, stored_, d, place);
      }
    });
  }

 private:
  HWY_INLINE V loaded(hn::Mask<D> mask, const float* from) const {
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, D(), from), padding_);
  }
  /// Lanes [begin, end), as far as they exist.
  static HWY_INLINE hn::Mask<D> lanes(std::ptrdiff_t begin, std::ptrdiff_t end) {
    const D d;
    const auto clamped = [](std::ptrdiff_t lane) {
      return static_cast<std::size_t>(
          std::clamp<std::ptrdiff_t>(lane, 0, static_cast<std::ptrdiff_t>(kLanes)));
    };
    return hn::AndNot(hn::FirstN(d, clamped(begin)), hn::FirstN(d, clamped(end)));
  }

  const RowVectors<kSampling>& row_;
  std::size_t at_;
  std::ptrdiff_t from_;  ///< where it loads, from the row's first sample
  V padding_;
  hn::Mask<D> lower_;
  hn::Mask<D> upper_;
  hn::Mask<D> stored_;
};

template <class CopyRow>
HWY_INLINE void for_each_row(const float* from, const StagedRows& rows, const StagedChannels& channels,
                             float* to, const CopyRow& copy_row) {
  // Channels are often pages apart.
  const std::size_t channels_ahead = divide_up(kRowsAhead, std::max<std::size_t>(rows.count, 1));
  const std::size_t length = rows.samples * rows.stride;
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    const float* from_row = from + channel * channels.from_stride;
    float* to_row = to + channel * channels.to_stride;
    const std::size_t fetched = channel + channels_ahead < channels.count ? length : 0;
    for (std::size_t row = 0; row < rows.count; ++row) {
      fetch_row(from_row + channels_ahead * channels.from_stride, fetched);
      copy_row(from_row, to_row);
      from_row += rows.from_stride;
      to_row += rows.to_stride;
    }
  }
}

/// For targets whose masks leave memory alone. There is at most a vector of padding on each side.
template <Sampling kSampling>
HWY_INLINE void stage_vectors(const float* from, const StagedRows& rows, const StagedChannels& channels,
                              float* to) {
  const RowVectors<kSampling> row(rows);
  const V padding = hn::Set(D(), rows.padding);
  const EdgeVector<kSampling> first(row, 0, padding);
  if (row.total <= kLanes) {
    return for_each_row(from, rows, channels, to, [&](const float* from_row, float* to_row) HWY_ATTR {
      first.template copy<false>(from_row, to_row);
    });
  }
  // In the middle there is nothing but samples. The last two vectors may overlap.
  std::size_t middle = kLanes;
  while (middle + kLanes <= row.end) middle += kLanes;
  const EdgeVector<kSampling> before_last(row, std::min(middle, row.total - kLanes), padding);
  const EdgeVector<kSampling> last(row, row.total - kLanes, padding);
  const bool two = middle + kLanes < row.total;
  for_each_row(from, rows, channels, to, [&](const float* from_row, float* to_row) HWY_ATTR {
    const D d;
    first.template copy<true>(from_row, to_row);
    const float* samples = from_row + row.first + row.step * kLanes;
    for (std::size_t x = kLanes; x < middle; x += kLanes, samples += row.step * kLanes) {
      const V lower = hn::LoadU(d, samples);
      const V upper = kSampling == Sampling::all ? lower : hn::LoadU(d, samples + kLanes);
      row.store(lower, upper, to_row + x, [](V v, float* place) HWY_ATTR { hn::StoreU(v, D(), place); });
    }
    if (two) before_last.template copy<true>(from_row, to_row);
    last.template copy<true>(from_row, to_row);
  });
}

/// One row, for all targets.
HWY_INLINE void stage_row(const float* from, const StagedRows& rows, float* to) {
  const V padding = hn::Set(D(), rows.padding);
  if (rows.pair_stride == 0) {
    fill(padding, to, rows.before);
    copy_samples(from, rows.stride, rows.samples, to + rows.before);
    fill(padding, to + rows.before + rows.samples, rows.after);
    return;
  }
  const std::size_t total = (rows.before + rows.samples + rows.after) / 2;
  for (std::size_t odd = 0; odd < 2; ++odd, to += rows.pair_stride) {
    const std::size_t begin = (rows.before + 1 - odd) / 2;
    const std::size_t end = std::max((rows.before + rows.samples + 1 - odd) / 2, begin);
    fill(padding, to, begin);
    copy_samples(from + (2 * begin + odd - rows.before), 2, end - begin, to + begin);
    fill(padding, to + end, total - end);
  }
}

HWY_INLINE void stage_rows(const float* from, const StagedRows& rows, const StagedChannels& channels,
                           float* to) {
  if constexpr (kMasksMemory<float>) {
    if (rows.samples != 0 && rows.before <= kLanes && rows.after <= kLanes) {
      if (rows.pair_stride != 0) return stage_vectors<Sampling::pairs>(from, rows, channels, to);
      if (rows.stride == 1) return stage_vectors<Sampling::all>(from, rows, channels, to);
      if (rows.stride == 2) return stage_vectors<Sampling::halves>(from, rows, channels, to);
    }
  }
  for_each_row(from, rows, channels, to,
               [&](const float* from_row, float* to_row) HWY_ATTR { stage_row(from_row, rows, to_row); });
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_MATMUL_STAGE_ROWS_INL_H_
