// Products of weights of 4 bits. A lane of integers holds eight codes, which are never moved: code j of a
// lane is cut out where it stands, 16^j times too large, and meets a term that is as many times too small.
// Included inside a foreach_target file, after gemm-inl.h.
#if defined(KERNELS_WEIGHTS_NIBBLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_WEIGHTS_NIBBLES_INL_H_
#undef KERNELS_WEIGHTS_NIBBLES_INL_H_
#else
#define KERNELS_WEIGHTS_NIBBLES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "kernels/base/fetch.h"
#include "kernels/matmul/compressed_rows.h"
#include "kernels/weights/compressed_weights.h"

// Whether one instruction multiplies unsigned by signed bytes and adds up pairs of products, for machines
// that are worth it.
#undef KERNELS_HAVE_NIBBLE_DOTS
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define KERNELS_HAVE_NIBBLE_DOTS 1
#else
#define KERNELS_HAVE_NIBBLE_DOTS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using NibbleWords = hn::Vec<hn::RebindToUnsigned<D>>;

inline constexpr std::size_t kNibbles = 8;               ///< of a lane
inline constexpr std::size_t kUnit = kNibbles * kLanes;  ///< terms of a vector of codes
inline constexpr std::size_t kUnitBytes = kUnit / 2;
// What follows the terms of a unit: the sum of each lane, which an offset takes away, and each lane's group,
// where these differ.
inline constexpr std::size_t kLaneNumbers = 2 * kLanes;

// Rows of weights that meet a row of terms at once.
inline constexpr std::size_t kMostTogether = 4;

/// Whether there are rows enough, and no lane has codes of two groups.
inline bool takes_nibbles(const CompressedForm& form) {
  return bits_of(form.code) == 4 && form.rows >= kMostTogether &&
         (form.groups() == 1 || form.group % kNibbles == 0);
}

constexpr std::size_t units_of(std::size_t terms) { return (terms + kUnit - 1) / kUnit; }

/// How the groups of a row lie in units.
struct UnitGroups {
  explicit UnitGroups(const CompressedForm& form)
      : group(form.group),
        groups(form.groups()),
        units_per_group(groups == 1               ? units_of(form.terms)
                        : form.group % kUnit == 0 ? form.group / kUnit
                                                  : 0),
        per_unit(units_per_group == 0 && kUnit % form.group == 0 ? kUnit / form.group : 0) {}

  std::size_t group;  ///< its terms
  std::size_t groups;
  std::size_t units_per_group;  ///< 0: a unit has several groups
  std::size_t per_unit;         ///< groups that fill a unit; 0: they do not
};

/// The group of each lane of the unit that begins with `term`, as bits of floats; nothing where all of a unit
/// are of one.
inline void put_groups(const CompressedForm& form, const UnitGroups& in, std::size_t term, float* to) {
  if (in.units_per_group != 0) return;
  const D d;
  const hn::RebindToSigned<D> di;
  HWY_ALIGN std::int32_t groups[kLanes];
  const std::size_t last = in.groups - 1;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    groups[lane] = static_cast<std::int32_t>(std::min((term + lane * kNibbles) / form.group, last));
  hn::StoreU(hn::BitCast(d, hn::Load(di, groups)), d, to);
}

template <std::size_t kCode>
HWY_INLINE V nibble(NibbleWords words) {
  const hn::RebindToUnsigned<D> d;
  const hn::RebindToSigned<D> di;
  const NibbleWords code =
      kCode == kNibbles - 1 ? hn::ShiftRight<28>(words) : hn::And(words, hn::Set(d, 15U << (4 * kCode)));
  return hn::ConvertTo(D(), hn::BitCast(di, code));
}

/// Terms as floats: vector j holds term j of each lane.
struct FloatUnits {
  static constexpr std::size_t kTermFloats = kUnit;
  static constexpr std::size_t kFloats = kTermFloats + kLaneNumbers;
  // A single row of terms has too few sums for each to wait for its last one.
  template <std::size_t kTermRows>
  static constexpr std::size_t kChains = kTermRows == 1 ? 2 : 1;

  /// sums[r][t] += the products of the codes of row r with unit t of terms, `kFloats` apart.
  template <std::size_t kRows, std::size_t kTermRows>
  static HWY_INLINE void add_products(const NibbleWords (&words)[kRows], const float* x,
                                      V (&sums)[kRows][kTermRows]) {
    const D d;
    V chains[kChains<kTermRows>][kRows][kTermRows];
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) {
        chains[0][r][t] = sums[r][t];
        if constexpr (kChains<kTermRows> == 2) chains[1][r][t] = hn::Zero(d);
      }
    }
    const auto add = [&]<std::size_t kCode>(std::integral_constant<std::size_t, kCode>) HWY_ATTR {
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        const V code = nibble<kCode>(words[r]);
        KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) {
          V& sum = chains[kCode % kChains<kTermRows>][r][t];
          sum = hn::MulAdd(code, hn::LoadU(d, x + t * kFloats + kCode * kLanes), sum);
        }
      }
    };
    [&]<std::size_t... kCodes>(std::index_sequence<kCodes...>) HWY_ATTR {
      (add(std::integral_constant<std::size_t, kCodes>()), ...);
    }
    (std::make_index_sequence<kNibbles>());
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) {
        sums[r][t] = chains[0][r][t];
        if constexpr (kChains<kTermRows> == 2) sums[r][t] = hn::Add(sums[r][t], chains[1][r][t]);
      }
    }
  }
};

#if KERNELS_HAVE_NIBBLE_DOTS
/// The sums of products of four neighbouring codes with signed bytes, of two vectors each. Two of 15 * 127
/// fit 16 bits.
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> dot_nibbles(NibbleWords first, NibbleWords second,
                                                      const float* bytes) {
  const hn::Repartition<std::int16_t, D> pairs;
  const hn::RebindToSigned<D> di;
  const D d;
  const auto multiply = [](NibbleWords codes, V with) HWY_ATTR {
    const hn::Repartition<std::int8_t, D> signed_bytes;
#if HWY_TARGET == HWY_AVX3
    return hn::Vec<decltype(pairs)>{_mm512_maddubs_epi16(codes.raw, hn::BitCast(signed_bytes, with).raw)};
#else
    return hn::Vec<decltype(pairs)>{_mm256_maddubs_epi16(codes.raw, hn::BitCast(signed_bytes, with).raw)};
#endif
  };
  const auto sums =
      hn::Add(multiply(first, hn::LoadU(d, bytes)), multiply(second, hn::LoadU(d, bytes + kLanes)));
  auto unused = hn::Zero(di);
  return hn::ReorderWidenMulAccumulate(di, sums, hn::Set(pairs, 1), hn::Zero(di), unused);
}

/// Terms as bytes: of each lane the even ones, then of each lane the odd ones; and what 1 is worth in each
/// lane.
struct ByteUnits {
  static constexpr std::size_t kTermFloats = 3 * kLanes;
  static constexpr std::size_t kFloats = kTermFloats + kLaneNumbers;

  template <std::size_t kRows, std::size_t kTermRows>
  static HWY_INLINE void add_products(const NibbleWords (&words)[kRows], const float* x,
                                      V (&sums)[kRows][kTermRows]) {
    const D d;
    const auto low = hn::Set(hn::RebindToUnsigned<D>(), 0x0F0F0F0FU);
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      const NibbleWords even = hn::And(words[r], low);
      const NibbleWords odd = hn::And(hn::ShiftRight<4>(words[r]), low);
      KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) {
        const float* const of_row = x + t * kFloats;
        const V products = hn::ConvertTo(d, dot_nibbles(even, odd, of_row));
        sums[r][t] = hn::MulAdd(products, hn::LoadU(d, of_row + 2 * kLanes), sums[r][t]);
      }
    }
  }
};

/// Units of the row, whose bytes are in the order of quantise_row(), come `step` floats apart. `scale`: of
/// each `group` terms.
inline void arrange_nibble_bytes(const CompressedForm& form, const std::int8_t* bytes, const float* scale,
                                 std::size_t group, std::size_t step, float* arranged) {
  const D d;
  const hn::RebindToUnsigned<D> lanes;
  const UnitGroups in(form);
  HWY_ALIGN std::uint32_t padded[2 * kLanes];
  HWY_ALIGN float scales[kLanes];
  for (std::size_t term = 0; term < form.terms; term += kUnit, arranged += step) {
    const std::size_t count = std::min(form.terms - term, kUnit);
    if (count < kUnit) std::memset(padded, 0, sizeof(padded));
    std::memcpy(padded, bytes + term, count);
    NibbleWords even;
    NibbleWords odd;
    hn::LoadInterleaved2(lanes, padded, even, odd);
    hn::StoreU(hn::BitCast(d, even), d, arranged);
    hn::StoreU(hn::BitCast(d, odd), d, arranged + kLanes);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      scales[lane] = lane * kNibbles < count ? scale[(term + lane * kNibbles) / group] : 0;
    hn::StoreU(hn::Load(d, scales), d, arranged + 2 * kLanes);
    const NibbleWords ones = hn::Set(lanes, 0x01010101U);
    const V sums = hn::ConvertTo(d, dot_nibbles(ones, ones, arranged));
    hn::StoreU(hn::Mul(sums, hn::Load(d, scales)), d, arranged + ByteUnits::kTermFloats);
    put_groups(form, in, term, arranged + ByteUnits::kTermFloats + kLanes);
  }
}
#endif

/// Units of the row come `step` floats apart.
inline void arrange_nibbles(const CompressedForm& form, const float* x, std::size_t step, float* arranged) {
  const D d;
  const UnitGroups in(form);
  HWY_ALIGN float padded[kUnit];
  for (std::size_t term = 0; term < form.terms; term += kUnit, x += kUnit, arranged += step) {
    const float* from = x;
    if (form.terms - term < kUnit) {
      std::fill(padded, padded + kUnit, 0.0F);
      std::memcpy(padded, x, (form.terms - term) * sizeof(float));
      from = padded;
    }
    // Terms 0, 4, ... of half the unit, terms 1, 5, ... of it, and so on.
    V low[4];
    V high[4];
    hn::LoadInterleaved4(d, from, low[0], low[1], low[2], low[3]);
    hn::LoadInterleaved4(d, from + kUnit / 2, high[0], high[1], high[2], high[3]);
    V sums = hn::Zero(d);
    for (std::size_t j = 0; j < 4; ++j) {
      const V first = hn::ConcatEven(d, high[j], low[j]);
      const V second = hn::ConcatOdd(d, high[j], low[j]);
      sums = hn::Add(sums, hn::Add(first, second));
      hn::StoreU(hn::Mul(first, hn::Set(d, 1.0F / static_cast<float>(1U << (4 * j)))), d,
                 arranged + j * kLanes);
      // The last code is moved: where it stands is the sign.
      const float factor = j == 3 ? 1.0F : 1.0F / static_cast<float>(1U << (4 * j + 16));
      hn::StoreU(hn::Mul(second, hn::Set(d, factor)), d, arranged + (j + 4) * kLanes);
    }
    hn::StoreU(sums, d, arranged + kUnit);
    put_groups(form, in, term, arranged + kUnit + kLanes);
  }
}

/// Scales or offsets of neighbouring rows: [rows, groups], or one number for all.
struct NumbersOfRows {
  NumbersOfRows(const float* of_rows, const float& one, const UnitGroups& in, std::size_t row)
      : from(of_rows == nullptr ? &one : of_rows + row * in.groups),
        row_step(of_rows == nullptr ? 0 : in.groups),
        group_step(of_rows == nullptr ? 0 : 1) {}

  /// Of all lanes.
  [[nodiscard]] HWY_INLINE V of_group(std::size_t row, std::size_t group) const {
    return hn::Set(D(), from[row * row_step + group * group_step]);
  }
  /// Of the group of each lane of a unit: `lanes` says which.
  [[nodiscard]] HWY_INLINE V of_lanes(std::size_t row, const UnitGroups& in, std::size_t unit,
                                      const float* lanes) const {
    const D d;
    const hn::RebindToSigned<D> di;
    if (group_step == 0) return hn::Set(d, *from);
    const auto groups = hn::BitCast(di, hn::LoadU(d, lanes));
    const float* const of_row = from + row * row_step;
    if (in.group > kUnit) {  // one, or the end of one and the beginning of the next
      const std::size_t group = unit * kUnit / in.group;
      const auto begins = hn::Eq(groups, hn::Set(di, static_cast<std::int32_t>(group)));
      const V next = hn::Set(d, of_row[std::min(group + 1, in.groups - 1)]);
      return hn::IfThenElse(hn::RebindMask(d, begins), hn::Set(d, of_row[group]), next);
    }
    if (in.per_unit == 0) return hn::GatherIndex(d, of_row, groups);
    const std::size_t first = unit * in.per_unit;
    const V some = load_edge(of_row + first, std::min(in.per_unit, in.groups - first));
    const auto within = hn::Sub(groups, hn::Set(di, static_cast<std::int32_t>(first)));
    return hn::TableLookupLanes(some, hn::IndicesFromVec(d, within));
  }

  const float* from;
  std::size_t row_step;
  std::size_t group_step;
};

/// What the terms of a block, which are those of units, give with kRows rows of weights from `row` on: added
/// to sums[t * kColumns + r] for row t of kTermRows rows of terms. Each row of weights comes out the same
/// whatever the others are. Units: FloatUnits or ByteUnits.
template <class Units, std::size_t kRows, std::size_t kTermRows>
HWY_INLINE void add_nibble_rows(const CompressedForm& form, const CompressedRows& weights, std::size_t row,
                                const TermBlock& block, const float* arranged, float* sums) {
  const D d;
  const hn::Repartition<std::uint8_t, D> bytes_tag;
  const hn::RebindToUnsigned<D> words_tag;
  const bool is_signed = form.code == WeightCode::i4;
  const NibbleWords flipped = hn::Set(words_tag, is_signed ? 0x88888888U : 0);
  const V bias = hn::Set(d, is_signed ? -8.0F : 0.0F);
  const UnitGroups in(form);
  const std::size_t row_bytes = form.row_bytes();
  const float one_scale = 1;
  const float one_offset = weights.one_offset && weights.offset != nullptr ? *weights.offset : 0;
  const NumbersOfRows scales(weights.scale, one_scale, in, row);
  const NumbersOfRows offsets(weights.one_offset ? nullptr : weights.offset, one_offset, in, row);
  const std::uint8_t* const codes = weights.codes + row * row_bytes;
  // What is fetched is in the same place of rows to come: rows that are read as a whole are a stream.
  const std::size_t step = kRows * row_bytes;
  const std::size_t ahead = block.terms == form.terms
                                ? std::max<std::size_t>(divide_up(stream_ahead(), step), 1) * step
                                : kRowsOfCodesAhead * row_bytes;
  V totals[kRows][kTermRows];
  V scale[kRows];
  V offset[kRows];
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) totals[r][t] = hn::Zero(d);
  }
  const std::size_t first = block.term / kUnit;
  const std::size_t last = units_of(block.term + block.terms);
  std::size_t group = in.units_per_group == 0 ? 0 : first / in.units_per_group;
  std::size_t left = 0;  // units of the group
  for (std::size_t unit = first; unit < last; ++unit) {
    const float* const x = arranged + unit * kTermRows * Units::kFloats;
    const float* const numbers_of_lanes = x + Units::kTermFloats;
    if (in.units_per_group == 0) {
      HWY_ALIGN float numbers[2 * kRows * kLanes];
      for (std::size_t r = 0; r < kRows; ++r) {
        hn::Store(scales.of_lanes(r, in, unit, numbers_of_lanes + kLanes), d, numbers + 2 * r * kLanes);
        hn::Store(offsets.of_lanes(r, in, unit, numbers_of_lanes + kLanes), d,
                  numbers + (2 * r + 1) * kLanes);
      }
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        scale[r] = hn::Load(d, numbers + 2 * r * kLanes);
        offset[r] = hn::Sub(bias, hn::Load(d, numbers + (2 * r + 1) * kLanes));
      }
    } else if (left-- == 0) {
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        scale[r] = scales.of_group(r, group);
        offset[r] = hn::Sub(bias, offsets.of_group(r, group));
      }
      left = in.units_per_group - 1 - (unit == first ? unit % in.units_per_group : 0);
      ++group;
    }
    const std::uint8_t* from = codes + unit * kUnitBytes;
    std::size_t from_step = row_bytes;
    HWY_ALIGN std::uint8_t ends[kRows * kUnitBytes];
    if (const std::size_t rest = row_bytes - unit * kUnitBytes; rest < kUnitBytes) {
      std::memset(ends, 0, sizeof(ends));
      for (std::size_t r = 0; r < kRows; ++r) std::memcpy(ends + r * kUnitBytes, from + r * row_bytes, rest);
      from = ends;
      from_step = kUnitBytes;
    }
    NibbleWords words[kRows];
    V products[kRows][kTermRows];
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      const std::uint8_t* const of_row = from + r * from_step;
      words[r] = hn::Xor(hn::BitCast(words_tag, hn::LoadU(bytes_tag, of_row)), flipped);
      fetch_to_first_level(reinterpret_cast<const float*>(of_row + ahead));
      KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) {
        products[r][t] = hn::Mul(offset[r], hn::LoadU(d, numbers_of_lanes + t * Units::kFloats));
      }
    }
    Units::template add_products<kRows, kTermRows>(words, x, products);
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) {
        totals[r][t] = hn::MulAdd(products[r][t], scale[r], totals[r][t]);
      }
    }
  }
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    KERNELS_UNROLL for (std::size_t t = 0; t < kTermRows; ++t) {
      sums[t * kColumns + r] += hn::GetLane(hn::SumOfLanes(d, totals[r][t]));
    }
  }
}

/// As multiply_block of compressed_weights.cc. Terms that are loaded meet several rows of weights.
template <class Units, std::size_t kTermRows>
void multiply_nibbles(const CompressedForm& form, const CompressedRows& weights, const WeightRows& rows,
                      const TermBlock& block, const float* arranged, std::size_t /*stride*/, float* sums) {
  constexpr std::size_t kTogether = kTermRows == 1 ? kMostTogether : kManyRegisters ? 2 : 1;
  for (std::size_t i = 0; i < rows.count; i += kTogether) {
    // The last rows come with some before them.
    const std::size_t row = std::min(rows.first + i, form.rows - kTogether);
    const std::size_t before = rows.first + i - row;
    float others[kTermRows * kColumns];
    if (before > 0) std::fill(others, others + kTermRows * kColumns, 0.0F);
    add_nibble_rows<Units, kTogether, kTermRows>(form, weights, row, block, arranged,
                                                 before == 0 ? sums + i : others);
    if (before == 0) continue;
    for (std::size_t r = before; r < kTogether; ++r) {
      for (std::size_t t = 0; t < kTermRows; ++t)
        sums[t * kColumns + i + r - before] += others[t * kColumns + r];
    }
  }
}

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_WEIGHTS_NIBBLES_INL_H_
