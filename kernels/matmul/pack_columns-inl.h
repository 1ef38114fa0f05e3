// Packing of columns, with or without a function on the way. Included inside a foreach_target file, after
// highway.h.
#if defined(KERNELS_MATMUL_PACK_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_MATMUL_PACK_COLUMNS_INL_H_
#undef KERNELS_MATMUL_PACK_COLUMNS_INL_H_
#else
#define KERNELS_MATMUL_PACK_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// What a TermMap does to the values of term k.
class Mapped {
 public:
  HWY_INLINE Mapped(const TermMap& map, std::size_t k)
      : scale_(hn::Set(D(), map.scale[k])),
        shift_(hn::Set(D(), map.shift[k])),
        low_(hn::Set(D(), map.low)),
        high_(hn::Set(D(), map.high)) {}
  HWY_INLINE V operator()(V v) const { return clamp(low_, high_, hn::MulAdd(v, scale_, shift_)); }

 private:
  V scale_, shift_, low_, high_;
};

/// See GemmKernels::pack_columns. `function_of(k)` gives what is done to vectors of term k.
template <class FunctionOf>
HWY_INLINE void pack_columns(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                             const Split& panels, float* packed, const FunctionOf& function_of) {
  const D d;
  // Row by row, so that the source is read in long runs: its rows are often pages apart, and fetched ahead
  // because no hardware does that across pages. What is fetched and written meanwhile should stay in the
  // first-level cache.
  constexpr std::size_t kPanelsAtOnce = 16;
  for (std::size_t first_panel = 0; first_panel < panels.parts; first_panel += kPanelsAtOnce) {
    const std::size_t count = std::min(kPanelsAtOnce, panels.parts - first_panel);
    std::size_t borders[kPanelsAtOnce + 1];
    for (std::size_t i = 0; i <= count; ++i) borders[i] = panels.begin(first_panel + i) * kLanes;
    const std::size_t end = std::min(borders[count], columns);
    for (std::size_t k = 0; k < depth; ++k) {
      const auto function = function_of(k);
      const float* const row = from + k * stride;
      if (k + kRowsAhead < depth) fetch_row(row + kRowsAhead * stride + borders[0], end - borders[0]);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = borders[i];
        const std::size_t width = borders[i + 1] - first;
        float* const to = packed + first * depth + k * width;
        const std::size_t present = std::min(width, columns - first);
        std::size_t j = 0;
        for (; j + kLanes <= present; j += kLanes)
          hn::Store(function(hn::LoadU(d, row + first + j)), d, to + j);
        if (j < present) {
          const V edge = function(load_edge(row + first + j, present - j));
          hn::Store(hn::IfThenElseZero(hn::FirstN(d, present - j), edge), d, to + j);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_MATMUL_PACK_COLUMNS_INL_H_
