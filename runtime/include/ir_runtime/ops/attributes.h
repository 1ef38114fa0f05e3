// Enumerations that several operations share, with their spellings.
#ifndef IR_RUNTIME_OPS_ATTRIBUTES_H_
#define IR_RUNTIME_OPS_ATTRIBUTES_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// How pads are derived. Anything but explicit_ ignores pads_begin and pads_end.
enum class AutoPad : int { explicit_, same_upper, same_lower, valid };
inline constexpr std::array kAutoPadSpellings{
    Spelling{static_cast<int>(AutoPad::explicit_), "explicit"},
    Spelling{static_cast<int>(AutoPad::explicit_), "notset"},
    Spelling{static_cast<int>(AutoPad::same_upper), "same_upper"},
    Spelling{static_cast<int>(AutoPad::same_lower), "same_lower"},
    Spelling{static_cast<int>(AutoPad::valid), "valid"},
};
constexpr std::span<const Spelling> spellings_of(AutoPad) { return kAutoPadSpellings; }

/// How the number of window positions is rounded.
enum class Rounding : int { floor, ceil };
inline constexpr std::array kRoundingSpellings{
    Spelling{static_cast<int>(Rounding::floor), "floor"},
    Spelling{static_cast<int>(Rounding::ceil), "ceil"},
};
constexpr std::span<const Spelling> spellings_of(Rounding) { return kRoundingSpellings; }

/// Since opset14; ceil_torch leaves out a last window that would start in the padding at the end.
enum class Rounding14 : int { floor, ceil, ceil_torch };
inline constexpr std::array kRounding14Spellings{
    Spelling{static_cast<int>(Rounding14::floor), "floor"},
    Spelling{static_cast<int>(Rounding14::ceil), "ceil"},
    Spelling{static_cast<int>(Rounding14::ceil_torch), "ceil_torch"},
};
constexpr std::span<const Spelling> spellings_of(Rounding14) { return kRounding14Spellings; }

/// How operands of different shapes are matched.
enum class AutoBroadcast : int { numpy, none, pdpd };
inline constexpr std::array kAutoBroadcastSpellings{
    Spelling{static_cast<int>(AutoBroadcast::numpy), "numpy"},
    Spelling{static_cast<int>(AutoBroadcast::none), "none"},
    Spelling{static_cast<int>(AutoBroadcast::none), "explicit"},
    Spelling{static_cast<int>(AutoBroadcast::pdpd), "pdpd"},
};
constexpr std::span<const Spelling> spellings_of(AutoBroadcast) { return kAutoBroadcastSpellings; }

}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_ATTRIBUTES_H_
