// How far two tensors lie apart.
#ifndef SAMPLES_RUN_IR_DEVIATION_H_
#define SAMPLES_RUN_IR_DEVIATION_H_

#include <cstddef>
#include <string>

#include "ir_runtime/tensor.h"

namespace run_ir {

/// Positions count through the dense tensors. NaN equals NaN; a NaN or an infinity that only one side has is
/// infinitely far off.
struct Deviation {
  std::size_t elements = 0;
  std::size_t different = 0;
  /// Position of the first element that differs; the rest is 0 when none does.
  std::size_t first = 0;
  /// Largest |a - b|, and largest |a - b| / max(|a|, |b|).
  double absolute = 0;
  std::size_t absolute_at = 0;
  double relative = 0;
  std::size_t relative_at = 0;
  /// ||a - b|| / ||a||; ||a - b|| when a is 0. For strings the share of those that differ.
  double relative_l2 = 0;
};

/// `a` and `b` have the same shape; their types may differ, but for strings.
Deviation deviation_of(const ir::Tensor& a, const ir::Tensor& b);

/// "identical", or what differs, with places and values; indented lines.
std::string describe(const Deviation& deviation, const ir::Tensor& a, const ir::Tensor& b);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_DEVIATION_H_
