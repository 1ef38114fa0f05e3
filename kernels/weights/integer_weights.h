// Products of which both operands are integers times steps, as quantised models have them: two or four terms
// are multiplied and added up by one instruction, and exactly.
#ifndef KERNELS_WEIGHTS_INTEGER_WEIGHTS_H_
#define KERNELS_WEIGHTS_INTEGER_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/elementwise/fake_quantize.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/weights/constant_weights.h"

namespace ir::kernels {

/// What values are: integers from `low` to `high`, times `step`, plus `offset`, but for rounding. The offset
/// is less than half of a step.
struct IntegerGrid {
  float step = 0;
  float low = 0;
  float high = 0;
  float offset = 0;

  friend bool operator==(const IntegerGrid&, const IntegerGrid&) = default;
};

/// How many terms share the lane of a float: none, pairs of 16 bits each, or four bytes.
enum class LaneForm : std::uint8_t { floats, pairs, quads };
inline constexpr std::size_t kMostLaneTerms = 4;

constexpr std::size_t lane_terms(LaneForm form) {
  return form == LaneForm::quads ? kMostLaneTerms : form == LaneForm::pairs ? 2 : 1;
}

/// How values become the integers of a lane: the nearest to value * per_unit, less `base`.
struct LaneMap {
  LaneForm form = LaneForm::pairs;
  float per_unit = 1;
  float base = 0;
};
/// Offsets of levels of a byte that are no larger, in steps, count as none: some times what f32 arithmetic on
/// the way is off by.
inline constexpr float kLevelTolerance = 0x1p-14F;

/// What the results of a quantisation are; nothing where none of them is close to 0, or 16 bits do not hold
/// them.
std::optional<IntegerGrid> integer_grid(const Quantization& quantization);

/// What weights meet besides the values: zeros, where windows see padding.
enum class Around : std::uint8_t { nothing, zeros };

/// Constant weights that are integers times a step for each output channel, or column of results.
class IntegerWeights {
 public:
  /// Finds the steps of weights [channels][terms]; `values` is what is known of what they are multiplied
  /// with. In parallel; of bytes, only the scales are read. nullptr:
  /// they are no such integers, or larger than 255, sums might not fit 32 bits, or the SIMD target of the
  /// moment multiplies floats as fast.
  static std::shared_ptr<const IntegerWeights> find(std::size_t channels, std::size_t terms,
                                                    const ConstantWeights& weights, const IntegerGrid& values,
                                                    Around around) {
    return find_any(channels, terms, weights, values, around);
  }
  /// The same for [channels][terms][taps] and values that miss 0, which is what taps find around an image:
  /// of bytes, with a term more that is the same number for all values, but 0 for those around. Its weights
  /// make up for the offset, to half of an integer for each tap that finds nothing. nullptr: bytes do not
  /// hold them, either.
  static std::shared_ptr<const IntegerWeights> find_with_border(std::size_t channels, std::size_t terms,
                                                                std::size_t taps,
                                                                const ConstantWeights& weights,
                                                                const IntegerGrid& values);

  /// Terms that are more than those of the weights: 1 for such a border.
  [[nodiscard]] std::size_t more_terms() const { return border_.empty() ? 0 : 1; }
  /// The byte of that term.
  [[nodiscard]] std::uint8_t border_byte() const;

  /// The weights that the steps were found for, [channels][terms][taps], as [channels][lanes][taps] in lanes
  /// of integer_kernels.h, behind them what more terms there are. In parallel.
  [[nodiscard]] AlignedFloats lanes(std::size_t terms, std::size_t taps,
                                    const ConstantWeights& weights) const;
  [[nodiscard]] std::size_t channels() const { return scale_.size(); }
  /// What one is worth in a sum of products, for each channel.
  [[nodiscard]] const float* scale() const { return scale_.data(); }
  /// Whether the offset of the values, or the base of their integers, adds something to the sums of each
  /// channel.
  [[nodiscard]] bool shifts() const { return offset_ != 0; }
  /// What it adds, for the weights that the steps were found for, [channels][terms]; empty: nothing. In
  /// parallel.
  [[nodiscard]] std::vector<float> shift(std::size_t terms, const ConstantWeights& weights) const;
  /// What the values become.
  [[nodiscard]] const LaneMap& values() const { return values_; }
  [[nodiscard]] LaneForm form() const { return values_.form; }
  /// A lane of values that are 0, if there were zeros around.
  [[nodiscard]] float zero() const;

 private:
  static std::shared_ptr<IntegerWeights> find_any(std::size_t channels, std::size_t terms,
                                                  const ConstantWeights& weights, const IntegerGrid& values,
                                                  Around around);
  void add_border(AlignedFloats& lanes, std::size_t terms, std::size_t taps) const;

  LaneMap values_;
  int border_value_ = 0;
  std::vector<std::int8_t> border_;      ///< weights of the border, [channels][taps]
  std::vector<float> weights_per_unit_;  ///< for each channel
  std::vector<float> scale_;
  double offset_ = 0;
};

/// Whether the SIMD target of the moment has products of bytes.
bool multiplies_bytes();

/// An epilogue, which has a bias for each channel or none, for sums of integers.
class IntegerEpilogue {
 public:
  /// `weights` are [channels][terms]. `steps`: what a step of the values is, of all channels or of each, in
  /// that for which the integers were found.
  IntegerEpilogue(const Epilogue& epilogue, const IntegerWeights& integers, std::size_t terms,
                  const ConstantWeights& weights, std::span<const float> steps = {});
  /// As long as this lives.
  [[nodiscard]] const Epilogue& get() const { return epilogue_; }

 private:
  Epilogue epilogue_;
  std::vector<float> scale_;  ///< where it is not that of the integers
  std::vector<float> bias_;
};

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_INTEGER_WEIGHTS_H_
