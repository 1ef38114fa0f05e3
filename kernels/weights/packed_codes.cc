#include "kernels/weights/packed_codes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/matmul/gemm_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/weights/packed_codes.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/halves-inl.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using DU = hn::RebindToUnsigned<D>;
using DI = hn::RebindToSigned<D>;
using Lanes = hn::Vec<DU>;

/// The part's rows of codes, one behind the other, with bits of each byte flipped.
void copy_rows(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
               std::uint8_t flipped, std::uint8_t* to) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto bits = hn::Set(d, flipped);
  const std::size_t count = part.terms * bits_of(form.code) / 8;
  const std::uint8_t* from = weights.codes + part.row * form.row_bytes() + part.term * bits_of(form.code) / 8;
  for (std::size_t row = 0; row < part.rows; ++row, from += form.row_bytes(), to += count) {
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Xor(hn::LoadU(d, from + i), bits), d, to + i);
    if (i < count) store_n(hn::Xor(load_n(d, from + i, count - i), bits), d, to + i, count - i);
  }
}

/// Lanes of codes of a part in a panel, which ends where one of `rows` rows at `packed` does: results of
/// several rows for each of lanes, written in turn, do not overtake what is still to be read. Returns their
/// beginning.
float* pack_lanes(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                  std::uint8_t flipped, float* copied, std::size_t rows, float* packed) {
  copy_rows(form, weights, part, flipped, reinterpret_cast<std::uint8_t*>(copied));
  const std::size_t lanes = part.terms * bits_of(form.code) / 32;
  const GemmKernels& kernels = gemm_kernels();
  float* const to = packed + (rows - lanes) * kernels.padded(part.rows);
  kernels.pack_columns_transposed(copied, lanes, lanes, part.rows, to);
  return to;
}

/// Term kTerm of the codes in each lane as floats; of i4, 8 more.
template <WeightCode kCode, std::size_t kTerm>
HWY_INLINE V float_of_lane(Lanes lanes) {
  const DU d;
  const DI di;
  constexpr int kBits = bits_of(kCode);
  constexpr int kFirst = kTerm * kBits;
  if constexpr (kCode == WeightCode::bf16) {
    return hn::BitCast(D(), kTerm == 0 ? hn::ShiftLeft<16>(lanes) : hn::And(lanes, hn::Set(d, 0xFFFF0000U)));
  } else if constexpr (kCode == WeightCode::f16) {
    return float_from_half(hn::TruncateTo(U16(), kTerm == 0 ? lanes : hn::ShiftRight<16>(lanes)));
  } else if constexpr (kCode == WeightCode::i8) {
    const auto high = hn::BitCast(di, hn::ShiftLeft<32 - kBits - kFirst>(lanes));
    return hn::ConvertTo(D(), hn::ShiftRight<32 - kBits>(high));
  } else {
    const Lanes low = hn::ShiftRight<kFirst>(lanes);
    const bool is_last = kFirst + kBits == 32;
    return hn::ConvertTo(D(), hn::BitCast(di, is_last ? low : hn::And(low, hn::Set(d, (1U << kBits) - 1))));
  }
}

/// Scales and offsets of the groups that a part has terms of.
class PackedNumbers {
 public:
  PackedNumbers(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                float* room)
      : width_(gemm_kernels().padded(part.rows)), first_(part.term / form.group), scales_(room) {
    const std::size_t last = (part.term + part.terms - 1) / form.group;
    offsets_ = scales_ + (last + 1 - first_) * width_;
    pack_group_numbers(form, weights, part, scales_, offsets_);
  }

  [[nodiscard]] HWY_INLINE V scale(std::size_t group, std::size_t column) const {
    return hn::LoadU(D(), scales_ + (group - first_) * width_ + column);
  }
  [[nodiscard]] HWY_INLINE V offset(std::size_t group, std::size_t column) const {
    return hn::LoadU(D(), offsets_ + (group - first_) * width_ + column);
  }

 private:
  std::size_t width_;
  std::size_t first_;
  float* scales_;
  float* offsets_;
};

template <WeightCode kCode>
void pack_floats(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                 float* rows, float* packed) {
  constexpr std::size_t kTerms = 32 / bits_of(kCode);
  constexpr bool kFloats = bits_of(kCode) == 16;
  const std::size_t width = gemm_kernels().padded(part.rows);
  const std::size_t lanes = part.terms / kTerms;
  // Signs of i8 are kept; codes of 4 bits are cut out without.
  constexpr bool kFlips = kCode == WeightCode::i4;
  const float* const codes =
      pack_lanes(form, weights, part, kFlips ? sign_bits(kCode) : 0, rows, part.terms, packed);
  const auto unpack = [&]<class Finish>(std::size_t lane, std::size_t column, const Finish& finish) HWY_ATTR {
    const D d;
    const Lanes together = hn::BitCast(DU(), hn::LoadU(d, codes + lane * width + column));
    float* const to = packed + lane * kTerms * width + column;
    [&]<std::size_t... kTerm>(std::index_sequence<kTerm...>) HWY_ATTR {
      (hn::StoreU(finish(float_of_lane<kCode, kTerm>(together)), d, to + kTerm * width), ...);
    }
    (std::make_index_sequence<kTerms>());
  };
  if constexpr (kFloats) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t i = 0; i < width; i += kLanes) unpack(lane, i, [](V v) HWY_ATTR { return v; });
    }
  } else {
    const PackedNumbers numbers(form, weights, part, rows);
    const V bias = hn::Set(D(), kFlips ? unsigned_bias(kCode) : 0.0F);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t group = (part.term + lane * kTerms) / form.group;
      for (std::size_t i = 0; i < width; i += kLanes) {
        const V scale = numbers.scale(group, i);
        const V offset = hn::Add(numbers.offset(group, i), bias);
        unpack(lane, i, [=](V code) HWY_ATTR { return hn::Mul(hn::Sub(code, offset), scale); });
      }
    }
  }
}

using PackFloats = decltype(&pack_floats<WeightCode::u8>);

/// nullptr: to move floats takes no longer.
template <WeightCode kCode>
constexpr PackFloats function_for() {
  // Without AVX-512, halves of lanes come in three instructions.
  if constexpr (kCode == WeightCode::f16 && !kManyRegisters) {
    return nullptr;
  } else {
    return pack_floats<kCode>;
  }
}

template <std::size_t... kCodes>
constexpr std::array<PackFloats, sizeof...(kCodes)> functions_of(std::index_sequence<kCodes...>) {
  return {function_for<static_cast<WeightCode>(kCodes)>()...};
}

}  // namespace

void PackCodeBytes(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                   float* rows, float* packed) {
  const std::size_t depth = part.terms / 4;
  const float* const codes = pack_lanes(form, weights, part, sign_bits(form.code), rows, depth, packed);
  if (bits_of(form.code) == 8) return clear_upper_halves();
  const D d;
  const auto low = hn::Set(DU(), 0x0F0F0F0FU);
  const std::size_t width = gemm_kernels().padded(part.rows);
  for (std::size_t lane = 0; lane < depth / 2; ++lane) {
    for (std::size_t i = 0; i < width; i += kLanes) {
      const Lanes v = hn::BitCast(DU(), hn::LoadU(d, codes + lane * width + i));
      float* const to = packed + 2 * lane * width + i;
      hn::StoreU(hn::BitCast(d, hn::And(v, low)), d, to);
      hn::StoreU(hn::BitCast(d, hn::And(hn::ShiftRight<4>(v), low)), d, to + width);
    }
  }
  clear_upper_halves();
}

void PackCodeFloats(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                    float* rows, float* packed) {
  const std::size_t terms = 32 / bits_of(form.code);
  const bool has_lanes = part.term % terms == 0 && part.terms % terms == 0 && form.group % terms == 0;
  static constexpr auto kFunctions = functions_of(std::make_index_sequence<kWeightCodes>());
  const PackFloats pack = kFunctions[static_cast<std::size_t>(form.code)];
  if (has_lanes && pack != nullptr) {
    pack(form, weights, part, rows, packed);
    return clear_upper_halves();
  }
  decompress(form, weights, part, rows, part.terms);
  gemm_kernels().pack_columns_transposed(rows, part.terms, part.terms, part.rows, packed);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(PackCodeBytes);
HWY_EXPORT(PackCodeFloats);

void pack_code_bytes(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                     float* rows, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackCodeBytes)(form, weights, part, rows, packed);
}

void pack_code_floats(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                      float* rows, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackCodeFloats)(form, weights, part, rows, packed);
}

void pack_group_numbers(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                        float* scales, float* offsets) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t first = part.term / form.group;
  const std::size_t count = (part.term + part.terms - 1) / form.group + 1 - first;
  const auto pack = [&](const float* numbers, float one, float* to) {
    if (numbers == nullptr) {
      std::fill(to, to + count * kernels.padded(part.rows), one);
    } else {
      kernels.pack_columns_transposed(numbers + part.row * form.groups() + first, form.groups(), count,
                                      part.rows, to);
    }
  };
  pack(weights.scale, 1, scales);
  const bool one_offset = weights.one_offset && weights.offset != nullptr;
  pack(weights.one_offset ? nullptr : weights.offset, one_offset ? *weights.offset : 0, offsets);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
