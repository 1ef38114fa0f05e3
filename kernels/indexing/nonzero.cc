#include "kernels/indexing/nonzero.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>

#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kBlock = 4096;

/// 1 where an element of a block differs from zero: what alone depends on its type.
using Flags = std::array<std::uint8_t, kBlock>;
struct Elements {
  const void* data;
  void (*flag)(const void* data, std::size_t first, std::size_t count, Flags& flags);
};

template <class T>
Elements elements_of(const T* in) {
  return {in, [](const void* data, std::size_t first, std::size_t count, Flags& flags) {
            const T* from = static_cast<const T*>(data) + first;
            for (std::size_t i = 0; i < count; ++i) flags[i] = from[i] != T{0} ? 1 : 0;
          }};
}

std::vector<std::size_t> count_flags(const Elements& in, std::size_t count) {
  std::vector<std::size_t> counts((count + kBlock - 1) / kBlock);
  parallel_for(counts.size(), grain_for_cost(kBlock), [&](std::size_t begin, std::size_t end) {
    Flags flags;
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t size = std::min(kBlock, count - block * kBlock);
      in.flag(in.data, block * kBlock, size, flags);
      counts[block] =
          std::accumulate(flags.begin(), flags.begin() + static_cast<std::ptrdiff_t>(size), std::size_t{0});
    }
  });
  return counts;
}

template <class Index>
void flag_positions(const Elements& in, std::span<const std::size_t> dims,
                    std::span<const std::size_t> counts, Index* out) {
  const std::size_t rank = dims.size();
  const std::size_t count = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  std::vector<std::size_t> firsts(counts.size() + 1);
  std::inclusive_scan(counts.begin(), counts.end(), firsts.begin() + 1);
  const std::size_t total = firsts.back();
  parallel_for(counts.size(), grain_for_cost(kBlock * 4), [&](std::size_t begin, std::size_t end) {
    Flags flags;
    std::vector<std::size_t> place(rank);
    std::size_t rest = begin * kBlock;
    for (std::size_t axis = rank; axis-- > 0;) {
      place[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    std::size_t column = firsts[begin];
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t size = std::min(kBlock, count - block * kBlock);
      in.flag(in.data, block * kBlock, size, flags);
      for (std::size_t i = 0; i < size; ++i) {
        if (flags[i] != 0) {
          for (std::size_t axis = 0; axis < rank; ++axis)
            out[axis * total + column] = static_cast<Index>(place[axis]);
          ++column;
        }
        for (std::size_t axis = rank; axis-- > 0;) {
          if (++place[axis] < dims[axis]) break;
          place[axis] = 0;
        }
      }
    }
  });
}

}  // namespace

template <class T>
std::vector<std::size_t> count_nonzero(const T* in, std::size_t count) {
  return count_flags(elements_of(in), count);
}

template <class T, class Index>
void nonzero_positions(const T* in, std::span<const std::size_t> dims, std::span<const std::size_t> counts,
                       Index* out) {
  flag_positions(elements_of(in), dims, counts, out);
}

#define IR_INSTANTIATE(T)                                                                        \
  template std::vector<std::size_t> count_nonzero<T>(const T*, std::size_t);                     \
  template void nonzero_positions<T, std::int32_t>(const T*, std::span<const std::size_t>,       \
                                                   std::span<const std::size_t>, std::int32_t*); \
  template void nonzero_positions<T, std::int64_t>(const T*, std::span<const std::size_t>,       \
                                                   std::span<const std::size_t>, std::int64_t*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
