// What operations that move elements, and never look at them, have in common.
#ifndef RUNTIME_OPS_MOVED_ELEMENTS_H_
#define RUNTIME_OPS_MOVED_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

// Inference.

/// The type that all inputs named share (dynamic matches any).
ElementType require_one_type(const InferContext& context, std::span<const std::size_t> indices);

/// The rank of input `index`, when known, is at least `min`.
void require_min_rank(const InferContext& context, std::size_t index, std::size_t min);

/// Input `index` is not of type string, which `op_type` does not take.
void require_no_strings(const InferContext& context, std::size_t index, std::string_view op_type);

/// `dim`, that of `axis` of input 0, divided by `divisor` > 0. Fails with IR-shape when that leaves a rest.
Dimension exact_quotient(const InferContext& context, const Dimension& dim, std::int64_t divisor,
                         std::size_t axis);

/// Sets what is known of the elements of all outputs, integers or reals, when some elements of the inputs
/// `moved` are known and all other inputs are constant: runs `op` on the positions of the elements in place
/// of the elements.
void propagate_moved_elements(InferContext& context, const Op& op, std::span<const std::size_t> moved);
inline void propagate_moved_elements(InferContext& context, const Op& op,
                                     std::initializer_list<std::size_t> moved) {
  propagate_moved_elements(context, op, std::span(moved.begin(), moved.size()));
}

/// Output 0 holds the elements of input 0 in the same order.
void keep_elements(InferContext& context);

// Preparation.

/// Throws IR-needs-constant when an output's shape is not known: for operations that take it from there.
void require_known_outputs(const PrepareContext& context);

/// Dims as kernels take them.
std::vector<std::size_t> sizes_of(std::span<const std::int64_t> dims);

/// Product of the dims [first, last) of a static shape.
std::size_t volume(const Shape& shape, std::size_t first, std::size_t last);
inline std::size_t volume(const Shape& shape, std::size_t first = 0) {
  return volume(shape, first, shape.size());
}

/// Calls `f.template operator()<T>()` with the unsigned type of `bytes` (1, 2, 4 or 8), which holds the bits
/// of an element: enough where elements only move.
template <class F>
void with_bits_of(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

/// Bytes per element for a kernel that goes through `moving_kernel`: packed types are unpacked to one byte,
/// positions of 8 bytes stand for strings. Fails for other types without elements of a fixed size.
std::size_t moved_bytes(const PrepareContext& context);

/// A kernel whose `run` moves elements of `moved_bytes` from the inputs `moved` to all outputs. Where the
/// element type is packed, the inputs are unpacked before and the outputs packed after, in scratch memory.
/// Strings are moved by their positions in the inputs; a zero that `run` makes up is the empty string.
PreparedKernel moving_kernel(const PrepareContext& context, std::string_view name,
                             std::span<const std::size_t> moved, std::function<void(const StepMemory&)> run,
                             std::size_t scratch_bytes = 0);
inline PreparedKernel moving_kernel(const PrepareContext& context, std::string_view name,
                                    std::initializer_list<std::size_t> moved,
                                    std::function<void(const StepMemory&)> run,
                                    std::size_t scratch_bytes = 0) {
  return moving_kernel(context, name, std::span(moved.begin(), moved.size()), std::move(run), scratch_bytes);
}

/// Where element `first` of a tensor of `type` lies; empty when it does not start a byte.
std::optional<std::size_t> byte_offset_of(ElementType type, std::size_t first);

/// Output 0 as the part of input 0 that starts with element `first`; empty when that does not start a byte.
std::optional<PreparedKernel> view_from(const PrepareContext& context, std::size_t first);

}  // namespace ir::op

#endif  // RUNTIME_OPS_MOVED_ELEMENTS_H_
