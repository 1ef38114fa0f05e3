#include "kernels/reduction/topk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/ascending_key.h"
#include "kernels/base/scalar_type.h"
#include "kernels/reduction/topk_floats.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Elements that are taken without a search where one was found: in rows that are sorted, all are found.
constexpr std::size_t kNear = 16;
/// Among so many elements for each that is wanted, those better than all before come so rarely that one look
/// at the row is faster than two.
constexpr std::size_t kSparse = 2048;
/// Bounds the scratch: no more chunks than this hold a copy of a row at a time.
constexpr std::size_t kMaxChunks = 64;

/// An element to be ranked: smaller is better, and lower positions come first among equals. Types of up to 32
/// bits fit into one word with their position.
struct Word {
  std::uint64_t bits;

  static Word of(std::uint64_t key, std::uint32_t position) { return {key << 32 | position}; }
  [[nodiscard]] std::uint32_t position() const { return static_cast<std::uint32_t>(bits); }
  friend bool operator<(Word a, Word b) { return a.bits < b.bits; }
};

struct Pair {
  std::uint64_t key;
  std::uint64_t place;

  static Pair of(std::uint64_t key, std::uint32_t position) { return {key, position}; }
  [[nodiscard]] std::uint32_t position() const { return static_cast<std::uint32_t>(place); }
  friend bool operator<(const Pair& a, const Pair& b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
};

/// An element type to the code that ranks, of which there is one copy for floats, and for all others as many
/// as there are kinds of ranked elements.
struct OtherElements {
  std::size_t size;
  std::uint64_t (*key)(const void* element);

  [[nodiscard]] std::uint64_t key_of(const void* element) const { return key(element); }
  void copy(const void* from, void* to) const { std::memcpy(to, from, size); }
};
struct Floats {
  static constexpr std::size_t size = sizeof(float);

  static std::uint64_t key_of(const void* element) {
    return ascending_key(*static_cast<const float*>(element));
  }
  static void copy(const void* from, void* to) { std::memcpy(to, from, size); }
};

template <class T>
OtherElements elements_of() {
  return {sizeof(T), [](const void* element) -> std::uint64_t {
            return ascending_key(*static_cast<const T*>(element));
          }};
}

/// Ranks the elements of one row, `step` apart, for a mode.
template <class Elements, class Ranked>
class Row {
 public:
  Row(const Elements& elements, const char* first, std::size_t step, TopKMode mode)
      : elements_(elements),
        first_(first),
        step_(step * elements.size),
        mode_(mode),
        flip_(mode == TopKMode::max ? ~std::uint64_t{0} >> (64 - 8 * elements.size) : 0) {}

  [[nodiscard]] TopKMode mode() const { return mode_; }
  [[nodiscard]] const void* at(std::size_t i) const { return first_ + i * step_; }
  [[nodiscard]] Ranked ranked(std::size_t i) const {
    return Ranked::of(elements_.key_of(at(i)) ^ flip_, static_cast<std::uint32_t>(i));
  }
  /// The elements, if they are floats side by side, else nullptr.
  [[nodiscard]] const float* floats() const {
    if constexpr (!std::is_same_v<Elements, Floats>) return nullptr;
    return step_ == sizeof(float) ? reinterpret_cast<const float*>(first_) : nullptr;
  }

 private:
  Elements elements_;
  const char* first_;
  std::size_t step_;  // bytes
  TopKMode mode_;
  std::uint64_t flip_;
};

/// best[0..k) in order, by insertion: for k that is small. Takes elements [begin, end) in after those before.
template <class Row, class Ranked>
void insert_all(const Row& row, std::size_t begin, std::size_t end, std::size_t k, Ranked* best) {
  for (std::size_t i = begin; i < end; ++i) {
    const Ranked candidate = row.ranked(i);
    const std::size_t filled = std::min(i, k);
    if (filled == k && !(candidate < best[k - 1])) continue;
    std::size_t at = filled == k ? k - 1 : filled;
    for (; at > 0 && candidate < best[at - 1]; --at) best[at] = best[at - 1];
    best[at] = candidate;
  }
}

/// Calls take(begin, end) for pieces of a row of floats in which elements rank before that at bound(), and
/// some more.
template <class Take, class Bound>
void search_row(const float* row, TopKMode mode, std::size_t begin, std::size_t count, const Take& take,
                const Bound& bound) {
  while ((begin = find_better(mode, row, begin, count, row[bound()])) < count) {
    const std::size_t end = std::min(count, begin + kNear);
    take(begin, end);
    begin = end;
  }
}

template <class Row, class Ranked>
void select_by_insertion(const Row& row, std::size_t count, std::size_t k, Ranked* best) {
  if constexpr (std::is_same_v<Ranked, Word>) {
    if (const float* const floats = row.floats(); floats != nullptr) {
      const auto take = [&](std::size_t begin, std::size_t end) { insert_all(row, begin, end, k, best); };
      std::size_t begin = 0;
      if (k > 1 && count / k < kSparse) {
        std::array<std::uint64_t, kSmallKOfRows + 1> words;
        begin = best_of_row(row.mode(), floats, count, k, words.data());
        for (std::size_t i = 0; begin != 0 && i < k; ++i) best[i] = {words[i]};
      }
      if (begin == 0) {
        take(0, k);
        begin = k;
      }
      return search_row(floats, row.mode(), begin, count, take, [&] { return best[k - 1].position(); });
    }
  }
  insert_all(row, 0, count, k, best);
}

/// best[0..k) in any order, of a long row of floats: candidates are collected behind them until they are as
/// many again, and so on. `best` has room for `count`, which is at least 4 k.
template <class Row, class Ranked>
void select_by_search(const Row& row, std::size_t count, std::size_t k, Ranked* best) {
  const std::size_t most = 2 * k + kNear;
  std::size_t kept = 0;
  const auto shrink = [&] {
    std::nth_element(best, best + (k - 1), best + kept);
    kept = k;
  };
  const auto take = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) best[kept++] = row.ranked(i);
    if (kept + kNear > most) shrink();
  };
  take(0, k);
  shrink();
  search_row(row.floats(), row.mode(), k, count, take, [&] { return best[k - 1].position(); });
  shrink();
}

/// best[0..k) in any order. Unsorted results keep the order that std::nth_element leaves of a copy of the
/// whole row: it is also OpenVINO's, whose recorded outputs show it.
template <class Row, class Ranked>
void select_beyond_small(const Row& row, const TopKParams& params, Ranked* best) {
  const std::size_t count = params.axis;
  if (row.floats() != nullptr && count >= 4 * params.k && params.sort != TopKSort::none) {
    return select_by_search(row, count, params.k, best);
  }
  for (std::size_t i = 0; i < count; ++i) best[i] = row.ranked(i);
  std::nth_element(best, best + params.k, best + count);
}

bool selects_by_insertion(const TopKParams& params, bool floats) {
  const std::size_t most = floats ? kSmallKOfRows : kSmallK;
  return params.k <= (params.sort == TopKSort::none ? 1 : most);
}

/// Whether columns of floats become rows, one after the other: for fewer results, vectors of columns are
/// ranked.
bool turns_columns(const TopKParams& params) {
  return params.inner > 1 && params.k > kSmallK && selects_by_insertion(params, true);
}

/// Where positions go. Which type they have is found out as they are written: that spares a second copy of
/// all that is done to find them.
class Positions {
 public:
  explicit Positions(std::int32_t* narrow) : narrow_(narrow) {}
  explicit Positions(std::int64_t* wide) : wide_(wide) {}

  void put(std::size_t at, std::uint32_t position) const {
    if (wide_ != nullptr) {
      wide_[at] = position;
    } else if (narrow_ != nullptr) {
      narrow_[at] = static_cast<std::int32_t>(position);
    }
  }

 private:
  std::int32_t* narrow_ = nullptr;
  std::int64_t* wide_ = nullptr;
};

struct Chunks {
  std::size_t grain;
  std::size_t count;
};

Chunks chunks_of(const TopKParams& params) {
  const std::size_t rows = params.outer * params.inner;
  const std::size_t grain = std::max(grain_for_cost(4 * params.axis), (rows + kMaxChunks - 1) / kMaxChunks);
  return {grain, (rows + grain - 1) / grain};
}

template <class Ranked, class Elements>
void select(const TopKParams& params, const Elements& elements, const void* in, void* values,
            const Positions& indices, std::byte* scratch) {
  const std::size_t count = params.axis;
  const std::size_t k = params.k;
  const std::size_t inner = params.inner;
  const std::size_t grain = chunks_of(params).grain;
  const bool by_insertion = selects_by_insertion(params, std::is_same_v<Elements, Floats>);
  parallel_for(params.outer * inner, grain, [&](std::size_t begin, std::size_t end) {
    std::array<Ranked, kSmallKOfRows> small;
    Ranked* best = small.data();
    if (!by_insertion) best = reinterpret_cast<Ranked*>(scratch) + begin / grain * count;
    for (std::size_t task = begin; task < end; ++task) {
      const std::size_t first = task / inner * count * inner + task % inner;
      const char* from = static_cast<const char*>(in) + first * elements.size;
      std::size_t step = inner;
      if constexpr (std::is_same_v<Elements, Floats>) {
        if (turns_columns(params)) {
          float* const column = reinterpret_cast<float*>(scratch) + begin / grain * count;
          for (std::size_t i = 0; i < count; ++i)
            column[i] = static_cast<const float*>(in)[first + i * inner];
          from = reinterpret_cast<const char*>(column);
          step = 1;
        }
      }
      const Row<Elements, Ranked> row(elements, from, step, params.mode);
      if (by_insertion) {
        select_by_insertion(row, count, k, best);
      } else {
        select_beyond_small(row, params, best);
        if (params.sort == TopKSort::value) std::sort(best, best + k);
      }
      if (params.sort == TopKSort::index) {
        std::sort(best, best + k, [](const auto& a, const auto& b) { return a.position() < b.position(); });
      }
      const std::size_t to = task / inner * k * inner + task % inner;
      for (std::size_t i = 0; i < k; ++i) {
        const std::uint32_t position = best[i].position();
        const std::size_t place = to + i * inner;
        if (values != nullptr)
          elements.copy(row.at(position), static_cast<char*>(values) + place * elements.size);
        indices.put(place, position);
      }
    }
  });
}

using ColumnRanks = std::array<std::int32_t, kSmallK * kTopKColumns>;

/// The positions of each column in ascending order.
void sort_columns(ColumnRanks& ranks, std::size_t columns, std::size_t k) {
  for (std::size_t c = 0; c < columns; ++c) {
    std::array<std::int32_t, kSmallK> column;
    for (std::size_t i = 0; i < k; ++i) column[i] = ranks[i * kTopKColumns + c];
    std::sort(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(k));
    for (std::size_t i = 0; i < k; ++i) ranks[i * kTopKColumns + c] = column[i];
  }
}

/// Columns of floats, vectors of them at a time.
void select_of_columns(const TopKParams& params, const float* in, float* values, const Positions& indices) {
  const std::size_t k = params.k;
  const std::size_t inner = params.inner;
  const std::size_t pieces = (inner - 1) / kTopKColumns + 1;
  const std::size_t cost = params.axis * std::min(inner, kTopKColumns);
  parallel_for(params.outer * pieces, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    alignas(kCacheLine) ColumnRanks best;
    for (std::size_t piece = begin; piece < end; ++piece) {
      const std::size_t outer = piece / pieces;
      const std::size_t column = piece % pieces * kTopKColumns;
      const std::size_t columns = std::min(kTopKColumns, inner - column);
      const float* const from = in + outer * params.axis * inner + column;
      best_of_columns(params.mode, from, inner, params.axis, columns, k, best.data());
      if (params.sort == TopKSort::index) sort_columns(best, columns, k);
      for (std::size_t i = 0; i < k; ++i) {
        const std::size_t to = (outer * k + i) * inner + column;
        for (std::size_t c = 0; c < columns; ++c) {
          const auto position = static_cast<std::uint32_t>(best[i * kTopKColumns + c]);
          if (values != nullptr) values[to + c] = from[position * inner + c];
          indices.put(to + c, position);
        }
      }
    }
  });
}

}  // namespace

template <class T>
std::size_t top_k_scratch_bytes(const TopKParams& params) {
  constexpr bool kFloats = std::is_same_v<T, float>;
  constexpr std::size_t kRanked = sizeof(T) <= 4 ? sizeof(Word) : sizeof(Pair);
  std::size_t size = selects_by_insertion(params, kFloats) ? 0 : kRanked;
  if (kFloats && turns_columns(params)) size = sizeof(float);
  return size == 0 ? 0 : chunks_of(params).count * params.axis * size;
}

template <class T, class Index>
void top_k(const TopKParams& params, const T* in, T* values, Index* indices, std::byte* scratch) {
  if (params.k == 0) return;
  const Positions positions(indices);
  if constexpr (std::is_same_v<T, float>) {
    if (params.inner > 1 && params.k <= kSmallK && selects_by_insertion(params, true)) {
      return select_of_columns(params, in, values, positions);
    }
    select<Word>(params, Floats(), in, values, positions, scratch);
  } else {
    using Ranked = std::conditional_t<sizeof(T) <= 4, Word, Pair>;
    select<Ranked>(params, elements_of<T>(), in, values, positions, scratch);
  }
}

#define IR_INSTANTIATE(T)                                                                           \
  template std::size_t top_k_scratch_bytes<T>(const TopKParams&);                                   \
  template void top_k<T, std::int32_t>(const TopKParams&, const T*, T*, std::int32_t*, std::byte*); \
  template void top_k<T, std::int64_t>(const TopKParams&, const T*, T*, std::int64_t*, std::byte*);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
