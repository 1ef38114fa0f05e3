// Float storage on cache-line borders: packed operands and scratch.
#ifndef KERNELS_BASE_ALIGNED_FLOATS_H_
#define KERNELS_BASE_ALIGNED_FLOATS_H_

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace ir::kernels {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kFloatsPerLine = kCacheLine / sizeof(float);

/// Systems may have pages of this size: with many small ones, a tenth of the time of reading weights goes
/// into finding them.
inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

inline std::size_t round_up_to_line(std::size_t floats) {
  return (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

/// Uninitialised floats that begin on a cache line, those of a large page and more in such pages.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t count) {
    const std::size_t bytes = count * sizeof(float);
    const std::align_val_t alignment{bytes < kLargePage ? kCacheLine : kLargePage};
    floats_ = {static_cast<float*>(::operator new(bytes, alignment)), Release{alignment}};
#if defined(MADV_HUGEPAGE)
    // Where the advice cannot be followed, nothing is lost.
    if (bytes >= kLargePage) (void)madvise(floats_.get(), bytes, MADV_HUGEPAGE);
#endif
  }

  [[nodiscard]] float* data() { return floats_.get(); }
  [[nodiscard]] const float* data() const { return floats_.get(); }

  /// Gives memory of the first `count` back to the system: nobody reads what they hold, or writes to them,
  /// any more. For floats of a large page and more.
  void give_back(std::size_t count) {
#if defined(MADV_DONTNEED)
    constexpr std::size_t kMostPage = std::size_t{1} << 16;  // of systems that know large ones
    const std::size_t bytes = count * sizeof(float) / kMostPage * kMostPage;
    if (bytes > 0) (void)madvise(floats_.get(), bytes, MADV_DONTNEED);
#endif
  }

 private:
  struct Release {
    std::align_val_t alignment;
    void operator()(float* floats) const { ::operator delete(floats, alignment); }
  };
  std::unique_ptr<float, Release> floats_;
};

/// Bytes that a caller must give so that `floats` of them can start on a cache line.
inline std::size_t scratch_bytes_for(std::size_t floats) {
  return floats == 0 ? 0 : floats * sizeof(float) + kCacheLine - 1;
}

/// From the scratch of one worker to that of the next. Of several, whole megabytes, of many, parts of them:
/// each finds its own at the same place in most steps, in the caches of its core.
inline std::size_t worker_stride(std::size_t workers, std::size_t floats) {
  constexpr std::size_t kMegabyte = (std::size_t{1} << 20) / sizeof(float);
  if (workers < 2 || floats == 0) return floats;
  const std::size_t unit = round_up_to_line(std::min(kMegabyte, 8 * kMegabyte / workers));
  return (floats + unit - 1) / unit * unit;
}

/// First cache-line border in `scratch`.
inline float* aligned_scratch(std::byte* scratch) {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch);
  return reinterpret_cast<float*>(scratch + (kCacheLine - address % kCacheLine) % kCacheLine);
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_ALIGNED_FLOATS_H_
