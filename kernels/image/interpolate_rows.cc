#include "kernels/image/interpolate_rows.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/interpolate_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"
#include "kernels/image/bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

constexpr std::size_t kBlock = 512;  // output columns at a time

/// Part of a row: columns [first, first + count).
struct Columns {
  const float* from;
  std::int32_t first;
  std::size_t count;
};

/// Columns of a row as lanes of one vector, which begins at column `base`.
template <class Index>
struct NearColumns {
  std::size_t base;
  Index lane;
  bool are_near;  ///< whether they are

  /// Those at `index`, of `count` columns.
  HWY_INLINE NearColumns(Index index, std::size_t count) {
    const hn::RebindToSigned<Tag> di;
    const std::size_t lanes = hn::Lanes(di);
    base = std::min(static_cast<std::size_t>(hn::GetLane(index)), count - std::min(count, lanes));
    lane = hn::Sub(index, hn::Set(di, static_cast<std::int32_t>(base)));
    const auto beyond = hn::And(lane, hn::Set(di, -static_cast<std::int32_t>(lanes)));
    are_near = hn::AllTrue(di, hn::Eq(beyond, hn::Zero(di)));
  }
};

/// The columns at `index`, in its lanes. Where rows grow, or keep their size, neighbours are so close that
/// they are lanes of one vector, and nothing is gathered.
template <class Index>
HWY_INLINE Vector columns_at(const Columns& columns, Index index) {
  const Tag d;
  index = hn::Sub(index, hn::Set(hn::RebindToSigned<Tag>(), columns.first));
  const NearColumns near(index, columns.count);
  if (!near.are_near) return hn::GatherIndex(d, columns.from, index);
  const Vector seen = columns.count >= hn::Lanes(d) ? hn::LoadU(d, columns.from + near.base)
                                                    : load_n(d, columns.from, columns.count);
  return hn::TableLookupLanes(seen, hn::IndicesFromVec(d, near.lane));
}

/// to[i] = sum over k of weight_k[x + i] * (column index_k[x + i]).
HWY_INLINE void resample_columns(const InterpolateRows& rows, const Columns& columns, std::size_t x,
                                 std::size_t count, float* to) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  const std::size_t taps = rows.column_taps();
  if (count >= hn::Lanes(d)) {
    for_each_vector<float>(count, [&](std::size_t i) HWY_ATTR {
      Vector sum = hn::Zero(d);
      for (std::size_t k = 0; k < taps; ++k) {
        const Vector values = columns_at(columns, hn::LoadU(di, rows.column_index(k) + x + i));
        sum = hn::MulAdd(hn::LoadU(d, rows.column_weight(k) + x + i), values, sum);
      }
      hn::StoreU(sum, d, to + i);
    });
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0.0F;
    for (std::size_t k = 0; k < taps; ++k)
      sum += rows.column_weight(k)[x + i] * columns.from[rows.column_index(k)[x + i] - columns.first];
    to[i] = sum;
  }
}

/// Where the columns of a block are found in each row, vector by vector, known once for all rows: if those of
/// each are lanes of one vector.
class BlockColumns {
 public:
  BlockColumns(const InterpolateRows& rows, std::size_t x, std::size_t count) {
    const hn::RebindToSigned<Tag> di;
    const std::size_t lanes = hn::Lanes(di);
    is_known_ = rows.column_taps() <= kMostTaps;
    if (!is_known_) return;
    in_width_ = rows.in_width();
    for (std::size_t k = 0; k < rows.column_taps(); ++k) {
      std::size_t vector = 0;
      for_each_vector_or_part(count, [&](std::size_t i, std::size_t part) HWY_ATTR {
        auto index = load_part(di, rows.column_index(k) + x + i, part);
        // Spare lanes are near, too.
        index = hn::IfThenElse(hn::FirstN(di, part), index, hn::Set(di, hn::GetLane(index)));
        const NearColumns near(index, in_width_);
        is_known_ = is_known_ && near.are_near;
        base_[k][vector] = static_cast<std::uint32_t>(near.base);
        hn::Store(near.lane, di, lane_[k] + vector * lanes);
        ++vector;
      });
    }
  }

  [[nodiscard]] bool is_known() const { return is_known_; }

  /// What resample_columns does for the block; `to` has room for whole vectors.
  HWY_INLINE void resample(const InterpolateRows& rows, const float* from, std::size_t x, std::size_t count,
                           float* to) const {
    const Tag d;
    const hn::RebindToSigned<Tag> di;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t taps = rows.column_taps();
    const bool is_narrow = in_width_ < lanes;
    const Vector whole = is_narrow ? load_n(d, from, in_width_) : hn::Zero(d);
    std::size_t vector = 0;
    for_each_vector_or_part(count, [&](std::size_t i, std::size_t part) HWY_ATTR {
      Vector sum = hn::Zero(d);
      for (std::size_t k = 0; k < taps; ++k) {
        const auto lane = hn::Load(di, lane_[k] + vector * lanes);
        const Vector seen = is_narrow ? whole : hn::LoadU(d, from + base_[k][vector]);
        const Vector values = hn::TableLookupLanes(seen, hn::IndicesFromVec(d, lane));
        sum = hn::MulAdd(load_part(d, rows.column_weight(k) + x + i, part), values, sum);
      }
      hn::StoreU(sum, d, to + i);
      ++vector;
    });
  }

 private:
  /// Calls each(i, lanes) for vectors, or for the part of one that there is.
  template <class Each>
  static HWY_INLINE void for_each_vector_or_part(std::size_t count, const Each& each) {
    const std::size_t lanes = hn::Lanes(Tag());
    if (count < lanes) return each(0, count);
    for_each_vector<float>(count, [&](std::size_t i) HWY_ATTR { each(i, lanes); });
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_part(D d, const hn::TFromD<D>* from, std::size_t part) {
    return part == hn::Lanes(d) ? hn::LoadU(d, from) : load_n(d, from, part);
  }

  static constexpr std::size_t kMostTaps = 4;
  bool is_known_ = false;
  std::size_t in_width_ = 0;
  std::uint32_t base_[kMostTaps][kBlock / 4 + 1];
  HWY_ALIGN std::int32_t lane_[kMostTaps][kBlock + 16];
};

/// Input rows of one output row; `add` takes equal ones (at a border) as one.
struct RowTaps {
  std::size_t offset[kMaxBlendedRows];
  float weight[kMaxBlendedRows];
  std::size_t count = 0;

  void add(std::size_t row_offset, float row_weight) {
    for (std::size_t k = 0; k < count; ++k) {
      if (offset[k] == row_offset) {
        weight[k] += row_weight;
        return;
      }
    }
    append(row_offset, row_weight);
  }
  void append(std::size_t row_offset, float row_weight) {
    offset[count] = row_offset;
    weight[count++] = row_weight;
  }
};

/// Input rows as they are read, kept while they are in use: `kFloats` columns.
template <std::size_t kFloats>
class RowCache {
 public:
  RowCache() { forget(); }
  void forget() { std::fill_n(key_, kMaxBlendedRows, kNone); }

  /// Finds or makes (by `make(offset, to)`) the rows of `taps`; row[k] is the one of taps.offset[k].
  template <class F>
  HWY_INLINE void fetch(const RowTaps& taps, const float* (&row)[kMaxBlendedRows], const F& make) {
    bool used[kMaxBlendedRows] = {};
    for (std::size_t k = 0; k < taps.count; ++k) {
      const std::size_t slot = std::find(key_, key_ + kMaxBlendedRows, taps.offset[k]) - key_;
      const bool is_there = slot < kMaxBlendedRows;
      row[k] = is_there ? data_[slot] : nullptr;
      if (is_there) used[slot] = true;
    }
    for (std::size_t k = 0, slot = 0; k < taps.count; ++k) {
      if (row[k] != nullptr) continue;
      const std::size_t same = std::find(taps.offset, taps.offset + k, taps.offset[k]) - taps.offset;
      row[k] = row[same];
      if (same < k) continue;
      while (used[slot]) ++slot;
      used[slot] = true;
      key_[slot] = taps.offset[k];
      make(taps.offset[k], data_[slot]);
      row[k] = data_[slot];
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t key_[kMaxBlendedRows];
  HWY_ALIGN float data_[kMaxBlendedRows][kFloats];
};

/// to[i] = sum over k of taps.weight[k] * from[k][i]. `kTaps`: so many, if not 0.
template <std::size_t kTaps>
HWY_INLINE void blend_rows(const RowTaps& taps, const float* const* from, std::size_t count, float* to) {
  const Tag d;
  const std::size_t tap_count = kTaps != 0 ? kTaps : taps.count;
  Vector weights[kTaps != 0 ? kTaps : kMaxBlendedRows];
  for (std::size_t k = 0; k < tap_count; ++k) weights[k] = hn::Set(d, taps.weight[k]);
  const auto blend = [&](const auto& load) HWY_ATTR {
    Vector sum = hn::Mul(weights[0], load(from[0]));
    for (std::size_t k = 1; k < tap_count; ++k) sum = hn::MulAdd(weights[k], load(from[k]), sum);
    return sum;
  };
  if (count < hn::Lanes(d)) {
    store_n(blend([&](const float* row) HWY_ATTR { return load_n(d, row, count); }), d, to, count);
    return;
  }
  for_each_vector<float>(count, [&](std::size_t i) HWY_ATTR {
    hn::StoreU(blend([&](const float* row) HWY_ATTR { return hn::LoadU(d, row + i); }), d, to + i);
  });
}

void RowsBlended(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                 std::size_t end) {
  const std::size_t width = rows.width();
  RowCache<kBlock> cache;
  for (std::size_t x = 0; x < width; x += kBlock) {
    const std::size_t count = std::min(kBlock, width - x);
    cache.forget();
    const BlockColumns columns(rows, x, count);
    for (std::size_t row = begin; row < end; ++row) {
      RowTaps taps;
      rows.for_each_tap(row, [&](std::size_t offset, float weight) { taps.add(offset, weight); });
      const float* from[kMaxBlendedRows] = {};
      cache.fetch(taps, from, [&](std::size_t offset, float* to) HWY_ATTR {
        if (columns.is_known()) {
          columns.resample(rows, in + offset, x, count, to);
        } else {
          resample_columns(rows, {in + offset, 0, rows.in_width()}, x, count, to);
        }
      });
      float* to = out + row * width + x;
      if (taps.count == 0) {
        std::fill_n(to, count, 0.0F);
        continue;
      }
      if (taps.count == 2) {
        blend_rows<2>(taps, from, count, to);
      } else {
        blend_rows<0>(taps, from, count, to);
      }
    }
  }
}

/// to[i] = weight * from[i], or added to what is there.
HWY_INLINE void add_row(float weight, const float* from, bool onto, float* to, std::size_t count) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const Vector factor = hn::Set(d, weight);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector product = hn::Mul(factor, hn::LoadU(d, from + i));
    hn::StoreU(onto ? hn::Add(hn::LoadU(d, to + i), product) : product, d, to + i);
  }
  for (; i < count; ++i) to[i] = (onto ? to[i] : 0.0F) + weight * from[i];
}

/// Output columns whose taps lie within kMaxSummedSpan columns of the input.
struct SpannedBlock {
  std::int32_t low = 0;  ///< the first of these
  std::size_t span = 1;
  std::size_t count = 0;

  /// As many as there are from column x on, kBlock at most.
  SpannedBlock(const InterpolateRows& rows, std::size_t x) : low(rows.column_index(0)[x]) {
    std::int32_t high = low;
    for (; count < kBlock && x + count < rows.width(); ++count) {
      std::int32_t next_low = low;
      std::int32_t next_high = high;
      for (std::size_t k = 0; k < rows.column_taps(); ++k) {
        next_low = std::min(next_low, rows.column_index(k)[x + count]);
        next_high = std::max(next_high, rows.column_index(k)[x + count]);
      }
      if (static_cast<std::size_t>(next_high - next_low) >= kMaxSummedSpan) break;
      low = next_low;
      high = next_high;
    }
    span = static_cast<std::size_t>(high - low) + 1;
  }
};

void RowsSummed(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                std::size_t end) {
  const std::size_t width = rows.width();
  HWY_ALIGN float sums[kMaxSummedSpan];
  for (std::size_t x = 0; x < width;) {
    const SpannedBlock block(rows, x);
    for (std::size_t row = begin; row < end; ++row) {
      bool onto = false;
      rows.for_each_tap(row, [&](std::size_t offset, float weight) HWY_ATTR {
        add_row(weight, in + offset + block.low, onto, sums, block.span);
        onto = true;
      });
      float* to = out + row * width + x;
      if (onto) {
        resample_columns(rows, {sums, block.low, block.span}, x, block.count, to);
      } else {
        std::fill_n(to, block.count, 0.0F);
      }
    }
    x += block.count;
  }
}

HWY_INLINE void widen_bytes(const std::uint8_t* from, std::size_t count, float* to) {
  const Tag d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) hn::StoreU(load_as_floats(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

/// Columns of a block that are made of bytes, tap by tap, each product and sum rounded.
class ByteColumns {
 public:
  HWY_INLINE ByteColumns(const InterpolateRows& rows, const SpannedBlock& block, std::size_t x)
      : rows_(rows), block_(block), x_(x) {}

  /// `from`: the rows of `taps`, from column `low` of the block on.
  HWY_INLINE void add_up(const RowTaps& taps, const float* const* from, std::uint8_t* to) const {
    const Tag d;
    const Bytes bytes;
    const std::size_t lanes = hn::Lanes(d);
    if (block_.count >= lanes) {
      for_each_vector<float>(block_.count, [&](std::size_t i) HWY_ATTR {
        Vector sum = hn::Zero(d);
        Vector total = hn::Zero(d);
        for_each_product(taps, [&](std::size_t row, float weight, std::size_t tap) HWY_ATTR {
          const auto index = hn::LoadU(hn::RebindToSigned<Tag>(), rows_.column_index(tap) + x_ + i);
          const Vector factor =
              hn::Mul(hn::Set(d, weight), hn::LoadU(d, rows_.raw_column_weight(tap) + x_ + i));
          total = hn::Add(total, factor);
          sum = hn::Add(sum, hn::Mul(factor, columns_at({from[row], block_.low, block_.span}, index)));
        });
        hn::StoreU(finished(sum, total), bytes, to + i);
      });
      return;
    }
    HWY_ALIGN float sums[hn::MaxLanes(d)] = {};
    HWY_ALIGN float totals[hn::MaxLanes(d)] = {};
    HWY_ALIGN std::uint8_t results[hn::MaxLanes(d)];
    for (std::size_t i = 0; i < block_.count; ++i) {
      for_each_product(taps, [&](std::size_t row, float weight, std::size_t tap) {
        const float factor = weight * rows_.raw_column_weight(tap)[x_ + i];
        totals[i] += factor;
        sums[i] += factor * from[row][rows_.column_index(tap)[x_ + i] - block_.low];
      });
    }
    hn::StoreU(finished(hn::Load(d, sums), hn::Load(d, totals)), bytes, results);
    std::copy_n(results, block_.count, to);
  }

 private:
  using Bytes = hn::Rebind<std::uint8_t, Tag>;

  /// use(row, its weight, column tap), in the order of the reference.
  template <class Use>
  HWY_INLINE void for_each_product(const RowTaps& taps, const Use& use) const {
    for (std::size_t row = 0; row < taps.count; ++row) {
      for (std::size_t tap = 0; tap < rows_.column_taps(); ++tap) use(row, taps.weight[row], tap);
    }
  }

  HWY_INLINE hn::Vec<Bytes> finished(Vector sum, Vector total) const {
    const Tag d;
    const Vector zero = hn::Zero(d);
    if (!rows_.is_linear()) return truncated_bytes(d, limit_to_bytes(d, sum));
    const Vector mean = hn::IfThenElse(hn::Eq(total, zero), zero, hn::Div(sum, total));
    return rounded_bytes(d, limit_to_bytes(d, mean));
  }

  const InterpolateRows& rows_;
  const SpannedBlock& block_;
  std::size_t x_;
};

void ByteRows(const InterpolateRows& rows, const std::uint8_t* in, std::uint8_t* out, std::size_t begin,
              std::size_t end) {
  using Weights = InterpolateRows::Weights;
  const std::size_t width = rows.width();
  RowCache<kMaxSummedSpan> cache;
  for (std::size_t x = 0; x < width;) {
    const SpannedBlock block(rows, x);
    cache.forget();
    for (std::size_t row = begin; row < end; ++row) {
      RowTaps taps;
      rows.for_each_tap<Weights::raw>(row,
                                      [&](std::size_t offset, float weight) { taps.append(offset, weight); });
      const float* from[kMaxBlendedRows] = {};
      cache.fetch(taps, from, [&](std::size_t offset, float* to) HWY_ATTR {
        widen_bytes(in + offset + block.low, block.span, to);
      });
      ByteColumns(rows, block, x).add_up(taps, from, out + row * width + x);
    }
    x += block.count;
  }
}

void DoubledRow(const char* from, std::size_t count, char* to) {
  const Tag d;
  constexpr std::size_t kUnit = sizeof(float);
  if (count < hn::Lanes(d)) {
    for (std::size_t i = 0; i < 2 * count; ++i) std::memcpy(to + i * kUnit, from + i / 2 * kUnit, kUnit);
    return;
  }
  for_each_vector<float>(count, [&](std::size_t i) HWY_ATTR {
    const Vector v = hn::LoadU(d, reinterpret_cast<const float*>(from) + i);
    hn::StoreInterleaved2(v, v, d, reinterpret_cast<float*>(to) + 2 * i);
  });
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(RowsBlended);
HWY_EXPORT(RowsSummed);
HWY_EXPORT(ByteRows);
HWY_EXPORT(DoubledRow);

void interpolate_rows_blended(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                              std::size_t end) {
  HWY_DYNAMIC_DISPATCH(RowsBlended)(rows, in, out, begin, end);
}

void interpolate_rows_summed(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                             std::size_t end) {
  HWY_DYNAMIC_DISPATCH(RowsSummed)(rows, in, out, begin, end);
}

void interpolate_byte_rows(const InterpolateRows& rows, const std::uint8_t* in, std::uint8_t* out,
                           std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(ByteRows)(rows, in, out, begin, end);
}

void interpolate_doubled_row(const char* from, std::size_t count, char* to) {
  HWY_DYNAMIC_DISPATCH(DoubledRow)(from, count, to);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
