// Recurrent sequences and cells.
#include "kernels/sequence/rnn.h"

#include <fmt/format.h>

#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

using kernels::RnnCell;
using kernels::RnnDirection;

struct Sequence {
  const char* name;
  RnnCell cell;
  RnnDirection direction;
  std::size_t batch, steps, input_size, hidden_size;
};

constexpr Sequence kSequences[] = {
    {"lstm_100x128_to_256", RnnCell::lstm, RnnDirection::forward, 1, 100, 128, 256},
    {"lstm_both_ways_100x128_to_256", RnnCell::lstm, RnnDirection::bidirectional, 1, 100, 128, 256},
    {"lstm_batch8_50x256_to_512", RnnCell::lstm, RnnDirection::forward, 8, 50, 256, 512},
    {"lstm_batch32_30x128_to_256", RnnCell::lstm, RnnDirection::forward, 32, 30, 128, 256},
    {"gru_100x128_to_256", RnnCell::gru, RnnDirection::forward, 1, 100, 128, 256},
    {"rnn_100x128_to_256", RnnCell::rnn, RnnDirection::forward, 1, 100, 128, 256},
    {"lstm_step_512_to_512", RnnCell::lstm, RnnDirection::forward, 1, 1, 512, 512},
};

void run(benchmark::State& state, const Sequence& sequence) {
  kernels::RnnParams params;
  params.cell = sequence.cell;
  params.direction = sequence.direction;
  params.batch = sequence.batch;
  params.steps = sequence.steps;
  params.input_size = sequence.input_size;
  params.hidden_size = sequence.hidden_size;
  if (sequence.cell == RnnCell::rnn) params.activations[0].function = kernels::RnnFunction::tanh;
  const std::size_t rows = params.directions() * params.gates() * params.hidden_size;
  std::vector<float> w = random_floats(rows * params.input_size);
  std::vector<float> r = random_floats(rows * params.hidden_size);
  for (float& value : w) value *= 0.05F;
  for (float& value : r) value *= 0.05F;
  const std::vector<float> b = random_floats(params.directions() * params.bias_parts() * params.hidden_size);
  const std::vector<float> x = random_floats(params.batch * params.steps * params.input_size);
  const std::vector<float> start(params.batch * params.directions() * params.hidden_size);
  std::vector<float> y(start.size() * params.steps);
  std::vector<float> h(start.size());
  std::vector<float> c(start.size());
  const auto rnn = prepared([&] { return kernels::create_rnn(params, {w.data(), r.data(), b.data()}); });
  std::vector<std::byte> scratch(rnn->scratch_bytes());
  kernels::RnnTensors tensors;
  tensors.x = x.data();
  tensors.initial_h = start.data();
  tensors.initial_c = start.data();
  tensors.y = y.data();
  tensors.h = h.data();
  tensors.c = c.data();
  const auto calls = static_cast<double>(params.batch * params.steps);
  const Work work{2 * calls * static_cast<double>(w.size() + r.size()),
                  static_cast<double>((w.size() + r.size() + x.size() + y.size()) * sizeof(float))};
  measure(state, work, [&] { rnn->run(tensors, scratch.data()); });
}

}  // namespace

void register_rnn() {
  for (const Sequence& sequence : kSequences) {
    add(fmt::format("rnn/{}", sequence.name), [sequence](benchmark::State& state) { run(state, sequence); });
  }
}

}  // namespace ir::bench
