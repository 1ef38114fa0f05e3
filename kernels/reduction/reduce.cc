#include "kernels/reduction/reduce.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/reduce.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/reduction/reduce-inl.h"
#include "kernels/reduction/reduce_scalar.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// Whether groups are rows one behind the other.
inline bool has_rows(const AxesPlan& plan) {
  return plan.inner() == 1 && plan.blocks() == 1 &&
         plan.group_offset(plan.outer() - 1) == (plan.outer() - 1) * plan.length();
}

/// A vector's worth of rows or more, so short that adding up one by one would take longer.
inline bool has_short_rows(const AxesPlan& plan) {
  const std::size_t length = plan.length();
  const std::size_t lanes = hn::Lanes(F32());
  return length >= 4 && length <= 4 * (lanes - 1) && plan.outer() >= lanes && has_rows(plan);
}

/// The folds of as many rows as a vector has lanes. `length` >= 4.
template <class Op>
HWY_INLINE V32 reduce_rows(const float* rows, std::size_t length) {
  const F32 d;
  V32 total[4];
  for (V32& t : total) t = hn::Set(d, Op::kInitial);
  V32 columns[4];
  for (std::size_t i = 0; i < length; i += 4) {
    const std::size_t first = HWY_MIN(i, length - 4);
    load_transposed(d, EvenRows{rows + first, length}, columns);
    for (std::size_t k = 0; k < 4; ++k) {
      if (first + k >= i) total[k] = Op::step(total[k], columns[k]);
    }
  }
  return Op::merge(Op::merge(total[0], total[1]), Op::merge(total[2], total[3]));
}

/// Groups [begin, end) where has_short_rows (averages of the small planes that networks end with, say): a
/// vector of groups at a time, the last of which begins early.
template <class Op>
void reduce_short_rows(const AxesPlan& plan, const float* in, float* out, std::size_t begin,
                       std::size_t end) {
  const std::size_t lanes = hn::Lanes(F32());
  for (std::size_t group = begin; group < end; group += lanes) {
    const std::size_t first = HWY_MIN(group, plan.outer() - lanes);
    HWY_ALIGN float folds[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(reduce_rows<Op>(in + first * plan.length(), plan.length()), F32(), folds);
    std::copy(folds + (group - first), folds + (HWY_MIN(end, first + lanes) - first), out + group);
  }
}

/// Groups [begin, end) of a plan whose columns are contiguous.
template <class Op>
void reduce_groups(const AxesPlan& plan, const float* in, float* out, std::size_t begin, std::size_t end) {
  // Short rows would take as long as to find them.
  const bool rows = has_rows(plan);
  for (std::size_t group = begin; group < end; ++group)
    out[group] = reduce_group(Op(), plan, in + (rows ? group * plan.length() : plan.group_offset(group)));
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

/// The loops of one operation: all that is compiled for each of them.
struct ReduceLoops {
  using OverGroups = void (*)(const AxesPlan& plan, const float* in, float* out, std::size_t begin,
                              std::size_t end);
  using OverColumns = void (*)(const AxesPlan& plan, const float* group, const float* in_end, float* out,
                               std::size_t begin, std::size_t end);
  OverGroups short_rows;
  OverGroups groups;
  OverColumns group_columns;
};

template <class Op>
constexpr ReduceLoops make_loops() {
  return {reduce_short_rows<Op>, reduce_groups<Op>, reduce_group_columns<Op>};
}

void reduce_columns_of_groups(const ReduceLoops& loops, const AxesPlan& plan, const float* in, float* out) {
  constexpr std::size_t kColumns = 64;
  const std::size_t pieces = (plan.inner() - 1) / kColumns + 1;
  const std::size_t cost = plan.reduced_count() * HWY_MIN(kColumns, plan.inner()) / 4;
  parallel_for(plan.outer() * pieces, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t group = index / pieces;
      const std::size_t first = index % pieces * kColumns;
      loops.group_columns(plan, in + plan.group_offset(group), in + plan.input_count(),
                          out + group * plan.inner(), first, HWY_MIN(plan.inner(), first + kColumns));
    }
  });
}

void reduce_f32(const ReduceLoops& loops, const AxesPlan& plan, const float* in, float* out) {
  const auto over_groups = [&](ReduceLoops::OverGroups reduce, std::size_t cost) {
    parallel_for(plan.outer(), grain_for_cost(cost),
                 [&](std::size_t begin, std::size_t end) { reduce(plan, in, out, begin, end); });
  };
  if (has_short_rows(plan)) return over_groups(loops.short_rows, plan.length());
  if (plan.inner() == 1) return over_groups(loops.groups, plan.reduced_count());
  reduce_columns_of_groups(loops, plan, in, out);
}

/// Null where there are none.
const ReduceLoops* loops_of(ReduceOp op) {
  static constexpr ReduceLoops kAdding = make_loops<Adding>();
  static constexpr ReduceLoops kAddingMagnitudes = make_loops<AddingMagnitudes>();
  static constexpr ReduceLoops kAddingSquares = make_loops<AddingSquares>();
  static constexpr ReduceLoops kMultiplying = make_loops<Multiplying>();
  static constexpr ReduceLoops kLargest = make_loops<Largest>();
  static constexpr ReduceLoops kSmallest = make_loops<Smallest>();
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return &kAdding;
    case ReduceOp::l1:
      return &kAddingMagnitudes;
    case ReduceOp::l2:
      return &kAddingSquares;
    case ReduceOp::prod:
      return &kMultiplying;
    case ReduceOp::max:
      return &kLargest;
    case ReduceOp::min:
      return &kSmallest;
    default:
      return nullptr;
  }
}

/// Writes the accumulated values (for mean and l2: before the last step) and returns true, or returns false.
bool ReduceF32(ReduceOp op, const AxesPlan& plan, const float* in, float* out) {
  const ReduceLoops* const loops = loops_of(op);
  if (loops == nullptr) return false;
  reduce_f32(*loops, plan, in, out);
  return true;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {
namespace {

HWY_EXPORT(ReduceF32);

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
  reduce_scalar(op, plan, in, out);
}

#define IR_KERNELS_INSTANTIATE(T) template void reduce<T>(ReduceOp, const AxesPlan&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

}  // namespace ir::kernels
#endif  // HWY_ONCE
