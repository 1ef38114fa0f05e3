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
IndexResult reduce_rows(const RowFunctions& rows, const EmbeddingTable<std::byte>& table, IndexView indices,
                        std::size_t positions, const std::byte* weights, const Bags& bags,
                        std::optional<std::size_t> default_row, BagReduction reduction, std::byte* out) {
  for (std::size_t i = 0; i < positions; ++i) {
    // Unlike in Gather, negative indices do not count from the end.
    const std::int64_t index = indices[i];
    if (index < 0 || static_cast<std::size_t>(index) >= table.rows) return BadIndex{i, index};
  }
  const std::size_t depth = table.depth;
  const std::size_t row_bytes = depth * rows.element_bytes;
  const std::size_t cost = (positions / std::max<std::size_t>(bags.count, 1) + 1) * depth;
  parallel_for(bags.count, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t bag = begin; bag < end; ++bag) {
      const std::size_t first = bags.first(bag);
      const std::size_t last = bags.first(bag + 1);
      std::byte* const to = out + bag * row_bytes;
      if (first == last && default_row) {
        std::copy_n(table.data + *default_row * row_bytes, row_bytes, to);
        continue;
      }
      std::fill_n(to, row_bytes, std::byte{0});
      for (std::size_t i = first; i < last; ++i) {
        const std::size_t position = bags.order != nullptr ? bags.order[i] : i;
        const std::byte* const weight =
            weights == nullptr ? nullptr : weights + position * rows.element_bytes;
        rows.add(table.data + static_cast<std::size_t>(indices[position]) * row_bytes, weight, depth, to);
      }
      if (reduction == BagReduction::mean && first != last) rows.divide(last - first, depth, to);
    }
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

/// segment_max() on bytes; `empty`: one element of them.
IndexResult largest_rows(std::size_t element_bytes,
                         void (*keep_larger)(const void* row, std::size_t depth, void* to),
                         const std::byte* data, IndexView segment_ids, std::size_t rows, std::size_t depth,
                         std::size_t segments, const std::byte* empty, std::byte* out) {
  std::int64_t previous = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (segment_ids[i] < previous) return BadIndex{i, segment_ids[i]};
    previous = segment_ids[i];
  }
  // The first row whose id is at least `id`.
  const auto first_row = [&](std::size_t id) {
    std::size_t low = 0;
    std::size_t high = rows;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (static_cast<std::size_t>(segment_ids[middle]) < id) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const std::size_t row_bytes = depth * element_bytes;
  const std::size_t cost = (rows / std::max<std::size_t>(segments, 1) + 1) * depth;
  parallel_for(segments, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    std::size_t row = first_row(begin);
    for (std::size_t segment = begin; segment < end; ++segment) {
      std::byte* const to = out + segment * row_bytes;
      bool found = false;
      for (; row < rows && static_cast<std::size_t>(segment_ids[row]) == segment; ++row) {
        const std::byte* const from = data + row * row_bytes;
        if (found) {
          keep_larger(from, depth, to);
        } else {
          std::copy_n(from, row_bytes, to);
        }
        found = true;
      }
      if (found) continue;
      for (std::size_t i = 0; i < row_bytes; i += element_bytes) std::copy_n(empty, element_bytes, to + i);
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
IndexResult reduce_bags(const EmbeddingTable<T>& table, IndexView indices, std::size_t positions,
                        const T* weights, const Bags& bags, std::optional<std::size_t> default_row,
                        BagReduction reduction, T* out) {
  // Sums of both signs are the same bits.
  using Sum = std::remove_pointer_t<decltype(without_sign(out))>;
  return reduce_rows({sizeof(T), add_row<Sum>, divide_row<T>},
                     {bytes_of(table.data), table.rows, table.depth}, indices, positions, bytes_of(weights),
                     bags, default_row, reduction, reinterpret_cast<std::byte*>(out));
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
IndexResult segment_max(const T* data, IndexView segment_ids, std::size_t rows, std::size_t depth,
                        std::size_t segments, T empty, T* out) {
  return largest_rows(sizeof(T), keep_largest<T>, bytes_of(data), segment_ids, rows, depth, segments,
                      bytes_of(&empty), reinterpret_cast<std::byte*>(out));
}

#define IR_INSTANTIATE(T)                                                                         \
  template IndexResult reduce_bags<T>(const EmbeddingTable<T>&, IndexView, std::size_t, const T*, \
                                      const Bags&, std::optional<std::size_t>, BagReduction, T*); \
  template IndexResult segment_max<T>(const T*, IndexView, std::size_t, std::size_t, std::size_t, T, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
