// Random numbers.
#ifndef IR_RUNTIME_OPS_RANDOM_H_
#define IR_RUNTIME_OPS_RANDOM_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// Whose generator RandomUniform uses.
enum class RandomAlignment : int {
  tensorflow,  ///< Philox4x32-10
  pytorch,     ///< MT19937; op_seed is not used
};
inline constexpr std::array kRandomAlignmentSpellings{
    Spelling{static_cast<int>(RandomAlignment::tensorflow), "tensorflow"},
    Spelling{static_cast<int>(RandomAlignment::pytorch), "pytorch"},
};
constexpr std::span<const Spelling> spellings_of(RandomAlignment) { return kRandomAlignmentSpellings; }

namespace v8 {

/// Numbers in [min, max). Inputs: the output's shape, i32 or i64 [rank]; min and max, one element each, of
/// the output's type.
///
/// With a seed, numbers are those of OpenVINO: the first run of a compiled model gives the first numbers of
/// the sequence, the next run goes on after them (pytorch: every run gives the same). Without, when both
/// seeds are 0, each run is different.
struct RandomUniform {
  static constexpr OpInfo info{.type = "RandomUniform",
                               .first_opset = 8,
                               .family = "generation",
                               .summary = "Random numbers, evenly distributed between two limits.",
                               .stateful = true};
  /// Halves stay what they are when a model is computed in f32: numbers are drawn with the bits of this type.
  ElementType output_type = ElementType::f32;
  std::int64_t op_seed = 0;
  std::int64_t global_seed = 0;
  RandomAlignment alignment = RandomAlignment::tensorflow;

  static constexpr std::array kOutputTypes{
      Spelling{static_cast<int>(ElementType::f32), "f32"},
      Spelling{static_cast<int>(ElementType::f16), "f16"},
      Spelling{static_cast<int>(ElementType::bf16), "bf16"},
      Spelling{static_cast<int>(ElementType::f64), "f64"},
      Spelling{static_cast<int>(ElementType::i32), "i32"},
      Spelling{static_cast<int>(ElementType::i64), "i64"},
  };
  static constexpr auto fields() {
    // Not a field of the kind element_type, which passes may widen.
    auto type = required<&RandomUniform::output_type>("output_type", "Type of the numbers.");
    type.kind = FieldKind::enumeration;
    type.spellings = kOutputTypes;
    return std::array{
        type,
        optional<&RandomUniform::op_seed>("op_seed", "Counter that the sequence starts from."),
        optional<&RandomUniform::global_seed>("global_seed", "Key of the sequence."),
        optional<&RandomUniform::alignment>("alignment", "Whose numbers are made."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8

namespace v13 {

/// Indices of classes, drawn by their probabilities. Inputs: probabilities [batch, classes] of a
/// floating-point type, which are scaled to sum to 1; the number of samples, one integer. Output: [batch,
/// samples]. With a seed, all runs give the same; without, when both seeds are 0, each run is different.
struct Multinomial {
  static constexpr OpInfo info{.type = "Multinomial",
                               .first_opset = 13,
                               .family = "generation",
                               .summary = "Classes drawn by their probabilities.",
                               .stateful = true};
  ElementType convert_type = ElementType::i64;
  bool with_replacement = false;
  bool log_probs = false;
  std::int64_t global_seed = 0;
  std::int64_t op_seed = 0;
  static constexpr auto fields() {
    return std::array{
        required<&Multinomial::convert_type>("convert_type", "Type of the indices: i32 or i64."),
        required<&Multinomial::with_replacement>("with_replacement",
                                                 "Whether a class can be drawn more than once."),
        required<&Multinomial::log_probs>("log_probs", "Whether input 0 holds logarithms of probabilities."),
        optional<&Multinomial::global_seed>("global_seed", "Key of the random numbers."),
        optional<&Multinomial::op_seed>("op_seed", "Counter that the random numbers start from."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v13
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_RANDOM_H_
