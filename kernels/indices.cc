#include "kernels/indices.h"

#include <atomic>

#include "kernels/parallel.h"

namespace ir::kernels {

IndexResult find_bad_index(IndexView indices, std::size_t count, std::size_t size) {
  std::atomic<std::size_t> first = count;
  parallel_for(count, grain_for_cost(1), [&](std::size_t begin, std::size_t end) {
    indices.with_elements([&, begin, end](const auto& elements) {
      // Whole blocks without a branch for each index, up to the first that has a bad one.
      constexpr std::size_t kBlock = 64;
      std::size_t i = begin;
      for (bool bad = false; i + kBlock <= end; i += kBlock) {
        for (std::size_t k = 0; k < kBlock; ++k) bad |= normalize_index(elements[i + k], size) == size;
        if (bad) break;
      }
      while (i < end && normalize_index(elements[i], size) != size) ++i;
      std::size_t known = first;
      while (i < end && i < known && !first.compare_exchange_weak(known, i)) {
      }
    });
  });
  return first == count ? IndexResult() : BadIndex{first, indices[first]};
}

}  // namespace ir::kernels
