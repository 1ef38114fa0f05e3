#include "ir_runtime/ops/attention.h"

#include <cmath>
#include <limits>

#include "tests/ops/support.h"

namespace ir::test {
namespace {

const float kLog2 = std::log(2.0F);

op::v13::ScaledDotProductAttention attention(bool causal = false) {
  op::v13::ScaledDotProductAttention op;
  op.causal = causal;
  return op;
}

// Of length 1: scores are products. Two keys, 0 and 1, and the values 3 and 6.
Tensor keys() { return f32({1, 2, 1}, {0, 1}); }
Tensor values() { return f32({1, 2, 1}, {3, 6}); }
Tensor no_mask() { return f32({}, {0}); }
Tensor booleans(Shape shape, std::vector<std::uint8_t> values) {
  Tensor mask(ElementType::boolean, std::move(shape));
  std::copy(values.begin(), values.end(), static_cast<std::uint8_t*>(mask.raw()));
  return mask;
}

}  // namespace

TEST_CASE("Attention weighs values by the softmax of scores") {
  // Scores (0, ln 2) and (0, 0): weights (1/3, 2/3) and (1/2, 1/2).
  const Tensor queries = f32({1, 2, 1}, {kLog2, 0});
  check_close(run(attention(), {queries, keys(), values()}), {1, 2, 1}, {5, 4.5F});
  // Row 0 sees key 0 only.
  check_close(run(attention(true), {queries, keys(), values()}), {1, 2, 1}, {3, 4.5F});
}

TEST_CASE("Attention divides scores by the root of their length, or takes the scale that is given") {
  const Tensor query = f32({1, 1, 4}, {2 * kLog2, 0, 0, 0});
  const Tensor key = f32({1, 2, 4}, {0, 9, 9, 9, 1, 9, 9, 9});
  check_close(run(attention(), {query, key, values()}), {1, 1, 1}, {5});
  // Scores (0, 2 ln 2): weights (1/5, 4/5).
  for (const Shape& shape : {Shape{}, Shape{1}}) {
    check_close(run(attention(), {query, key, values(), no_mask(), f32(shape, {1})}), {1, 1, 1}, {5.4F});
  }
}

TEST_CASE("Attention takes masks that are added and masks that are true or false") {
  const Tensor queries = f32({1, 2, 1}, {kLog2, 0});
  const float log4 = 2 * kLog2;
  check_close(run(attention(), {queries, keys(), values(), f32({1, 2, 2}, {kLog2, 0, 0, log4})}), {1, 2, 1},
              {4.5F, 5.4F});
  check_close(run(attention(), {queries, keys(), values(), f32({1, 1, 2}, {kLog2, 0})}), {1, 2, 1},
              {4.5F, 4});
  check_close(run(attention(), {queries, keys(), values(), f32({1, 2}, {kLog2, 0})}), {1, 2, 1}, {4.5F, 4});
  check_close(run(attention(), {queries, keys(), values(), booleans({1, 2, 2}, {1, 0, 0, 1})}), {1, 2, 1},
              {3, 6});
  // Nothing kept: OpenVINO gives all the lowest score.
  check_close(run(attention(), {queries, keys(), values(), booleans({1, 1, 1}, {0})}), {1, 2, 1},
              {4.5F, 4.5F});
  check_close(run(attention(), {queries, keys(), values(), no_mask()}), {1, 2, 1}, {5, 4.5F});
  check_close(run(attention(true), {queries, keys(), values(), f32({1}, {77})}), {1, 2, 1}, {3, 4.5F});
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  check_close(
      run(attention(), {queries, keys(), values(), f32({2, 2}, {0, minus_infinity, minus_infinity, 0})}),
      {1, 2, 1}, {3, 6});
  // One query, spread over the rows of a mask.
  check_close(run(attention(), {f32({1, 1, 1}, {kLog2}), keys(), values(), f32({2, 2}, {0, 0, kLog2, 0})}),
              {1, 2, 1}, {5, 4.5F});
}

TEST_CASE("A sink of attention takes weight and has no value") {
  // Scores (0, ln 2, sink 0): weights (1/4, 2/4, 1/4).
  const Tensor query = f32({1, 1, 1}, {kLog2});
  check_close(run(attention(), {query, keys(), values(), no_mask(), f32({}, {1}), f32({1, 1, 1}, {0})}),
              {1, 1, 1}, {3.75F});
}

TEST_CASE("Batches of attention broadcast") {
  // Heads 0 and 1 share keys and values; batch elements 0 and 1 do not.
  const Tensor queries = f32({2, 2, 1, 1}, {0, kLog2, 0, kLog2});
  const Tensor key = f32({2, 1, 2, 1}, {0, 1, 0, 2});
  const Tensor value = f32({2, 1, 2, 1}, {3, 6, 5, 10});
  check_close(run(attention(), {queries, key, value}), {2, 2, 1, 1}, {4.5F, 5, 7.5F, 9});
  // A key of lower rank, a mask of two axes per batch element.
  const Tensor mask = f32({2, 1, 1, 2}, {0, 0, kLog2, 0});
  check_close(run(attention(), {f32({1, 1, 1}, {kLog2}), keys(), values(), mask}), {2, 1, 1, 1}, {5, 4.5F});
}

TEST_CASE("Attention in f64 and in halves") {
  const Tensor queries = f32({1, 2, 1}, {kLog2, 0});
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const Tensor out = run(attention(), {queries.converted(type), keys().converted(type),
                                         values().converted(type), f32({2, 1}, {0, 1}).converted(type)});
    CHECK(out.element_type() == type);
    check_close(out.converted(ElementType::f32), {1, 2, 1}, {5, 4.5F}, 1e-2);
  }
  const Tensor masked =
      run(attention(), {queries.converted(ElementType::f16), keys().converted(ElementType::f16),
                        values().converted(ElementType::f16), booleans({2, 1}, {1, 0})});
  check_close(masked.converted(ElementType::f32), {1, 2, 1}, {5, 4.5F}, 1e-2);
}

TEST_CASE("Attention over no keys is zero") {
  check_close(run(attention(), {f32({1, 2, 1}, {1, 2}), f32({1, 0, 1}, {}), f32({1, 0, 3}, {})}), {1, 2, 3},
              {0, 0, 0, 0, 0, 0});
}

TEST_CASE("Attention's shape comes from all inputs") {
  const Dimension any;
  const auto real = [](PartialShape shape) { return value(ElementType::f32, std::move(shape)); };
  CHECK(infer_shape(attention(), {real({1, any, 80}), real({1, any, 80}), real({1, any, 64})}) ==
        PartialShape{1, any, 64});
  CHECK(infer_shape(attention(), {real({2, 1, 7, 80}), real({1, 8, any, any}), real({8, 5, 40}),
                                  value(ElementType::boolean, {7, 5})}) == PartialShape{2, 8, 7, 40});
  CHECK(infer_shape(attention(), {real({2, 1, 80}), real({2, 5, 80}), real({2, 5, 40}), real({any, 5})}) ==
        PartialShape{2, any, 40});
  CHECK(infer_shape(attention(), {real(PartialShape()), real({2, 5, 80}), real({2, 5, 40})}) ==
        PartialShape());
}

TEST_CASE("Attention refuses inputs that do not fit together") {
  const auto real = [](PartialShape shape) { return value(ElementType::f32, std::move(shape)); };
  const ValueInfo query = real({2, 7, 8});
  const ValueInfo key = real({2, 5, 8});
  const ValueInfo values5 = real({2, 5, 6});
  const op::v13::ScaledDotProductAttention op;
  CHECK(failure_of(op, {query, key}) ==
        "IR-input-count: has 2 inputs, ScaledDotProductAttention takes 3 to 6");
  CHECK(failure_of(op, {query, value(ElementType::i32, {2, 5, 8}), values5}) ==
        "IR-element-type: input 1 is of type i32, ScaledDotProductAttention takes a floating-point type");
  CHECK(failure_of(op, {query, key, value(ElementType::f16, {2, 5, 6})}) ==
        "IR-element-type: inputs 0 and 2 are of types f32 and f16; one is taken");
  CHECK(failure_of(op, {query, key, values5, value(ElementType::f64, {7, 5})}) ==
        "IR-element-type: inputs 0 and 3 are of types f32 and f64; one is taken");
  CHECK(failure_of(op, {real({7, 8}), key, values5}) ==
        "IR-rank: input 0 has shape [7,8]; it takes a rank of at least 3");
  CHECK(failure_of(op, {query, real({3, 5, 8}), values5}) ==
        "IR-broadcast: input 1 has shape [3,5,8]: its batch [3] does not match [2] of the inputs before it");
  CHECK(failure_of(op, {query, real({2, 5, 9}), values5}) ==
        "IR-shape: input 1 has shape [2,5,9]: the length of a key is 9, but the length of a query is 8");
  CHECK(failure_of(op, {query, key, real({2, 4, 6})}) ==
        "IR-shape: input 2 has shape [2,4,6]: the number of values is 4, but the number of keys is 5");
  CHECK(failure_of(op, {query, key, values5, real({5})}) ==
        "IR-rank: input 3 has shape [5]; it takes a rank of at least 2");
  CHECK(failure_of(op, {query, key, values5, real({6, 5})}) ==
        "IR-broadcast: input 3 has shape [6,5]: 6 rows do not match 7 queries");
  CHECK(failure_of(op, {query, key, values5, real({7, 4})}) ==
        "IR-shape: input 3 has shape [7,4]: its last dim is 4, but the number of keys is 5");
  CHECK(failure_of(op, {query, key, values5, real({7, 5}), real({2})}) ==
        "IR-shape: input 4 has shape [2]; it takes one element");
  CHECK(failure_of(op, {query, key, values5, real({7, 5}), real({1}), real({2, 7, 2})}) ==
        "IR-shape: input 5 has shape [2,7,2]: its last dim is 2, but the length of a sink is 1");
}

}  // namespace ir::test
