#include "kernels/depthwise_direct.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_direct.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Loads for one tap and a vector of outputs kStep samples apart, the first of which is at `from`. With a
/// step of 2, even lanes are the lower half of the vector and odd lanes the upper one, so that a blend of two
/// loads does; in_order() puts things right, once per sum.
template <std::size_t kStep>
struct Samples;

template <>
struct Samples<1> {
  static HWY_INLINE V load(const float* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE V load(const float* from, const std::int32_t* masks) {
    const hn::RebindToSigned<D> di;
    return hn::MaskedLoad(hn::MaskFromVec(hn::BitCast(D(), hn::LoadU(di, masks))), D(), from);
  }
  static HWY_INLINE V in_order(V v) { return v; }
};

template <>
struct Samples<2> {
  static HWY_INLINE V load(const float* from) {
    return hn::OddEven(hn::LoadU(D(), from + kLanes - 1), hn::LoadU(D(), from));
  }
  static HWY_INLINE V load(const float* from, const std::int32_t* masks) {
    return hn::Or(Samples<1>::load(from, masks), Samples<1>::load(from + kLanes - 1, masks + kLanes));
  }
  static HWY_INLINE V in_order(V v) {
    const hn::RebindToSigned<D> di;
    HWY_ALIGN std::int32_t lanes[kLanes];
    for (std::size_t i = 0; i < kLanes / 2; ++i) {
      lanes[i] = static_cast<std::int32_t>(2 * i);
      lanes[i + kLanes / 2] = static_cast<std::int32_t>(2 * i + 1);
    }
    return hn::TableLookupLanes(v, hn::IndicesFromVec(D(), hn::Load(di, lanes)));
  }
};

/// Which rows of the image a tile may ask for.
enum class Rows { all_inside, any };
/// Which samples of a row, and which outputs.
enum class Columns { all_inside, some };

/// kRows rows of one span; `top` is the first row that their windows see, which may be above the image.
template <std::size_t kSide, std::size_t kStep, std::size_t kRows, std::size_t kVectors, Rows kTaken,
          Columns kColumns>
HWY_INLINE void convolve_span(const DirectPlane& plane, const DirectSpan& span, const float* image,
                              const float* weights, std::ptrdiff_t top, const Tile& tile) {
  const D d;
  V sums[kRows][kVectors];
  const auto for_each_sum = [&](const auto& use) HWY_ATTR {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        use(sums[r][v], r * tile.stride + span.column[v], span.stored[v]);
      }
    }
  };
  const V bias = hn::Set(d, tile.row_bias != nullptr ? *tile.row_bias : 0.0F);
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = bias;
  }
  const std::size_t line = plane.in_columns;
  const float* from[kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
    from[v] = image + top * static_cast<std::ptrdiff_t>(line) +
              static_cast<std::ptrdiff_t>(kStep * span.column[v]) -
              static_cast<std::ptrdiff_t>(plane.pad_columns);
  }
  const auto* const masks = plane.masks.data() + span.masks;
  const std::size_t inside = plane.in_rows;
  KERNELS_UNROLL for (std::size_t y = 0; y < (kRows - 1) * kStep + kSide; ++y) {
    if (kTaken == Rows::all_inside || static_cast<std::size_t>(top) + y < inside) {
      const auto add_tap = [&](std::size_t x) HWY_ATTR {
        V samples[kVectors];
        KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
          if constexpr (kColumns == Columns::some) {
            samples[v] = Samples<kStep>::load(from[v] + x, masks + (v * kSide + x) * kStep * kLanes);
          } else {
            samples[v] = Samples<kStep>::load(from[v] + x);
          }
        }
        KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
          if (r * kStep > y || y - r * kStep >= kSide) continue;
          const V factor = hn::Set(d, weights[(y - r * kStep) * kSide + x]);
          KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
            sums[r][v] = hn::MulAdd(factor, samples[v], sums[r][v]);
          }
        }
      };
      if constexpr (kSide <= 3) {
        KERNELS_UNROLL for (std::size_t x = 0; x < kSide; ++x) add_tap(x);
      } else {
        for (std::size_t x = 0; x < kSide; ++x) add_tap(x);
      }
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) from[v] += line;
  }
  for_each_sum([&](V& sum, std::size_t, std::size_t) HWY_ATTR { sum = Samples<kStep>::in_order(sum); });
  if (tile.residual != nullptr) {
    for_each_sum([&](V& sum, std::size_t at, std::size_t count)
                     HWY_ATTR { sum = hn::Add(sum, load_edge(tile.residual + at, count)); });
  }
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  if (kColumns == Columns::some && span.stored[kVectors - 1] != kLanes) {
    for_each_sum([&](V& sum, std::size_t at, std::size_t count)
                     HWY_ATTR { store_edge(clamp(low, high, sum), tile.out + at, count); });
  } else {
    for_each_sum([&](V& sum, std::size_t at, std::size_t)
                     HWY_ATTR { hn::StoreU(clamp(low, high, sum), d, tile.out + at); });
  }
}

template <std::size_t kSide, std::size_t kStep, std::size_t kRows, Rows kTaken>
void convolve_rows(const DirectPlane& plane, const float* image, const float* weights, std::ptrdiff_t top,
                   const Tile& tile) {
  for (const DirectSpan& span : plane.spans) {
    if (span.vectors == 1) {
      convolve_span<kSide, kStep, kRows, 1, kTaken, Columns::some>(plane, span, image, weights, top, tile);
    } else if (span.masks >= 0) {
      convolve_span<kSide, kStep, kRows, 2, kTaken, Columns::some>(plane, span, image, weights, top, tile);
    } else {
      convolve_span<kSide, kStep, kRows, 2, kTaken, Columns::all_inside>(plane, span, image, weights, top,
                                                                         tile);
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
  const std::size_t lanes = gemm_kernels().lanes;
  const std::size_t side = geometry.axes[2].kernel;
  const std::size_t step = geometry.axes[2].stride;
  const std::size_t columns = geometry.axes[2].out;
  const auto first_of = [&](std::size_t vector) {
    return overlap && columns >= lanes ? std::min(vector * lanes, columns - lanes) : vector * lanes;
  };
  // Counted with the padding, the sample of the last tap and lane.
  const auto is_inside = [&](std::size_t column) {
    const std::size_t last = (column + lanes - 1) * step + side - 1;
    return column + lanes <= columns && column * step >= pad_columns && last < pad_columns + in_columns;
  };
  // With a step of 2, lanes of the first load count when even, those of the second when odd.
  const auto is_present = [&](std::size_t column, std::size_t tap, std::size_t load, std::size_t lane) {
    const std::size_t sample = column * step + tap + load * (lanes - 1) + lane;
    return lane % step == load && sample >= pad_columns && sample < pad_columns + in_columns;
  };
  const std::size_t vectors = divide_up(columns, lanes);
  for (std::size_t vector = 0; vector < vectors; vector += 2) {
    DirectSpan span;
    span.vectors = std::min<std::size_t>(2, vectors - vector);
    bool inside = span.vectors == 2;
    for (std::size_t v = 0; v < span.vectors; ++v) {
      span.column[v] = first_of(vector + v);
      span.stored[v] = std::min(lanes, columns - span.column[v]);
      inside = inside && is_inside(span.column[v]);
    }
    if (!inside) {
      span.masks = static_cast<std::ptrdiff_t>(masks.size());
      for (std::size_t v = 0; v < span.vectors; ++v) {
        for (std::size_t tap = 0; tap < side; ++tap) {
          for (std::size_t load = 0; load < step; ++load) {
            for (std::size_t lane = 0; lane < lanes; ++lane)
              masks.push_back(is_present(span.column[v], tap, load, lane) ? -1 : 0);
          }
        }
      }
    }
    spans.push_back(span);
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
  return HWY_DYNAMIC_DISPATCH(DirectKernel)(horizontal.stride, horizontal.kernel);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
