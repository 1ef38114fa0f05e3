// Functions of one operand and of two, within a core's cache and beyond.
#include <fmt/format.h>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/elementwise_chain.h"
#include "kernels/elementwise/select.h"
#include "kernels/elementwise/unary.h"
#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

using kernels::BinaryOp;
using kernels::UnaryOp;

constexpr std::size_t kInCache = 64 * 28 * 28;
constexpr std::size_t kInMemory = std::size_t{1} << 24;

struct Function {
  const char* name;
  UnaryOp op;
  kernels::UnaryParams params;
};

constexpr Function kFunctions[] = {
    {"relu", UnaryOp::relu, {}},         {"clamp", UnaryOp::clamp, {0, 6}}, {"hswish", UnaryOp::hswish, {}},
    {"exp", UnaryOp::exp, {}},           {"sigmoid", UnaryOp::sigmoid, {}}, {"swish", UnaryOp::swish, {1, 0}},
    {"tanh", UnaryOp::tanh, {}},         {"erf", UnaryOp::erf, {}},         {"erfinv", UnaryOp::erfinv, {}},
    {"gelu_erf", UnaryOp::gelu_erf, {}}, {"mish", UnaryOp::mish, {}},       {"sqrt", UnaryOp::sqrt, {}},
    {"sin", UnaryOp::sin, {}},
};

struct Operands {
  const char* name;
  BinaryOp op;
  std::vector<std::size_t> a, b;
};

const Operands kOperands[] = {
    {"add_cache", BinaryOp::add, {64, 28, 28}, {64, 28, 28}},
    {"add_memory", BinaryOp::add, {64, 512, 512}, {64, 512, 512}},
    {"multiply_by_channel", BinaryOp::multiply, {144, 56, 56}, {144, 1, 1}},
    {"add_by_column", BinaryOp::add, {197, 768}, {768}},
    {"multiply_by_scalar", BinaryOp::multiply, {64, 112, 112}, {1}},
    {"add_outer", BinaryOp::add, {512, 1}, {1, 512}},
    {"divide", BinaryOp::divide, {64, 56, 56}, {64, 56, 56}},
    {"atan2", BinaryOp::atan2, {64, 28, 28}, {64, 28, 28}},
    {"power", BinaryOp::power, {64, 28, 28}, {1}},
    {"power_of_each", BinaryOp::power, {64, 28, 28}, {64, 28, 28}},
};

double bytes_of(std::size_t floats) { return static_cast<double>(floats * sizeof(float)); }

void run_unary(benchmark::State& state, const Function& function, std::size_t count) {
  const std::vector<float> in = random_floats(count);
  std::vector<float> out(count);
  measure(state, {0, 2 * bytes_of(count)},
          [&] { kernels::unary<float>(function.op, function.params, in.data(), out.data(), count); });
}

std::size_t product(const std::vector<std::size_t>& dims) {
  std::size_t size = 1;
  for (const std::size_t dim : dims) size *= dim;
  return size;
}

void run_binary(benchmark::State& state, const Operands& operands) {
  std::vector<std::size_t> output = operands.a;
  const std::size_t offset = operands.a.size() - operands.b.size();
  for (std::size_t i = 0; i < operands.b.size(); ++i)
    output[offset + i] = std::max(output[offset + i], operands.b[i]);
  const kernels::BroadcastPlan plan(output, {operands.a, operands.b});
  const std::vector<float> a = random_floats(product(operands.a));
  std::vector<float> b = random_floats(product(operands.b));
  for (float& value : b) value += 2;  // to divide by
  std::vector<float> out(plan.output_count());
  measure(state, {0, bytes_of(a.size() + b.size() + out.size())},
          [&] { kernels::binary<float>(operands.op, plan, a.data(), b.data(), out.data()); });
}

// y = (x * scale + shift) * sigmoid(x * scale + shift) - 1, cut off below zero: six functions.
const std::vector<kernels::ElementwiseStage> kStages{
    {BinaryOp::multiply, {0, 1}},
    {BinaryOp::add, {4, 2}},
    {kernels::UnarySpec{UnaryOp::sigmoid, {}}, {5, 0}},
    {BinaryOp::multiply, {5, 6}},
    {BinaryOp::subtract, {7, 3}},
    {kernels::UnarySpec{UnaryOp::relu, {}}, {8, 0}},
};

void run_chain(benchmark::State& state, std::size_t channels, std::size_t columns, bool in_turn) {
  const std::vector<std::size_t> image{channels, columns};
  const std::vector<std::size_t> channel{channels, 1};
  const std::vector<std::size_t> one{1};
  const std::vector<kernels::Dims> shapes{image, channel, channel, one};
  const std::vector<float> x = random_floats(channels * columns);
  const std::vector<float> per_channel = random_floats(channels);
  const float number = 1;
  const std::vector<const void*> inputs{x.data(), per_channel.data(), per_channel.data(), &number};
  std::vector<std::vector<float>> results(in_turn ? kStages.size() : 1, std::vector<float>(x.size()));
  const kernels::ElementwiseChain chain(kStages, image, shapes);
  std::vector<kernels::ElementwiseChain> single;
  for (const kernels::ElementwiseStage& stage : kStages) {
    std::vector<kernels::Dims> operands;
    for (const std::size_t operand : stage.operands)
      operands.push_back(operand < shapes.size() ? shapes[operand] : kernels::Dims(image));
    single.emplace_back(std::vector<kernels::ElementwiseStage>{{stage.function, {0, 1}}}, image, operands);
  }
  measure(state, {0, 2 * bytes_of(x.size())}, [&] {
    if (!in_turn) return chain.run(inputs, results[0].data());
    for (std::size_t s = 0; s < kStages.size(); ++s) {
      std::array<const void*, 2> operands{};
      for (std::size_t o = 0; o < 2; ++o) {
        const std::size_t operand = kStages[s].operands[o];
        operands[o] = operand < inputs.size() ? inputs[operand] : results[operand - inputs.size()].data();
      }
      single[s].run(operands, results[s].data());
    }
  });
}

void run_select(benchmark::State& state) {
  const std::vector<std::size_t> dims{kInCache};
  const kernels::BroadcastPlan plan(dims, {dims, dims, dims});
  std::vector<std::uint8_t> condition(kInCache);
  for (std::size_t i = 0; i < condition.size(); ++i) condition[i] = i % 3 == 0;
  const std::vector<float> a = random_floats(kInCache);
  std::vector<float> out(kInCache);
  measure(state, {0, 3 * bytes_of(kInCache) + static_cast<double>(kInCache)},
          [&] { kernels::select(plan, sizeof(float), condition.data(), a.data(), a.data(), out.data()); });
}

}  // namespace

void register_elementwise() {
  for (const Function& function : kFunctions) {
    add(fmt::format("elementwise/{}_cache", function.name),
        [function](benchmark::State& state) { run_unary(state, function, kInCache); });
    add(fmt::format("elementwise/{}_memory", function.name),
        [function](benchmark::State& state) { run_unary(state, function, kInMemory); });
  }
  for (const Operands& operands : kOperands) {
    add(fmt::format("elementwise/{}", operands.name),
        [operands](benchmark::State& state) { run_binary(state, operands); });
  }
  for (const bool in_turn : {false, true}) {
    const char* how = in_turn ? "in_turn" : "chain";
    for (const std::size_t side : {7, 28, 128})
      add(fmt::format("elementwise/{}_{}x{}", how, side, side),
          [=](benchmark::State& state) { run_chain(state, 64, side * side, in_turn); });
  }
  add("elementwise/select", run_select);
}

}  // namespace ir::bench
