#include "ir_runtime/ops/random.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/ops/infrastructure.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

op::v8::RandomUniform uniform(ElementType type, std::int64_t global_seed, std::int64_t op_seed,
                              op::RandomAlignment alignment = op::RandomAlignment::tensorflow) {
  op::v8::RandomUniform op;
  op.output_type = type;
  op.global_seed = global_seed;
  op.op_seed = op_seed;
  op.alignment = alignment;
  return op;
}

// The first numbers of [low, high), as f32.
Tensor first_numbers(const op::v8::RandomUniform& op, double low, double high, std::int64_t count) {
  const auto limit = [&](double value) {
    const std::vector<double> values{value};
    return Tensor::of<double>({1}, std::span<const double>(values)).converted(op.output_type);
  };
  const Tensor numbers = run(op, {i64({1}, {count}), limit(low), limit(high)});
  CHECK(numbers.element_type() == op.output_type);
  return numbers.converted(ElementType::f32);
}

ValueInfo scalar(ElementType type) { return value(type, PartialShape(Shape{})); }

}  // namespace

TEST_CASE("RandomUniform gives the numbers of the specification's examples") {
  check_close(first_numbers(uniform(ElementType::f32, 150, 10), 0, 1, 9), {9},
              {0.7011236F, 0.30539632F, 0.93931055F, 0.9456035F, 0.11694777F, 0.50770056F, 0.5197197F,
               0.22727466F, 0.991374F},
              1e-7);
  check_close(first_numbers(uniform(ElementType::f64, 80, 100), 2, 10, 4), {4},
              {5.65927959F, 4.23122376F, 2.67008206F, 2.36423758F}, 1e-6);
  check_close(first_numbers(uniform(ElementType::i32, 80, 100), 50, 100, 6), {6}, {65, 70, 56, 59, 82, 92});
}

TEST_CASE("RandomUniform draws halves and long integers as OpenVINO does") {
  check_close(first_numbers(uniform(ElementType::f16, 150, 10), 0, 1, 6), {6},
              {0.60449219F, 0.80664062F, 0.83203125F, 0.38378906F, 0.03613281F, 0.08300781F}, 1e-7);
  check_close(first_numbers(uniform(ElementType::f16, 150, 10), -1.5, -1, 6), {6},
              {-1.19726562F, -1.09667969F, -1.08398438F, -1.30859375F, -1.48242188F, -1.45898438F}, 1e-7);
  check_close(first_numbers(uniform(ElementType::bf16, 4978, 5164), 0, 1, 6), {6},
              {0.8984375F, 0.84375F, 0.1640625F, 0.1875F, 0.46875F, 0.6875F}, 1e-7);
  // 0.953125 * 350 = 333.6 lies between 332 and 334, and OpenVINO rounds it down.
  check_close(first_numbers(uniform(ElementType::bf16, 4978, 5164), -150, 200, 12), {12},
              {164, 146, -92.5F, -84.5F, 14, 90, 33, -43.5F, 170, 8, 182, -35}, 0);
  check_close(first_numbers(uniform(ElementType::i64, 755, 951), -2600, 3700, 6), {6},
              {2116, -1581, 2559, -339, -1660, 519});
}

TEST_CASE("RandomUniform with the alignment of PyTorch") {
  constexpr auto kPytorch = op::RandomAlignment::pytorch;
  check_close(first_numbers(uniform(ElementType::f64, 12345, 54321, kPytorch), 0, 1, 4), {4},
              {0.8537458849690976F, 0.9371476796661825F, 0.6657276343152506F, 0.9394525654011401F}, 1e-7);
  check_close(first_numbers(uniform(ElementType::f32, 12345, 54321, kPytorch), -100, 250, 4), {4},
              {243.6013641357422F, 207.86228942871094F, 247.25021362304688F, 61.373538970947266F}, 1e-7);
  check_close(first_numbers(uniform(ElementType::f16, 12345, 54321, kPytorch), -100, 250, 4), {4},
              {-17.625F, 157.875F, 123.6875F, -77.9375F}, 0);
  check_close(first_numbers(uniform(ElementType::bf16, 12345, 54321, kPytorch), -100, 250, 5), {5},
              {209, 213, -60.25F, 76.5F, 124}, 0);
  for (const ElementType type : {ElementType::i32, ElementType::i64}) {
    check_close(first_numbers(uniform(type, 12345, 54321, kPytorch), -100, 250, 6), {6},
                {90, 181, 85, -97, 34, -63});
  }
  const Tensor numbers = run(uniform(ElementType::i64, 12345, 0, kPytorch),
                             {i64({1}, {3}), i64({}, {0}), i64({}, {4294967300})});
  check_equal<std::int64_t>(numbers, {3}, {737404521, 3716027413, 1306031901});
}

TEST_CASE("Runs of a compiled RandomUniform go on in the sequence; models of halves draw halves") {
  const ElementType type = GENERATE(ElementType::f32, ElementType::f16);
  Model model;
  const Output shape = model.add(op::v0::Constant(i64({1}, {24})), {}, "shape");
  const Output low = model.add(op::v0::Constant(f32({}, {0}).converted(type)), {}, "low");
  const Output high = model.add(op::v0::Constant(f32({}, {1}).converted(type)), {}, "high");
  const Output numbers = model.add(uniform(type, 150, 10), {shape, low, high}, "numbers");
  (void)model.add(op::v0::Result(), {numbers}, "result");
  CHECK(numbers.info().constant == nullptr);

  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  request.infer();
  CHECK(request.output_tensor(0).element_type() == type);
  const Tensor first = request.output_tensor(0).clone().converted(ElementType::f32);
  request.infer();
  const Tensor second = request.output_tensor(0).clone().converted(ElementType::f32);
  const float expected = type == ElementType::f32 ? 0.7011236F : 0.60449219F;
  CHECK(first.data<float>()[0] == Approx(expected));
  CHECK_FALSE(std::ranges::equal(first.data<float>(), second.data<float>()));
}

TEST_CASE("RandomUniform without seeds is different every time") {
  for (const auto alignment : {op::RandomAlignment::tensorflow, op::RandomAlignment::pytorch}) {
    const op::v8::RandomUniform op = uniform(ElementType::i64, 0, 0, alignment);
    const std::vector<Tensor> inputs{i64({1}, {4}), i64({}, {0}), i64({}, {std::int64_t{1} << 62})};
    const Tensor first = run(op, inputs);
    const Tensor second = run(op, inputs);
    CHECK_FALSE(std::ranges::equal(first.data<std::int64_t>(), second.data<std::int64_t>()));
  }
}

TEST_CASE("RandomUniform is never folded, and its shape may be known in part") {
  const op::v8::RandomUniform op;
  const std::vector<ValueInfo> limits{value_of(f32({}, {0})), value_of(f32({1}, {1}))};
  const auto outputs = infer_outputs(op, std::vector{value_of(i64({2}, {2, 3})), limits[0], limits[1]});
  CHECK(outputs[0].shape == PartialShape{2, 3});
  CHECK(outputs[0].constant == nullptr);
  CHECK(infer_shape(op, {partly_known({2, Dimension()}), limits[0], limits[1]}) ==
        PartialShape{2, Dimension()});
  CHECK(infer_shape(op, {value(ElementType::i64, {3}), limits[0], limits[1]}) == PartialShape::of_rank(3));
  CHECK(infer_shape(op, {value(ElementType::i32, PartialShape()), limits[0], limits[1]}) == PartialShape());
  CHECK(run(op, {i64({2}, {0, 5}), f32({}, {0}), f32({}, {1})}).shape() == Shape{0, 5});
  CHECK(run(op, {i64({0}, {}), f32({}, {0}), f32({}, {1})}).shape().empty());
}

TEST_CASE("RandomUniform refuses limits and shapes that cannot be") {
  const op::v8::RandomUniform op;
  const ValueInfo shape = value(ElementType::i64, {2});
  const ValueInfo limit = scalar(ElementType::f32);
  CHECK(failure_of(op, {shape, limit}) == "IR-input-count: has 2 inputs, RandomUniform takes 3");
  CHECK(failure_of(op, {value(ElementType::f32, {2}), limit, limit}) ==
        "IR-element-type: input 0 is of type f32, RandomUniform takes i32, i64");
  CHECK(failure_of(op, {value(ElementType::i64, {2, 2}), limit, limit}) ==
        "IR-rank: input 0 has shape [2,2] of rank 2, RandomUniform takes rank 1");
  CHECK(failure_of(op, {value(ElementType::i64, {100}), limit, limit}) ==
        "IR-rank: input 0 names 100 dims; at most 64 are possible");
  CHECK(failure_of(op, {value_of(i64({2}, {2, -3})), limit, limit}) == "IR-value: dim 1 of the output is -3");
  CHECK(failure_of(op, {shape, value(ElementType::f32, {2}), limit}) ==
        "IR-shape: input 1 has shape [2]; it takes one element");
  CHECK(failure_of(op, {shape, scalar(ElementType::f64), limit}) ==
        "IR-element-type: inputs 1 and 2 are of types f64 and f32, RandomUniform takes one type");
  CHECK(failure_of(op, {shape, scalar(ElementType::i32), scalar(ElementType::i32)}) ==
        "IR-element-type: inputs 1 and 2 are of type i32, but output_type is f32");
  CHECK(failure_of(op, {shape, value_of(f32({}, {1})), value_of(f32({}, {1}))}) ==
        "IR-value: min 1 is not less than max 1");
  CHECK(
      failure_of(uniform(ElementType::i64, 1, 1), {shape, value_of(i64({}, {5})), value_of(i64({}, {-5}))}) ==
      "IR-value: min 5 is not less than max -5");
  CHECK(
      failure_of(uniform(ElementType::u8, 1, 1), {shape, scalar(ElementType::u8), scalar(ElementType::u8)}) ==
      "IR-attribute-value: output_type is u8; it takes f32, f16, bf16, f64, i32 or i64");
}

TEST_CASE("RandomUniform checks limits that are known at run time only") {
  const std::vector<ValueInfo> inputs{value_of(i64({1}, {4})), scalar(ElementType::i32),
                                      scalar(ElementType::i32)};
  const op::v8::RandomUniform op = uniform(ElementType::i32, 1, 1);
  const auto outputs = infer_outputs(op, inputs);
  const PreparedKernel kernel = prepare_kernel(op, inputs, outputs);
  const std::int32_t five = 5;
  std::array<std::int32_t, 4> out{};
  const std::array<const void*, 3> in{nullptr, &five, &five};
  const std::array<void*, 1> to{out.data()};
  try {
    kernel.run({in, to, nullptr});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == "IR-value");
    CHECK(error.diagnostics().front().message == "min 5 is not less than max 5");
  }
}

TEST_CASE("RandomUniform of a shape that is known at run time only") {
  const std::vector<ValueInfo> inputs{value(ElementType::i64, {2}), scalar(ElementType::f32),
                                      scalar(ElementType::f32)};
  const op::v8::RandomUniform op = uniform(ElementType::f32, 150, 10);
  const PreparedKernel kernel = prepare_kernel(op, inputs, infer_outputs(op, inputs));
  REQUIRE(kernel.run_dynamic);
  const std::vector<Tensor> tensors{i64({2}, {2, 1}), f32({}, {0}), f32({}, {1})};
  check_close(kernel.run_dynamic(tensors).at(0), {2, 1}, {0.7011236F, 0.30539632F}, 1e-7);
  CHECK_FALSE(kernel.run_dynamic(tensors).at(0).data<float>()[0] == Approx(0.7011236F));
  const std::vector<Tensor> bad{i64({2}, {2, -1}), f32({}, {0}), f32({}, {1})};
  try {
    (void)kernel.run_dynamic(bad);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == "IR-value");
    CHECK(error.diagnostics().front().message == "input 0 asks for shape [2,-1]");
  }
}

TEST_CASE("Multinomial compares cumulated shares with uniform numbers of its input's type") {
  op::v13::Multinomial op;
  op.convert_type = ElementType::i32;
  op.with_replacement = true;
  op.global_seed = op.op_seed = 1;
  const Tensor shares = f32({2, 4}, {0.001F, 0.01F, 0.1F, 0.899F, 0.899F, 0.1F, 0.01F, 0.001F});
  const Tensor four = i32({1}, {4});
  // Of f32: 0.056, 0.019, 0.071, 0.271, 0.653, 0.581, 0.933, 0.429.
  check_equal<std::int32_t>(run(op, {shares, four}), {2, 4}, {2, 2, 2, 3, 0, 0, 1, 0});
  // Of f64: 0.444, 0.566, 0.225, 0.462, 0.291, 0.259, 0.571, 0.680.
  const auto wide = [](const Tensor& tensor) { return tensor.converted(ElementType::f64); };
  check_equal<std::int32_t>(run(op, {wide(shares), four}), {2, 4}, {3, 3, 3, 3, 0, 0, 0, 0});
  op.log_probs = true;
  const Tensor logs = f32({2, 4}, {1, 2, 3, 4, 2, 4, 6, 8});
  check_equal<std::int32_t>(run(op, {wide(logs), four}), {2, 4}, {3, 3, 2, 3, 3, 3, 3, 3});
  op.convert_type = ElementType::i64;
  op.with_replacement = false;
  check_equal<std::int64_t>(run(op, {wide(f32({1, 4}, {1, 10, 7, 3})), i32({}, {4})}), {1, 4}, {1, 2, 3, 0});
  op.log_probs = false;
  check_equal<std::int64_t>(run(op, {wide(f32({1, 4}, {0.001F, 0.01F, 0.1F, 0.899F})), i32({}, {4})}), {1, 4},
                            {3, 2, 1, 0});
  const Tensor drawn = run(op, {f32({1, 3}, {1, 2, 3}).converted(ElementType::f16), i64({}, {3})});
  const auto data = drawn.data<std::int64_t>();
  std::vector<std::int64_t> sorted(data.begin(), data.end());
  std::ranges::sort(sorted);
  CHECK(sorted == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("Multinomial repeats itself with seeds and not without") {
  op::v13::Multinomial op;
  op.with_replacement = true;
  const std::vector<Tensor> inputs{f32({1, 4}, {1, 1, 1, 1}), i64({}, {200})};
  const auto equal = [&] {
    const Tensor first = run(op, inputs);
    const Tensor second = run(op, inputs);
    return std::ranges::equal(first.data<std::int64_t>(), second.data<std::int64_t>());
  };
  CHECK_FALSE(equal());
  op.op_seed = 3;
  CHECK(equal());
}

TEST_CASE("Multinomial infers shapes and refuses what cannot be drawn") {
  op::v13::Multinomial op;
  const Dimension any;
  const ValueInfo probs = value(ElementType::f32, {2, 3});
  const ValueInfo samples = scalar(ElementType::i64);
  CHECK(infer_shape(op, {probs, value_of(i64({}, {2}))}) == PartialShape{2, 2});
  CHECK(infer_shape(op, {value(ElementType::f16, PartialShape()), samples}) == PartialShape{any, any});
  CHECK(infer_outputs(op, std::vector{value_of(f32({1, 1}, {1})), value_of(i64({}, {1}))})[0].constant ==
        nullptr);
  CHECK(failure_of(op, {probs}) == "IR-input-count: has 1 inputs, Multinomial takes 2");
  CHECK(failure_of(op, {value(ElementType::i32, {2, 3}), samples}) ==
        "IR-element-type: input 0 is of type i32, Multinomial takes a floating-point type");
  CHECK(failure_of(op, {probs, scalar(ElementType::f32)}) ==
        "IR-element-type: input 1 is of type f32, Multinomial takes an integer type");
  CHECK(failure_of(op, {value(ElementType::f32, {3}), samples}) ==
        "IR-rank: input 0 has shape [3] of rank 1, Multinomial takes rank 2");
  CHECK(failure_of(op, {value(ElementType::f32, {2, 0}), samples}) ==
        "IR-shape: input 0 has shape [2,0]; it takes at least one class");
  CHECK(failure_of(op, {probs, value(ElementType::i64, {2})}) ==
        "IR-shape: input 1 has shape [2]; it takes one element");
  CHECK(failure_of(op, {probs, value_of(i64({}, {-1}))}) == "IR-value: the number of samples is -1");
  CHECK(failure_of(op, {probs, value_of(i64({}, {4}))}) ==
        "IR-value: 4 samples cannot be drawn from 3 classes without replacement");
  op.convert_type = ElementType::f32;
  CHECK(failure_of(op, {probs, samples}) == "IR-attribute-value: convert_type is f32; it takes i32 or i64");
}

}  // namespace ir::test
