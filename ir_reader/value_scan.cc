#include "ir_reader/value_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ir::reader {
namespace {

// Without the sign, the bits of floating-point numbers are ordered as the numbers are, and each kind is an
// interval that starts at one of these bounds.
enum Bound : std::size_t { kNonZero, kNormal, kOrdinary, kBeyondF16, kHuge, kInfinite, kNan, kBounds };

template <class Bits>
using Bounds = std::array<Bits, kBounds>;

// 65520 and more round to infinity in f16.
constexpr Bounds<std::uint64_t> kF64{1,
                                     0x0010000000000000,
                                     0x39B4484BFEEBC2A0,
                                     0x40EFFE0000000000,
                                     0x46293E5939A08CEA,
                                     0x7FF0000000000000,
                                     0x7FF0000000000001};
constexpr Bounds<std::uint32_t> kF32{1,          0x00800000, 0x0DA24260, 0x477FF000,
                                     0x7149F2CA, 0x7F800000, 0x7F800001};
constexpr Bounds<std::uint16_t> kBf16{1, 0x0080, 0x0DA2, 0x4780, 0x714A, 0x7F80, 0x7F81};
// All finite numbers are in range, and denormal ones are common.
constexpr Bounds<std::uint16_t> kF16{1, 1, 1, 0x7C00, 0x7C00, 0x7C00, 0x7C01};

template <class Bits>
constexpr Bits kWithoutSign = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1U);

// Signed, since older vector units compare nothing else; no magnitude has the highest bit.
template <class Bits>
using Magnitude = std::make_signed_t<Bits>;

template <class Bits>
class Scan {
 public:
  Scan(const Bounds<Bits>& bounds, const std::byte* memory, std::int64_t count)
      : memory_(memory), count_(count) {
    std::ranges::transform(bounds, bounds_.begin(),
                           [](Bits bound) { return static_cast<Magnitude<Bits>>(bound); });
  }

  ValueCounts run() {
    for (std::int64_t begin = 0; begin < count_; begin += kBlock)
      add_block(begin, std::min(kBlock, count_ - begin));
    return result_;
  }

 private:
  // Few enough to stay near the processor, and for counters as wide as the elements: the compiler makes
  // vectors of these loops.
  static constexpr std::int64_t kBlock = 2048;

  void add_block(std::int64_t begin, std::int64_t count) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Bits));
    std::array<Bits, kBlock> block;
    std::memcpy(block.data(), memory_ + begin * kSize, static_cast<std::size_t>(count * kSize));
    Magnitude<Bits> largest = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      magnitudes_[i] = static_cast<Magnitude<Bits>>(block[i] & kWithoutSign<Bits>);
      largest = std::max(largest, magnitudes_[i]);
    }
    std::array<std::int64_t, kBounds> at_least{};
    for (std::size_t bound = 0; bound < kBounds && bounds_[bound] <= largest; ++bound)
      at_least[bound] = count_from(bounds_[bound], count);
    const auto between = [&](Bound low, Bound high) { return at_least[low] - at_least[high]; };
    result_.usual += between(kNormal, kBeyondF16);
    result_.extreme += between(kNonZero, kOrdinary) + between(kHuge, kInfinite);
    note(result_.denormal, between(kNonZero, kNormal), kNonZero, begin);
    note(result_.beyond_f16, between(kBeyondF16, kInfinite), kBeyondF16, begin);
    note(result_.infinite, between(kInfinite, kNan), kInfinite, begin);
    note(result_.nan, at_least[kNan], kNan, begin);
  }

  [[nodiscard]] std::int64_t count_from(Magnitude<Bits> bound, std::int64_t count) const {
    Bits found = 0;
    for (std::int64_t i = 0; i < count; ++i)
      found = static_cast<Bits>(found + (magnitudes_[i] >= bound ? 1 : 0));
    return static_cast<std::int64_t>(found);
  }

  // `first` is where the kind starts.
  void note(ValueCounts::Kind& kind, std::int64_t count, Bound first, std::int64_t begin) const {
    if (count > 0 && kind.count == 0) {
      const Magnitude<Bits> low = bounds_[first];
      const Magnitude<Bits> high = end_of(first);
      const auto at =
          std::ranges::find_if(magnitudes_, [&](Magnitude<Bits> m) { return m >= low && m <= high; });
      kind.first = begin + (at - magnitudes_.begin());
    }
    kind.count += count;
  }

  [[nodiscard]] Magnitude<Bits> end_of(Bound first) const {
    switch (first) {
      case kNonZero:
        return static_cast<Magnitude<Bits>>(bounds_[kNormal] - 1);
      case kBeyondF16:
        return static_cast<Magnitude<Bits>>(bounds_[kInfinite] - 1);
      case kInfinite:
        return bounds_[kInfinite];
      default:
        return std::numeric_limits<Magnitude<Bits>>::max();
    }
  }

  std::array<Magnitude<Bits>, kBounds> bounds_;
  const std::byte* memory_;
  std::int64_t count_;
  std::array<Magnitude<Bits>, kBlock> magnitudes_;
  ValueCounts result_;
};

}  // namespace

bool is_scanned(ElementType type) {
  return type == ElementType::f64 || type == ElementType::f32 || type == ElementType::bf16 ||
         type == ElementType::f16;
}

ValueCounts scan_values(ElementType type, const std::byte* memory, std::int64_t count) {
  switch (type) {
    case ElementType::f64:
      return Scan<std::uint64_t>(kF64, memory, count).run();
    case ElementType::f32:
      return Scan<std::uint32_t>(kF32, memory, count).run();
    case ElementType::bf16:
      return Scan<std::uint16_t>(kBf16, memory, count).run();
    default:
      return Scan<std::uint16_t>(kF16, memory, count).run();
  }
}

}  // namespace ir::reader
