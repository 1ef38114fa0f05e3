#include "kernels/reduction/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/softmax.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/aligned_floats.h"
#include "kernels/base/math-inl.h"
#include "kernels/base/simd-inl.h"
#include "kernels/threads/parallel.h"

// Shared by all targets; defined once because this file is included again for each of them.
#ifndef KERNELS_SOFTMAX_CC_ONCE_
#define KERNELS_SOFTMAX_CC_ONCE_
namespace ir::kernels {

/// Lines up to this length are taken side by side: one alone would hardly fill a vector.
inline constexpr std::size_t kShortLine = 8;
/// Floats of a block of columns.
inline constexpr std::size_t kColumnBlock = 8192;

/// Whether so many elements, `step` floats apart, are in so few sets of a cache that it cannot hold all of
/// them.
inline bool share_sets(std::size_t length, std::size_t step, std::size_t sets, std::size_t ways) {
  return step % kFloatsPerLine == 0 && length > ways * (sets / std::gcd(step / kFloatsPerLine, sets));
}

/// Whether columns come into a block for the three passes over them: one that holds several vectors of
/// columns of them where the first-level cache cannot, or one where the second-level cache cannot, either.
inline bool takes_block(std::size_t length, std::size_t step) {
  constexpr std::size_t kFew = kColumnBlock / 32;
  constexpr std::size_t kMost = kColumnBlock / 16;
  return share_sets(length, step, 64, 8) && length <= kMost &&
         (length <= kFew || share_sets(length, step, 1024, 16));
}

}  // namespace ir::kernels
#endif  // KERNELS_SOFTMAX_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

constexpr float kNoMaximum = -std::numeric_limits<float>::infinity();

/// Largest element of a line, -inf for an empty one; elements that are NaN may be passed over.
HWY_INLINE float max_of_line(const float* in, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a0 = hn::Set(d, kNoMaximum);
  auto a1 = a0;
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a0 = hn::Max(a0, hn::LoadU(d, in + i));
    a1 = hn::Max(a1, hn::LoadU(d, in + i + lanes));
  }
  for (; i < count; i += lanes) {
    const std::size_t width = HWY_MIN(lanes, count - i);
    const auto x = width == lanes ? hn::LoadU(d, in + i) : load_n(d, in + i, width);
    a1 = hn::IfThenElse(hn::FirstN(d, width), hn::Max(a1, x), a1);
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a0, a1)));
}

/// Sum of e^(x - maximum) over a line; the terms go to `out` unless it is null. NaN anywhere gives NaN.
HWY_INLINE float sum_of_exp(const float* in, float* out, std::size_t count, float maximum) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, maximum);
  auto total = hn::Zero(d);
  std::size_t i = 0;
  // Pieces bound the error of the sum over a long line.
  for (std::size_t piece_end = 0; i + lanes <= count;) {
    piece_end = HWY_MIN(count, piece_end + 64 * lanes);
    auto sum = hn::Zero(d);
    for (; i + lanes <= piece_end; i += lanes) {
      const auto e = exp_or_zero_f32(d, hn::Sub(hn::LoadU(d, in + i), shift));
      if (out != nullptr) hn::StoreU(e, d, out + i);
      sum = hn::Add(sum, e);
    }
    total = hn::Add(total, sum);
  }
  if (const std::size_t rest = count - i; rest != 0) {
    const auto e = exp_or_zero_f32(d, hn::Sub(load_n(d, in + i, rest), shift));
    if (out != nullptr) store_n(e, d, out + i, rest);
    total = hn::Add(total, hn::IfThenElseZero(hn::FirstN(d, rest), e));
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

void SoftmaxLine(const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  const float sum = sum_of_exp(in, out, count, max_of_line(in, count));
  const auto scale = hn::Set(d, 1.0F / sum);
  map_unary(d, out, out, count, [&](auto e) HWY_ATTR { return hn::Mul(e, scale); });
}

void LogSoftmaxLine(const float* in, float* out, std::size_t count) {
  const hn::ScalableTag<float> d;
  const float maximum = max_of_line(in, count);
  const auto shift = hn::Set(d, maximum);
  const auto log_sum = hn::Set(d, std::log(sum_of_exp(in, nullptr, count, maximum)));
  // Two subtractions: maximum + log_sum would lose log_sum next to a large maximum.
  map_unary(d, in, out, count, [&](auto x) HWY_ATTR { return hn::Sub(hn::Sub(x, shift), log_sum); });
}

/// `width` <= lanes adjacent lines, `step` apart from element to element.
template <bool kLog>
HWY_INLINE void softmax_columns(const float* in, float* out, std::size_t length, std::size_t step,
                                std::size_t width) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const bool whole = width == hn::Lanes(d);
  const auto load = [&](const float* p) HWY_ATTR { return whole ? hn::LoadU(d, p) : load_n(d, p, width); };
  const auto store = [&](V v, float* p) HWY_ATTR {
    if (whole) {
      hn::StoreU(v, d, p);
    } else {
      store_n(v, d, p, width);
    }
  };
  V maximum = hn::Set(d, kNoMaximum);
  for (std::size_t i = 0; i < length; ++i) maximum = hn::Max(maximum, load(in + i * step));
  V total = hn::Zero(d);
  for (std::size_t i = 0; i < length;) {
    V sum = hn::Zero(d);
    for (const std::size_t end = HWY_MIN(length, i + 64); i < end; ++i) {
      const V e = exp_or_zero_f32(d, hn::Sub(load(in + i * step), maximum));
      if constexpr (!kLog) store(e, out + i * step);
      sum = hn::Add(sum, e);
    }
    total = hn::Add(total, sum);
  }
  const V last = kLog ? log_f32(d, total) : hn::Div(hn::Set(d, 1.0F), total);
  for (std::size_t i = 0; i < length; ++i) {
    if constexpr (kLog) {
      store(hn::Sub(hn::Sub(load(in + i * step), maximum), last), out + i * step);
    } else {
      store(hn::Mul(load(out + i * step), last), out + i * step);
    }
  }
}

/// to[i * to_step + j] = from[i * from_step + j] for `length` rows of `count` elements.
HWY_INLINE void copy_rows(const float* from, std::size_t from_step, std::size_t length, std::size_t count,
                          float* to, std::size_t to_step) {
  const hn::ScalableTag<float> d;
  for (std::size_t i = 0; i < length; ++i, from += from_step, to += to_step) {
    map_unary(d, from, to, count, [](auto v) HWY_ATTR { return v; });
  }
}

/// Columns [begin, end) of one outer index.
void SoftmaxColumns(bool log, const float* in, float* out, std::size_t length, std::size_t step,
                    std::size_t begin, std::size_t end) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  const auto softmax = [&](const float* from, float* to, std::size_t row, std::size_t width) HWY_ATTR {
    if (log) {
      softmax_columns<true>(from, to, length, row, width);
    } else {
      softmax_columns<false>(from, to, length, row, width);
    }
  };
  if (!takes_block(length, step)) {
    for (std::size_t j = begin; j < end; j += lanes) softmax(in + j, out + j, step, HWY_MIN(lanes, end - j));
    return;
  }
  HWY_ALIGN float block[kColumnBlock];
  const std::size_t most = kColumnBlock / length / lanes * lanes;
  for (std::size_t j = begin; j < end; j += most) {
    const std::size_t count = HWY_MIN(most, end - j);
    copy_rows(in + j, step, length, count, block, count);
    for (std::size_t v = 0; v < count; v += lanes)
      softmax(block + v, block + v, count, HWY_MIN(lanes, count - v));
    copy_rows(block, count, length, count, out + j, step);
  }
}

/// `lines` contiguous lines of at most kShortLine elements.
void SoftmaxShortLines(bool log, const float* in, float* out, std::size_t lines, std::size_t length) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  HWY_ALIGN float columns[kShortLine * HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::size_t first = 0; first < lines; first += lanes) {
    const std::size_t count = HWY_MIN(lanes, lines - first);
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t i = 0; i < length; ++i) columns[i * lanes + r] = in[(first + r) * length + i];
    }
    SoftmaxColumns(log, columns, columns, length, lanes, 0, lanes);
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t i = 0; i < length; ++i) out[(first + r) * length + i] = columns[i * lanes + r];
    }
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {
namespace {

HWY_EXPORT(SoftmaxLine);
HWY_EXPORT(LogSoftmaxLine);
HWY_EXPORT(SoftmaxColumns);
HWY_EXPORT(SoftmaxShortLines);

constexpr std::size_t kColumns = 64;
constexpr std::size_t kCostOfExp = 6;

void softmax_f32(bool log, const AxisShape& shape, const float* in, float* out) {
  const std::size_t matrix = shape.length * shape.inner;
  if (shape.inner == 1 && shape.length <= kShortLine && shape.outer > 1) {
    const auto short_lines = HWY_DYNAMIC_DISPATCH(SoftmaxShortLines);
    parallel_for(shape.outer, grain_for_cost(matrix * kCostOfExp), [&](std::size_t begin, std::size_t end) {
      short_lines(log, in + begin * matrix, out + begin * matrix, end - begin, matrix);
    });
    return;
  }
  if (shape.inner == 1) {
    const auto line = log ? HWY_DYNAMIC_DISPATCH(LogSoftmaxLine) : HWY_DYNAMIC_DISPATCH(SoftmaxLine);
    parallel_for(shape.outer, grain_for_cost(matrix * kCostOfExp), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) line(in + i * matrix, out + i * matrix, shape.length);
    });
    return;
  }
  const std::size_t pieces = (shape.inner - 1) / kColumns + 1;
  const std::size_t cost = shape.length * std::min(kColumns, shape.inner) * kCostOfExp;
  const auto columns = HWY_DYNAMIC_DISPATCH(SoftmaxColumns);
  parallel_for(shape.outer * pieces, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t offset = index / pieces * matrix;
      const std::size_t first = index % pieces * kColumns;
      columns(log, in + offset, out + offset, shape.length, shape.inner, first,
              std::min(shape.inner, first + kColumns));
    }
  });
}

void softmax_f64(bool log, const AxisShape& shape, const double* in, double* out) {
  const std::size_t matrix = shape.length * shape.inner;
  parallel_for(shape.outer * shape.inner, grain_for_cost(shape.length * 40),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t line = begin; line < end; ++line) {
                   const std::size_t offset = line / shape.inner * matrix + line % shape.inner;
                   const double* from = in + offset;
                   double* to = out + offset;
                   double maximum = -std::numeric_limits<double>::infinity();
                   for (std::size_t i = 0; i < shape.length; ++i)
                     maximum = std::max(maximum, from[i * shape.inner]);
                   double sum = 0;
                   for (std::size_t i = 0; i < shape.length; ++i)
                     sum += std::exp(from[i * shape.inner] - maximum);
                   const double log_sum = std::log(sum);
                   for (std::size_t i = 0; i < shape.length; ++i) {
                     const double difference = from[i * shape.inner] - maximum;
                     to[i * shape.inner] = log ? difference - log_sum : std::exp(difference) / sum;
                   }
                 }
               });
}

template <class T>
void softmax_any(bool log, const AxisShape& shape, const T* in, T* out) {
  if (shape.outer * shape.length * shape.inner == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    softmax_f32(log, shape, in, out);
  } else {
    softmax_f64(log, shape, in, out);
  }
}

}  // namespace

template <class T>
void softmax(const AxisShape& shape, const T* in, T* out) {
  softmax_any(false, shape, in, out);
}

template <class T>
void log_softmax(const AxisShape& shape, const T* in, T* out) {
  softmax_any(true, shape, in, out);
}

template void softmax<float>(const AxisShape&, const float*, float*);
template void softmax<double>(const AxisShape&, const double*, double*);
template void log_softmax<float>(const AxisShape&, const float*, float*);
template void log_softmax<double>(const AxisShape&, const double*, double*);

}  // namespace ir::kernels
#endif  // HWY_ONCE
