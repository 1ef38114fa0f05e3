// What the processor tells of itself, for blocking and costs. Internal to kernels/.
#ifndef KERNELS_BASE_PROCESSOR_H_
#define KERNELS_BASE_PROCESSOR_H_

#include <algorithm>
#include <cstddef>

#if __has_include(<cpuid.h>)
#include <cpuid.h>
#endif
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

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
// The name has to be a literal.
#define KERNELS_CPU_IS(name) (__builtin_cpu_is(name) != 0)
#define KERNELS_CPU_HAS(name) (__builtin_cpu_supports(name) != 0)

/// Not all compilers have a name for it.
inline bool has_avx_vnni() {
  static const bool has = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
  }();
  return has;
}

/// Registers of matrices (AMX) with products of bfloat16 and of bytes.
inline bool has_matrix_tiles() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kAll = 1U << 22 | 1U << 24 | 1U << 25;  // of bfloat16, tiles, of bytes
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAll) == kAll;
}
#else
#define KERNELS_CPU_IS(name) false
#define KERNELS_CPU_HAS(name) false
inline bool has_avx_vnni() { return false; }
#endif

/// Whether it is one of Intel's. To add up what lies in a second-level cache takes their cores two to four
/// times the cycles of AMD's (Emerald and Granite Rapids, next to Zen 4 and 5).
inline bool is_of_intel() { return KERNELS_CPU_IS("intel"); }

/// Whether vectors of AVX-512 go through units of half their length, in two turns: AMD's Zen 4 (Zen 3, of the
/// same family, has none).
inline bool splits_long_vectors() { return KERNELS_CPU_IS("amdfam19h"); }

/// Whether vectors of so many lanes come with instructions that add products of integers to a sum (VNNI).
/// With AVX-512: all but the first of Intel's servers, AMD's from Zen 4 on; with AVX2: Intel's from Alder
/// Lake on, AMD's from Zen 5 on.
inline bool dots_integers(std::size_t lanes) {
  return lanes == 16 ? KERNELS_CPU_HAS("avx512vnni") : lanes == 8 && has_avx_vnni();
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_PROCESSOR_H_
