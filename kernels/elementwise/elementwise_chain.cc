#include "kernels/elementwise/elementwise_chain.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/base/aligned_floats.h"
#include "kernels/elementwise/binary_rows.h"
#include "kernels/elementwise/scale_shift.h"

namespace ir::kernels {
namespace {

/// Results that stages wait for, of all blocks that a worker holds at a time: half of a first-level cache,
/// whose other half is for inputs and output.
constexpr std::size_t kBufferFloats = 4096;
/// With longer blocks, calls do not get noticeably cheaper.
constexpr std::size_t kLongestBlock = 2048;

std::vector<std::size_t> tensors_of(std::span<const Dims> inputs) {
  std::vector<std::size_t> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::ranges::any_of(inputs[i], [](std::size_t dim) { return dim != 1; })) tensors.push_back(i);
  }
  return tensors;
}

BroadcastPlan plan_of(Dims output, std::span<const Dims> inputs, std::span<const std::size_t> tensors) {
  std::vector<Dims> operands;
  for (const std::size_t tensor : tensors) operands.push_back(inputs[tensor]);
  return {output, operands};
}

std::size_t cost_of(const ElementwiseFunction& function) {
  if (const auto* unary = std::get_if<UnarySpec>(&function)) return cost_of(unary->op);
  const auto* binary = std::get_if<BinaryOp>(&function);
  return binary != nullptr ? cost_of(*binary) : kFakeQuantizeCost;
}

}  // namespace

std::size_t operand_count(const ElementwiseFunction& function) {
  return std::holds_alternative<BinaryOp>(function) ? 2 : 1;
}

ElementwiseChain::ElementwiseChain(std::span<const ElementwiseStage> stages, Dims output,
                                   std::span<const Dims> inputs, ChainLevels levels)
    : input_count_(inputs.size()),
      tensors_(tensors_of(inputs)),
      plan_(plan_of(output, inputs, tensors_)),
      levels_(std::move(levels)),
      is_sum_of_levels_(is_sum_of_levels(stages)) {
  // The last stage that reads a result frees its buffer, also for its own result.
  std::vector<std::size_t> last_reader(stages.size(), stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (std::size_t o = 0; o < operand_count(stages[s].function); ++o) {
      if (stages[s].operands[o] >= input_count_) last_reader[stages[s].operands[o] - input_count_] = s;
    }
  }
  std::vector<bool> in_use;
  std::vector<Extent> extents;
  for (std::size_t input = 0; input < input_count_; ++input) extents.push_back(extent_of(input));
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Step step{stages[s].function, stages[s].operands, 0, {}};
    if (s + 1 < stages.size() && last_reader[s] == s + 1) step.shift = shift_of(stages, s);
    if (step.shift && s + 2 < stages.size() && last_reader[s + 1] == s + 2) {
      const auto* next = std::get_if<UnarySpec>(&stages[s + 2].function);
      step.relu = next != nullptr && next->op == UnaryOp::relu;
    }
    Extent extent;
    for (std::size_t o = 0; o < operand_count(step.function); ++o) {
      const Extent& operand = extents[step.operands[o]];
      extent = {extent.rows || operand.rows, extent.columns || operand.columns};
    }
    extents.push_back(extent);
    // What is repeated must not be overwritten before its last repetition.
    std::vector<std::size_t> free_later;
    for (std::size_t o = 0; o < operand_count(step.function); ++o) {
      const std::size_t value = step.operands[o];
      if (value < input_count_) continue;
      const bool repeated = extents[value] != extent;
      const std::size_t buffer = steps_[value - input_count_].buffer;
      step.operands[o] = input_count_ + buffer;
      if (repeated) step.shift.reset();
      if (last_reader[value - input_count_] != s) continue;
      if (repeated) {
        free_later.push_back(buffer);
      } else {
        in_use[buffer] = false;
      }
    }
    step.buffer = static_cast<std::size_t>(std::ranges::find(in_use, false) - in_use.begin());
    if (step.buffer == in_use.size()) in_use.push_back(true);
    in_use[step.buffer] = true;
    for (const std::size_t buffer : free_later) in_use[buffer] = false;
    steps_.push_back(step);
    cost_ += cost_of(stages[s].function);
  }
  level_buffers_ = in_use.size();
  std::size_t buffers = level_buffers_;
  for (std::size_t input = 0; input < input_count_; ++input) {
    if (levels_of(input) == nullptr) continue;
    ++buffers;
    cost_ += kFakeQuantizeCost / 2;
  }
  // Pieces of a power of two: they begin on cache lines where the output does.
  cost_ = std::bit_ceil(cost_);
  block_ = std::min(kLongestBlock, kBufferFloats / buffers / kFloatsPerLine * kFloatsPerLine);
}

/// What the stage behind a product with an input adds, if that is an input, too.
std::optional<std::size_t> ElementwiseChain::shift_of(std::span<const ElementwiseStage> stages,
                                                      std::size_t product) const {
  const auto is = [&](std::size_t stage, BinaryOp op) {
    const auto* function = std::get_if<BinaryOp>(&stages[stage].function);
    return function != nullptr && *function == op;
  };
  if (!is(product, BinaryOp::multiply) || !is(product + 1, BinaryOp::add)) return std::nullopt;
  const auto& [a, b] = stages[product + 1].operands;
  const std::size_t other = a == input_count_ + product ? b : a;
  return other < input_count_ ? std::optional(other) : std::nullopt;
}

/// Two full inputs, the sum of which, perhaps no less than 0, is quantised.
bool ElementwiseChain::is_sum_of_levels(std::span<const ElementwiseStage> stages) const {
  if (input_count_ != 2 || tensors_.size() != 2 || stages.size() > 3 || !levels_.output) return false;
  for (const std::size_t input : tensors_) {
    if (levels_of(input) == nullptr || !is_full(input)) return false;
  }
  for (std::size_t s = 1; s < stages.size(); ++s) {
    if (stages[s].operands[0] != input_count_ + s - 1) return false;
  }
  const auto* sum = std::get_if<BinaryOp>(&stages.front().function);
  if (sum == nullptr || *sum != BinaryOp::add || stages[0].operands[0] == stages[0].operands[1]) return false;
  const auto& results = std::get<Quantization>(stages.back().function);
  if (!has_near_sums(results, *levels_of(tensors_[0]), *levels_of(tensors_[1]))) return false;
  if (stages.size() == 2) return true;
  // What is below the lowest level becomes that in any case.
  const auto* relu = std::get_if<UnarySpec>(&stages[1].function);
  return relu != nullptr && relu->op == UnaryOp::relu && results.in_low >= 0;
}

ElementwiseChain::Extent ElementwiseChain::extent_of(std::size_t input) const {
  const auto found = std::ranges::find(tensors_, input);
  if (found == tensors_.end()) return {};
  const auto tensor = static_cast<std::size_t>(found - tensors_.begin());
  const std::size_t inner = plan_.dims().size() - 1;
  return {inner > 0 && plan_.stride(tensor, inner - 1) != 0, plan_.stride(tensor, inner) != 0};
}

bool ElementwiseChain::is_full(std::size_t input) const {
  if ((levels_of(input) != nullptr) != levels_.output) return false;
  const auto found = std::ranges::find(tensors_, input);
  return found == tensors_.end() ? plan_.output_count() == 1
                                 : plan_.is_full(static_cast<std::size_t>(found - tensors_.begin()));
}

/// Elements that the stage computes: only as many as may differ from each other.
std::size_t ElementwiseChain::result_count(const Step& step, const Place* places, const Block& block) {
  const Place& a = places[step.operands[0]];
  if (operand_count(step.function) == 1) return block.count_of(a);
  const Place& b = places[step.operands[1]];
  return (a.step == 0 && b.step == 0 ? 1 : block.rows) * (a.scalar && b.scalar ? 1 : block.columns);
}

/// Writes the stage's result to `to`, and to `result`, which may be an operand's place, what it is.
void ElementwiseChain::apply(const Step& step, const Place* places, float* to, const Block& block,
                             Place& result) {
  const Place& a = places[step.operands[0]];
  bool scalar = a.scalar;
  std::size_t row_step = a.step;
  if (const auto* unary = std::get_if<UnarySpec>(&step.function)) {
    unary_span(*unary, a.row<float>(0), to, block.count_of(a));
  } else if (const auto* quantization = std::get_if<Quantization>(&step.function)) {
    fake_quantize_span(*quantization, a.row<float>(0), to, block.count_of(a));
  } else {
    const Place& b = places[step.operands[1]];
    const bool one_row = a.step == 0 && b.step == 0;
    scalar = a.scalar && b.scalar;
    const std::size_t columns = scalar ? 1 : block.columns;
    row_step = one_row ? 0 : columns;
    binary_rows(std::get<BinaryOp>(step.function), a, b, to, one_row ? 1 : block.rows, columns);
  }
  result.data = to;
  result.scalar = scalar;
  result.step = row_step;
}

/// The result of the step and those that join it in one pass, one element for each of the block; false where
/// the product has less.
bool ElementwiseChain::scale_and_shift(const Step& step, const Place* places, float* to, const Block& block) {
  const Place* x = &places[step.operands[0]];
  const Place* factor = &places[step.operands[1]];
  if (x->scalar) std::swap(x, factor);
  if (x->scalar || (block.rows > 1 && x->step == 0 && factor->step == 0)) return false;
  scale_shift_rows(*x, *factor, places[*step.shift], step.relu, to, block.rows, block.columns);
  return true;
}

void ElementwiseChain::run_block(Place* places, float* buffers, void* out, const Block& block) const {
  // Only the last stage writes to the output: until then, its memory may be an input.
  const std::size_t last = steps_.size() - 1;
  for (std::size_t s = 0; s < last; ++s) {
    const Step& step = steps_[s];
    if (step.shift) {
      const std::size_t joined = s + (step.relu ? 2 : 1);
      const std::size_t buffer = steps_[joined].buffer;
      float* const to = joined == last ? static_cast<float*>(out) + block.begin : buffers + buffer * block_;
      if (scale_and_shift(step, places, to, block)) {
        if (joined == last) return;
        places[input_count_ + buffer] = {to, false, block.columns};
        s = joined;
        continue;
      }
    }
    apply(step, places, buffers + step.buffer * block_, block, places[input_count_ + step.buffer]);
  }
  if (levels_.output) {
    const Quantization& quantization = std::get<Quantization>(steps_.back().function);
    const Place& x = places[steps_.back().operands[0]];
    auto* const to = static_cast<std::uint8_t*>(out) + block.begin;
    if (block.count_of(x) == block.count())
      return levels_of_span(quantization, x.row<float>(0), to, block.count());
    for (std::size_t row = 0; row < block.rows; ++row) {
      std::uint8_t* const to_row = to + row * block.columns;
      levels_of_span(quantization, x.row<float>(row), to_row, x.scalar ? 1 : block.columns);
      if (x.scalar) std::fill_n(to_row + 1, block.columns - 1, *to_row);
    }
    return;
  }
  float* const to = static_cast<float*>(out) + block.begin;
  const Step& step = steps_.back();
  const bool is_full = result_count(step, places, block) == block.count();
  Place& result = places[input_count_ + step.buffer];
  apply(step, places, is_full ? to : buffers + step.buffer * block_, block, result);
  if (is_full) return;
  for (std::size_t row = 0; row < block.rows; ++row) {
    const auto* const from = result.row<float>(row);
    if (result.scalar) {
      std::fill_n(to + row * block.columns, block.columns, *from);
    } else {
      std::copy_n(from, block.columns, to + row * block.columns);
    }
  }
}

/// Where the block's part of each input is: from `first_column` of `operands` on, or its values if these are
/// levels.
void ElementwiseChain::place_inputs(std::span<const void* const> inputs, const RowsOperand* operands,
                                    const Block& block, std::size_t first_column, float* level_buffer,
                                    Place* places) const {
  for (std::size_t i = 0, t = 0; i < input_count_; ++i) {
    const bool is_tensor = t < tensors_.size() && tensors_[t] == i;
    const RowsOperand number{inputs[i], true, 0};
    const RowsOperand& operand = is_tensor ? operands[t++] : number;
    const std::size_t from = operand.scalar ? 0 : first_column;
    if (const Quantization* const levels = levels_of(i)) {
      places[i] = {level_buffer, operand.scalar, operand.step};
      values_of_span(*levels, operand.row<std::uint8_t>(0) + from, level_buffer, block.count_of(places[i]));
      level_buffer += block_;
    } else {
      places[i] = {operand.row<float>(0) + from, operand.scalar, operand.step};
    }
  }
}

void ElementwiseChain::run(std::span<const void* const> inputs, void* out) const {
  std::array<BroadcastSource, kMaxTensors> sources;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const std::size_t size = levels_of(tensors_[t]) != nullptr ? sizeof(std::uint8_t) : sizeof(float);
    sources[t] = {inputs[tensors_[t]], size};
  }
  for_each_rows(plan_, std::span(sources).first(tensors_.size()), cost_, block_,
                [&](const RowsOperand* operands, std::size_t begin, std::size_t rows, std::size_t columns) {
                  if (is_sum_of_levels_) {
                    const auto span_of = [&](std::size_t input) {
                      return LevelSpan{operands[input].row<std::uint8_t>(0), levels_of(input)};
                    };
                    return levels_of_sum_span(std::get<Quantization>(steps_.back().function), span_of(0),
                                              span_of(1), static_cast<std::uint8_t*>(out) + begin, columns);
                  }
                  alignas(kCacheLine) std::array<float, kBufferFloats> buffers;  // written before it is read
                  std::array<Place, kMaxInputs + kMaxStages> places;             // likewise
                  // Of several rows all columns fit into a block.
                  const std::size_t most = rows > 1 ? columns : block_;
                  for (std::size_t first = 0; first < columns; first += most) {
                    const Block block{begin + first, rows, std::min(most, columns - first)};
                    place_inputs(inputs, operands, block, first, buffers.data() + level_buffers_ * block_,
                                 places.data());
                    run_block(places.data(), buffers.data(), out, block);
                  }
                });
}

}  // namespace ir::kernels
