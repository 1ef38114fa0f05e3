#include "ir_runtime/ops/softmax.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

template <class Op>
Op along(std::int64_t axis) {
  Op op;
  op.axis = axis;
  return op;
}

using op::v1::SoftMax;
using op::v5::LogSoftmax;
using SoftMax8 = op::v8::SoftMax;

}  // namespace

TEST_CASE("SoftMax scales exponentials along its axis") {
  const float ln3 = 1.0986123F;
  const Tensor data = f32({2, 2}, {0, ln3, ln3, 0});
  check_close(run(along<SoftMax>(1), {data}), {2, 2}, {0.25F, 0.75F, 0.75F, 0.25F});
  check_close(run(along<SoftMax8>(-2), {data}), {2, 2}, {0.25F, 0.75F, 0.75F, 0.25F});
  check_close(run(along<SoftMax8>(0), {f32({2, 1}, {0, ln3})}), {2, 1}, {0.25F, 0.75F});
  const Tensor wide = tensor<double>({1, 2}, {0, 1.0986122886681098});
  CHECK(run(along<SoftMax>(1), {wide}).data<double>()[0] == Approx(0.25));
}

TEST_CASE("LogSoftmax is its logarithm") {
  check_close(run(along<LogSoftmax>(-1), {f32({1, 2}, {0, 1.0986123F})}), {1, 2}, {-1.3862944F, -0.2876821F});
}

TEST_CASE("SoftMax takes empty tensors and open shapes") {
  check_equal<float>(run(along<SoftMax8>(0), {f32({0, 3}, {})}), {0, 3}, {});
  const PartialShape open{Dimension(), 3};
  CHECK(infer_shape(along<SoftMax>(1), {value(ElementType::f32, open)}) == open);
  CHECK(infer_shape(along<SoftMax>(9), {value(ElementType::f32, PartialShape())}) == PartialShape());
}

TEST_CASE("SoftMax rejects other inputs") {
  CHECK(failure_of(along<SoftMax>(2), {value(ElementType::f32, Shape{2, 3})}) ==
        "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(along<SoftMax>(-1), {value(ElementType::f32, Shape{2, 3})}) ==
        "IR-attribute-range: axis is -1; it takes values of at least 0");
  CHECK(failure_of(along<SoftMax8>(-1), {value(ElementType::f32, Shape{2, 3})}) == "no failure");
  CHECK(failure_of(along<LogSoftmax>(0), {value(ElementType::f32, Shape{})}) ==
        "IR-axis: axis 0 lies outside of [0, 0) for rank 0");
  CHECK(failure_of(along<SoftMax8>(0), {value(ElementType::i32, Shape{2})}) ==
        "IR-element-type: input 0 is of type i32, SoftMax takes a floating-point type");
}

}  // namespace ir::test
