#include "kernels/sequence/rnn_gemms.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_narrow.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

std::size_t threads() { return static_cast<std::size_t>(thread_slots()); }
std::size_t floats_of(std::size_t bytes) { return divide_up(bytes, sizeof(float)); }

/// Rows that lie one behind the other, by a matrix [columns, depth].
GemmParams rows_by(const RnnParams& params, std::size_t rows, std::size_t columns, std::size_t depth) {
  GemmParams product;
  product.m = rows;
  product.n = columns;
  product.k = depth;
  product.transpose_b = true;
  product.constant = GemmConstant::b;
  product.accurate = params.accurate;
  product.whole_floats = params.whole_floats;
  product.max_threads = threads();
  return product;
}

/// Of gates whose products of states are one: all but a GRU's new one.
std::size_t state_columns(const RnnParams& params) {
  return (params.cell == RnnCell::gru ? 2 : params.gates()) * params.hidden_size;
}

/// Whether that algorithm is expected to be so many times as fast as all others.
bool is_for(std::string_view algorithm, const GemmParams& product, double times = 1) {
  const std::vector<GemmAlgorithm> algorithms = gemm_algorithms(product);
  return algorithms.size() > 1 && algorithms[0].name == algorithm &&
         algorithms[0].cycles * times <= algorithms[1].cycles;
}

std::size_t block_rows(const RnnSteps& steps) { return steps.block_steps() * steps.params().batch; }

}  // namespace

RnnGemms::RnnGemms(const RnnSteps& steps, const Distance& distance) : batch_(steps.params().batch) {
  const RnnParams& params = steps.params();
  const std::size_t hidden = params.hidden_size;
  // Gates in another order would have to be copied first; no version but 0 has one.
  // Without steps, nothing bounds what a block of inputs would take.
  const bool serves = steps.is_in_order() && params.input_size != 0 && params.steps != 0;
  const GemmParams states = rows_by(params, batch_, state_columns(params), hidden);
  const GemmParams inputs = rows_by(params, block_rows(steps), steps.gate_width(), params.input_size);
  // What a cache holds is read as fast with all of its bits. Read again by every step, it is in the last one
  // mostly, where more than two rows gain nothing.
  const bool narrows = serves && distance.is_far && batch_ <= 2 && is_for(kNarrow, states);
  // Vectors take half as long where two threads share the rows that are one tile.
  states_in_tiles_ = serves && is_for(kMatrixTiles, states, distance.is_far ? 1 : 2);
  takes_states_ = states_in_tiles_ || narrows;
  takes_inputs_ = takes_states_ || (serves && is_for(kMatrixTiles, inputs));
  if (!takes_states_) return;
  constexpr std::size_t kSize = MatrixTiles::kSize;
  const std::size_t rows = divide_up(batch_ * params.directions(), threads());
  rows_per_task_ =
      distance.is_far ? batch_ : std::clamp(divide_up(rows, kSize) * kSize, std::min(kSize, batch_), batch_);
  // Of narrow weights, both directions may be near.
  if (distance.is_far && (params.directions() < threads() || (states_in_tiles_ && !distance.is_share_far)))
    state_threads_ = threads();
}

std::size_t RnnGemms::tasks_per_direction() const { return batch_ / rows_per_task_; }

RnnGemms::StateProduct RnnGemms::states_product(const RnnParams& params, const float* matrix,
                                                std::size_t columns, const float* bias) const {
  Epilogue epilogue;
  epilogue.bias = bias;
  epilogue.residual = bias == nullptr;
  const auto of_rows = [&](std::size_t rows) {
    GemmParams product = rows_by(params, rows, columns, params.hidden_size);
    product.max_threads = state_threads_;
    return create_gemm(product, matrix, epilogue, states_in_tiles_ ? kMatrixTiles : std::string_view{});
  };
  StateProduct product;
  product.last = of_rows(batch_ % rows_per_task_ + rows_per_task_);
  if (tasks_per_direction() > 1) product.most = of_rows(rows_per_task_);
  return product;
}

void RnnGemms::pack(const RnnSteps& steps, std::size_t direction, const float* w, const float* r,
                    const float* bias) {
  if (!takes_inputs_) return;
  const RnnParams& params = steps.params();
  const std::size_t hidden = params.hidden_size;
  Direction& packed = directions_[direction];
  const auto of_inputs = [&](std::size_t first, std::size_t columns) {
    Epilogue epilogue;
    epilogue.bias = bias + first;
    return create_gemm(rows_by(params, block_rows(steps), columns, params.input_size),
                       w + first * params.input_size, epilogue);
  };
  packed.inputs[0] = of_inputs(0, steps.gate_stride());
  if (steps.parts_new_gate()) packed.inputs[1] = of_inputs(steps.gate_stride(), hidden);
  if (!takes_states_) return;

  const std::size_t columns = state_columns(params);
  packed.states = states_product(params, r, columns, nullptr);
  if (params.cell == RnnCell::gru) {
    packed.new_states = states_product(params, r + columns * hidden, hidden,
                                       params.linear_before_reset ? bias + 3 * hidden : nullptr);
  }
  for (const StateProduct* product : {&packed.states, &packed.new_states}) {
    for (const auto& rows : {&product->most, &product->last}) {
      if (*rows != nullptr) task_floats_ = std::max(task_floats_, floats_of((*rows)->scratch_bytes()));
    }
  }
}

std::size_t RnnGemms::scratch_floats(const RnnSteps& steps) const {
  std::size_t of_inputs = 0;
  for (const Direction& direction : directions_) {
    for (const auto& product : direction.inputs) {
      if (product != nullptr)
        of_inputs = std::max(of_inputs, steps.inputs_floats() + floats_of(product->scratch_bytes()));
    }
  }
  return std::max(of_inputs, steps.params().directions() * tasks_per_direction() * task_floats_);
}

void RnnGemms::multiply_inputs(const RnnSteps& steps, const RnnTensors& tensors, std::size_t first_step,
                               std::size_t count, const RnnSteps::State& state) const {
  auto* const scratch = reinterpret_cast<std::byte*>(state.gemms + steps.inputs_floats());
  for (std::size_t direction = 0; direction < steps.params().directions(); ++direction) {
    steps.gather_inputs(tensors, direction, first_step, count, state.gemms);
    const auto& [gates, new_gate] = directions_[direction].inputs;
    gates->run(state.gemms, nullptr, nullptr, steps.gates_of(state.gates, direction, 0, 0), scratch);
    if (new_gate != nullptr)
      new_gate->run(state.gemms, nullptr, nullptr, steps.new_gate_of(state, direction, 0, 0), scratch);
  }
}

void RnnGemms::multiply(const StateProduct& product, const RnnSteps::State& state,
                        const States& states) const {
  const Gemm& rows = states.rows == rows_per_task_ && product.most != nullptr ? *product.most : *product.last;
  auto* const scratch = reinterpret_cast<std::byte*>(state.gemms + states.task * task_floats_);
  rows.run(states.from, nullptr, states.out, states.out, scratch);
}

void RnnGemms::multiply_states(const RnnSteps::State& state, const States& states) const {
  multiply(directions_[states.direction].states, state, states);
}

void RnnGemms::multiply_new(const RnnSteps::State& state, const States& states) const {
  multiply(directions_[states.direction].new_states, state, states);
}

}  // namespace ir::kernels
