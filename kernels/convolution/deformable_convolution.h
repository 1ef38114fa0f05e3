// Deformable convolution over two spatial axes: data displaces every tap of every window.
#ifndef KERNELS_CONVOLUTION_DEFORMABLE_CONVOLUTION_H_
#define KERNELS_CONVOLUTION_DEFORMABLE_CONVOLUTION_H_

#include <cstddef>
#include <memory>

#include "kernels/base/window.h"
#include "kernels/matmul/gemm.h"

namespace ir::kernels {

/// Geometry. `y.in` and `x.in` may be 0; pad_end is not read.
struct DeformableConvolutionParams {
  std::size_t batch = 1;
  std::size_t in_channels = 0;   ///< over all groups, a multiple of `groups` and of `deformable_groups`
  std::size_t out_channels = 0;  ///< over all groups, a multiple of `groups`
  std::size_t groups = 1;
  /// Parts of the input channels that have displacements of their own.
  std::size_t deformable_groups = 1;
  WindowParams y;
  WindowParams x;
  /// What a place less than one pixel outside of the image reads: true: the image goes on with zeros, and the
  /// place blends its edge with them; false: nothing before the first pixel, the edge behind the last.
  bool blends_with_padding = false;
  /// As in GemmParams.
  bool accurate = false;
  bool whole_floats = false;
};

/// A prepared deformable convolution of one element type. Of an image, a tile of places is gathered into a
/// matrix (C_IN * taps rows, one column per place), which the weights then multiply. Places of real types are
/// interpolated bilinearly; NaN, infinite and far places read nothing. Sums as in Gemm (float) or
/// gemm_generic (all others; integers wrap to T). Bits do not depend on the number of threads. T: float,
/// double, (u)int8_t .. (u)int64_t. Definition: DeformableConvolution-8; version 1 has no mask and does not
/// blend with padding.
template <class T>
class DeformableConvolution {
 public:
  /// `weights` as in `run`: float packs them, and `run` does not read them again. nullptr: known late.
  DeformableConvolution(const DeformableConvolutionParams& params, const T* weights);

  /// Bytes that `scratch` must have, aligned to 64; bounded by an image and a few MB or 16 times the weights.
  [[nodiscard]] std::size_t scratch_bytes() const;

  /// image [batch, in_channels, y.in, x.in]; offsets [batch, deformable_groups * taps * 2, y.out, x.out], for
  /// each tap the displacement along y, then along x; weights [out_channels, in_channels / groups, taps];
  /// mask [batch, deformable_groups * taps, y.out, x.out] scales what taps read, nullptr: ones; out [batch,
  /// out_channels, y.out, x.out] overlaps nothing. Thread-safe with different scratch.
  void run(const T* image, const T* offsets, const T* weights, const T* mask, T* out,
           std::byte* scratch) const;

 private:
  /// Of one image.
  struct Sources {
    const T* image;
    const T* offsets;
    const T* mask;
    const T* turned;  ///< the image, kSampledChannels channels side by side; null: not made
  };
  [[nodiscard]] std::size_t turned_bytes() const;
  void turn(const T* image, T* turned) const;
  void gather(const Sources& sources, std::size_t first_place, T* columns) const;
  void multiply(const T* weights, const T* columns, T* out, std::byte* scratch) const;

  DeformableConvolutionParams params_;
  std::size_t taps_ = 0;
  std::size_t places_ = 0;  ///< of one output plane
  std::size_t tile_ = 0;    ///< places that are gathered at a time
  std::size_t tiles_ = 0;
  bool turns_ = false;  ///< the image, so that a place of many channels is read at once
  GemmParams product_;
  std::shared_ptr<const Gemm> gemm_;  ///< float only
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_DEFORMABLE_CONVOLUTION_H_
