// In what the plain kernels of any element type sum.
#ifndef KERNELS_BASE_ACCUMULATOR_H_
#define KERNELS_BASE_ACCUMULATOR_H_

#include <cstdint>
#include <type_traits>

namespace ir::kernels {

/// Floating types sum in themselves. Integers sum modulo 2^64: whatever the type, the sum cut to its bits is
/// then the one that wraps, and nothing overflows on the way. (Sign extension makes this hold for signed
/// types.)
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

}  // namespace ir::kernels

#endif  // KERNELS_BASE_ACCUMULATOR_H_
