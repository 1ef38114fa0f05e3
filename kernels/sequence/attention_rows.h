// The softmax of attention, row by row and block by block of keys. Internal to kernels/.
#ifndef KERNELS_SEQUENCE_ATTENTION_ROWS_H_
#define KERNELS_SEQUENCE_ATTENTION_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ir::kernels {

/// A row of the softmax over the scores seen so far.
struct RunningSoftmax {
  float maximum = -std::numeric_limits<float>::infinity();
  /// Of e^(score - maximum).
  float sum = 0;
};

/// What happens to scores: score * scale + bias, plus `added` (null: nothing); `hidden` in their place where
/// `kept` is zero (null: nowhere), or everywhere.
struct ScoreRule {
  float scale = 1;
  float bias = 0;
  const float* added = nullptr;
  const std::uint8_t* kept = nullptr;
  float hidden = 0;
  bool hides_all = false;
};

struct AttentionRowKernels {
  /// Turns `count` raw scores into e^(score - maximum) and takes them into `row`. Returns by what everything
  /// that was weighted with earlier scores is to be multiplied.
  float (*add_scores)(float* scores, std::size_t count, const ScoreRule& rule, RunningSoftmax& row) = nullptr;
  /// Of `count` numbers, or bytes, how many remain when those at the end that are at most `hidden`, or zero,
  /// are left out; `least` are not looked at, and remain.
  std::size_t (*visible_added)(const float* added, std::size_t least, std::size_t count,
                               float hidden) = nullptr;
  std::size_t (*visible_kept)(const std::uint8_t* kept, std::size_t least, std::size_t count) = nullptr;
  /// The largest sum of squares of a row.
  float (*largest_square)(const float* from, std::size_t stride, std::size_t rows,
                          std::size_t columns) = nullptr;
  /// values[i] *= factor.
  void (*scale)(float* values, std::size_t count, float factor) = nullptr;
  /// to[c * to_stride + r] = from[r * stride + c] for r < rows, c < columns.
  void (*transpose)(const float* from, std::size_t stride, std::size_t rows, std::size_t columns, float* to,
                    std::size_t to_stride) = nullptr;
};

/// Those of the SIMD target that dispatch picks now.
const AttentionRowKernels& attention_row_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_ATTENTION_ROWS_H_
