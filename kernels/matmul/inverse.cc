#include "kernels/matmul/inverse.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kMaxChunks = 16;

struct Chunks {
  std::size_t grain;
  std::size_t count;
};

Chunks chunks_of(std::size_t batch, std::size_t size) {
  const std::size_t cost = size > 1024 ? std::size_t{1} << 30 : size * size * size;
  const std::size_t grain = std::max(grain_for_cost(2 * cost), (batch + kMaxChunks - 1) / kMaxChunks);
  return {grain, (batch + grain - 1) / grain};
}

// to[i] -= factor * from[i]
template <class T>
void subtract_row(T factor, const T* __restrict from, T* __restrict to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] -= factor * from[i];
}

// Splits `lu` into L (below the diagonal, ones on it not stored) and U; `rows[i]` is the original row that
// came to be row i.
template <class T>
void decompose(T* lu, std::size_t* rows, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) rows[i] = i;
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < size; ++i) {
      if (std::abs(lu[i * size + k]) > std::abs(lu[pivot * size + k])) pivot = i;
    }
    if (pivot != k) {
      std::swap_ranges(lu + k * size, lu + (k + 1) * size, lu + pivot * size);
      std::swap(rows[k], rows[pivot]);
    }
    const T* top = lu + k * size;
    parallel_for(size - k - 1, grain_for_cost(2 * (size - k)), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = k + 1 + begin; i < k + 1 + end; ++i) {
        T* row = lu + i * size;
        row[k] /= top[k];
        subtract_row(row[k], top + k + 1, row + k + 1, size - k - 1);
      }
    });
  }
}

// Columns [begin, end) of the inverse, as rows of `out` of which each is a sum of rows above or below it.
template <class T>
void substitute(const T* lu, const std::size_t* rows, std::size_t size, std::size_t begin, std::size_t end,
                T* out) {
  const std::size_t count = end - begin;
  T* first = out + begin;
  for (std::size_t i = 0; i < size; ++i) {
    T* row = first + i * size;
    for (std::size_t j = 0; j < count; ++j) row[j] = rows[i] == begin + j ? T(1) : T(0);
    for (std::size_t k = 0; k < i; ++k) subtract_row(lu[i * size + k], first + k * size, row, count);
  }
  for (std::size_t i = size; i-- > 0;) {
    T* row = first + i * size;
    for (std::size_t k = i + 1; k < size; ++k) {
      subtract_row(lu[i * size + k], first + k * size, row, count);
    }
    for (std::size_t j = 0; j < count; ++j) row[j] /= lu[i * size + i];
  }
}

}  // namespace

template <class T>
std::size_t inverse_scratch_bytes(std::size_t batch, std::size_t size) {
  return chunks_of(batch, size).count * (size * sizeof(std::size_t) + (size * size + 1) / 2 * 2 * sizeof(T));
}

template <class T>
void invert_matrices(const T* in, T* out, std::size_t batch, std::size_t size, bool transposed,
                     std::byte* scratch) {
  if (size == 0) return;
  const Chunks chunks = chunks_of(batch, size);
  const std::size_t own_bytes =
      inverse_scratch_bytes<T>(batch, size) / std::max<std::size_t>(chunks.count, 1);
  const std::size_t area = size * size;
  parallel_for(batch, chunks.grain, [&](std::size_t begin, std::size_t end) {
    std::byte* own = scratch + begin / chunks.grain * own_bytes;
    auto* rows = reinterpret_cast<std::size_t*>(own);
    auto* lu = reinterpret_cast<T*>(own + size * sizeof(std::size_t));
    for (std::size_t b = begin; b < end; ++b) {
      std::copy_n(in + b * area, area, lu);
      decompose(lu, rows, size);
      T* to = out + b * area;
      parallel_for(size, std::max<std::size_t>(32, grain_for_cost(2 * area)),
                   [&](std::size_t first, std::size_t last) { substitute(lu, rows, size, first, last, to); });
      if (!transposed) continue;
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) std::swap(to[i * size + j], to[j * size + i]);
      }
    }
  });
}

template std::size_t inverse_scratch_bytes<float>(std::size_t, std::size_t);
template std::size_t inverse_scratch_bytes<double>(std::size_t, std::size_t);
template void invert_matrices(const float*, float*, std::size_t, std::size_t, bool, std::byte*);
template void invert_matrices(const double*, double*, std::size_t, std::size_t, bool, std::byte*);

}  // namespace ir::kernels
