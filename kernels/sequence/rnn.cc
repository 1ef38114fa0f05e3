#include "kernels/sequence/rnn.h"

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/base/processor.h"
#include "kernels/threads/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequence/rnn.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
// After highway.h.
#include "kernels/sequence/rnn_gates-inl.h"
#include "kernels/sequence/rnn_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// Steps are walked in blocks, so that the input products of a long sequence fit into the caches and scratch.
constexpr std::size_t kBlockFloats = std::size_t{1} << 20;
/// Batch elements that are multiplied with a panel of recurrent weights at a time, and that one task carries
/// through the steps. About as many each time, unless panels are so wide that few rows wait for memory.
std::size_t rows_per_task(std::size_t batch) {
  if (PackedMatrix::kVectors > 2) return PackedMatrix::kRows;
  const std::size_t tasks = (batch + PackedMatrix::kRows - 1) / PackedMatrix::kRows;
  return tasks == 0 ? 1 : (batch + tasks - 1) / tasks;
}

/// Whether so many bytes of recurrent weights come from beyond the second-level cache. Wide panels are done
/// with theirs sooner, and wait for what just fits, too: something is always in its place.
bool are_far_away(std::size_t bytes) {
  return bytes > (PackedMatrix::kVectors > 2 ? second_level_cache() / 4 * 3 : second_level_cache());
}

class PackedRnn final : public Rnn {
 public:
  PackedRnn(const RnnParams& params, const RnnWeights& weights)
      : params_(params),
        rows_per_task_(rows_per_task(params.batch)),
        is_far_away_(are_far_away(gate_width() * params.hidden_size * sizeof(float))),
        layout_(layout()),
        gates_(params) {
    const std::size_t hidden = params.hidden_size;
    const std::size_t width = gate_width();
    const std::vector<std::size_t> order = gate_order();
    for (std::size_t direction = 0; direction < params.directions(); ++direction) {
      Direction& packed = directions_.emplace_back();
      const float* w = weights.w + direction * width * params.input_size;
      const float* r = weights.r + direction * width * hidden;
      packed.input = PackedMatrix(w, order, hidden, params.input_size);
      // The new gate of a GRU needs the reset gate first.
      const std::size_t first = params.cell == RnnCell::gru ? 2 : order.size();
      const std::span gates(order);
      packed.recurrent = PackedMatrix(r, gates.first(first), hidden, hidden);
      if (first < order.size()) packed.recurrent_new = PackedMatrix(r, gates.subspan(first), hidden, hidden);

      packed.bias.assign(params.bias_parts() * hidden, 0.0F);
      if (weights.b == nullptr) continue;
      const float* b = weights.b + direction * packed.bias.size();
      std::copy(b, b + packed.bias.size(), packed.bias.begin());
      for (std::size_t i = 0; i < order.size(); ++i)
        std::copy_n(b + order[i] * hidden, hidden, packed.bias.data() + i * hidden);
    }
  }

  std::size_t scratch_bytes() const override { return layout_.floats * sizeof(float); }

  void run(const RnnTensors& tensors, std::byte* scratch) const override {
    auto* memory = reinterpret_cast<float*>(scratch);
    const Layout& at = layout_;
    const State state{memory + at.h, memory + at.c, memory + at.reset, memory + at.product,
                      memory + at.gates};
    start(tensors, state);
    for (std::size_t step = 0; step < params_.steps; step += at.block_steps) {
      const std::size_t count = std::min(at.block_steps, params_.steps - step);
      multiply_inputs(tensors, step, count, state.gates);
      if (walks_in_step()) {
        // One direction after the other: caches hold no more than the weights of one.
        for (std::size_t direction = 0; direction < params_.directions(); ++direction) {
          for (std::size_t i = 0; i < count; ++i)
            advance(tensors, {direction, 0, params_.batch}, step + i, i, state, parallel_for);
        }
        continue;
      }
      const std::size_t tasks = params_.directions() * tasks_per_direction();
      parallel_for(tasks, grain_for_cost(task_cost(count)), [&](std::size_t begin, std::size_t end) {
        for (std::size_t task = begin; task < end; ++task) {
          const std::size_t first = task % tasks_per_direction() * rows_per_task_;
          const Rows rows{task / tasks_per_direction(), first,
                          std::min(rows_per_task_, params_.batch - first)};
          for (std::size_t i = 0; i < count; ++i) advance(tensors, rows, step + i, i, state, run_at_once);
        }
      });
    }
    finish(tensors, state);
  }

 private:
  struct Direction {
    PackedMatrix input;
    PackedMatrix recurrent;
    PackedMatrix recurrent_new;
    std::vector<float> bias;
  };

  /// Offsets into the scratch, in floats.
  struct Layout {
    std::size_t block_steps = 1;
    std::size_t h = 0;
    std::size_t c = 0;
    std::size_t reset = 0;
    std::size_t product = 0;
    std::size_t gates = 0;
    std::size_t floats = 0;
  };

  /// Scratch by name: [D, batch, H] each, and gates [D, steps of a block, batch, G * H].
  struct State {
    float* h;
    float* c;
    float* reset;
    float* product;
    float* gates;
  };

  /// Batch elements [first, first + count) of a direction.
  struct Rows {
    std::size_t direction;
    std::size_t first;
    std::size_t count;
  };

  /// The loops of a step: run_at_once inside a task, parallel_for where all batch elements take a step before
  /// the next one.
  using Loop = void(std::size_t count, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> body);
  static void run_at_once(std::size_t count, std::size_t, FunctionRef<void(std::size_t, std::size_t)> body) {
    if (count != 0) body(0, count);
  }

  std::size_t tasks_per_direction() const { return (params_.batch + rows_per_task_ - 1) / rows_per_task_; }

  /// Whether all batch elements take a step before the next one, instead of tasks that take each of them
  /// through all steps: where tasks would fetch the same weights from far away, each thread all of them where
  /// its share stays near, or leave threads idle. Bits do not depend on it.
  bool walks_in_step() const {
    const auto threads = static_cast<std::size_t>(loop_threads());
    const std::size_t share = gate_width() * params_.hidden_size * sizeof(float) / threads;
    if (is_far_away_ && (tasks_per_direction() > 1 || !are_far_away(share))) return true;
    const std::size_t tasks = params_.directions() * tasks_per_direction();
    const PackedMatrix& matrix = directions_[0].recurrent;
    return tasks < threads && tasks * grain_for_cost(panel_cost(params_.batch)) < matrix.panels();
  }

  /// Of the product of so many batch elements with a panel of recurrent weights, whose way from memory takes
  /// as long as four of them.
  std::size_t panel_cost(std::size_t rows) const {
    return std::max<std::size_t>(rows, 4) * PackedMatrix::panel_width() * params_.hidden_size / 8;
  }

  /// Of carrying rows_per_task_ batch elements through `steps`.
  std::size_t task_cost(std::size_t steps) const {
    return steps * std::min(rows_per_task_, params_.batch) * gate_width() * (params_.hidden_size / 8 + 4);
  }

  std::size_t gate_width() const { return params_.gates() * params_.hidden_size; }

  /// Where each gate that this class computes with stands in the weights.
  std::vector<std::size_t> gate_order() const {
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

  Layout layout() const {
    const std::size_t rows = params_.directions() * params_.batch;
    const std::size_t states = rows * params_.hidden_size;
    const bool is_gru = params_.cell == RnnCell::gru;
    Layout at;
    at.block_steps = std::clamp<std::size_t>(kBlockFloats / std::max<std::size_t>(1, rows * gate_width()), 1,
                                             std::max<std::size_t>(1, params_.steps));
    at.c = states;
    at.reset = at.c + (params_.cell == RnnCell::lstm ? states : 0);
    at.product = at.reset + (is_gru ? states : 0);
    at.gates = at.product + (is_gru ? states : 0);
    at.floats = at.gates + at.block_steps * rows * gate_width();
    return at;
  }

  std::size_t length(const RnnTensors& tensors, std::size_t row) const {
    if (tensors.lengths == nullptr) return params_.steps;
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(tensors.lengths[row], 0, static_cast<std::int64_t>(params_.steps)));
  }

  /// Where in time a direction is at a step; a reverse one starts at the end of each sequence.
  std::size_t time_of(std::size_t direction, std::size_t step, std::size_t length) const {
    const bool reverse = params_.direction == RnnDirection::reverse || direction == 1;
    return reverse ? length - 1 - step : step;
  }

  float* gates_of(float* gates, std::size_t direction, std::size_t block_step, std::size_t row) const {
    return gates + ((direction * layout_.block_steps + block_step) * params_.batch + row) * gate_width();
  }

  void start(const RnnTensors& tensors, const State& state) const {
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

  void finish(const RnnTensors& tensors, const State& state) const {
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

  /// gates = x W + bias for `count` steps of all directions and batch elements.
  void multiply_inputs(const RnnTensors& tensors, std::size_t first_step, std::size_t count,
                       float* gates) const {
    constexpr std::size_t kTileRows = 8 * PackedMatrix::kRows;
    const std::size_t rows = count * params_.batch;
    const std::size_t row_tiles = (rows + kTileRows - 1) / kTileRows;
    const std::size_t panels = directions_[0].input.panels();
    const std::size_t cost = kTileRows * PackedMatrix::panel_width() * params_.input_size / 8;
    const auto multiply_tile = [&](std::size_t direction, std::size_t panel, std::size_t tile) {
      const Direction& weights = directions_[direction];
      RowBatch batch;
      for (std::size_t i = tile * kTileRows; i < std::min(rows, (tile + 1) * kTileRows); ++i) {
        const std::size_t row = i % params_.batch;
        const std::size_t block_step = i / params_.batch;
        const std::size_t steps = length(tensors, row);
        if (first_step + block_step >= steps) continue;
        const std::size_t time = time_of(direction, first_step + block_step, steps);
        batch.add(tensors.x + (row * params_.steps + time) * params_.input_size, weights.bias.data(),
                  gates_of(gates, direction, block_step, row));
        if (batch.full()) batch.flush(weights.input, panel);
      }
      batch.flush(weights.input, panel);
    };
    // Panels outermost: the tiles of a panel share it in the cache.
    parallel_for(params_.directions() * panels * row_tiles, grain_for_cost(cost),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t task = begin; task < end; ++task) {
                     const std::size_t panel = task / row_tiles;
                     multiply_tile(panel / panels, panel % panels, task % row_tiles);
                   }
                 });
  }

  /// out = init + h R for the rows whose sequences reach `step`; the three are [batch, ..] of a direction.
  template <class InitOf, class OutOf>
  void multiply_states(const PackedMatrix& matrix, const float* states, const RnnTensors& tensors,
                       const Rows& rows, std::size_t step, Loop& loop, const InitOf& init_of,
                       const OutOf& out_of) const {
    const std::size_t last = rows.first + rows.count;
    loop(matrix.panels(), grain_for_cost(panel_cost(rows.count)), [&](std::size_t begin, std::size_t end) {
      // The few panels of a chunk stay in a cache meanwhile.
      for (std::size_t first = rows.first; first < last; first += rows_per_task_) {
        RowBatch batch;
        for (std::size_t row = first; row < std::min(first + rows_per_task_, last); ++row) {
          if (step >= length(tensors, row)) continue;
          batch.add(states + (rows.direction * params_.batch + row) * params_.hidden_size, init_of(row),
                    out_of(row));
        }
        const bool fetches = is_far_away_ && first == rows.first;
        batch.multiply(matrix, begin, end, fetches);
      }
    });
  }

  /// One step of some batch elements.
  void advance(const RnnTensors& tensors, const Rows& rows, std::size_t step, std::size_t block_step,
               const State& state, Loop& loop) const {
    const std::size_t hidden = params_.hidden_size;
    const Direction& weights = directions_[rows.direction];
    const auto gates = [&](std::size_t row) {
      return gates_of(state.gates, rows.direction, block_step, row);
    };
    const auto state_of = [&](float* states, std::size_t row) {
      return states + (rows.direction * params_.batch + row) * hidden;
    };
    const auto for_each_row = [&](const auto& body) {
      constexpr std::size_t kActivations = 5;  // of a vector of hidden units, in LSTMs
      const std::size_t grain = grain_for_cost(kActivations * 16 * hidden / 8);
      loop(rows.count, grain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = rows.first + begin; row < rows.first + end; ++row) {
          if (step < length(tensors, row)) body(row);
        }
      });
    };

    const auto put_out = [&](std::size_t row) {
      if (tensors.y == nullptr) return;
      const std::size_t time = time_of(rows.direction, step, length(tensors, row));
      float* y = tensors.y + ((row * params_.directions() + rows.direction) * params_.steps + time) * hidden;
      std::copy_n(state_of(state.h, row), hidden, y);
    };

    multiply_states(weights.recurrent, state.h, tensors, rows, step, loop, gates, gates);
    if (params_.cell == RnnCell::rnn) {
      for_each_row([&](std::size_t row) {
        gates_.rnn(gates(row), state_of(state.h, row));
        put_out(row);
      });
    } else if (params_.cell == RnnCell::lstm) {
      for_each_row([&](std::size_t row) {
        gates_.lstm(gates(row), state_of(state.c, row), state_of(state.h, row));
        put_out(row);
      });
    } else {
      const bool linear = params_.linear_before_reset;
      for_each_row([&](std::size_t row) {
        gates_.gru_update_and_reset(gates(row), state_of(state.h, row), state_of(state.reset, row), linear);
      });
      const auto new_gate = [&](std::size_t row) { return gates(row) + 2 * hidden; };
      const auto product = [&](std::size_t row) { return state_of(state.product, row); };
      if (linear) {
        const auto bias = [&](std::size_t) { return weights.bias.data() + 3 * hidden; };
        multiply_states(weights.recurrent_new, state.h, tensors, rows, step, loop, bias, product);
      } else {
        multiply_states(weights.recurrent_new, state.reset, tensors, rows, step, loop, new_gate, new_gate);
      }
      for_each_row([&](std::size_t row) {
        gates_.gru_state(gates(row), state_of(state.reset, row), linear ? product(row) : nullptr,
                         state_of(state.h, row));
        put_out(row);
      });
    }
  }

  RnnParams params_;
  std::size_t rows_per_task_;
  /// Whether the recurrent weights of a direction leave the second-level cache from step to step.
  bool is_far_away_;
  Layout layout_;
  Gates gates_;
  std::vector<Direction> directions_;
};

std::unique_ptr<Rnn> CreateRnn(const RnnParams& params, const RnnWeights& weights) {
  return std::make_unique<PackedRnn>(params, weights);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(CreateRnn);

std::unique_ptr<Rnn> create_rnn(const RnnParams& params, const RnnWeights& weights) {
  return HWY_DYNAMIC_DISPATCH(CreateRnn)(params, weights);
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
