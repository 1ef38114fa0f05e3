#include "kernels/indexing/sorted_search.h"

#include <bit>
#include <utility>

#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Elements at the front of `sorted` for which `in_front` holds; some number when they are not all in front.
template <class T, class Predicate>
std::size_t count_in_front(std::span<const T> sorted, Predicate in_front) {
  if (sorted.empty()) return 0;
  // Halves are chosen, not jumped to: which one it will be nobody can predict.
  const T* first = sorted.data();
  for (std::size_t count = sorted.size(); count > 1;) {
    const std::size_t half = count / 2;
    const T* const upper = first + half;
    first = in_front(upper[-1]) ? upper : first;
    count -= half;
  }
  return static_cast<std::size_t>(first - sorted.data()) + (in_front(*first) ? 1 : 0);
}

std::size_t grain_for_search(std::size_t length) {
  return grain_for_cost(static_cast<std::size_t>(4 * std::bit_width(length) + 4));
}

template <class A, class B>
bool less(A a, B b) {
  if constexpr (std::is_floating_point_v<A> || std::is_floating_point_v<B>) {
    return static_cast<double>(a) < static_cast<double>(b);
  } else {
    return std::cmp_less(a, b);
  }
}

}  // namespace

template <class T>
void search_sorted(const T* sorted, std::size_t rows, std::size_t length, const T* values,
                   std::size_t values_per_row, bool right, FoundPlaces out) {
  const auto search = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::span row(sorted + i / values_per_row * length, length);
      const T value = values[i];
      out.set(i, right ? count_in_front(row, [value](T element) { return element <= value; })
                       : count_in_front(row, [value](T element) { return element < value; }));
    }
  };
  parallel_for(rows * values_per_row, grain_for_search(length), search);
}

template <class T, class B>
void bucketize(const T* values, std::size_t count, std::span<const B> boundaries, bool with_right_bound,
               FoundPlaces out) {
  const auto search = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const T value = values[i];
      out.set(i, with_right_bound
                     ? count_in_front(boundaries, [value](B boundary) { return less(boundary, value); })
                     : count_in_front(boundaries, [value](B boundary) { return !less(value, boundary); }));
    }
  };
  parallel_for(count, grain_for_search(boundaries.size()), search);
}

#define IR_INSTANTIATE_FOR(T, B) \
  template void bucketize<T, B>(const T*, std::size_t, std::span<const B>, bool, FoundPlaces);
#define IR_INSTANTIATE(T)                                                                                    \
  template void search_sorted(const T*, std::size_t, std::size_t, const T*, std::size_t, bool, FoundPlaces); \
  IR_INSTANTIATE_FOR(T, double)                                                                              \
  IR_INSTANTIATE_FOR(T, std::int64_t)                                                                        \
  IR_INSTANTIATE_FOR(T, std::uint64_t)
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE
#undef IR_INSTANTIATE_FOR

}  // namespace ir::kernels
