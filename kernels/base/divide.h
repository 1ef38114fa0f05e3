// Division of sizes.
#ifndef KERNELS_BASE_DIVIDE_H_
#define KERNELS_BASE_DIVIDE_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

/// value / by. Many processors divide 64 bits three times as slowly as 32, which most sizes fit.
inline constexpr std::size_t divide(std::size_t value, std::size_t by) {
  if (((value | by) >> 32) == 0) return static_cast<std::uint32_t>(value) / static_cast<std::uint32_t>(by);
  return value / by;
}
inline constexpr std::size_t divide_up(std::size_t value, std::size_t by) {
  return divide(value + by - 1, by);
}

}  // namespace ir::kernels

#endif  // KERNELS_BASE_DIVIDE_H_
