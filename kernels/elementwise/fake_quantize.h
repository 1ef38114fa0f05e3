// FakeQuantize-1: simulated quantisation in f32.
#ifndef KERNELS_ELEMENTWISE_FAKE_QUANTIZE_H_
#define KERNELS_ELEMENTWISE_FAKE_QUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/broadcast.h"

namespace ir::kernels {

/// The four limits, each with its own shape.
struct FakeQuantizeLimits {
  const float* in_low = nullptr;
  const float* in_high = nullptr;
  const float* out_low = nullptr;
  const float* out_high = nullptr;
};

/// Over `plan`, made from {x, in_low, in_high, out_low, out_high} with the dims of x as output:
/// out_low where x <= min(in_low, in_high), out_high where x > max(in_low, in_high), else
/// round((x - in_low) / (in_high - in_low) * (levels - 1)) / (levels - 1) * (out_high - out_low) + out_low
/// with halves to even. Every result has the bits that f32 operations in this order give, on all SIMD
/// targets. levels >= 2. NaN gives NaN. `x == out` is allowed. Parallel.
void fake_quantize(const BroadcastPlan& plan, const float* x, const FakeQuantizeLimits& limits,
                   std::size_t levels, float* out);

/// As kernels::cost_of for other functions.
inline constexpr std::size_t kFakeQuantizeCost = 4;

/// The same limits for all elements, and what follows from them for a loop without divisions
/// (fake_quantize.cc says why its results are those of the definition).
struct Quantization {
  Quantization(float low, float high, float result_low, float result_high, std::size_t levels);

  /// Numbers of which there may be many among what is quantised, instead of those that activations end at.
  void expect(std::span<const float> numbers);
  /// Whether levels are bytes, the lowest one of them 0.
  [[nodiscard]] bool has_bytes() const;

  float in_low;
  float in_high;
  float out_low;
  float out_high;
  float steps;  ///< levels - 1
  float in_range;
  float out_range;
  float scale;         ///< steps per unit of x
  float near_tie;      ///< a position so far from its level is close to a tie
  float inverse_high;  ///< 1 / steps in two parts
  float inverse_low;
  bool without_divisions;  ///< whether that loop serves
  /// Whether one product finds the level, but for values that are as close to a tie as roundings are; and
  /// these are not among the numbers of which there may be many.
  bool by_one_product;
};

/// Of what has channels: the same for all of them, or one for each. Empty: none.
using ChannelQuantization = std::span<const Quantization>;

inline const Quantization& of_channel(ChannelQuantization quantization, std::size_t channel) {
  return quantization[quantization.size() == 1 ? 0 : channel];
}

/// fake_quantize on the calling thread: for pieces of data inside of other kernels. `in == out` is allowed.
void fake_quantize_span(const Quantization& quantization, const float* in, float* out, std::size_t count);

/// The same in half of the time, but for roundings: of what is as close to a tie as these, the level may be
/// the other one (see by_one_product).
void quantize_nearly_span(const Quantization& quantization, const float* in, float* out, std::size_t count);

/// Both halves of that, where has_bytes(): the level of each value, 0 for a NaN; and its result. `out` is not
/// the memory of `in`.
void levels_of_span(const Quantization& quantization, const float* in, std::uint8_t* out, std::size_t count);
void values_of_span(const Quantization& quantization, const std::uint8_t* in, float* out, std::size_t count);

/// Some rows of floats.
struct FloatRows {
  const float* first;
  std::size_t stride;
  std::size_t count;
  std::size_t columns;
};
/// levels_of_span for each row, to rows `out_stride` apart.
void levels_of_rows(const Quantization& quantization, const FloatRows& rows, std::uint8_t* out,
                    std::size_t out_stride);

/// Levels of a quantisation that has_bytes().
struct LevelSpan {
  const std::uint8_t* levels;
  const Quantization* quantization;
};

/// Whether no sum of two such results is too many steps away from the levels of `quantization` for
/// levels_of_sum_span.
bool has_near_sums(const Quantization& quantization, const Quantization& a, const Quantization& b);

/// The levels of the sums of what two spans are levels of, as levels_of_span and values_of_span give them but
/// for roundings, where has_near_sums(). `out` may be one of the spans.
void levels_of_sum_span(const Quantization& quantization, const LevelSpan& a, const LevelSpan& b,
                        std::uint8_t* out, std::size_t count);

/// What the spans and rows above become, but for fake_quantize_span, of one SIMD target.
struct QuantizationHalves {
  void (*both)(const Quantization& quantization, const float* in, float* out, std::size_t count);
  void (*levels_of)(const Quantization& quantization, const FloatRows& rows, std::uint8_t* out,
                    std::size_t out_stride);
  void (*values_of)(const Quantization& quantization, const std::uint8_t* in, float* out, std::size_t count);
  void (*levels_of_sum)(const Quantization& quantization, const LevelSpan& a, const LevelSpan& b,
                        std::uint8_t* out, std::size_t count);
};

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_FAKE_QUANTIZE_H_
