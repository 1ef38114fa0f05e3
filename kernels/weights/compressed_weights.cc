#include "kernels/weights/compressed_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/matmul/quantised_rows.h"
#include "kernels/threads/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/weights/compressed_weights.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/halves-inl.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/weights/nibbles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

// Codes are decoded two vectors at a time: both halves of a vector of bytes are one.
constexpr std::size_t kStep = 2 * kLanes;
// With more rows it pays to store what codes are decoded to. Code for fewer takes a tenth of a megabyte.
constexpr std::size_t kFewRows = kOldProcessor ? 0 : 16;

template <WeightCode kCode>
struct Codes {
  static constexpr std::size_t kBits = bits_of(kCode);
  static constexpr bool kHalves = kBits == 4;
  static constexpr bool kFloats = kBits == 16;
  /// Half a byte is decoded without its sign: what this takes away from offsets.
  static constexpr float kBias = kCode == WeightCode::i4 ? 8 : 0;

  static constexpr std::size_t bytes(std::size_t terms) { return terms * kBits / 8; }

  /// kStep codes plus kBias: neighbours in both vectors for 4 bits, else one vector behind the other.
  static HWY_INLINE void decode(const std::uint8_t* from, V& first, V& second) {
    if constexpr (kHalves) {
      const hn::RebindToSigned<D> d;
      hn::Vec<decltype(d)> codes = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D>(), from));
      if constexpr (kCode == WeightCode::i4) codes = hn::Xor(codes, hn::Set(d, 0x88));
      first = hn::ConvertTo(D(), hn::And(codes, hn::Set(d, 15)));
      second = hn::ConvertTo(D(), hn::ShiftRight<4>(codes));
    } else {
      first = decode_vector(from);
      second = decode_vector(from + bytes(kLanes));
    }
  }

 private:
  static HWY_INLINE V decode_vector(const std::uint8_t* from) {
    if constexpr (kFloats) {
      const VU16 halves = hn::LoadU(U16(), reinterpret_cast<const std::uint16_t*>(from));
      return kCode == WeightCode::f16 ? float_from_half(halves) : float_from_bfloat(halves);
    } else {
      using T = std::conditional_t<kCode == WeightCode::i8, std::int8_t, std::uint8_t>;
      const auto codes = hn::LoadU(hn::Rebind<T, D>(), reinterpret_cast<const T*>(from));
      return hn::ConvertTo(D(), hn::PromoteTo(hn::RebindToSigned<D>(), codes));
    }
  }
};

/// kStep weights at `from`, the last of which may be missing: these come as codes 0.
template <class Coder>
HWY_INLINE void decode_edge(const std::uint8_t* from, std::size_t count, V& first, V& second) {
  HWY_ALIGN std::uint8_t codes[Coder::bytes(kStep)] = {};
  std::memcpy(codes, from, Coder::bytes(count));
  Coder::decode(codes, first, second);
}

/// What `count` weights of one group give with each of kRows rows of terms, `stride` apart: `sums` says what
/// they begin with. kSteps: as many vectors are decoded at once, and each has chains of its own. What lies
/// `ahead` bytes behind is fetched.
template <class Coder, std::size_t kRows, std::size_t kSteps>
HWY_INLINE void multiply_group(const std::uint8_t* codes, const float* x, std::size_t stride,
                               std::size_t count, std::size_t ahead, V (&sums)[kRows]) {
  const D d;
  V chains[kSteps][kRows][2];
  KERNELS_UNROLL for (std::size_t step = 0; step < kSteps; ++step) {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      chains[step][r][0] = step == 0 ? sums[r] : hn::Zero(d);
      chains[step][r][1] = hn::Zero(d);
    }
  }
  const auto add_up = [&](V first, V second, std::size_t at, V(&chain)[kRows][2]) HWY_ATTR {
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      chain[r][0] = hn::MulAdd(first, hn::LoadU(d, x + r * stride + at), chain[r][0]);
      chain[r][1] = hn::MulAdd(second, hn::LoadU(d, x + r * stride + at + kLanes), chain[r][1]);
    }
  };
  V first;
  V second;
  constexpr std::size_t kBytes = Coder::bytes(kSteps * kStep);
  std::size_t i = 0;
  for (; i + kSteps * kStep <= count; i += kSteps * kStep, codes += kBytes) {
    for (std::size_t byte = 0; byte < kBytes; byte += kCacheLine)
      fetch_to_first_level(reinterpret_cast<const float*>(codes + ahead + byte));
    KERNELS_UNROLL for (std::size_t step = 0; step < kSteps; ++step) {
      Coder::decode(codes + Coder::bytes(step * kStep), first, second);
      add_up(first, second, i + step * kStep, chains[step]);
    }
  }
  for (; i < count; i += kStep, codes += Coder::bytes(kStep)) {
    if (i + kStep <= count) {
      Coder::decode(codes, first, second);
    } else {
      decode_edge<Coder>(codes, count - i, first, second);
    }
    add_up(first, second, i, chains[0]);
  }
  KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    sums[r] = hn::Add(chains[0][r][0], chains[0][r][1]);
    if constexpr (kSteps == 2) sums[r] = hn::Add(sums[r], hn::Add(chains[1][r][0], chains[1][r][1]));
  }
}

/// Scales and offsets of a row.
template <class Coder>
class GroupNumbers {
 public:
  GroupNumbers(const CompressedForm& form, const CompressedRows& weights, std::size_t row)
      : scale_(weights.scale == nullptr ? nullptr : weights.scale + row * form.groups()),
        offset_(weights.offset == nullptr || weights.one_offset ? nullptr
                                                                : weights.offset + row * form.groups()),
        one_(weights.one_offset && weights.offset != nullptr ? *weights.offset : 0) {}

  /// What the code of a weight of 0 is decoded to.
  [[nodiscard]] float offset(std::size_t group) const {
    return (offset_ == nullptr ? one_ : offset_[group]) + Coder::kBias;
  }
  [[nodiscard]] float scale(std::size_t group) const { return scale_ == nullptr ? 1.0F : scale_[group]; }

 private:
  const float* scale_;
  const float* offset_;
  float one_;
};

std::size_t padded_group(const CompressedForm& form) { return (form.group + kStep - 1) / kStep * kStep; }
// Sums of each lane's terms follow those of a group: what an offset takes away is known at once.
std::size_t arranged_group(const CompressedForm& form) { return padded_group(form) + kLanes; }

// Of a block of terms, for each of kAtOnce rows: it leaves room for weights in the first-level cache.
constexpr std::size_t kBlockTerms = 1024;
[[maybe_unused]] constexpr std::size_t kBlockBytes = 4 * kBlockTerms;
// A single row is cut only where it would come from the second-level cache for every row of weights.
constexpr std::size_t kMostOfRow = 8192;

/// Adds what a block of row i of some rows of weights gives with row r of kRows rows of terms to
/// sums[r * kColumns + i].
template <class Coder, std::size_t kRows, std::size_t kSteps>
void multiply_block(const CompressedForm& form, const CompressedRows& weights, const WeightRows& rows,
                    const TermBlock& block, const float* arranged, std::size_t stride, float* sums) {
  const D d;
  const std::size_t row_bytes = form.row_bytes();
  const std::size_t group_bytes = Coder::bytes(form.group);
  const std::size_t group_floats = arranged_group(form);
  const std::size_t sums_of_lanes = padded_group(form);
  const std::size_t end = block.group + block.groups;
  const std::size_t count = block.terms;
  const std::size_t ahead =
      block.groups * count == form.terms ? stream_ahead() : kRowsOfCodesAhead * row_bytes;
  // What the offset takes away from a group is taken at once.
  const bool has_offset = block.term == 0;
  const std::size_t first_byte = Coder::bytes(block.group * form.group + block.term);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const GroupNumbers<Coder> numbers(form, weights, rows.first + i);
    const std::uint8_t* codes = weights.codes + (rows.first + i) * row_bytes + first_byte;
    const float* terms = arranged + block.group * group_floats;
    V of_groups[kRows];
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) of_groups[r] = hn::Zero(d);
    for (std::size_t g = block.group; g < end; ++g, codes += group_bytes, terms += group_floats) {
      const float offset = has_offset ? numbers.offset(g) : 0;
      V group[kRows];
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        const float* const of_lanes = terms + r * stride + sums_of_lanes;
        group[r] = offset == 0 ? hn::Zero(d) : hn::Mul(hn::Set(d, -offset), hn::LoadU(d, of_lanes));
      }
      multiply_group<Coder, kRows, kSteps>(codes, terms + block.term, stride, count, ahead, group);
      const V scale = hn::Set(d, numbers.scale(g));
      KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        of_groups[r] = hn::MulAdd(group[r], scale, of_groups[r]);
      }
    }
    KERNELS_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      sums[r * kColumns + i] += hn::GetLane(hn::SumOfLanes(d, of_groups[r]));
    }
  }
}

/// multiply_block for so many rows of terms.
struct BlockFunction {
  decltype(&multiply_block<Codes<WeightCode::f16>, 1, 1>) multiply;
  std::size_t rows;
  std::size_t most_terms;  ///< of a block
};

/// A block of terms stays in the first-level cache while rows of weights go by.
void multiply_rows(const BlockFunction& function, const CompressedForm& form, const CompressedRows& weights,
                   const float* arranged, std::size_t stride, std::size_t first, const Tile& tile) {
  // Of 4 bits, blocks are of units, whatever the groups.
  const std::size_t group = takes_nibbles(form) ? form.terms : form.group;
  const std::size_t groups = form.terms / group;
  const std::size_t most_groups = std::max<std::size_t>(function.most_terms / group, 1);
  for (std::size_t j = 0; j < tile.columns; j += kColumns) {
    const std::size_t count = std::min(kColumns, tile.columns - j);
    HWY_ALIGN float sums[kAtOnce * kColumns] = {};
    TermBlock block;
    for (; block.group < groups; block.group += block.groups) {
      block.groups = std::min(most_groups, groups - block.group);
      for (block.term = 0; block.term < group; block.term += block.terms) {
        block.terms = std::min(function.most_terms, group - block.term);
        function.multiply(form, weights, {first + j, count}, block, arranged, stride, sums);
      }
    }
    for (std::size_t r = 0; r < function.rows; ++r) {
      Tile row = tile;
      row.out += r * tile.stride;
      if (row.residual != nullptr) row.residual += r * tile.stride;
      for (std::size_t i = 0; i < count; i += kLanes) {
        const std::size_t lanes = std::min(kLanes, count - i);
        const V results = hn::Load(D(), sums + r * kColumns + i);
        store_edge(finish_vector(results, row, j + i, lanes), row.out + j + i, lanes);
      }
    }
  }
}

/// Terms of one group, from an even one on.
template <class Coder>
HWY_INLINE void decompress_terms(const std::uint8_t* codes, std::size_t count, float offset, float scale,
                                 float* out) {
  const D d;
  const V zero = hn::Set(d, offset);
  const V factor = hn::Set(d, scale);
  const auto store = [&](V first, V second, float* to) HWY_ATTR {
    if constexpr (!Coder::kFloats) {
      first = hn::Mul(hn::Sub(first, zero), factor);
      second = hn::Mul(hn::Sub(second, zero), factor);
    }
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
    Coder::decode(codes + Coder::bytes(i), first, second);
    store(first, second, out + i);
  }
  if (i == count) return;
  HWY_ALIGN float edge[kStep];
  decode_edge<Coder>(codes + Coder::bytes(i), count - i, first, second);
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
    // What comes next of this row lies far from what comes next of others, too far for hardware to see.
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
      decompress_terms<Coder>(codes + Coder::bytes(term), whole, numbers.offset(group), numbers.scale(group),
                              place);
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

/// Terms of each group and the sums of their lanes.
void arrange_groups(const CompressedForm& form, const float* x, float* arranged) {
  const D d;
  const std::size_t padded = padded_group(form);
  for (std::size_t g = 0; g < form.groups(); ++g) {
    const float* const from = x + g * form.group;
    float* const to = arranged + g * arranged_group(form);
    std::memcpy(to, from, form.group * sizeof(float));
    std::fill(to + form.group, to + padded, 0.0F);
    V sums = hn::Zero(d);
    for (std::size_t i = 0; i < padded; i += kStep)
      sums = hn::Add(sums, hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, to + i + kLanes)));
    hn::StoreU(sums, d, to + padded);
  }
}

/// Where the units of a row of terms begin, and how far apart they are: those of rows that meet codes
/// together take turns.
struct UnitPlace {
  UnitPlace(std::size_t row, std::size_t rows, std::size_t stride, std::size_t unit_floats) {
    const std::size_t head = row / kAtOnce * kAtOnce;
    const bool together = head + kAtOnce <= rows;
    first = together ? head * stride + (row - head) * unit_floats : row * stride;
    step = together ? kAtOnce * unit_floats : unit_floats;
  }
  std::size_t first = 0;
  std::size_t step = 0;
};

struct CodeFunctions {
  decltype(BlockFunction::multiply) multiply_row;
  decltype(BlockFunction::multiply) multiply_several;  ///< kAtOnce rows
  void (*decompress)(const CompressedForm&, const CompressedRows&, const CompressedPart&, float*,
                     std::size_t);
};

template <WeightCode kCode>
constexpr CodeFunctions functions_for() {
  if constexpr (kFewRows == 0) {
    return {nullptr, nullptr, decompress_rows<Codes<kCode>>};
  } else if constexpr (bits_of(kCode) == 4) {
    return {multiply_nibbles<FloatUnits, 1>, multiply_nibbles<FloatUnits, kAtOnce>,
            decompress_rows<Codes<kCode>>};
  } else {
    using Coder = Codes<kCode>;
    return {multiply_block<Coder, 1, 2>, multiply_block<Coder, kAtOnce, 1>, decompress_rows<Coder>};
  }
}

template <std::size_t... kCodes>
constexpr std::array<CodeFunctions, sizeof...(kCodes)> functions_of(std::index_sequence<kCodes...>) {
  return {functions_for<static_cast<WeightCode>(kCodes)>()...};
}

const CodeFunctions& functions_of(WeightCode code) {
  static constexpr auto kFunctions = functions_of(std::make_index_sequence<kWeightCodes>());
  return kFunctions[static_cast<std::size_t>(code)];
}

}  // namespace

std::size_t MostArrangedRows(const CompressedForm& form) {
  return bits_of(form.code) == 4 && !takes_nibbles(form) ? 0 : kFewRows;
}

bool DotsNibbles(const CompressedForm& form) { return KERNELS_HAVE_NIBBLE_DOTS != 0 && takes_nibbles(form); }

std::size_t ArrangedFloats(const CompressedForm& form, [[maybe_unused]] RowElements elements) {
  if (!takes_nibbles(form)) return form.groups() * arranged_group(form);
#if KERNELS_HAVE_NIBBLE_DOTS
  if (elements == RowElements::bytes) return units_of(form.terms) * ByteUnits::kFloats;
#endif
  return units_of(form.terms) * FloatUnits::kFloats;
}

void ArrangeTerms(const CompressedForm& form, const float* x, std::size_t rows, float* arranged) {
  if constexpr (kFewRows == 0) return;
  const std::size_t stride = ArrangedFloats(form, RowElements::floats);
  for (std::size_t row = 0; row < rows; ++row, x += form.terms) {
    if (!takes_nibbles(form)) {
      arrange_groups(form, x, arranged + row * stride);
      continue;
    }
    const UnitPlace place(row, rows, stride, FloatUnits::kFloats);
    arrange_nibbles(form, x, place.step, arranged + place.first);
  }
}

void ArrangeBytes([[maybe_unused]] const CompressedForm& form, [[maybe_unused]] const QuantisedRow& quantised,
                  [[maybe_unused]] std::size_t group, [[maybe_unused]] std::size_t row,
                  [[maybe_unused]] std::size_t rows, [[maybe_unused]] float* arranged) {
#if KERNELS_HAVE_NIBBLE_DOTS
  const UnitPlace place(row, rows, ArrangedFloats(form, RowElements::bytes), ByteUnits::kFloats);
  arrange_nibble_bytes(form, quantised.bytes, quantised.scale, group, place.step, arranged + place.first);
  clear_upper_halves();
#endif
}

void MultiplyCompressed(const CompressedForm& form, const CompressedRows& weights, const ArrangedRows& rows,
                        std::size_t first, const Tile& tile) {
  if constexpr (kFewRows == 0) return;
  const CodeFunctions& functions = functions_of(form.code);
  const bool whole_row = form.terms <= kMostOfRow || takes_nibbles(form);
  BlockFunction one{functions.multiply_row, 1, whole_row ? form.terms : kMostOfRow / 2};
  BlockFunction several{functions.multiply_several, kAtOnce, kBlockTerms};
#if KERNELS_HAVE_NIBBLE_DOTS
  if (rows.elements == RowElements::bytes) {
    one.multiply = multiply_nibbles<ByteUnits, 1>;
    several = BlockFunction{multiply_nibbles<ByteUnits, kAtOnce>, kAtOnce, kBlockBytes};
  }
#endif
  const std::size_t stride = ArrangedFloats(form, rows.elements);
  Tile part = tile;
  for (std::size_t row = 0; row < rows.count;) {
    const BlockFunction& function = rows.count - row < kAtOnce ? one : several;
    multiply_rows(function, form, weights, rows.arranged + row * stride, stride, first, part);
    row += function.rows;
    part.out += function.rows * tile.stride;
    if (part.residual != nullptr) part.residual += function.rows * tile.stride;
  }
  clear_upper_halves();
}

void Decompress(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                float* out, std::size_t stride) {
  functions_of(form.code).decompress(form, weights, part, out, stride);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(MostArrangedRows);
HWY_EXPORT(ArrangedFloats);
HWY_EXPORT(ArrangeTerms);
HWY_EXPORT(ArrangeBytes);
HWY_EXPORT(DotsNibbles);
HWY_EXPORT(MultiplyCompressed);
HWY_EXPORT(Decompress);

std::size_t most_arranged_rows(const CompressedForm& form) {
  return HWY_DYNAMIC_DISPATCH(MostArrangedRows)(form);
}

bool dots_nibbles(const CompressedForm& form) { return HWY_DYNAMIC_DISPATCH(DotsNibbles)(form); }

std::size_t arranged_floats(const CompressedForm& form, RowElements elements) {
  return HWY_DYNAMIC_DISPATCH(ArrangedFloats)(form, elements);
}

void arrange_terms(const CompressedForm& form, const float* x, std::size_t rows, float* arranged) {
  HWY_DYNAMIC_DISPATCH(ArrangeTerms)(form, x, rows, arranged);
}

void arrange_bytes(const CompressedForm& form, const QuantisedRow& quantised, std::size_t group,
                   std::size_t row, std::size_t rows, float* arranged) {
  HWY_DYNAMIC_DISPATCH(ArrangeBytes)(form, quantised, group, row, rows, arranged);
}

void multiply_compressed(const CompressedForm& form, const CompressedRows& weights, const ArrangedRows& rows,
                         std::size_t first, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(MultiplyCompressed)(form, weights, rows, first, tile);
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
