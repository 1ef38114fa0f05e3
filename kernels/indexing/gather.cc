#include "kernels/indexing/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/base/bytes.h"
#include "kernels/indexing/nd_offsets.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {

namespace {

/// Calls f(i, normal index) for the indices [begin, begin + count), i from 0 on.
template <class F>
void for_each_index(IndexView indices, std::size_t begin, std::size_t count, std::size_t size, const F& f) {
  indices.with_elements([=](const auto& elements) {
    for (std::size_t i = 0; i < count; ++i) f(i, normalize_index(elements[begin + i], size));
  });
}

/// The same for indices that are known to be good.
template <class F>
void for_each_good_index(IndexView indices, std::size_t begin, std::size_t count, std::size_t size,
                         const F& f) {
  indices.with_elements([=](const auto& elements) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t index = elements[begin + i];
      f(i, static_cast<std::size_t>(index) + (index < 0 ? size : 0));
    }
  });
}

/// Indices of a batch that are looked at once for all lines of its data.
constexpr std::size_t kBlock = 512;

/// Lines for which that pays.
constexpr std::size_t kFewestLines = 3;

/// Index positions whose slices lie one behind the other in the data, too, or are all missing.
struct Run {
  std::size_t first;
  std::size_t count;
};

/// What the indices of a block come to.
struct IndexBlock {
  std::size_t slices[kBlock];
  Run runs[kBlock];
  std::size_t count;
  std::size_t run_count;
  bool any_missing;

  void read(IndexView indices, std::size_t begin, std::size_t size) {
    indices.with_elements([&](const auto& elements) {
      for (std::size_t i = 0; i < count; ++i) slices[i] = normalize_index(elements[begin + i], size);
    });
    run_count = 0;
    any_missing = false;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t slice = slices[i];
      const bool missing = slice == size;
      if (i > 0 && slice == slices[i - 1] + (missing ? 0 : 1)) {
        ++runs[run_count - 1].count;
      } else {
        runs[run_count++] = {slice, 1};
      }
      any_missing |= missing;
    }
  }
};

constexpr std::size_t kPiece = 16;

/// Copies `bytes` >= Piece in pieces, of which the last ends where they end.
template <std::size_t Piece>
void copy_pieces(const char* from, char* to, std::size_t bytes) {
  for (std::size_t i = 0; i + Piece < bytes; i += Piece) std::memcpy(to + i, from + i, Piece);
  std::memcpy(to + bytes - Piece, from + bytes - Piece, Piece);
}

/// std::memcpy for what is mostly too short for a call of it.
inline void copy_short(const char* from, char* to, std::size_t bytes) {
  constexpr std::size_t kLong = 8 * kPiece;
  if (bytes < kPiece / 2 || bytes > kLong) {
    std::memcpy(to, from, bytes);
  } else if (bytes < kPiece) {
    copy_pieces<kPiece / 2>(from, to, bytes);
  } else {
    copy_pieces<kPiece>(from, to, bytes);
  }
}

void copy_runs(const IndexBlock& block, std::size_t axis, std::size_t unit, const char* from, char* to) {
  const Run* const end = block.runs + block.run_count;
  for (const Run* run = block.runs; run != end; ++run) {
    const std::size_t bytes = run->count * unit;
    if (run->first == axis) {
      std::memset(to, 0, bytes);
    } else {
      copy_short(from + run->first * unit, to, bytes);
    }
    to += bytes;
  }
}

/// Slices of a few bytes, all of which exist.
void copy_slices(const IndexBlock& block, std::size_t unit, const char* from, char* to) {
  with_unit_copy(unit, [&](auto copy) {
    const std::size_t* const slices = block.slices;
    const std::size_t count = block.count;
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {  // so short a loop would depend on where its instructions lie
      copy(from + slices[i] * unit, to + i * unit);
      copy(from + slices[i + 1] * unit, to + (i + 1) * unit);
      copy(from + slices[i + 2] * unit, to + (i + 2) * unit);
      copy(from + slices[i + 3] * unit, to + (i + 3) * unit);
    }
    for (; i < count; ++i) copy(from + slices[i] * unit, to + i * unit);
  });
}

/// Gather where lines of data share indices: what these come to is found out once per block.
void gather_lines(const GatherShape& shape, const void* data, IndexView indices, void* out) {
  const std::size_t unit = shape.inner_bytes;
  const std::size_t length = std::min({shape.indices, kBlock, grain_for_cost(cost_of_bytes(unit))});
  const std::size_t blocks = (shape.indices - 1) / length + 1;
  // Tasks are [batch][block][line]: lines that share indices come one after the other.
  parallel_for(shape.batch * blocks * shape.outer, grain_for_cost(cost_of_bytes(length * unit)),
               [&](std::size_t begin, std::size_t end) {
                 IndexBlock block;
                 for (std::size_t task = begin; task < end;) {
                   const std::size_t line = task % shape.outer;
                   const std::size_t lines = std::min(shape.outer - line, end - task);
                   const std::size_t batch = task / shape.outer / blocks;
                   const std::size_t first = task / shape.outer % blocks * length;
                   block.count = std::min(shape.indices - first, length);
                   block.read(indices, batch * shape.indices + first, shape.axis);
                   const std::size_t data_line = batch * shape.outer + line;
                   const char* from = static_cast<const char*>(data) + data_line * shape.axis * unit;
                   char* to = static_cast<char*>(out) + (data_line * shape.indices + first) * unit;
                   const bool scattered =
                       !block.any_missing && unit <= 8 && block.count * unit < block.run_count * kPiece;
                   for (std::size_t i = 0; i < lines; ++i) {
                     if (scattered) {
                       copy_slices(block, unit, from, to);
                     } else {
                       copy_runs(block, shape.axis, unit, from, to);
                     }
                     from += shape.axis * unit;
                     to += shape.indices * unit;
                   }
                   task += lines;
                 }
               });
}

}  // namespace

IndexResult gather(const GatherShape& shape, const void* data, IndexView indices, void* out,
                   OutOfRange policy) {
  if (policy == OutOfRange::report) {
    if (const IndexResult bad = find_bad_index(indices, shape.batch * shape.indices, shape.axis)) return bad;
  }
  if (shape.indices == 0) return {};
  if (shape.outer >= kFewestLines) {
    gather_lines(shape, data, indices, out);
    return {};
  }
  const std::size_t unit = shape.inner_bytes;
  const std::size_t lines = shape.batch * shape.outer;
  with_unit_copy(unit, [&](auto copy) {
    parallel_for(lines * shape.indices, grain_for_cost(cost_of_bytes(unit)),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t n = begin; n < end;) {
                     const std::size_t line = n / shape.indices;
                     const std::size_t first = n - line * shape.indices;
                     const std::size_t count = std::min(shape.indices - first, end - n);
                     const std::size_t batch_indices = line / shape.outer * shape.indices;
                     const char* from = static_cast<const char*>(data) + line * shape.axis * unit;
                     char* to = static_cast<char*>(out) + n * unit;
                     for_each_index(indices, batch_indices + first, count, shape.axis,
                                    [=, axis = shape.axis](std::size_t i, std::size_t index) {
                                      if (index == axis) {
                                        std::memset(to + i * unit, 0, unit);
                                      } else {
                                        copy(from + index * unit, to + i * unit);
                                      }
                                    });
                     n += count;
                   }
                 });
  });
  return {};
}

IndexResult gather_elements(std::span<const std::size_t> data_dims, std::span<const std::size_t> index_dims,
                            std::size_t axis, std::size_t element_size, const void* data, IndexView indices,
                            void* out) {
  std::size_t outer = 1;
  std::size_t inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= index_dims[i];
  for (std::size_t i = axis + 1; i < index_dims.size(); ++i) inner *= index_dims[i];
  const std::size_t in_axis = data_dims[axis];
  const std::size_t out_axis = index_dims[axis];

  // Along the last axis, elements of a line have one origin; else each its own, next to that before it.
  const bool is_last = inner == 1;
  const std::size_t lines = is_last ? outer : outer * out_axis;
  const std::size_t length = is_last ? out_axis : inner;
  const std::size_t lines_of_origin = is_last ? 1 : out_axis;
  const std::size_t origin_step = is_last ? 0 : element_size;
  // Indices are looked at while they are near. Which is the first bad one is found out where there is one.
  constexpr std::size_t kBlock = 512;
  std::atomic<bool> any_bad = false;
  with_unit_copy(element_size, [&](auto copy) {
    parallel_for(lines, grain_for_cost(length * 2), [&](std::size_t begin, std::size_t end) {
      std::size_t line = begin;
      for (std::size_t at = begin * length; at < end * length;) {
        const std::size_t block_end = std::min(at + kBlock, end * length);
        if (!are_indices(indices, at, block_end - at, in_axis)) {
          any_bad = true;
          return;
        }
        while (at < block_end) {
          const std::size_t first = at - line * length;
          const std::size_t count = std::min(length - first, block_end - at);
          const char* const from = static_cast<const char*>(data) +
                                   line / lines_of_origin * in_axis * inner * element_size +
                                   first * origin_step;
          for_each_good_index(indices, at, count, in_axis,
                              [=, to = static_cast<char*>(out) + at * element_size,
                               row = inner * element_size](std::size_t i, std::size_t index) {
                                copy(from + index * row + i * origin_step, to + i * element_size);
                              });
          at += count;
          if (first + count == length) ++line;
        }
      }
    });
  });
  return any_bad ? find_bad_index(indices, outer * out_axis * inner, in_axis) : IndexResult();
}

IndexResult gather_nd(const NdShape& shape, const void* data, IndexView indices, void* out) {
  const NdOffsets offsets(shape, indices);
  if (const IndexResult bad = offsets.find_bad()) return bad;
  const std::size_t unit = shape.slice_bytes;
  with_unit_copy(unit, [&](auto copy) {
    parallel_for(shape.batch * shape.tuples, grain_for_cost(cost_of_bytes(unit)),
                 [&](std::size_t begin, std::size_t end) {
                   offsets.for_each_slice(begin, end, [&](std::size_t t, std::size_t slice) {
                     copy(static_cast<const char*>(data) + slice * unit, static_cast<char*>(out) + t * unit);
                   });
                 });
  });
  return {};
}

namespace {

/// The beam that a value of parent_ids names, or `beams` if it names none.
template <class T>
std::size_t to_beam(T value, std::size_t beams) {
  // Written so that NaN fails.
  return value >= T{0} && value < static_cast<T>(beams) ? static_cast<std::size_t>(value) : beams;
}

}  // namespace

template <class T>
IndexResult gather_tree(std::size_t max_time, std::size_t batch, std::size_t beams, const T* step_ids,
                        const T* parent_ids, const T* max_sequence, T end_token, T* out) {
  // Walks one beam backwards; f(step, id) for each step that counts. Returns a bad parent.
  const auto walk = [&](std::size_t b, std::size_t beam, const auto& f) -> IndexResult {
    const T longest = max_sequence[b];
    if (!(longest > T{0})) return {};
    const std::size_t steps =
        longest < static_cast<T>(max_time) ? static_cast<std::size_t>(longest) : max_time;
    for (std::size_t step = steps; step-- > 0;) {
      const std::size_t position = (step * batch + b) * beams + beam;
      f(step, step_ids[position]);
      if (step == 0) break;
      beam = to_beam(parent_ids[position], beams);
      if (beam == beams) return BadIndex{position, static_cast<std::int64_t>(parent_ids[position])};
    }
    return {};
  };

  IndexResult bad;
  for (std::size_t n = 0; n < batch * beams; ++n) {
    const IndexResult found = walk(n / beams, n % beams, [](std::size_t, T) {});
    if (found && (!bad || found->position < bad->position)) bad = found;
  }
  if (bad) return bad;

  parallel_for(batch * beams, grain_for_cost(max_time * 8), [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) {
      const auto at = [&](std::size_t step) -> T& { return out[step * batch * beams + n]; };
      for (std::size_t step = 0; step < max_time; ++step) at(step) = end_token;
      walk(n / beams, n % beams, [&](std::size_t step, T id) { at(step) = id; });
      std::size_t step = 0;
      while (step < max_time && at(step) != end_token) ++step;
      for (; step < max_time; ++step) at(step) = end_token;
    }
  });
  return {};
}

#define IR_INSTANTIATE(T)                                                                                  \
  template IndexResult gather_tree<T>(std::size_t, std::size_t, std::size_t, const T*, const T*, const T*, \
                                      T, T*);
IR_INSTANTIATE(float)
IR_INSTANTIATE(double)
IR_INSTANTIATE(std::int32_t)
IR_INSTANTIATE(std::int64_t)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
