#include "kernels/compressed_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/compressed_weights.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/gemm-inl.h"
#include "kernels/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

// Codes are decoded two vectors at a time: both halves of a vector of bytes are one.
constexpr std::size_t kStep = 2 * kLanes;

// An integer of up to 23 bits in the mantissa of 2^23 is that much more than 2^23: subtracting the offset
// converts it on the way.
constexpr float kTwoTo23 = 8388608.0F;

template <WeightCode kCode>
struct Codes {
  static constexpr std::size_t kBits = bits_of(kCode);
  static constexpr bool kHalves = kBits == 4;
  static constexpr bool kFloats = kBits == 16;

  static V offset(float value) {
    const D d;
    if constexpr (kFloats || kCode == WeightCode::i8) return hn::Set(d, value);
    // Half a byte more than -8 is from 0 on.
    return hn::Set(d, kTwoTo23 + value + (kCode == WeightCode::i4 ? 8.0F : 0.0F));
  }

  /// kStep weights, but for their scale: neighbours in both vectors for 4 bits, else one vector behind the
  /// other.
  static HWY_INLINE void decode(const std::uint8_t* from, V offset, V& first, V& second) {
    if constexpr (kHalves) {
      const hn::RebindToUnsigned<D> d;
      hn::Vec<decltype(d)> codes = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D>(), from));
      if constexpr (kCode == WeightCode::i4) codes = hn::Xor(codes, hn::Set(d, 0x88));
      first = hn::Sub(shifted(hn::And(codes, hn::Set(d, 15))), offset);
      second = hn::Sub(shifted(hn::ShiftRight<4>(codes)), offset);
    } else {
      first = decode_vector(from, offset);
      second = decode_vector(from + kLanes * kBits / 8, offset);
    }
  }

 private:
  template <class Integers>
  static HWY_INLINE V shifted(Integers codes) {
    const hn::RebindToUnsigned<D> d;
    return hn::BitCast(D(), hn::Or(codes, hn::BitCast(d, hn::Set(D(), kTwoTo23))));
  }

  static HWY_INLINE V decode_vector(const std::uint8_t* from, V offset) {
    const D d;
    if constexpr (kFloats) {
      const VU16 halves = hn::LoadU(U16(), reinterpret_cast<const std::uint16_t*>(from));
      return kCode == WeightCode::f16 ? float_from_half(halves) : float_from_bfloat(halves);
    } else if constexpr (kCode == WeightCode::i8) {
      const hn::RebindToSigned<D> wide;
      const auto codes = hn::LoadU(hn::Rebind<std::int8_t, D>(), reinterpret_cast<const std::int8_t*>(from));
      return hn::Sub(hn::ConvertTo(d, hn::PromoteTo(wide, codes)), offset);
    } else {
      const hn::RebindToUnsigned<D> wide;
      return hn::Sub(shifted(hn::PromoteTo(wide, hn::LoadU(hn::Rebind<std::uint8_t, D>(), from))), offset);
    }
  }
};

/// kStep weights at `from`, the last of which may be missing: these come as codes 0.
template <class Coder>
HWY_INLINE void decode_edge(const std::uint8_t* from, std::size_t count, V offset, V& first, V& second) {
  HWY_ALIGN std::uint8_t codes[kStep * Coder::kBits / 8] = {};
  std::memcpy(codes, from, count * Coder::kBits / 8);
  Coder::decode(codes, offset, first, second);
}

/// The sum of one group.
template <class Coder>
HWY_INLINE V multiply_group(const std::uint8_t* codes, const float* x, std::size_t count, V offset) {
  const D d;
  constexpr std::size_t kAhead = 4096;
  V sums[4];
  KERNELS_UNROLL for (V& sum : sums) sum = hn::Zero(d);
  V first;
  V second;
  std::size_t i = 0;
  for (; i + 2 * kStep <= count; i += 2 * kStep) {
    const std::uint8_t* const from = codes + i * Coder::kBits / 8;
    // Rows lie one behind the other.
    for (std::size_t byte = 0; byte < 2 * kStep * Coder::kBits / 8; byte += kCacheLine)
      fetch_to_first_level(reinterpret_cast<const float*>(from + kAhead + byte));
    Coder::decode(from, offset, first, second);
    sums[0] = hn::MulAdd(first, hn::LoadU(d, x + i), sums[0]);
    sums[1] = hn::MulAdd(second, hn::LoadU(d, x + i + kLanes), sums[1]);
    Coder::decode(from + kStep * Coder::kBits / 8, offset, first, second);
    sums[2] = hn::MulAdd(first, hn::LoadU(d, x + i + kStep), sums[2]);
    sums[3] = hn::MulAdd(second, hn::LoadU(d, x + i + kStep + kLanes), sums[3]);
  }
  for (; i < count; i += kStep) {
    const std::uint8_t* const from = codes + i * Coder::kBits / 8;
    if (i + kStep <= count) {
      Coder::decode(from, offset, first, second);
    } else {
      decode_edge<Coder>(from, count - i, offset, first, second);
    }
    sums[0] = hn::MulAdd(first, hn::LoadU(d, x + i), sums[0]);
    sums[1] = hn::MulAdd(second, hn::LoadU(d, x + i + kLanes), sums[1]);
  }
  return hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
}

/// Offsets and scales as vectors, for one row after the other.
template <class Coder>
class GroupNumbers {
 public:
  GroupNumbers(const CompressedForm& form, const CompressedRows& weights, std::size_t row)
      : scale_(weights.scale == nullptr ? nullptr : weights.scale + row * form.groups()),
        offset_(weights.offset == nullptr || weights.one_offset ? nullptr
                                                                : weights.offset + row * form.groups()),
        one_(Coder::offset(weights.one_offset && weights.offset != nullptr ? *weights.offset : 0.0F)) {}

  [[nodiscard]] V offset(std::size_t group) const {
    return offset_ == nullptr ? one_ : Coder::offset(offset_[group]);
  }
  [[nodiscard]] float scale(std::size_t group) const { return scale_ == nullptr ? 1.0F : scale_[group]; }

 private:
  const float* scale_;
  const float* offset_;
  V one_;
};

std::size_t padded_group(const CompressedForm& form) { return (form.group + kStep - 1) / kStep * kStep; }

template <class Coder>
void multiply_rows(const CompressedForm& form, const CompressedRows& weights, const float* x,
                   std::size_t first, const Tile& tile) {
  const D d;
  const std::size_t group_bytes = form.group * Coder::kBits / 8;
  const std::size_t group_floats = padded_group(form);
  for (std::size_t j = 0; j < tile.columns; j += kLanes) {
    const std::size_t count = std::min(kLanes, tile.columns - j);
    HWY_ALIGN float sums[kLanes] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const GroupNumbers<Coder> numbers(form, weights, first + j + i);
      const std::uint8_t* const codes = weights.codes + (first + j + i) * form.row_bytes();
      V sum = hn::Zero(d);
      for (std::size_t g = 0; g < form.groups(); ++g) {
        const V terms = multiply_group<Coder>(codes + g * group_bytes, x + g * group_floats, form.group,
                                              numbers.offset(g));
        sum = hn::MulAdd(terms, hn::Set(d, numbers.scale(g)), sum);
      }
      sums[i] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
    store_edge(finish_vector(hn::Load(d, sums), tile, j, count), tile.out + j, count);
  }
}

/// Terms of one group, from an even one on.
template <class Coder>
HWY_INLINE void decompress_terms(const std::uint8_t* codes, std::size_t count, V offset, float scale,
                                 float* out) {
  const D d;
  const V factor = hn::Set(d, scale);
  const auto store = [&](V first, V second, float* to) HWY_ATTR {
    first = hn::Mul(first, factor);
    second = hn::Mul(second, factor);
    if constexpr (Coder::kHalves) {
      hn::StoreInterleaved2(first, second, d, to);
    } else {
      hn::StoreU(first, d, to);
      hn::StoreU(second, d, to + kLanes);
    }
  };
  V first;
  V second;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    Coder::decode(codes + i * Coder::kBits / 8, offset, first, second);
    store(first, second, out + i);
  }
  if (i == count) return;
  HWY_ALIGN float edge[kStep];
  decode_edge<Coder>(codes + i * Coder::kBits / 8, count - i, offset, first, second);
  store(first, second, edge);
  std::memcpy(out + i, edge, (count - i) * sizeof(float));
}

template <class Coder>
void decompress_rows(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                     float* out, std::size_t stride) {
  for (std::size_t r = 0; r < part.rows; ++r) {
    const GroupNumbers<Coder> numbers(form, weights, part.row + r);
    const std::uint8_t* const codes = weights.codes + (part.row + r) * form.row_bytes();
    float* const to = out + r * stride;
    const std::size_t end = part.term + part.terms;
    for (std::size_t term = part.term; term < end;) {
      const std::size_t group = term / form.group;
      const std::size_t next = std::min(end, (group + 1) * form.group);
      float* place = to + (term - part.term);
      if (Coder::kHalves && term % 2 != 0) {
        // The second half of a byte.
        float both[2];
        decompress_terms<Coder>(codes + term / 2, 2, numbers.offset(group), numbers.scale(group), both);
        *place++ = both[1];
        ++term;
      }
      // Half a byte is read as a whole one.
      const std::size_t whole = Coder::kHalves ? (next - term) / 2 * 2 : next - term;
      decompress_terms<Coder>(codes + term * Coder::kBits / 8, whole, numbers.offset(group),
                              numbers.scale(group), place);
      if (whole != next - term) {
        float both[2];
        decompress_terms<Coder>(codes + (term + whole) / 2, 2, numbers.offset(group), numbers.scale(group),
                                both);
        place[whole] = both[0];
      }
      term = next;
    }
  }
}

struct CodeFunctions {
  decltype(&kernels::multiply_compressed) multiply;
  void (*decompress)(const CompressedForm&, const CompressedRows&, const CompressedPart&, float*,
                     std::size_t);
};

template <std::size_t... kCodes>
constexpr std::array<CodeFunctions, sizeof...(kCodes)> functions_of(std::index_sequence<kCodes...>) {
  return {{{multiply_rows<Codes<static_cast<WeightCode>(kCodes)>>,
            decompress_rows<Codes<static_cast<WeightCode>(kCodes)>>}...}};
}

const CodeFunctions& functions_of(WeightCode code) {
  static constexpr auto kFunctions = functions_of(std::make_index_sequence<kWeightCodes>());
  return kFunctions[static_cast<std::size_t>(code)];
}

}  // namespace

std::size_t ArrangedFloats(const CompressedForm& form) { return form.groups() * padded_group(form); }

void ArrangeTerms(const CompressedForm& form, const float* x, float* arranged) {
  const D d;
  const std::size_t padded = padded_group(form);
  for (std::size_t g = 0; g < form.groups(); ++g) {
    const float* const from = x + g * form.group;
    float* const to = arranged + g * padded;
    std::memcpy(to, from, form.group * sizeof(float));
    std::fill(to + form.group, to + padded, 0.0F);
    if (bits_of(form.code) != 4) continue;
    for (std::size_t i = 0; i < padded; i += kStep) {
      const V low = hn::LoadU(d, to + i);
      const V high = hn::LoadU(d, to + i + kLanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
      hn::StoreU(hn::ConcatOdd(d, high, low), d, to + i + kLanes);
    }
  }
}

void MultiplyCompressed(const CompressedForm& form, const CompressedRows& weights, const float* arranged,
                        std::size_t first, const Tile& tile) {
  functions_of(form.code).multiply(form, weights, arranged, first, tile);
}

void Decompress(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                float* out, std::size_t stride) {
  functions_of(form.code).decompress(form, weights, part, out, stride);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(ArrangedFloats);
HWY_EXPORT(ArrangeTerms);
HWY_EXPORT(MultiplyCompressed);
HWY_EXPORT(Decompress);

std::size_t arranged_floats(const CompressedForm& form) { return HWY_DYNAMIC_DISPATCH(ArrangedFloats)(form); }

void arrange_terms(const CompressedForm& form, const float* x, float* arranged) {
  HWY_DYNAMIC_DISPATCH(ArrangeTerms)(form, x, arranged);
}

void multiply_compressed(const CompressedForm& form, const CompressedRows& weights, const float* arranged,
                         std::size_t first, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(MultiplyCompressed)(form, weights, arranged, first, tile);
}

void decompress(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                float* out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(Decompress)(form, weights, part, out, stride);
}

void decompress(const CompressedForm& form, const CompressedRows& weights, float* out) {
  parallel_for(form.rows, grain_for_cost(form.terms), [&](std::size_t begin, std::size_t end) {
    decompress(form, weights, {begin, end - begin, 0, form.terms}, out + begin * form.terms, form.terms);
  });
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
