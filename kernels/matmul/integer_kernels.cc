#include "kernels/matmul/integer_kernels.h"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/integer_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/multiply-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

template <class Terms, class OfUnsignedRows, std::size_t kRows, std::size_t... kVectors>
void set_row_count(GemmKernels& kernels, std::index_sequence<kVectors...>) {
  ((kernels.packed[kRows][kVectors] = Multiply<Terms, kRows + 1, kVectors + 1, true, false>), ...);
  ((kernels.direct[kRows][kVectors] = Multiply<OfUnsignedRows, kRows + 1, kVectors + 1, false, true>), ...);
  ((kernels.direct_columns[kRows][kVectors] = kernels.packed[kRows][kVectors]), ...);
  ((kernels.placed[kRows][kVectors] = nullptr), ...);
}

template <class Terms, class OfUnsignedRows, std::size_t... kRows>
GemmKernels make_kernels(std::index_sequence<kRows...>) {
  // Dispatch picks the same target for both. What only moves lanes serves integers, too; the rest does not.
  GemmKernels kernels = gemm_kernels();
  (set_row_count<Terms, OfUnsignedRows, kRows>(kernels, std::make_index_sequence<kMaxVectors>()), ...);
  kernels.pack_mapped_columns = nullptr;
  kernels.map_rows = nullptr;
  kernels.finish_transposed = nullptr;
  kernels.gemv = nullptr;
  kernels.gemv_transposed = nullptr;
  return kernels;
}

}  // namespace

const GemmKernels* IntegerKernels(LaneForm form) {
  return with_integer_terms(form, []<class Terms, class OfUnsignedRows>() -> const GemmKernels* {
    static const GemmKernels kernels =
        make_kernels<Terms, OfUnsignedRows>(std::make_index_sequence<kMaxRows>());
    return &kernels;
  });
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

double SumOfFloats(const float* values, std::size_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> floats;
  auto sums = hn::Zero(wide);
  for (std::size_t i = 0; i < count; i += hn::Lanes(wide)) {
    const std::size_t rest = count - i;
    const auto v = rest >= hn::Lanes(wide) ? hn::LoadU(floats, values + i) : load_n(floats, values + i, rest);
    sums = hn::Add(sums, hn::PromoteTo(wide, v));
  }
  return hn::GetLane(hn::SumOfLanes(wide, sums));
}

std::int64_t SumOfBytes(const std::int8_t* values, std::size_t count) {
  const hn::ScalableTag<std::uint8_t> bytes;
  const hn::Repartition<std::uint64_t, decltype(bytes)> wide;
  const auto* const from = reinterpret_cast<const std::uint8_t*>(values);
  // Unsigned bytes are what there are sums of: each is 128 more.
  const auto zero = hn::Set(bytes, 0x80);
  auto sums = hn::Zero(wide);
  std::size_t i = 0;
  for (; i < count; i += hn::Lanes(bytes)) {
    const std::size_t rest = count - i;
    const auto v = rest >= hn::Lanes(bytes) ? hn::LoadU(bytes, from + i) : load_n(bytes, from + i, rest);
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(v, zero)));
  }
  return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(wide, sums))) -
         static_cast<std::int64_t>(0x80 * i);
}

namespace {

using Bits = hn::RebindToUnsigned<D>;

/// Vectors of values as one of lanes: bits of the form.
template <LaneForm kForm>
class Joining {
 public:
  static constexpr std::size_t kTerms = lane_terms(kForm);

  HWY_INLINE explicit Joining(const LaneMap& map) : rounder_(hn::Set(D(), 0x1.8p23F - map.base)) {
    KERNELS_UNROLL for (std::size_t t = 0; t < kTerms; ++t) scales_[t] = hn::Set(D(), map.per_unit);
  }
  /// Terms of which each has its own scale.
  HWY_INLINE void scale(const float* per_unit, std::size_t count) {
    for (std::size_t t = 0; t < count; ++t) scales_[t] = hn::Set(D(), per_unit[t]);
  }
  HWY_INLINE V operator()(const V (&values)[kTerms]) const {
    const D d;
    if constexpr (kForm == LaneForm::pairs) {
      const hn::Repartition<std::uint16_t, D> halves;
      const auto low = hn::BitCast(halves, integers<0>(values));
      const auto high = hn::ShiftLeft<16>(integers<1>(values));
      return hn::BitCast(d, hn::OddEven(hn::BitCast(halves, high), low));
    } else {
      const auto byte = hn::Set(Bits(), 0xFFU);
      auto lanes = hn::And(integers<0>(values), byte);
      lanes = hn::Or(lanes, hn::ShiftLeft<8>(hn::And(integers<1>(values), byte)));
      lanes = hn::Or(lanes, hn::ShiftLeft<16>(hn::And(integers<2>(values), byte)));
      return hn::BitCast(d, hn::Or(lanes, hn::ShiftLeft<24>(integers<3>(values))));
    }
  }

 private:
  /// The lowest bits of a lane are those of the integer; those of a NaN are 0.
  template <std::size_t kTerm>
  HWY_INLINE hn::Vec<Bits> integers(const V (&values)[kTerms]) const {
    return hn::BitCast(Bits(), hn::MulAdd(values[kTerm], scales_[kTerm], rounder_));
  }

  V scales_[kTerms];
  V rounder_;
};

/// Lanes with what stands in place of rows that are not there.
template <class T>
HWY_INLINE V with_missing(V lanes, const JoinedRows<T>& rows) {
  if (rows.missing == 0) return lanes;
  const std::uint32_t present = (std::uint32_t{1} << (8 * rows.count)) - 1;
  const auto known = hn::And(hn::BitCast(Bits(), lanes), hn::Set(Bits(), present));
  return hn::BitCast(D(), hn::Or(known, hn::Set(Bits(), rows.missing)));
}

template <LaneForm kForm>
void join_rows(const LaneMap& map, const JoinedRows<float>& rows, std::size_t count, float* to) {
  const D d;
  constexpr std::size_t kTerms = lane_terms(kForm);
  Joining<kForm> join(map);
  if (rows.per_unit != nullptr) join.scale(rows.per_unit, rows.count);
  const auto join_at = [&](std::size_t i, const auto& load) HWY_ATTR {
    V values[kTerms];
    KERNELS_UNROLL for (std::size_t t = 0; t < kTerms; ++t) {
      values[t] = t < rows.count ? load(rows.first + t * rows.stride + i) : hn::Zero(d);
    }
    return with_missing(join(values), rows);
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(join_at(i, [](const float* from) HWY_ATTR { return hn::LoadU(D(), from); }), d, to + i);
  if (const std::size_t rest = count - i; rest != 0)
    store_edge(join_at(i, [&](const float* from) HWY_ATTR { return load_edge(from, rest); }), to + i, rest);
}

template <LaneForm kForm>
void join_neighbours(const LaneMap& map, const float* values, std::size_t count, float* to) {
  const D d;
  constexpr std::size_t kTerms = lane_terms(kForm);
  const Joining<kForm> join(map);
  const auto load = [&](std::size_t first) HWY_ATTR {
    if (first + kLanes <= count) return hn::LoadU(d, values + first);
    return first < count ? load_edge(values + first, count - first) : hn::Zero(d);
  };
  for (std::size_t i = 0; i < count; i += kTerms * kLanes) {
    V v[kTerms];
    KERNELS_UNROLL for (std::size_t t = 0; t < kTerms; ++t) v[t] = load(i + t * kLanes);
    V turned[kTerms];
    if constexpr (kForm == LaneForm::pairs) {
      turned[0] = hn::ConcatEven(d, v[1], v[0]);
      turned[1] = hn::ConcatOdd(d, v[1], v[0]);
    } else {
      const V even[2] = {hn::ConcatEven(d, v[1], v[0]), hn::ConcatEven(d, v[3], v[2])};
      const V odd[2] = {hn::ConcatOdd(d, v[1], v[0]), hn::ConcatOdd(d, v[3], v[2])};
      turned[0] = hn::ConcatEven(d, even[1], even[0]);
      turned[1] = hn::ConcatEven(d, odd[1], odd[0]);
      turned[2] = hn::ConcatOdd(d, even[1], even[0]);
      turned[3] = hn::ConcatOdd(d, odd[1], odd[0]);
    }
    store_edge(join(turned), to + i / kTerms, std::min(divide_up(count - i, kTerms), kLanes));
  }
}

/// call.template operator()<kForm>() for a form that this target multiplies.
template <class Call>
HWY_INLINE void with_form([[maybe_unused]] LaneForm form, [[maybe_unused]] const Call& call) {
#ifdef KERNELS_DOT_QUADS
  if (form == LaneForm::quads) return call.template operator()<LaneForm::quads>();
#endif
#if KERNELS_HAVE_PAIRS
  call.template operator()<LaneForm::pairs>();
#endif
}

}  // namespace

void JoinBytes([[maybe_unused]] const JoinedRows<std::uint8_t>& rows, [[maybe_unused]] std::size_t count,
               [[maybe_unused]] float* to) {
#ifdef KERNELS_DOT_QUADS
  const D d;
  const Bits bits;
  const hn::Rebind<std::uint8_t, D> bytes;
  const auto join_at = [&](std::size_t i, const auto& load) HWY_ATTR {
    const auto row = [&](std::size_t t) HWY_ATTR {
      return t < rows.count ? hn::PromoteTo(bits, load(rows.first + t * rows.stride + i)) : hn::Zero(bits);
    };
    const auto low = hn::Or(row(0), hn::ShiftLeft<8>(row(1)));
    const auto high = hn::Or(row(2), hn::ShiftLeft<8>(row(3)));
    return with_missing(hn::BitCast(d, hn::Or(low, hn::ShiftLeft<16>(high))), rows);
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto load = [&](const std::uint8_t* from) HWY_ATTR { return hn::LoadU(bytes, from); };
    hn::StoreU(join_at(i, load), d, to + i);
  }
  if (const std::size_t rest = count - i; rest != 0) {
    const auto load = [&](const std::uint8_t* from) HWY_ATTR { return load_n(bytes, from, rest); };
    store_edge(join_at(i, load), to + i, rest);
  }
#endif
}

void JoinRows(const LaneMap& map, const JoinedRows<float>& rows, std::size_t count, float* to) {
  with_form(map.form, [&]<LaneForm kForm>() { join_rows<kForm>(map, rows, count, to); });
}

void JoinNeighbours(const LaneMap& map, const float* values, std::size_t count, float* to) {
  with_form(map.form, [&]<LaneForm kForm>() { join_neighbours<kForm>(map, values, count, to); });
}

LaneJoins Joins() { return {JoinRows, JoinBytes, JoinNeighbours}; }

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(IntegerKernels);
HWY_EXPORT(Joins);
HWY_EXPORT(LargestMagnitude);
HWY_EXPORT(AreIntegers);
HWY_EXPORT(SumOfBytes);
HWY_EXPORT(SumOfFloats);

const GemmKernels* gemm_integer_kernels(LaneForm form) { return HWY_DYNAMIC_DISPATCH(IntegerKernels)(form); }

LaneJoins lane_joins() { return HWY_DYNAMIC_DISPATCH(Joins)(); }

float largest_magnitude(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(LargestMagnitude)(values, count);
}

bool are_integers(const float* values, std::size_t count, float scale, float tolerance) {
  return HWY_DYNAMIC_DISPATCH(AreIntegers)(values, count, scale, tolerance);
}

double sum_of(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(SumOfFloats)(values, count);
}

std::int64_t sum_of(const std::int8_t* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(SumOfBytes)(values, count);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
