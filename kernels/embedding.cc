#include "kernels/embedding.h"

#include <algorithm>
#include <type_traits>

#include "kernels/integer_math.h"
#include "kernels/parallel.h"
#include "kernels/scalar_type.h"

namespace ir::kernels {
namespace {

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_add(a, b);
  } else {
    return a + b;
  }
}

template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_multiply(a, b);
  } else {
    return a * b;
  }
}

template <class T>
void add_row(const T* row, std::size_t depth, T* out) {
  for (std::size_t i = 0; i < depth; ++i) out[i] = add(out[i], row[i]);
}

template <class T>
void add_weighted_row(const T* row, T weight, std::size_t depth, T* out) {
  for (std::size_t i = 0; i < depth; ++i) out[i] = add(out[i], multiply(row[i], weight));
}

template <class T>
void divide_row(std::size_t count, std::size_t depth, T* out) {
  for (std::size_t i = 0; i < depth; ++i) {
    // Not by a count cut to the bits of T.
    if constexpr (std::is_floating_point_v<T>) {
      out[i] /= static_cast<T>(count);
    } else if constexpr (std::is_signed_v<T>) {
      out[i] = static_cast<T>(out[i] / static_cast<std::int64_t>(count));
    } else {
      out[i] = static_cast<T>(out[i] / std::uint64_t{count});
    }
  }
}

}  // namespace

template <class T>
IndexResult reduce_bags(const EmbeddingTable<T>& table, IndexView indices, std::size_t positions,
                        const T* weights, const Bags& bags, std::optional<std::size_t> default_row,
                        BagReduction reduction, T* out) {
  for (std::size_t i = 0; i < positions; ++i) {
    // Unlike in Gather, negative indices do not count from the end.
    const std::int64_t index = indices[i];
    if (index < 0 || static_cast<std::size_t>(index) >= table.rows) return BadIndex{i, index};
  }
  const std::size_t depth = table.depth;
  const std::size_t cost = (positions / std::max<std::size_t>(bags.count, 1) + 1) * depth;
  parallel_for(bags.count, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t bag = begin; bag < end; ++bag) {
      const std::size_t first = bags.first(bag);
      const std::size_t last = bags.first(bag + 1);
      T* to = out + bag * depth;
      if (first == last && default_row) {
        std::copy_n(table.data + *default_row * depth, depth, to);
        continue;
      }
      std::fill_n(to, depth, T{0});
      for (std::size_t i = first; i < last; ++i) {
        const std::size_t position = bags.order != nullptr ? bags.order[i] : i;
        const T* row = table.data + static_cast<std::size_t>(indices[position]) * depth;
        if (weights != nullptr) {
          add_weighted_row(row, weights[position], depth, to);
        } else {
          add_row(row, depth, to);
        }
      }
      if (reduction == BagReduction::mean && first != last) divide_row(last - first, depth, to);
    }
  });
  return {};
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
  const std::size_t cost = (rows / std::max<std::size_t>(segments, 1) + 1) * depth;
  parallel_for(segments, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    std::size_t row = first_row(begin);
    for (std::size_t segment = begin; segment < end; ++segment) {
      T* to = out + segment * depth;
      bool found = false;
      for (; row < rows && static_cast<std::size_t>(segment_ids[row]) == segment; ++row) {
        const T* from = data + row * depth;
        if (!found) {
          std::copy_n(from, depth, to);
        } else {
          // NaN compares false: it stays, and it comes in through the second test.
          for (std::size_t i = 0; i < depth; ++i) {
            const T value = from[i];
            to[i] = value > to[i] || value != value ? value : to[i];
          }
        }
        found = true;
      }
      if (!found) std::fill_n(to, depth, empty);
    }
  });
  return {};
}

#define IR_INSTANTIATE(T)                                                                         \
  template IndexResult reduce_bags<T>(const EmbeddingTable<T>&, IndexView, std::size_t, const T*, \
                                      const Bags&, std::optional<std::size_t>, BagReduction, T*); \
  template IndexResult segment_max<T>(const T*, IndexView, std::size_t, std::size_t, std::size_t, T, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
