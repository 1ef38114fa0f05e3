#include "kernels/indexing/scatter_slices.h"

#include <cstring>

#include "kernels/base/bytes.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// 8 bytes and more, by words: for so few that a call would take longer. The last word begins early.
void copy_words(const char* from, char* to, std::size_t bytes) {
  constexpr std::size_t kWord = 8;
  const std::size_t last = bytes - kWord;
  for (std::size_t i = 0; i < last; i += kWord) std::memcpy(to + i, from + i, kWord);
  std::memcpy(to + last, from + last, kWord);
}

}  // namespace

void assign_slices(const NdShape& shape, const NdOffsets& offsets, const void* updates, void* out) {
  constexpr std::size_t kLine = 64;
  const std::size_t unit = shape.slice_bytes;
  const auto copy_all = [&](const auto& copy) {
    const auto* const from = static_cast<const char*>(updates);
    auto* const to = static_cast<char*>(out);
    offsets.for_each_slice(
        0, shape.tuples, [=](std::size_t t, std::size_t slice) { copy(from + t * unit, to + slice * unit); });
  };
  if (unit <= 8) return with_unit_copy(unit, copy_all);
  if (unit <= kLine) return copy_all([unit](const char* from, char* to) { copy_words(from, to, unit); });
  // Tuples may name the same slice, so each part of the slices takes all tuples in order.
  const std::size_t lines = (unit + kLine - 1) / kLine;
  parallel_for(lines, grain_for_cost(shape.tuples * cost_of_bytes(kLine)),
               [&](std::size_t begin, std::size_t end) {
                 const std::size_t first = begin * kLine;
                 const std::size_t bytes = std::min(unit, end * kLine) - first;
                 copy_all([=](const char* from, char* to) { std::memcpy(to + first, from + first, bytes); });
               });
}

}  // namespace ir::kernels
