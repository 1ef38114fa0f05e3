#include "ir_runtime/ops/normalization.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using namespace op;

v6::MVN mvn(double eps, bool variance = true, MvnEpsMode mode = MvnEpsMode::inside_sqrt) {
  v6::MVN op;
  op.eps = eps;
  op.normalize_variance = variance;
  op.eps_mode = mode;
  return op;
}

v0::LRN lrn(double alpha, double beta, double bias, std::int64_t size) {
  v0::LRN op;
  op.alpha = alpha;
  op.beta = beta;
  op.bias = bias;
  op.size = size;
  return op;
}

v0::NormalizeL2 normalize(double eps, NormalizeEpsMode mode) {
  v0::NormalizeL2 op;
  op.eps = eps;
  op.eps_mode = mode;
  return op;
}

v12::GroupNormalization groups(std::int64_t count) {
  v12::GroupNormalization op;
  op.num_groups = count;
  op.epsilon = 3;
  return op;
}

ValueInfo real(PartialShape shape) { return value(ElementType::f32, std::move(shape)); }

}  // namespace

TEST_CASE("BatchNormInference scales and shifts channels; the order of inputs depends on the version") {
  const Tensor data = f32({1, 2, 2}, {1, 3, 5, 7});
  const Tensor gamma = f32({2}, {2, 1});
  const Tensor beta = f32({2}, {0, 10});
  const Tensor mean = f32({2}, {1, 5});
  const Tensor variance = f32({2}, {3, 0});
  v5::BatchNormInference five;
  five.epsilon = 1;
  check_close(run(five, {data, gamma, beta, mean, variance}), {1, 2, 2}, {0, 2, 10, 12});
  v0::BatchNormInference zero;
  zero.epsilon = 1;
  check_close(run(zero, {gamma, beta, data, mean, variance}), {1, 2, 2}, {0, 2, 10, 12});
  CHECK(infer_shape(five, {real(PartialShape()), real({2}), real({2}), real({2}), real({2})}) ==
        PartialShape());
  CHECK(to_string(infer_shape(five, {real({Dimension(), Dimension(), 4}), real({2}), real(PartialShape()),
                                     real({2}), real({2})})) == "[?,2,4]");
}

TEST_CASE("BatchNormInference rejects other inputs") {
  const v5::BatchNormInference op;
  const ValueInfo two = real({2});
  CHECK(failure_of(op, {real({1, 3, 4}), two, two, two, two}) ==
        "IR-shape: input 1 has 2 elements for 3 channels of input 0");
  CHECK(failure_of(op, {real({3}), two, two, two, two})
            .starts_with("IR-rank: input 0 has shape [3] of rank 1"));
  CHECK(failure_of(op, {real({1, 2}), real({2, 1}), two, two, two}) ==
        "IR-rank: input 1 has shape [2,1] of rank 2, BatchNormInference takes rank 1");
  CHECK(failure_of(op, {real({1, 2}), two, two, two, value(ElementType::f16, Shape{2})}) ==
        "IR-element-type: inputs 0 and 4 are of types f32 and f16, BatchNormInference takes one type");
  // What the channels must be is known before the data is.
  const ValueInfo unknown = real(PartialShape());
  CHECK(failure_of(op, {unknown, real({3}), unknown, real({4}), unknown}) ==
        "IR-shape: input 3 has 4 elements for 3 elements of input 1");
  CHECK(failure_of(op, {real({1, Dimension()}), two, two, two, real({3})}) ==
        "IR-shape: input 4 has 3 elements for 2 elements of input 1");
  CHECK(failure_of(v0::BatchNormInference(), {two, real({3}), unknown, two, two}) ==
        "IR-shape: input 1 has 3 elements for 2 elements of input 0");
  v5::BatchNormInference negative;
  negative.epsilon = -1;
  CHECK(failure_of(negative, {real({1, 2}), two, two, two, two}) ==
        "IR-attribute-range: epsilon is -1; it takes values from 0 on");
}

TEST_CASE("MVN-6 normalises over the axes of input 1") {
  // Mean 2, variance 1.
  const Tensor data = f32({1, 2, 2}, {1, 3, 3, 1});
  check_close(run(mvn(3), {data, i64({2}, {1, 2})}), {1, 2, 2}, {-0.5F, 0.5F, 0.5F, -0.5F});
  check_close(run(mvn(3, true, MvnEpsMode::outside_sqrt), {data, i64({1}, {-1})}), {1, 2, 2},
              {-0.25F, 0.25F, 0.25F, -0.25F});
  check_close(run(mvn(3, false), {data, i64({}, {2})}), {1, 2, 2}, {-1, 1, 1, -1});
  const Tensor wide = tensor<double>({2}, {1, 3});
  CHECK(run(mvn(0), {wide, i64({1}, {0})}).data<double>()[1] == Approx(1.0));
}

TEST_CASE("MVN-6 normalises over an axis that is named twice once") {
  const Tensor data = f32({2, 2}, {1, 3, 2, 6});
  const Tensor once = run(mvn(3), {data, i64({1}, {1})});
  const auto expected = once.data<float>();
  check_equal<float>(run(mvn(3), {data, i64({3}, {1, -1, 1})}), {2, 2}, {expected.begin(), expected.end()});
}

TEST_CASE("MVN-1 normalises over given axes, else over channels or not") {
  const Tensor data = f32({1, 2, 1, 2}, {1, 3, 5, 7});
  v0::MVN op;
  op.normalize_variance = false;
  check_close(run(op, {data}), {1, 2, 1, 2}, {-3, -1, 1, 3});
  op.across_channels = false;
  check_close(run(op, {data}), {1, 2, 1, 2}, {-1, 1, -1, 1});
  op.reduction_axes = {-3};
  check_close(run(op, {data}), {1, 2, 1, 2}, {-2, -2, 2, 2});
  op.reduction_axes = {4};
  CHECK(failure_of(op, {real({1, 2, 1, 2})}) ==
        "IR-axis: reduction_axes: axis 4 lies outside of [-4, 4) for rank 4");
}

TEST_CASE("NormalizeL2 divides by the norm") {
  const Tensor data = f32({1, 2, 2}, {3, 0, 4, 0});
  const Tensor channels = i64({1}, {1});
  check_close(run(normalize(11, NormalizeEpsMode::add), {data, channels}), {1, 2, 2},
              {0.5F, 0, 0.6666667F, 0});
  check_close(run(normalize(100, NormalizeEpsMode::max), {data, channels}), {1, 2, 2}, {0.3F, 0, 0.4F, 0});
  // Without axes eps does not count.
  check_equal<float>(run(normalize(100, NormalizeEpsMode::add), {data, i64({0}, {})}), {1, 2, 2},
                     {1, 0, 1, 0});
  CHECK(failure_of(normalize(1, NormalizeEpsMode::add), {real({2}), value_of(i64({2}, {0, 0}))}) ==
        "IR-axis: input 1 names axis 0 twice");
}

TEST_CASE("GRN is NormalizeL2 over channels") {
  v0::GRN op;
  op.bias = 11;
  check_close(run(op, {f32({1, 2, 1}, {3, 4})}), {1, 2, 1}, {0.5F, 0.6666667F});
  CHECK(failure_of(v0::GRN(), {value(ElementType::f32, Shape{4})}) ==
        "IR-rank: input 0 has shape [4] of rank 1, GRN takes a rank from 2 to 4");
  CHECK(failure_of(v0::GRN(), {real({1, 2, 3, 4, 5})}) ==
        "IR-rank: input 0 has shape [1,2,3,4,5] of rank 5, GRN takes a rank from 2 to 4");
}

TEST_CASE("LRN divides by the squares in a window") {
  // Squares 1, 4, 9; windows of 3: 5, 14, 13.
  const Tensor data = f32({1, 3}, {1, 2, 3});
  check_close(run(lrn(3, 1, 0, 3), {data, i64({1}, {1})}), {1, 3}, {1.0F / 5, 2.0F / 14, 3.0F / 13});
  check_close(run(lrn(3, 0.5, 1, 3), {tensor<float>({3}, {1, 2, 3}), i64({1}, {0})}), {3},
              {0.4082483F, 0.5163978F, 0.8017837F});
  // Over two axes the sum is divided by size^2.
  check_close(run(lrn(9, 1, 0, 3), {f32({1, 2, 1}, {1, 2}), i32({2}, {1, 2})}), {1, 2, 1}, {0.2F, 0.4F});
  CHECK(failure_of(lrn(1, 1, 1, 0), {real({1, 3}), value_of(i64({1}, {1}))}) ==
        "IR-attribute-range: size is 0; it takes values of at least 1");
  CHECK(failure_of(lrn(1, 1, 1, 1), {real({1, 3}), value_of(i64({}, {1}))}) ==
        "IR-rank: input 1 has shape [] of rank 0, LRN takes rank 1");
  CHECK(failure_of(lrn(1, 1, 1, 1), {real({1, 3}), value(ElementType::i64, {3})}) ==
        "IR-shape: input 1 names 3 axes of 2: input 0 has shape [1,3]");
  CHECK(failure_of(lrn(1, 1, 1, 1), {real({1, 3}), value(ElementType::i64, {Dimension()})}) == "no failure");
}

TEST_CASE("GroupNormalization normalises groups of channels") {
  // Two groups: 1, 3 (mean 2, variance 1) and 5, 5 (mean 5, variance 0).
  const Tensor data = f32({1, 4, 1}, {1, 3, 5, 5});
  const Tensor scale = f32({4}, {2, 4, 1, 1});
  const Tensor bias = f32({4}, {0, 0, 7, 8});
  check_close(run(groups(2), {data, scale, bias}), {1, 4, 1}, {-1, 2, 7, 8});
  CHECK(failure_of(groups(3), {real({1, 4, 1}), real({4}), real({4})}) ==
        "IR-attribute-value: num_groups is 3, which does not divide 4 channels");
  CHECK(failure_of(groups(0), {real({1, 4, 1}), real({4}), real({4})}) ==
        "IR-attribute-range: num_groups is 0; it takes values of at least 1");
}

TEST_CASE("Normalisations take empty tensors") {
  check_equal<float>(run(mvn(1), {f32({0, 2}, {}), i64({1}, {1})}), {0, 2}, {});
  check_equal<float>(run(lrn(1, 1, 1, 3), {f32({2, 0}, {}), i64({1}, {1})}), {2, 0}, {});
  check_equal<float>(run(groups(2), {f32({0, 2}, {}), f32({2}, {1, 1}), f32({2}, {0, 0})}), {0, 2}, {});
}

}  // namespace ir::test
