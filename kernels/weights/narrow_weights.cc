#include "kernels/weights/narrow_weights.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/weights/narrow_weights.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

constexpr std::size_t kVectors = NarrowKernels::kVectors;
constexpr std::size_t kBlockTerms = 256;

/// Stores what a row of terms gives with the columns of a panel.
HWY_INLINE void finish_columns(const V (&totals)[kVectors], const Tile& tile) {
  const D d;
  HWY_ALIGN float columns[kVectors * kLanes];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) hn::Store(totals[v], d, columns + v * kLanes);
  for (std::size_t j = 0; j < std::min(kVectors * kLanes, tile.columns); j += kLanes) {
    const std::size_t count = std::min(kLanes, tile.columns - j);
    store_edge(finish_vector(hn::Load(d, columns + j), tile, j, count), tile.out + j, count);
  }
}

/// Integers of 16 bits: a term is two vectors of pairs of them, a group begins with the scales of its
/// columns.
namespace integers {

using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;

constexpr std::size_t kPairVectors = kVectors / 2;
constexpr std::size_t kGroupTerms = NarrowKernels::kGroupTerms;
constexpr float kMostSteps = 32767;
// Pairs are floats of upper halves of words: 2^16 times the integers. Terms are divided by that, and by 2^15
// lest products with integers be infinite where those with weights are not; scales make up for 2^15.
constexpr float kOfTerms = 0x1p-31F;
constexpr float kOfScales = 0x1p15F;
// How many steps of smaller weights make 1 is no float.
constexpr float kLeastPeak = 0x1p-112F;

NarrowLoss Narrow(const float* from, std::size_t depth, float* panel) {
  const D d;
  const DI di;
  V peaks = hn::Zero(d);
  V squares = hn::Zero(d);
  for (std::size_t first = 0; first < depth; first += kGroupTerms) {
    const std::size_t terms = std::min(kGroupTerms, depth - first);
    HWY_ALIGN float steps_of_one[kVectors * kLanes];
    for (std::size_t v = 0; v < kVectors; ++v) {
      V peak = hn::Set(d, kLeastPeak);
      for (std::size_t k = 0; k < terms; ++k) {
        const V weight = hn::LoadU(d, from + (v * depth + first + k) * kLanes);
        peak = hn::Max(hn::Abs(weight), peak);
        squares = hn::MulAdd(weight, weight, squares);
      }
      const V count = hn::Set(d, static_cast<float>(terms));
      peaks = hn::MulAdd(count, hn::Mul(peak, peak), peaks);
      hn::Store(hn::Div(hn::Set(d, kMostSteps), peak), d, steps_of_one + v * kLanes);
      hn::StoreU(hn::Mul(peak, hn::Set(d, kOfScales / kMostSteps)), d, panel + v * kLanes);
    }
    panel += kVectors * kLanes;
    for (std::size_t k = first; k < first + terms; ++k, panel += kPairVectors * kLanes) {
      KERNELS_UNROLL for (std::size_t pair = 0; pair < kPairVectors; ++pair) {
        const auto steps = [&](std::size_t v) HWY_ATTR {
          const V weight = hn::LoadU(d, from + (v * depth + k) * kLanes);
          return hn::NearestInt(hn::Mul(weight, hn::Load(d, steps_of_one + v * kLanes)));
        };
        const VI upper = hn::ShiftLeft<16>(steps(2 * pair));
        const VI lower = hn::And(steps(2 * pair + 1), hn::Set(di, 0xFFFF));
        hn::StoreU(hn::BitCast(d, hn::Or(upper, lower)), d, panel + pair * kLanes);
      }
    }
  }
  // Errors are spread evenly over a step.
  constexpr double kOfPeaks = 1 / (12.0 * kMostSteps * kMostSteps);
  return {static_cast<double>(hn::GetLane(hn::SumOfLanes(d, peaks))) * kOfPeaks,
          static_cast<double>(hn::GetLane(hn::SumOfLanes(d, squares)))};
}

void Multiply(const float* x, const float* panel, std::size_t terms, const Tile& tile) {
  const D d;
  const DI di;
  constexpr std::size_t kScaleFloats = kVectors * kLanes;
  constexpr std::size_t kTermFloats = kPairVectors * kLanes;
  const std::size_t ahead = stream_ahead() / sizeof(float);
  const VI upper = hn::Set(di, static_cast<std::int32_t>(0xFFFF0000));
  V totals[kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) totals[v] = hn::Zero(d);
  for (std::size_t k = 0; k < terms;) {
    const std::size_t end = std::min(terms, k + kGroupTerms);
    const float* const scales = panel;
    fetch_row(panel + ahead, kScaleFloats);
    panel += kScaleFloats;
    V sums[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    for (; k < end; ++k, panel += kTermFloats) {
      fetch_row(panel + ahead, kTermFloats);
      const V factor = hn::Set(d, x[k] * kOfTerms);
      KERNELS_UNROLL for (std::size_t pair = 0; pair < kPairVectors; ++pair) {
        const VI both = hn::BitCast(di, hn::LoadU(d, panel + pair * kLanes));
        V& first = sums[2 * pair];
        V& second = sums[2 * pair + 1];
        first = hn::MulAdd(factor, hn::ConvertTo(d, hn::And(both, upper)), first);
        second = hn::MulAdd(factor, hn::ConvertTo(d, hn::ShiftLeft<16>(both)), second);
      }
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      totals[v] = hn::MulAdd(sums[v], hn::LoadU(d, scales + v * kLanes), totals[v]);
    }
  }
  finish_columns(totals, tile);
}

}  // namespace integers

/// Upper parts of floats: a term is two vectors of upper halves and one of the bytes behind them.
namespace floats {

constexpr std::size_t kWordVectors = 3;

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

NarrowLoss Narrow(const float* from, std::size_t depth, float* panel) {
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
  return {0, 1};  // next to nothing of something
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
      fetch_row(panel + ahead, kTermFloats);
      V weights[kVectors];
      widen(panel, weights);
      const V factor = hn::Set(d, x[k]);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] =
          hn::MulAdd(factor, weights[v], sums[v]);
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) totals[v] = hn::Add(totals[v], sums[v]);
  }
  finish_columns(totals, tile);
}

}  // namespace floats
}  // namespace

const NarrowKernels* NarrowKernelsHere() {
  static constexpr NarrowKernels kKernels{
      kLanes,
      {"narrow_integers", integers::kPairVectors * kLanes, kVectors * kLanes, integers::kGroupTerms,
       integers::Narrow, integers::Multiply},
      {"narrow_floats", floats::kWordVectors * kLanes, 0, 1, floats::Narrow, floats::Multiply}};
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
