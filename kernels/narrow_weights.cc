#include "kernels/narrow_weights.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow_weights.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

constexpr std::size_t kVectors = NarrowKernels::kVectors;
constexpr std::size_t kWordVectors = NarrowKernels::kWordVectors;
constexpr std::size_t kBlockTerms = 256;

/// Rounded to what its upper 24 bits can hold; the others are of no account.
HWY_INLINE VU rounded(V weight) {
  const DU d;
  const hn::RebindToSigned<D> di;
  const VU bits = hn::BitCast(d, weight);
  const VU is_odd = hn::And(hn::ShiftRight<8>(bits), hn::Set(d, 1));
  const VU nearest = hn::Add(bits, hn::Add(is_odd, hn::Set(d, 0x7F)));
  // The largest floats must not become infinite, nor what is infinite NaN, nor NaN infinite.
  const auto magnitude = hn::BitCast(di, hn::And(bits, hn::Set(d, 0x7FFFFFFF)));
  const auto is_large = hn::Gt(magnitude, hn::Set(di, 0x7EFFFFFF));
  const auto is_nan = hn::Gt(magnitude, hn::Set(di, 0x7F800000));
  const VU kept = hn::Or(bits, hn::IfThenElseZero(hn::RebindMask(d, is_nan), hn::Set(d, 0x400000)));
  return hn::IfThenElse(hn::RebindMask(d, is_large), kept, nearest);
}

void Narrow(const float* from, std::size_t depth, float* panel) {
  const D d;
  const DU du;
  const VU upper = hn::Set(du, 0xFFFF0000);
  const VU byte = hn::Set(du, 0xFF00);
  const auto store = [&](VU words, std::size_t v)
                         HWY_ATTR { hn::StoreU(hn::BitCast(d, words), d, panel + v * kLanes); };
  for (std::size_t k = 0; k < depth; ++k, panel += kWordVectors * kLanes) {
    VU weights[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      weights[v] = rounded(hn::LoadU(d, from + (v * depth + k) * kLanes));
    }
    store(hn::Or(hn::And(weights[0], upper), hn::ShiftRight<16>(weights[1])), 0);
    store(hn::Or(hn::And(weights[2], upper), hn::ShiftRight<16>(weights[3])), 1);
    const VU low = hn::Or(hn::And(weights[0], byte), hn::ShiftRight<8>(hn::And(weights[1], byte)));
    const VU high =
        hn::Or(hn::ShiftLeft<8>(hn::And(weights[2], byte)), hn::ShiftLeft<16>(hn::And(weights[3], byte)));
    store(hn::Or(low, high), 2);
  }
}

/// A term of a panel, as floats.
HWY_INLINE void widen(const float* term, V (&weights)[kVectors]) {
  const D d;
  const DU du;
  const VU upper = hn::Set(du, 0xFFFF0000);
  const VU byte = hn::Set(du, 0xFF00);
  const VU first = hn::BitCast(du, hn::LoadU(d, term));
  const VU second = hn::BitCast(du, hn::LoadU(d, term + kLanes));
  const VU bytes = hn::BitCast(du, hn::LoadU(d, term + 2 * kLanes));
  const auto joined = [&](VU words, VU behind)
                          HWY_ATTR { return hn::BitCast(d, hn::Or(words, hn::And(behind, byte))); };
  weights[0] = joined(hn::And(first, upper), bytes);
  weights[1] = joined(hn::ShiftLeft<16>(first), hn::ShiftLeft<8>(bytes));
  weights[2] = joined(hn::And(second, upper), hn::ShiftRight<8>(bytes));
  weights[3] = joined(hn::ShiftLeft<16>(second), hn::ShiftRight<16>(bytes));
}

void Multiply(const float* x, const float* panel, std::size_t terms, const Tile& tile) {
  const D d;
  constexpr std::size_t kTermFloats = kWordVectors * kLanes;
  const std::size_t ahead = stream_ahead() / sizeof(float);
  V totals[kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) totals[v] = hn::Zero(d);
  for (std::size_t k = 0; k < terms;) {
    const std::size_t end = std::min(terms, k + kBlockTerms);
    V sums[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    for (; k < end; ++k, panel += kTermFloats) {
      for (std::size_t i = 0; i < kTermFloats; i += kFloatsPerLine) fetch_to_first_level(panel + ahead + i);
      V weights[kVectors];
      widen(panel, weights);
      const V factor = hn::Set(d, x[k]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] =
          hn::MulAdd(factor, weights[v], sums[v]);
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) totals[v] = hn::Add(totals[v], sums[v]);
  }
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t j = v * kLanes;
    if (j >= tile.columns) break;
    const std::size_t count = std::min(kLanes, tile.columns - j);
    store_edge(finish_vector(totals[v], tile, j, count), tile.out + j, count);
  }
}

}  // namespace

const NarrowKernels* NarrowKernelsHere() {
  static constexpr NarrowKernels kKernels{kLanes, Narrow, Multiply};
  return &kKernels;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(NarrowKernelsHere);

const NarrowKernels& narrow_kernels() { return *HWY_DYNAMIC_DISPATCH(NarrowKernelsHere)(); }

}  // namespace ir::kernels
#endif  // HWY_ONCE
