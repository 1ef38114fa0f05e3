#include "ir_runtime/ops/reduction.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using namespace op;

constexpr std::int64_t kAny = Dimension::kUnbounded;

const Tensor kData = f32({2, 3}, {1, 2, -3, 4, -5, 6});

template <class Reduce>
Op keeping() {
  Reduce reduce;
  reduce.keep_dims = true;
  return reduce;
}

ValueInfo axes(std::vector<std::int64_t> values) {
  return value_of(i64({static_cast<std::int64_t>(values.size())}, values));
}

}  // namespace

TEST_CASE("Reductions join the elements along axes") {
  const Tensor last = i64({1}, {-1});
  check_equal<float>(run(v1::ReduceSum{}, {kData, last}), {2}, {0, 5});
  check_close(run(v1::ReduceMean{}, {kData, last}), {2}, {0, 1.6666666F});
  check_equal<float>(run(v1::ReduceProd{}, {kData, last}), {2}, {-6, -120});
  check_equal<float>(run(v1::ReduceMax{}, {kData, last}), {2}, {2, 6});
  check_equal<float>(run(v1::ReduceMin{}, {kData, last}), {2}, {-3, -5});
  check_equal<float>(run(v4::ReduceL1{}, {kData, last}), {2}, {6, 15});
  check_close(run(v4::ReduceL2{}, {kData, last}), {2}, {3.7416574F, 8.7749643F});
  const Tensor truth = Tensor::of<bool>({2, 2}, {true, false, true, true});
  check_equal<bool>(run(v1::ReduceLogicalAnd{}, {truth, last}), {2}, {false, true});
  check_equal<bool>(run(v1::ReduceLogicalOr{}, {truth, i64({}, {0})}), {2}, {true, true});
}

TEST_CASE("Reduced axes stay as ones with keep_dims") {
  check_equal<float>(run(keeping<v1::ReduceSum>(), {kData, i64({}, {0})}), {1, 3}, {5, -3, 3});
  check_equal<float>(run(keeping<v1::ReduceSum>(), {kData, i32({2}, {1, 0})}), {1, 1}, {5});
  check_equal<float>(run(v1::ReduceSum{}, {kData, i32({2}, {1, -2})}), {}, {5});
}

TEST_CASE("Reductions of integers") {
  check_equal<std::int64_t>(run(v1::ReduceMean{}, {i64({2}, {1, 4}), i64({}, {0})}), {}, {2});
  check_equal<std::int32_t>(run(v1::ReduceProd{}, {i32({3}, {2, 3, 4}), i64({}, {0})}), {}, {24});
}

TEST_CASE("Without axes a reduction gives its input") {
  check_equal<float>(run(v4::ReduceL1{}, {kData, i64({0}, {})}), {2, 3}, {1, 2, -3, 4, -5, 6});
  check_equal<float>(run(keeping<v1::ReduceMax>(), {f32({}, {-2}), i64({0}, {})}), {}, {-2});
}

TEST_CASE("Reductions of empty tensors give neutral elements") {
  check_equal<float>(run(v1::ReduceSum{}, {f32({2, 0}, {}), i64({}, {1})}), {2}, {0, 0});
  check_equal<float>(run(v1::ReduceProd{}, {f32({2, 0}, {}), i64({}, {1})}), {2}, {1, 1});
  check_equal<float>(run(v1::ReduceSum{}, {f32({2, 0}, {}), i64({}, {0})}), {0}, {});
}

TEST_CASE("Shapes of reductions with open dims or axes") {
  const ValueInfo data = value(ElementType::f32, PartialShape{Dimension(), 3, Dimension(2, 5)});
  CHECK(to_string(infer_shape(v1::ReduceSum{}, {data, axes({1})})) == "[?,2..5]");
  CHECK(to_string(infer_shape(keeping<v1::ReduceSum>(), {data, axes({0, -1})})) == "[1,3,1]");
  const ValueInfo open_axes = value(ElementType::i64, Shape{2});
  // Both may be one axis.
  CHECK(to_string(infer_shape(v1::ReduceSum{}, {data, open_axes})) == "[...]");
  CHECK(to_string(infer_shape(v1::ReduceSum{}, {data, value(ElementType::i64, Shape{1})})) == "[?,?]");
  CHECK(to_string(infer_shape(v1::ReduceSum{}, {data, value(ElementType::i64, Shape{})})) == "[?,?]");
  CHECK(to_string(infer_shape(keeping<v1::ReduceSum>(), {data, open_axes})) == "[?,1..3,1..5]");
  CHECK(to_string(infer_shape(v1::ReduceSum{}, {data, value(ElementType::i64, Shape{4})})) == "[...]");
  CHECK(to_string(infer_shape(v1::ReduceSum{}, {data, value(ElementType::i64, PartialShape())})) == "[...]");
  CHECK(to_string(infer_shape(v1::ReduceSum{}, {value(ElementType::f32, PartialShape()), axes({7})})) ==
        "[...]");
}

TEST_CASE("Reductions carry elements that are partly known") {
  ValueInfo dims = value(ElementType::i64, Shape{3});
  dims.elements = std::vector<Dimension>{Dimension(), 4, Dimension(2, 5)};
  const auto element = [&](const Op& op) {
    return infer_outputs(op, std::vector{dims, axes({0})})[0].elements.value().at(0);
  };
  CHECK(element(v1::ReduceProd{}) == Dimension(0, kAny));
  CHECK(element(v1::ReduceSum{}) == Dimension(6, kAny));
  CHECK(element(v1::ReduceMax{}) == Dimension(4, kAny));
  CHECK(element(v1::ReduceMin{}) == Dimension(0, 4));
}

TEST_CASE("An axis that is named twice is reduced once") {
  check_equal<float>(run(v1::ReduceSum{}, {kData, i64({2}, {1, 1})}), {2}, {0, 5});
  check_equal<float>(run(v4::ReduceL1{}, {kData, i64({3}, {1, -1, 1})}), {2}, {6, 15});
  check_close(run(keeping<v1::ReduceMean>(), {kData, i32({3}, {-2, 0, -2})}), {1, 3}, {2.5F, -1.5F, 1.5F});
  const ValueInfo data = value(ElementType::f32, Shape{2, 3});
  CHECK(infer_shape(v1::ReduceMax{}, {data, axes({1, -1})}) == PartialShape{2});
  CHECK(infer_shape(keeping<v1::ReduceMax>(), {data, axes({0, 1, 0})}) == PartialShape{1, 1});
}

TEST_CASE("A scalar has an axis 0 to reduce") {
  check_equal<float>(run(v1::ReduceSum{}, {f32({}, {-3}), i64({1}, {0})}), {}, {-3});
  check_equal<float>(run(keeping<v1::ReduceMin>(), {f32({}, {-3}), i64({}, {0})}), {}, {-3});
  check_equal<float>(run(v4::ReduceL1{}, {f32({}, {-3}), i64({1}, {0})}), {}, {3});
  check_equal<float>(run(v4::ReduceL2{}, {f32({}, {-3}), i64({2}, {0, 0})}), {}, {3});
  const ValueInfo scalar = value(ElementType::f32, Shape{});
  CHECK(failure_of(v1::ReduceSum{}, {scalar, axes({-1})}) ==
        "IR-axis: input 1: axis -1 lies outside of [0, 0] for a scalar");
  CHECK(failure_of(v1::ReduceSum{}, {scalar, axes({1})}) ==
        "IR-axis: input 1: axis 1 lies outside of [0, 0] for a scalar");
}

TEST_CASE("Axes lie within the rank") {
  const ValueInfo data = value(ElementType::f32, Shape{2, 3});
  CHECK(failure_of(v1::ReduceSum{}, {data, axes({2})}) ==
        "IR-axis: input 1: axis 2 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(v1::ReduceSum{}, {data, axes({-3})}) ==
        "IR-axis: input 1: axis -3 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(v1::ReduceSum{}, {data, value(ElementType::i64, Shape{1, 1})}) ==
        "IR-rank: input 1 has shape [1,1] of rank 2, ReduceSum takes a rank from 0 to 1");
  CHECK(failure_of(v1::ReduceSum{}, {data, value(ElementType::f32, Shape{1})}) ==
        "IR-element-type: input 1 is of type f32, ReduceSum takes an integer type");
}

TEST_CASE("Reductions reject other data") {
  CHECK(failure_of(v1::ReduceSum{}, {value(ElementType::boolean, Shape{2}), axes({0})}) ==
        "IR-element-type: input 0 is of type boolean, ReduceSum takes a numeric type");
  CHECK(failure_of(v1::ReduceLogicalOr{}, {value(ElementType::f32, Shape{2}), axes({0})}) ==
        "IR-element-type: input 0 is of type f32, ReduceLogicalOr takes boolean");
  CHECK(failure_of(v1::ReduceSum{}, {value(ElementType::f32, Shape{2})}) ==
        "IR-input-count: has 1 inputs, ReduceSum takes 2");
}

TEST_CASE("Dims of reductions are explained") {
  const std::vector<ValueInfo> inputs{value(ElementType::f32, Shape{2, 3}), axes({0})};
  CHECK(explain_outputs(v1::ReduceSum{}, inputs).at(0) == std::vector<std::string>{"dim 1 of input 0 = 3"});
  CHECK(explain_outputs(keeping<v1::ReduceSum>(), inputs).at(0) ==
        std::vector<std::string>{"axis 0 is reduced = 1", "dim 1 of input 0 = 3"});
}

}  // namespace ir::test
