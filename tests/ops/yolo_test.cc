#include "ir_runtime/ops/yolo.h"

#include <numeric>

#include "runtime/types/dispatch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

op::v0::RegionYolo region(bool softmax) {
  op::v0::RegionYolo op;
  op.anchors = {1, 2};
  op.axis = 1;
  op.end_axis = 3;
  op.coords = 4;
  op.classes = 2;
  op.num = 1;
  op.do_softmax = softmax;
  op.mask = {0};
  return op;
}

op::v0::ReorgYolo reorg(std::vector<std::int64_t> stride) {
  op::v0::ReorgYolo op;
  op.stride = std::move(stride);
  return op;
}

PartialShape reorganized(std::vector<std::int64_t> stride, PartialShape shape) {
  return infer_shape(reorg(std::move(stride)), {value(ElementType::u8, std::move(shape))});
}

std::string reorg_failure(std::vector<std::int64_t> stride, PartialShape shape) {
  return failure_of(reorg(std::move(stride)), {value(ElementType::f32, std::move(shape))});
}

}  // namespace

TEST_CASE("RegionYolo with softmax is YOLO 2: flat, classes exclude each other") {
  // sigmoid(0) = 0.5, sigmoid(ln 3) = 0.75; softmax of 0 and ln 3 is 0.25 and 0.75.
  const float three = std::log(3.0F);
  const Tensor input = f32({1, 7, 1, 1}, {0, three, 5, 6, three, 0, three});
  check_close(run(region(true), {input}), {1, 7}, {0.5F, 0.75F, 5, 6, 0.75F, 0.25F, 0.75F});
  check_close(run(region(false), {input}), {1, 7, 1, 1}, {0.5F, 0.75F, 5, 6, 0.75F, 0.5F, 0.75F});
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const Tensor result = run(region(true), {input.converted(type)});
    CHECK(result.element_type() == type);
    check_close(result.converted(ElementType::f32), {1, 7}, {0.5F, 0.75F, 5, 6, 0.75F, 0.25F, 0.75F}, 1e-2);
  }
}

TEST_CASE("RegionYolo without softmax drops the channels that no region has") {
  op::v0::RegionYolo op = region(false);
  op.classes = 0;
  const Tensor input = f32({2, 6, 1, 1}, {0, 0, 1, 2, 0, 9, 0, 0, 3, 4, 0, 9});
  check_close(run(op, {input}), {2, 5, 1, 1}, {0.5F, 0.5F, 1, 2, 0.5F, 0.5F, 0.5F, 3, 4, 0.5F});
  op = region(true);
  op.classes = 0;
  op.end_axis = -3;
  check_close(run(op, {input}), {2, 6, 1, 1}, {0.5F, 0.5F, 1, 2, 0.5F, 9, 0.5F, 0.5F, 3, 4, 0.5F, 9});
}

TEST_CASE("The shape of RegionYolo follows from axes or from mask") {
  const auto shape = [](const op::v0::RegionYolo& op, PartialShape input) {
    return infer_shape(op, {value(ElementType::f32, std::move(input))});
  };
  op::v0::RegionYolo op = region(true);
  CHECK(shape(op, {1, 125, 13, 13}) == PartialShape{1, 21125});
  CHECK(explain_outputs(op, std::vector{value(ElementType::f32, {1, 125, 13, 13})})[0][1] ==
        "125 * 13 * 13 = 21125");
  op.axis = -2;
  op.end_axis = -1;
  CHECK(shape(op, {Dimension(2, 4), Dimension(5, 8), 3, Dimension(0, 10)}) ==
        PartialShape{Dimension(2, 4), Dimension(5, 8), Dimension(0, 30)});
  op.axis = -1;
  op.end_axis = 2;
  CHECK(shape(op, {10, 5, 16, 16}) == PartialShape{10, 5, 16, 16});
  CHECK(shape(op, PartialShape()) == PartialShape());

  op = region(false);
  op.classes = 80;
  op.mask = {0, 1, 2};
  CHECK(shape(op, {Dimension(2, 4), Dimension(), 26, Dimension()}) ==
        PartialShape{Dimension(2, 4), 255, 26, Dimension()});
  CHECK(explain_outputs(op, std::vector{value(ElementType::f32, {1, 255, 13, 13})})[0][1] ==
        "(coords + 1 + classes) * length of mask: (4 + 1 + 80) * 3 = 255");
}

TEST_CASE("RegionYolo refuses bad axes, types, and inputs without room for the regions") {
  const auto failure = [](const op::v0::RegionYolo& op, PartialShape shape) {
    return failure_of(op, {value(ElementType::f32, std::move(shape))});
  };
  op::v0::RegionYolo op = region(true);
  CHECK(failure_of(op, {}) == "IR-input-count: has 0 inputs, RegionYolo takes 1");
  CHECK(failure_of(op, {value(ElementType::i32, {1, 7, 1, 1})}) ==
        "IR-element-type: input 0 is of type i32, RegionYolo takes a floating-point type");
  CHECK(failure(op, {1, 7, 1}) == "IR-rank: input 0 has shape [1,7,1] of rank 3, RegionYolo takes rank 4");
  op.axis = 4;
  CHECK(failure(op, {1, 7, 1, 1}) == "IR-axis: axis 4 lies outside of [-4, 4) for rank 4");
  op = region(true);
  op.end_axis = -5;
  CHECK(failure(op, {1, 7, 1, 1}) == "IR-axis: end_axis -5 lies outside of [-4, 4) for rank 4");
  op.num = -1;
  CHECK(failure(op, {1, 7, 1, 1}) ==
        "IR-attribute-range: coords is 4, classes is 2 and num is -1; none can be negative");

  op = region(false);
  CHECK(error_of(op, {Tensor(ElementType::f32, {1, 6, 1, 1})}) ==
        "IR-shape: input 0 has 6 channels; 1 regions of 4 + 1 + 2 values take 7");
  op.coords = 1;
  CHECK(error_of(op, {Tensor(ElementType::f32, {1, 7, 1, 1})}) ==
        "IR-attribute-range: coords is 1; a region has at least 2");
}

TEST_CASE("ReorgYolo moves elements of every type") {
  // Seen as one channel of 4 x 4: the even and odd positions of both axes.
  const std::vector<std::int64_t> moved{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15};
  std::vector<std::int64_t> ascending(16);
  std::iota(ascending.begin(), ascending.end(), 0);
  const Tensor input = i64({1, 4, 2, 2}, ascending);
  for (const ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i64,
        ElementType::i32, ElementType::i16, ElementType::i8, ElementType::u64, ElementType::u32,
        ElementType::u16, ElementType::u8, ElementType::u4}) {
    INFO(name_of(type));
    const Tensor result = run(reorg({2}), {input.converted(type)});
    CHECK(result.element_type() == type);
    check_equal<std::int64_t>(result.converted(ElementType::i64), {1, 16, 1, 1}, moved);
  }
  check_equal<std::int64_t>(run(reorg({1}), {input}), {1, 4, 2, 2}, ascending);
}

TEST_CASE("ReorgYolo infers shapes and refuses others") {
  CHECK(reorganized({2}, {1, 64, 26, 26}) == PartialShape{1, 256, 13, 13});
  CHECK(reorganized({3, 3}, {Dimension(), Dimension(9, 20), Dimension(4, 10), Dimension()}) ==
        PartialShape{Dimension(), Dimension(81, 180), Dimension(2, 3), Dimension()});
  CHECK(reorganized({2}, PartialShape()) == PartialShape());
  CHECK(explain_outputs(reorg({2}), std::vector{value(ElementType::f32, {1, 64, 26, 26})})[0] ==
        std::vector<std::string>{"", "64 * 4 = 256", "26 / 2 = 13", "26 / 2 = 13"});

  CHECK(failure_of(reorg({2}), {}) == "IR-input-count: has 0 inputs, ReorgYolo takes 1");
  CHECK(reorg_failure({2}, {1, 3, 4, 4}) ==
        "IR-shape: input 0 has shape [1,3,4,4]: axis 1 has less than stride^2 = 4 elements");
  CHECK(reorg_failure({2}, {1, 4, 5, 4}) ==
        "IR-shape: axis 2 of input 0 has 5 elements, which is no multiple "
        "of 2");
  CHECK(reorg_failure({2}, {4, 4, 4}) ==
        "IR-rank: input 0 has shape [4,4,4] of rank 3, ReorgYolo takes rank 4");
  CHECK(reorg_failure({}, {1, 4, 4, 4}) == "IR-attribute-size: stride is empty");
  CHECK(reorg_failure({0}, {1, 4, 4, 4}) == "IR-attribute-range: stride is 0; it takes values of at least 1");
  CHECK(error_of(reorg({2}), {Tensor(ElementType::f32, {1, 5, 2, 2})}) ==
        "IR-unsupported: no kernel for ReorgYolo of 5 channels, which is no multiple of stride^2 = 4");
}

}  // namespace ir::test
