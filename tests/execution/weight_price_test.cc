// Memory for weights goes to the algorithms that save the most time with it.
#include "runtime/execution/weight_price.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "ir_runtime/tuning.h"
#include "tests/execution/sample_models.h"

namespace ir::test {
namespace {

constexpr std::int64_t kMuch = 1'000'000;

/// A choice between kernels that do nothing; the first one is expected to be the fastest.
KernelChoice choice_of(const std::vector<KernelEstimate>& estimates) {
  const auto prepare = [estimates](std::string_view name) -> std::optional<PreparedKernel> {
    PreparedKernel kernel;
    kernel.name = "fake/" + std::string(name.empty() ? estimates.front().algorithm : name);
    kernel.run = [](const StepMemory&) {};
    return kernel;
  };
  return {[] { return "fake"; }, [estimates] { return estimates; }, prepare};
}

/// What is chosen for each when all may take `bytes` more than the least.
std::vector<std::string> chosen(const std::vector<std::vector<KernelEstimate>>& steps, std::int64_t bytes) {
  WeightSurvey survey;
  for (const auto& step : steps) (void)survey.choose(choice_of(step), {}, {});
  PricedChoice choice(survey.price_for(bytes));
  std::vector<std::string> names;
  names.reserve(steps.size());
  for (const auto& step : steps) names.push_back(choice.choose(choice_of(step), {}, {}).name.substr(5));
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("What saves the most time per byte gets the memory") {
  // A saves 10 cycles for 100 bytes, B 40 for 100 bytes, C has nothing to choose.
  const std::vector<std::vector<KernelEstimate>> steps{
      {{"A large", 90, 150}, {"A small", 100, 50}},
      {{"B large", 460, 200}, {"B small", 500, 100}},
      {{"C", 10, 70}},
  };
  CHECK(chosen(steps, kMuch) == Names{"A large", "B large", "C"});
  CHECK(chosen(steps, 200) == Names{"A large", "B large", "C"});
  CHECK(chosen(steps, 199) == Names{"A small", "B large", "C"});
  CHECK(chosen(steps, 100) == Names{"A small", "B large", "C"});
  CHECK(chosen(steps, 99) == Names{"A small", "B small", "C"});
  CHECK(chosen(steps, 0) == Names{"A small", "B small", "C"});
}

TEST_CASE("An algorithm between the fastest and the smallest is taken when its memory is worth it") {
  const std::vector<std::vector<KernelEstimate>> steps{
      {{"fast", 100, 400}, {"medium", 110, 200}, {"bad", 129, 190}, {"small", 130, 100}}};
  CHECK(chosen(steps, 300) == Names{"fast"});
  CHECK(chosen(steps, 299) == Names{"medium"});
  CHECK(chosen(steps, 100) == Names{"medium"});
  CHECK(chosen(steps, 99) == Names{"small"});
}

TEST_CASE("Equal steps share what there is one by one, the first ones first") {
  const std::vector<KernelEstimate> step{{"large", 90, 150}, {"small", 100, 50}};
  const std::vector<std::vector<KernelEstimate>> steps{step, step, step};
  CHECK(chosen(steps, 300) == Names{"large", "large", "large"});
  CHECK(chosen(steps, 299) == Names{"large", "large", "small"});
  CHECK(chosen(steps, 199) == Names{"large", "small", "small"});
  CHECK(chosen(steps, 99) == Names{"small", "small", "small"});
}

TEST_CASE("An algorithm that is hardly faster is taken only where there is memory for all") {
  const std::vector<std::vector<KernelEstimate>> steps{
      {{"A large", 100, 110}, {"A small", 105, 100}},
      {{"B large", 460, 200}, {"B small", 500, 100}},
  };
  CHECK(chosen(steps, 110) == Names{"A large", "B large"});
  CHECK(chosen(steps, 109) == Names{"A small", "B large"});
  CHECK(chosen(steps, 99) == Names{"A small", "B small"});
  const std::vector<std::vector<KernelEstimate>> others{{{"A large", 100, 110}, {"A small", 106, 100}},
                                                        steps[1]};
  CHECK(chosen(others, 99) == Names{"A large", "B small"});
}

TEST_CASE("Where much time would be lost, memory does not count") {
  const std::vector<std::vector<KernelEstimate>> steps{{{"large", 100, 200}, {"small", 1000, 100}}};
  CHECK(chosen(steps, 0) == Names{"large"});
}

TEST_CASE("An algorithm that turns out not to take the geometry leaves it to the expected one") {
  KernelChoice choice = choice_of({{"large", 90, 150}, {"small", 100, 50}});
  const auto prepare = choice.prepare;
  choice.prepare = [prepare](std::string_view name) -> std::optional<PreparedKernel> {
    return name == "small" ? std::nullopt : prepare(name);
  };
  CHECK(PricedChoice({.cycles = 1}).choose(choice, {}, {}).name == "fake/large");
}

TEST_CASE(
    "What may be spent is a part of constants, weights and the largest step's values, less what a process "
    "takes") {
  constexpr std::int64_t kMiB = 1 << 20;
  const ValueInfo value{ElementType::f32, PartialShape{1, kMiB}, nullptr, std::nullopt};
  const ValueInfo unknown{ElementType::f32, PartialShape{1, Dimension()}, nullptr, std::nullopt};
  const auto chosen_with = [&](std::int64_t constants, double extra_weights) {
    WeightSurvey survey;
    const KernelChoice choice = choice_of({{"large", 1000, 12 * kMiB}, {"small", 2000, 4 * kMiB}});
    (void)survey.choose(choice, {}, {});
    survey.add_step(std::vector{value, unknown}, std::vector{value});
    survey.add_step(std::vector{value}, {});
    const MemoryNeed need{.constants = constants, .packed = 8 * kMiB};
    return PricedChoice(survey.price(need, extra_weights)).choose(choice, {}, {}).name;
  };
  CHECK(chosen_with(64 * kMiB, 0.25) == "fake/large");
  CHECK(chosen_with(64 * kMiB - 4, 0.25) == "fake/small");
  CHECK(chosen_with(kMuch, 0) == "fake/small");
  CHECK(chosen_with(std::numeric_limits<std::int64_t>::max(), 1e9) == "fake/large");
}

TEST_CASE("1 MiB may be spent whatever a model takes") {
  const auto chosen_with = [](std::int64_t more) {
    WeightSurvey survey;
    const KernelChoice choice = choice_of({{"large", 1000, 100 + more}, {"small", 2000, 100}});
    (void)survey.choose(choice, {}, {});
    return PricedChoice(survey.price({}, 0)).choose(choice, {}, {}).name;
  };
  CHECK(chosen_with(std::int64_t{1} << 20) == "fake/large");
  CHECK(chosen_with((std::int64_t{1} << 20) + 1) == "fake/small");
}

/// Algorithms of the convolutions of a model with many filters, by layer.
std::map<std::string, std::string> algorithms_of(CompileOptions options, const Dimension& batch = 1) {
  Model model;
  Node* value = &model.add_parameter(ElementType::f32, {batch, 128, 40, 40}, "data");
  for (unsigned i = 0; i < 4; ++i) {
    Node& filters = model.add_constant(noise({128, 128, 3, 3}, i));
    value = &model.add(same_size_convolution(), {*value, filters}, "layer " + std::to_string(i));
  }
  model.add_result(*value);
  options.threads = 1;
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, {noise({1, 128, 40, 40}, 9)});
  std::map<std::string, std::string> algorithms;
  for (const StepProfile& step : request.profile()) algorithms[step.layer] = step.kernel;
  return algorithms;
}

TEST_CASE("Transformed filters take as much memory as extra_weights says") {
  CompileOptions options;
  options.extra_weights = -1;
  const auto fastest = algorithms_of(options);
  // Free choices do not depend on how many layers there are; all are alike.
  for (const auto& [layer, kernel] : fastest) CHECK(kernel == fastest.begin()->second);
  options.extra_weights = 10;
  CHECK(algorithms_of(options) == fastest);

  options.extra_weights = 0;
  const auto smallest = algorithms_of(options);
  CHECK(algorithms_of(options) == smallest);
  CHECK(algorithms_of(options, Dimension(1, 2)) == smallest);  // planned when the input is there
  if (fastest.begin()->second == "convolution/winograd_4x4") {
    // 1.8 MB more for each, where 1 MiB may be spent.
    CHECK(std::ranges::count(smallest, fastest.begin()->second, [](const auto& p) { return p.second; }) == 0);
  }
}

TEST_CASE("What was measured is taken whatever its weights take") {
  CompileOptions options;
  options.extra_weights = 0;
  options.tuning = std::make_shared<Tuning>();
  options.tune = true;
  (void)algorithms_of(options);
  for (const auto& [key, algorithm] : options.tuning->choices())
    options.tuning->set_choice(key, "winograd_4x4");
  options.tune = false;
  for (const auto& [layer, kernel] : algorithms_of(options)) CHECK(kernel == "convolution/winograd_4x4");
}

}  // namespace
}  // namespace ir::test
