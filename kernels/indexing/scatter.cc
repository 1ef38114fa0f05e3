#include "kernels/indexing/scatter.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "hwy/base.h"
#include "kernels/base/bytes.h"
#include "kernels/base/integer_math.h"
#include "kernels/base/scalar_type.h"
#include "kernels/indexing/element_lines.h"
#include "kernels/indexing/nd_offsets.h"
#include "kernels/indexing/scatter_operations.h"
#include "kernels/indexing/scatter_slices.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

using scatter::Assign;
using scatter::Max;
using scatter::Min;
using scatter::Prod;
using scatter::Sub;
using scatter::Sum;
using scatter::update_run;

/// sum / count, integers rounded down.
template <class T>
T mean(T sum, std::size_t count) {
  if constexpr (std::is_same_v<T, bool>) {
    return sum;
  } else if constexpr (std::is_floating_point_v<T>) {
    return sum / static_cast<T>(count);
  } else if constexpr (std::is_unsigned_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(sum) / count);
  } else {
    const auto divisor = static_cast<std::int64_t>(count);
    const auto wide = static_cast<std::int64_t>(sum);
    return static_cast<T>(wide / divisor - (wide % divisor < 0 ? 1 : 0));
  }
}

/// Calls f(element of the line in `out`, number of the index position, number of the element along the axis).
template <class F>
void for_each_update(const ElementLines& lines, std::size_t line, IndexView indices, const F& f) {
  const ElementLines::Start start = lines.start(line);
  std::size_t found[ElementLines::kTogether];
  for (std::size_t first = 0; first < lines.length; first += ElementLines::kTogether) {
    const std::size_t position = start.index + first * lines.index_stride;
    const std::size_t count = lines.find(indices, position, lines.length - first, found);
    for (std::size_t k = 0; k < count; ++k)
      f(start.data + found[k] * lines.data_stride, position + k * lines.index_stride, found[k]);
  }
}

template <class T>
HWY_INLINE void fill_batch(const ElementLines::Batch& batch, T value, T* out) {
  if (batch.elements == nullptr) {
    std::fill_n(out + batch.first, batch.count, value);
  } else {
    for (std::size_t k = 0; k < batch.count; ++k) out[batch.elements[k]] = value;
  }
}

template <class Op, class T>
HWY_INLINE void update_batch(const ElementLines::Batch& batch, const T* updates, T* out) {
  const T* const from = updates + batch.position;
  if (batch.elements == nullptr) {
    update_run<Op>(from, out + batch.first, batch.count);
  } else {
    for (std::size_t k = 0; k < batch.count; ++k) {
      T& to = out[batch.elements[k]];
      to = Op::apply(to, from[k * batch.stride]);
    }
  }
}

/// Lines [begin, end).
struct LineRange {
  const ElementLines& lines;
  IndexView indices;
  std::size_t begin;
  std::size_t end;

  void for_each_batch(FunctionRef<void(const ElementLines::Batch& batch)> f) const {
    lines.for_each_batch(indices, begin, end, f);
  }
};

/// What is done to the elements of one type; what spreads lines over threads knows nothing of it.
struct ElementUpdates {
  void (*update)(const LineRange& range, const void* updates, void* out) = nullptr;
  /// Forgets the original values. Null: they count.
  void (*start)(const LineRange& range, void* out) = nullptr;
};

template <class Op, class T>
void update_range(const LineRange& range, const void* updates, void* out) {
  range.for_each_batch([from = static_cast<const T*>(updates), to = static_cast<T*>(out)](
                           const ElementLines::Batch& batch) { update_batch<Op>(batch, from, to); });
}

template <class Op, class T>
void start_range(const LineRange& range, void* out) {
  range.for_each_batch([to = static_cast<T*>(out)](const ElementLines::Batch& batch) {
    fill_batch(batch, Op::template neutral<T>(), to);
  });
}

template <class Op, class T>
ElementUpdates reducing(bool use_init_val) {
  return {update_range<Op, T>, use_init_val ? nullptr : start_range<Op, T>};
}

/// Of all reductions but `mean`.
template <class T>
ElementUpdates updates_of(ScatterReduction reduction, bool use_init_val) {
  using Bits = WithoutSign<T>;
  switch (reduction) {
    case ScatterReduction::sum:
      return reducing<Sum, Bits>(use_init_val);
    case ScatterReduction::sub:
      return {update_range<Sub, Bits>};
    case ScatterReduction::prod:
      return reducing<Prod, Bits>(use_init_val);
    case ScatterReduction::min:
      return reducing<Min, T>(use_init_val);
    case ScatterReduction::max:
      return reducing<Max, T>(use_init_val);
    default:
      return {update_range<Assign, Bits>};
  }
}

void update_lines(const ElementLines& lines, const ElementUpdates& op, IndexView indices, const void* updates,
                  void* out) {
  // Lines side by side are cut into pieces for two threads and more only where these stay wide.
  constexpr std::size_t kWide = 32;
  const std::size_t grain = std::max(grain_for_cost(lines.length * 4), std::min(lines.side_by_side(), kWide));
  parallel_for(lines.count, grain, [&](std::size_t begin, std::size_t end) {
    const LineRange range{lines, indices, begin, end};
    if (op.start != nullptr) op.start(range, out);
    op.update(range, updates, out);
  });
}

template <class T>
void average_lines(const ElementLines& lines, bool use_init_val, IndexView indices, const T* updates,
                   T* out) {
  using Op = std::conditional_t<std::is_same_v<T, bool>, Min, Sum>;
  parallel_for(lines.count, grain_for_cost(lines.length * 8), [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> summands(lines.size);
    for (std::size_t line = begin; line < end; ++line) {
      for_each_update(lines, line, indices,
                      [&](std::size_t element, std::size_t position, std::size_t index) {
                        if (summands[index] == 0) {
                          if (use_init_val) {
                            summands[index] = 1;
                          } else {
                            out[element] = Op::template neutral<T>();
                          }
                        }
                        out[element] = Op::apply(out[element], updates[position]);
                        ++summands[index];
                      });
      for_each_update(lines, line, indices, [&](std::size_t element, std::size_t, std::size_t index) {
        if (summands[index] > 0) out[element] = mean(out[element], summands[index]);
        summands[index] = 0;
      });
    }
  });
}

/// Elements [begin, end) of the slices that tuples address, of which `first` is the first one.
struct SliceBatch {
  std::size_t first;
  std::span<const std::size_t> slices;
  std::size_t slice;  ///< elements of one
  std::size_t begin;
  std::size_t end;
};

using UpdateSlices = void (*)(const SliceBatch& batch, const void* updates, void* out);

template <class Op, class T>
void update_slices(const SliceBatch& batch, const void* updates, void* out) {
  T* const to = static_cast<T*>(out) + batch.begin;
  const T* from = static_cast<const T*>(updates) + batch.first * batch.slice + batch.begin;
  if (batch.slice == 1) {
    for (const std::size_t number : batch.slices) {
      to[number] = Op::apply(to[number], *from++);
    }
    return;
  }
  for (const std::size_t number : batch.slices) {
    update_run<Op>(from, to + number * batch.slice, batch.end - batch.begin);
    from += batch.slice;
  }
}

/// Null where updates replace what is there.
template <class T>
UpdateSlices slice_updates_of(ScatterReduction reduction) {
  using Bits = WithoutSign<T>;
  switch (reduction) {
    case ScatterReduction::sum:
      return update_slices<Sum, Bits>;
    case ScatterReduction::sub:
      return update_slices<Sub, Bits>;
    case ScatterReduction::prod:
      return update_slices<Prod, Bits>;
    case ScatterReduction::min:
      return update_slices<Min, T>;
    case ScatterReduction::max:
      return update_slices<Max, T>;
    default:
      return nullptr;
  }
}

void update_all_slices(const NdShape& shape, const NdOffsets& offsets, std::size_t element_size,
                       UpdateSlices update, const void* updates, void* out) {
  const std::size_t slice = shape.slice_bytes / element_size;
  // Tuples may name the same slice, so each part of the slices takes all tuples in order.
  const std::size_t line = 64 / element_size;
  const std::size_t grain = std::max(line, grain_for_cost(shape.tuples * 2));
  parallel_for(slice, grain, [&](std::size_t begin, std::size_t end) {
    offsets.for_each_batch(0, shape.tuples, [&](std::size_t first, std::span<const std::size_t> slices) {
      update({first, slices, slice, begin, end}, updates, out);
    });
  });
}

}  // namespace

IndexResult scatter_update(const ScatterShape& shape, const void* data, IndexView indices,
                           const void* updates, void* out) {
  if (const IndexResult bad = find_bad_index(indices, shape.indices, shape.axis)) return bad;
  const std::size_t unit = shape.inner_bytes;
  if (data != out) copy_bytes(data, out, shape.outer * shape.axis * unit);
  with_unit_copy(unit, [&](auto copy) {
    parallel_for(shape.outer, grain_for_cost(shape.indices * cost_of_bytes(unit)),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t o = begin; o < end; ++o) {
                     const char* from = static_cast<const char*>(updates) + o * shape.indices * unit;
                     char* to = static_cast<char*>(out) + o * shape.axis * unit;
                     for (std::size_t i = 0; i < shape.indices; ++i) {
                       copy(from + i * unit, to + normalize_index(indices[i], shape.axis) * unit);
                     }
                   }
                 });
  });
  return {};
}

namespace {

/// What comes before updates: indices are checked, and `data` is copied.
IndexResult prepare_lines(const ElementLines& lines, std::size_t element_size, const void* data,
                          IndexView indices, void* out) {
  if (const IndexResult bad = find_bad_index(indices, lines.index_count, lines.size)) return bad;
  if (data != out) copy_bytes(data, out, lines.data_count * element_size);
  return {};
}

}  // namespace

template <class T>
IndexResult scatter_elements_update(std::span<const std::size_t> data_dims,
                                    std::span<const std::size_t> index_dims, std::size_t axis,
                                    ScatterReduction reduction, bool use_init_val, const T* data,
                                    IndexView indices, const T* updates, T* out) {
  const ElementLines lines(data_dims, index_dims, axis);
  if (const IndexResult bad = prepare_lines(lines, sizeof(T), data, indices, out)) return bad;
  if (reduction == ScatterReduction::mean) {
    average_lines(lines, use_init_val, indices, updates, out);
  } else {
    update_lines(lines, updates_of<T>(reduction, use_init_val), indices, updates, out);
  }
  return {};
}

template <class T>
IndexResult scatter_nd_update(const NdShape& shape, ScatterReduction reduction, const T* data,
                              IndexView indices, const T* updates, T* out) {
  const NdOffsets offsets(shape, indices);
  if (const IndexResult bad = offsets.find_bad()) return bad;
  if (data != out) {
    std::size_t bytes = shape.slice_bytes;
    for (const std::size_t dim : shape.index_dims) bytes *= dim;
    copy_bytes(data, out, bytes);
  }
  if (const UpdateSlices update = slice_updates_of<T>(reduction)) {
    update_all_slices(shape, offsets, sizeof(T), update, updates, out);
  } else {
    assign_slices(shape, offsets, updates, out);
  }
  return {};
}

#define IR_INSTANTIATE(T)                                                                                    \
  template IndexResult scatter_elements_update<T>(                                                           \
      std::span<const std::size_t>, std::span<const std::size_t>, std::size_t, ScatterReduction, bool,       \
      const T*, IndexView, const T*, T*);                                                                    \
  template IndexResult scatter_nd_update<T>(const NdShape&, ScatterReduction, const T*, IndexView, const T*, \
                                            T*);
IR_INSTANTIATE(bool)
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
