#include "kernels/integer_kernels.h"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/integer_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/multiply-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

#if KERNELS_HAVE_PAIRS
template <class Terms, std::size_t kRows, std::size_t... kVectors>
void set_row_count(GemmKernels& kernels, std::index_sequence<kVectors...>) {
  ((kernels.packed[kRows][kVectors] = Multiply<Terms, kRows + 1, kVectors + 1, true, false>), ...);
  ((kernels.direct[kRows][kVectors] = Multiply<Terms, kRows + 1, kVectors + 1, false, true>), ...);
  ((kernels.direct_columns[kRows][kVectors] = kernels.packed[kRows][kVectors]), ...);
  ((kernels.placed[kRows][kVectors] = nullptr), ...);
}

template <class Terms, std::size_t... kRows>
GemmKernels make_kernels(std::index_sequence<kRows...>) {
  // Dispatch picks the same target for both. What only moves lanes serves pairs, too; the rest does not.
  GemmKernels kernels = gemm_kernels();
  (set_row_count<Terms, kRows>(kernels, std::make_index_sequence<kMaxVectors>()), ...);
  kernels.pack_mapped_columns = nullptr;
  kernels.map_rows = nullptr;
  kernels.finish_transposed = nullptr;
  kernels.gemv = nullptr;
  kernels.gemv_transposed = nullptr;
  return kernels;
}
#endif

}  // namespace

const GemmKernels* PairKernels() {
#if KERNELS_HAVE_PAIRS
  return with_pair_terms([]<class Terms>() -> const GemmKernels* {
    static const GemmKernels kernels = make_kernels<Terms>(std::make_index_sequence<kMaxRows>());
    return &kernels;
  });
#else
  return nullptr;
#endif
}

float LargestMagnitude(const float* values, std::size_t count) {
  const D d;
  V most = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) most = at_least(most, hn::Abs(hn::LoadU(d, values + i)));
  if (i < count) most = at_least(most, hn::Abs(load_edge(values + i, count - i)));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

bool AreIntegers(const float* values, std::size_t count, float scale, float tolerance) {
  const D d;
  const V factor = hn::Set(d, scale);
  const V most = hn::Set(d, tolerance);
  const V rounder = hn::Set(d, 0x1.8p23F);
  const auto are = [&](V v) HWY_ATTR {
    const V position = hn::Mul(v, factor);
    const V nearest = hn::Sub(hn::Add(position, rounder), rounder);
    return hn::AllTrue(d, hn::Le(hn::Abs(hn::Sub(position, nearest)), most));
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if (!are(hn::LoadU(d, values + i))) return false;
  }
  return i == count || are(load_edge(values + i, count - i));
}

/// Two vectors of values as one of pairs.
class Pairing {
 public:
  explicit Pairing(float scale) : scale_(hn::Set(D(), scale)) {}
  HWY_INLINE V operator()(V first, V second) const {
    const D d;
    const hn::RebindToUnsigned<D> bits;
    const hn::Repartition<std::uint16_t, D> halves;
    // In a sum with it, the lowest bits are those of the nearest integer; those of a NaN are 0.
    const V rounder = hn::Set(d, 0x1.8p23F);
    const auto low = hn::BitCast(halves, hn::MulAdd(first, scale_, rounder));
    const auto high = hn::ShiftLeft<16>(hn::BitCast(bits, hn::MulAdd(second, scale_, rounder)));
    return hn::BitCast(d, hn::OddEven(hn::BitCast(halves, high), low));
  }

 private:
  V scale_;
};

void PairIntegers(const float* even, const float* odd, float scale, std::size_t count, float* to) {
  const D d;
  const Pairing pair(scale);
  if (odd == nullptr) {
    map_unary(d, even, to, count, [&](V v) HWY_ATTR { return pair(v, hn::Zero(d)); });
  } else {
    map_binary(d, even, odd, to, count, [&](V a, V b) HWY_ATTR { return pair(a, b); });
  }
}

void PairNeighbours(const float* values, float scale, std::size_t count, float* to) {
  const D d;
  const Pairing pair(scale);
  const auto split_up = [&](V low, V high) HWY_ATTR {
    return pair(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  };
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes)
    hn::StoreU(split_up(hn::LoadU(d, values + i), hn::LoadU(d, values + i + kLanes)), d, to + i / 2);
  if (const std::size_t rest = count - i; rest != 0) {
    const V low = load_edge(values + i, std::min(rest, kLanes));
    const V high = rest > kLanes ? load_edge(values + i + kLanes, rest - kLanes) : hn::Zero(d);
    store_edge(split_up(low, high), to + i / 2, (rest + 1) / 2);
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(PairKernels);
HWY_EXPORT(PairIntegers);
HWY_EXPORT(PairNeighbours);
HWY_EXPORT(LargestMagnitude);
HWY_EXPORT(AreIntegers);

const GemmKernels* gemm_pair_kernels() { return HWY_DYNAMIC_DISPATCH(PairKernels)(); }

void pair_integers(const float* even, const float* odd, float scale, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(PairIntegers)(even, odd, scale, count, to);
}

void pair_neighbours(const float* values, float scale, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(PairNeighbours)(values, scale, count, to);
}

float largest_magnitude(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(LargestMagnitude)(values, count);
}

bool are_integers(const float* values, std::size_t count, float scale, float tolerance) {
  return HWY_DYNAMIC_DISPATCH(AreIntegers)(values, count, scale, tolerance);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
