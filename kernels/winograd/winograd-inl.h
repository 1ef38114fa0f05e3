// Winograd's transforms of one dimension, on vectors. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_WINOGRAD_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_WINOGRAD_WINOGRAD_INL_H_
#undef KERNELS_WINOGRAD_WINOGRAD_INL_H_
#else
#define KERNELS_WINOGRAD_WINOGRAD_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

// The one-dimensional transforms for interpolation at 0, 1, -1, (2, -2) and infinity. `filter` leaves out the
// factors kFilterScale, which may be made up for later.

HWY_INLINE V add_times(V v, float factor, V w) { return hn::MulAdd(hn::Set(D(), factor), w, v); }

template <std::size_t kOutputs>
struct Transform;

template <>
struct Transform<2> {
  static constexpr double kFilter[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  static constexpr float kFilterScale[4] = {1, 0.5F, 0.5F, 1};

  static HWY_INLINE void filter(const V (&g)[3], V (&t)[4]) {
    const V outer = hn::Add(g[0], g[2]);
    t[0] = g[0];
    t[1] = hn::Add(outer, g[1]);
    t[2] = hn::Sub(outer, g[1]);
    t[3] = g[2];
  }
  static HWY_INLINE void input(const V (&d)[4], V (&t)[4]) {
    t[0] = hn::Sub(d[0], d[2]);
    t[1] = hn::Add(d[1], d[2]);
    t[2] = hn::Sub(d[2], d[1]);
    t[3] = hn::Sub(d[1], d[3]);
  }
  static HWY_INLINE void output(const V (&t)[4], V (&y)[2]) {
    y[0] = hn::Add(t[0], hn::Add(t[1], t[2]));
    y[1] = hn::Sub(hn::Sub(t[1], t[2]), t[3]);
  }
};

template <>
struct Transform<4> {
  static constexpr double kFilter[6][3] = {{1.0 / 4, 0, 0},
                                           {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                           {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                           {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                           {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                           {0, 0, 1}};
  static constexpr float kFilterScale[6] = {1.0F / 4, -1.0F / 6, -1.0F / 6, 1.0F / 24, 1.0F / 24, 1};

  static HWY_INLINE void filter(const V (&g)[3], V (&t)[6]) {
    const V outer_1 = hn::Add(g[0], g[2]);
    const V outer_2 = add_times(g[0], 4, g[2]);
    t[0] = g[0];
    t[1] = hn::Add(outer_1, g[1]);
    t[2] = hn::Sub(outer_1, g[1]);
    t[3] = add_times(outer_2, 2, g[1]);
    t[4] = add_times(outer_2, -2, g[1]);
    t[5] = g[2];
  }
  static HWY_INLINE void input(const V (&d)[6], V (&t)[6]) {
    t[0] = add_times(add_times(d[4], -5, d[2]), 4, d[0]);
    const V even_1 = add_times(d[4], -4, d[2]);
    const V odd_1 = add_times(d[3], -4, d[1]);
    t[1] = hn::Add(even_1, odd_1);
    t[2] = hn::Sub(even_1, odd_1);
    const V even_2 = hn::Sub(d[4], d[2]);
    const V odd_2 = hn::Sub(d[3], d[1]);
    t[3] = add_times(even_2, 2, odd_2);
    t[4] = add_times(even_2, -2, odd_2);
    t[5] = add_times(add_times(d[5], -5, d[3]), 4, d[1]);
  }
  static HWY_INLINE void output(const V (&t)[6], V (&y)[4]) {
    const V sum_1 = hn::Add(t[1], t[2]);
    const V difference_1 = hn::Sub(t[1], t[2]);
    const V sum_2 = hn::Add(t[3], t[4]);
    const V difference_2 = hn::Sub(t[3], t[4]);
    y[0] = hn::Add(hn::Add(t[0], sum_1), sum_2);
    y[1] = add_times(difference_1, 2, difference_2);
    y[2] = add_times(sum_1, 4, sum_2);
    y[3] = hn::Add(add_times(difference_1, 8, difference_2), t[5]);
  }
};

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_WINOGRAD_WINOGRAD_INL_H_
