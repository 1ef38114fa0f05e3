// Softmax along memory and across it.
#include "kernels/reduction/softmax.h"

#include <fmt/format.h>

#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

struct Case {
  const char* name;
  kernels::AxisShape shape;
};

constexpr Case kCases[] = {
    {"classes_1x1000", {1, 1000, 1}},   {"heads_1536x128", {1536, 128, 1}},
    {"heads_2364x197", {2364, 197, 1}}, {"channels_21x513x513", {1, 21, 513 * 513}},
    {"boxes_4x16x8400", {4, 16, 8400}}, {"columns_112x4096", {1, 112, 4096}},
};

template <class Run>
void run(benchmark::State& state, const kernels::AxisShape& shape, const Run& softmax) {
  const std::vector<float> in = random_floats(shape.outer * shape.length * shape.inner);
  std::vector<float> out(in.size());
  const Work work{0, 2.0 * static_cast<double>(in.size() * sizeof(float))};
  measure(state, work, [&] { softmax(shape, in.data(), out.data()); });
}

}  // namespace

void register_softmax() {
  for (const Case& item : kCases) {
    add(fmt::format("softmax/{}", item.name),
        [item](benchmark::State& state) { run(state, item.shape, kernels::softmax<float>); });
    add(fmt::format("softmax/log_{}", item.name),
        [item](benchmark::State& state) { run(state, item.shape, kernels::log_softmax<float>); });
  }
}

}  // namespace ir::bench
