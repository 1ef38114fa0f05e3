// Recurrent sequences but for their products and activations: which element is where, in time and in memory.
// Internal to kernels/.
#ifndef KERNELS_SEQUENCE_RNN_STEPS_H_
#define KERNELS_SEQUENCE_RNN_STEPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/sequence/rnn.h"

namespace ir::kernels {

class RnnSteps {
 public:
  /// Scratch by name: [D, batch, H] each, gates [D, steps of a block, batch, gate_stride()] and new gates [D,
  /// steps of a block, batch, H].
  struct State {
    float* h;
    float* c;
    float* reset;
    float* product;
    float* gates;
    float* new_gates;
    float* gemms;  ///< what lies behind these
  };

  explicit RnnSteps(const RnnParams& params);

  [[nodiscard]] const RnnParams& params() const { return params_; }

  /// A GRU's new gate lies apart from the others, not behind those of its batch element.
  void part_new_gate(bool parts) { parts_new_gate_ = parts; }
  [[nodiscard]] bool parts_new_gate() const { return parts_new_gate_; }

  /// Where each gate that is computed with stands in the weights.
  [[nodiscard]] std::vector<std::size_t> gate_order() const;
  [[nodiscard]] bool is_in_order() const;
  [[nodiscard]] std::size_t gate_width() const { return params_.gates() * params_.hidden_size; }
  [[nodiscard]] std::size_t gate_stride() const {
    return parts_new_gate_ ? 2 * params_.hidden_size : gate_width();
  }

  /// Steps are walked in blocks, so that the input products of a long sequence fit into the caches and
  /// scratch.
  [[nodiscard]] std::size_t block_steps() const { return block_steps_; }

  [[nodiscard]] std::size_t state_floats() const;
  [[nodiscard]] State state_in(float* memory) const;
  [[nodiscard]] float* gates_of(float* gates, std::size_t direction, std::size_t block_step,
                                std::size_t row) const {
    return gates + gate_row(direction, block_step, row) * gate_stride();
  }
  [[nodiscard]] float* new_gate_of(const State& state, std::size_t direction, std::size_t block_step,
                                   std::size_t row) const {
    const std::size_t hidden = params_.hidden_size;
    return parts_new_gate_ ? state.new_gates + gate_row(direction, block_step, row) * hidden
                           : gates_of(state.gates, direction, block_step, row) + 2 * hidden;
  }

  /// Of a batch element.
  [[nodiscard]] std::size_t length(const RnnTensors& tensors, std::size_t row) const {
    if (tensors.lengths == nullptr) return params_.steps;
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(tensors.lengths[row], 0, static_cast<std::int64_t>(params_.steps)));
  }
  /// Where in time a direction is at a step; a reverse one starts at the end of each sequence.
  [[nodiscard]] std::size_t time_of(std::size_t direction, std::size_t step, std::size_t length) const {
    const bool reverse = params_.direction == RnnDirection::reverse || direction == 1;
    return reverse ? length - 1 - step : step;
  }

  /// Inputs of a block of steps, of which there are `count`, as rows [step, batch element]; zeros where a
  /// sequence is over.
  void gather_inputs(const RnnTensors& tensors, std::size_t direction, std::size_t first_step,
                     std::size_t count, float* inputs) const;
  [[nodiscard]] std::size_t inputs_floats() const {
    return block_steps_ * params_.batch * params_.input_size;
  }

  void start(const RnnTensors& tensors, const State& state) const;
  /// The state of a batch element after a step.
  void put_output(const RnnTensors& tensors, std::size_t direction, std::size_t row, std::size_t step,
                  const float* h) const;
  void finish(const RnnTensors& tensors, const State& state) const;

 private:
  [[nodiscard]] std::size_t gate_row(std::size_t direction, std::size_t block_step, std::size_t row) const {
    return (direction * block_steps_ + block_step) * params_.batch + row;
  }
  [[nodiscard]] std::size_t rows() const { return params_.directions() * params_.batch; }

  RnnParams params_;
  bool parts_new_gate_ = false;
  std::size_t block_steps_;
};

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_RNN_STEPS_H_
