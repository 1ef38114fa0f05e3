// What the processor tells of itself, for blocking and costs. Internal to kernels/.
#ifndef KERNELS_PROCESSOR_H_
#define KERNELS_PROCESSOR_H_

#include <algorithm>
#include <cstddef>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace ir::kernels {

/// `told` by the system (0 or less: nothing), if it is of a usual size.
inline std::size_t cache_size(long told, long least, long usual, long most) {
  return static_cast<std::size_t>(std::clamp(told > 0 ? told : usual, least, most));
}

/// Bytes of the first-level data cache of a core, as far as the system tells.
inline std::size_t first_level_cache() {
  long told = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  told = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
  return cache_size(told, 16L << 10, 32L << 10, 64L << 10);
}

/// Bytes of the second-level cache that one core has to itself, as far as the system tells; what is made to
/// fit half of it also fits where the system tells nothing.
inline std::size_t second_level_cache() {
  long told = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  told = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return cache_size(told, 256L << 10, 512L << 10, 2L << 20);
}

// The name has to be a literal.
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define KERNELS_CPU_IS(name) (__builtin_cpu_is(name) != 0)
#define KERNELS_CPU_HAS(name) (__builtin_cpu_supports(name) != 0)
#else
#define KERNELS_CPU_IS(name) false
#define KERNELS_CPU_HAS(name) false
#endif

/// Whether it is one of Intel's. To add up what lies in a second-level cache takes their cores two to four
/// times the cycles of AMD's (Emerald and Granite Rapids, next to Zen 4 and 5).
inline bool is_of_intel() { return KERNELS_CPU_IS("intel"); }

/// Whether vectors of AVX-512 go through units of half their length, in two turns: AMD's Zen 4 (Zen 3, of the
/// same family, has none).
inline bool splits_long_vectors() { return KERNELS_CPU_IS("amdfam19h"); }

/// Whether AVX-512 comes with instructions that add products of integers to a sum (VNNI): all but the first
/// of Intel's servers that have it, AMD's Zen 4.
inline bool dots_integers() { return KERNELS_CPU_HAS("avx512vnni"); }

}  // namespace ir::kernels

#endif  // KERNELS_PROCESSOR_H_
