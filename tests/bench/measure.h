// What the kernel benchmarks share.
#ifndef TESTS_BENCH_MEASURE_H_
#define TESTS_BENCH_MEASURE_H_

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "tests/bench/machine_peak.h"

namespace ir::bench {

/// Each file adds its family's benchmarks, named FAMILY/CASE.
void register_attention();
void register_convert();
void register_convolution();
void register_depthwise();
void register_elementwise();
void register_gemm();
void register_movement();
void register_normalization();
void register_pooling();
void register_reduction();
void register_rnn();
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

/// Adds the rates of `iterations` calls in `seconds`, and their shares of the machine's peak, to the output.
void report(benchmark::State& state, const Work& work, double seconds);

/// Calls `body` in the pool as often as the benchmark wants.
template <class Body>
void measure(benchmark::State& state, const Work& work, const Body& body) {
  double seconds = 0;
  pool().run([&] {
    body();  // touches memory for the first time
    const auto start = std::chrono::steady_clock::now();
    for ([[maybe_unused]] auto iteration : state) {
      body();
      benchmark::ClobberMemory();
    }
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
  report(state, work, seconds);
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

}  // namespace ir::bench

#endif  // TESTS_BENCH_MEASURE_H_
