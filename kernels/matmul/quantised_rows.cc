#include "kernels/matmul/quantised_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/weights/packed_codes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/quantised_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

// Groups whose values are all smaller count as 0: the quotients of others are finite.
constexpr float kLeast = 0x1p-100F;
constexpr float kMostOfByte = 127;

/// Calls each(values, i, count) for the vectors of a group, the last of which may be partial, zeros behind
/// it.
template <class Each>
HWY_INLINE void for_each_part(const float* values, std::size_t count, const Each& each) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) each(hn::LoadU(D(), values + i), i, kLanes);
  if (i < count) each(load_edge(values + i, count - i), i, count - i);
}

/// Of each eight bytes, the second, fourth, ... go behind the others, as pack_code_bytes() does with codes.
void part_neighbours(std::int8_t* bytes, std::size_t count) {
  const hn::ScalableTag<std::int8_t> d;
  const hn::Repartition<std::uint32_t, decltype(d)> lanes;
  constexpr std::size_t kStep = 2 * hn::MaxLanes(d);
  const auto part = [&](const std::int8_t* from, std::int8_t* to) HWY_ATTR {
    hn::Vec<decltype(d)> even;
    hn::Vec<decltype(d)> odd;
    hn::LoadInterleaved2(d, from, even, odd);
    hn::StoreInterleaved2(hn::BitCast(lanes, even), hn::BitCast(lanes, odd), lanes,
                          reinterpret_cast<std::uint32_t*>(to));
  };
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) part(bytes + i, bytes + i);
  if (i == count) return;
  HWY_ALIGN std::int8_t edge[kStep] = {};
  std::memcpy(edge, bytes + i, count - i);
  part(edge, edge);
  std::memcpy(bytes + i, edge, count - i);
}

}  // namespace

void QuantiseRow(const float* values, std::size_t terms, std::size_t group, WeightCode code,
                 const QuantisedRow& to) {
  const D d;
  const hn::RebindToSigned<D> integers;
  const hn::Rebind<std::int8_t, D> bytes;
  for (std::size_t g = 0; g * group < terms; ++g) {
    const float* const from = values + g * group;
    V most = hn::Zero(d);
    V not_finite = hn::Zero(d);  // 0 or NaN
    for_each_part(from, group, [&](V v, std::size_t, std::size_t) HWY_ATTR {
      most = hn::Max(most, hn::Abs(v));
      not_finite = hn::MulAdd(v, hn::Zero(d), not_finite);
    });
    const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
    const bool is_zero = largest < kLeast;
    const float scale = (is_zero ? 0.0F : largest / kMostOfByte) + hn::GetLane(hn::SumOfLanes(d, not_finite));
    const V per_unit = hn::Set(d, is_zero ? 0.0F : kMostOfByte / largest);
    std::int8_t* const codes = to.bytes + g * group;
    auto sums = hn::Zero(integers);
    for_each_part(from, group, [&](V v, std::size_t i, std::size_t count) HWY_ATTR {
      const auto nearest = hn::NearestInt(hn::Mul(v, per_unit));
      sums = hn::Add(sums, nearest);
      const auto narrow = hn::DemoteTo(bytes, nearest);
      if (count == kLanes) {
        hn::StoreU(narrow, bytes, codes + i);
      } else {
        HWY_ALIGN std::int8_t edge[kLanes];
        hn::Store(narrow, bytes, edge);
        std::memcpy(codes + i, edge, count);
      }
    });
    to.scale[g * to.scale_stride] = scale;
    float& sum = to.sums[g / to.groups_per_sum];
    if (g % to.groups_per_sum == 0) sum = 0;
    sum += scale * static_cast<float>(hn::GetLane(hn::SumOfLanes(integers, sums)));
  }
  if (bits_of(code) == 4) part_neighbours(to.bytes, terms);
  clear_upper_halves();
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(QuantiseRow);

std::size_t quantised_group(const CompressedForm& form, std::size_t most) {
  constexpr std::size_t kLeastGroup = 32;  // for what is done to the sums of a group to be worth it
  const std::size_t unit = terms_together(form.code);
  if (bits_of(form.code) == 16 || form.group % unit != 0) return 0;
  std::size_t group = std::min(most, form.group) / unit * unit;
  while (group >= kLeastGroup && form.group % group != 0) group -= unit;
  return group < kLeastGroup ? 0 : group;
}

void quantise_row(const float* values, std::size_t terms, std::size_t group, WeightCode code,
                  const QuantisedRow& to) {
  HWY_DYNAMIC_DISPATCH(QuantiseRow)(values, terms, group, code, to);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
