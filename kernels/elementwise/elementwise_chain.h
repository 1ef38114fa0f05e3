// Element-wise functions one after the other, in one pass over memory.
#ifndef KERNELS_ELEMENTWISE_ELEMENTWISE_CHAIN_H_
#define KERNELS_ELEMENTWISE_ELEMENTWISE_CHAIN_H_

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "kernels/base/broadcast_rows.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/fake_quantize.h"
#include "kernels/elementwise/unary.h"

namespace ir::kernels {

using ElementwiseFunction = std::variant<UnarySpec, Quantization, BinaryOp>;

/// How many values the function takes: one or two.
std::size_t operand_count(const ElementwiseFunction& function);

/// A function of values of a chain. Values are numbered: the chain's inputs, then the results of its stages.
struct ElementwiseStage {
  ElementwiseFunction function;
  /// Values before this stage's own; a function of one value takes the first.
  std::array<std::size_t, 2> operands{};
};

/// Which tensors of a chain are bytes in the place of floats: levels of a quantisation that has_bytes().
struct ChainLevels {
  /// For each input; empty: all of them are floats.
  std::vector<std::optional<Quantization>> inputs;
  /// The output: the last stage is a quantisation, of which it gets the levels.
  bool output = false;
};

/// Stages over f32 tensors that spread over one output by the NumPy rule. All stages run over a block that
/// stays in the first-level cache before the next block begins; what lies between them is never a whole
/// tensor. Every element gets the bits that unary(), binary() and fake_quantize() would give it.
class ElementwiseChain {
 public:
  static constexpr std::size_t kMaxInputs = 16;
  static constexpr std::size_t kMaxStages = 32;
  /// Inputs with more than one element.
  static constexpr std::size_t kMaxTensors = BroadcastPlan::kMaxOperands;

  /// The last stage's result is the output, of shape `output`; `inputs` are the shapes of the inputs, which
  /// the caller has matched with it. At least one stage, and no more of anything than the constants say.
  ElementwiseChain(std::span<const ElementwiseStage> stages, Dims output, std::span<const Dims> inputs,
                   ChainLevels levels = {});

  /// Whether the input has one element for each of the output's, and as large ones: the output may then be
  /// its memory.
  [[nodiscard]] bool is_full(std::size_t input) const;

  /// `inputs` point to dense tensors of f32, or levels. In parallel; `out` may be one full input, if no other
  /// input overlaps it.
  void run(std::span<const void* const> inputs, void* out) const;

 private:
  struct Step {
    ElementwiseFunction function;
    std::array<std::size_t, 2> operands{};  // places: inputs, then buffers
    std::size_t buffer = 0;                 // that takes the result
    // Of a product with an input: the input that the next step, the only one that reads it, adds.
    std::optional<std::size_t> shift;
    bool relu = false;  // and it is followed by a ReLU, the only one that reads the sum
  };

  using Place = RowsOperand;

  /// A part of the output that lies in one piece: rows, or a part of one.
  struct Block {
    std::size_t begin;
    std::size_t rows;
    std::size_t columns;

    [[nodiscard]] std::size_t count() const { return rows * columns; }
    /// How many elements a place has: not one for each of the block's where they are repeated.
    [[nodiscard]] std::size_t count_of(const Place& place) const {
      return (place.step == 0 ? 1 : rows) * (place.scalar ? 1 : columns);
    }
  };

  /// Dims of the plan's last two along which a value varies.
  struct Extent {
    bool rows = false;
    bool columns = false;

    friend bool operator==(const Extent&, const Extent&) = default;
  };

  [[nodiscard]] Extent extent_of(std::size_t input) const;
  static std::size_t result_count(const Step& step, const Place* places, const Block& block);
  static void apply(const Step& step, const Place* places, float* to, const Block& block, Place& result);
  static bool scale_and_shift(const Step& step, const Place* places, float* to, const Block& block);
  void place_inputs(std::span<const void* const> inputs, const RowsOperand* operands, const Block& block,
                    std::size_t first_column, float* level_buffer, Place* places) const;
  void run_block(Place* places, float* buffers, void* out, const Block& block) const;
  [[nodiscard]] bool is_sum_of_levels(std::span<const ElementwiseStage> stages) const;
  [[nodiscard]] std::optional<std::size_t> shift_of(std::span<const ElementwiseStage> stages,
                                                    std::size_t product) const;
  [[nodiscard]] const Quantization* levels_of(std::size_t input) const {
    return levels_.inputs.empty() || !levels_.inputs[input] ? nullptr : &*levels_.inputs[input];
  }

  std::vector<Step> steps_;
  std::size_t input_count_;
  std::vector<std::size_t> tensors_;  // inputs with more than one element; operands of the plan
  BroadcastPlan plan_;
  ChainLevels levels_;
  bool is_sum_of_levels_;          // see levels_of_sum_span
  std::size_t level_buffers_ = 0;  // the first one for inputs that are levels, in their order
  std::size_t cost_ = 0;           // per element
  std::size_t block_ = 0;          // elements
};

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_ELEMENTWISE_CHAIN_H_
