// Binary search of many values: SearchSorted and Bucketize.
#ifndef KERNELS_INDEXING_SORTED_SEARCH_H_
#define KERNELS_INDEXING_SORTED_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace ir::kernels {

/// Where numbers of elements go: i32 or i64.
class FoundPlaces {
 public:
  FoundPlaces(std::int32_t* places) : narrow_(places) {}  // NOLINT(google-explicit-constructor)
  FoundPlaces(std::int64_t* places) : wide_(places) {}    // NOLINT(google-explicit-constructor)
  void set(std::size_t index, std::size_t place) const {
    if (wide_ != nullptr) {
      wide_[index] = static_cast<std::int64_t>(place);
    } else {
      narrow_[index] = static_cast<std::int32_t>(place);
    }
  }

 private:
  std::int32_t* narrow_ = nullptr;
  std::int64_t* wide_ = nullptr;
};

/// SearchSorted-15: `sorted` is [rows, length], `values` and `out` are [rows, values_per_row]. out becomes
/// the number of elements of the row that are below the value or, with `right`, not above it; 0 for NaN. Rows
/// that do not ascend give some number up to length. Parallel over values. T: float, double, (u)int8_t ..
/// (u)int64_t.
template <class T>
void search_sorted(const T* sorted, std::size_t rows, std::size_t length, const T* values,
                   std::size_t values_per_row, bool right, FoundPlaces out);

/// The type that boundaries of type B are searched in, so that not every pair of types needs a kernel.
template <class B>
using WideBoundary = std::conditional_t<std::is_floating_point_v<B>, double,
                                        std::conditional_t<std::is_signed_v<B>, std::int64_t, std::uint64_t>>;

/// Bucketize-3: out becomes the number of boundaries that are below the value (`with_right_bound`: a value
/// that equals a boundary belongs to the bucket below it) or not above it. Integers of any signs compare by
/// value; where one of both is real, both compare as double. NaN: 0 with right bound, else all. Parallel over
/// values. T: float, double, (u)int8_t .. (u)int64_t; B: double, int64_t, uint64_t.
template <class T, class B>
void bucketize(const T* values, std::size_t count, std::span<const B> boundaries, bool with_right_bound,
               FoundPlaces out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_SORTED_SEARCH_H_
