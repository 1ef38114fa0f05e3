// Normalisations: by given statistics (BatchNormInference) and by the input's own.
#ifndef IR_RUNTIME_OPS_NORMALIZATION_H_
#define IR_RUNTIME_OPS_NORMALIZATION_H_

#include <array>

#include "ir_runtime/ops/attributes.h"

namespace ir::op {

// Data and parameters of all classes here are of one floating-point type, and so is the output, which has the
// data's shape.

/// How eps keeps a norm away from 0: sqrt(sum + eps) or sqrt(max(sum, eps)).
enum class NormalizeEpsMode : int { add, max };
inline constexpr std::array kNormalizeEpsModeSpellings{
    Spelling{static_cast<int>(NormalizeEpsMode::add), "add"},
    Spelling{static_cast<int>(NormalizeEpsMode::max), "max"},
};
constexpr std::span<const Spelling> spellings_of(NormalizeEpsMode) { return kNormalizeEpsModeSpellings; }

/// Where eps joins the deviation: sqrt(variance + eps) or sqrt(variance) + eps.
enum class MvnEpsMode : int { inside_sqrt, outside_sqrt };
inline constexpr std::array kMvnEpsModeSpellings{
    Spelling{static_cast<int>(MvnEpsMode::inside_sqrt), "INSIDE_SQRT"},
    Spelling{static_cast<int>(MvnEpsMode::outside_sqrt), "OUTSIDE_SQRT"},
};
constexpr std::span<const Spelling> spellings_of(MvnEpsMode) { return kMvnEpsModeSpellings; }

namespace v0 {

/// (data - mean) / sqrt(variance + epsilon) * gamma + beta by channel. Inputs: gamma [C], beta [C],
/// data [N, C, ...], mean [C], variance [C].
struct BatchNormInference {
  static constexpr OpInfo info{.type = "BatchNormInference",
                               .last_opset = 4,
                               .family = "normalization",
                               .summary = "Normalisation by given mean and variance of each channel."};
  double epsilon = 0;
  static constexpr auto fields() {
    return std::array{
        required<&BatchNormInference::epsilon>("epsilon", "Added to the variance.", at_least(0)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// data / sqrt(sum of squares over channels + bias). Data [N, C, ...].
struct GRN {
  static constexpr OpInfo info{
      .type = "GRN", .family = "normalization", .summary = "Global response normalisation over channels."};
  double bias = 0;
  static constexpr auto fields() {
    return std::array{required<&GRN::bias>("bias", "Added to the sum of squares.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// data / (bias + alpha / size^(number of axes) * sum of squares)^beta, the sum being over a window of `size`
/// elements along each axis around the element, cut at the borders. Inputs: data, axes [n] of integers.
struct LRN {
  static constexpr OpInfo info{
      .type = "LRN", .family = "normalization", .summary = "Local response normalisation over windows."};
  double alpha = 0;
  double beta = 0;
  double bias = 0;
  std::int64_t size = 1;
  static constexpr auto fields() {
    return std::array{
        required<&LRN::alpha>("alpha", "Factor of the sum of squares."),
        required<&LRN::beta>("beta", "Exponent of the divisor."),
        required<&LRN::bias>("bias", "Added to the scaled sum."),
        required<&LRN::size>("size", "Size of the window along each axis.", at_least(1)),
        ignored("region", "Written by old converters; the axes say it."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// (data - mean) [/ sqrt(variance + eps)] over reduction_axes or, when these are not given, over all axes
/// from 1 (across_channels) or 2 on.
struct MVN {
  static constexpr OpInfo info{.type = "MVN",
                               .first_opset = 2,
                               .last_opset = 5,
                               .family = "normalization",
                               .summary = "Normalisation to mean 0 and variance 1."};
  double eps = 1e-9;
  bool across_channels = true;
  bool normalize_variance = true;
  std::vector<std::int64_t> reduction_axes;
  static constexpr auto fields() {
    return std::array{
        optional<&MVN::eps>("eps", "Added to the variance."),
        optional<&MVN::across_channels>("across_channels", "Whether channels share mean and variance."),
        optional<&MVN::normalize_variance>("normalize_variance", "Whether to divide by the deviation."),
        optional<&MVN::reduction_axes>("reduction_axes", "Axes that share mean and variance."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// data / sqrt(sum of squares over axes, kept away from 0 by eps). Inputs: data, axes (scalar or vector of
/// integers). Without axes the result is 1 for every element but 0, whatever eps.
struct NormalizeL2 {
  static constexpr OpInfo info{.type = "NormalizeL2",
                               .family = "normalization",
                               .summary = "Division by the Euclidean norm over axes."};
  double eps = 0;
  NormalizeEpsMode eps_mode = NormalizeEpsMode::add;
  static constexpr auto fields() {
    return std::array{
        required<&NormalizeL2::eps>("eps", "Keeps the norm away from 0."),
        required<&NormalizeL2::eps_mode>("eps_mode", "How eps does that."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v5 {

/// As v0::BatchNormInference. Inputs: data [N, C, ...], gamma [C], beta [C], mean [C], variance [C].
struct BatchNormInference {
  static constexpr OpInfo info{.type = "BatchNormInference",
                               .first_opset = 5,
                               .family = "normalization",
                               .summary = "Normalisation by given mean and variance of each channel."};
  double epsilon = 0;
  static constexpr auto fields() {
    return std::array{
        required<&BatchNormInference::epsilon>("epsilon", "Added to the variance.", at_least(0)),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v5

namespace v6 {

/// (data - mean) [/ deviation] over axes. Inputs: data, axes (scalar or vector of integers; one that is named
/// twice counts once).
struct MVN {
  static constexpr OpInfo info{.type = "MVN",
                               .first_opset = 6,
                               .family = "normalization",
                               .summary = "Normalisation to mean 0 and variance 1 over axes."};
  bool normalize_variance = true;
  double eps = 1e-9;
  MvnEpsMode eps_mode = MvnEpsMode::inside_sqrt;
  static constexpr auto fields() {
    return std::array{
        required<&MVN::normalize_variance>("normalize_variance", "Whether to divide by the deviation."),
        required<&MVN::eps>("eps", "Keeps the deviation away from 0."),
        optional<&MVN::eps_mode>("eps_mode", "Where eps is added."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v6

namespace v12 {

/// (data - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance being those of each group of
/// adjacent channels. Inputs: data [N, C, ...], scale [C], bias [C].
struct GroupNormalization {
  static constexpr OpInfo info{.type = "GroupNormalization",
                               .first_opset = 12,
                               .family = "normalization",
                               .summary = "Normalisation of groups of channels."};
  std::int64_t num_groups = 1;
  double epsilon = 0;
  static constexpr auto fields() {
    return std::array{
        required<&GroupNormalization::num_groups>("num_groups", "Number of groups; divides C.", at_least(1)),
        required<&GroupNormalization::epsilon>("epsilon", "Added to the variance."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v12
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_NORMALIZATION_H_
