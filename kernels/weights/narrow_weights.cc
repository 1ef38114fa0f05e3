#include "kernels/weights/narrow_weights.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/weights/narrow_weights.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/matmul/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;

constexpr std::size_t kVectors = NarrowKernels::kVectors;
constexpr std::size_t kGroupTerms = NarrowKernels::kGroupTerms;
constexpr std::size_t kColumns = kVectors * kLanes;
// As many as registers hold the sums of, and leave time to widen weights.
constexpr std::size_t kMostRows = kOldProcessor ? 1 : HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr std::size_t kMostUnits = kOldProcessor ? 1 : NarrowKernels::kMostColumns / kColumns;

/// Integers of 16 bits: a term of a unit is two vectors of pairs of them, a group begins with the scales of
/// its columns.
struct Integers {
  static constexpr bool kTakesRows = true;
  static constexpr std::size_t kPairs = kVectors / 2;
  static constexpr std::size_t kTermFloats = kPairs * kLanes;
  static constexpr std::size_t kGroupFloats = kColumns;

  static constexpr float kMostSteps = 32767;
  // Pairs are floats of upper halves of words: 2^16 times the integers. Terms are divided by that, and by
  // 2^15 lest products with integers be infinite where those with weights are not; scales make up for 2^15.
  static constexpr float kOfTerms = 0x1p-31F;
  static constexpr float kOfScales = 0x1p15F;
  // How many steps of smaller weights make 1 is no float.
  static constexpr float kLeastPeak = 0x1p-112F;

  static HWY_INLINE void widen(const float* term, V (&weights)[kVectors]) {
    const D d;
    const DI di;
    const VI upper = hn::Set(di, static_cast<std::int32_t>(0xFFFF0000));
    KERNELS_UNROLL for (std::size_t pair = 0; pair < kPairs; ++pair) {
      const VI both = hn::BitCast(di, hn::LoadU(d, term + pair * kLanes));
      weights[2 * pair] = hn::ConvertTo(d, hn::And(both, upper));
      weights[2 * pair + 1] = hn::ConvertTo(d, hn::ShiftLeft<16>(both));
    }
  }

  static NarrowLoss narrow(const float* from, std::size_t depth, const NarrowUnits& to);
};

// Past the caches: lines of terms are written as a whole, kilobytes apart, and read again much later.
NarrowLoss Integers::narrow(const float* from, std::size_t depth, const NarrowUnits& to) {
  const D d;
  const DI di;
  V peaks = hn::Zero(d);
  V squares[kVectors];
  KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) squares[v] = hn::Zero(d);
  HWY_ALIGN float steps_of_one[NarrowKernels::kUnitsAtOnce * kColumns];
  const std::size_t unit_floats = kVectors * depth * kLanes;
  float* group = to.group;
  for (std::size_t first = 0; first < depth; first += kGroupTerms) {
    const std::size_t terms = std::min(kGroupTerms, depth - first);
    const V count = hn::Set(d, static_cast<float>(terms));
    for (std::size_t unit = 0; unit < to.count; ++unit) {
      const float* const weights = from + unit * unit_floats;
      V peaks_here[kVectors];
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) peaks_here[v] = hn::Set(d, kLeastPeak);
      for (std::size_t k = first; k < first + terms; ++k) {
        KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
          const V weight = hn::LoadU(d, weights + (v * depth + k) * kLanes);
          peaks_here[v] = hn::Max(hn::Abs(weight), peaks_here[v]);
          squares[v] = hn::MulAdd(weight, weight, squares[v]);
        }
      }
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        const V peak = peaks_here[v];
        peaks = hn::MulAdd(count, hn::Mul(peak, peak), peaks);
        hn::Store(hn::Div(hn::Set(d, kMostSteps), peak), d, steps_of_one + unit * kColumns + v * kLanes);
        hn::Stream(hn::Mul(peak, hn::Set(d, kOfScales / kMostSteps)), d,
                   group + (to.first + unit) * kGroupFloats + v * kLanes);
      }
    }
    group += to.units * kGroupFloats;
    for (std::size_t k = first; k < first + terms; ++k, group += to.units * kTermFloats) {
      for (std::size_t unit = 0; unit < to.count; ++unit) {
        const float* const weights = from + unit * unit_floats + k * kLanes;
        KERNELS_UNROLL for (std::size_t pair = 0; pair < kPairs; ++pair) {
          const auto steps = [&](std::size_t v) HWY_ATTR {
            const V of_one = hn::Load(d, steps_of_one + unit * kColumns + v * kLanes);
            return hn::NearestInt(hn::Mul(hn::LoadU(d, weights + v * depth * kLanes), of_one));
          };
          const VI upper = hn::ShiftLeft<16>(steps(2 * pair));
          const VI lower = hn::And(steps(2 * pair + 1), hn::Set(di, 0xFFFF));
          hn::Stream(hn::BitCast(d, hn::Or(upper, lower)), d,
                     group + (to.first + unit) * kTermFloats + pair * kLanes);
        }
      }
    }
  }
  hwy::FlushStream();
  V sum = squares[0];
  KERNELS_UNROLL for (std::size_t v = 1; v < kVectors; ++v) sum = hn::Add(sum, squares[v]);
  // Errors are spread evenly over a step.
  constexpr double kOfPeaks = 1 / (12.0 * kMostSteps * kMostSteps);
  return {static_cast<double>(hn::GetLane(hn::SumOfLanes(d, peaks))) * kOfPeaks,
          static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)))};
}

/// Upper parts of floats: a term of a unit is two vectors of upper halves and one of the bytes behind them.
struct Floats {
  static constexpr bool kTakesRows = true;
  static constexpr std::size_t kTermFloats = 3 * kLanes;
  static constexpr std::size_t kGroupFloats = 0;
  static constexpr float kOfTerms = 1;

  static HWY_INLINE void widen(const float* term, V (&weights)[kVectors]) {
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

  static NarrowLoss narrow(const float* from, std::size_t depth, const NarrowUnits& to);
};

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

/// narrow_term(from, to) for all terms of all units, vector v of a term at from[v * depth * kLanes].
template <class Form, class NarrowTerm>
HWY_INLINE void narrow_terms(const float* from, std::size_t depth, const NarrowUnits& to,
                             const NarrowTerm& narrow_term) {
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t unit = 0; unit < to.count; ++unit) {
      narrow_term(from + (unit * kVectors * depth + k) * kLanes,
                  to.group + (k * to.units + to.first + unit) * Form::kTermFloats);
    }
  }
}

NarrowLoss Floats::narrow(const float* from, std::size_t depth, const NarrowUnits& to) {
  const D d;
  const DU du;
  const VU upper = hn::Set(du, 0xFFFF0000);
  const VU byte = hn::Set(du, 0xFF00);
  V squares = hn::Zero(d);
  narrow_terms<Floats>(from, depth, to, [&](const float* term_from, float* term) HWY_ATTR {
    const auto store = [&](VU words, std::size_t v)
                           HWY_ATTR { hn::StoreU(hn::BitCast(d, words), d, term + v * kLanes); };
    VU weights[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      const V weight = hn::LoadU(d, term_from + v * depth * kLanes);
      squares = hn::MulAdd(weight, weight, squares);
      weights[v] = rounded(weight);
    }
    store(hn::Or(hn::And(weights[0], upper), hn::ShiftRight<16>(weights[1])), 0);
    store(hn::Or(hn::And(weights[2], upper), hn::ShiftRight<16>(weights[3])), 1);
    const VU low = hn::Or(hn::And(weights[0], byte), hn::ShiftRight<8>(hn::And(weights[1], byte)));
    const VU high =
        hn::Or(hn::ShiftLeft<8>(hn::And(weights[2], byte)), hn::ShiftLeft<16>(hn::And(weights[3], byte)));
    store(hn::Or(low, high), 2);
  });
  // Errors are next to nothing.
  return {0, static_cast<double>(hn::GetLane(hn::SumOfLanes(d, squares)))};
}

/// A term of a unit is a vector of words of four integers each, one for each vector of columns.
struct Bytes {
  static constexpr bool kTakesRows = false;
  static constexpr std::size_t kTermFloats = kLanes;
  static constexpr std::size_t kGroupFloats = 0;
  // An integer is the upper quarter of a word.
  static constexpr float kOfTerms = 0x1p-24F;

  static HWY_INLINE void widen(const float* term, V (&weights)[kVectors]) {
    const D d;
    const DI di;
    const VI upper = hn::Set(di, static_cast<std::int32_t>(0xFF000000));
    const VI words = hn::BitCast(di, hn::LoadU(d, term));
    weights[0] = hn::ConvertTo(d, hn::ShiftLeft<24>(words));
    weights[1] = hn::ConvertTo(d, hn::And(hn::ShiftLeft<16>(words), upper));
    weights[2] = hn::ConvertTo(d, hn::And(hn::ShiftLeft<8>(words), upper));
    weights[3] = hn::ConvertTo(d, hn::And(words, upper));
  }

  static NarrowLoss narrow(const float* from, std::size_t depth, const NarrowUnits& to);
};

NarrowLoss Bytes::narrow(const float* from, std::size_t depth, const NarrowUnits& to) {
  const D d;
  const DI di;
  narrow_terms<Bytes>(from, depth, to, [&](const float* term_from, float* term) HWY_ATTR {
    VI words = hn::Zero(di);
    for (std::size_t v = kVectors; v > 0; --v) {
      const VI integer = hn::NearestInt(hn::LoadU(d, term_from + (v - 1) * depth * kLanes));
      words = hn::Or(hn::ShiftLeft<8>(words), hn::And(integer, hn::Set(di, 0xFF)));
    }
    hn::StoreU(hn::BitCast(d, words), d, term);
  });
  return {0, 1};  // nothing of something
}

/// Where terms of a panel lie.
template <class Form>
class Panel {
 public:
  Panel(const float* panel, std::size_t units) : panel_(panel), units_(units) {}
  [[nodiscard]] std::size_t units() const { return units_; }
  [[nodiscard]] std::size_t group_floats() const { return units_ * Form::kGroupFloats; }
  [[nodiscard]] std::size_t term_floats() const { return units_ * Form::kTermFloats; }
  [[nodiscard]] const float* group(std::size_t index) const {
    return panel_ + index * (group_floats() + kGroupTerms * term_floats());
  }
  [[nodiscard]] const float* term(std::size_t k) const {
    return group(k / kGroupTerms) + group_floats() + k % kGroupTerms * term_floats();
  }

 private:
  const float* panel_;
  std::size_t units_;
};

/// The weights of a term, and others that are fetched meanwhile.
struct WeightsOfTerm {
  const float* from = nullptr;
  const float* next = nullptr;
  float factor = 0;
};

/// Adds terms times their weights to sums, one after the other.
template <class Form, std::size_t kTerms>
HWY_INLINE void add_terms(const WeightsOfTerm (&terms)[kTerms], std::size_t units, float* sums) {
  const D d;
  V factors[kTerms];
  KERNELS_UNROLL for (std::size_t t = 0; t < kTerms; ++t) {
    factors[t] = hn::Set(d, terms[t].factor * Form::kOfTerms);
  }
  for (std::size_t unit = 0; unit < units; ++unit, sums += kColumns) {
    const std::size_t place = unit * Form::kTermFloats;
    V totals[kVectors];
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) totals[v] = hn::Load(d, sums + v * kLanes);
    KERNELS_UNROLL for (std::size_t t = 0; t < kTerms; ++t) {
      fetch_row(terms[t].next + place, Form::kTermFloats);
      V weights[kVectors];
      Form::widen(terms[t].from + place, weights);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        totals[v] = hn::MulAdd(factors[t], weights[v], totals[v]);
      }
    }
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) hn::Store(totals[v], d, sums + v * kLanes);
  }
}

/// The sums of a group of some columns, which share `scales`, and those before it.
template <class Form>
HWY_INLINE V add_group_sums(V sums, [[maybe_unused]] const float* scales, V totals) {
  if constexpr (Form::kGroupFloats == 0) return hn::Add(totals, sums);
  return hn::MulAdd(sums, hn::LoadU(D(), scales), totals);
}

/// Adds the sums of a group to those of all, and begins new ones.
template <class Form>
HWY_INLINE void end_group(const float* scales, std::size_t columns, float* sums, float* totals) {
  const D d;
  for (std::size_t j = 0; j < columns; j += kLanes) {
    const V total = add_group_sums<Form>(hn::Load(d, sums + j), scales + j, hn::LoadU(d, totals + j));
    hn::StoreU(total, d, totals + j);
    hn::Store(hn::Zero(d), d, sums + j);
  }
}

/// All terms of a group, from term `first` on: memory is read as a stream.
template <class Form>
HWY_INLINE void add_group(const NarrowTerms& terms, const Panel<Form>& panel, std::size_t first,
                          float* sums) {
  const std::size_t ahead = stream_ahead() / sizeof(float);
  fetch_row(panel.group(first / kGroupTerms) + ahead, panel.group_floats());
  const float* from = panel.term(first);
  for (std::size_t k = first; k < std::min(terms.count, first + kGroupTerms); ++k) {
    const WeightsOfTerm all[]{{from, from + ahead, terms.x[k]}};
    add_terms<Form>(all, panel.units(), sums);
    from += panel.term_floats();
  }
}

/// The terms that are not 0.
class UsedTerms {
 public:
  explicit UsedTerms(const NarrowTerms& terms) {
    for (std::size_t k = 0; k < terms.count; ++k) {
      terms_[count_] = static_cast<std::uint16_t>(k);
      count_ += terms.x[k] != 0 ? 1 : 0;
    }
    // What is fetched at the end.
    for (std::size_t i = 0; i < kAtOnce; ++i)
      terms_[count_ + i] = static_cast<std::uint16_t>(terms.count + i);
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t operator[](std::size_t i) const { return terms_[i]; }
  /// The first one from term `k` on, searched from index `i` on.
  [[nodiscard]] std::size_t find(std::size_t k, std::size_t i) const {
    while (i < count_ && terms_[i] < k) ++i;
    return i;
  }

  // So many at once are read from pages that are fetched while others are multiplied.
  static constexpr std::size_t kAtOnce = 4;

 private:
  std::uint16_t terms_[NarrowKernels::kMostTerms + kAtOnce];
  std::size_t count_ = 0;
};

/// Used terms [first, last), of one group.
template <class Form>
HWY_INLINE void add_used(const NarrowTerms& terms, const UsedTerms& used, const Panel<Form>& panel,
                         std::size_t first, std::size_t last, float* sums) {
  constexpr std::size_t kAtOnce = UsedTerms::kAtOnce;
  fetch_row(panel.group(used[first] / kGroupTerms), panel.group_floats());
  for (std::size_t i = first; i < last; i += kAtOnce) {
    const std::size_t next = std::min(i + kAtOnce, last);
    WeightsOfTerm some[kAtOnce];
    for (std::size_t t = 0; t < kAtOnce; ++t) {
      some[t].next = panel.term(used[next + t]);
      // Less than four are as many with zeros, which add nothing.
      const std::size_t term = used[std::min(i + t, last - 1)];
      some[t].from = panel.term(term);
      some[t].factor = i + t < last ? terms.x[term] : 0.0F;
    }
    add_terms<Form>(some, panel.units(), sums);
  }
}

/// The sums of a group of a single unit, from where its weights begin.
template <class Form, std::size_t kRows>
HWY_INLINE void sum_group(const float* const (&x)[kRows], std::size_t terms, const float* weights,
                          V (&sums)[kRows][kVectors]) {
  const D d;
  const std::size_t ahead = stream_ahead() / sizeof(float);
  KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < terms; ++k, weights += Form::kTermFloats) {
    fetch_row(weights + ahead, Form::kTermFloats);
    V widened[kVectors];
    Form::widen(weights, widened);
    KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
      const V factor = hn::Set(d, x[i][k] * Form::kOfTerms);
      KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::MulAdd(factor, widened[v], sums[i][v]);
      }
    }
  }
}

/// Up to kRows rows and a single unit: sums of a group stay in registers. Rows that are missing are the last
/// one once more.
template <class Form, std::size_t kRows>
void multiply_at_once(const NarrowRows& rows, const float* panel, float* sums, std::size_t stride) {
  const D d;
  const float* x[kRows];
  float* totals[kRows];
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::size_t row = std::min(i, rows.rows - 1);
    x[i] = rows.x + row * rows.stride;
    totals[i] = sums + row * stride;
    std::fill_n(totals[i], kColumns, 0.0F);
  }
  for (std::size_t k = 0; k < rows.count; k += kGroupTerms) {
    const std::size_t count = std::min(rows.count - k, kGroupTerms);
    fetch_row(panel + stream_ahead() / sizeof(float), Form::kGroupFloats);
    V group[kRows][kVectors];
    sum_group<Form>(x, count, panel + Form::kGroupFloats, group);
    KERNELS_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      V added[kRows];
      KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) {
        added[i] =
            add_group_sums<Form>(group[i][v], panel + v * kLanes, hn::LoadU(d, totals[i] + v * kLanes));
      }
      KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) hn::StoreU(added[i], d, totals[i] + v * kLanes);
    }
    KERNELS_UNROLL for (std::size_t i = 0; i < kRows; ++i) x[i] += count;
    panel += Form::kGroupFloats + count * Form::kTermFloats;
  }
}

template <class Form>
void multiply_rows(const NarrowRows& rows, const float* panel, float* sums, std::size_t stride) {
  if constexpr (kMostRows > 2) {
    if (rows.rows > 2) return multiply_at_once<Form, kMostRows>(rows, panel, sums, stride);
  }
  multiply_at_once<Form, 2>(rows, panel, sums, stride);
}

template <class Form>
void multiply(const NarrowTerms& terms, const float* from, std::size_t units, float* totals) {
  if (kMostUnits == 1 || units == 1)
    return multiply_at_once<Form, 1>({terms.x, 0, 1, terms.count}, from, totals, 0);
  const Panel<Form> panel(from, units);
  const std::size_t columns = units * kColumns;
  HWY_ALIGN float sums[NarrowKernels::kMostColumns];
  std::fill_n(sums, columns, 0.0F);
  std::fill_n(totals, columns, 0.0F);
  const UsedTerms used(terms);
  // Where most are read, others may as well be: pages come faster one after the other.
  const bool skips = terms.skips_zeros && used.count() * 8 < terms.count * 7;
  std::size_t done = 0;
  for (std::size_t k = 0; k < terms.count; k += kGroupTerms) {
    if (skips) {
      const std::size_t last = used.find(k + kGroupTerms, done);
      if (last == done) continue;
      add_used(terms, used, panel, done, last, sums);
      done = last;
    } else {
      add_group(terms, panel, k, sums);
    }
    end_group<Form>(panel.group(k / kGroupTerms), columns, sums, totals);
  }
}

void finish(const float* sums, std::size_t parts, std::size_t stride, const Tile& tile) {
  const D d;
  for (std::size_t j = 0; j < tile.columns; j += kLanes) {
    V total = hn::LoadU(d, sums + j);
    for (std::size_t part = 1; part < parts; ++part)
      total = hn::Add(total, hn::LoadU(d, sums + part * stride + j));
    const std::size_t count = std::min(kLanes, tile.columns - j);
    if (tile.column_scale != nullptr) total = hn::Mul(total, load_edge(tile.column_scale + j, count));
    store_edge(finish_vector(total, tile, j, count), tile.out + j, count);
  }
}

template <class Form>
constexpr NarrowForm form_of(std::string_view name) {
  NarrowForm form{name, Form::kTermFloats, Form::kGroupFloats, Form::narrow, multiply<Form>};
  if constexpr (kMostRows > 1 && Form::kTakesRows) form.multiply_rows = multiply_rows<Form>;
  return form;
}

}  // namespace

const NarrowKernels* NarrowKernelsHere() {
  static constexpr NarrowKernels kKernels{kLanes,
                                          kMostUnits,
                                          kMostRows,
                                          form_of<Integers>("narrow_integers"),
                                          form_of<Floats>("narrow_floats"),
                                          form_of<Bytes>("narrow_bytes"),
                                          finish};
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
