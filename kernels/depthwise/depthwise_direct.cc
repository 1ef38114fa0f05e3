#include "kernels/depthwise/depthwise_direct.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise/depthwise_direct.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Which vectors of a span look past the end of the row with a tap. `first` and `last`: of two.
enum class Masked { none, first, last, all };
[[maybe_unused]] constexpr Masked masked_at(SpanEdges edges, std::size_t tap, std::size_t side) {
  if (edges == SpanEdges::any) return Masked::all;
  if (edges == SpanEdges::none || tap == side / 2) return Masked::none;
  return tap < side / 2 ? Masked::first : Masked::last;
}

template <std::size_t kValue>
using Constant = std::integral_constant<std::size_t, kValue>;

[[maybe_unused]] HWY_INLINE hn::Mask<D> mask_at(const std::int32_t* lanes) {
  return hn::MaskFromVec(hn::BitCast(D(), hn::LoadU(hn::RebindToSigned<D>(), lanes)));
}
template <bool kMasks>
HWY_INLINE V load_samples(const float* from, const std::int32_t* masks) {
  if constexpr (!kMasks) return hn::LoadU(D(), from);
  return hn::MaskedLoad(mask_at(masks), D(), from);
}

// What is done with one row of the image: its samples are taken group by group (those of a tap, or of two),
// and a group is added to the sums of one row of outputs after the other.

/// The weights of a window in vectors.
template <std::size_t kSide, bool kHeld = kManyRegisters&& kSide == 3>
class Window {
 public:
  explicit HWY_INLINE Window(const float* weights) : weights_(weights) {}
  HWY_INLINE V operator[](std::size_t i) const { return hn::Set(D(), weights_[i]); }

 private:
  const float* weights_;
};
/// They stay in registers where there are as many.
template <std::size_t kSide>
class Window<kSide, true> {
 public:
  explicit HWY_INLINE Window(const float* weights) {
    KERNELS_UNROLL for (std::size_t i = 0; i < kSide * kSide; ++i) weights_[i] = hn::Set(D(), weights[i]);
  }
  HWY_INLINE V operator[](std::size_t i) const { return weights_[i]; }

 private:
  V weights_[kSide * kSide];
};

/// Neighbouring outputs see neighbouring samples.
template <std::size_t kSide, std::size_t kVectors>
struct Dense {
  /// Which samples of each vector are inside of the row, tap by tap.
  template <SpanEdges kEdges>
  class Inside {
   public:
    explicit HWY_INLINE Inside([[maybe_unused]] const std::int32_t* masks) {
      if constexpr (kEdges != SpanEdges::none) {
        KERNELS_UNROLL for (std::size_t i = 0; i < kVectors * kSide; ++i) {
          masks_[i] = mask_at(masks + i * kLanes);
        }
      }
    }
    template <std::size_t kVector, std::size_t kTap>
    HWY_INLINE V load(const float* from) const {
      constexpr Masked kMasked = masked_at(kEdges, kTap, kSide);
      if constexpr (kMasked == Masked::all || kMasked == (kVector == 0 ? Masked::first : Masked::last))
        return keep(hn::MaskedLoad(masks_[kVector * kSide + kTap], D(), from));
      return keep(hn::LoadU(D(), from));
    }

   private:
    hn::Mask<D> masks_[kVectors * kSide];
  };
  struct Sums {
    HWY_INLINE void start(V bias) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) values[v] = bias;
    }
    HWY_INLINE void add(const V (&samples)[kVectors], V factor) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        values[v] = hn::MulAdd(factor, samples[v], values[v]);
      }
    }
    V values[kVectors];
  };
};

/// Neighbouring outputs are two samples apart. Taps go two by two, with weights that alternate; even and odd
/// lanes are added in the end. The last tap remains: a blend of two loads has the lower half of its samples
/// in even lanes and the upper half in odd ones.
template <std::size_t kSide>
struct Alternating {
  static constexpr std::size_t kGroups = (kSide + 1) / 2;
  static_assert(kSide % 2 == 1);

  struct Samples {
    template <Masked kMasked>
    HWY_INLINE void load(const float* from, std::size_t group, const std::int32_t* masks) {
      constexpr bool kMasks = kMasked != Masked::none;
      const bool single = group + 1 == kGroups;
      const float* const first = from + 2 * group;
      masks += 2 * group * kLanes;
      lower = keep(load_samples<kMasks>(first, masks));
      upper = keep(load_samples<kMasks>(first + (single ? kLanes - 1 : kLanes), masks + kLanes));
      if (single) lower = hn::OddEven(upper, lower);
    }
    V lower, upper;
  };
  struct Sums {
    HWY_INLINE void start(V bias) {
      last = bias;
      lower = upper = hn::Zero(D());
    }
    HWY_INLINE void add(const Samples& samples, std::size_t group, const float* weights) {
      if (group + 1 == kGroups) {
        last = hn::MulAdd(hn::Set(D(), weights[2 * group]), samples.lower, last);
      } else {
        std::uint64_t two;
        std::memcpy(&two, weights + 2 * group, sizeof(two));
        const V factors = hn::BitCast(D(), hn::Set(hn::Repartition<std::uint64_t, D>(), two));
        lower = hn::MulAdd(factors, samples.lower, lower);
        upper = hn::MulAdd(factors, samples.upper, upper);
      }
    }
    HWY_INLINE V result() const {
      const V pairs =
          hn::OddEven(hn::Add(upper, hn::Shuffle2301(upper)), hn::Add(lower, hn::Shuffle2301(lower)));
      HWY_ALIGN std::int32_t lanes[kLanes];
      for (std::size_t i = 0; i < kLanes / 2; ++i) {
        lanes[i] = static_cast<std::int32_t>(2 * i);
        lanes[i + kLanes / 2] = static_cast<std::int32_t>(2 * i + 1);
      }
      const auto order = hn::IndicesFromVec(D(), hn::Load(hn::RebindToSigned<D>(), lanes));
      return hn::TableLookupLanes(hn::Add(pairs, last), order);
    }
    V lower, upper, last;
  };
};

/// What the first tap of a vector of outputs sees in row `top` of the image, which may be above it.
[[maybe_unused]] HWY_INLINE const float* first_sample(const DirectPlane& plane, std::size_t column,
                                                      std::size_t step, const float* image,
                                                      std::ptrdiff_t top) {
  const auto row = top * static_cast<std::ptrdiff_t>(plane.in_columns);
  return image +
         (row + static_cast<std::ptrdiff_t>(step * column) - static_cast<std::ptrdiff_t>(plane.pad_columns));
}

/// What is done to sums in the end. Compilers do not see that stores leave DirectOutputs alone: this is a
/// copy.
class Finish {
 public:
  explicit HWY_INLINE Finish(const DirectOutputs& to)
      : low_(hn::Set(D(), to.low)), high_(hn::Set(D(), to.high)), residual_(to.residual), out_(to.out) {}
  /// Stores one vector `at` floats behind DirectOutputs::out.
  template <SpanEdges kEdges>
  HWY_INLINE void store(V sum, std::size_t at, std::size_t stored) const {
    if (residual_ != nullptr) sum = hn::Add(sum, load_edge(residual_ + at, stored));
    if (kEdges != SpanEdges::any || stored == kLanes) {
      hn::StoreU(clamp(low_, high_, sum), D(), out_ + at);
    } else {
      store_edge(clamp(low_, high_, sum), out_ + at, stored);
    }
  }

 private:
  V low_, high_;
  const float* residual_;
  float* out_;
};

[[maybe_unused]] HWY_INLINE V bias_of(const DirectOutputs& to) {
  return hn::Set(D(), to.bias != nullptr ? *to.bias : 0.0F);
}

/// Rows of outputs: the first row that their windows see, which may be above the image, and how many floats
/// behind DirectOutputs::out they begin.
struct OutputRows {
  std::ptrdiff_t top;
  std::size_t at;
};

/// kRows rows of one span of windows two samples apart. kInside: no window sees a row outside of the image.
template <std::size_t kSide, std::size_t kRows, bool kInside, SpanEdges kEdges>
HWY_INLINE void convolve_span(const DirectPlane& plane, const DirectSpan& span, const float* image,
                              const float* weights, const OutputRows& rows, const DirectOutputs& to) {
  using Row = Alternating<kSide>;
  typename Row::Sums sums[kRows];
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) sums[r].start(bias_of(to));
  const float* from = first_sample(plane, span.column[0], 2, image, rows.top);
  const std::int32_t* const masks = plane.masks.data() + span.masks;
  const std::size_t line = plane.in_columns;
  const std::size_t inside = plane.in_rows;
  const std::size_t stride = to.stride;
  const std::size_t at = rows.at + span.column[0];
  const std::size_t stored = span.stored[0];
  const Finish finish(to);
  KERNELS_UNROLL for (std::size_t y = 0; y < (kRows - 1) * 2 + kSide; ++y) {
    if (kInside || static_cast<std::size_t>(rows.top) + y < inside) {
      KERNELS_UNROLL for (std::size_t group = 0; group < Row::kGroups; ++group) {
        typename Row::Samples samples;
        samples.template load<masked_at(kEdges, 0, kSide)>(from, group, masks);
        KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
          if (2 * r > y || y - 2 * r >= kSide) continue;
          sums[r].add(samples, group, weights + (y - 2 * r) * kSide);
        }
      }
    }
    from += line;
  }
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    finish.store<kEdges>(sums[r].result(), at + r * stride, stored);
  }
}

template <std::size_t kSide, std::size_t kRows, bool kInside>
void convolve_rows(const DirectPlane& plane, const float* image, const float* weights, const OutputRows& rows,
                   const DirectOutputs& to) {
  for (const DirectSpan& span : plane.spans) {
    if (span.edges == SpanEdges::none) {
      convolve_span<kSide, kRows, kInside, SpanEdges::none>(plane, span, image, weights, rows, to);
    } else {
      convolve_span<kSide, kRows, kInside, SpanEdges::any>(plane, span, image, weights, rows, to);
    }
  }
}

/// One span of all rows, for windows side by side: every row of samples is loaded once, and added to the sums
/// of all rows that see it.
template <std::size_t kSide, std::size_t kVectors, SpanEdges kEdges>
HWY_INLINE void convolve_down(const DirectPlane& plane, const DirectSpan& span, const float* image,
                              const float* weights, std::size_t row, std::size_t rows,
                              const DirectOutputs& to) {
  using Row = Dense<kSide, kVectors>;
  typename Row::Sums sums[kSide];  // of the uppermost row that is not finished, and those below
  const Window<kSide> window(weights);
  const V bias = bias_of(to);
  KERNELS_UNROLL for (std::size_t r = 0; r + 1 < kSide; ++r) sums[r].start(bias);
  const auto top = static_cast<std::ptrdiff_t>(row) - static_cast<std::ptrdiff_t>(plane.pad_rows);
  const typename Row::template Inside<kEdges> samples_inside(plane.masks.data() + span.masks);
  const float* from = first_sample(plane, span.column[0], 1, image, top);
  // Variables of their own: compilers do not see that stores leave the span alone.
  const std::size_t apart = span.column[kVectors - 1] - span.column[0];
  const std::size_t stored = span.stored[0];
  const std::size_t line = plane.in_columns;
  const std::size_t inside = plane.in_rows;
  const std::size_t stride = to.stride;
  const Finish finish(to);
  std::size_t at = span.column[0];
  for (std::size_t y = 0; y < rows + kSide - 1; ++y) {
    sums[kSide - 1].start(bias);
    if (static_cast<std::size_t>(top) + y < inside) {
      const auto add_tap = [&](auto tap) HWY_ATTR {
        constexpr std::size_t kTap = decltype(tap)::value;
        V samples[kVectors];
        samples[0] = samples_inside.template load<0, kTap>(from + kTap);
        if constexpr (kVectors == 2) samples[1] = samples_inside.template load<1, kTap>(from + apart + kTap);
        KERNELS_UNROLL for (std::size_t r = 0; r < kSide; ++r) {
          sums[r].add(samples, window[(kSide - 1 - r) * kSide + kTap]);
        }
      };
      const auto add_taps = [&]<std::size_t... kTaps>(std::index_sequence<kTaps...>) HWY_ATTR {
        (add_tap(Constant<kTaps>()), ...);
      };
      add_taps(std::make_index_sequence<kSide>());
    }
    if (y + 1 >= kSide) {
      finish.store<kEdges>(sums[0].values[0], at, stored);
      if constexpr (kVectors == 2) finish.store<kEdges>(sums[0].values[1], at + apart, kLanes);
      at += stride;
    }
    KERNELS_UNROLL for (std::size_t r = 0; r + 1 < kSide; ++r) sums[r] = sums[r + 1];
    from += line;
  }
}

// Not used where masks touch memory.
template <std::size_t kSide>
[[maybe_unused]] void ConvolveDown(const DirectPlane& plane, const float* image, const float* weights,
                                   std::size_t row, std::size_t rows, const DirectOutputs& to) {
  for (const DirectSpan& span : plane.spans) {
    if (span.edges == SpanEdges::none) {
      convolve_down<kSide, 2, SpanEdges::none>(plane, span, image, weights, row, rows, to);
    } else if (span.edges == SpanEdges::outer) {
      convolve_down<kSide, 2, SpanEdges::outer>(plane, span, image, weights, row, rows, to);
    } else {
      convolve_down<kSide, 1, SpanEdges::any>(plane, span, image, weights, row, rows, to);
    }
  }
}

// A stride of 2. Not used where masks touch memory, either.
template <std::size_t kSide>
[[maybe_unused]] void ConvolveAlternating(const DirectPlane& plane, const float* image, const float* weights,
                                          std::size_t row, std::size_t rows, const DirectOutputs& to) {
  OutputRows part{static_cast<std::ptrdiff_t>(row * 2) - static_cast<std::ptrdiff_t>(plane.pad_rows), 0};
  const auto step_down = [&](std::size_t count) {
    part.top += static_cast<std::ptrdiff_t>(count * 2);
    part.at += count * to.stride;
  };
  for (; rows >= 4; rows -= 4) {
    // Larger windows have more to do in each row that is looked at.
    const bool inside = part.top >= 0 && static_cast<std::size_t>(part.top) + 3 * 2 + kSide <= plane.in_rows;
    if (kSide == 3 && inside) {
      convolve_rows<kSide, 4, kSide == 3>(plane, image, weights, part, to);
    } else {
      convolve_rows<kSide, 4, false>(plane, image, weights, part, to);
    }
    step_down(4);
  }
  if (rows >= 2) {
    convolve_rows<kSide, 2, false>(plane, image, weights, part, to);
    step_down(2);
  }
  if (rows % 2 != 0) convolve_rows<kSide, 1, false>(plane, image, weights, part, to);
}

}  // namespace

DirectDepthwise DirectKernel([[maybe_unused]] std::size_t step, [[maybe_unused]] std::size_t side) {
  if constexpr (kMasksMemory<float>) {
    if (step == 1 && side == 3) return ConvolveDown<3>;
    if (step == 1 && side == 5) return ConvolveDown<5>;
    if (step == 1 && side == 7) return ConvolveDown<7>;
    if (step == 2 && side == 3) return ConvolveAlternating<3>;
    if (step == 2 && side == 5) return ConvolveAlternating<5>;
  }
  return nullptr;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(DirectKernel);

DirectPlane::DirectPlane(const ConvolutionGeometry& geometry, bool overlap)
    : in_rows(geometry.axes[1].in),
      in_columns(geometry.axes[2].in),
      pad_rows(static_cast<std::size_t>(geometry.axes[1].pad)),
      pad_columns(static_cast<std::size_t>(geometry.axes[2].pad)) {
  const ConvolutionAxis& axis = geometry.axes[2];
  const std::size_t lanes = gemm_kernels().lanes;
  const std::size_t vectors = divide_up(axis.out, lanes);
  const auto column_of = [&](std::size_t vector) {
    const std::size_t column = vector * lanes;
    return overlap && axis.out >= lanes ? std::min(column, axis.out - lanes) : column;
  };
  const auto stored = [&](std::size_t column) { return std::min(lanes, axis.out - column); };
  // Whether taps [begin, end) of a vector stay inside of the row.
  const auto is_clean = [&](std::size_t column, std::size_t begin, std::size_t end) {
    const std::size_t first = column * axis.stride;
    return stored(column) == lanes && is_inside(first + begin) &&
           is_inside(first + (lanes - 1) * axis.stride + end - 1);
  };
  const std::size_t half = axis.kernel / 2;
  for (std::size_t vector = 0; vector < vectors;) {
    DirectSpan span;
    span.column[0] = column_of(vector);
    span.stored[0] = stored(span.column[0]);
    if (axis.stride == 1 && vector + 1 < vectors) {
      span.column[1] = column_of(vector + 1);
      span.stored[1] = stored(span.column[1]);
      if (is_clean(span.column[0], 0, axis.kernel) && is_clean(span.column[1], 0, axis.kernel)) {
        span.edges = SpanEdges::none;
      } else if (is_clean(span.column[0], half, axis.kernel) && is_clean(span.column[1], 0, half + 1)) {
        span.edges = SpanEdges::outer;
      }
    } else if (axis.stride != 1 && is_clean(span.column[0], 0, axis.kernel)) {
      span.edges = SpanEdges::none;
    }
    const bool single = axis.stride != 1 || span.edges == SpanEdges::any;
    span.masks = masks.size();
    if (span.edges != SpanEdges::none) append_masks(span.column[0] * axis.stride, axis, lanes);
    if (span.edges == SpanEdges::outer) append_masks(span.column[1] * axis.stride, axis, lanes);
    spans.push_back(span);
    vector += single ? 1 : 2;
  }
}

void DirectPlane::append_masks(std::size_t first, const ConvolutionAxis& axis, std::size_t lanes) {
  for (std::size_t tap = 0; tap < axis.kernel; tap += axis.stride) {
    // With a stride of 2, both loads of the last tap have some samples that count.
    const bool blended = axis.stride == 2 && tap + 1 == axis.kernel;
    for (std::size_t load = 0; load < axis.stride; ++load) {
      const std::size_t sample = first + tap + load * (blended ? lanes - 1 : lanes);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const bool counts = !blended || lane % 2 == load;
        masks.push_back(counts && is_inside(sample + lane) ? -1 : 0);
      }
    }
  }
}

DirectDepthwise direct_depthwise(const ConvolutionGeometry& geometry) {
  if (!geometry.is_square()) return nullptr;
  return HWY_DYNAMIC_DISPATCH(DirectKernel)(geometry.axes[2].stride, geometry.axes[2].kernel);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
