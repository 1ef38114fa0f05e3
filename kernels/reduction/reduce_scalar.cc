#include "kernels/reduction/reduce_scalar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/base/integer_math.h"
#include "kernels/threads/function_ref.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// In what elements are folded: few types, of which there is one loop per function.
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double,
                                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

/// Adjacent elements that are folded together, or that are folded of a row at a time.
constexpr std::size_t kBlock = 64;

template <class A>
using Block = std::array<A, kBlock>;

/// A tensor of any type, seen as accumulators.
template <class A>
struct Elements {
  const void* data;
  /// Elements [first, first + count), at most kBlock.
  void (*load)(const void* data, std::size_t first, std::size_t count, A* to);
};

template <class T>
Elements<Accumulator<T>> elements_of(const T* in) {
  return {in, [](const void* data, std::size_t first, std::size_t count, Accumulator<T>* to) {
            const T* from = static_cast<const T*>(data) + first;
            for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Accumulator<T>>(from[i]);
          }};
}

/// Takes `count` folded groups, the first of which belongs at `position` of the outputs.
template <class A>
using Finish = FunctionRef<void(std::size_t position, const A* folded, std::size_t count)>;

/// Folds `combine` of `map` of elements, from `initial` on. What runs along memory is folded in kLanes parts.
template <class A, class Map, class Combine>
void fold(const AxesPlan& plan, const Elements<A>& in, A initial, Finish<A> finish, Map map,
          Combine combine) {
  constexpr std::size_t kLanes = 8;
  const bool along_memory = plan.inner() == 1;
  const std::size_t pieces = (plan.inner() - 1) / kBlock + 1;
  const std::size_t cost = plan.reduced_count() * std::min(kBlock, plan.inner());
  parallel_for(plan.outer() * pieces, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    Block<A> elements;
    Block<A> folded;
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t group = index / pieces;
      const std::size_t first = index % pieces * kBlock;
      const std::size_t width = std::min(kBlock, plan.inner() - first);
      const std::size_t from = plan.group_offset(group) + first;
      folded.fill(initial);
      const auto add = [&](std::size_t at, std::size_t count, auto lanes) {
        in.load(in.data, at, count, elements.data());
        for (std::size_t i = 0; i < count; i += lanes) {
          for (std::size_t lane = 0; lane < lanes; ++lane)
            folded[lane] = combine(folded[lane], map(elements[i + lane]));
        }
      };
      for (std::size_t block = 0; block < plan.blocks(); ++block) {
        const std::size_t start = from + plan.block_offset(block);
        if (along_memory) {
          const std::size_t whole = plan.length() / kLanes * kLanes;
          for (std::size_t i = 0; i < whole; i += kBlock)
            add(start + i, std::min(kBlock, whole - i), std::integral_constant<std::size_t, kLanes>());
          if (whole < plan.length()) add(start + whole, plan.length() - whole, std::size_t{1});
        } else {
          for (std::size_t i = 0; i < plan.length(); ++i) add(start + i * plan.step(), width, width);
        }
      }
      for (std::size_t lane = 1; along_memory && lane < kLanes; ++lane)
        folded[0] = combine(folded[0], folded[lane]);
      finish(group * plan.inner() + first, folded.data(), width);
    }
  });
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

/// The sum, in mean and l2: before the last step.
template <class A>
void fold(ReduceOp op, const AxesPlan& plan, const Elements<A>& in, A initial, Finish<A> finish) {
  const auto with = [&](auto map, auto combine) { fold(plan, in, initial, finish, map, combine); };
  // Functions by name would be called through pointers.
  const auto same = [](A x) { return x; };
  const auto sum = [](A a, A x) { return add_elements(a, x); };
  const auto product = [](A a, A x) { return multiply_elements(a, x); };
  const auto truth = [](A x) { return static_cast<A>(x != 0); };
  const auto larger = [](A a, A x) { return x > a ? x : a; };
  const auto smaller = [](A a, A x) { return x < a ? x : a; };
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return with(same, sum);
    case ReduceOp::l1:
      return with([](A x) { return magnitude(x); }, sum);
    case ReduceOp::l2:
      return with([](A x) { return multiply_elements(x, x); }, sum);
    case ReduceOp::prod:
      return with(same, product);
    case ReduceOp::max:
      return with(same, larger);
    case ReduceOp::min:
      return with(same, smaller);
    case ReduceOp::logical_and:
      return with(truth, smaller);
    case ReduceOp::logical_or:
      return with(truth, larger);
  }
}

/// The largest value of T: infinity, if there is one.
template <class T>
constexpr T largest() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}
template <class T>
constexpr T smallest() {
  return std::is_floating_point_v<T> ? -largest<T>() : std::numeric_limits<T>::lowest();
}

/// What the fold of nothing gives.
template <class T>
Accumulator<T> initial_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod:
    case ReduceOp::logical_and:
      return 1;
    case ReduceOp::max:
      return smallest<T>();
    case ReduceOp::min:
      return largest<T>();
    default:
      return 0;
  }
}

/// The mean of `count` elements.
template <class A>
A mean_of(A sum, std::size_t count) {
  if constexpr (std::is_integral_v<A>) {
    return count == 0 ? A{0} : static_cast<A>(sum / static_cast<A>(count));
  } else {
    return sum / static_cast<A>(count);
  }
}

template <class T>
T root_of(Accumulator<T> sum) {
  if constexpr (std::is_integral_v<T>) {
    // A sum of squares is not negative: when it wraps, it is meant unsigned.
    return saturating_truncate<T>(
        std::round(std::sqrt(static_cast<double>(static_cast<std::uint64_t>(sum)))));
  } else {
    return static_cast<T>(std::sqrt(sum));
  }
}

}  // namespace

template <class T>
void reduce_scalar(ReduceOp op, const AxesPlan& plan, const T* in, T* out) {
  using A = Accumulator<T>;
  const auto finish = [&](std::size_t position, const A* folded, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      out[position + i] =
          op == ReduceOp::l2
              ? root_of<T>(folded[i])
              : static_cast<T>(op == ReduceOp::mean ? mean_of(folded[i], plan.reduced_count()) : folded[i]);
    }
  };
  fold<A>(op, plan, elements_of(in), initial_of<T>(op), finish);
}

#define IR_KERNELS_INSTANTIATE(T) template void reduce_scalar<T>(ReduceOp, const AxesPlan&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

}  // namespace ir::kernels
