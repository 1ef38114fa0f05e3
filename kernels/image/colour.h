// From the YUV of video frames to RGB, and back.
#ifndef KERNELS_IMAGE_COLOUR_H_
#define KERNELS_IMAGE_COLOUR_H_

#include <cstddef>

namespace ir::kernels {

/// The planes of frames whose chroma has half of the luma's height and width. Strides are in elements and
/// lead from one frame to the next.
template <class T>
struct YuvFrames {
  const T* y = nullptr;  ///< [height, width]
  /// [height / 2, width / 2], `chroma_step` elements from value to value: 1 for planes of their own (I420),
  /// 2 for pairs u, v (NV12, where v is u + 1).
  const T* u = nullptr;
  const T* v = nullptr;
  std::size_t chroma_step = 1;
  std::size_t y_stride = 0;
  std::size_t chroma_stride = 0;
};

enum class ColourOrder { rgb, bgr };

/// NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8: out [count, height, width, 3] with values in [0, 255].
/// `height` and `width` are even. Computed in float, as OpenVINO does; integers are rounded to nearest,
/// halves away from zero. Parallel over rows. T: uint8_t, float, double.
template <class T>
void yuv_to_rgb(const YuvFrames<T>& frames, std::size_t count, std::size_t height, std::size_t width,
                ColourOrder order, T* out);

/// Where NV12 frames go: luma [height, width] and pairs u, v [height / 2, width / 2]. Strides as in
/// YuvFrames.
template <class T>
struct Nv12Frames {
  T* y = nullptr;
  T* chroma = nullptr;
  std::size_t y_stride = 0;
  std::size_t chroma_stride = 0;
};

/// RGBtoNV12-17, BGRtoNV12-17: `in` is [count, height, width, 3], `height` and `width` are even. Computed in
/// double, as OpenVINO's reference does (floats would round some bytes another way); limits, roundings and
/// types as in yuv_to_rgb. Chroma is the mean of what it is, limited and rounded, in four pixels. Parallel
/// over pairs of rows.
template <class T>
void rgb_to_nv12(const T* in, std::size_t count, std::size_t height, std::size_t width, ColourOrder order,
                 const Nv12Frames<T>& out);

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_COLOUR_H_
