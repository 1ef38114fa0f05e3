// Operands that do not go where rewrites expect them. By the rule of PDPD, the second operand may line up
// with any axis of the first: numbers for the first axis are none for the last one or the channels, also
// where there are as many. And where a rank is not known, numbers may widen it.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/softmax.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct PdpdBuilder : Builder {
  using Builder::Builder;

  /// The second operand begins at axis 0 of the first.
  template <class Op>
  Node& from_first_axis(Output first, Output second) {
    Op op;
    op.auto_broadcast = op::AutoBroadcast::pdpd;
    op.auto_broadcast_axis = 0;
    return add(op, {first, second});
  }
  Node& mean(Output value) {
    op::v1::ReduceMean op;
    op.keep_dims = true;
    return add(op, {value, model.add_constant(std::vector<std::int64_t>{1})});
  }
};

}  // namespace

TEST_CASE("Numbers for the first axis do not join convolutions and products", "[passes]") {
  SECTION("as a bias") {
    PdpdBuilder b({4, 3, 5, 6});
    Node& sums = b.convolution(*b.x);
    check_untouched(passes::fuse_bias, b.result(b.from_first_axis<op::v1::Add>(sums, b.constant({4, 1, 1}))));
  }
  SECTION("as a bias that is subtracted") {
    PdpdBuilder b({4, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 4})});
    check_untouched(passes::fuse_bias,
                    b.result(b.from_first_axis<op::v1::Subtract>(product, b.constant({4}))));
  }
  SECTION("as factors") {
    PdpdBuilder b({4, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 4})});
    check_untouched(passes::fuse_batch_norm_and_scale,
                    b.result(b.from_first_axis<op::v1::Multiply>(product, b.constant({4}))));
  }
  SECTION("as divisors") {
    PdpdBuilder b({4, 3});
    Node& product = b.add(op::v0::MatMul(), {*b.x, b.constant({3, 4})});
    check_untouched(passes::fuse_batch_norm_and_scale, b.result(b.from_first_axis<op::v1::Divide>(
                                                           product, b.constant(random_positive({4}, 3)))));
  }
  SECTION("as limits") {
    PdpdBuilder b({4, 3, 5, 6});
    op::v0::FakeQuantize op;
    op.levels = 256;
    op.auto_broadcast = op::AutoBroadcast::pdpd;
    op.auto_broadcast_axis = 0;
    Node& low = b.constant(number(-1));
    Node& high = b.constant(f32({4, 1, 1}, {1, 2, 3, 4}));
    check_untouched(passes::fuse_quantization,
                    b.result(b.add(op, {b.convolution(*b.x), low, high, low, high})));
  }
  SECTION("before a convolution") {
    PdpdBuilder b({4, 4, 5, 6});
    Node& scaled = b.from_first_axis<op::v1::Multiply>(*b.x, b.constant({4, 1, 1}));
    op::v1::Convolution pointwise;
    pointwise.strides = pointwise.dilations = {1, 1};
    check_untouched(passes::fuse_prologue, b.result(b.add(pointwise, {scaled, b.constant({3, 4, 1, 1})})));
  }
  SECTION("as scales of weights") {
    PdpdBuilder b({1, 4});
    op::v0::Convert to_floats;
    to_floats.destination_type = ElementType::f32;
    Node& codes = b.add(to_floats, {b.constant(bytes({4, 4}))});
    Node& weights = b.from_first_axis<op::v1::Multiply>(codes, b.constant({4}));
    check_untouched(passes::keep_compressed_weights, b.result(b.add(op::v0::MatMul(), {*b.x, weights})));
  }
}

TEST_CASE("Numbers for the first axis do not join normalisations", "[passes]") {
  SECTION("behind them") {
    PdpdBuilder b({4, 4});
    Node& normal = b.add(op::v6::MVN(), {*b.x, b.model.add_constant(std::vector<std::int64_t>{1})});
    check_untouched(passes::fuse_layer_norm,
                    b.result(b.from_first_axis<op::v1::Multiply>(normal, b.constant({4}))));
  }
  SECTION("as groups have them") {
    PdpdBuilder b({4, 4, 5});
    Node& normal = b.add(op::v6::MVN(), {*b.x, b.model.add_constant(std::vector<std::int64_t>{2})});
    Node& scaled = b.from_first_axis<op::v1::Multiply>(normal, b.constant({4, 1}));
    check_untouched(passes::fuse_group_norm, b.result(b.add(op::v1::Add(), {scaled, b.constant({4, 1})})));
  }
  SECTION("within them") {
    PdpdBuilder b({4, 4});
    Node& deviation = b.add(op::v1::Subtract(), {*b.x, b.mean(*b.x)});
    Node& variance = b.mean(b.add(op::v1::Multiply(), {deviation, deviation}));
    Node& root = b.add(op::v0::Sqrt(), {b.add(op::v1::Add(), {variance, b.constant(number(0.01F))})});
    Node& scaled = b.from_first_axis<op::v1::Multiply>(deviation, b.constant({4}));
    check_untouched(passes::fuse_layer_norm, b.result(b.add(op::v1::Divide(), {scaled, root})));
  }
}

TEST_CASE("A mask of the first axes is none of attention", "[passes]") {
  PdpdBuilder b({5, 5, 5, 5});
  Node& scores = b.add(op::v0::MatMul(false, true), {*b.x, *b.x});
  op::v8::SoftMax softmax;
  softmax.axis = -1;
  Node& masked = b.from_first_axis<op::v1::Add>(scores, b.constant({5, 5}));
  check_untouched(passes::fuse_attention,
                  b.result(b.add(op::v0::MatMul(), {b.add(softmax, {masked}), *b.x})));
}

TEST_CASE("Operands of equal shapes join, whatever the rule", "[passes]") {
  Builder b({2, 3, 5, 6});
  op::v1::Add sum;
  sum.auto_broadcast = op::AutoBroadcast::none;
  check_rewrite(passes::fuse_residual, b.result(b.add(sum, {b.convolution(*b.x), b.constant({2, 4, 5, 6})})),
                {"FusedConvolution"}, {random_image()});
}

TEST_CASE("Formulas of values of unknown rank, which numbers may widen, stay", "[passes]") {
  Builder b{PartialShape()};
  Node& ones = b.constant(f32({3}, {1, 1, 1}));
  SECTION("Swish") {
    Node& sigmoid = b.add(op::v0::Sigmoid(), {b.add(op::v1::Divide(), {*b.x, ones})});
    check_untouched(passes::fuse_swish, b.result(b.add(op::v1::Multiply(), {*b.x, sigmoid})));
  }
  SECTION("Gelu") {
    Node& erf = b.add(op::v0::Erf(), {b.add(op::v1::Divide(), {*b.x, b.constant(number(1.41421356F))})});
    Node& product = b.add(op::v1::Multiply(), {*b.x, b.add(op::v1::Add(), {erf, ones})});
    check_untouched(passes::fuse_gelu,
                    b.result(b.add(op::v1::Multiply(), {product, b.constant(number(0.5F))})));
  }
}

}  // namespace ir::test
