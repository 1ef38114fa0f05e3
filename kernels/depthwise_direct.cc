#include "kernels/depthwise_direct.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_direct.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Which rows of the image a tile may ask for.
enum class Rows { all_inside, any };
/// Which vectors of a span look past the end of the row with a tap. `first` and `last`: of two.
enum class Masked { none, first, last, all };
template <Masked kMasked>
using MaskedTag = std::integral_constant<Masked, kMasked>;

template <bool kMasks>
HWY_INLINE V load_samples(const float* from, const std::int32_t* masks) {
  const hn::RebindToSigned<D> di;
  if constexpr (!kMasks) return hn::LoadU(D(), from);
  return hn::MaskedLoad(hn::MaskFromVec(hn::BitCast(D(), hn::LoadU(di, masks))), D(), from);
}

// What a tile does with one row of the image: it takes its samples group by group (those of a tap, or of
// two), and adds a group to the sums of one row of outputs after the other.

/// Neighbouring outputs see neighbouring samples.
template <std::size_t kSide, std::size_t kVectors>
struct Dense {
  static constexpr std::size_t kStep = 1;
  static constexpr std::size_t kGroups = kSide;
  static constexpr std::size_t kSpanVectors = kVectors;

  struct Samples {
    template <Masked kMasked>
    HWY_INLINE void load(const float* (&from)[kVectors], std::size_t group, const std::int32_t* masks) {
      constexpr bool kFirst = kMasked == Masked::first || kMasked == Masked::all;
      constexpr bool kLast = kMasked == Masked::last || kMasked == Masked::all;
      values[0] = load_samples<kFirst>(from[0] + group, masks + group * kLanes);
      if constexpr (kVectors == 2)
        values[1] = load_samples<kLast>(from[1] + group, masks + (kSide + group) * kLanes);
    }
    V values[kVectors];
  };
  struct Sums {
    HWY_INLINE void start(V bias) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) values[v] = bias;
    }
    HWY_INLINE void add(const Samples& samples, std::size_t group, const float* weights) {
      const V factor = hn::Set(D(), weights[group]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        values[v] = hn::MulAdd(factor, samples.values[v], values[v]);
      }
    }
    HWY_INLINE V result(std::size_t v) const { return values[v]; }
    V values[kVectors];
  };
};

/// Neighbouring outputs are two samples apart. Taps go two by two, with weights that alternate; even and odd
/// lanes are added in the end. The last tap remains: a blend of two loads has the lower half of its samples
/// in even lanes and the upper half in odd ones.
template <std::size_t kSide>
struct Alternating {
  static constexpr std::size_t kStep = 2;
  static constexpr std::size_t kGroups = (kSide + 1) / 2;
  static constexpr std::size_t kSpanVectors = 1;
  static_assert(kSide % 2 == 1);

  struct Samples {
    template <Masked kMasked>
    HWY_INLINE void load(const float* (&from)[1], std::size_t group, const std::int32_t* masks) {
      constexpr bool kMasks = kMasked != Masked::none;
      const bool single = group + 1 == kGroups;
      const float* const first = from[0] + 2 * group;
      masks += 2 * group * kLanes;
      lower = load_samples<kMasks>(first, masks);
      upper = load_samples<kMasks>(first + (single ? kLanes - 1 : kLanes), masks + kLanes);
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
    HWY_INLINE V result(std::size_t) const {
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

/// kRows rows of one span; `top` is the first row that their windows see, which may be above the image.
template <std::size_t kSide, class Window, std::size_t kRows, Rows kTaken, SpanEdges kEdges>
HWY_INLINE void convolve_span(const DirectPlane& plane, const DirectSpan& span, const float* image,
                              const float* weights, std::ptrdiff_t top, const Tile& tile) {
  constexpr std::size_t kStep = Window::kStep;
  constexpr std::size_t kVectors = Window::kSpanVectors;
  const D d;
  typename Window::Sums sums[kRows];
  const V bias = hn::Set(d, tile.row_bias != nullptr ? *tile.row_bias : 0.0F);
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) sums[r].start(bias);
  const std::size_t line = plane.in_columns;
  const float* from[kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
    from[v] = image + top * static_cast<std::ptrdiff_t>(line) +
              static_cast<std::ptrdiff_t>(kStep * span.column[v]) -
              static_cast<std::ptrdiff_t>(plane.pad_columns);
  }
  const std::int32_t* const masks = plane.masks.data() + span.masks;
  const std::size_t inside = plane.in_rows;
  KERNELS_UNROLL for (std::size_t y = 0; y < (kRows - 1) * kStep + kSide; ++y) {
    if (kTaken == Rows::all_inside || static_cast<std::size_t>(top) + y < inside) {
      const auto add_group = [&](std::size_t group, auto masked) HWY_ATTR {
        typename Window::Samples samples;
        samples.template load<decltype(masked)::value>(from, group, masks);
        KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
          if (r * kStep > y || y - r * kStep >= kSide) continue;
          sums[r].add(samples, group, weights + (y - r * kStep) * kSide);
        }
      };
      const auto add_groups = [&](auto begin, auto end, auto masked) HWY_ATTR {
        if constexpr (Window::kGroups <= 3) {
          KERNELS_UNROLL for (std::size_t group = begin; group < end; ++group) add_group(group, masked);
        } else {
          for (std::size_t group = begin; group < end; ++group) add_group(group, masked);
        }
      };
      using Zero = std::integral_constant<std::size_t, 0>;
      using Half = std::integral_constant<std::size_t, kSide / 2>;
      using BehindHalf = std::integral_constant<std::size_t, kSide / 2 + 1>;
      using All = std::integral_constant<std::size_t, Window::kGroups>;
      if constexpr (kEdges == SpanEdges::none) {
        add_groups(Zero(), All(), MaskedTag<Masked::none>());
      } else if constexpr (kEdges == SpanEdges::any) {
        add_groups(Zero(), All(), MaskedTag<Masked::all>());
      } else {
        add_groups(Zero(), Half(), MaskedTag<Masked::first>());
        add_groups(Half(), BehindHalf(), MaskedTag<Masked::none>());
        add_groups(BehindHalf(), All(), MaskedTag<Masked::last>());
      }
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) from[v] += line;
  }
  const auto for_each_result = [&](const auto& use) HWY_ATTR {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        use(sums[r].result(v), r * tile.stride + span.column[v], span.stored[v]);
      }
    }
  };
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  if (tile.residual != nullptr) {
    for_each_result([&](V sum, std::size_t at, std::size_t count) HWY_ATTR {
      sum = hn::Add(sum, load_edge(tile.residual + at, count));
      store_edge(clamp(low, high, sum), tile.out + at, count);
    });
  } else if (kEdges == SpanEdges::any && span.stored[0] != kLanes) {
    for_each_result([&](V sum, std::size_t at, std::size_t count)
                        HWY_ATTR { store_edge(clamp(low, high, sum), tile.out + at, count); });
  } else {
    for_each_result([&](V sum, std::size_t at, std::size_t)
                        HWY_ATTR { hn::StoreU(clamp(low, high, sum), d, tile.out + at); });
  }
}

template <std::size_t kSide, std::size_t kStep, std::size_t kRows, Rows kTaken>
void convolve_rows(const DirectPlane& plane, const float* image, const float* weights, std::ptrdiff_t top,
                   const Tile& tile) {
  using Window = std::conditional_t<kStep == 2, Alternating<kSide>, Dense<kSide, 2>>;
  using Single = std::conditional_t<kStep == 2, Alternating<kSide>, Dense<kSide, 1>>;
  for (const DirectSpan& span : plane.spans) {
    if (span.edges == SpanEdges::none) {
      convolve_span<kSide, Window, kRows, kTaken, SpanEdges::none>(plane, span, image, weights, top, tile);
    } else if (span.edges == SpanEdges::any) {
      convolve_span<kSide, Single, kRows, kTaken, SpanEdges::any>(plane, span, image, weights, top, tile);
    } else if constexpr (Window::kSpanVectors == 2) {
      convolve_span<kSide, Window, kRows, kTaken, SpanEdges::outer>(plane, span, image, weights, top, tile);
    }
  }
}

template <std::size_t kSide, std::size_t kStep>
void Convolve(const DirectPlane& plane, const float* image, const float* weights, std::size_t row,
              std::size_t rows, const Tile& tile) {
  Tile part = tile;
  const std::size_t end = row + rows;
  const auto top = [&] {
    return static_cast<std::ptrdiff_t>(row * kStep) - static_cast<std::ptrdiff_t>(plane.pad_rows);
  };
  const auto advance = [&](std::size_t count) {
    part.out += count * part.stride;
    if (part.residual != nullptr) part.residual += count * part.stride;
    row += count;
  };
  for (; row + 4 <= end; advance(4)) {
    // Larger windows have more to do in each row that is looked at.
    if (kSide == 3 && top() >= 0 && static_cast<std::size_t>(top()) + 3 * kStep + kSide <= plane.in_rows) {
      convolve_rows<kSide, kStep, 4, Rows::all_inside>(plane, image, weights, top(), part);
    } else {
      convolve_rows<kSide, kStep, 4, Rows::any>(plane, image, weights, top(), part);
    }
  }
  if (row + 2 <= end) {
    convolve_rows<kSide, kStep, 2, Rows::any>(plane, image, weights, top(), part);
    advance(2);
  }
  if (row < end) convolve_rows<kSide, kStep, 1, Rows::any>(plane, image, weights, top(), part);
}

}  // namespace

DirectDepthwise DirectKernel([[maybe_unused]] std::size_t step, [[maybe_unused]] std::size_t side) {
  if constexpr (kMasksMemory<float>) {
    if (step == 1 && side == 3) return Convolve<3, 1>;
    if (step == 1 && side == 5) return Convolve<5, 1>;
    if (step == 1 && side == 7) return Convolve<7, 1>;
    if (step == 2 && side == 3) return Convolve<3, 2>;
    if (step == 2 && side == 5) return Convolve<5, 2>;
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
  const auto& [depth, vertical, horizontal] = geometry.axes;
  const auto is_plain = [](const ConvolutionAxis& axis) {
    return axis.dilation == 1 && axis.pad >= 0 && axis.pad < static_cast<std::ptrdiff_t>(axis.kernel);
  };
  const bool is_square = vertical.kernel == horizontal.kernel && vertical.stride == horizontal.stride;
  if (!depth.is_pointwise() || depth.in != 1 || !is_plain(vertical) || !is_plain(horizontal) || !is_square)
    return nullptr;
  // Rows that leave most of a vector empty are sooner staged, and summed several at once.
  const std::size_t lanes = gemm_kernels().lanes;
  if (2 * horizontal.out < divide_up(horizontal.out, lanes) * lanes) return nullptr;
  return HWY_DYNAMIC_DISPATCH(DirectKernel)(horizontal.stride, horizontal.kernel);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
