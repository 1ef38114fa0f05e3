// Elements over many places each: what spreads a dim of one.
#ifndef KERNELS_BASE_FILL_H_
#define KERNELS_BASE_FILL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ir::kernels {

/// The element, of 1, 2, 4 or 8 bytes, as often as 8 bytes hold it.
inline std::uint64_t repeat_in_word(const void* element, std::size_t size) {
  std::uint64_t word = 0;
  switch (size) {
    case 1:
      std::memcpy(&word, element, 1);
      return word * 0x0101010101010101;
    case 2:
      std::memcpy(&word, element, 2);
      return word * 0x0001000100010001;
    case 4:
      std::memcpy(&word, element, 4);
      return word | word << 32;
    default:
      std::memcpy(&word, element, 8);
      return word;
  }
}

/// Rows from which on a call for vectors of the processor's size is worth it.
constexpr std::size_t kLongFill = 256;
/// fill_words for kLongFill bytes and more.
void fill_long(std::uint64_t word, std::size_t bytes, char* out);

/// Fills `bytes`, a whole number of elements, with what repeat_in_word gave.
inline void fill_words(std::uint64_t word, std::size_t bytes, void* out) {
  auto* to = static_cast<char*>(out);
  if (bytes >= kLongFill) return fill_long(word, bytes, to);
  const std::uint64_t words[] = {word, word};
  constexpr std::size_t kPiece = sizeof(words);
  if (bytes < kPiece) {  // pieces that halve: no call for a few bytes
    for (std::size_t piece = kPiece / 2; piece > 0; piece /= 2) {
      if ((bytes & piece) == 0) continue;
      if (piece == 8) std::memcpy(to, &word, 8);
      if (piece == 4) std::memcpy(to, &word, 4);
      if (piece == 2) std::memcpy(to, &word, 2);
      if (piece == 1) std::memcpy(to, &word, 1);
      to += piece;
    }
    return;
  }
  const char* const end = to + bytes;
  for (; static_cast<std::size_t>(end - to) >= 4 * kPiece; to += 4 * kPiece) {
    std::memcpy(to, words, kPiece);
    std::memcpy(to + kPiece, words, kPiece);
    std::memcpy(to + 2 * kPiece, words, kPiece);
    std::memcpy(to + 3 * kPiece, words, kPiece);
  }
  for (; static_cast<std::size_t>(end - to) >= kPiece; to += kPiece) std::memcpy(to, words, kPiece);
  // The rest again with some bytes before it: elements divide the piece, so that they stay in step.
  const std::size_t rest = static_cast<std::size_t>(end - to);
  if (rest != 0) std::memcpy(to + rest - kPiece, words, kPiece);
}

/// An element of 1, 2, 4 or 8 bytes, `count` times in a row.
inline void fill_elements(const void* element, std::size_t size, std::size_t count, void* out) {
  fill_words(repeat_in_word(element, size), size * count, out);
}

/// Bytes behind its results that repeat_elements may overwrite.
inline constexpr std::size_t kRepeatSlack = 32;

/// Writes each of `count` elements of `element_size` bytes (1, 2, 4 or 8) `times` times, on the calling
/// thread.
void repeat_elements(std::size_t element_size, const void* from, std::size_t count, std::size_t times,
                     void* to);

}  // namespace ir::kernels

#endif  // KERNELS_BASE_FILL_H_
