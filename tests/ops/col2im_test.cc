#include "ir_runtime/ops/col2im.h"

#include <limits>

#include "tests/ops/convolution_support.h"

namespace ir::test {
namespace {

using op::v15::Col2Im;

ValueInfo known(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return value_of(i64({count}, std::move(values)));
}
ValueInfo integers(PartialShape shape) { return value(ElementType::i64, std::move(shape)); }

}  // namespace

TEST_CASE("Col2Im gives the shapes of the specification's examples", "[col2im]") {
  Col2Im op;
  CHECK(infer_shape(op, {real({3, 12, 225}), known({16, 16}), known({2, 2})}) == PartialShape{3, 3, 16, 16});
  op.dilations = {2, 2};
  op.pads_begin = op.pads_end = {3, 3};
  CHECK(infer_shape(op, {real({12, 12, 1296}), known({32, 32}), known({2, 2})}) ==
        PartialShape{12, 3, 32, 32});
  op.pads_begin = op.pads_end = {1, 1};
  op.strides = {2, 2};
  // Seven blocks along each axis: the example's 25 belong to other pads.
  CHECK(infer_shape(op, {real({1, 27, 49}), known({16, 16}), known({3, 3})}) == PartialShape{1, 3, 16, 16});
}

TEST_CASE("Col2Im adds up what overlaps", "[col2im]") {
  // Four blocks of two by two pixels over three by three: their first elements, their second ones, ...
  const Tensor blocks =
      f32({1, 4, 4}, {1, 1, 1, 1, 10, 10, 10, 10, 100, 100, 100, 100, 1000, 1000, 1000, 1000});
  const std::vector<float> expected{1, 11, 10, 101, 1111, 1010, 100, 1100, 1000};
  check_close(run(Col2Im(), {blocks, i64({2}, {3, 3}), i64({2}, {2, 2})}), {1, 1, 3, 3}, expected);
  check_close(run(Col2Im(), {blocks.reshaped({4, 4}), i32({2}, {3, 3}), i64({2}, {2, 2})}), {1, 3, 3},
              expected);
}

TEST_CASE("Col2Im drops the padding and leaves gaps at zero", "[col2im]") {
  Col2Im op;
  op.strides = {1, 2};
  op.pads_begin = {0, 1};
  op.pads_end = {0, 2};
  op.dilations = {1, 2};
  // Columns -1 + 2 o + 2 k of five: two taps of three blocks.
  check_close(run(op, {f32({2, 3}, {1, 2, 3, 10, 20, 30}), i64({2}, {1, 5}), i64({2}, {1, 2})}), {1, 1, 5},
              {0, 12, 0, 23, 0});
}

TEST_CASE("Col2Im takes every numeric type", "[col2im]") {
  const Tensor size = i64({2}, {1, 3});
  const Tensor window = i64({2}, {1, 2});
  check_equal<std::int32_t>(run(Col2Im(), {i32({2, 2}, {1, 2, 3, 4}), size, window}), {1, 1, 3}, {1, 5, 4});
  check_equal<std::uint8_t>(run(Col2Im(), {tensor<std::uint8_t>({2, 2}, {1, 200, 100, 4}), size, window}),
                            {1, 1, 3}, {1, 44, 4});
  check_equal<double>(run(Col2Im(), {tensor<double>({2, 2}, {1, 1e200, 3e200, 4}), size, window}), {1, 1, 3},
                      {1, 4e200, 4});
  const Tensor half = run(Col2Im(), {f32({2, 2}, {1, 2, 3, 4}).converted(ElementType::f16), size, window});
  CHECK(half.element_type() == ElementType::f16);
  check_close(half.converted(ElementType::f32), {1, 1, 3}, {1, 5, 4});
}

TEST_CASE("Col2Im takes empty tensors", "[col2im]") {
  check_close(run(Col2Im(), {f32({0, 4, 4}, {}), i64({2}, {3, 3}), i64({2}, {2, 2})}), {0, 1, 3, 3}, {});
  Col2Im op;
  op.pads_begin = {1, 0};
  check_close(run(op, {counting({1, 1, 3}), i64({2}, {0, 3}), i64({2}, {1, 1})}), {1, 1, 0, 3}, {});
}

TEST_CASE("Col2Im infers as much as is known", "[col2im]") {
  const Dimension any;
  const Col2Im op;
  CHECK(infer_shape(op, {real({any, 12, any}), integers({2}), known({2, 2})}) ==
        PartialShape{any, 3, any, any});
  CHECK(infer_shape(op, {real({12, 9}), known({4, 4}), integers({2})}) ==
        PartialShape{Dimension(0, 12), 4, 4});
  CHECK(infer_shape(op, {real({1, Dimension(5, 13), any}), partly_known({any, 4}), known({2, 2})}) ==
        PartialShape{1, Dimension(2, 3), any, 4});
  CHECK(infer_shape(op, {real(PartialShape()), known({4, 4}), known({2, 2})}) == PartialShape());
  CHECK(infer_shape(op, {real({1, any, any}), integers(PartialShape()), integers({any})}) ==
        PartialShape{1, any, any, any});
}

TEST_CASE("Col2Im explains its dims", "[col2im]") {
  CHECK(rule(Col2Im(), {real({12, 9}), known({4, 4}), known({2, 2})}, 2) == "element 1 of input 1 = 4");
}

TEST_CASE("Col2Im says what is wrong", "[col2im]") {
  Col2Im op;
  const auto failure = [&](PartialShape data, std::vector<std::int64_t> size,
                           std::vector<std::int64_t> window) {
    return failure_of(op, {real(std::move(data)), known(std::move(size)), known(std::move(window))});
  };
  CHECK(failure_of(op, {real({12, 9}), known({4, 4})}) == "IR-input-count: has 2 inputs, Col2Im takes 3");
  CHECK(failure_of(op, {value(ElementType::boolean, {12, 9}), known({4, 4}), known({2, 2})}) ==
        "IR-element-type: input 0 is of type boolean, Col2Im takes a numeric type");
  CHECK(failure_of(op, {real({12, 9}), real({2}), known({2, 2})}) ==
        "IR-element-type: input 1 is of type f32, Col2Im takes i32, i64");
  CHECK(failure({12}, {4, 4}, {2, 2}) ==
        "IR-rank: input 0 has shape [12] of rank 1, Col2Im takes a rank from 2 to 3");
  CHECK(failure({12, 9}, {4, 4, 4}, {2, 2}) ==
        "IR-shape: input 1 has 3 elements; it gives the height and width");
  CHECK(failure_of(op, {real({12, 9}), known({4, 4}), integers({1, 2})}) ==
        "IR-rank: input 2 has shape [1,2] of rank 2, Col2Im takes rank 1");
  CHECK(failure({12, 9}, {4, -4}, {2, 2}) == "IR-value: input 1 holds -4 as a size of the image");
  CHECK(failure({12, 9}, {4, 4}, {-2, 2}) == "IR-value: input 2 holds -2 as a size of the blocks");
  CHECK(failure({12, 9}, {4, 4}, {0, 2}) == "IR-window: the window of spatial axis 0 has size 0");
  CHECK(failure({13, 9}, {4, 4}, {2, 2}) ==
        "IR-shape: input 0 of shape [13,9] has 13 rows, which blocks of 4 elements do not divide");
  CHECK(failure({12, 8}, {4, 4}, {2, 2}) ==
        "IR-shape: input 0 of shape [12,8] holds 8 blocks, the image has 3 * 3");
  CHECK(failure({12, 8}, {1, 4}, {2, 2}) ==
        "IR-window: the window of spatial axis 0 covers 2 elements (size 2, dilation 1), the padded image "
        "has 1 (0 + 1 + 0)");
  CHECK(failure({12, 9}, {kHuge, 4}, {2, 2}).starts_with("IR-window: spatial axis 0 has size"));
  op.strides = {0, 1};
  CHECK(failure({12, 9}, {4, 4}, {2, 2}) ==
        "IR-attribute-range: strides holds 0; it takes values from 1 to 2147483648");
  op.strides = {1, 1, 1};
  CHECK(failure({12, 9}, {4, 4}, {2, 2}) == "IR-attribute-size: strides has 3 values for 2 spatial axes");
}

}  // namespace ir::test
