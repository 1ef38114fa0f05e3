// Rows of an image on their way to the staging of a convolution. Included inside a foreach_target file, after
// highway.h.
#if defined(KERNELS_STAGE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_STAGE_ROWS_INL_H_
#undef KERNELS_STAGE_ROWS_INL_H_
#else
#define KERNELS_STAGE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/gemm-inl.h"

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
    for (; i < count; ++i) to[i] = from[i * stride];
  }
}

HWY_INLINE void clear(float* to, std::size_t count) {
  // No loop of floats: compilers make a call of it.
  for (; count >= kLanes; count -= kLanes, to += kLanes) hn::StoreU(hn::Zero(D()), D(), to);
  if (count != 0) store_edge(hn::Zero(D()), to, count);
}

/// A vector of a staged row that is not all samples: what it has of them is loaded with masks, which are the
/// same for all rows.
template <std::size_t kStride>
class EdgeVector {
 public:
  /// Floats [at, at + kLanes) of the staged row; none but the first `total` are stored.
  HWY_INLINE EdgeVector(const StagedRows& rows, std::size_t at, std::size_t total)
      : at_(static_cast<std::ptrdiff_t>(at)),
        from_(static_cast<std::ptrdiff_t>(kStride) * (at_ - static_cast<std::ptrdiff_t>(rows.before))) {
    constexpr auto kNext = static_cast<std::ptrdiff_t>(kLanes);
    // No further than the last sample that is needed: the row may end there.
    const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(kStride * (rows.samples - 1) + 1) - from_;
    lower_ = lanes(-from_, end);
    upper_ = lanes(-from_ - kNext, end - kNext);
    stored_ = lanes(0, static_cast<std::ptrdiff_t>(total) - at_);
  }
  template <bool kWhole>
  HWY_INLINE void copy(const float* from, float* to) const {
    const D d;
    V v = hn::MaskedLoad(lower_, d, from + from_);
    if constexpr (kStride == 2) v = hn::ConcatEven(d, hn::MaskedLoad(upper_, d, from + from_ + kLanes), v);
    if constexpr (kWhole) {
      hn::StoreU(v, d, to + at_);
    } else {
      hn::BlendedStore(v, stored_, d, to + at_);
    }
  }

 private:
  /// Lanes [begin, end), as far as they exist.
  static HWY_INLINE hn::Mask<D> lanes(std::ptrdiff_t begin, std::ptrdiff_t end) {
    const D d;
    const auto clamped = [](std::ptrdiff_t lane) {
      return static_cast<std::size_t>(
          std::clamp<std::ptrdiff_t>(lane, 0, static_cast<std::ptrdiff_t>(kLanes)));
    };
    return hn::AndNot(hn::FirstN(d, clamped(begin)), hn::FirstN(d, clamped(end)));
  }

  std::ptrdiff_t at_;
  std::ptrdiff_t from_;  ///< where it loads, from the row's first sample
  hn::Mask<D> lower_;
  hn::Mask<D> upper_;
  hn::Mask<D> stored_;
};

template <class CopyRow>
HWY_INLINE void for_each_row(const float* from, const StagedRows& rows, const StagedChannels& channels,
                             float* to, const CopyRow& copy_row) {
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    const float* from_row = from + channel * channels.from_stride;
    float* to_row = to + channel * channels.to_stride;
    for (std::size_t row = 0; row < rows.count; ++row) {
      copy_row(from_row, to_row);
      from_row += rows.from_stride;
      to_row += rows.to_stride;
    }
  }
}

/// For targets whose masks leave memory alone. There is at most a vector of zeros on each side.
template <std::size_t kStride>
HWY_INLINE void stage_vectors(const float* from, const StagedRows& rows, const StagedChannels& channels,
                              float* to) {
  const std::size_t end = rows.before + rows.samples;
  const std::size_t total = end + rows.after;
  const EdgeVector<kStride> first(rows, 0, total);
  if (total <= kLanes) {
    return for_each_row(from, rows, channels, to, [&](const float* from_row, float* to_row) HWY_ATTR {
      first.template copy<false>(from_row, to_row);
    });
  }
  // In the middle there is nothing but samples. The last two vectors may overlap.
  std::size_t middle = kLanes;
  while (middle + kLanes + (kStride - 1) <= end) middle += kLanes;
  const EdgeVector<kStride> before_last(rows, std::min(middle, total - kLanes), total);
  const EdgeVector<kStride> last(rows, total - kLanes, total);
  const bool two = middle + kLanes < total;
  for_each_row(from, rows, channels, to, [&](const float* from_row, float* to_row) HWY_ATTR {
    const D d;
    first.template copy<true>(from_row, to_row);
    const float* samples = from_row + kStride * (kLanes - rows.before);
    for (std::size_t x = kLanes; x < middle; x += kLanes, samples += kStride * kLanes) {
      V v = hn::LoadU(d, samples);
      if constexpr (kStride == 2) v = hn::ConcatEven(d, hn::LoadU(d, samples + kLanes), v);
      hn::StoreU(v, d, to_row + x);
    }
    if (two) before_last.template copy<true>(from_row, to_row);
    last.template copy<true>(from_row, to_row);
  });
}

HWY_INLINE void stage_rows(const float* from, const StagedRows& rows, const StagedChannels& channels,
                           float* to) {
  if constexpr (kMasksMemory<float>) {
    if (rows.samples != 0 && rows.before <= kLanes && rows.after <= kLanes) {
      if (rows.stride == 1) return stage_vectors<1>(from, rows, channels, to);
      if (rows.stride == 2) return stage_vectors<2>(from, rows, channels, to);
    }
  }
  for_each_row(from, rows, channels, to, [&](const float* from_row, float* to_row) HWY_ATTR {
    clear(to_row, rows.before);
    copy_samples(from_row, rows.stride, rows.samples, to_row + rows.before);
    clear(to_row + rows.before + rows.samples, rows.after);
  });
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_STAGE_ROWS_INL_H_
