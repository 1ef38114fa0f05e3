#include "kernels/indexing/unique.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "kernels/base/ascending_key.h"
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
std::vector<std::size_t> ascending_order(std::size_t count, Comparison ascending) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), ascending);
  return order;
}

struct KeyedElement {
  std::uint64_t key;
  std::size_t position;
};

/// Sorting by bytes has counters to clear and to add up, which fewer elements than these do not pay for.
constexpr std::size_t kFewestForBytes = 512;

/// The positions of elements by their keys, those of equal keys as they stand: sorted byte by byte, the
/// lowest first, without those that are the same in all keys.
std::vector<std::size_t> ascending_order(std::vector<KeyedElement> elements) {
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  constexpr std::size_t kValues = 256;
  const auto byte_of = [](std::uint64_t key, std::size_t byte) { return key >> (8 * byte) & (kValues - 1); };
  std::uint64_t differences = 0;
  for (const KeyedElement& element : elements) differences |= element.key ^ elements.front().key;
  std::vector<KeyedElement> sorted(elements.size());
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    if (byte_of(differences, byte) == 0) continue;
    std::array<std::size_t, kValues> places{};
    for (const KeyedElement& element : elements) ++places[byte_of(element.key, byte)];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), std::size_t{0});
    for (const KeyedElement& element : elements) sorted[places[byte_of(element.key, byte)]++] = element;
    elements.swap(sorted);
  }
  std::vector<std::size_t> order;
  order.reserve(elements.size());
  for (const KeyedElement& element : elements) order.push_back(element.position);
  return order;
}

template <class T>
std::vector<KeyedElement> keyed(std::span<const T> in) {
  std::vector<KeyedElement> elements;
  elements.reserve(in.size());
  for (const T value : in) elements.push_back({ascending_key(value), elements.size()});
  return elements;
}

DistinctSlices find_distinct(const std::vector<std::size_t>& order, bool sorted, Comparison equal) {
  DistinctSlices distinct;
  distinct.matches.resize(order.size());
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
  const bool by_bytes = shape.outer == 1 && shape.inner == 1 && shape.axis >= kFewestForBytes;
  const std::vector<std::size_t> order =
      by_bytes
          ? ascending_order(keyed(std::span(in, shape.axis)))
          : ascending_order(shape.axis, [&](std::size_t a, std::size_t b) { return slices.ascending(a, b); });
  return find_distinct(order, sorted, [&](std::size_t a, std::size_t b) { return slices.equal(a, b); });
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
