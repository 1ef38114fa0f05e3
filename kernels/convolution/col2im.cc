#include "kernels/convolution/col2im.h"

#include <algorithm>
#include <type_traits>

#include "kernels/base/integer_math.h"
#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// The windows of which one tap lies in the image: [first, end), on it at `at`, at + stride, ...
struct Run {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t at = 0;
};

Run windows_inside(const WindowParams& axis, std::size_t tap) {
  const std::size_t shift = tap * axis.dilation;
  Run run;
  if (shift < axis.pad_begin) run.first = (axis.pad_begin - shift + axis.stride - 1) / axis.stride;
  run.at = run.first * axis.stride + shift - axis.pad_begin;
  run.end = run.first;
  if (run.at < axis.in && run.first < axis.out) {
    run.end = std::min(axis.out, run.first + (axis.in - 1 - run.at) / axis.stride + 1);
  }
  return run;
}

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_add(a, b);
  } else {
    return a + b;
  }
}

template <class T>
void add_plane(const Col2ImParams& params, const T* columns, T* image) {
  for (std::size_t ky = 0; ky < params.y.kernel; ++ky) {
    const Run rows = windows_inside(params.y, ky);
    for (std::size_t kx = 0; kx < params.x.kernel; ++kx) {
      const Run places = windows_inside(params.x, kx);
      for (std::size_t row = rows.first; row < rows.end; ++row) {
        const T* const from = columns + row * params.x.out;
        const std::size_t to = (rows.at + (row - rows.first) * params.y.stride) * params.x.in + places.at;
        for (std::size_t place = places.first; place < places.end; ++place) {
          T& pixel = image[to + (place - places.first) * params.x.stride];
          pixel = sum(pixel, from[place]);
        }
      }
      columns += params.y.out * params.x.out;
    }
  }
}

}  // namespace

template <class T>
void col2im(const Col2ImParams& params, const T* columns, T* image) {
  const std::size_t pixels = params.y.in * params.x.in;
  const std::size_t taps = params.y.kernel * params.x.kernel * params.y.out * params.x.out;
  parallel_for(params.planes, grain_for_cost(pixels + 2 * taps), [&](std::size_t begin, std::size_t end) {
    std::fill(image + begin * pixels, image + end * pixels, T{0});
    for (std::size_t plane = begin; plane < end; ++plane) {
      add_plane(params, columns + plane * taps, image + plane * pixels);
    }
  });
}

#define IR_COL2IM(T) template void col2im(const Col2ImParams&, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_COL2IM)
#undef IR_COL2IM

}  // namespace ir::kernels
