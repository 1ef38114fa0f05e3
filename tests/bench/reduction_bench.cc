// Reductions along memory and across it.
#include <fmt/format.h>

#include "kernels/reduction/reduce.h"
#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

using kernels::ReduceOp;

struct Reduction {
  const char* name;
  std::vector<std::size_t> dims;
  std::vector<std::size_t> axes;
};

const Reduction kReductions[] = {
    {"rows_197x768", {197, 768}, {1}},
    {"columns_197x768", {197, 768}, {0}},
    {"image_256x56x56", {256, 56, 56}, {1, 2}},
    {"channels_256x56x56", {256, 56, 56}, {0}},
    {"all_64x512x512", {64, 512, 512}, {0, 1, 2}},
    {"rows_64x512x512", {64, 512, 512}, {2}},
};

struct Function {
  const char* name;
  ReduceOp op;
};

constexpr Function kFunctions[] = {{"sum", ReduceOp::sum}, {"max", ReduceOp::max}, {"l2", ReduceOp::l2}};

void run(benchmark::State& state, const Reduction& reduction, ReduceOp op) {
  const kernels::AxesPlan plan(reduction.dims, reduction.axes);
  const std::vector<float> in = random_floats(plan.input_count());
  std::vector<float> out(plan.output_count());
  const Work work{static_cast<double>(in.size()),
                  static_cast<double>((in.size() + out.size()) * sizeof(float))};
  measure(state, work, [&] { kernels::reduce<float>(op, plan, in.data(), out.data()); });
}

}  // namespace

void register_reduction() {
  for (const Reduction& reduction : kReductions) {
    for (const Function& function : kFunctions) {
      add(fmt::format("reduction/{}_{}", function.name, reduction.name),
          [reduction, function](benchmark::State& state) { run(state, reduction, function.op); });
    }
  }
}

}  // namespace ir::bench
