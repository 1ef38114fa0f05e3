// Products that are told that many elements of their input are 0.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/compressed.h"
#include "runtime/ops/fused.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

Node& product_of(Builder& b, Node& x, std::int64_t terms) {
  return b.add(op::v0::MatMul(), {x, b.constant(random_tensor({terms, 3}, 5))});
}

op::v0::Concat concat_of_rows() {
  op::v0::Concat concat;
  concat.axis = 1;
  return concat;
}

bool is_noted(const Model& model) {
  const auto* product = model.results()[0]->input(0).node->op().as<op::FusedMatMul>();
  return product != nullptr && product->input_is_rectified;
}

op::v0::Clamp clamp_from(double min) {
  op::v0::Clamp clamp;
  clamp.min = min;
  clamp.max = 6;
  return clamp;
}

TEST_CASE("Products by constants know of a rectifier in front", "[passes]") {
  Builder b({1, 4});
  const bool is_clamp = GENERATE(false, true);
  Node& zeros = is_clamp ? b.add(clamp_from(0), {*b.x}) : b.add(op::v0::ReLU(), {*b.x});
  Model model = b.result(product_of(b, zeros, 4));
  check_rewrite(passes::find_rectified_inputs, model, {is_clamp ? "Clamp" : "ReLU", "FusedMatMul"},
                {random_tensor({1, 4}, 3)});
  REQUIRE(passes::find_rectified_inputs(model));
  CHECK(is_noted(model));
}

TEST_CASE("Rectified values stay so where they are moved, joined, or left out", "[passes]") {
  Builder b({1, 2, 4, 4});
  Node& zeros = b.add(op::v0::ReLU(), {*b.x});
  op::v1::MaxPool pool;
  pool.kernel = pool.strides = {2, 2};
  pool.pads_begin = pool.pads_end = {0, 0};
  Node& maxima = b.add(pool, {zeros});
  Node& joined = b.add(concat_of_rows(), {maxima, maxima});
  Node& row = b.add(op::v1::Reshape(), {joined, b.constant(i64({2}, {1, 16}))});
  Model model = b.result(product_of(b, row, 16));
  REQUIRE(passes::find_rectified_inputs(model));
  CHECK(is_noted(model));
}

TEST_CASE("Rectified values are known in fused operations", "[passes]") {
  Builder b({1, 4});
  Node& first = product_of(b, *b.x, 4);
  Node& biased = b.add(op::v1::Add(), {first, b.constant(random_tensor({1, 3}, 7))});
  Node& zeros = b.add(op::v0::ReLU(), {biased});
  Model model = b.result(product_of(b, zeros, 3));
  optimize(model);
  CHECK(is_noted(model));
  CHECK_FALSE(
      model.results()[0]->input(0).node->input(0).node->op().as<op::FusedMatMul>()->input_is_rectified);
}

Node& quantised(Builder& b, Output value, float low) {
  op::v0::FakeQuantize quantization;
  quantization.levels = 256;
  Node& first = b.constant(number(low));
  Node& last = b.constant(number(1));
  return b.add(quantization, {value, first, last, first, last});
}

TEST_CASE("Rectified values that are quantised from 0 on stay so, before products of codes, too",
          "[passes]") {
  const float low = GENERATE(0.0F, -1.0F);
  Builder b({1, 64});
  Node& levels = quantised(b, b.add(op::v0::ReLU(), {*b.x}), low);
  op::CompressedMatMul product;
  product.rows = {kernels::WeightCode::i8, 64, 64};
  Node& codes = b.constant(Tensor(ElementType::u8, {3, 64}));
  Node& row = b.add(product, {levels, codes, b.constant(random_tensor({3, 1}, 5))});
  Model model = b.result(row);
  CHECK(passes::find_rectified_inputs(model) == (low == 0));
  const auto* fused = model.results()[0]->input(0).node->op().as<op::FusedCompressedMatMul>();
  CHECK((fused != nullptr && fused->input_is_rectified) == (low == 0));
}

TEST_CASE("Quantising from 0 on rectifies sums, but not what may be positive anyway", "[passes]") {
  Builder b({1, 3, 4, 4});
  const auto is_noted_behind = [&](Node& values, std::int64_t count) {
    Node& row = b.add(op::v1::Reshape(), {values, b.constant(i64({2}, {1, count}))});
    Model model = b.result(product_of(b, row, count));
    optimize(model);
    return is_noted(model);
  };
  SECTION("sums of a convolution") {
    op::v1::MaxPool pool;
    pool.kernel = pool.strides = {4, 4};
    pool.pads_begin = pool.pads_end = {0, 0};
    CHECK(is_noted_behind(b.add(pool, {quantised(b, b.convolution(*b.x), 0)}), 4));
  }
  SECTION("averages") {
    op::v1::AvgPool pool;
    pool.kernel = pool.strides = {4, 4};
    pool.pads_begin = pool.pads_end = {0, 0};
    Node& means = b.add(pool, {b.add(op::v0::ReLU(), {b.convolution(*b.x)})});
    CHECK_FALSE(is_noted_behind(quantised(b, means, 0), 4));
  }
  SECTION("a function that is positive, in one chain") {
    Node& values = b.add(op::v0::Sigmoid(), {b.add(op::v1::Add(), {*b.x, *b.x})});
    CHECK_FALSE(is_noted_behind(quantised(b, values, 0), 48));
  }
  SECTION("a rectifier, in one chain") {
    Node& values = b.add(op::v0::ReLU(), {b.add(op::v1::Add(), {*b.x, *b.x})});
    CHECK(is_noted_behind(quantised(b, values, 0), 48));
  }
}

TEST_CASE("Products of values that are not rectified, or by what is not constant, stay as they are",
          "[passes]") {
  Builder b({1, 4});
  SECTION("nothing in front") {
    check_untouched(passes::find_rectified_inputs, b.result(product_of(b, *b.x, 4)));
  }
  SECTION("a clamp that is none from 0 on") {
    Node& clamped = b.add(clamp_from(-1), {*b.x});
    check_untouched(passes::find_rectified_inputs, b.result(product_of(b, clamped, 4)));
  }
  SECTION("a function that has few zeros") {
    Node& values = b.add(op::v0::Sigmoid(), {*b.x});
    check_untouched(passes::find_rectified_inputs, b.result(product_of(b, values, 4)));
  }
  SECTION("only some of the values") {
    Node& zeros = b.add(op::v0::ReLU(), {*b.x});
    Node& joined = b.add(concat_of_rows(), {zeros, *b.x});
    check_untouched(passes::find_rectified_inputs, b.result(product_of(b, joined, 8)));
  }
  SECTION("the other operand is a value") {
    Node& zeros = b.add(op::v0::ReLU(), {*b.x});
    op::v0::MatMul product;
    product.transpose_b = true;
    check_untouched(passes::find_rectified_inputs, b.result(b.add(product, {zeros, *b.x})));
  }
}

}  // namespace
}  // namespace ir::test
