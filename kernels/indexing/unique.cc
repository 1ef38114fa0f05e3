#include "kernels/indexing/unique.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "kernels/base/scalar_type.h"
#include "kernels/threads/function_ref.h"

namespace ir::kernels {
namespace {

/// A strict weak order also where there is NaN, which comes last.
template <class T>
bool comes_before(T a, T b) {
  return a < b || (a == a && b != b);
}

/// Nothing bounds the number of empty rows.
std::size_t rows_with_elements(const SlicedShape& shape) { return shape.inner == 0 ? 0 : shape.outer; }

template <class T>
class Slices {
 public:
  Slices(const T* in, const SlicedShape& shape) : in_(in), shape_(shape), rows_(rows_with_elements(shape)) {}

  [[nodiscard]] bool ascending(std::size_t a, std::size_t b) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      const T* first = at(row, a);
      const T* second = at(row, b);
      for (std::size_t i = 0; i < shape_.inner; ++i) {
        if (comes_before(first[i], second[i])) return true;
        if (comes_before(second[i], first[i])) return false;
      }
    }
    return false;
  }

  [[nodiscard]] bool equal(std::size_t a, std::size_t b) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      if (!std::equal(at(row, a), at(row, a) + shape_.inner, at(row, b))) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] const T* at(std::size_t row, std::size_t slice) const {
    return in_ + (row * shape_.axis + slice) * shape_.inner;
  }

  const T* in_;
  SlicedShape shape_;
  std::size_t rows_;
};

/// Puts the distinct slices into the order of their first occurrence.
void order_by_occurrence(DistinctSlices& distinct) {
  std::vector<std::size_t> order(distinct.firsts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return distinct.firsts[i]; });
  std::vector<std::size_t> places(order.size());
  DistinctSlices ordered;
  for (const std::size_t i : order) {
    places[i] = ordered.firsts.size();
    ordered.firsts.push_back(distinct.firsts[i]);
    ordered.counts.push_back(distinct.counts[i]);
  }
  for (const std::size_t match : distinct.matches) ordered.matches.push_back(places[match]);
  distinct = std::move(ordered);
}

using Comparison = FunctionRef<bool(std::size_t a, std::size_t b)>;

/// One sort serves all element types.
DistinctSlices find_distinct(std::size_t count, bool sorted, Comparison ascending, Comparison equal) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), ascending);
  DistinctSlices distinct;
  distinct.matches.resize(count);
  for (const std::size_t slice : order) {
    if (distinct.firsts.empty() || !equal(distinct.firsts.back(), slice)) {
      distinct.firsts.push_back(slice);
      distinct.counts.push_back(0);
    }
    ++distinct.counts.back();
    distinct.matches[slice] = distinct.firsts.size() - 1;
  }
  if (!sorted) order_by_occurrence(distinct);
  return distinct;
}

void copy_bytes(const std::byte* in, const SlicedShape& shape, std::size_t slice_bytes,
                std::span<const std::size_t> positions, std::byte* out) {
  for (std::size_t row = 0; row < rows_with_elements(shape); ++row) {
    for (const std::size_t position : positions)
      out = std::copy_n(in + (row * shape.axis + position) * slice_bytes, slice_bytes, out);
  }
}

}  // namespace

template <class T>
DistinctSlices find_distinct_slices(const T* in, const SlicedShape& shape, bool sorted) {
  const Slices<T> slices(in, shape);
  return find_distinct(
      shape.axis, sorted, [&](std::size_t a, std::size_t b) { return slices.ascending(a, b); },
      [&](std::size_t a, std::size_t b) { return slices.equal(a, b); });
}

template <class T>
void copy_slices(const T* in, const SlicedShape& shape, std::span<const std::size_t> positions, T* out) {
  copy_bytes(reinterpret_cast<const std::byte*>(in), shape, shape.inner * sizeof(T), positions,
             reinterpret_cast<std::byte*>(out));
}

#define IR_INSTANTIATE(T)                                                              \
  template DistinctSlices find_distinct_slices<T>(const T*, const SlicedShape&, bool); \
  template void copy_slices<T>(const T*, const SlicedShape&, std::span<const std::size_t>, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
