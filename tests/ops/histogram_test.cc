// Bincount and Histc.
#include "ir_runtime/ops/histogram.h"

#include <limits>

#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::v17::Bincount;
using op::v17::Histc;

Bincount bincount(std::int64_t minlength) {
  Bincount op;
  op.minlength = minlength;
  return op;
}

Histc histc(std::int64_t bins, double min, double max) {
  Histc op;
  op.bins = bins;
  op.min_val = min;
  op.max_val = max;
  return op;
}

}  // namespace

TEST_CASE("Bincount counts values of every type that it takes") {
  for (const ElementType type : {ElementType::i32, ElementType::i64, ElementType::u8, ElementType::u16,
                                 ElementType::u32, ElementType::u64}) {
    INFO(name_of(type));
    const Tensor values = i32({5}, {1, 3, 1, 0, 3}).converted(type);
    check_equal<std::int64_t>(run(Bincount(), {values}), {4}, {1, 2, 0, 2});
    check_equal<std::int64_t>(run(bincount(6), {values}), {6}, {1, 2, 0, 2, 0, 0});
    check_equal<std::int64_t>(run(bincount(2), {values}), {4}, {1, 2, 0, 2});
    check_equal<std::int64_t>(run(bincount(2), {i32({0}, {}).converted(type)}), {2}, {0, 0});
    check_equal<std::int64_t>(run(Bincount(), {i32({0}, {}).converted(type)}), {0}, {});
  }
}

TEST_CASE("Bincount sums weights of every type that it takes") {
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::i32, ElementType::i64}) {
    INFO(name_of(type));
    const Tensor sums = run(bincount(5), {i64({4}, {2, 0, 2, 2}), i32({4}, {10, -3, 5, 1}).converted(type)});
    CHECK(sums.element_type() == type);
    check_close(sums.converted(ElementType::f32), {5}, {-3, 0, 16, 0, 0});
  }
}

TEST_CASE("Bincount is as long as its values are known to need") {
  const auto infer = [](std::int64_t minlength, const ValueInfo& values) {
    return infer_shape(bincount(minlength), {values});
  };
  constexpr std::int64_t kAny = Dimension::kUnbounded;
  CHECK(infer(0, value(ElementType::i64, {4})) == PartialShape{Dimension(1, kAny)});
  CHECK(infer(7, value(ElementType::u64, {Dimension()})) == PartialShape{Dimension(7, kAny)});
  CHECK(infer(0, value(ElementType::i32, PartialShape())) ==
        PartialShape{Dimension(0, std::int64_t{1} << 31)});
  CHECK(infer(3, value(ElementType::u8, {Dimension(0, 9)})) == PartialShape{Dimension(3, 256)});
  CHECK(infer(0, value(ElementType::u16, {2})) == PartialShape{Dimension(1, 65536)});
  CHECK(infer(300, value(ElementType::u8, {2})) == PartialShape{300});
  CHECK(infer(5, value(ElementType::i64, {0})) == PartialShape{5});
  CHECK(infer(0, value_of(i64({3}, {4, 2, 0}))) == PartialShape{5});
  CHECK(infer(0, partly_known({2, Dimension(0, 6)})) == PartialShape{Dimension(3, 7)});
  const std::vector<ValueInfo> weighted{value(ElementType::i64, {4}), value(ElementType::f64, {Dimension()})};
  CHECK(infer_outputs(Bincount(), weighted)[0].type == ElementType::f64);
  CHECK(explain_outputs(bincount(9), std::vector{value_of(i64({3}, {4, 2, 0}))})[0][0] ==
        "max(largest value + 1, 9) = 9");
}

TEST_CASE("Bincount says what is wrong") {
  const ValueInfo values = value(ElementType::i64, {4});
  CHECK(failure_of(Bincount(), {}) == "IR-input-count: has 0 inputs, Bincount takes 1 to 2");
  CHECK(failure_of(Bincount(), {value(ElementType::i8, {4})}) ==
        "IR-element-type: input 0 is of type i8, Bincount takes i32, i64, u8, u16, u32, u64");
  CHECK(failure_of(Bincount(), {values, value(ElementType::f16, {4})}) ==
        "IR-element-type: input 1 is of type f16, Bincount takes f32, f64, i32, i64");
  CHECK(failure_of(Bincount(), {value(ElementType::i64, {4, 1})}) ==
        "IR-rank: input 0 has shape [4,1] of rank 2, Bincount takes rank 1");
  CHECK(failure_of(Bincount(), {values, value(ElementType::f32, {5})}) ==
        "IR-shape: input 1 has shape [5]: axis 0 is 5, but the number of values is 4");
  CHECK(failure_of(bincount(-1), {values}) ==
        "IR-attribute-range: minlength is -1; it takes values of at least 0");
  CHECK(failure_of(Bincount(), {value_of(i64({3}, {1, -2, 0}))}) ==
        "IR-value: element 1 of input 0 is -2; Bincount takes values from 0 to 2^63 - 2");
}

TEST_CASE("Bincount refuses data that it cannot count") {
  // More elements than inference carries.
  std::vector<std::int64_t> values(5000, 3);
  values[4711] = -1;
  CHECK(error_of(Bincount(), {i64({5000}, values)}) ==
        "IR-value: element 4711 of input 0 is -1; Bincount takes values from 0 to 2^63 - 2");
  values[4711] = std::numeric_limits<std::int64_t>::max() - 1;
  CHECK(
      error_of(Bincount(), {i64({5000}, values)}) ==
      "IR-tensor-size: a tensor of type i64 and shape [9223372036854775807] has no size that can be stored");
  values[4711] = std::numeric_limits<std::int64_t>::max();
  CHECK(error_of(Bincount(), {i64({5000}, values)}) ==
        "IR-value: element 4711 of input 0 is 9223372036854775807; Bincount takes values from 0 to 2^63 - 2");
}

TEST_CASE("Histc counts elements of every floating type") {
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16}) {
    INFO(name_of(type));
    const auto counts = [&](const Histc& op, const Tensor& data) {
      const Tensor found = run(op, {data.converted(type)});
      CHECK(found.element_type() == type);
      return found.converted(ElementType::f32);
    };
    // Cases of OpenVINO's reference tests.
    check_close(counts(histc(5, 0, 5), f32({5}, {0, 1, 2, 3, 4})), {5}, {1, 1, 1, 1, 1});
    check_close(counts(histc(4, 0, 0), f32({4}, {1, 2, 3, 4})), {4}, {1, 1, 1, 1});
    check_close(counts(histc(4, 0, 4), f32({6}, {-10, 0.5F, 1.5F, 2.5F, 3.5F, 20})), {4}, {1, 1, 1, 1});
    check_close(counts(histc(3, 2, 2), f32({3}, {2, 2, 3})), {3}, {2, 0, 0});
    check_close(counts(histc(2, 0, 4), f32({2, 2}, {0, 1, 2, 3})), {2}, {2, 2});
    check_close(counts(histc(4, 0, 1), f32({0}, {})), {4}, {0, 0, 0, 0});
    check_close(counts(histc(2, -1, 1), f32({4}, {NAN, -1, 1, 0})), {2}, {1, 2});
    check_close(counts(histc(0, 0, 1), f32({1}, {0.5F})), {0}, {});
  }
}

TEST_CASE("Histc has as many outputs as bins, whatever the input is") {
  CHECK(infer_shape(Histc(), {value(ElementType::f32, PartialShape())}) == PartialShape{100});
  CHECK(infer_shape(histc(7, 1.5, 9), {value(ElementType::f16, {Dimension(), 3})}) == PartialShape{7});
  CHECK(explain_outputs(Histc(), std::vector{value(ElementType::f32, {2})})[0][0] == "bins = 100");
}

TEST_CASE("Histc says what is wrong") {
  const ValueInfo data = value(ElementType::f32, {5});
  CHECK(failure_of(Histc(), {data, data}) == "IR-input-count: has 2 inputs, Histc takes 1");
  CHECK(failure_of(Histc(), {value(ElementType::i32, {5})}) ==
        "IR-element-type: input 0 is of type i32, Histc takes a floating-point type");
  CHECK(failure_of(histc(-1, 0, 1), {data}) ==
        "IR-attribute-range: bins is -1; it takes values of at least 0");
  CHECK(failure_of(histc(5, 2, 1), {data}) == "IR-attribute-value: max_val is 1, below min_val 2");
}

}  // namespace ir::test
