// Products of recurrent sequences that are left to gemm.h: in matrix tiles those of the inputs of many steps
// and of the states of many batch elements, and those of one or two states with weights that come from far
// away, which are kept in fewer bits. Internal to kernels/.
#ifndef KERNELS_SEQUENCE_RNN_GEMMS_H_
#define KERNELS_SEQUENCE_RNN_GEMMS_H_

#include <array>
#include <cstddef>
#include <memory>

#include "kernels/matmul/gemm.h"
#include "kernels/sequence/rnn.h"
#include "kernels/sequence/rnn_steps.h"

namespace ir::kernels {

class RnnGemms {
 public:
  /// Whether recurrent weights of a direction are more than the second-level cache holds, and whether a
  /// thread's share of them is.
  struct Distance {
    bool is_far = false;
    bool is_share_far = false;
  };

  /// Takes what it is expected to be the fastest for. Knows nothing of threads there: bits depend on it.
  RnnGemms(const RnnSteps& steps, const Distance& distance);

  [[nodiscard]] bool takes_inputs() const { return takes_inputs_; }
  /// All products of states; then those of inputs, too.
  [[nodiscard]] bool takes_states() const { return takes_states_; }

  /// Batch elements of a task, whole tiles, or all where weights come from far away; the last task has what
  /// is left as well.
  [[nodiscard]] std::size_t rows_per_task() const { return rows_per_task_; }
  [[nodiscard]] std::size_t tasks_per_direction() const;
  /// Whether all threads take a step together.
  [[nodiscard]] bool walks_in_step() const { return state_threads_ > 1; }

  /// Of a direction: what it takes of w and r, with the biases of all gates. `steps` are those of the
  /// constructor, whose gates may have been parted since.
  void pack(const RnnSteps& steps, std::size_t direction, const float* w, const float* r, const float* bias);
  /// Of scratch, behind the state.
  [[nodiscard]] std::size_t scratch_floats(const RnnSteps& steps) const;

  /// gates = x W + bias for `count` steps of all directions.
  void multiply_inputs(const RnnSteps& steps, const RnnTensors& tensors, std::size_t first_step,
                       std::size_t count, const RnnSteps::State& state) const;

  /// Batch elements of a task, in rows one behind the other.
  struct States {
    std::size_t direction = 0;
    std::size_t rows = 0;
    std::size_t task = 0;  ///< of all directions
    const float* from = nullptr;
    float* out = nullptr;
  };
  /// out += from R, for all gates but a GRU's new one.
  void multiply_states(const RnnSteps::State& state, const States& states) const;
  /// For a GRU's new gate: the same, or with linear_before_reset out = from R + bias.
  void multiply_new(const RnnSteps::State& state, const States& states) const;

 private:
  /// Of as many rows as most tasks have, and as the last one has.
  struct StateProduct {
    std::unique_ptr<Gemm> most;
    std::unique_ptr<Gemm> last;
  };
  struct Direction {
    std::array<std::unique_ptr<Gemm>, 2> inputs;  ///< the second for a new gate that lies apart
    StateProduct states;
    StateProduct new_states;
  };

  [[nodiscard]] StateProduct states_product(const RnnParams& params, const float* matrix, std::size_t columns,
                                            const float* bias) const;
  void multiply(const StateProduct& product, const RnnSteps::State& state, const States& states) const;

  std::size_t batch_;
  bool states_in_tiles_ = false;
  bool takes_states_ = false;
  bool takes_inputs_ = false;
  std::size_t rows_per_task_ = 1;
  std::size_t state_threads_ = 1;
  std::size_t task_floats_ = 0;  ///< of scratch, for products of states
  std::array<Direction, 2> directions_;
};

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_RNN_GEMMS_H_
