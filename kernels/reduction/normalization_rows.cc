// The normalisations of kernels/reduction/normalization.h that work on contiguous rows and scale by given
// values.
#include <cmath>

#include "kernels/reduction/normalization.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/normalization_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"
#include "kernels/reduction/reduce-inl.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

struct MeanAndScale {
  float mean;
  float scale;
};

/// Mean and 1 / sqrt(variance + eps) of what `fold` sums up; where that is not centered, those of numbers
/// whose mean is 0.
HWY_INLINE MeanAndScale moments_of(const auto& fold, std::size_t length, double eps, bool centered = true) {
  const auto count = static_cast<float>(length);
  const float mean = centered ? fold(Adding()) / count : 0.0F;
  const V32 means = hn::Set(F32(), mean);
  const auto variance = static_cast<double>(fold(AddingSquaredDeviations(&means)) / count);
  return {mean, static_cast<float>(1.0 / std::sqrt(variance + eps))};
}

HWY_INLINE MeanAndScale moments_of_row(const float* row, std::size_t length, double eps,
                                       bool centered = true) {
  const auto fold = [&](const auto& op)
                        HWY_ATTR { return Adding::lanes(reduce_run(op, row, length, hn::Zero(F32()))); };
  return moments_of(fold, length, eps, centered);
}

/// out = (in - mean) * factor * scale + shift, where scale and shift may be null.
HWY_INLINE void apply_to_row(const float* in, float* out, std::size_t length, MeanAndScale moments,
                             const float* scale, const float* shift) {
  const F32 d;
  const V32 mean = hn::Set(d, moments.mean);
  const V32 factor = hn::Set(d, moments.scale);
  if (scale != nullptr && shift != nullptr) {
    // Both at once, for the layer normalisation of every transformer.
    const std::size_t lanes = hn::Lanes(d);
    std::size_t i = 0;
    for (; i + lanes <= length; i += lanes) {
      const V32 x = hn::Mul(hn::Sub(hn::LoadU(d, in + i), mean), factor);
      hn::StoreU(hn::MulAdd(x, hn::LoadU(d, scale + i), hn::LoadU(d, shift + i)), d, out + i);
    }
    if (const std::size_t rest = length - i; rest != 0) {
      const V32 x = hn::Mul(hn::Sub(load_n(d, in + i, rest), mean), factor);
      store_n(hn::MulAdd(x, load_n(d, scale + i, rest), load_n(d, shift + i, rest)), d, out + i, rest);
    }
  } else if (scale != nullptr) {
    map_binary(d, in, scale, out, length,
               [&](V32 x, V32 s) HWY_ATTR { return hn::Mul(hn::Mul(hn::Sub(x, mean), factor), s); });
  } else if (shift != nullptr) {
    map_binary(d, in, shift, out, length,
               [&](V32 x, V32 s) HWY_ATTR { return hn::MulAdd(hn::Sub(x, mean), factor, s); });
  } else {
    map_unary(d, in, out, length, [&](V32 x) HWY_ATTR { return hn::Mul(hn::Sub(x, mean), factor); });
  }
}

void LayerNormRow(const LayerNormParams& params, const float* scale, const float* shift, const float* in,
                  float* out) {
  const MeanAndScale moments = moments_of_row(in, params.length, params.eps, params.centered);
  apply_to_row(in, out, params.length, moments, scale, shift);
}

/// Channels that have one mean and variance.
struct ChannelGroup {
  const float* in;
  float* out;
  std::size_t channels;
  std::size_t inner;
  const float* scale;
  const float* shift;

  std::size_t length() const { return channels * inner; }
};

/// Channels [begin, end) of a group.
HWY_INLINE void apply_to_channels(const ChannelGroup& group, std::size_t begin, std::size_t end,
                                  MeanAndScale moments) {
  const F32 d;
  const V32 mean = hn::Set(d, moments.mean);
  for (std::size_t c = begin; c < end; ++c) {
    const V32 factor = hn::Set(d, moments.scale * group.scale[c]);
    const V32 term = hn::Set(d, group.shift[c]);
    map_unary(d, group.in + c * group.inner, group.out + c * group.inner, group.inner,
              [&](V32 x) HWY_ATTR { return hn::MulAdd(hn::Sub(x, mean), factor, term); });
  }
}

/// One group by all threads.
void normalize_shared_channels(const ChannelGroup& group, double eps) {
  const std::size_t length = group.length();
  const auto fold = [&](const auto& op) HWY_ATTR { return add_shared_run(op, group.in, length); };
  const MeanAndScale moments = moments_of(fold, length, eps);
  parallel_for(group.channels, grain_for_cost(group.inner), [&](std::size_t begin, std::size_t end) HWY_ATTR {
    apply_to_channels(group, begin, end, moments);
  });
}

void GroupNorm(const ChannelShape& shape, const GroupNormParams& params, const float* scale,
               const float* shift, const float* in, float* out) {
  const std::size_t groups = shape.batch * params.groups;
  const std::size_t channels = shape.channels / params.groups;
  const std::size_t length = channels * shape.inner;
  const auto group_at = [&](std::size_t index) HWY_ATTR {
    const std::size_t channel = index % params.groups * channels;
    return ChannelGroup{in + index * length, out + index * length, channels,
                        shape.inner,         scale + channel,      shift + channel};
  };
  if (are_shared(groups, length)) {
    for (std::size_t index = 0; index < groups; ++index)
      normalize_shared_channels(group_at(index), params.eps);
    return;
  }
  parallel_for(groups, grain_for_cost(length), [&](std::size_t begin, std::size_t end) HWY_ATTR {
    for (std::size_t index = begin; index < end; ++index) {
      const ChannelGroup group = group_at(index);
      apply_to_channels(group, 0, channels, moments_of_row(group.in, length, params.eps));
    }
  });
}

/// Elements of one channel, with the channel's constants.
void ScaleShiftChannel(const float* in, float* out, std::size_t count, float scale, float shift) {
  const F32 d;
  const V32 factor = hn::Set(d, scale);
  const V32 term = hn::Set(d, shift);
  map_unary(d, in, out, count, [&](V32 x) HWY_ATTR { return hn::MulAdd(x, factor, term); });
}

/// A row with one element of each channel.
void ScaleShiftRow(const float* in, float* out, std::size_t channels, const float* scale,
                   const float* shift) {
  apply_to_row(in, out, channels, {0.0F, 1.0F}, scale, shift);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(LayerNormRow);
HWY_EXPORT(GroupNorm);
HWY_EXPORT(ScaleShiftChannel);
HWY_EXPORT(ScaleShiftRow);

void layer_norm(const LayerNormParams& params, const float* scale, const float* shift, const float* in,
                float* out) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(LayerNormRow);
  parallel_for(params.rows, grain_for_cost(params.length), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r)
      kernel(params, scale, shift, in + r * params.length, out + r * params.length);
  });
}

void fold_batch_norm(const BatchNormValues& values, std::size_t channels, float* scale, float* shift) {
  const auto number = [](const float* numbers, std::size_t c) { return static_cast<double>(numbers[c]); };
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = number(values.gamma, c) / std::sqrt(number(values.variance, c) + values.eps);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(number(values.beta, c) - number(values.mean, c) * factor);
  }
}

void scale_shift(const ChannelShape& shape, const float* scale, const float* shift, const float* in,
                 float* out) {
  const std::size_t channels = shape.channels;
  const std::size_t inner = shape.inner;
  if (inner == 1) {
    const auto kernel = HWY_DYNAMIC_DISPATCH(ScaleShiftRow);
    parallel_for(shape.batch, grain_for_cost(channels), [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n) {
        kernel(in + n * channels, out + n * channels, channels, scale, shift);
      }
    });
    return;
  }
  const auto kernel = HWY_DYNAMIC_DISPATCH(ScaleShiftChannel);
  parallel_for(shape.batch * channels, grain_for_cost(inner), [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t c = index % channels;
      kernel(in + index * inner, out + index * inner, inner, scale[c], shift[c]);
    }
  });
}

void group_norm(const ChannelShape& shape, const GroupNormParams& params, const float* scale,
                const float* shift, const float* in, float* out) {
  HWY_DYNAMIC_DISPATCH(GroupNorm)(shape, params, scale, shift, in, out);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
