// The choice of a kernel for every convolution, plain or fused.
#ifndef RUNTIME_OPS_CONVOLUTION_KERNEL_H_
#define RUNTIME_OPS_CONVOLUTION_KERNEL_H_

#include <string>

#include "ir_runtime/ops/convolution.h"
#include "kernels/convolution/convolution.h"
#include "runtime/ops/epilogue.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/prologue.h"
#include "runtime/ops/windows.h"

namespace ir::op {

/// What the leading axes of the filters mean.
struct FilterLayout {
  bool grouped = false;
  bool transposed = false;

  [[nodiscard]] std::size_t in_axis() const { return (grouped ? 1U : 0U) + (transposed ? 0U : 1U); }
  [[nodiscard]] std::size_t out_axis() const { return (grouped ? 1U : 0U) + (transposed ? 1U : 0U); }
  /// The first axis of the window.
  [[nodiscard]] std::size_t window_axis() const { return grouped ? 3 : 2; }
};

WindowAttributes window_of(const ConvolutionAttributes& attributes);
WindowAttributes window_of(const TransposedConvolutionAttributes& attributes);

/// Whether the fast kernels take these strides: those of transposed convolutions prepare each phase of the
/// output on its own, of which there may be a few thousand.
bool has_fast_strides(const WindowAttributes& window, const FilterLayout& layout);

/// A convolution as the fast kernels take it, and what it costs.
struct FastConvolution {
  kernels::ConvolutionParams params;
  double flops = 0;
};

/// Of a convolution on f32, not transposed, over one to three spatial axes.
FastConvolution fast_convolution(const PrepareContext& context, const WindowAttributes& window,
                                 const FilterLayout& layout);

/// The words for it in ir_runtime/tuning.h: "in=1x3x224x224 out=64x112x112 kernel=7x7 ...".
std::string geometry_key(const kernels::ConvolutionParams& params);

/// The kernel for an image (input 0) and filters (input 1); `window` as the descriptor has it. For a
/// transposed convolution, `wants_shape` says whether an input gives the output's spatial dims. f32 over one
/// to three spatial axes with fast strides runs the fast kernels; an epilogue and a prologue (not of
/// transposed convolutions) need them.
PreparedKernel prepare_convolution(PrepareContext& context, const WindowAttributes& window,
                                   const FilterLayout& layout, bool wants_shape = false,
                                   const EpilogueOfStep& epilogue = {}, const PrologueOfStep& prologue = {});

}  // namespace ir::op

#endif  // RUNTIME_OPS_CONVOLUTION_KERNEL_H_
