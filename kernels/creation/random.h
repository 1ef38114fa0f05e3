// Random numbers that do not depend on the machine: uniform ones, and classes drawn by their probabilities.
#ifndef KERNELS_CREATION_RANDOM_H_
#define KERNELS_CREATION_RANDOM_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

/// Whose numbers are made.
enum class RandomAlignment {
  tensorflow,  ///< Philox4x32-10, four words at each position of a counter
  pytorch,     ///< MT19937, seeded with the low half of the key; no counter and no position
};

/// What a sequence of random words is made from.
struct RandomSource {
  RandomAlignment alignment = RandomAlignment::tensorflow;
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  /// Of the first group of four words. Positions past 2^64 - 1 carry into the counter.
  std::uint64_t position = 0;
};

/// What is drawn. Halves are drawn with the bits and the rounding of their type, and stored as float.
enum class UniformType { f16, bf16, f32, f64, i32, i64 };

/// Positions that `count` numbers of `type` use up.
std::uint64_t positions_for(UniformType type, std::size_t count);

/// RandomUniform-8: `count` numbers in [low, high), bit for bit as OpenVINO's reference makes them (in
/// halves, rounding can reach `high`). `low`, `high` (one element each) and `out` are float for f16 and bf16,
/// else of the type. For integers low < high. Parallel for Philox.
void random_uniform(const RandomSource& source, UniformType type, const void* low, const void* high,
                    std::size_t count, void* out);

struct MultinomialParams {
  std::size_t batch = 0;
  std::size_t classes = 0;  ///< at least 1, unless there is nothing to draw
  std::size_t samples = 0;
  bool with_replacement = false;
  bool log_probs = false;
};

/// Elements of T that multinomial needs as scratch.
std::size_t multinomial_scratch(const MultinomialParams& params);

/// Multinomial-13: out [batch, samples], classes drawn by `probs` [batch, classes], which need not sum to 1:
/// the first class whose cumulated probability, in T, reaches a uniform number of type T. Numbers that
/// rounding lifts above all of them draw the last class that has a share, or 0. Without replacement, the
/// share of a drawn class is given to the others. T: float, double. Index: int32_t, int64_t.
template <class T, class Index>
void multinomial(const MultinomialParams& params, const RandomSource& source, const T* probs, Index* out,
                 T* scratch);

}  // namespace ir::kernels

#endif  // KERNELS_CREATION_RANDOM_H_
