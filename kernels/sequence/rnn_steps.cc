#include "kernels/sequence/rnn_steps.h"

#include <algorithm>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kBlockFloats = std::size_t{1} << 20;

}  // namespace

RnnSteps::RnnSteps(const RnnParams& params)
    : params_(params),
      block_steps_(std::clamp<std::size_t>(kBlockFloats / std::max<std::size_t>(1, rows() * gate_width()), 1,
                                           std::max<std::size_t>(1, params.steps))) {}

std::vector<std::size_t> RnnSteps::gate_order() const {
  if (params_.cell == RnnCell::rnn) return {0};
  if (params_.cell == RnnCell::gru) return {0, 1, 2};
  switch (params_.lstm_gates) {
    case LstmGates::icof:
      return {3, 0, 1, 2};
    case LstmGates::ifco:
      return {1, 0, 2, 3};
    case LstmGates::ifoc:
      return {1, 0, 3, 2};
    case LstmGates::iofc:
      return {2, 0, 3, 1};
    case LstmGates::fico:
      break;
  }
  return {0, 1, 2, 3};
}

bool RnnSteps::is_in_order() const {
  const std::vector<std::size_t> order = gate_order();
  return std::is_sorted(order.begin(), order.end());
}

std::size_t RnnSteps::state_floats() const {
  const std::size_t states = params_.cell == RnnCell::gru ? 3 : params_.cell == RnnCell::lstm ? 2 : 1;
  return rows() * (states * params_.hidden_size + block_steps_ * gate_width());
}

RnnSteps::State RnnSteps::state_in(float* memory) const {
  const std::size_t states = rows() * params_.hidden_size;
  const std::size_t of_gru = params_.cell == RnnCell::gru ? states : 0;
  State state{};
  state.h = memory;
  state.c = state.h + states;
  state.reset = state.c + (params_.cell == RnnCell::lstm ? states : 0);
  state.product = state.reset + of_gru;
  state.gates = state.product + of_gru;
  state.new_gates = state.gates + block_steps_ * rows() * gate_stride();
  state.gemms = state.gates + block_steps_ * rows() * gate_width();
  return state;
}

void RnnSteps::gather_inputs(const RnnTensors& tensors, std::size_t direction, std::size_t first_step,
                             std::size_t count, float* inputs) const {
  const std::size_t size = params_.input_size;
  parallel_for(block_steps_ * params_.batch, grain_for_cost(size / 8 + 1),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   float* const to = inputs + i * size;
                   const std::size_t row = i % params_.batch;
                   const std::size_t block_step = i / params_.batch;
                   const std::size_t steps = length(tensors, row);
                   if (block_step < count && first_step + block_step < steps) {
                     const std::size_t time = time_of(direction, first_step + block_step, steps);
                     std::copy_n(tensors.x + (row * params_.steps + time) * size, size, to);
                   } else {
                     std::fill_n(to, size, 0.0F);
                   }
                 }
               });
}

void RnnSteps::start(const RnnTensors& tensors, const State& state) const {
  const std::size_t hidden = params_.hidden_size;
  for (std::size_t row = 0; row < params_.batch; ++row) {
    for (std::size_t direction = 0; direction < params_.directions(); ++direction) {
      const std::size_t from = (row * params_.directions() + direction) * hidden;
      const std::size_t to = (direction * params_.batch + row) * hidden;
      std::copy_n(tensors.initial_h + from, hidden, state.h + to);
      if (params_.cell == RnnCell::lstm) std::copy_n(tensors.initial_c + from, hidden, state.c + to);
    }
    if (tensors.y == nullptr) continue;
    for (std::size_t direction = 0; direction < params_.directions(); ++direction) {
      float* y = tensors.y + (row * params_.directions() + direction) * params_.steps * hidden;
      std::fill(y + length(tensors, row) * hidden, y + params_.steps * hidden, 0.0F);
    }
  }
}

void RnnSteps::put_output(const RnnTensors& tensors, std::size_t direction, std::size_t row, std::size_t step,
                          const float* h) const {
  if (tensors.y == nullptr) return;
  const std::size_t time = time_of(direction, step, length(tensors, row));
  const std::size_t to = (row * params_.directions() + direction) * params_.steps + time;
  std::copy_n(h, params_.hidden_size, tensors.y + to * params_.hidden_size);
}

void RnnSteps::finish(const RnnTensors& tensors, const State& state) const {
  const std::size_t hidden = params_.hidden_size;
  const auto write = [&](const float* states, float* out) {
    if (out == nullptr) return;
    for (std::size_t row = 0; row < params_.batch; ++row) {
      for (std::size_t direction = 0; direction < params_.directions(); ++direction) {
        float* to = out + (row * params_.directions() + direction) * hidden;
        const float* from = states + (direction * params_.batch + row) * hidden;
        if (length(tensors, row) > 0) {
          std::copy_n(from, hidden, to);
        } else {
          std::fill_n(to, hidden, 0.0F);
        }
      }
    }
  };
  write(state.h, tensors.h);
  if (params_.cell == RnnCell::lstm) write(state.c, tensors.c);
}

}  // namespace ir::kernels
