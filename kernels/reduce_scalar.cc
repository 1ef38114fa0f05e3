#include "kernels/reduce_scalar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/integer_math.h"
#include "kernels/parallel.h"

namespace ir::kernels {
namespace {

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

}  // namespace

template <class T>
void reduce_scalar(ReduceOp op, const AxesPlan& plan, const T* in, T* out) {
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

#define IR_KERNELS_INSTANTIATE(T) template void reduce_scalar<T>(ReduceOp, const AxesPlan&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

}  // namespace ir::kernels
