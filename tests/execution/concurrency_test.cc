// Requests of one compiled model at the same time, built to be watched by ThreadSanitizer. Each thread brings
// a pool of one, whose loops run on the thread itself, so that all sharing is what the library itself shares:
// plans, packed weights, bodies and caches. Where loops are to be spread, the model has a pool of its own.
#include <functional>
#include <latch>
#include <thread>

#include "kernels/threads/parallel.h"
#include "tests/execution/bodies.h"
#include "tests/execution/stateful_models.h"

namespace ir::test {
namespace {

constexpr std::size_t kThreads = 4;

/// Runs `work(number of the thread)` on all threads at once, each in a pool of one.
void at_once(const std::function<void(std::size_t thread)>& work) {
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      kernels::ThreadPool(1).run([&] { work(thread); });
    });
  }
  for (std::thread& thread : threads) thread.join();
}

CompileOptions on_callers_thread() {
  CompileOptions options;
  options.use_callers_arena = true;
  return options;
}

/// What each of several inputs gives when they are inferred one after the other.
std::vector<std::vector<Tensor>> one_by_one(const Model& model,
                                            const std::vector<std::vector<Tensor>>& inputs) {
  std::vector<std::vector<Tensor>> results;
  results.reserve(inputs.size());
  for (const auto& input : inputs) results.push_back(results_of(model, input));
  return results;
}

/// Each thread has a request and runs all inputs, from another one on; CHECK is not made for threads.
bool same_at_once(const Model& model, const std::vector<std::vector<Tensor>>& inputs,
                  const CompileOptions& options = on_callers_thread()) {
  const auto expected = one_by_one(model, inputs);
  const CompiledModel compiled = compile_model(model, options);
  std::vector<char> same(kThreads, 1);
  at_once([&](std::size_t thread) {
    InferRequest request = compiled.create_infer_request();
    for (std::size_t i = 0; i < 3 * inputs.size(); ++i) {
      const std::size_t which = (i + thread) % inputs.size();
      if (!same_bits(infer(request, compiled, inputs[which]), expected[which])) same[thread] = 0;
    }
  });
  return same == std::vector<char>(kThreads, 1);
}

TEST_CASE("requests at once give what requests one by one give", "[concurrency]") {
  CHECK(same_at_once(small_network(), {{noise({1, 3, 20, 20}, 1)}, {noise({1, 3, 20, 20}, 2)}}));
}

TEST_CASE("requests at once share a pool that has fewer threads than there are requests", "[concurrency]") {
  CompileOptions options;
  options.threads = 2;
  CHECK(same_at_once(small_network(), {{noise({1, 3, 20, 20}, 1)}, {noise({1, 3, 20, 20}, 2)}}, options));
  CHECK(same_at_once(small_network(Dimension()), {{noise({3, 3, 20, 20}, 1)}, {noise({5, 3, 20, 20}, 2)}},
                     options));
}

TEST_CASE("requests at once with more shapes than plans are kept", "[concurrency]") {
  std::vector<std::vector<Tensor>> inputs;
  for (std::int64_t batch = 1; batch <= 40; ++batch) inputs.push_back({noise({batch, 3, 20, 20}, 1)});
  CHECK(same_at_once(small_network(Dimension()), inputs));
}

TEST_CASE("requests at once share packed weights of several shapes", "[concurrency]") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 60}, "x");
  Node& first = model.add(op::v0::MatMul(), {x, model.add_constant(noise({60, 90}, 1))}, "first");
  model.add_result(model.add(op::v0::MatMul(), {first, model.add_constant(noise({90, 50}, 2))}, "second"));
  std::vector<std::vector<Tensor>> inputs;
  for (std::int64_t rows = 1; rows <= 60; rows += 7) inputs.push_back({noise({rows, 60}, 3)});
  CHECK(same_at_once(model, inputs));
  CompileOptions options;
  options.threads = 2;
  CHECK(same_at_once(model, inputs, options));
}

TEST_CASE("requests at once share a body", "[concurrency]") {
  const auto body = new_body();
  Node& x = body->add_parameter(ElementType::f32, {Dimension(), 2}, "x");
  Node& twice = body->add(op::v1::Add(), {x, x}, "twice");
  body->add_result(add_condition(*body, true));
  body->add_result(twice);
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, {}}}};
  Model model;
  Node& start = model.add_parameter(ElementType::f32, {Dimension(), 2}, "start");
  Node& trips = model.add_parameter(ElementType::i64, Shape{}, "trips");
  model.add_result(model.add(loop, {trips, add_condition(model, true), start}, "loop"));
  CHECK(same_at_once(model, {{noise({3, 2}, 1), i64({}, {3})}, {noise({1, 2}, 2), i64({}, {5})}}));
}

TEST_CASE("requests at once have variables of their own", "[concurrency]") {
  const CompiledModel compiled = compile_model(running_sum(), on_callers_thread());
  std::vector<float> sums(kThreads);
  at_once([&](std::size_t thread) {
    InferRequest request = compiled.create_infer_request();
    const auto step = static_cast<float>(thread + 1);
    for (int i = 0; i < 5; ++i) (void)infer(request, compiled, {f32({2}, {step, step})});
    sums[thread] = request.output_tensor(0).data<float>()[0];
  });
  CHECK(sums == std::vector<float>{15, 20, 25, 30});
}

TEST_CASE("one model is compiled by several threads at once", "[concurrency]") {
  const Model model = small_network();
  const std::vector<Tensor> input{noise({1, 3, 20, 20}, 1)};
  const std::vector<Tensor> expected = results_of(model, input);
  std::vector<char> same(kThreads, 0);
  at_once([&](std::size_t thread) {
    same[thread] = same_bits(results_of(model, input, on_callers_thread()), expected) ? 1 : 0;
  });
  CHECK(same == std::vector<char>(kThreads, 1));
}

}  // namespace
}  // namespace ir::test
