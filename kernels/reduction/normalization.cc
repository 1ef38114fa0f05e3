#include "kernels/reduction/normalization.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/normalization.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"
#include "kernels/reduction/reduce-inl.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

// Statistics of a normalisation turn the columns of a group into a shift and a scale: out = (in - shift) *
// scale. `of_group` serves contiguous columns, which `fold` reduces, `of_columns` vectors of adjacent ones.

struct ShiftScale {
  float shift;
  float scale;
};

class MvnStatistics {
 public:
  MvnStatistics(const AxesPlan& plan, const MvnParams& params)
      : plan_(plan), params_(params), count_(static_cast<float>(plan.reduced_count())) {}

  HWY_INLINE ShiftScale of_group(const auto& fold) const {
    const float mean = fold(Adding()) / count_;
    if (!params_.normalize_variance) return {mean, 1.0F};
    const V32 means = hn::Set(F32(), mean);
    const auto variance = static_cast<double>(fold(AddingSquaredDeviations(&means)) / count_);
    const bool inside = params_.eps_mode == MvnEps::inside_sqrt;
    const double divisor = inside ? std::sqrt(variance + params_.eps) : std::sqrt(variance) + params_.eps;
    return {mean, static_cast<float>(1.0 / divisor)};
  }

  template <std::size_t Vectors, class Load>
  HWY_INLINE void of_columns(const float* group, const Load& load, V32 (&shift)[Vectors],
                             V32 (&scale)[Vectors]) const {
    const F32 d;
    const V32 one = hn::Set(d, 1.0F);
    const V32 count = hn::Set(d, count_);
    const V32 eps = hn::Set(d, static_cast<float>(params_.eps));
    V32 means[Vectors];
    reduce_columns(Adding(), plan_, group, means, load);
    for (std::size_t v = 0; v < Vectors; ++v) {
      means[v] = hn::Div(means[v], count);
      shift[v] = means[v];
      scale[v] = one;
    }
    if (!params_.normalize_variance) return;
    V32 sum[Vectors];
    reduce_columns(AddingSquaredDeviations(means), plan_, group, sum, load);
    const bool inside = params_.eps_mode == MvnEps::inside_sqrt;
    for (std::size_t v = 0; v < Vectors; ++v) {
      const V32 variance = hn::Div(sum[v], count);
      const V32 divisor = inside ? hn::Sqrt(hn::Add(variance, eps)) : hn::Add(hn::Sqrt(variance), eps);
      scale[v] = hn::Div(one, divisor);
    }
  }

 private:
  const AxesPlan& plan_;
  MvnParams params_;
  float count_;
};

class NormStatistics {
 public:
  NormStatistics(const AxesPlan& plan, double eps, NormEps eps_mode)
      : plan_(plan), eps_(eps), eps_mode_(eps_mode) {}

  HWY_INLINE ShiftScale of_group(const auto& fold) const {
    const auto sum = static_cast<double>(fold(AddingSquares()));
    const double square = eps_mode_ == NormEps::add ? sum + eps_ : std::max(sum, eps_);
    return {0.0F, static_cast<float>(1.0 / std::sqrt(square))};
  }

  template <std::size_t Vectors, class Load>
  HWY_INLINE void of_columns(const float* group, const Load& load, V32 (&shift)[Vectors],
                             V32 (&scale)[Vectors]) const {
    const F32 d;
    const V32 eps = hn::Set(d, static_cast<float>(eps_));
    V32 sum[Vectors];
    reduce_columns(AddingSquares(), plan_, group, sum, load);
    for (std::size_t v = 0; v < Vectors; ++v) {
      const V32 square = eps_mode_ == NormEps::add ? hn::Add(sum[v], eps) : at_least(eps, sum[v]);
      shift[v] = hn::Zero(d);
      scale[v] = hn::Div(hn::Set(d, 1.0F), hn::Sqrt(square));
    }
  }

 private:
  const AxesPlan& plan_;
  double eps_;
  NormEps eps_mode_;
};

HWY_INLINE void apply(const ShiftScale& found, const float* in, float* out, std::size_t count) {
  const F32 d;
  const V32 shift = hn::Set(d, found.shift);
  const V32 scale = hn::Set(d, found.scale);
  map_unary(d, in, out, count, [&](V32 x) HWY_ATTR { return hn::Mul(hn::Sub(x, shift), scale); });
}

/// One group of contiguous columns.
template <class Statistics>
HWY_INLINE void normalize_group(const Statistics& statistics, const AxesPlan& plan, const float* in,
                                float* out) {
  const ShiftScale found =
      statistics.of_group([&](const auto& op) HWY_ATTR { return reduce_group(op, plan, in); });
  for (std::size_t block = 0; block < plan.blocks(); ++block) {
    const std::size_t offset = plan.block_offset(block);
    apply(found, in + offset, out + offset, plan.length());
  }
}

/// One group that lies in one piece, by all threads.
void normalize_shared_group(const MvnStatistics& statistics, const float* in, float* out,
                            std::size_t length) {
  const ShiftScale found =
      statistics.of_group([&](const auto& op) HWY_ATTR { return add_shared_run(op, in, length); });
  parallel_for(length, shared_piece(length), [&](std::size_t begin, std::size_t end) HWY_ATTR {
    apply(found, in + begin, out + begin, end - begin);
  });
}

/// `Vectors` vectors of adjacent columns.
template <std::size_t Vectors, class Statistics, class Load, class Store>
HWY_INLINE void normalize_columns(const Statistics& statistics, const AxesPlan& plan, const float* in,
                                  float* out, const Load& load, const Store& store) {
  V32 shift[Vectors];
  V32 scale[Vectors];
  statistics.of_columns(in, load, shift, scale);
  for (std::size_t block = 0; block < plan.blocks(); ++block) {
    std::size_t offset = plan.block_offset(block);
    for (std::size_t i = 0; i < plan.length(); ++i, offset += plan.step()) {
      for (std::size_t v = 0; v < Vectors; ++v) {
        store(hn::Mul(hn::Sub(load(in + offset, v), shift[v]), scale[v]), out + offset, v);
      }
    }
  }
}

constexpr std::size_t kColumns = 64;

/// Columns [begin, end) of one group.
template <class Statistics>
void normalize_group_columns(const Statistics& statistics, const AxesPlan& plan, const float* in, float* out,
                             std::size_t begin, std::size_t end) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto load = [&](const float* p, std::size_t v) HWY_ATTR { return hn::LoadU(d, p + v * lanes); };
  const auto store = [&](V32 x, float* p, std::size_t v) HWY_ATTR { hn::StoreU(x, d, p + v * lanes); };
  std::size_t j = begin;
  for (; j + 4 * lanes <= end; j += 4 * lanes)
    normalize_columns<4>(statistics, plan, in + j, out + j, load, store);
  for (; j + lanes <= end; j += lanes) normalize_columns<1>(statistics, plan, in + j, out + j, load, store);
  if (j < end) {
    const std::size_t width = end - j;
    normalize_columns<1>(
        statistics, plan, in + j, out + j,
        [&](const float* p, std::size_t) HWY_ATTR { return load_n(d, p, width); },
        [&](V32 x, float* p, std::size_t) HWY_ATTR { store_n(x, d, p, width); });
  }
}

template <class Statistics>
void normalize(const Statistics& statistics, const AxesPlan& plan, const float* in, float* out) {
  if (plan.inner() == 1) {
    parallel_for(plan.outer(), grain_for_cost(plan.reduced_count()),
                 [&](std::size_t begin, std::size_t end) HWY_ATTR {
                   for (std::size_t group = begin; group < end; ++group) {
                     const std::size_t offset = plan.group_offset(group);
                     normalize_group(statistics, plan, in + offset, out + offset);
                   }
                 });
    return;
  }
  const std::size_t pieces = (plan.inner() - 1) / kColumns + 1;
  const std::size_t cost = plan.reduced_count() * HWY_MIN(kColumns, plan.inner());
  parallel_for(plan.outer() * pieces, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) HWY_ATTR {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t offset = plan.group_offset(index / pieces);
      const std::size_t first = index % pieces * kColumns;
      normalize_group_columns(statistics, plan, in + offset, out + offset, first,
                              HWY_MIN(plan.inner(), first + kColumns));
    }
  });
}

void Mvn(const AxesPlan& plan, const MvnParams& params, const float* in, float* out) {
  const MvnStatistics statistics(plan, params);
  const bool lie_in_one_piece = plan.inner() == 1 && plan.blocks() == 1;
  if (!lie_in_one_piece || !are_shared(plan.outer(), plan.length()))
    return normalize(statistics, plan, in, out);
  for (std::size_t group = 0; group < plan.outer(); ++group) {
    const std::size_t offset = plan.group_offset(group);
    normalize_shared_group(statistics, in + offset, out + offset, plan.length());
  }
}

void NormalizeL2(const AxesPlan& plan, double eps, NormEps eps_mode, const float* in, float* out) {
  normalize(NormStatistics(plan, eps, eps_mode), plan, in, out);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(Mvn);
HWY_EXPORT(NormalizeL2);

void mvn(const AxesPlan& plan, const MvnParams& params, const float* in, float* out) {
  if (plan.input_count() != 0) HWY_DYNAMIC_DISPATCH(Mvn)(plan, params, in, out);
}

void normalize_l2(const AxesPlan& plan, double eps, NormEps eps_mode, const float* in, float* out) {
  if (plan.input_count() != 0) HWY_DYNAMIC_DISPATCH(NormalizeL2)(plan, eps, eps_mode, in, out);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
