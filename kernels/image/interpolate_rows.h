// Internal to Interpolate: the float path, which makes rows of the innermost axis out of weighted sums of
// input rows.
#ifndef KERNELS_IMAGE_INTERPOLATE_ROWS_H_
#define KERNELS_IMAGE_INTERPOLATE_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/image/interpolate.h"

namespace ir::kernels {

class InterpolateRows {
 public:
  static constexpr std::size_t kMaxRank = 32;

  explicit InterpolateRows(const Interpolate& interpolate)
      : axes_(interpolate.axes_),
        columns_(interpolate.columns_),
        linear_(interpolate.mode_ == InterpolateMode::linear) {
    std::size_t stride = axes_.back().in;
    for (std::size_t a = axes_.size() - 1; a-- > 0;) {
      strides_[a] = stride;
      stride *= axes_[a].in;
      rows_ *= axes_[a].out;
      if (!axes_[a].identity) row_taps_ *= axes_[a].taps;
    }
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }          // of the output
  [[nodiscard]] std::size_t row_taps() const { return row_taps_; }  // the most input rows per output row
  [[nodiscard]] std::size_t width() const { return axes_.back().out; }
  [[nodiscard]] std::size_t in_width() const { return axes_.back().in; }

  // Of the innermost axis: Interpolate::Columns.
  [[nodiscard]] std::size_t column_taps() const { return columns_.taps; }
  [[nodiscard]] std::size_t column_span() const { return columns_.span; }
  [[nodiscard]] const std::int32_t* column_index(std::size_t tap) const {
    return columns_.index.data() + tap * width();
  }
  [[nodiscard]] const float* column_weight(std::size_t tap) const {
    return columns_.weight.data() + tap * width();
  }

  /// Calls f(offset of the input row, weight) for each input row of an output row, padding left out.
  template <class F>
  void for_each_tap(std::size_t row, const F& f) const {
    const std::size_t leading = axes_.size() - 1;
    std::array<std::size_t, kMaxRank> first;
    std::array<std::size_t, kMaxRank> count;
    std::array<std::size_t, kMaxRank> tap;
    std::size_t base = 0;
    float factor = 1.0F;
    for (std::size_t a = leading; a-- > 0;) {
      const auto& axis = axes_[a];
      const std::size_t position = row % axis.out;
      row /= axis.out;
      tap[a] = 0;
      count[a] = 1;
      if (axis.identity) {
        base += position * strides_[a];
        continue;
      }
      first[a] = position * axis.taps;
      count[a] = axis.counts[position];
      if (count[a] == 0) return;
      if (linear_) {
        float sum = 0.0F;
        for (std::size_t k = 0; k < count[a]; ++k) sum += axis.weight[first[a] + k];
        factor /= sum;
      }
    }
    while (true) {
      float weight = factor;
      std::size_t offset = base;
      bool padding = false;
      for (std::size_t a = 0; a < leading; ++a) {
        if (axes_[a].identity) continue;
        const std::int64_t index = axes_[a].index[first[a] + tap[a]];
        padding = padding || index < 0;
        offset += static_cast<std::size_t>(index) * strides_[a];
        weight *= axes_[a].weight[first[a] + tap[a]];
      }
      if (!padding) f(offset, weight);
      std::size_t a = leading;
      while (a > 0 && ++tap[a - 1] == count[a - 1]) tap[--a] = 0;
      if (a == 0) return;
    }
  }

 private:
  const std::vector<Interpolate::Axis>& axes_;
  const Interpolate::Columns& columns_;
  bool linear_;
  std::size_t rows_ = 1;
  std::size_t row_taps_ = 1;
  std::array<std::size_t, kMaxRank> strides_{};
};

/// Most input rows per output row of interpolate_rows_blended, and the widest column_span of
/// interpolate_rows_summed.
inline constexpr std::size_t kMaxBlendedRows = 4;
inline constexpr std::size_t kMaxSummedSpan = 2048;

/// Output rows [begin, end). Each input row is resampled once and kept while output rows need it.
void interpolate_rows_blended(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                              std::size_t end);

/// Output rows [begin, end). The input rows of an output row are added up first, then resampled.
void interpolate_rows_summed(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                             std::size_t end);

/// Each of `count` elements of four bytes twice.
void interpolate_doubled_row(const char* from, std::size_t count, char* to);

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_INTERPOLATE_ROWS_H_
