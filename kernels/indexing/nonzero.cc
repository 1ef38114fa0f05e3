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

/// Where flags are 1: as many as that, in order. Free of jumps, which nobody could foresee.
using Places = std::array<std::uint16_t, kBlock>;
std::size_t find_flags(const Flags& flags, std::size_t size, Places& places) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size; ++i) {
    places[found] = static_cast<std::uint16_t>(i);
    found += flags[i];
  }
  return found;
}

/// The row of the last axis in which a position lies, for positions that ascend.
class RowCursor {
 public:
  RowCursor(std::span<const std::size_t> dims, std::size_t position)
      : dims_(dims.first(dims.size() - 1)), row_(dims_.size()), length_(dims.back()) {
    std::size_t rest = position / length_;
    end_ = (rest + 1) * length_;
    for (std::size_t axis = row_.size(); axis-- > 0;) {
      row_[axis] = rest % dims_[axis];
      rest /= dims_[axis];
    }
  }
  void move_to(std::size_t position) {
    for (; position >= end_; end_ += length_) {
      for (std::size_t axis = row_.size(); axis-- > 0;) {
        if (++row_[axis] < dims_[axis]) break;
        row_[axis] = 0;
      }
    }
  }
  /// By the axes before the last one.
  [[nodiscard]] std::span<const std::size_t> row() const { return row_; }
  [[nodiscard]] std::size_t begin() const { return end_ - length_; }
  [[nodiscard]] std::size_t end() const { return end_; }

 private:
  std::span<const std::size_t> dims_;
  std::vector<std::size_t> row_;
  std::size_t length_;
  std::size_t end_;
};

template <class Index>
void flag_positions(const Elements& in, std::span<const std::size_t> dims,
                    std::span<const std::size_t> counts, Index* out) {
  const std::size_t rank = dims.size();
  if (rank == 0) return;
  const std::size_t count = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  std::vector<std::size_t> firsts(counts.size() + 1);
  std::inclusive_scan(counts.begin(), counts.end(), firsts.begin() + 1);
  const std::size_t total = firsts.back();
  parallel_for(counts.size(), grain_for_cost(kBlock * 4), [&](std::size_t begin, std::size_t end) {
    Flags flags;
    Places places;
    RowCursor cursor(dims, begin * kBlock);
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t first = block * kBlock;
      const std::size_t size = std::min(kBlock, count - first);
      in.flag(in.data, first, size, flags);
      const std::size_t found = find_flags(flags, size, places);
      Index* const to = out + firsts[block];
      for (std::size_t k = 0; k < found;) {
        cursor.move_to(first + places[k]);
        const std::size_t start = k;
        for (; k < found && first + places[k] < cursor.end(); ++k)
          to[(rank - 1) * total + k] = static_cast<Index>(first + places[k] - cursor.begin());
        for (std::size_t axis = 0; axis + 1 < rank; ++axis)
          std::fill(to + axis * total + start, to + axis * total + k, static_cast<Index>(cursor.row()[axis]));
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
