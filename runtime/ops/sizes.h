// Sizes as kernels take them.
#ifndef RUNTIME_OPS_SIZES_H_
#define RUNTIME_OPS_SIZES_H_

#include <cstddef>
#include <cstdint>

namespace ir::op {

/// A dim of a static shape, or an attribute that inference has checked: not negative.
constexpr std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace ir::op

#endif  // RUNTIME_OPS_SIZES_H_
