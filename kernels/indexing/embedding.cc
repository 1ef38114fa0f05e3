#include "kernels/indexing/embedding.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/base/integer_math.h"
#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

// Rows are gone through by functions of an element type, all else is the same code for all types.

/// What is done with rows of one element type, `depth` elements each.
struct RowFunctions {
  std::size_t element_bytes = 0;
  /// Adds the row, times *weight unless that is nullptr.
  void (*add)(const void* row, const void* weight, std::size_t depth, void* to) = nullptr;
  void (*divide)(std::size_t count, std::size_t depth, void* to) = nullptr;
};

template <class T>
void add_row(const void* row, const void* weight, std::size_t depth, void* to) {
  const T* __restrict const from = static_cast<const T*>(row);
  T* __restrict const sums = static_cast<T*>(to);
  if (weight == nullptr) {
    for (std::size_t i = 0; i < depth; ++i) sums[i] = add_elements(sums[i], from[i]);
    return;
  }
  const T factor = *static_cast<const T*>(weight);
  for (std::size_t i = 0; i < depth; ++i) sums[i] = add_elements(sums[i], multiply_elements(from[i], factor));
}

template <class T>
void divide_row(std::size_t count, std::size_t depth, void* to) {
  T* const sums = static_cast<T*>(to);
  for (std::size_t i = 0; i < depth; ++i) {
    // Not by a count cut to the bits of T.
    if constexpr (std::is_floating_point_v<T>) {
      sums[i] /= static_cast<T>(count);
    } else if constexpr (std::is_signed_v<T>) {
      sums[i] = static_cast<T>(sums[i] / static_cast<std::int64_t>(count));
    } else {
      sums[i] = static_cast<T>(sums[i] / std::uint64_t{count});
    }
  }
}

/// reduce_bags() on bytes.
IndexResult reduce_rows(const RowFunctions& rows, const EmbeddingTable<std::byte>& table,
                        const EmbeddingLookups<std::byte>& lookups, const Bags& bags, const BagRule& rule,
                        std::byte* out) {
  for (std::size_t i = 0; i < lookups.positions; ++i) {
    // Unlike in Gather, negative indices do not count from the end.
    const std::int64_t index = lookups.indices[i];
    if (index < 0 || static_cast<std::size_t>(index) >= table.rows) return BadIndex{i, index};
  }
  const std::size_t depth = table.depth;
  const std::size_t row_bytes = depth * rows.element_bytes;
  const std::size_t cost = (lookups.positions / std::max<std::size_t>(bags.count, 1) + 1) * depth;
  const auto reduce_bag = [&](std::size_t bag) {
    const std::size_t first = bags.first(bag);
    const std::size_t last = bags.first(bag + 1);
    std::byte* const to = out + bag * row_bytes;
    if (first == last && rule.default_row) {
      std::copy_n(table.data + *rule.default_row * row_bytes, row_bytes, to);
      return;
    }
    std::fill_n(to, row_bytes, std::byte{0});
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t position = bags.order != nullptr ? bags.order[i] : i;
      const std::byte* const weight =
          lookups.weights == nullptr ? nullptr : lookups.weights + position * rows.element_bytes;
      const auto row = static_cast<std::size_t>(lookups.indices[position]);
      rows.add(table.data + row * row_bytes, weight, depth, to);
    }
    if (rule.reduction == BagReduction::mean && first != last) rows.divide(last - first, depth, to);
  };
  parallel_for(bags.count, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t bag = begin; bag < end; ++bag) reduce_bag(bag);
  });
  return {};
}

/// Puts the larger one of each pair of elements in place of the first; NaN is the largest.
template <class T>
void keep_largest(const void* row, std::size_t depth, void* to) {
  const T* __restrict const from = static_cast<const T*>(row);
  T* __restrict const largest = static_cast<T*>(to);
  for (std::size_t i = 0; i < depth; ++i) {
    // NaN compares false: it stays, and it comes in through the second test.
    const T value = from[i];
    largest[i] = value > largest[i] || value != value ? value : largest[i];
  }
}

/// What segment_max() does with rows of one element type.
struct RowMaxima {
  std::size_t element_bytes = 0;
  void (*keep_largest)(const void* row, std::size_t depth, void* to) = nullptr;
};

/// The first row whose id is at least `segment`; ids ascend.
std::size_t first_row_of(std::size_t segment, IndexView segment_ids, std::size_t rows) {
  std::size_t low = 0;
  std::size_t high = rows;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (static_cast<std::size_t>(segment_ids[middle]) < segment) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// segment_max() on bytes; `empty`: one element of them.
IndexResult largest_rows(const RowMaxima& maxima, const SegmentShape& shape, const std::byte* data,
                         IndexView segment_ids, const std::byte* empty, std::byte* out) {
  std::int64_t previous = 0;
  for (std::size_t i = 0; i < shape.rows; ++i) {
    if (segment_ids[i] < previous) return BadIndex{i, segment_ids[i]};
    previous = segment_ids[i];
  }
  const std::size_t row_bytes = shape.depth * maxima.element_bytes;
  const auto write_segment = [&](std::size_t segment, std::size_t first, std::size_t last) {
    std::byte* const to = out + segment * row_bytes;
    if (first == last) {
      for (std::size_t i = 0; i < row_bytes; i += maxima.element_bytes)
        std::copy_n(empty, maxima.element_bytes, to + i);
      return;
    }
    std::copy_n(data + first * row_bytes, row_bytes, to);
    for (std::size_t row = first + 1; row < last; ++row)
      maxima.keep_largest(data + row * row_bytes, shape.depth, to);
  };
  const std::size_t cost = (shape.rows / std::max<std::size_t>(shape.segments, 1) + 1) * shape.depth;
  parallel_for(shape.segments, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    std::size_t first = first_row_of(begin, segment_ids, shape.rows);
    for (std::size_t segment = begin; segment < end; ++segment) {
      std::size_t last = first;
      while (last < shape.rows && static_cast<std::size_t>(segment_ids[last]) == segment) ++last;
      write_segment(segment, first, last);
      first = last;
    }
  });
  return {};
}

template <class T>
const std::byte* bytes_of(const T* values) {
  return reinterpret_cast<const std::byte*>(values);
}

}  // namespace

template <class T>
IndexResult reduce_bags(const EmbeddingTable<T>& table, const EmbeddingLookups<T>& lookups, const Bags& bags,
                        const BagRule& rule, T* out) {
  // Sums of both signs are the same bits.
  using Sum = WithoutSign<T>;
  return reduce_rows({sizeof(T), add_row<Sum>, divide_row<T>},
                     {bytes_of(table.data), table.rows, table.depth},
                     {lookups.indices, lookups.positions, bytes_of(lookups.weights)}, bags, rule,
                     reinterpret_cast<std::byte*>(out));
}

IndexResult bags_from_offsets(IndexView offsets, std::size_t count, std::size_t positions,
                              std::size_t* borders) {
  std::int64_t previous = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t offset = offsets[i];
    if (offset < previous || static_cast<std::size_t>(offset) > positions) return BadIndex{i, offset};
    borders[i] = static_cast<std::size_t>(offset);
    previous = offset;
  }
  borders[count] = positions;
  return {};
}

IndexResult bags_from_segments(IndexView segment_ids, std::size_t positions, std::size_t segments,
                               std::size_t* borders, std::size_t* order) {
  std::fill_n(borders, segments + 1, std::size_t{0});
  for (std::size_t i = 0; i < positions; ++i) {
    const std::int64_t id = segment_ids[i];
    if (id < 0 || static_cast<std::size_t>(id) >= segments) return BadIndex{i, id};
    ++borders[id];
  }
  // A counting sort: the places behind each segment, which move to its start as they are filled from behind.
  std::size_t sum = 0;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    sum += borders[segment];
    borders[segment] = sum;
  }
  borders[segments] = sum;
  for (std::size_t i = positions; i-- > 0;) order[--borders[segment_ids[i]]] = i;
  return {};
}

template <class T>
IndexResult segment_max(const SegmentShape& shape, const T* data, IndexView segment_ids, T empty, T* out) {
  return largest_rows({sizeof(T), keep_largest<T>}, shape, bytes_of(data), segment_ids, bytes_of(&empty),
                      reinterpret_cast<std::byte*>(out));
}

#define IR_INSTANTIATE(T)                                                                                \
  template IndexResult reduce_bags<T>(const EmbeddingTable<T>&, const EmbeddingLookups<T>&, const Bags&, \
                                      const BagRule&, T*);                                               \
  template IndexResult segment_max<T>(const SegmentShape&, const T*, IndexView, T, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
