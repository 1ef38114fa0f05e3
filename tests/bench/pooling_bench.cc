// Pooling windows that slide, and whole images.
#include "kernels/pooling/pooling.h"

#include <fmt/format.h>

#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

struct Pool {
  const char* name;
  std::size_t channels, size, kernel, stride, pad;
};

constexpr Pool kPools[] = {
    {"3x3_s2_64_112", 64, 112, 3, 2, 1},   {"3x3_s1_288_35", 288, 35, 3, 1, 1},
    {"2x2_s2_64_224", 64, 224, 2, 2, 0},   {"5x5_s1_512_13", 512, 13, 5, 1, 2},
    {"7x7_global_2048", 2048, 7, 7, 7, 0}, {"56x56_global_256", 256, 56, 56, 56, 0},
};

template <class Kernel>
void run(benchmark::State& state, const Pool& pool) {
  const std::size_t out = (pool.size + 2 * pool.pad - pool.kernel) / pool.stride + 1;
  const kernels::WindowAxis axis =
      kernels::sliding_windows({pool.size, out, pool.kernel, pool.stride, 1, pool.pad, pool.pad});
  const Kernel kernel(pool.channels, {axis, axis});
  const std::vector<float> image = random_floats(pool.channels * pool.size * pool.size);
  std::vector<float> result(pool.channels * out * out);
  const Work work{0, static_cast<double>((image.size() + result.size()) * sizeof(float))};
  measure(state, work, [&] { kernel.run(image.data(), result.data()); });
}

}  // namespace

void register_pooling() {
  for (const Pool& pool : kPools) {
    add(fmt::format("pooling/max_{}", pool.name),
        [pool](benchmark::State& state) { run<kernels::MaxPool>(state, pool); });
    add(fmt::format("pooling/average_{}", pool.name),
        [pool](benchmark::State& state) { run<kernels::AveragePool>(state, pool); });
  }
}

}  // namespace ir::bench
