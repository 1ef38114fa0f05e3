// Depthwise convolution of a plane as it lies in memory: no copy that has the padding and leaves out the
// stride. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_DEPTHWISE_DIRECT_H_
#define KERNELS_DEPTHWISE_DEPTHWISE_DIRECT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// Which loads of a span reach past the ends of the row.
enum class SpanEdges : std::uint8_t {
  none,
  outer,  ///< of two vectors, the first one with the taps before the middle, the second one with those behind
  any,    ///< of a single vector, which may be partial
};

/// One or two vectors of outputs of a row that are summed together: with a stride of 2, or edges of any kind,
/// one.
struct DirectSpan {
  SpanEdges edges = SpanEdges::any;
  std::size_t column[2] = {};  ///< the first output of each
  std::size_t stored[2] = {};  ///< outputs of each
  std::size_t masks = 0;       ///< where those of its loads begin in DirectPlane::masks, lane by lane
};

/// How a square window without dilation goes over a plane.
struct DirectPlane {
  std::size_t in_rows = 0;
  std::size_t in_columns = 0;
  std::size_t pad_rows = 0;
  std::size_t pad_columns = 0;
  std::vector<DirectSpan> spans;  ///< of a row of outputs
  std::vector<std::int32_t> masks;

  /// `overlap`: instead of a partial vector at the end of a row, one that begins earlier. What it has in
  /// common with the one before is stored twice.
  DirectPlane(const ConvolutionGeometry& geometry, bool overlap);

 private:
  /// Whether a sample, counted with the padding, is one of the row.
  [[nodiscard]] bool is_inside(std::size_t sample) const {
    return sample >= pad_columns && sample < pad_columns + in_columns;
  }
  void append_masks(std::size_t first, const ConvolutionAxis& axis, std::size_t lanes);
};

/// Where rows of outputs go, and what is done to sums on the way.
struct DirectOutputs {
  float* out;
  const float* residual;  ///< nullptr: none
  std::size_t stride;     ///< between rows of both
  const float* bias;      ///< nullptr: 0
  float low;
  float high;
};

/// Rows [row, row + rows) of the outputs of a plane, the first of which is to.out: out(r, x) = clamp(sum over
/// the window of weights * image + bias + residual). Reads only what is inside of the image.
using DirectDepthwise = void (*)(const DirectPlane& plane, const float* image, const float* weights,
                                 std::size_t row, std::size_t rows, const DirectOutputs& to);

/// That of the SIMD target that dispatch picks now; nullptr where the target or the geometry has none.
DirectDepthwise direct_depthwise(const ConvolutionGeometry& geometry);

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_DEPTHWISE_DIRECT_H_
