// Pooling: AvgPool, MaxPool and the adaptive pools.
#include "ir_runtime/ops/pooling.h"

#include <limits>

#include "tests/ops/pooling_support.h"

namespace ir::test {
namespace {

using op::AutoPad;
using op::Rounding;
using op::Rounding14;
using Integers = std::vector<std::int64_t>;

constexpr float kLowest = std::numeric_limits<float>::lowest();

// A pool with kernel and strides; pads of zero.
template <class Pool>
Pool sliding(Integers kernel, Integers strides) {
  Pool pool;
  pool.kernel = std::move(kernel);
  pool.strides = std::move(strides);
  pool.pads_begin.assign(pool.kernel.size(), 0);
  pool.pads_end.assign(pool.kernel.size(), 0);
  return pool;
}

template <class Pool>
Pool padded(Integers kernel, Integers strides, Integers pads_begin, Integers pads_end) {
  Pool pool = sliding<Pool>(std::move(kernel), std::move(strides));
  pool.pads_begin = std::move(pads_begin);
  pool.pads_end = std::move(pads_end);
  return pool;
}

using Average = op::v1::AvgPool;
using Average14 = op::v14::AvgPool;

}  // namespace

// ---- v1::AvgPool -----------------------------------------------------------------------------------------

TEST_CASE("AvgPool gives the shapes of the specification's examples", "[pooling]") {
  struct Example {
    AutoPad auto_pad;
    Integers kernel, strides, pads_begin, pads_end;
    std::int64_t out;
  };
  // The documents print 32 for the first two, which overlooks the stride; OpenVINO gives ceil(32 / 2).
  const auto example = GENERATE(Example{AutoPad::same_upper, {2, 2}, {2, 2}, {0, 0}, {1, 1}, 16},
                                Example{AutoPad::same_upper, {5, 5}, {2, 2}, {0, 0}, {1, 1}, 16},
                                Example{AutoPad::explicit_, {5, 5}, {3, 3}, {1, 1}, {1, 1}, 10},
                                Example{AutoPad::explicit_, {5, 5}, {2, 2}, {1, 1}, {1, 1}, 15},
                                Example{AutoPad::valid, {5, 5}, {2, 2}, {1, 1}, {1, 1}, 14});
  Average pool = padded<Average>(example.kernel, example.strides, example.pads_begin, example.pads_end);
  pool.auto_pad = example.auto_pad;
  CHECK(infer_shape(pool, {image({1, 3, 32, 32})}) == PartialShape{1, 3, example.out, example.out});
}

TEST_CASE("AvgPool averages windows over one to three axes", "[pooling]") {
  check_close(run(sliding<Average>({2}, {1}), {line({1, 3, 5, 9})}), {1, 1, 3}, {2, 4, 7});
  check_close(run(sliding<Average>({2, 2}, {2, 2}), {counting({1, 1, 4, 4})}), {1, 1, 2, 2},
              {3.5, 5.5, 11.5, 13.5});
  check_close(run(sliding<Average>({2, 2, 2}, {1, 1, 1}), {counting({1, 1, 2, 2, 3})}), {1, 1, 1, 1, 2},
              {6, 7});
}

TEST_CASE("AvgPool counts batches and channels apart", "[pooling]") {
  check_close(run(sliding<Average>({2}, {2}), {counting({2, 2, 2})}), {2, 2, 1}, {1.5, 3.5, 5.5, 7.5});
}

TEST_CASE("AvgPool leaves padding out of the mean or counts it as zeros", "[pooling]") {
  Average pool = padded<Average>({3}, {1}, {1}, {1});
  check_close(run(pool, {line({3, 6, 9})}), {1, 1, 3}, {3, 6, 5});
  pool.exclude_pad = true;
  check_close(run(pool, {line({3, 6, 9})}), {1, 1, 3}, {4.5, 6, 7.5});
}

TEST_CASE("AvgPool gives 0 for a window of only padding", "[pooling]") {
  Average pool = padded<Average>({2}, {1}, {2}, {2});
  check_close(run(pool, {line({4, 8})}), {1, 1, 5}, {0, 2, 6, 4, 0});
  // Rounding up adds the one that begins behind the image.
  pool = padded<Average>({2}, {3}, {0}, {1});
  pool.rounding_type = Rounding::ceil;
  pool.exclude_pad = true;
  check_close(run(pool, {line({1, 2, 3})}), {1, 1, 2}, {1.5, 0});
}

TEMPLATE_TEST_CASE("AvgPool without padding in the mean refuses windows that may see nothing else",
                   "[pooling]", Average, Average14, op::v16::AvgPool) {
  TestType pool = padded<TestType>({3, 2}, {1, 1}, {0, 2}, {0, 0});
  CHECK(failure_of(pool, {image({1, 1, 4, 4})}) == "no failure");
  pool.exclude_pad = true;
  CHECK(
      failure_of(pool, {image({1, 1, 4, 4})}) ==
      "IR-attribute-range: spatial axis 1 is padded by 2 and 0; with exclude-pad, pads take less than the 2 "
      "elements that the window covers");
  // As OpenVINO, which looks at it when the size is known.
  CHECK(failure_of(pool, {image({1, 1, 4, Dimension()})}) == "no failure");
  pool.pads_begin = {0, 1};
  CHECK(failure_of(pool, {image({1, 1, 4, 4})}) == "no failure");
  pool.pads_end = {3, 0};
  CHECK(
      failure_of(pool, {image({1, 1, 4, 4})}) ==
      "IR-attribute-range: spatial axis 0 is padded by 0 and 3; with exclude-pad, pads take less than the 3 "
      "elements that the window covers");
  pool.auto_pad = AutoPad::valid;
  CHECK(failure_of(pool, {image({1, 1, 4, 4})}) == "no failure");
}

TEST_CASE("AvgPool-16 measures its window with dilations against the padding", "[pooling]") {
  auto pool = padded<op::v16::AvgPool>({2}, {1}, {2}, {2});
  pool.exclude_pad = true;
  pool.dilations = {2};
  check_close(run(pool, {line({4, 8})}), {1, 1, 4}, {4, 8, 4, 8});
}

TEST_CASE("AvgPool derives pads for same_upper, same_lower and valid", "[pooling]") {
  Average pool = padded<Average>({2}, {2}, {7}, {7});  // ignored
  pool.exclude_pad = true;
  const Tensor input = line({1, 2, 3, 4, 5});
  SECTION("same_upper pads the end first") {
    pool.auto_pad = AutoPad::same_upper;
    check_close(run(pool, {input}), {1, 1, 3}, {1.5, 3.5, 5});
    pool.exclude_pad = false;
    check_close(run(pool, {input}), {1, 1, 3}, {1.5, 3.5, 2.5});
  }
  SECTION("same_lower pads the beginning first") {
    pool.auto_pad = AutoPad::same_lower;
    check_close(run(pool, {input}), {1, 1, 3}, {1, 2.5, 4.5});
    pool.exclude_pad = false;
    check_close(run(pool, {input}), {1, 1, 3}, {0.5, 2.5, 4.5});
  }
  SECTION("valid pads nothing") {
    pool.auto_pad = AutoPad::valid;
    check_close(run(pool, {input}), {1, 1, 2}, {1.5, 3.5});
    pool.rounding_type = Rounding::ceil;
    pool.exclude_pad = GENERATE(true, false);  // there is no padding to divide by
    check_close(run(pool, {input}), {1, 1, 3}, {1.5, 3.5, 5});
  }
}

TEST_CASE("AvgPool rounds the number of windows up and clips the last one", "[pooling]") {
  Average pool = padded<Average>({3}, {2}, {1}, {1});
  const Tensor input = line({2, 4, 6, 8});
  check_close(run(pool, {input}), {1, 1, 2}, {2, 6});
  pool.rounding_type = Rounding::ceil;
  // The third window is {8, padding, beyond}: OpenVINO divides by the whole window where there is padding.
  check_close(run(pool, {input}), {1, 1, 3}, {2, 6, 8.0F / 3});
  pool.exclude_pad = true;
  check_close(run(pool, {input}), {1, 1, 3}, {3, 6, 8});
}

TEST_CASE("AvgPool-14 drops a last window that starts in the padding at the end", "[pooling]") {
  Average14 pool = padded<Average14>({2}, {3}, {0}, {1});
  pool.exclude_pad = true;
  pool.rounding_type = Rounding14::ceil;
  check_close(run(pool, {line({1, 2, 3})}), {1, 1, 2}, {1.5, 0});
  pool.rounding_type = Rounding14::ceil_torch;
  check_close(run(pool, {line({1, 2, 3})}), {1, 1, 1}, {1.5});
  const Tensor input = line({1, 2, 3, 4});
  pool = padded<Average14>({3}, {2}, {0}, {0});
  pool.rounding_type = Rounding14::ceil_torch;  // the last window starts at element 2: it stays
  check_close(run(pool, {input}), {1, 1, 2}, {2, 3.5});
}

TEST_CASE("AvgPool-16 dilates its window", "[pooling]") {
  using Average16 = op::v16::AvgPool;
  Average16 pool = padded<Average16>({5, 5}, {2, 2}, {1, 1}, {1, 1});
  pool.dilations = {2, 2};
  CHECK(infer_shape(pool, {image({1, 3, 32, 32})}) == PartialShape{1, 3, 13, 13});
  pool = padded<Average16>({2}, {1}, {1}, {0});
  const Tensor input = line({1, 2, 3, 5});
  check_close(run(pool, {input}), {1, 1, 4}, {0.5, 1.5, 2.5, 4});
  pool.dilations = {2};
  check_close(run(pool, {input}), {1, 1, 3}, {1, 2, 3.5});
  pool.exclude_pad = true;
  check_close(run(pool, {input}), {1, 1, 3}, {2, 2, 3.5});
}

TEST_CASE("AvgPool takes every numeric type", "[pooling]") {
  const Average pool = sliding<Average>({2}, {1});
  check_equal<std::int32_t>(run(pool, {i32({1, 1, 3}, {1, 2, -5})}), {1, 1, 2}, {1, -1});
  check_equal<std::int64_t>(run(pool, {i64({1, 1, 2}, {std::int64_t{1} << 40, 0})}), {1, 1, 1},
                            {std::int64_t{1} << 39});
  check_equal<std::uint8_t>(run(pool, {tensor<std::uint8_t>({1, 1, 3}, {255, 255, 252})}), {1, 1, 2},
                            {255, 254});  // 253.5 goes to even
  check_equal<std::int8_t>(run(pool, {tensor<std::int8_t>({1, 1, 3}, {-128, -128, 127})}), {1, 1, 2},
                           {-128, 0});
  check_equal<double>(run(pool, {tensor<double>({1, 1, 2}, {1e300, 3e300})}), {1, 1, 1}, {2e300});
  const Tensor half = line({1, 2, 4}).converted(ElementType::f16);
  const Tensor result = run(pool, {half});
  CHECK(result.element_type() == ElementType::f16);
  check_close(result.converted(ElementType::f32), {1, 1, 2}, {1.5, 3});
}

TEST_CASE("AvgPool takes empty tensors", "[pooling]") {
  Average pool = padded<Average>({2}, {1}, {1}, {1});
  check_close(run(pool, {f32({0, 3, 4}, {})}), {0, 3, 5}, {});
  check_close(run(pool, {f32({1, 1, 0}, {})}), {1, 1, 1}, {0});
  pool.exclude_pad = true;
  check_close(run(pool, {f32({1, 2, 0}, {})}), {1, 2, 1}, {0, 0});
}

TEST_CASE("pools of packed types are refused, empty ones too", "[pooling]") {
  for (const std::int64_t size : {0, 2}) {
    const std::vector<Tensor> input{Tensor(ElementType::i4, {1, 1, size})};
    CHECK(error_of(padded<Average>({2}, {1}, {1}, {1}), input) ==
          "IR-unsupported: no kernel for average pooling of this element type");
    CHECK(error_of(padded<op::v8::MaxPool>({2}, {1}, {1}, {1}), input) ==
          "IR-unsupported: no kernel for max pooling of this element type");
  }
}

TEST_CASE("AvgPool infers through unknown and bounded dims", "[pooling]") {
  const Average pool = padded<Average>({3, 3}, {2, 2}, {1, 1}, {1, 1});
  CHECK(infer_shape(pool, {image(PartialShape())}) == PartialShape::of_rank(4));
  CHECK(infer_shape(pool, {image({Dimension(), 3, Dimension(), 32})}) ==
        PartialShape{Dimension(), 3, Dimension(), 16});
  CHECK(infer_shape(pool, {image({1, 3, Dimension(1, 9), Dimension(5, Dimension::kUnbounded)})}) ==
        PartialShape{1, 3, Dimension(1, 5), Dimension(3, Dimension::kUnbounded)});
  // Bounds that windows could not count say nothing.
  CHECK(infer_shape(pool, {image({1, 3, Dimension(0, std::int64_t{1} << 60), 4})}) ==
        PartialShape{1, 3, Dimension(), 2});
  Average same = sliding<Average>({3, 3}, {2, 2});
  same.auto_pad = AutoPad::same_upper;
  CHECK(infer_shape(same, {image({1, 3, Dimension(1, 9), Dimension()})}) ==
        PartialShape{1, 3, Dimension(1, 5), Dimension()});
}

TEST_CASE("AvgPool explains its dims", "[pooling]") {
  const auto rule = [](const Op& pool, PartialShape shape) {
    const std::vector<ValueInfo> inputs{image(std::move(shape))};
    return explain_outputs(pool, inputs).at(0).at(2);
  };
  Average pool = padded<Average>({5}, {3}, {1}, {1});
  CHECK(rule(pool, {1, 1, 32}) == "floor((32 + 1 + 1 - 5) / 3) + 1 = 10");
  pool.rounding_type = Rounding::ceil;
  CHECK(rule(pool, {1, 1, 32}) == "ceil((32 + 1 + 1 - 5) / 3) + 1 = 11");
  pool.auto_pad = AutoPad::same_lower;
  CHECK(rule(pool, {1, 1, 32}) == "same_lower: ceil(32 / 3) = 11");
  pool.auto_pad = AutoPad::valid;
  CHECK(rule(pool, {1, 1, 33}) == "valid: ceil((33 - 5) / 3) + 1 = 11");
  pool.rounding_type = Rounding::floor;
  CHECK(rule(pool, {1, 1, 33}) == "valid: floor((33 - 5) / 3) + 1 = 10");
  Average14 torch = padded<Average14>({1}, {2}, {0}, {1});
  torch.rounding_type = Rounding14::ceil_torch;
  CHECK(rule(torch, {1, 1, 4}) ==
        "ceil((4 + 0 + 1 - 1) / 2) + 1 - 1 (the last window would start in the padding) = 2");
}

TEST_CASE("AvgPool says what is wrong with its input", "[pooling]") {
  const Average pool = sliding<Average>({3}, {1});
  CHECK(failure_of(pool, {}) == "IR-input-count: has 0 inputs, AvgPool takes 1");
  CHECK(failure_of(pool, {value(ElementType::boolean, {1, 1, 3})}) ==
        "IR-element-type: input 0 is of type boolean, AvgPool takes a numeric type");
  CHECK(failure_of(pool, {image({1, 3})}) ==
        "IR-rank: input 0 has shape [1,3] of rank 2, AvgPool takes a rank from 3 to 5");
  CHECK(failure_of(pool, {image({1, 3, 4, 4})}) ==
        "IR-rank: input 0 has shape [1,3,4,4]; a window of 1 axes takes rank 3");
  CHECK(failure_of(pool, {image({1, 3, 2})}) ==
        "IR-window: the window of spatial axis 0 covers 3 elements (size 3, dilation 1), the padded image "
        "has 2 (0 + 2 + 0)");
  CHECK(failure_of(pool, {image({1, 3, Dimension(1, 2)})}) ==
        "IR-window: the window of spatial axis 0 covers 3 elements (size 3, dilation 1), the padded image "
        "has at most 2 (0 + 2 + 0)");
  CHECK(failure_of(pool, {image({1, 3, std::int64_t{1} << 60})}) ==
        "IR-window: spatial axis 0 has size 1152921504606846976; windows take at most 2199023255552");
}

TEST_CASE("AvgPool says what is wrong with its attributes", "[pooling]") {
  const auto failure = [](const Average& pool) { return failure_of(pool, {image({1, 3, 8, 8})}); };
  CHECK(failure(sliding<Average>({2, 2}, {2})) ==
        "IR-attribute-size: strides has 1 values for 2 spatial axes");
  CHECK(failure(sliding<Average>({2, 2}, {1, 0})) ==
        "IR-attribute-range: strides holds 0; it takes values from 1 to 2147483648");
  CHECK(failure(padded<Average>({2, 2}, {1, 1}, {0, -1}, {0, 0})) ==
        "IR-attribute-range: pads_begin holds -1; it takes values from 0 to 2147483648");
  CHECK(failure(padded<Average>({2, 2}, {1, 1}, {0, 0}, {0, 0, 0})) ==
        "IR-attribute-size: pads_end has 3 values for 2 spatial axes");
  CHECK(failure(sliding<Average>({2, 0}, {1, 1})) == "IR-window: the window of spatial axis 1 has size 0");
  CHECK(failure(sliding<Average>({}, {})) ==
        "IR-rank: input 0 has shape [1,3,8,8]; a window of 0 axes takes rank 2");
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  CHECK(failure(sliding<Average>({2, kHuge}, {1, 1})) ==
        "IR-window: the window of spatial axis 1 has size 9223372036854775807");
  CHECK(failure(sliding<Average>({2, 2}, {kHuge, 1})) ==
        "IR-attribute-range: strides holds 9223372036854775807; it takes values from 1 to 2147483648");
}

// ---- MaxPool ---------------------------------------------------------------------------------------------

TEST_CASE("MaxPool takes the greatest element; padding never wins", "[pooling]") {
  using Max = op::v1::MaxPool;
  check_close(run(padded<Max>({3}, {1}, {1}, {1}), {line({-3, -6, -1})}), {1, 1, 3}, {-3, -1, -1});
  check_close(run(sliding<Max>({2, 2}, {2, 2}), {counting({1, 1, 4, 4})}), {1, 1, 2, 2}, {6, 8, 14, 16});
  check_close(run(padded<Max>({1}, {1}, {1}, {0}), {line({-2})}), {1, 1, 2}, {kLowest, -2});
  check_close(run(padded<Max>({2}, {1}, {1}, {1}), {f32({1, 1, 0}, {})}), {1, 1, 1}, {kLowest});
  check_equal<std::int32_t>(run(sliding<Max>({2}, {1}), {i32({1, 1, 3}, {-5, 7, -9})}), {1, 1, 2}, {7, 7});
}

TEST_CASE("MaxPool-8 tells positions, flattened from `axis` on", "[pooling]") {
  auto pool = sliding<op::v8::MaxPool>({2}, {1});
  const Tensor input = f32({1, 2, 3}, {1, 5, 2, 9, 0, 4});
  pool.axis = 0;
  std::vector<Tensor> results = evaluate(pool, std::vector<Tensor>{input});
  check_close(results.at(0), {1, 2, 2}, {5, 5, 9, 4});
  check_equal<std::int64_t>(results.at(1), {1, 2, 2}, {1, 1, 3, 5});
  pool.axis = 2;
  pool.index_element_type = ElementType::i32;
  check_equal<std::int32_t>(evaluate(pool, std::vector<Tensor>{input}).at(1), {1, 2, 2}, {1, 1, 0, 2});
  pool.axis = -2;
  check_equal<std::int32_t>(evaluate(pool, std::vector<Tensor>{input}).at(1), {1, 2, 2}, {1, 1, 3, 5});
  pool.dilations = {2};
  results = evaluate(pool, std::vector<Tensor>{input});
  check_close(results.at(0), {1, 2, 1}, {2, 9});
  check_equal<std::int32_t>(results.at(1), {1, 2, 1}, {2, 3});
}

TEST_CASE("MaxPool-8 over an empty axis gives the lowest number and position 0", "[pooling]") {
  const auto pool = padded<op::v8::MaxPool>({2}, {1}, {1}, {1});
  const std::vector<Tensor> results = evaluate(pool, std::vector<Tensor>{f32({1, 1, 0}, {})});
  check_close(results.at(0), {1, 1, 1}, {kLowest});
  check_equal<std::int64_t>(results.at(1), {1, 1, 1}, {0});
}

TEST_CASE("MaxPool-14 rounds as AvgPool-14", "[pooling]") {
  auto pool = padded<op::v14::MaxPool>({1}, {2}, {0}, {1});
  pool.rounding_type = Rounding14::ceil_torch;
  check_close(run(pool, {line({1, 2, 3, 4})}), {1, 1, 2}, {1, 3});
  pool.rounding_type = Rounding14::ceil;
  check_close(run(pool, {line({1, 2, 3, 4})}), {1, 1, 3}, {1, 3, kLowest});
}

TEST_CASE("MaxPool-8 says what is wrong", "[pooling]") {
  auto pool = sliding<op::v8::MaxPool>({2}, {1});
  pool.axis = 3;
  CHECK(failure_of(pool, {image({1, 1, 4})}) == "IR-axis: axis 3 lies outside of [-3, 3) for rank 3");
  pool.axis = 0;
  pool.index_element_type = ElementType::f32;
  CHECK(failure_of(pool, {image({1, 1, 4})}) ==
        "IR-attribute-value: index_element_type is f32; it takes i32 or i64");
  pool.index_element_type = ElementType::i32;
  pool.dilations = {4};
  CHECK(failure_of(pool, {image({1, 1, 4})}) ==
        "IR-window: the window of spatial axis 0 covers 5 elements (size 2, dilation 4), the padded image "
        "has 4 (0 + 4 + 0)");
  pool.dilations = {0};
  CHECK(failure_of(pool, {image({1, 1, 4})}) ==
        "IR-attribute-range: dilations holds 0; it takes values from 1 to 2147483648");
}

// ---- AdaptiveAvgPool -------------------------------------------------------------------------------------

TEST_CASE("AdaptiveAvgPool gives the shape of the specification's example", "[pooling]") {
  const op::v8::AdaptiveAvgPool pool;
  CHECK(infer_shape(pool, {image({1, 3, 32, 32}), value_of(i64({2}, {16, 16}))}) ==
        PartialShape{1, 3, 16, 16});
}

TEST_CASE("AdaptiveAvgPool cuts axes into overlapping windows", "[pooling]") {
  const op::v8::AdaptiveAvgPool pool;
  // [0, 2), [1, 4), [3, 5): floor(i * 5 / 3) to ceil((i + 1) * 5 / 3)
  check_close(run(pool, {line({1, 2, 3, 4, 5}), i64({1}, {3})}), {1, 1, 3}, {1.5, 3, 4.5});
  check_close(run(pool, {line({1, 2}), i32({1}, {3})}), {1, 1, 3}, {1, 1.5, 2});
  check_close(run(pool, {counting({1, 2, 2, 2}), i64({2}, {1, 1})}), {1, 2, 1, 1}, {2.5, 6.5});
  check_close(run(pool, {counting({1, 1, 2, 2, 2}), i64({3}, {2, 1, 1})}), {1, 1, 2, 1, 1}, {2.5, 6.5});
  check_close(run(pool, {counting({1, 1, 3}), i64({1}, {0})}), {1, 1, 0}, {});
  check_equal<double>(run(pool, {tensor<double>({1, 1, 2}, {1, 2}), i64({1}, {1})}), {1, 1, 1}, {1.5});
}

TEST_CASE("AdaptiveMaxPool tells maxima and their positions in the image", "[pooling]") {
  op::v8::AdaptiveMaxPool pool;
  const std::vector<Tensor> inputs{f32({1, 2, 2, 3}, {1, 6, 2, 3, 4, 5, 9, 8, 7, 6, 9, 9}), i64({2}, {1, 2})};
  const std::vector<Tensor> results = evaluate(pool, inputs);
  check_close(results.at(0), {1, 2, 1, 2}, {6, 6, 9, 9});
  check_equal<std::int64_t>(results.at(1), {1, 2, 1, 2}, {1, 1, 0, 4});
  pool.index_element_type = ElementType::i32;
  check_equal<std::int32_t>(evaluate(pool, inputs).at(1), {1, 2, 1, 2}, {1, 1, 0, 4});
  CHECK(infer_shape(pool, {image({1, 3, 32, 32}), value_of(i64({2}, {16, 16}))}, 1) ==
        PartialShape{1, 3, 16, 16});
  pool.index_element_type = ElementType::u8;
  CHECK(failure_of(pool, {image({1, 3, 32}), value_of(i64({1}, {16}))}) ==
        "IR-attribute-value: index_element_type is u8; it takes i32 or i64");
}

TEST_CASE("Adaptive pools wait for the output size", "[pooling]") {
  const std::vector<ValueInfo> inputs{image({1, 3, 8}), value(ElementType::i64, {1})};
  for (const Op& pool : {Op(op::v8::AdaptiveAvgPool()), Op(op::v8::AdaptiveMaxPool())}) {
    const std::vector<ValueInfo> outputs = infer_outputs(pool, inputs);
    CHECK(outputs[0].shape == PartialShape{1, 3, Dimension()});
    CHECK_THROWS_WITH(prepare_kernel(pool, inputs, outputs), ir::test::contains_text("IR-needs-constant"));
  }
}

TEST_CASE("AdaptiveAvgPool infers what it can", "[pooling]") {
  const op::v8::AdaptiveAvgPool pool;
  CHECK(infer_shape(pool, {image({1, 3, Dimension(), 8}), value(ElementType::i64, {2})}) ==
        PartialShape{1, 3, Dimension(), Dimension()});
  ValueInfo sizes = value(ElementType::i64, {2});
  sizes.elements = std::vector<Dimension>{7, Dimension(1, 4)};
  CHECK(infer_shape(pool, {image({1, 3, 8, 8}), sizes}) == PartialShape{1, 3, 7, Dimension(1, 4)});
  CHECK(infer_shape(pool, {image(PartialShape()), sizes}) == PartialShape());
}

TEST_CASE("AdaptiveAvgPool says what is wrong", "[pooling]") {
  const op::v8::AdaptiveAvgPool pool;
  const auto sizes = [](std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return value_of(i64({count}, std::move(values)));
  };
  CHECK(failure_of(pool, {image({1, 3, 8})}) == "IR-input-count: has 1 inputs, AdaptiveAvgPool takes 2");
  CHECK(failure_of(pool, {image({1, 3}), sizes({1})}) ==
        "IR-rank: input 0 has shape [1,3] of rank 2, AdaptiveAvgPool takes a rank from 3 to 5");
  CHECK(failure_of(pool, {image({1, 3, 8}), value(ElementType::f32, {1})}) ==
        "IR-element-type: input 1 is of type f32, AdaptiveAvgPool takes i32, i64");
  CHECK(failure_of(pool, {image({1, 3, 8}), sizes({1, 2})}) ==
        "IR-shape: input 1 gives 2 output sizes, input 0 of shape [1,3,8] has 1 spatial axes");
  CHECK(failure_of(pool, {image({1, 3, 8}), sizes({-2})}) ==
        "IR-shape: output size -2 of spatial axis 0 is negative");
  CHECK(failure_of(pool, {image({1, 3, 0}), sizes({1})}) == "IR-shape: spatial axis 0 of input 0 is empty");
  CHECK(failure_of(pool, {image({1, 3, 8}), value(ElementType::i64, {1, 1})}) ==
        "IR-rank: input 1 has shape [1,1] of rank 2, AdaptiveAvgPool takes rank 1");
}

}  // namespace ir::test
