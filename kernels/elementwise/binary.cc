#include "kernels/elementwise/binary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/binary.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/math-inl.h"
#include "kernels/base/simd-inl.h"
#include "kernels/elementwise/binary_rows.h"
#include "kernels/elementwise/binary_scalar.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// out[i] = f(a[i], b[i]) for functions that make doubles of floats.
template <class F>
void map_in_doubles(const SpanOperand& a, const SpanOperand& b, float* out, std::size_t count, const F& f) {
  // One copy of what is long: scalars are spread over a block that stays in the cache.
  constexpr std::size_t kBlock = 256;
  HWY_ALIGN float spread[2][kBlock];
  const SpanOperand operands[] = {a, b};
  for (std::size_t i = 0; i < 2; ++i) {
    if (operands[i].scalar) std::fill_n(spread[i], std::min(count, kBlock), *operands[i].as<float>());
  }
  for (std::size_t first = 0; first < count; first += kBlock) {
    const auto from = [&](std::size_t i) {
      return operands[i].scalar ? spread[i] : operands[i].as<float>() + first;
    };
    map_binary(HalfF32(), from(0), from(1), out + first, std::min(kBlock, count - first), f);
  }
}

/// Powers with an exponent of their own for each element, or one that has no formula.
void PowerF32(const SpanOperand& a, const SpanOperand& b, float* out, std::size_t count) {
  using V = hn::Vec<HalfF32>;
  map_in_doubles(a, b, out, count, [](V x, V y) HWY_ATTR { return pow_f32(x, y); });
}

/// x mod y, exact, as remainder() of scalars: those do what does not fit into doubles.
HWY_INLINE hn::Vec<HalfF32> remainder_f32(hn::Vec<HalfF32> x, hn::Vec<HalfF32> y) {
  constexpr double kLargest = 1 << 28;
  const HalfF32 d;
  const hn::ScalableTag<double> wide;
  const auto dividend = hn::PromoteTo(wide, x);
  const auto divisor = hn::PromoteTo(wide, y);
  const auto quotient = hn::Trunc(hn::Div(dividend, divisor));
  const auto fits = hn::And(hn::Lt(hn::Abs(quotient), hn::Set(wide, kLargest)),
                            hn::Lt(hn::Abs(divisor), hn::Set(wide, std::numeric_limits<double>::infinity())));
  if (!hn::AllTrue(wide, fits)) {
    HWY_ALIGN float lanes[3][hn::MaxLanes(d)];
    hn::Store(x, d, lanes[0]);
    hn::Store(y, d, lanes[1]);
    binary_scalar_span(BinaryOp::mod, {lanes[0], false}, {lanes[1], false}, lanes[2], hn::Lanes(d));
    return hn::Load(d, lanes[2]);
  }
  auto rest = hn::Sub(dividend, hn::Mul(quotient, divisor));
  // The quotient may have been rounded up to a whole number.
  const auto is_beyond = hn::Lt(hn::Mul(rest, dividend), hn::Zero(wide));
  rest = hn::IfThenElse(is_beyond, hn::Add(rest, hn::CopySign(divisor, dividend)), rest);
  return hn::CopySign(hn::DemoteTo(d, rest), x);
}

/// Remainders with the sign of a, or, `floored`, of b.
void RemainderF32(bool floored, const SpanOperand& a, const SpanOperand& b, float* out, std::size_t count) {
  using V = hn::Vec<HalfF32>;
  const HalfF32 d;
  map_in_doubles(a, b, out, count, [&](V x, V y) HWY_ATTR {
    const V zero = hn::Zero(d);
    const V rest = remainder_f32(x, y);
    if (!floored) return rest;
    const auto differs = hn::Xor(hn::Lt(rest, zero), hn::Lt(y, zero));
    return hn::IfThenElse(hn::And(hn::Ne(rest, zero), differs), hn::Add(rest, y), rest);
  });
}

/// out[i] = of(i) by vectors, or tail(i, number of elements left). Where stores have masks, the end of a
/// short row is no call.
template <class D, class Of, class Tail, class T = hn::TFromD<D>>
HWY_INLINE void store_row(D d, T* out, std::size_t count, const Of& of, const Tail& tail) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(of(i), d, out + i);
  if (i == count) return;
  if constexpr (kStoresMasks) {
    store_n(tail(i, count - i), d, out + i, count - i);
  } else {
    store_tail(tail(i, count - i), d, out + i, count - i);
  }
}

/// out[i] = f(a[i], b[i]) by vectors of `d`.
template <class D, class F, class T = hn::TFromD<D>>
HWY_INLINE void map_operands(D d, const SpanOperand& a, const SpanOperand& b, T* out, std::size_t count,
                             const F& f) {
  using V = hn::Vec<D>;
  const T* const as = a.as<T>();
  const T* const bs = b.as<T>();
  if (a.scalar && b.scalar) {
    const T value = hn::GetLane(f(hn::Set(d, *as), hn::Set(d, *bs)));
    for (std::size_t i = 0; i < count; ++i) out[i] = value;
  } else if (a.scalar) {
    const V x = hn::Set(d, *as);
    store_row(
        d, out, count, [&](std::size_t i) HWY_ATTR { return f(x, hn::LoadU(d, bs + i)); },
        [&](std::size_t i, std::size_t rest) HWY_ATTR { return f(x, load_n(d, bs + i, rest)); });
  } else if (b.scalar) {
    const V y = hn::Set(d, *bs);
    store_row(
        d, out, count, [&](std::size_t i) HWY_ATTR { return f(hn::LoadU(d, as + i), y); },
        [&](std::size_t i, std::size_t rest) HWY_ATTR { return f(load_n(d, as + i, rest), y); });
  } else {
    store_row(
        d, out, count, [&](std::size_t i) HWY_ATTR { return f(hn::LoadU(d, as + i), hn::LoadU(d, bs + i)); },
        [&](std::size_t i, std::size_t rest)
            HWY_ATTR { return f(load_n(d, as + i, rest), load_n(d, bs + i, rest)); });
  }
}

/// The logical functions, of booleans. Results as those of BinaryF32.
bool BinaryU8(BinaryOp op, const SpanOperand& a, const SpanOperand& b, std::uint8_t* out, std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  using V = hn::Vec<decltype(d)>;
  const auto one = hn::Set(d, 1);
  switch (op) {
    case BinaryOp::logical_and:
      map_operands(d, a, b, out, count, [&](V x, V y) HWY_ATTR { return hn::Min(hn::Min(x, y), one); });
      return true;
    case BinaryOp::logical_or:
      map_operands(d, a, b, out, count, [&](V x, V y) HWY_ATTR { return hn::Min(hn::Max(x, y), one); });
      return true;
    case BinaryOp::logical_xor:
      map_operands(d, a, b, out, count,
                   [&](V x, V y) HWY_ATTR { return hn::Xor(hn::Min(x, one), hn::Min(y, one)); });
      return true;
    default:
      return false;
  }
}

/// Applies `op` and returns true, or returns false for the functions that have no vector form.
bool BinaryF32(BinaryOp op, const RowsOperand& a, const RowsOperand& b, float* out, std::size_t rows,
               std::size_t columns) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto row_of = [](const RowsOperand& x, std::size_t r) {
    return SpanOperand{x.row<float>(r), x.scalar};
  };
  const auto map = [&](const auto& f) HWY_ATTR {
    for (std::size_t r = 0; r < rows; ++r)
      map_operands(d, row_of(a, r), row_of(b, r), out + r * columns, columns, f);
  };
  switch (op) {
    case BinaryOp::add:
      map([](V x, V y) HWY_ATTR { return hn::Add(x, y); });
      return true;
    case BinaryOp::atan2:
      map([&](V y, V x) HWY_ATTR { return atan2_f32(d, y, x); });
      return true;
    case BinaryOp::divide:
    case BinaryOp::floor_divide:
      map([](V x, V y) HWY_ATTR { return hn::Div(x, y); });
      return true;
    case BinaryOp::floor_mod:
    case BinaryOp::mod:
      for (std::size_t r = 0; r < rows; ++r)
        RemainderF32(op == BinaryOp::floor_mod, row_of(a, r), row_of(b, r), out + r * columns, columns);
      return true;
    case BinaryOp::maximum:
      // Not hn::Max, whose result for NaN depends on the target.
      map([](V x, V y) HWY_ATTR { return hn::IfThenElse(hn::Gt(x, y), x, y); });
      return true;
    case BinaryOp::minimum:
      map([](V x, V y) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, y), x, y); });
      return true;
    case BinaryOp::multiply:
      map([](V x, V y) HWY_ATTR { return hn::Mul(x, y); });
      return true;
    case BinaryOp::power: {
      for (; rows > 1; --rows) {
        const std::size_t last = rows - 1;
        BinaryF32(op, {a.row<float>(last), a.scalar, 0}, {b.row<float>(last), b.scalar, 0},
                  out + last * columns, 1, columns);
      }
      const float exponent = b.scalar ? *b.row<float>(0) : 1.0F;
      if (exponent == 2.0F) {
        map([](V x, V) HWY_ATTR { return hn::Mul(x, x); });
      } else if (exponent == 3.0F) {
        map([](V x, V) HWY_ATTR { return hn::Mul(hn::Mul(x, x), x); });
      } else if (exponent == 0.5F) {
        map([&](V x, V) HWY_ATTR { return pow_half_f32(d, x); });
      } else if (exponent == -1.0F) {
        map([&](V x, V) HWY_ATTR { return hn::Div(hn::Set(d, 1.0F), x); });
      } else {
        PowerF32(row_of(a, 0), row_of(b, 0), out, columns);
      }
      return true;
    }
    case BinaryOp::prelu:
      map([&](V x, V y) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, y), x); });
      return true;
    case BinaryOp::squared_difference:
      map([](V x, V y) HWY_ATTR {
        const V difference = hn::Sub(x, y);
        return hn::Mul(difference, difference);
      });
      return true;
    case BinaryOp::subtract:
      map([](V x, V y) HWY_ATTR { return hn::Sub(x, y); });
      return true;
    default:
      return false;
  }
}

/// T: four bytes.
template <class T>
HWY_INLINE void compare_vectors(CompareOp op, const SpanOperand& a, const SpanOperand& b, std::uint8_t* out,
                                std::size_t count) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const auto map = [&](const auto& test) HWY_ATTR {
    const V constant_a = hn::Set(d, *a.as<T>());
    const V constant_b = hn::Set(d, *b.as<T>());
    const auto bytes = [&](V x, V y) HWY_ATTR {
      return hn::DemoteTo(d8, hn::IfThenElseZero(hn::RebindMask(di, test(x, y)), hn::Set(di, 1)));
    };
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      const V x = a.scalar ? constant_a : hn::LoadU(d, a.as<T>() + i);
      const V y = b.scalar ? constant_b : hn::LoadU(d, b.as<T>() + i);
      hn::StoreU(bytes(x, y), d8, out + i);
    }
    if (i < count) {
      const V x = a.scalar ? constant_a : load_n(d, a.as<T>() + i, count - i);
      const V y = b.scalar ? constant_b : load_n(d, b.as<T>() + i, count - i);
      store_tail(bytes(x, y), d8, out + i, count - i);
    }
  };
  if (count == 0) return;
  // Integers have no hn::Ge.
  const auto at_least = [](V x, V y) HWY_ATTR {
    if constexpr (std::is_same_v<T, float>) {
      return hn::Ge(x, y);
    } else {
      return hn::Not(hn::Lt(x, y));
    }
  };
  switch (op) {
    case CompareOp::equal:
      return map([](V x, V y) HWY_ATTR { return hn::Eq(x, y); });
    case CompareOp::greater:
      return map([](V x, V y) HWY_ATTR { return hn::Gt(x, y); });
    case CompareOp::greater_equal:
      return map(at_least);
    case CompareOp::less:
      return map([](V x, V y) HWY_ATTR { return hn::Lt(x, y); });
    case CompareOp::less_equal:
      return map([&](V x, V y) HWY_ATTR { return at_least(y, x); });
    case CompareOp::not_equal:
      // Not hn::Ne, which is false for NaN on AVX2 and up.
      return map([](V x, V y) HWY_ATTR { return hn::Not(hn::Eq(x, y)); });
  }
}

void CompareF32(CompareOp op, const SpanOperand& a, const SpanOperand& b, std::uint8_t* out,
                std::size_t count) {
  compare_vectors<float>(op, a, b, out, count);
}
void CompareI32(CompareOp op, const SpanOperand& a, const SpanOperand& b, std::uint8_t* out,
                std::size_t count) {
  compare_vectors<std::int32_t>(op, a, b, out, count);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(BinaryF32);
HWY_EXPORT(BinaryU8);
HWY_EXPORT(CompareF32);
HWY_EXPORT(CompareI32);

namespace {
/// Of several rows: calls for more do not get noticeably cheaper.
constexpr std::size_t kElementsOfRows = 2048;
}  // namespace

std::size_t cost_of(BinaryOp op) {
  const bool slow =
      op == BinaryOp::power || op == BinaryOp::mod || op == BinaryOp::floor_mod || op == BinaryOp::atan2;
  return slow ? 8 : 1;
}

void binary_span(BinaryOp op, SpanOperand a, SpanOperand b, float* out, std::size_t count) {
  const RowsOperand row_a{a.data, a.scalar, 0};
  const RowsOperand row_b{b.data, b.scalar, 0};
  if (!HWY_DYNAMIC_DISPATCH(BinaryF32)(op, row_a, row_b, out, 1, count))
    binary_scalar_span(op, a, b, out, count);
}

void binary_rows(BinaryOp op, const RowsOperand& a, const RowsOperand& b, float* out, std::size_t rows,
                 std::size_t columns) {
  const auto is_span = [&](const RowsOperand& x) { return x.step == (x.scalar ? 0 : columns); };
  if (is_span(a) && is_span(b)) {
    columns *= rows;
    rows = 1;
  }
  if (columns == 1 && rows != 1)
    return binary_span(op, {a.data, a.step == 0}, {b.data, b.step == 0}, out, rows);
  if (HWY_DYNAMIC_DISPATCH(BinaryF32)(op, a, b, out, rows, columns)) return;
  for (std::size_t r = 0; r < rows; ++r) {
    binary_scalar_span(op, SpanOperand{a.row<float>(r), a.scalar}, SpanOperand{b.row<float>(r), b.scalar},
                       out + r * columns, columns);
  }
}

template <class T>
void binary(BinaryOp op, const BroadcastPlan& plan, const T* a, const T* b, T* out) {
  const std::array<BroadcastSource, 2> sources{{{a, sizeof(T)}, {b, sizeof(T)}}};
  if constexpr (std::is_same_v<T, float>) {
    return for_each_rows(
        plan, sources, cost_of(op), kElementsOfRows,
        [&](const RowsOperand* operands, std::size_t begin, std::size_t rows, std::size_t columns) {
          binary_rows(op, operands[0], operands[1], out + begin, rows, columns);
        });
  }
  for_each_span(plan, sources, cost_of(op),
                [&](const SpanOperand* operands, std::size_t begin, std::size_t count) {
                  if constexpr (std::is_same_v<T, std::uint8_t>) {
                    if (HWY_DYNAMIC_DISPATCH(BinaryU8)(op, operands[0], operands[1], out + begin, count))
                      return;
                  }
                  binary_scalar_span(op, operands[0], operands[1], out + begin, count);
                });
}

template <class T>
void compare(CompareOp op, const BroadcastPlan& plan, const T* a, const T* b, std::uint8_t* out) {
  const std::array<BroadcastSource, 2> sources{{{a, sizeof(T)}, {b, sizeof(T)}}};
  for_each_span(plan, sources, 1, [&](const SpanOperand* operands, std::size_t begin, std::size_t count) {
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(CompareF32)(op, operands[0], operands[1], out + begin, count);
    } else if constexpr (std::is_same_v<T, std::int32_t>) {
      HWY_DYNAMIC_DISPATCH(CompareI32)(op, operands[0], operands[1], out + begin, count);
    } else {
      compare_scalar_span<T>(op, operands[0], operands[1], out + begin, count);
    }
  });
}

#define IR_KERNELS_INSTANTIATE(T)                                                  \
  template void binary<T>(BinaryOp, const BroadcastPlan&, const T*, const T*, T*); \
  template void compare<T>(CompareOp, const BroadcastPlan&, const T*, const T*, std::uint8_t*);
IR_KERNELS_FOR_EACH_NUMBER(IR_KERNELS_INSTANTIATE)

}  // namespace ir::kernels
#endif  // HWY_ONCE
