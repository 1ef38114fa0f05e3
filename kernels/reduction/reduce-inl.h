// Folding the reduced elements of an AxesPlan: the loops of Reduce* and of the normalisations' statistics.
// Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_REDUCTION_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_REDUCTION_REDUCE_INL_H_
#undef KERNELS_REDUCTION_REDUCE_INL_H_
#else
#define KERNELS_REDUCTION_REDUCE_INL_H_
#endif

#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/base/axes.h"
#include "kernels/base/simd-inl.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

// What a reduction does: `step` takes an element in (of the v-th vector of columns), `merge` joins two
// accumulators, `lanes` joins those of a vector.
struct Adding {
  static constexpr float kInitial = 0.0F;
  static HWY_INLINE V32 step(V32 sum, V32 x, std::size_t /*v*/ = 0) { return hn::Add(sum, x); }
  static HWY_INLINE V32 merge(V32 a, V32 b) { return hn::Add(a, b); }
  static HWY_INLINE float lanes(V32 v) { return hn::GetLane(hn::SumOfLanes(F32(), v)); }
};
struct AddingMagnitudes : Adding {
  static HWY_INLINE V32 step(V32 sum, V32 x, std::size_t /*v*/ = 0) { return hn::Add(sum, hn::Abs(x)); }
};
struct AddingSquares : Adding {
  static HWY_INLINE V32 step(V32 sum, V32 x, std::size_t /*v*/ = 0) { return hn::MulAdd(x, x, sum); }
};
class AddingSquaredDeviations : public Adding {
 public:
  /// From `means`: one for each vector of columns.
  explicit HWY_INLINE AddingSquaredDeviations(const V32* means) : means_(means) {}
  HWY_INLINE V32 step(V32 sum, V32 x, std::size_t v = 0) const {
    const V32 deviation = hn::Sub(x, means_[v]);
    return hn::MulAdd(deviation, deviation, sum);
  }

 private:
  const V32* means_;
};
struct Multiplying {
  static constexpr float kInitial = 1.0F;
  static HWY_INLINE V32 step(V32 product, V32 x, std::size_t /*v*/ = 0) { return hn::Mul(product, x); }
  static HWY_INLINE V32 merge(V32 a, V32 b) { return hn::Mul(a, b); }
  static HWY_INLINE float lanes(V32 v) {
    HWY_ALIGN float values[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, F32(), values);
    float product = 1.0F;
    for (std::size_t i = 0; i < hn::Lanes(F32()); ++i) product *= values[i];
    return product;
  }
};
/// Passes over NaN.
struct Largest {
  static constexpr float kInitial = -std::numeric_limits<float>::infinity();
  static HWY_INLINE V32 step(V32 a, V32 x, std::size_t /*v*/ = 0) {
    return hn::IfThenElse(hn::Lt(a, x), x, a);
  }
  static HWY_INLINE V32 merge(V32 a, V32 b) { return hn::Max(a, b); }
  static HWY_INLINE float lanes(V32 v) { return hn::GetLane(hn::MaxOfLanes(F32(), v)); }
};
struct Smallest {
  static constexpr float kInitial = std::numeric_limits<float>::infinity();
  static HWY_INLINE V32 step(V32 a, V32 x, std::size_t /*v*/ = 0) {
    return hn::IfThenElse(hn::Lt(x, a), x, a);
  }
  static HWY_INLINE V32 merge(V32 a, V32 b) { return hn::Min(a, b); }
  static HWY_INLINE float lanes(V32 v) { return hn::GetLane(hn::MinOfLanes(F32(), v)); }
};

/// Steps after which an accumulator is merged into the next level, of three: bounds the error of long sums.
constexpr std::size_t kStepsPerMerge = 64;

/// Contiguous columns, not more than kStepsPerMerge^2 vectors times four.
template <class Op>
HWY_INLINE V32 reduce_piece(const Op& op, const float* in, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const V32 initial = hn::Set(d, Op::kInitial);
  V32 total = initial;
  std::size_t i = 0;
  while (i + lanes <= count) {
    V32 a0 = initial;
    V32 a1 = initial;
    V32 a2 = initial;
    V32 a3 = initial;
    std::size_t steps = 0;
    for (; steps < kStepsPerMerge && i + 4 * lanes <= count; ++steps, i += 4 * lanes) {
      a0 = op.step(a0, hn::LoadU(d, in + i));
      a1 = op.step(a1, hn::LoadU(d, in + i + lanes));
      a2 = op.step(a2, hn::LoadU(d, in + i + 2 * lanes));
      a3 = op.step(a3, hn::LoadU(d, in + i + 3 * lanes));
    }
    if (steps < kStepsPerMerge) {
      for (; i + lanes <= count; i += lanes) a0 = op.step(a0, hn::LoadU(d, in + i));
    }
    total = Op::merge(total, Op::merge(Op::merge(a0, a1), Op::merge(a2, a3)));
  }
  if (i < count) {
    const V32 x = load_n(d, in + i, count - i);
    total = hn::IfThenElse(hn::FirstN(d, count - i), op.step(total, x), total);
  }
  return total;
}

/// Contiguous columns of any length, folded on top of `total`.
template <class Op>
HWY_INLINE V32 reduce_run(const Op& op, const float* in, std::size_t count, V32 total) {
  const std::size_t piece = kStepsPerMerge * kStepsPerMerge * 4 * hn::Lanes(F32());
  for (std::size_t i = 0; i < count; i += piece) {
    total = Op::merge(total, reduce_piece(op, in + i, HWY_MIN(piece, count - i)));
  }
  return total;
}

/// Whether so few and long runs of contiguous columns should be shared by all threads, each of them.
HWY_INLINE bool are_shared(std::size_t runs, std::size_t length) {
  constexpr std::size_t kFewRuns = 4;
  constexpr std::size_t kLongRun = std::size_t{1} << 16;
  return runs <= kFewRuns && length >= kLongRun;
}

constexpr std::size_t kMostSharedPieces = 64;

/// What is folded together of a run that is shared: the same for any number of threads.
HWY_INLINE std::size_t shared_piece(std::size_t length) {
  constexpr std::size_t kLeastPiece = 8192;
  return HWY_MAX(kLeastPiece, (length - 1) / kMostSharedPieces + 1);
}

/// The sum of contiguous columns, by all threads.
template <class Op>
HWY_NOINLINE float add_shared_run(const Op& op, const float* in, std::size_t length) {
  const std::size_t piece = shared_piece(length);
  float sums[kMostSharedPieces] = {};
  parallel_for(length, piece, [&](std::size_t begin, std::size_t end) HWY_ATTR {
    sums[begin / piece] = Op::lanes(reduce_run(op, in + begin, end - begin, hn::Zero(F32())));
  });
  float sum = 0.0F;
  for (const float part : sums) sum += part;
  return sum;
}

/// The fold of a whole group whose columns are contiguous.
template <class Op>
HWY_INLINE float reduce_group(const Op& op, const AxesPlan& plan, const float* group) {
  V32 total = hn::Set(F32(), Op::kInitial);
  for (std::size_t block = 0; block < plan.blocks(); ++block) {
    const float* const run = block == 0 ? group : group + plan.block_offset(block);
    total = reduce_run(op, run, plan.length(), total);
  }
  return Op::lanes(total);
}

/// Columns across rows of memory: `Vectors` vectors of adjacent columns at a time; `load(p, v)` reads the
/// v-th.
template <class Op, std::size_t Vectors, class Load>
HWY_INLINE void reduce_columns(const Op& op, const AxesPlan& plan, const float* group, V32 (&total)[Vectors],
                               const Load& load) {
  const F32 d;
  for (V32& t : total) t = hn::Set(d, Op::kInitial);
  for (std::size_t block = 0; block < plan.blocks(); ++block) {
    const float* row = group + plan.block_offset(block);
    for (std::size_t done = 0; done < plan.length();) {
      const std::size_t piece_end = HWY_MIN(plan.length(), done + kStepsPerMerge * kStepsPerMerge);
      V32 piece[Vectors];
      for (V32& p : piece) p = hn::Set(d, Op::kInitial);
      while (done < piece_end) {
        const std::size_t end = HWY_MIN(piece_end, done + kStepsPerMerge);
        V32 sum[Vectors];
        for (V32& s : sum) s = hn::Set(d, Op::kInitial);
        for (; done < end; ++done, row += plan.step()) {
          for (std::size_t v = 0; v < Vectors; ++v) sum[v] = op.step(sum[v], load(row, v), v);
        }
        for (std::size_t v = 0; v < Vectors; ++v) piece[v] = Op::merge(piece[v], sum[v]);
      }
      for (std::size_t v = 0; v < Vectors; ++v) total[v] = Op::merge(total[v], piece[v]);
    }
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_REDUCTION_REDUCE_INL_H_
