// Strings to and from one run of characters.
#ifndef KERNELS_MOVEMENT_STRINGS_H_
#define KERNELS_MOVEMENT_STRINGS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// The most characters that the strings of a tensor may have together, as StringTensorUnpack counts them.
inline constexpr std::size_t kMaxCharacters = std::numeric_limits<std::int32_t>::max();

/// A string that does not lie within the characters or, when it does, makes all strings together too long.
struct BadRange {
  std::size_t position = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// StringTensorPack-15: out[i] = symbols[begins[i], ends[i]). Strings may overlap and leave symbols out.
/// Returns the first bad range, and has then written nothing.
std::optional<BadRange> pack_strings(IndexView begins, IndexView ends, std::span<const std::uint8_t> symbols,
                                     std::span<std::string> out);

/// Characters of all strings together.
std::size_t total_length(std::span<const std::string> strings);

/// StringTensorUnpack-15: the strings one behind the other in `symbols` [total_length], at most
/// kMaxCharacters, and where each begins and ends.
void unpack_strings(std::span<const std::string> strings, std::int32_t* begins, std::int32_t* ends,
                    std::uint8_t* symbols);

}  // namespace ir::kernels

#endif  // KERNELS_MOVEMENT_STRINGS_H_
