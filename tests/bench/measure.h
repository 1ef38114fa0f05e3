// What the kernel benchmarks share.
#ifndef TESTS_BENCH_MEASURE_H_
#define TESTS_BENCH_MEASURE_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/threads/parallel.h"
#include "kernels/weights/integer_weights.h"
#include "tests/bench/machine_peak.h"

namespace ir::bench {

/// Each file adds its family's benchmarks, named FAMILY/CASE.
void register_attention();
void register_convert();
void register_convolution();
void register_deconvolution();
void register_depthwise();
void register_detection();
void register_elementwise();
void register_gemm();
void register_image();
void register_movement();
void register_normalization();
void register_pooling();
void register_reduction();
void register_rnn();
void register_separable();
void register_softmax();

/// Chooses the pool and measures the machine's peak with it. Once, before anything is measured.
void set_up(int threads);
const kernels::ThreadPool& pool();
const MachinePeak& peak();

/// One call of a kernel, by its definition: multiplications and additions, bytes read and written at least.
struct Work {
  double flops = 0;
  double bytes = 0;
};

/// Adds the rates of a call that takes `seconds`, and their shares of the machine's peak, to the output.
void report(benchmark::State& state, const Work& work, double seconds);

/// Calls `body` in the pool as often as the benchmark wants. Rates are those of the fastest call, as the peak
/// is that of the fastest try: other programs may take the core in between.
template <class Body>
void measure(benchmark::State& state, const Work& work, const Body& body) {
  using Clock = std::chrono::steady_clock;
  double fastest = std::numeric_limits<double>::infinity();
  pool().run([&] {
    body();  // touches memory for the first time
    for ([[maybe_unused]] auto iteration : state) {
      const auto start = Clock::now();
      body();
      benchmark::ClobberMemory();
      fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - start).count());
    }
  });
  report(state, work, fastest);
}

/// What `make` returns, made in the pool: kernels are prepared for its threads.
template <class Make>
auto prepared(const Make& make) {
  std::invoke_result_t<Make> result{};
  pool().run([&] { result = make(); });
  return result;
}

/// Adds a benchmark: `run` takes the state. Wall-clock time decides how often it is called.
template <class Run>
void add(const std::string& name, Run run) {
  benchmark::RegisterBenchmark(name.c_str(), std::move(run))->UseRealTime()->Unit(benchmark::kMicrosecond);
}

/// Values in [-1, 1), the same in every run.
std::vector<float> random_floats(std::size_t count);

/// What quantised values of [-1, 1] are.
inline constexpr kernels::IntegerGrid kBytes{1.0F / 127, -127, 127};
/// `values`, between -1 and 1, as such.
std::vector<float> quantised(const float* values, std::size_t count);

}  // namespace ir::bench

#endif  // TESTS_BENCH_MEASURE_H_
