// A product and a sum in one pass.
#ifndef KERNELS_ELEMENTWISE_SCALE_SHIFT_H_
#define KERNELS_ELEMENTWISE_SCALE_SHIFT_H_

#include <cstddef>

#include "kernels/base/broadcast.h"

namespace ir::kernels {

/// out[i] = x[i] * factor[i] + shift[i], rounded twice, and with `relu` no less than 0, on the calling
/// thread. `factor` and `shift` may be scalars; `out` may be any operand that is none.
void scale_shift_span(const float* x, SpanOperand factor, SpanOperand shift, bool relu, float* out,
                      std::size_t count);

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_SCALE_SHIFT_H_
