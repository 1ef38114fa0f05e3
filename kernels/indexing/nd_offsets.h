// Internal to gather and scatter: which slice of the data each tuple of an N-D index addresses.
#ifndef KERNELS_INDEXING_ND_OFFSETS_H_
#define KERNELS_INDEXING_ND_OFFSETS_H_

#include <algorithm>
#include <cstddef>
#include <span>

#include "kernels/base/indices.h"
#include "kernels/indexing/gather.h"

namespace ir::kernels {

class NdOffsets {
 public:
  NdOffsets(const NdShape& shape, IndexView indices) : shape_(shape), indices_(indices) {}

  [[nodiscard]] IndexResult find_bad() const;

  /// Calls f(t, number of its slice in the whole data) for tuples [begin, end), counted over all batches, in
  /// order. Indices must be good.
  template <class F>
  void for_each_slice(std::size_t begin, std::size_t end, const F& f) const {
    for_each_batch(begin, end, [&](std::size_t first, std::span<const std::size_t> slices) {
      for (std::size_t i = 0; i < slices.size(); ++i) f(first + i, slices[i]);
    });
  }
  /// The same with several at a time: f(the first t, numbers of slices).
  template <class F>
  void for_each_batch(std::size_t begin, std::size_t end, const F& f) const {
    std::size_t slices[kTogether];
    for (std::size_t first = begin; first < end; first += kTogether) {
      const std::size_t count = std::min(kTogether, end - first);
      find(first, count, slices);
      f(first, std::span<const std::size_t>(slices, count));
    }
  }

 private:
  static constexpr std::size_t kTogether = 64;
  /// Numbers of the slices of `count` tuples.
  void find(std::size_t first, std::size_t count, std::size_t* slices) const;

  const NdShape& shape_;
  IndexView indices_;
};

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_ND_OFFSETS_H_
