#include "kernels/indexing/sparse.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/base/bytes.h"

namespace ir::kernels {

IndexResult find_empty_rows(IndexView indices, std::size_t entries, std::int64_t rows, std::int64_t columns,
                            bool* empty) {
  std::fill_n(empty, rows, true);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::int64_t row = indices[2 * i];
    const std::int64_t column = indices[2 * i + 1];
    if (row < 0 || row >= rows) return BadIndex{2 * i, row};
    if (column < 0 || column >= columns) return BadIndex{2 * i + 1, column};
    empty[row] = false;
  }
  return {};
}

template <class Index>
void fill_empty_rows(const Index* indices, std::size_t entries, const bool* empty, std::size_t rows,
                     Index* out_indices, std::size_t* sources) {
  for (std::size_t i = 0; i < entries; ++i) sources[i] = i;
  const auto place = [indices](std::size_t entry) {
    return std::pair(indices[2 * entry], indices[2 * entry + 1]);
  };
  std::sort(sources, sources + entries,
            [&](std::size_t a, std::size_t b) { return std::pair(place(a), a) < std::pair(place(b), b); });
  // The sorted entries move to their places from behind; new ones go in between.
  std::size_t out = entries + static_cast<std::size_t>(std::count(empty, empty + rows, true));
  std::size_t next = entries;
  for (std::size_t row = rows; row-- > 0;) {
    if (empty[row]) {
      sources[--out] = kNewEntry;
      out_indices[2 * out] = static_cast<Index>(row);
      out_indices[2 * out + 1] = 0;
    }
    while (next > 0 && static_cast<std::size_t>(place(sources[next - 1]).first) == row) {
      const std::size_t entry = sources[--next];
      sources[--out] = entry;
      std::tie(out_indices[2 * out], out_indices[2 * out + 1]) = place(entry);
    }
  }
}

void take_entries(const std::size_t* sources, std::size_t count, std::size_t element_size, const void* values,
                  const void* default_value, void* out) {
  const auto* const from = static_cast<const std::byte*>(values);
  auto* to = static_cast<std::byte*>(out);
  with_unit_copy(element_size, [&](const auto& copy) {
    for (std::size_t i = 0; i < count; ++i) {
      copy(sources[i] == kNewEntry ? default_value : from + sources[i] * element_size, to + i * element_size);
    }
  });
}

void take_entries(const std::size_t* sources, std::size_t count, const std::string* values,
                  const std::string& default_value, std::string* out) {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = sources[i] == kNewEntry ? default_value : values[sources[i]];
}

template void fill_empty_rows(const std::int32_t*, std::size_t, const bool*, std::size_t, std::int32_t*,
                              std::size_t*);
template void fill_empty_rows(const std::int64_t*, std::size_t, const bool*, std::size_t, std::int64_t*,
                              std::size_t*);

}  // namespace ir::kernels
