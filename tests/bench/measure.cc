#include "tests/bench/measure.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <random>

#include "kernels/base/targets.h"

namespace ir::bench {
namespace {

struct Machine {
  kernels::ThreadPool pool;
  MachinePeak peak;
};

std::unique_ptr<Machine>& machine() {
  static std::unique_ptr<Machine> instance;
  return instance;
}

}  // namespace

void set_up(int threads) {
  machine() = std::make_unique<Machine>(Machine{kernels::ThreadPool(threads), {}});
  pool().run([&] { machine()->peak = measure_peak(); });
  benchmark::AddCustomContext("threads", fmt::format("{}", threads));
  benchmark::AddCustomContext("SIMD target", kernels::active_target());
  benchmark::AddCustomContext("peak GFLOP/s", fmt::format("{:.1f}", peak().flops / 1e9));
  benchmark::AddCustomContext("memory GB/s", fmt::format("{:.1f}", peak().bytes / 1e9));
}

const kernels::ThreadPool& pool() { return machine()->pool; }
const MachinePeak& peak() { return machine()->peak; }

void report(benchmark::State& state, const Work& work, double seconds) {
  const auto add_rate = [&](const char* name, const char* share, double amount, double most) {
    if (amount <= 0) return;
    state.counters[name] = amount / seconds / 1e9;
    state.counters[share] = 100 * amount / seconds / most;
  };
  add_rate("GFLOP/s", "%peak", work.flops, peak().flops);
  add_rate("GB/s", "%memory", work.bytes, peak().bytes);
}

std::vector<float> random_floats(std::size_t count) {
  std::mt19937 generator(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(generator() >> 8) * 0x1p-23F - 1.0F;
  return values;
}

std::vector<float> quantised(const float* values, std::size_t count) {
  std::vector<float> result(values, values + count);
  for (float& value : result) value = std::round(value * kBytes.high) * kBytes.step;
  return result;
}

}  // namespace ir::bench
