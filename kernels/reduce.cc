#include "kernels/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/parallel.h"
#include "kernels/reduce-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// Groups [begin, end) of a plan whose columns are contiguous.
template <class Op>
void reduce_groups(const AxesPlan& plan, const float* in, float* out, std::size_t begin, std::size_t end) {
  for (std::size_t group = begin; group < end; ++group) {
    out[group] = reduce_group(Op(), plan, in + plan.group_offset(group));
  }
}

/// Columns [begin, end) of one group; `in_end` is where the tensor ends.
template <class Op>
void reduce_group_columns(const AxesPlan& plan, const float* group, const float* in_end, float* out,
                          std::size_t begin, std::size_t end) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = begin;
  for (; j + 4 * lanes <= end; j += 4 * lanes) {
    V32 total[4];
    reduce_columns(Op(), plan, group + j, total,
                   [&](const float* p, std::size_t v) HWY_ATTR { return hn::LoadU(d, p + v * lanes); });
    for (std::size_t v = 0; v < 4; ++v) hn::StoreU(total[v], d, out + j + v * lanes);
  }
  for (; j < end; j += lanes) {
    const std::size_t width = HWY_MIN(lanes, end - j);
    V32 total[1];
    if (width == lanes) {
      reduce_columns(Op(), plan, group + j, total,
                     [&](const float* p, std::size_t) HWY_ATTR { return hn::LoadU(d, p); });
    } else {
      // Spare lanes may hold anything: reading on within the tensor is much faster than load_n.
      const auto load = [&](const float* p, std::size_t) HWY_ATTR {
        return static_cast<std::size_t>(in_end - p) >= lanes ? hn::LoadU(d, p) : load_n(d, p, width);
      };
      reduce_columns(Op(), plan, group + j, total, load);
    }
    store_n(total[0], d, out + j, width);
  }
}

template <class Op>
void reduce_f32(const AxesPlan& plan, const float* in, float* out) {
  if (plan.inner() == 1) {
    parallel_for(plan.outer(), grain_for_cost(plan.reduced_count()),
                 [&](std::size_t begin, std::size_t end)
                     HWY_ATTR { reduce_groups<Op>(plan, in, out, begin, end); });
    return;
  }
  constexpr std::size_t kColumns = 64;
  const std::size_t pieces = (plan.inner() - 1) / kColumns + 1;
  const std::size_t cost = plan.reduced_count() * HWY_MIN(kColumns, plan.inner()) / 4;
  parallel_for(plan.outer() * pieces, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) HWY_ATTR {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t group = index / pieces;
      const std::size_t first = index % pieces * kColumns;
      reduce_group_columns<Op>(plan, in + plan.group_offset(group), in + plan.input_count(),
                               out + group * plan.inner(), first, HWY_MIN(plan.inner(), first + kColumns));
    }
  });
}

/// Writes the accumulated values (for mean and l2: before the last step) and returns true, or returns false.
bool ReduceF32(ReduceOp op, const AxesPlan& plan, const float* in, float* out) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      reduce_f32<Adding>(plan, in, out);
      return true;
    case ReduceOp::l1:
      reduce_f32<AddingMagnitudes>(plan, in, out);
      return true;
    case ReduceOp::l2:
      reduce_f32<AddingSquares>(plan, in, out);
      return true;
    case ReduceOp::prod:
      reduce_f32<Multiplying>(plan, in, out);
      return true;
    case ReduceOp::max:
      reduce_f32<Largest>(plan, in, out);
      return true;
    case ReduceOp::min:
      reduce_f32<Smallest>(plan, in, out);
      return true;
    default:
      return false;
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/integer_math.h"

namespace ir::kernels {
namespace {

HWY_EXPORT(ReduceF32);

template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, T,
                                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

template <class A>
A add(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return wrapping_add(a, b);
  } else {
    return a + b;
  }
}
template <class A>
A multiply(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return wrapping_multiply(a, b);
  } else {
    return a * b;
  }
}
template <class A>
A magnitude(A a) {
  if constexpr (std::is_unsigned_v<A>) {
    return a;
  } else if constexpr (std::is_integral_v<A>) {
    return wrapping_abs(a);
  } else {
    return std::abs(a);
  }
}

/// out = finish(fold of step from initial), for any type.
template <class T, class Step, class Finish>
void fold(const AxesPlan& plan, const T* in, T* out, Accumulator<T> initial, Step step, Finish finish) {
  constexpr std::size_t kColumns = 64;
  const std::size_t pieces = (plan.inner() - 1) / kColumns + 1;
  const std::size_t cost = plan.reduced_count() * std::min(kColumns, plan.inner());
  parallel_for(plan.outer() * pieces, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t group = index / pieces;
      const std::size_t first = index % pieces * kColumns;
      const std::size_t width = std::min(kColumns, plan.inner() - first);
      std::array<Accumulator<T>, kColumns> folded;
      folded.fill(initial);
      const T* from = in + plan.group_offset(group) + first;
      for (std::size_t block = 0; block < plan.blocks(); ++block) {
        const T* row = from + plan.block_offset(block);
        for (std::size_t i = 0; i < plan.length(); ++i, row += plan.step()) {
          for (std::size_t j = 0; j < width; ++j)
            folded[j] = step(folded[j], static_cast<Accumulator<T>>(row[j]));
        }
      }
      T* to = out + group * plan.inner() + first;
      for (std::size_t j = 0; j < width; ++j) to[j] = static_cast<T>(finish(folded[j]));
    }
  });
}

template <class T>
void reduce_any(ReduceOp op, const AxesPlan& plan, const T* in, T* out) {
  using A = Accumulator<T>;
  using Limits = std::numeric_limits<T>;
  A lowest = Limits::lowest();
  A highest = Limits::max();
  if constexpr (Limits::has_infinity) {
    lowest = -Limits::infinity();
    highest = Limits::infinity();
  }
  const auto same = [](A a) { return a; };
  switch (op) {
    case ReduceOp::sum:
      return fold(plan, in, out, A{0}, add<A>, same);
    case ReduceOp::l1:
      return fold(
          plan, in, out, A{0}, [](A a, A x) { return add(a, magnitude(x)); }, same);
    case ReduceOp::l2:
      return fold(
          plan, in, out, A{0}, [](A a, A x) { return add(a, multiply(x, x)); },
          [](A a) {
            // A sum of squares is not negative: when it wraps, it is meant unsigned.
            if constexpr (std::is_integral_v<A>) {
              return saturating_truncate<T>(
                  std::round(std::sqrt(static_cast<double>(static_cast<std::uint64_t>(a)))));
            } else {
              return std::sqrt(a);
            }
          });
    case ReduceOp::mean: {
      const std::size_t count = plan.reduced_count();
      return fold(plan, in, out, A{0}, add<A>, [count](A a) {
        if constexpr (std::is_integral_v<A>) {
          return count == 0 ? A{0} : static_cast<A>(a / static_cast<A>(count));
        } else {
          return a / static_cast<A>(count);
        }
      });
    }
    case ReduceOp::prod:
      return fold(plan, in, out, A{1}, multiply<A>, same);
    case ReduceOp::max:
      return fold(
          plan, in, out, lowest, [](A a, A x) { return x > a ? x : a; }, same);
    case ReduceOp::min:
      return fold(
          plan, in, out, highest, [](A a, A x) { return x < a ? x : a; }, same);
    case ReduceOp::logical_and:
      return fold(
          plan, in, out, A{1}, [](A a, A x) { return static_cast<A>(a != 0 && x != 0); }, same);
    case ReduceOp::logical_or:
      return fold(
          plan, in, out, A{0}, [](A a, A x) { return static_cast<A>(a != 0 || x != 0); }, same);
  }
}

/// What mean and l2 do after the sum.
void finish_f32(ReduceOp op, const AxesPlan& plan, float* out) {
  const auto count = static_cast<float>(plan.reduced_count());
  parallel_for(plan.output_count(), grain_for_cost(1), [&](std::size_t begin, std::size_t end) {
    if (op == ReduceOp::mean) {
      for (std::size_t i = begin; i < end; ++i) out[i] /= count;
    } else {
      for (std::size_t i = begin; i < end; ++i) out[i] = std::sqrt(out[i]);
    }
  });
}

}  // namespace

template <class T>
void reduce(ReduceOp op, const AxesPlan& plan, const T* in, T* out) {
  if (plan.output_count() == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (HWY_DYNAMIC_DISPATCH(ReduceF32)(op, plan, in, out)) {
      if (op == ReduceOp::mean || op == ReduceOp::l2) finish_f32(op, plan, out);
      return;
    }
  }
  reduce_any(op, plan, in, out);
}

#define IR_KERNELS_INSTANTIATE(T) template void reduce<T>(ReduceOp, const AxesPlan&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

}  // namespace ir::kernels
#endif  // HWY_ONCE
