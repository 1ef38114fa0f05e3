#include "kernels/sequence/rnn.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "kernels/base/divide.h"
#include "kernels/base/processor.h"
#include "kernels/sequence/rnn_gemms.h"
#include "kernels/sequence/rnn_kernels.h"
#include "kernels/sequence/rnn_steps.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Whether panels are so wide that few rows wait for memory.
bool has_wide_panels(const RnnKernels& kernels) { return kernels.vectors > 2; }

/// Batch elements that are multiplied with a panel of recurrent weights at a time, and that one task carries
/// through the steps. About as many each time, unless panels are wide.
std::size_t rows_per_task(const RnnKernels& kernels, std::size_t batch) {
  if (has_wide_panels(kernels)) return kernels.most_rows;
  const std::size_t tasks = divide_up(batch, kernels.most_rows);
  return tasks == 0 ? 1 : divide_up(batch, tasks);
}

/// Whether so many bytes of recurrent weights come from beyond the second-level cache. Wide panels are done
/// with theirs sooner, and wait for what just fits, too: something is always in its place.
bool are_far_away(const RnnKernels& kernels, std::size_t bytes) {
  return bytes > (has_wide_panels(kernels) ? second_level_cache() / 4 * 3 : second_level_cache());
}

class PackedRnn final : public Rnn, private RnnSteps {
 public:
  PackedRnn(const RnnParams& params, const RnnWeights& weights)
      : RnnSteps(params),
        kernels_(rnn_kernels()),
        is_far_away_(are_far_away(kernels_, gate_width() * params.hidden_size * sizeof(float))),
        gemms_(*this, {is_far_away_, is_share_far(static_cast<std::size_t>(thread_slots()))}),
        rows_per_task_(gemms_.takes_states() ? gemms_.rows_per_task()
                                             : rows_per_task(kernels_, params.batch)) {
    const std::size_t hidden = params.hidden_size;
    const std::size_t width = gate_width();
    const std::vector<std::size_t> order = gate_order();
    const std::span gates(order);
    part_new_gate(gemms_.takes_states() && params.cell == RnnCell::gru);
    for (std::size_t direction = 0; direction < params.directions(); ++direction) {
      Direction& packed = directions_[direction];
      const float* w = weights.w + direction * width * params.input_size;
      const float* r = weights.r + direction * width * hidden;
      packed.bias.assign(params.bias_parts() * hidden, 0.0F);
      if (weights.b != nullptr) {
        const float* b = weights.b + direction * packed.bias.size();
        std::copy(b, b + packed.bias.size(), packed.bias.begin());
        for (std::size_t i = 0; i < order.size(); ++i)
          std::copy_n(b + order[i] * hidden, hidden, packed.bias.data() + i * hidden);
      }
      gemms_.pack(*this, direction, w, r, packed.bias.data());
      if (!gemms_.takes_inputs())
        packed.input = PackedMatrix(kernels_, {w, order, hidden, params.input_size});
      if (gemms_.takes_states()) continue;
      // The new gate of a GRU needs the reset gate first.
      const std::size_t first = params.cell == RnnCell::gru ? 2 : order.size();
      packed.recurrent = PackedMatrix(kernels_, {r, gates.first(first), hidden, hidden});
      if (first < order.size())
        packed.recurrent_new = PackedMatrix(kernels_, {r, gates.subspan(first), hidden, hidden});
    }
  }

  std::size_t scratch_bytes() const override {
    return (state_floats() + gemms_.scratch_floats(*this)) * sizeof(float);
  }

  void run(const RnnTensors& tensors, std::byte* scratch) const override {
    const State state = state_in(reinterpret_cast<float*>(scratch));
    start(tensors, state);
    for (std::size_t step = 0; step < params().steps; step += block_steps()) {
      const std::size_t count = std::min(block_steps(), params().steps - step);
      if (gemms_.takes_inputs()) {
        gemms_.multiply_inputs(*this, tensors, step, count, state);
      } else {
        multiply_inputs(tensors, step, count, state.gates);
      }
      if (walks_in_step()) {
        // One direction after the other: caches hold no more than the weights of one.
        for (std::size_t direction = 0; direction < params().directions(); ++direction) {
          for (std::size_t i = 0; i < count; ++i)
            advance({tensors, {direction, 0, params().batch, 0}, step + i, i, state, parallel_for});
        }
        continue;
      }
      const std::size_t tasks = params().directions() * tasks_per_direction();
      parallel_for(tasks, grain_for_cost(task_cost(count)), [&](std::size_t begin, std::size_t end) {
        for (std::size_t task = begin; task < end; ++task) {
          const std::size_t of_direction = task % tasks_per_direction();
          const std::size_t first = of_direction * rows_per_task_;
          const bool is_last = of_direction + 1 == tasks_per_direction();
          const Rows rows{task / tasks_per_direction(), first,
                          is_last ? params().batch - first : rows_per_task_, task};
          for (std::size_t i = 0; i < count; ++i) advance({tensors, rows, step + i, i, state, run_at_once});
        }
      });
    }
    finish(tensors, state);
  }

 private:
  /// But for what is left to gemm.h.
  struct Direction {
    PackedMatrix input;
    PackedMatrix recurrent;
    PackedMatrix recurrent_new;
    std::vector<float> bias;
  };

  /// Batch elements [first, first + count) of a direction.
  struct Rows {
    std::size_t direction;
    std::size_t first;
    std::size_t count;
    std::size_t task;
  };

  /// The loops of a step: run_at_once inside a task, parallel_for where all batch elements take a step before
  /// the next one.
  using Loop = void(std::size_t count, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> body);
  static void run_at_once(std::size_t count, std::size_t, FunctionRef<void(std::size_t, std::size_t)> body) {
    if (count != 0) body(0, count);
  }

  std::size_t tasks_per_direction() const {
    return gemms_.takes_states() ? gemms_.tasks_per_direction() : divide_up(params().batch, rows_per_task_);
  }

  /// Whether all batch elements take a step before the next one, instead of tasks that take each of them
  /// through all steps: where tasks would fetch the same weights from far away, each thread all of them where
  /// its share stays near, or leave threads idle. Bits do not depend on it.
  bool walks_in_step() const {
    if (gemms_.takes_states()) return gemms_.walks_in_step();
    const auto threads = static_cast<std::size_t>(loop_threads());
    if (is_far_away_ && (tasks_per_direction() > 1 || !is_share_far(threads))) return true;
    const std::size_t tasks = params().directions() * tasks_per_direction();
    const PackedMatrix& matrix = directions_[0].recurrent;
    return tasks < threads && tasks * grain_for_cost(panel_cost(params().batch)) < matrix.panels();
  }

  bool is_share_far(std::size_t threads) const {
    return are_far_away(kernels_, gate_width() * params().hidden_size * sizeof(float) / threads);
  }

  /// Of the product of so many batch elements with a panel of recurrent weights, whose way from memory takes
  /// as long as four of them.
  std::size_t panel_cost(std::size_t rows) const {
    return std::max<std::size_t>(rows, 4) * kernels_.panel_width * params().hidden_size / 8;
  }

  /// Of carrying rows_per_task_ batch elements through `steps`.
  std::size_t task_cost(std::size_t steps) const {
    return steps * std::min(rows_per_task_, params().batch) * gate_width() * (params().hidden_size / 8 + 4);
  }

  /// gates = x W + bias for `count` steps of all directions and batch elements.
  void multiply_inputs(const RnnTensors& tensors, std::size_t first_step, std::size_t count,
                       float* gates) const {
    const std::size_t tile_rows = 8 * kernels_.most_rows;
    const std::size_t rows = count * params().batch;
    const std::size_t row_tiles = divide_up(rows, tile_rows);
    const std::size_t panels = directions_[0].input.panels();
    const std::size_t cost = tile_rows * kernels_.panel_width * params().input_size / 8;
    const auto multiply_tile = [&](std::size_t direction, std::size_t panel, std::size_t tile) {
      const Direction& weights = directions_[direction];
      ProductRows batch;
      const auto flush = [&] {
        if (batch.count > 0) kernels_.multiply(weights.input, batch, {panel, panel + 1});
        batch.count = 0;
      };
      for (std::size_t i = tile * tile_rows; i < std::min(rows, (tile + 1) * tile_rows); ++i) {
        const std::size_t row = i % params().batch;
        const std::size_t block_step = i / params().batch;
        const std::size_t steps = length(tensors, row);
        if (first_step + block_step >= steps) continue;
        const std::size_t time = time_of(direction, first_step + block_step, steps);
        batch.add(tensors.x + (row * params().steps + time) * params().input_size, weights.bias.data(),
                  gates_of(gates, direction, block_step, row));
        if (batch.count == kernels_.most_rows) flush();
      }
      flush();
    };
    // Panels outermost: the tiles of a panel share it in the cache.
    parallel_for(params().directions() * panels * row_tiles, grain_for_cost(cost),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t task = begin; task < end; ++task) {
                     const std::size_t panel = task / row_tiles;
                     multiply_tile(panel / panels, panel % panels, task % row_tiles);
                   }
                 });
  }

  /// A step of some batch elements, and the loops that it may use.
  struct RowsAtStep {
    const RnnTensors& tensors;
    Rows rows;
    std::size_t step;
    std::size_t block_step;
    const State& state;
    Loop& loop;
  };

  bool has_step(const RowsAtStep& at, std::size_t row) const { return at.step < length(at.tensors, row); }

  float* gates_at(const RowsAtStep& at, std::size_t row) const {
    return gates_of(at.state.gates, at.rows.direction, at.block_step, row);
  }
  float* new_gate_at(const RowsAtStep& at, std::size_t row) const {
    return new_gate_of(at.state, at.rows.direction, at.block_step, row);
  }
  /// Of `states`, which have hidden_size numbers for each row of each direction.
  float* state_at(float* states, const RowsAtStep& at, std::size_t row) const {
    return states + (at.rows.direction * params().batch + row) * params().hidden_size;
  }

  template <class Body>
  void for_each_row(const RowsAtStep& at, const Body& body) const {
    constexpr std::size_t kActivations = 5;  // of a vector of hidden units, in LSTMs
    const std::size_t grain = grain_for_cost(kActivations * 16 * params().hidden_size / 8);
    at.loop(at.rows.count, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = at.rows.first + begin; row < at.rows.first + end; ++row) {
        if (has_step(at, row)) body(row);
      }
    });
  }

  /// out = init + h R for the rows whose sequences reach the step; the three are [batch, ..] of a direction.
  template <class InitOf, class OutOf>
  void multiply_states(const PackedMatrix& matrix, const float* states, const RowsAtStep& at,
                       const InitOf& init_of, const OutOf& out_of) const {
    const Rows& rows = at.rows;
    const std::size_t last = rows.first + rows.count;
    at.loop(matrix.panels(), grain_for_cost(panel_cost(rows.count)), [&](std::size_t begin, std::size_t end) {
      // The few panels of a chunk stay in a cache meanwhile.
      for (std::size_t first = rows.first; first < last; first += rows_per_task_) {
        ProductRows batch;
        for (std::size_t row = first; row < std::min(first + rows_per_task_, last); ++row) {
          if (!has_step(at, row)) continue;
          batch.add(states + (rows.direction * params().batch + row) * params().hidden_size, init_of(row),
                    out_of(row));
        }
        const bool fetches_next = is_far_away_ && first == rows.first;
        if (batch.count > 0) kernels_.multiply(matrix, batch, {begin, end, fetches_next});
      }
    });
  }

  /// One step: all gates, then states and outputs.
  void advance(const RowsAtStep& at) const {
    const State& state = at.state;
    const auto gates = [&](std::size_t row) { return gates_at(at, row); };
    if (gemms_.takes_states()) {
      gemms_.multiply_states(state, rows_of_gemms(at, state.h, gates(at.rows.first)));
    } else {
      multiply_states(directions_[at.rows.direction].recurrent, state.h, at, gates, gates);
    }
    const auto put_out = [&](std::size_t row) {
      put_output(at.tensors, at.rows.direction, row, at.step, state_at(state.h, at, row));
    };
    if (params().cell == RnnCell::rnn) {
      for_each_row(at, [&](std::size_t row) {
        kernels_.rnn(params(), gates(row), state_at(state.h, at, row));
        put_out(row);
      });
    } else if (params().cell == RnnCell::lstm) {
      for_each_row(at, [&](std::size_t row) {
        kernels_.lstm(params(), gates(row), state_at(state.c, at, row), state_at(state.h, at, row));
        put_out(row);
      });
    } else {
      make_new_gates(at);
      for_each_row(at, [&](std::size_t row) {
        kernels_.gru_state(params(),
                           {gates(row), new_gate_at(at, row), state_at(state.reset, at, row),
                            state_at(state.product, at, row)},
                           state_at(state.h, at, row));
        put_out(row);
      });
    }
  }

  /// What gemm.h multiplies are rows side by side: also those whose sequences are over, for nobody.
  RnnGemms::States rows_of_gemms(const RowsAtStep& at, float* from, float* out) const {
    return {at.rows.direction, at.rows.count, at.rows.task, state_at(from, at, at.rows.first), out};
  }

  /// Of a GRU, whose other gates have their sums.
  void make_new_gates(const RowsAtStep& at) const {
    const State& state = at.state;
    const bool linear = params().linear_before_reset;
    for_each_row(at, [&](std::size_t row) {
      kernels_.gru_update_and_reset(params(), gates_at(at, row), state_at(state.h, at, row),
                                    state_at(state.reset, at, row));
    });
    const auto new_gate = [&](std::size_t row) { return new_gate_at(at, row); };
    const auto product = [&](std::size_t row) { return state_at(state.product, at, row); };
    const Direction& weights = directions_[at.rows.direction];
    if (gemms_.takes_states()) {
      float* const out = linear ? product(at.rows.first) : new_gate(at.rows.first);
      gemms_.multiply_new(state, rows_of_gemms(at, linear ? state.h : state.reset, out));
    } else if (linear) {
      const auto bias = [&](std::size_t) { return weights.bias.data() + 3 * params().hidden_size; };
      multiply_states(weights.recurrent_new, state.h, at, bias, product);
    } else {
      multiply_states(weights.recurrent_new, state.reset, at, new_gate, new_gate);
    }
  }

  const RnnKernels& kernels_;
  /// Whether the recurrent weights of a direction leave the second-level cache from step to step.
  bool is_far_away_;
  RnnGemms gemms_;
  std::size_t rows_per_task_;
  std::array<Direction, 2> directions_;
};

}  // namespace

std::unique_ptr<Rnn> create_rnn(const RnnParams& params, const RnnWeights& weights) {
  return std::make_unique<PackedRnn>(params, weights);
}

}  // namespace ir::kernels
