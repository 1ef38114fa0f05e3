// What every kernel test uses: sizes around lane multiples, misaligned buffers with guards, seeded values.
#ifndef TESTS_KERNELS_SUPPORT_H_
#define TESTS_KERNELS_SUPPORT_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/base/targets.h"
#include "tests/catch.h"

namespace ir::test {

/// Runs the rest of the test case once per SIMD target of this machine.
class TargetGuard {
 public:
  explicit TargetGuard(std::int64_t target) { kernels::force_target(target); }
  ~TargetGuard() { kernels::force_target(0); }
  TargetGuard(const TargetGuard&) = delete;
  TargetGuard& operator=(const TargetGuard&) = delete;
};

#define IR_FOR_EACH_TARGET()                                           \
  const auto ir_target = GENERATE(from_range(ir::kernels::targets())); \
  const ir::test::TargetGuard ir_target_guard(ir_target);              \
  INFO("target " << ir::kernels::target_name(ir_target))

/// 0, 1 and every N-1, N, N+1 for N in powers of two and three times them, up to `limit`.
inline std::vector<std::size_t> sizes_around_lanes(std::size_t limit) {
  std::vector<std::size_t> sizes{0, 1, 2};
  for (std::size_t power = 4; power - 1 <= limit; power *= 2) {
    for (const std::size_t size : {power - 1, power, power + 1, 3 * power - 1, 3 * power, 3 * power + 1}) {
      if (size <= limit) sizes.push_back(size);
    }
  }
  return sizes;
}

/// `count` elements that start `misalign` elements after a 64-byte border, between guard bytes.
template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t count, std::size_t misalign = 0)
      : count_(count), bytes_(count * sizeof(T) + misalign * sizeof(T) + 64 + 2 * kGuard, kFill) {
    auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kGuard;
    address = (address + 63) / 64 * 64 + misalign * sizeof(T);
    data_ = reinterpret_cast<T*>(address);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }

  /// Whether every byte outside of the elements is as it was.
  bool guards_intact() const {
    const auto* first = reinterpret_cast<const std::uint8_t*>(data_);
    const auto* last = reinterpret_cast<const std::uint8_t*>(data_ + count_);
    for (const auto* p = bytes_.data(); p != first; ++p) {
      if (*p != kFill) return false;
    }
    for (const auto* p = last; p != bytes_.data() + bytes_.size(); ++p) {
      if (*p != kFill) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::uint8_t kFill = 0xA5;
  std::size_t count_;
  std::vector<std::uint8_t> bytes_;
  T* data_ = nullptr;
};

/// Seeded uniform values in [low, high]; integers for integral T.
template <class Container>
void fill_random(Container& values, double low, double high, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  for (auto& value : values) {
    using T = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(std::floor(uniform(generator)));
    } else {
      value = static_cast<T>(static_cast<float>(uniform(generator)));
    }
  }
}

/// |a - b| <= absolute + relative * |b|; NaN equals NaN, infinities must agree.
inline bool close(double a, double b, double relative, double absolute) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= absolute + relative * std::abs(b);
}

}  // namespace ir::test

#endif  // TESTS_KERNELS_SUPPORT_H_
