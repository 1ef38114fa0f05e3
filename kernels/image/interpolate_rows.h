// Internal to Interpolate: floats and bytes, of which rows of the innermost resampled axis are made out of
// weighted sums of input rows.
#ifndef KERNELS_IMAGE_INTERPOLATE_ROWS_H_
#define KERNELS_IMAGE_INTERPOLATE_ROWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/image/interpolate.h"

namespace ir::kernels {

class InterpolateRows {
 public:
  static constexpr std::size_t kMaxRank = 32;

  explicit InterpolateRows(const Interpolate& interpolate)
      : axes_(interpolate.axes_),
        columns_(interpolate.columns_),
        leading_(interpolate.leading_axes() - 1),
        linear_(interpolate.mode_ == InterpolateMode::linear),
        factor_(interpolate.weight_factor_) {
    std::size_t stride = columns_.in;
    for (std::size_t a = leading_; a-- > 0;) {
      strides_[a] = stride;
      stride *= axes_[a].in;
      rows_ *= axes_[a].out;
      if (!axes_[a].identity) row_taps_ *= std::ranges::max(axes_[a].counts);
    }
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }          // of the output
  [[nodiscard]] std::size_t row_taps() const { return row_taps_; }  // the most input rows per output row
  [[nodiscard]] std::size_t width() const { return columns_.out; }
  [[nodiscard]] std::size_t in_width() const { return columns_.in; }
  [[nodiscard]] bool is_linear() const { return linear_; }  // results are divided by the sum of the weights

  // Interpolate::Columns.
  [[nodiscard]] std::size_t column_taps() const { return columns_.taps; }
  [[nodiscard]] const std::int32_t* column_index(std::size_t tap) const {
    return columns_.index.data() + tap * width();
  }
  [[nodiscard]] const float* column_weight(std::size_t tap) const {
    return columns_.weight.data() + tap * width();
  }

  [[nodiscard]] const float* raw_column_weight(std::size_t tap) const {
    return (linear_ ? columns_.raw : columns_.weight).data() + tap * width();
  }

  enum class Weights { normalised, raw };
  static constexpr std::size_t kPadding = ~std::size_t{0};

  /// Calls f(offset of the input row, weight) for each input row of an output row, in order. Rows of padding
  /// are left out, or, of raw weights, at kPadding.
  template <Weights kWeights = Weights::normalised, class Real = float, class F>
  void for_each_tap(std::size_t row, const F& f) const {
    std::array<std::size_t, kMaxRank> first;
    std::array<std::size_t, kMaxRank> count;
    std::array<std::size_t, kMaxRank> tap;
    std::size_t base = 0;
    Real factor = kWeights == Weights::raw ? factor_ : 1.0F;
    for (std::size_t a = leading_; a-- > 0;) {
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
      if (linear_ && kWeights == Weights::normalised) {
        float sum = 0.0F;
        for (std::size_t k = 0; k < count[a]; ++k) sum += axis.weight[first[a] + k];
        factor /= sum;
      }
    }
    while (true) {
      Real weight = factor;
      std::size_t offset = base;
      bool padding = false;
      for (std::size_t a = 0; a < leading_; ++a) {
        if (axes_[a].identity) continue;
        const std::int64_t index = axes_[a].index[first[a] + tap[a]];
        padding = padding || index < 0;
        offset += static_cast<std::size_t>(index) * strides_[a];
        weight *= axes_[a].weight[first[a] + tap[a]];
      }
      if (!padding) {
        f(offset, weight);
      } else if (kWeights == Weights::raw) {
        f(kPadding, weight);
      }
      std::size_t a = leading_;
      while (a > 0 && ++tap[a - 1] == count[a - 1]) tap[--a] = 0;
      if (a == 0) return;
    }
  }

 private:
  const std::vector<Interpolate::Axis>& axes_;
  const Interpolate::Columns& columns_;
  std::size_t leading_;  ///< axes of rows
  bool linear_;
  float factor_;
  std::size_t rows_ = 1;
  std::size_t row_taps_ = 1;
  std::array<std::size_t, kMaxRank> strides_{};
};

/// Most input rows per output row of interpolate_rows_blended and interpolate_byte_rows, and the widest span
/// of Interpolate::Columns of the latter and of interpolate_rows_summed.
inline constexpr std::size_t kMaxBlendedRows = 4;
inline constexpr std::size_t kMaxSummedSpan = 2048;

/// Output rows [begin, end). Each input row is resampled once and kept while output rows need it.
void interpolate_rows_blended(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                              std::size_t end);

/// Output rows [begin, end). The input rows of an output row are added up first, then resampled.
void interpolate_rows_summed(const InterpolateRows& rows, const float* in, float* out, std::size_t begin,
                             std::size_t end);

/// Output rows [begin, end), each element added up in the order of the reference. Without padding.
void interpolate_byte_rows(const InterpolateRows& rows, const std::uint8_t* in, std::uint8_t* out,
                           std::size_t begin, std::size_t end);

/// Each of `count` elements of four bytes twice.
void interpolate_doubled_row(const char* from, std::size_t count, char* to);

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_INTERPOLATE_ROWS_H_
