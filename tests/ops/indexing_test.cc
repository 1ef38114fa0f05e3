#include "ir_runtime/ops/indexing.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const Dimension kAny;

op::v4::Range range(ElementType type) {
  op::v4::Range op;
  op.output_type = type;
  return op;
}

op::v9::Eye eye(ElementType type) {
  op::v9::Eye op;
  op.output_type = type;
  return op;
}

}  // namespace

TEST_CASE("Range follows the specification's examples") {
  check_equal<std::int32_t>(run(range(ElementType::i32), {i32({}, {2}), i32({}, {23}), i32({}, {3})}), {7},
                            {2, 5, 8, 11, 14, 17, 20});
  check_equal<std::int32_t>(run(op::v0::Range{}, {i32({}, {23}), i32({}, {2}), i32({}, {-3})}), {7},
                            {23, 20, 17, 14, 11, 8, 5});
  check_close(run(range(ElementType::f32), {f32({}, {1}), f32({}, {2.5F}), f32({}, {0.5F})}), {3},
              {1, 1.5F, 2});
  check_equal<std::int32_t>(run(op::v0::Range{}, {i32({}, {3}), i32({}, {3}), i32({}, {1})}), {0}, {});
  // Integer outputs round the inputs toward zero first.
  check_equal<std::int64_t>(
      run(range(ElementType::i64), {f32({}, {-1.9F}), f32({}, {2.9F}), f32({}, {1.5F})}), {3}, {-1, 0, 1});
  check_close(run(range(ElementType::f32), {i64({1}, {0}), f32({}, {1}), f32({}, {0.25F})}), {4},
              {0, 0.25F, 0.5F, 0.75F});
  constexpr std::int64_t kFar = std::int64_t{1} << 53;
  check_equal<std::int64_t>(
      run(range(ElementType::i64), {i64({}, {kFar}), i64({}, {kFar + 3}), i64({}, {1})}), {3},
      {kFar, kFar + 1, kFar + 2});
  const Tensor half = run(range(ElementType::f16), {i32({}, {0}), i32({}, {3}), i32({}, {1})});
  CHECK(half.element_type() == ElementType::f16);
  check_close(half.converted(ElementType::f32), {3}, {0, 1, 2});
  const Tensor packed = run(range(ElementType::u4), {i32({}, {1}), i32({}, {6}), i32({}, {2})});
  check_equal<std::int32_t>(packed.converted(ElementType::i32), {3}, {1, 3, 5});
}

TEST_CASE("Range infers its length from what is known of the bounds") {
  const auto bounds = [](const Dimension& start, const Dimension& stop, const Dimension& step) {
    std::vector<ValueInfo> inputs;
    for (const Dimension& dim : {start, stop, step})
      inputs.push_back({ElementType::i64, Shape{}, nullptr, std::vector{dim}});
    return infer_shape(range(ElementType::i64), inputs);
  };
  CHECK(bounds(0, kAny, 1) == PartialShape{kAny});
  CHECK(bounds(0, Dimension(4, 8), 2) == PartialShape{Dimension(2, 4)});
  CHECK(bounds(Dimension(4, 8), 0, -3) == PartialShape{Dimension(2, 3)});
  CHECK(bounds(0, 4, kAny) == PartialShape{kAny});
  const Dimension from = Dimension().with_origin();
  Dimension to;
  to.set_distance(from, 7);
  CHECK(bounds(from, to, 1) == PartialShape{7});
  CHECK(bounds(from, to, 3) == PartialShape{3});
  CHECK(bounds(to, from, -3) == PartialShape{3});
  CHECK(bounds(to, from, 1) == PartialShape{0});
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(bounds(-5, 5, kMax) == PartialShape{1});
  CHECK(infer_shape(range(ElementType::f32),
                    {value(ElementType::f32, Shape{}), value(ElementType::f32, Shape{}),
                     value(ElementType::f32, Shape{})}) == PartialShape{kAny});
  const auto rules =
      explain_outputs(range(ElementType::i64),
                      std::vector{value_of(i64({}, {1})), value_of(i64({}, {8})), value_of(i64({}, {3}))});
  CHECK(rules[0][0] == "ceil((8 - 1) / 3) = 3");

  const auto reals = [](float start, float stop, float step) {
    return std::vector{value_of(f32({}, {start})), value_of(f32({}, {stop})), value_of(f32({}, {step}))};
  };
  CHECK(failure_of(op::v0::Range{}, {value_of(i64({}, {0})), value_of(i64({}, {1})),
                                     value_of(i64({}, {0}))}) == "IR-value: step is 0");
  CHECK(failure_of(range(ElementType::f32), reals(0, 1, 0)) ==
        "IR-value: start 0, stop 1 and step 0 give no range");
  CHECK(failure_of(range(ElementType::f32), reals(0, std::numeric_limits<float>::infinity(), 1)) ==
        "IR-value: start 0, stop inf and step 1 give no range");
  const ValueInfo open = value(ElementType::f32, Shape{});
  CHECK(failure_of(range(ElementType::f32),
                   {open, open, value_of(f32({}, {std::numeric_limits<float>::infinity()}))}) ==
        "IR-value: step inf gives no range");
  CHECK(failure_of(op::v0::Range{}, {open, value_of(f32({}, {std::nanf("")})), open}) ==
        "IR-value: stop nan gives no range");
  CHECK(failure_of(range(ElementType::f32), reals(0, 1e30F, 1e-30F)).substr(0, 9) == "IR-shape:");
  CHECK(failure_of(op::v0::Range{}, {value(ElementType::i64, Shape{}), value(ElementType::i32, Shape{}),
                                     value(ElementType::i64, Shape{})}) ==
        "IR-element-type: inputs 0 and 1 are of types i64 and i32, Range takes one type");
  CHECK(failure_of(range(ElementType::boolean), reals(0, 1, 1)) ==
        "IR-attribute-value: output_type is boolean; it takes a numeric type");
}

TEST_CASE("Eye follows the specification's examples") {
  check_equal<std::int32_t>(run(eye(ElementType::i32), {i32({}, {3}), i32({}, {4}), i32({}, {2})}), {3, 4},
                            {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0});
  check_equal<std::int32_t>(run(eye(ElementType::i32), {i32({}, {3}), i32({1}, {4}), i32({}, {-1})}), {3, 4},
                            {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0});
  check_close(run(eye(ElementType::f32), {i64({}, {2}), i64({}, {2}), i64({}, {5}), i64({2}, {1, 2})}),
              {1, 2, 2, 2}, std::vector<float>(8));
  for (const ElementType type : {ElementType::f16, ElementType::f64, ElementType::u8, ElementType::i4,
                                 ElementType::u1, ElementType::f8e4m3}) {
    INFO(name_of(type));
    const Tensor got = run(eye(type), {i32({}, {2}), i32({}, {3}), i32({}, {1})});
    CHECK(got.element_type() == type);
    check_close(got.converted(ElementType::f32), {2, 3}, {0, 1, 0, 0, 0, 1});
  }
  const ValueInfo number = value(ElementType::i64, Shape{});
  CHECK(infer_shape(eye(ElementType::f32), {number, value_of(i64({}, {3})), number}) ==
        PartialShape{kAny, 3});
  CHECK(infer_shape(eye(ElementType::f32), {number, number, number, value(ElementType::i64, {2})}) ==
        PartialShape::of_rank(4));
  CHECK(failure_of(eye(ElementType::f32), {value_of(i64({}, {-1})), number, number}) ==
        "IR-value: dim 0 of the output is -1");
}

TEST_CASE("OneHot takes indices of every integer type") {
  const auto type = GENERATE(ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64,
                             ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64);
  CAPTURE(type);
  check_equal<float>(
      run(op::v1::OneHot{}, {i32({3}, {2, 0, 3}).converted(type), i32({}, {3}), f32({}, {5}), f32({}, {1})}),
      {3, 3}, {1, 1, 5, 5, 1, 1, 1, 1, 1});
}

TEST_CASE("OneHot has no kernel for packed indices") {
  CHECK(error_of(op::v1::OneHot{}, {i32({2}, {1, 0}).converted(ElementType::u4), i32({}, {3}), f32({}, {5}),
                                    f32({}, {1})}) == "IR-unsupported: no kernel for indices of type u4");
}

TEST_CASE("OneHot follows the specification's examples") {
  op::v16::OneHot op;
  op.negative_indices_mode = op::NegativeIndices::normalize;
  check_equal<std::int32_t>(run(op, {i64({4}, {0, -5, -2, 2}), i64({}, {3}), i32({}, {1}), i32({}, {2})}),
                            {4, 3}, {1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 1});
  op::v1::OneHot middle;
  middle.axis = 1;
  check_equal<std::int32_t>(
      run(middle, {i32({2, 3}, {0, 3, 1, 1, 2, 4}), i32({}, {3}), i32({1}, {1}), i32({1}, {0})}), {2, 3, 3},
      {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0});
  check_equal<std::int32_t>(
      run(op::v1::OneHot{}, {i32({2}, {-1, 1}), i32({}, {2}), i32({}, {5}), i32({}, {0})}), {2, 2},
      {0, 0, 0, 5});
  const Tensor packed =
      run(op::v1::OneHot{}, {i32({}, {1}), i32({}, {3}), i32({}, {7}).converted(ElementType::u4),
                             i32({}, {1}).converted(ElementType::u4)});
  check_equal<std::int32_t>(packed.converted(ElementType::i32), {3}, {1, 7, 1});

  const ValueInfo number = value(ElementType::f32, Shape{});
  const ValueInfo indices = value(ElementType::i64, {kAny, 3});
  CHECK(infer_shape(middle, {indices, value_of(i64({}, {4})), number, number}) == PartialShape{kAny, 4, 3});
  CHECK(infer_shape(middle, {indices, value(ElementType::i64, Shape{}), number, number}) ==
        PartialShape{kAny, kAny, 3});
  CHECK(failure_of(middle, {indices, value_of(i64({}, {-1})), number, number}) == "IR-value: depth is -1");
  middle.axis = 3;
  CHECK(failure_of(middle, {indices, value_of(i64({}, {2})), number, number}) ==
        "IR-axis: axis 3 lies outside of [-3, 3) for rank 3");
}

TEST_CASE("NonZero finds what is not zero") {
  op::v3::NonZero op;
  check_equal<std::int64_t>(run(op, {f32({3, 2}, {0, 0, -0.0F, 0, 1, 3})}), {2, 2}, {2, 2, 0, 1});
  op.output_type = ElementType::i32;
  check_equal<std::int32_t>(run(op, {i32({4}, {0, 5, 0, 7})}), {1, 2}, {1, 3});
  check_equal<std::int32_t>(run(op, {i32({2, 2}, {0, 0, 0, 0})}), {2, 0}, {});
  check_equal<std::int32_t>(run(op, {i32({}, {3})}), {1, 1}, {0});
  check_equal<std::int32_t>(run(op, {i32({}, {0})}), {0, 0}, {});
  check_equal<std::int32_t>(run(op, {i32({5}, {0, 1, 0, 0, 3}).converted(ElementType::u3)}), {1, 2}, {1, 4});
  check_equal<std::int32_t>(run(op, {f32({3}, {0, std::numeric_limits<float>::quiet_NaN(), 0})}), {1, 1},
                            {1});
  CHECK(infer_shape(op, {value(ElementType::f32, {1, 2, 3, 4})}) == PartialShape{4, Dimension(0, 24)});
  CHECK(infer_shape(op, {value(ElementType::f32, {kAny, 2})}) == PartialShape{2, kAny});
  CHECK(infer_shape(op, {value(ElementType::f32, PartialShape())}) == PartialShape{kAny, kAny});
  CHECK(failure_of(op, {value(ElementType::string, {2})}) ==
        "IR-element-type: input 0 is of type string, which NonZero does not take");
  op.output_type = ElementType::u8;
  CHECK(failure_of(op, {value(ElementType::f32, {2})}) ==
        "IR-attribute-value: output_type is u8; it takes i32 or i64");
}

TEST_CASE("CumSum sums along an axis") {
  const Tensor data = i32({2, 3}, {1, 2, 3, 4, 5, 6});
  op::v0::CumSum op;
  check_equal<std::int32_t>(run(op, {data, i32({}, {1})}), {2, 3}, {1, 3, 6, 4, 9, 15});
  check_equal<std::int32_t>(run(op, {data}), {2, 3}, {1, 2, 3, 5, 7, 9});
  op.exclusive = true;
  check_equal<std::int32_t>(run(op, {data, i64({1}, {-1})}), {2, 3}, {0, 1, 3, 0, 4, 9});
  op.reverse = true;
  check_equal<std::int32_t>(run(op, {data, i64({}, {1})}), {2, 3}, {5, 3, 0, 11, 6, 0});
  check_equal<std::int32_t>(run(op, {i32({}, {3}), i64({}, {0})}), {}, {0});
  CHECK(infer_shape(op, {value(ElementType::f32, {kAny, 4}), value(ElementType::i64, Shape{})}) ==
        PartialShape{kAny, 4});
  CHECK(failure_of(op, {value(ElementType::f32, {2}), value_of(i64({}, {1}))}) ==
        "IR-axis: axis 1 lies outside of [-1, 1) for rank 1");
  CHECK(failure_of(op, {value(ElementType::f32, {2}), value_of(i64({2}, {0, 0}))}) ==
        "IR-shape: input 1 has shape [2]; it takes one element");
  CHECK(infer_shape(op, {value(ElementType::f32, {2}), value(ElementType::i64, {2})}) == PartialShape{2});
  CHECK(failure_of(op, {value(ElementType::string, {2})}) ==
        "IR-element-type: input 0 is of type string, which CumSum does not take");
  CHECK(failure_of(op, {value(ElementType::f32, {2}), value(ElementType::i16, Shape{})}) ==
        "IR-element-type: input 1 is of type i16, CumSum takes i32, i64");
}

}  // namespace ir::test
