#include "kernels/elementwise/elementwise_chain.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "kernels/base/aligned_floats.h"
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
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Step step{stages[s].function, stages[s].operands, 0, {}};
    if (s + 1 < stages.size() && last_reader[s] == s + 1) step.shift = shift_of(stages, s);
    if (step.shift && s + 2 < stages.size() && last_reader[s + 1] == s + 2) {
      const auto* next = std::get_if<UnarySpec>(&stages[s + 2].function);
      step.relu = next != nullptr && next->op == UnaryOp::relu;
    }
    for (std::size_t o = 0; o < operand_count(step.function); ++o) {
      if (step.operands[o] < input_count_) continue;
      const std::size_t result = step.operands[o] - input_count_;
      const std::size_t buffer = steps_[result].buffer;
      step.operands[o] = input_count_ + buffer;
      if (last_reader[result] == s) in_use[buffer] = false;
    }
    step.buffer = static_cast<std::size_t>(std::ranges::find(in_use, false) - in_use.begin());
    if (step.buffer == in_use.size()) in_use.push_back(true);
    in_use[step.buffer] = true;
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
  is_scale_shift_ = is_scale_shift();
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

/// Nothing but a product, a sum and perhaps a ReLU, of floats, where what is multiplied is not one number
/// along rows.
bool ElementwiseChain::is_scale_shift() const {
  const Step& product = steps_.front();
  if (!product.shift || steps_.size() != (product.relu ? 3 : 2)) return false;
  for (std::size_t input = 0; input < input_count_; ++input) {
    if (levels_of(input) != nullptr) return false;
  }
  return !levels_.output &&
         (varies_along_rows(product.operands[0]) || varies_along_rows(product.operands[1]));
}

bool ElementwiseChain::varies_along_rows(std::size_t input) const {
  const auto found = std::ranges::find(tensors_, input);
  return found != tensors_.end() &&
         plan_.stride(static_cast<std::size_t>(found - tensors_.begin()), plan_.dims().size() - 1) != 0;
}

bool ElementwiseChain::is_full(std::size_t input) const {
  if ((levels_of(input) != nullptr) != levels_.output) return false;
  const auto found = std::ranges::find(tensors_, input);
  return found == tensors_.end() ? plan_.output_count() == 1
                                 : plan_.is_full(static_cast<std::size_t>(found - tensors_.begin()));
}

/// The stage's result, written to `to`; a scalar, of which one element is written, when the operands are.
ElementwiseChain::Place ElementwiseChain::apply(const Step& step, const Place* places, float* to,
                                                std::size_t count) {
  const Place a = places[step.operands[0]];
  const std::size_t a_count = a.scalar ? 1 : count;
  if (const auto* unary = std::get_if<UnarySpec>(&step.function)) {
    unary_span(*unary, a.data, to, a_count);
    return {to, a.scalar};
  }
  if (const auto* quantization = std::get_if<Quantization>(&step.function)) {
    fake_quantize_span(*quantization, a.data, to, a_count);
    return {to, a.scalar};
  }
  const Place b = places[step.operands[1]];
  const bool scalar = a.scalar && b.scalar;
  binary_span(std::get<BinaryOp>(step.function), a.operand(), b.operand(), to, scalar ? 1 : count);
  return {to, scalar};
}

/// The result of the step and those that join it in one pass; false where all that is multiplied is one
/// number.
bool ElementwiseChain::scale_and_shift(const Step& step, const Place* places, float* to, std::size_t count) {
  Place x = places[step.operands[0]];
  Place factor = places[step.operands[1]];
  if (x.scalar) std::swap(x, factor);
  if (x.scalar) return false;
  const auto row = [](const Place& place) { return RowsOperand{place.data, place.scalar, 0}; };
  scale_shift_rows(row(x), row(factor), row(places[*step.shift]), step.relu, to, 1, count);
  return true;
}

/// Elements [begin, begin + count) of the output.
void ElementwiseChain::run_block(Place* places, float* buffers, void* out, std::size_t begin,
                                 std::size_t count) const {
  // Only the last stage writes to the output: until then, its memory may be an input.
  const std::size_t last = steps_.size() - 1;
  for (std::size_t s = 0; s < last; ++s) {
    const Step& step = steps_[s];
    if (step.shift) {
      const std::size_t joined = s + (step.relu ? 2 : 1);
      const std::size_t buffer = steps_[joined].buffer;
      float* const to = joined == last ? static_cast<float*>(out) + begin : buffers + buffer * block_;
      if (scale_and_shift(step, places, to, count)) {
        if (joined == last) return;
        places[input_count_ + buffer] = {to, false};
        s = joined;
        continue;
      }
    }
    places[input_count_ + step.buffer] = apply(step, places, buffers + step.buffer * block_, count);
  }
  if (levels_.output) {
    const Place& x = places[steps_.back().operands[0]];
    auto* const to = static_cast<std::uint8_t*>(out) + begin;
    levels_of_span(std::get<Quantization>(steps_.back().function), x.data, to, x.scalar ? 1 : count);
    if (x.scalar) std::fill_n(to + 1, count - 1, *to);
    return;
  }
  float* const to = static_cast<float*>(out) + begin;
  if (apply(steps_.back(), places, to, count).scalar) std::fill_n(to + 1, count - 1, *to);
}

void ElementwiseChain::run_scale_shift(std::span<const void* const> inputs,
                                       std::span<const BroadcastSource> sources, float* out) const {
  const Step& product = steps_.front();
  for_each_rows(plan_, sources, cost_,
                [&](const RowsOperand* operands, std::size_t begin, std::size_t rows, std::size_t columns) {
                  const auto operand = [&](std::size_t input) {
                    const auto found = std::ranges::find(tensors_, input);
                    return found == tensors_.end() ? RowsOperand{inputs[input], true, 0}
                                                   : operands[found - tensors_.begin()];
                  };
                  RowsOperand x = operand(product.operands[0]);
                  RowsOperand factor = operand(product.operands[1]);
                  if (x.scalar) std::swap(x, factor);
                  scale_shift_rows(x, factor, operand(*product.shift), product.relu, out + begin, rows,
                                   columns);
                });
}

void ElementwiseChain::run(std::span<const void* const> inputs, void* out) const {
  std::array<BroadcastSource, kMaxTensors> sources;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const std::size_t size = levels_of(tensors_[t]) != nullptr ? sizeof(std::uint8_t) : sizeof(float);
    sources[t] = {inputs[tensors_[t]], size};
  }
  if (is_scale_shift_)
    return run_scale_shift(inputs, std::span(sources).first(tensors_.size()), static_cast<float*>(out));
  for_each_span(
      plan_, std::span(sources).first(tensors_.size()), cost_,
      [&](const SpanOperand* operands, std::size_t begin, std::size_t count) {
        if (is_sum_of_levels_) {
          const auto span_of = [&](std::size_t input) {
            return LevelSpan{operands[input].as<std::uint8_t>(), levels_of(input)};
          };
          return levels_of_sum_span(std::get<Quantization>(steps_.back().function), span_of(0), span_of(1),
                                    static_cast<std::uint8_t*>(out) + begin, count);
        }
        alignas(kCacheLine) std::array<float, kBufferFloats> buffers;  // written before it is read
        std::array<Place, kMaxInputs + kMaxStages> places;             // likewise
        for (std::size_t first = 0; first < count; first += block_) {
          const std::size_t size = std::min(block_, count - first);
          float* buffer = buffers.data() + level_buffers_ * block_;
          const auto place = [&](std::size_t input, const SpanOperand& operand) {
            const std::size_t from = operand.scalar ? 0 : first;
            if (const Quantization* const levels = levels_of(input)) {
              values_of_span(*levels, operand.as<std::uint8_t>() + from, buffer, operand.scalar ? 1 : size);
              places[input] = {buffer, operand.scalar};
              buffer += block_;
            } else {
              places[input] = {operand.as<float>() + from, operand.scalar};
            }
          };
          for (std::size_t i = 0, t = 0; i < input_count_; ++i) {
            if (t < tensors_.size() && tensors_[t] == i) {
              place(i, operands[t++]);
            } else {
              place(i, {inputs[i], true});
            }
          }
          run_block(places.data(), buffers.data(), out, begin + first, size);
        }
      },
      steps_.size());
}

}  // namespace ir::kernels
