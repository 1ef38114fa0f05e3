#include "kernels/reduction/cumulative_sum.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "hwy/base.h"
#include "kernels/base/integer_math.h"
#include "kernels/base/scalar_type.h"
#include "kernels/threads/function_ref.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Adjacent columns that a task sums, and how many of them are summed together: steps along the axis read
/// long stretches, whose sums stay in the first-level cache.
constexpr std::size_t kColumns = 64;
constexpr std::size_t kColumnsAtOnce = 1024;

/// Lines along the axis whose sums are kept in registers at once: chains of additions that have nothing to do
/// with each other. For as few columns that is faster than sums in memory. More lines would compete for the
/// places that the first-level cache has for addresses a power of two apart.
constexpr std::size_t kLines = 4;

/// `count` <= kColumnsAtOnce adjacent columns of `axis` rows, `step` elements apart (negative: from the end).
template <class T>
void sum_columns(const T* in, T* out, std::size_t axis, std::ptrdiff_t step, std::size_t count,
                 bool exclusive) {
  std::array<T, kColumnsAtOnce> sums;
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] = in[i];  // not 0 + -0, which would lose the sign
    out[i] = exclusive ? T{0} : sums[i];
  }
  for (std::size_t row = 1; row < axis; ++row) {
    in += step;
    out += step;
    for (std::size_t i = 0; i < count; ++i) {
      const T sum = add_elements(sums[i], in[i]);
      out[i] = exclusive ? sums[i] : sum;
      sums[i] = sum;
    }
  }
}

/// `Lines` lines along the axis, which begin at `starts`.
template <std::size_t Lines, class T>
void sum_lines(const T* in, T* out, const std::size_t* starts, std::size_t axis, std::ptrdiff_t step,
               bool exclusive) {
  std::array<const T*, Lines> from;
  std::array<T*, Lines> to;
  std::array<T, Lines> sums;
  for (std::size_t line = 0; line < Lines; ++line) {
    from[line] = in + starts[line];
    to[line] = out + starts[line];
    sums[line] = *from[line];
    *to[line] = exclusive ? T{0} : sums[line];
  }
  std::ptrdiff_t at = step;
  for (std::size_t row = 1; row < axis; ++row, at += step) {
    for (std::size_t line = 0; line < Lines; ++line) {
      const T sum = add_elements(sums[line], from[line][at]);
      to[line][at] = exclusive ? sums[line] : sum;
      sums[line] = sum;
    }
  }
}

/// Calls sum(starts, count) for groups of `count` <= kLines lines along the axis.
void for_line_groups(const CumulativeSumParams& params, std::size_t first_row,
                     FunctionRef<void(const std::size_t* starts, std::size_t count)> sum) {
  const std::size_t lines = params.outer * params.inner;
  const std::size_t groups = (lines - 1) / kLines + 1;
  parallel_for(groups, grain_for_cost(params.axis * kLines), [&](std::size_t begin, std::size_t end) {
    for (std::size_t group = begin; group < end; ++group) {
      std::array<std::size_t, kLines> starts;
      const std::size_t first = group * kLines;
      const std::size_t count = std::min(lines - first, kLines);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t outer = (first + i) / params.inner;
        starts[i] = (outer * (params.axis - 1) + first_row) * params.inner + first + i;
      }
      sum(starts.data(), count);
    }
  });
}

template <class T>
HWY_NOINLINE void sum_all(const CumulativeSumParams& params, const T* in, T* out) {
  if (params.outer == 0 || params.axis == 0 || params.inner == 0) return;
  const std::size_t blocks = (params.inner - 1) / kColumns + 1;
  const std::size_t plane = params.axis * params.inner;
  const std::size_t first_row = params.reverse ? params.axis - 1 : 0;
  const auto step =
      params.reverse ? -static_cast<std::ptrdiff_t>(params.inner) : static_cast<std::ptrdiff_t>(params.inner);
  if (params.inner <= kLines) {
    return for_line_groups(params, first_row, [&](const std::size_t* starts, std::size_t count) {
      if constexpr (std::is_floating_point_v<T>) {  // an integer addition takes no longer than its store
        if (count == kLines) return sum_lines<kLines>(in, out, starts, params.axis, step, params.exclusive);
      }
      for (std::size_t i = 0; i < count; ++i)
        sum_lines<1>(in, out, starts + i, params.axis, step, params.exclusive);
    });
  }
  const std::size_t cost = params.axis * std::min(params.inner, kColumns);
  parallel_for(params.outer * blocks, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end;) {
      const std::size_t first = task % blocks;
      const std::size_t count = std::min({blocks - first, end - task, kColumnsAtOnce / kColumns});
      const std::size_t column = first * kColumns;
      const std::size_t at = task / blocks * plane + first_row * params.inner + column;
      sum_columns(in + at, out + at, params.axis, step, std::min(count * kColumns, params.inner - column),
                  params.exclusive);
      task += count;
    }
  });
}

}  // namespace

template <class T>
void cumulative_sum(const CumulativeSumParams& params, const T* in, T* out) {
  sum_all(params, without_sign(in), without_sign(out));
}

#define IR_INSTANTIATE(T) template void cumulative_sum<T>(const CumulativeSumParams&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
