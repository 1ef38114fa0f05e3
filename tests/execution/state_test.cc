// Variables: what requests remember from one inference to the next.
#include <thread>

#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/gather.h"
#include "tests/execution/allocation_counter.h"
#include "tests/execution/stateful_models.h"

namespace ir::test {
namespace {

// Rows of a growing cache all at once: what the model computes when it sees the whole sequence.
Tensor attended(const Tensor& rows) {
  const CompiledModel compiled = compile_model(growing_cache(true));
  InferRequest request = compiled.create_infer_request();
  return infer(request, compiled, {rows}).at(0);
}

Tensor rows_of(const Tensor& all, std::int64_t first, std::int64_t count) {
  const auto data = all.data<float>().subspan(static_cast<std::size_t>(4 * first), 4 * count);
  return f32({1, count, 4}, {data.begin(), data.end()});
}

}  // namespace

TEST_CASE("A variable keeps what was assigned until it is reset") {
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(running_sum(), options);
    InferRequest request = compiled.create_infer_request();
    const auto run = [&](float a, float b) { return infer(request, compiled, {f32({2}, {a, b})}).at(0); };
    check_equal<float>(run(1, 2), {2}, {11, 22});
    check_equal<float>(run(1, 2), {2}, {12, 24});
    check_equal<float>(run(0, 0), {2}, {12, 24});
    request.reset_state();
    check_equal<float>(run(1, 1), {2}, {11, 21});
  }
}

TEST_CASE("States can be queried, set and reset by name") {
  const CompiledModel compiled = compile_model(running_sum());
  InferRequest request = compiled.create_infer_request();
  const auto run = [&] { return infer(request, compiled, {f32({2}, {1, 2})}).at(0); };
  std::vector<VariableState> states = request.query_state();
  REQUIRE(states.size() == 1);
  VariableState& sum = states[0];
  CHECK(sum.name() == "sum");
  CHECK(sum.element_type() == ElementType::f32);
  CHECK(sum.shape() == PartialShape{2});
  check_equal<float>(sum.get_state(), {2}, {0, 0});
  run();
  const Tensor first = sum.get_state();
  check_equal<float>(first, {2}, {11, 22});
  Tensor given = f32({2}, {100, 200});
  sum.set_state(given);
  given.data<float>()[0] = -1;
  check_equal<float>(sum.get_state(), {2}, {100, 200});
  check_equal<float>(run(), {2}, {101, 202});
  check_equal<float>(run(), {2}, {102, 204});
  check_equal<float>(first, {2}, {11, 22});
  sum.reset();
  check_equal<float>(sum.get_state(), {2}, {0, 0});
  check_equal<float>(run(), {2}, {11, 22});
  CHECK(error_of([&] {
          sum.set_state(i32({2}, {1, 2}));
        }) == "IR-variable-type: the variable 'sum' holds f32, the value is i32");
  CHECK(error_of([&] {
          sum.set_state(f32({3}, {1, 2, 3}));
        }) == "IR-variable-shape: the variable 'sum' holds shape [2], the value has [3]");
  check_equal<float>(run(), {2}, {12, 24});
}

TEST_CASE("A state outlives its request") {
  std::vector<VariableState> states;
  {
    const CompiledModel compiled = compile_model(running_sum());
    InferRequest request = compiled.create_infer_request();
    infer(request, compiled, {f32({2}, {1, 2})});
    states = request.query_state();
  }
  check_equal<float>(states.at(0).get_state(), {2}, {11, 22});
}

TEST_CASE("Models without variables have no state") {
  CHECK(compile_model(small_network()).create_infer_request().query_state().empty());
}

TEST_CASE("Half-precision variables show halves") {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    const CompiledModel compiled = compile_model(running_sum(type));
    InferRequest request = compiled.create_infer_request();
    const auto run = [&] { return infer(request, compiled, {f32({2}, {1, 2}).converted(type)}).at(0); };
    CHECK(same_bits(run(), f32({2}, {11, 22}).converted(type)));
    CHECK(same_bits(run(), f32({2}, {12, 24}).converted(type)));
    VariableState sum = state_of(request, "sum");
    CHECK(sum.element_type() == type);
    CHECK(same_bits(sum.get_state(), f32({2}, {12, 24}).converted(type)));
    sum.set_state(f32({2}, {1, 1}).converted(type));
    CHECK(same_bits(run(), f32({2}, {2, 3}).converted(type)));
  }
}

TEST_CASE("Variables of every type keep their elements") {
  for (const ElementType type :
       {ElementType::boolean, ElementType::f64, ElementType::i8, ElementType::i16, ElementType::i32,
        ElementType::i64, ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64,
        ElementType::i4, ElementType::u4, ElementType::u1}) {
    INFO(name_of(type));
    Model model;
    Node& x = model.add_parameter(type, {3}, "x");
    Node& before = model.add(read_value("v", type, {3}), {}, "before");
    model.add(assign("v"), {x}, "kept");
    model.add_result(before);
    const CompiledModel compiled = compile_model(model);
    InferRequest request = compiled.create_infer_request();
    const Tensor value = f32({3}, {1, 0, 1}).converted(type);
    const Tensor zeros = f32({3}, {0, 0, 0}).converted(type);
    CHECK(
        same_bits(infer(request, compiled, {value}).at(0).converted(ElementType::f32), f32({3}, {0, 0, 0})));
    CHECK(
        same_bits(infer(request, compiled, {zeros}).at(0).converted(ElementType::f32), f32({3}, {1, 0, 1})));
    CHECK(
        same_bits(infer(request, compiled, {zeros}).at(0).converted(ElementType::f32), f32({3}, {0, 0, 0})));
  }
}

TEST_CASE("Strings can be kept") {
  Model model;
  Node& x = model.add_parameter(ElementType::string, {Dimension()}, "x");
  Node& before = model.add(read_value("v", ElementType::string, {Dimension()}), {}, "before");
  model.add(assign("v"), {x}, "kept");
  model.add_result(before);
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  const auto run = [&](std::vector<std::string> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const Tensor result = infer(request, compiled, {tensor<std::string>({count}, values)}).at(0);
    const auto strings = result.data<std::string>();
    return std::vector<std::string>(strings.begin(), strings.end());
  };
  using Strings = std::vector<std::string>;
  CHECK(run({"one", "two"}).empty());
  CHECK(run({"three"}) == Strings{"one", "two"});
  CHECK(run({"a string that is too long to lie in the object"}) == Strings{"three"});
  CHECK(run({}) == Strings{"a string that is too long to lie in the object"});
}

TEST_CASE("The input of ReadValue counts in every inference until something is assigned") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  Node& doubled = model.add(op::v1::Add(), {x, x}, "doubled");
  model.add_result(model.add(read_value("v"), {doubled}, "read"));
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    check_equal<float>(infer(request, compiled, {f32({2}, {1, 2})}).at(0), {2}, {2, 4});
    check_equal<float>(infer(request, compiled, {f32({3}, {5, 6, 7})}).at(0), {3}, {10, 12, 14});
    state_of(request, "v").set_state(f32({1}, {9}));
    check_equal<float>(infer(request, compiled, {f32({3}, {5, 6, 7})}).at(0), {1}, {9});
    request.reset_state();
    check_equal<float>(infer(request, compiled, {f32({1}, {3})}).at(0), {1}, {6});
  }
}

TEST_CASE("What gives the first value alone is computed only while it is wanted") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  Node& index = model.add_parameter(ElementType::i64, {1}, "index");
  Node& picked = model.add(op::v8::Gather(), {x, index, model.add_constant(0)}, "picked");
  Node& negative = model.add(op::v0::Negative(), {picked}, "negative");
  Node& before = model.add(read_value("v"), {negative}, "before");
  Node& sum = model.add(op::v1::Add(), {before, x}, "sum");
  model.add(assign("v"), {model.add(op::v8::Gather(), {sum, model.add_constant(std::vector<std::int64_t>{0}),
                                                       model.add_constant(0)})});
  model.add_result(sum);
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    const auto run = [&](std::int64_t at) {
      return infer(request, compiled, {f32({2}, {3, 5}), i64({1}, {at})}).at(0);
    };
    check_equal<float>(run(1), {2}, {-2, 0});
    // Out of range, if it were looked at.
    check_equal<float>(run(2000), {2}, {1, 3});
    check_equal<float>(run(1), {2}, {4, 6});
    request.reset_state();
    check_equal<float>(run(0), {2}, {0, 2});
  }
}

TEST_CASE("A variable without input starts with zeros") {
  Model model;
  Node& x = model.add_parameter(ElementType::i32, {Dimension(), 2}, "x");
  Node& past = model.add(read_value("v", ElementType::i32, {Dimension(), 2}), {}, "past");
  Node& present = model.add(op::v0::Concat(), {past, x}, "present");
  model.add(assign("v"), {present});
  model.add_result(present);
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  CHECK(state_of(request, "v").get_state().shape() == Shape{0, 2});
  check_equal<std::int32_t>(infer(request, compiled, {i32({1, 2}, {1, 2})}).at(0), {1, 2}, {1, 2});
  check_equal<std::int32_t>(infer(request, compiled, {i32({2, 2}, {3, 4, 5, 6})}).at(0), {3, 2},
                            {1, 2, 3, 4, 5, 6});
  check_equal<std::int32_t>(state_of(request, "v").get_state(), {3, 2}, {1, 2, 3, 4, 5, 6});
}

TEST_CASE("A variable of a known type and an unknown shape takes other dims than its first value") {
  Model model;
  Node& x = model.add_parameter(ElementType::i32, {1, 2}, "x");
  Node& past = model.add(read_value("v", ElementType::i32, {}), {x}, "past");
  CHECK(past.output(0).shape == PartialShape::of_rank(2));
  Node& present = model.add(op::v0::Concat(), {past, x}, "present");
  model.add(assign("v"), {present});
  model.add_result(present);
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  check_equal<std::int32_t>(infer(request, compiled, {i32({1, 2}, {1, 2})}).at(0), {2, 2}, {1, 2, 1, 2});
  check_equal<std::int32_t>(infer(request, compiled, {i32({1, 2}, {3, 4})}).at(0), {3, 2},
                            {1, 2, 1, 2, 3, 4});
}

TEST_CASE("A cache grows with every inference") {
  const Tensor sequence = noise({1, 12, 4}, 5);
  const Tensor last = attended(sequence);
  for (const bool declared : {true, false}) {
    for (const CompileOptions& options : all_options()) {
      const CompiledModel compiled = compile_model(growing_cache(declared), options);
      InferRequest request = compiled.create_infer_request();
      for (int round = 0; round < 2; ++round) {
        std::int64_t seen = 0;
        Tensor result;
        for (const std::int64_t count : {5, 1, 1, 2, 1, 1, 1}) {
          result = infer(request, compiled, {rows_of(sequence, seen, count)}).at(0);
          seen += count;
          CHECK(state_of(request, "keys").get_state().shape() == Shape{1, seen, 4});
        }
        const auto expected = last.data<float>().last(4);
        check_close(result, {1, 1, 4}, {expected.begin(), expected.end()});
        request.reset_state();
      }
    }
  }
}

TEST_CASE("A cache can be cut") {
  const Tensor sequence = noise({1, 6, 4}, 5);
  const CompiledModel compiled = compile_model(growing_cache(true));
  InferRequest request = compiled.create_infer_request();
  infer(request, compiled, {rows_of(sequence, 0, 4)});
  const Tensor after_five = infer(request, compiled, {rows_of(sequence, 4, 1)}).at(0);
  infer(request, compiled, {rows_of(sequence, 2, 3)});
  for (VariableState& state : request.query_state()) state.set_state(rows_of(state.get_state(), 0, 4));
  CHECK(same_bits(infer(request, compiled, {rows_of(sequence, 4, 1)}).at(0), after_five));
}

TEST_CASE("Requests have variables of their own") {
  const CompiledModel compiled = compile_model(growing_cache(true));
  const Tensor sequence = noise({1, 30, 4}, 8);
  const auto run = [&](std::int64_t stride) {
    InferRequest request = compiled.create_infer_request();
    std::vector<Tensor> results;
    for (std::int64_t at = 0; at + stride <= 30; at += stride)
      results.push_back(infer(request, compiled, {rows_of(sequence, at, stride)}).at(0));
    return results;
  };
  std::vector<std::vector<Tensor>> alone;
  for (const std::int64_t stride : {1, 2, 3, 5}) alone.push_back(run(stride));
  std::vector<std::vector<Tensor>> together(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { together[i] = run(std::vector<std::int64_t>{1, 2, 3, 5}[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 4; ++i) CHECK(same_bits(together[i], alone[i]));
}

TEST_CASE("A read comes before the assignment of the same inference, wherever it stands") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  Node& start = model.add_constant(f32({1}, {-1}));
  Node& assigned = model.add(assign("v"), {x}, "kept");
  Node& before = model.add(read_value("v"), {start}, "before");
  model.add_result(before);
  model.add_result(model.add(read_value("v"), {start}, "again"));
  model.add_result(assigned);
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    float expected = -1;
    for (const float value : {1.0F, 2.0F, 3.0F}) {
      const std::vector<Tensor> results = infer(request, compiled, {f32({1}, {value})});
      check_equal<float>(results[0], {1}, {expected});
      check_equal<float>(results[1], {1}, {expected});
      check_equal<float>(results[2], {1}, {value});
      expected = value;
    }
  }
}

TEST_CASE("An Assign may feed the ReadValue of its variable") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  Node& assigned = model.add(assign("v"), {x}, "kept");
  model.add_result(model.add(read_value("v"), {assigned}, "read"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  for (int run = 0; run < 3; ++run)
    check_equal<float>(infer(request, compiled, {f32({1}, {4})}).at(0), {1}, {4});
}

TEST_CASE("Variables may be passed from one to the other") {
  // a takes the input, b what a was, c what b was.
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {2}, "x");
  Node& a = model.add(read_value("a", ElementType::f32, {2}), {}, "read_a");
  Node& b = model.add(read_value("b", ElementType::f32, {2}), {}, "read_b");
  Node& c = model.add(read_value("c", ElementType::f32, {2}), {}, "read_c");
  model.add(assign("a"), {x});
  model.add(assign("b"), {a});
  model.add(assign("c"), {b});
  model.add_result(c);
  for (const CompileOptions& options : all_options()) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    for (int i = 1; i < 9; ++i) {
      const float value = static_cast<float>(i);
      const float expected = static_cast<float>(std::max(0, i - 3));
      check_equal<float>(infer(request, compiled, {f32({2}, {value, -value})}).at(0), {2},
                         {expected, -expected});
    }
  }
}

TEST_CASE("Writing to an output does not change a variable") {
  for (const PartialShape& shape : {PartialShape{2}, PartialShape{Dimension()}}) {
    Model model;
    Node& x = model.add_parameter(ElementType::f32, shape, "x");
    Node& before = model.add(read_value("v", ElementType::f32, shape), {x}, "before");
    Node& after = model.add(op::v1::Add(), {before, x}, "after");
    Node& flat = model.add(op::v0::Unsqueeze(), {before, model.add_constant(0)}, "flat");
    model.add(assign("v"), {after}, "kept");
    for (Node* node : {&before, &after, &flat}) model.add_result(*node);
    const CompiledModel compiled = compile_model(model);
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(0, f32({2}, {1, 2}));
    for (int run = 1; run < 5; ++run) {
      request.infer();
      const auto value = static_cast<float>(run);
      check_equal<float>(request.output_tensor(0), {2}, {value, 2 * value});
      check_equal<float>(request.output_tensor(1), {2}, {value + 1, 2 * value + 2});
      check_equal<float>(request.output_tensor(2), {1, 2}, {value, 2 * value});
      for (std::size_t i = 0; i < 3; ++i) {
        Tensor output = request.output_tensor(i);
        std::memset(output.raw(), 0x7f, output.byte_size());
      }
    }
  }
}

TEST_CASE("An inference that fails leaves variables as they were") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  Node& index = model.add_parameter(ElementType::i64, {1}, "index");
  Node& before = model.add(read_value("v", ElementType::f32, {Dimension()}), {}, "before");
  Node& after = model.add(op::v0::Concat(), {before, x}, "after");
  model.add(assign("v"), {after}, "kept");
  model.add_result(model.add(op::v1::Gather(), {after, index, model.add_constant(0)}, "picked"));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  infer(request, compiled, {f32({2}, {1, 2}), i64({1}, {0})});
  CHECK(error_of([&] {
          infer(request, compiled, {f32({1}, {3}), i64({1}, {9})});
        }).starts_with("picked: IR-"));
  check_equal<float>(state_of(request, "v").get_state(), {2}, {1, 2});
  check_equal<float>(infer(request, compiled, {f32({1}, {4}), i64({1}, {2})}).at(0), {1}, {4});
  check_equal<float>(state_of(request, "v").get_state(), {3}, {1, 2, 4});
}

TEST_CASE("A variable takes its shape from the first value when the model does not say it") {
  const auto sum_model = [](const Dimension& batch) {
    Model model;
    Node& x = model.add_parameter(ElementType::f32, {batch, 2}, "x");
    Node& before = model.add(read_value_3("v"), {x}, "before");
    Node& after = model.add(op::v1::Add(), {before, x}, "after");
    model.add(assign_3("v"), {after}, "kept");
    model.add_result(after);
    return model;
  };
  const CompiledModel fixed = compile_model(sum_model(1));
  CHECK(state_of(fixed.create_infer_request(), "v").shape() == PartialShape{1, 2});
  const CompiledModel compiled = compile_model(sum_model(Dimension()));
  InferRequest request = compiled.create_infer_request();
  CHECK(state_of(request, "v").shape() == PartialShape{Dimension(), 2});
  check_equal<float>(infer(request, compiled, {f32({1, 2}, {1, 2})}).at(0), {1, 2}, {2, 4});
  check_equal<float>(infer(request, compiled, {f32({1, 2}, {1, 2})}).at(0), {1, 2}, {3, 6});
  request.reset_state();
  check_equal<float>(infer(request, compiled, {f32({2, 2}, {1, 2, 3, 4})}).at(0), {2, 2}, {2, 4, 6, 8});
}

TEST_CASE("Runs of a stateful model of fixed shapes settle in their memory") {
  const CompiledModel compiled = compile_model(running_sum());
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(0, f32({2}, {1, 1}));
  for (int run = 0; run < 3; ++run) request.infer();
  const auto allocations_of_a_run = [&] {
    const std::size_t before = allocation_count();
    request.infer();
    return allocation_count() - before;
  };
  // Shapes of tensors that are handed around; nothing of the size of the variable.
  CHECK(allocations_of_a_run() <= 8);
}

TEST_CASE("Profiles name reads and assignments") {
  const CompiledModel compiled = compile_model(running_sum());
  InferRequest request = compiled.create_infer_request();
  std::vector<std::string> kernels;
  for (const StepProfile& step : request.profile()) kernels.push_back(step.type + " " + step.kernel);
  CHECK(kernels.front() == "ReadValue read_variable");
  CHECK(kernels.back() == "Assign assign_variable");
}

}  // namespace ir::test
