// What a fused convolution knows of its image and does to it first, as the kernels take it, and what a matrix
// product knows of its input 0.
#ifndef RUNTIME_OPS_PROLOGUE_H_
#define RUNTIME_OPS_PROLOGUE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/convolution/prologue.h"
#include "kernels/elementwise/fake_quantize.h"
#include "kernels/weights/integer_weights.h"

namespace ir::op {

/// The default does nothing.
struct PrologueOfStep {
  /// What the values are, if that is known.
  std::optional<kernels::IntegerGrid> grid;
  /// Many are expected to be 0.
  bool rectified = false;
  /// The image is levels of it, u8, if it is not empty.
  std::vector<kernels::Quantization> levels;
  kernels::Prologue prologue;
  /// The input that is the scale of each run.
  std::optional<std::size_t> scale_input;
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_PROLOGUE_H_
