// Sizes of caches, for blocking. Internal to kernels/.
#ifndef KERNELS_CACHE_SIZE_H_
#define KERNELS_CACHE_SIZE_H_

#include <algorithm>
#include <cstddef>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace ir::kernels {

/// Bytes of the second-level cache that one core has to itself, as far as the system tells; what is made to
/// fit half of it also fits where the system tells nothing.
inline std::size_t second_level_cache() {
  constexpr long kLeast = 256L << 10;
  constexpr long kUsual = 512L << 10;
  constexpr long kMost = 2L << 20;
  long bytes = kUsual;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes <= 0) bytes = kUsual;
#endif
  return static_cast<std::size_t>(std::clamp(bytes, kLeast, kMost));
}

}  // namespace ir::kernels

#endif  // KERNELS_CACHE_SIZE_H_
