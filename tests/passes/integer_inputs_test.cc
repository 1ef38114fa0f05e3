// Convolutions and products are told which inputs are integers times a step.
#include <functional>
#include <optional>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/interpolate.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/slicing.h"
#include "ir_runtime/ops/space.h"
#include "runtime/ops/fused_separable.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct Range {
  float low = 0;
  float high = 0;
};
constexpr Range kBytes{-12.8F, 12.7F};

struct IntegerBuilder : Builder {
  using Builder::Builder;

  Node& quantized(Output value, Range range = kBytes, std::int64_t levels = 256) {
    op::v0::FakeQuantize op;
    op.levels = levels;
    Node& low = constant(number(range.low));
    Node& high = constant(number(range.high));
    return add(op, {value, low, high, low, high});
  }
  Node& pointwise(Output image, std::int64_t in, std::int64_t out) {
    op::v1::Convolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {0, 0};
    return add(op, {image, constant({out, in, 1, 1})});
  }
  Node& depthwise(Output image, std::int64_t channels) {
    op::v1::GroupConvolution op;
    op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
    return add(op, {image, constant({channels, 1, 1, 3, 3})});
  }
};

// What the last operation knows of its image after find_integer_inputs.
std::optional<kernels::IntegerGrid> found(Model model) {
  const bool changed = passes::find_integer_inputs(model);
  check_consistent(model);
  const auto* last = model.results()[0]->input(0).node->op().as<op::FusedConvolution>();
  CHECK(changed == (last != nullptr));
  return last != nullptr ? last->input_grid : std::nullopt;
}

void check_grid(const std::optional<kernels::IntegerGrid>& grid, double step, float low, float high) {
  REQUIRE(grid.has_value());
  CHECK(grid->step == Approx(step));
  CHECK(grid->low == low);
  CHECK(grid->high == high);
}

}  // namespace

TEST_CASE("A convolution knows the step of a quantisation before it", "[passes]") {
  IntegerBuilder b({2, 3, 5, 6});
  SECTION("signed") { check_grid(found(b.result(b.convolution(b.quantized(*b.x)))), 0.1, -128, 127); }
  SECTION("unsigned") {
    check_grid(found(b.result(b.convolution(b.quantized(*b.x, {0, 2.55F})))), 0.01, 0, 255);
  }
  SECTION("few levels, upside down") {
    check_grid(found(b.result(b.convolution(b.quantized(*b.x, {1.5F, -1.5F}, 7)))), 0.5, -3, 3);
  }
  SECTION("with levels that miss 0 by little") {
    const auto grid = found(b.result(b.convolution(b.quantized(*b.x, {-1.0402F, 1.5098F}))));
    check_grid(grid, 0.01, -104, 151);
    CHECK(grid->offset == Approx(-0.0002).epsilon(1e-3));
  }
  SECTION("not of levels that miss 0") {
    CHECK_FALSE(found(b.result(b.convolution(b.quantized(*b.x, {-1.055F, 1.495F})))));
  }
  SECTION("not of more levels than 16 bits have") {
    CHECK_FALSE(found(b.result(b.convolution(b.quantized(*b.x, {0, 1}, 40000)))));
  }
  SECTION("not of one level that is repeated") {
    CHECK_FALSE(found(b.result(b.convolution(b.quantized(*b.x, {1, 1})))));
  }
  SECTION("not of any other value") { CHECK_FALSE(found(b.result(b.convolution(*b.x)))); }
}

TEST_CASE("MaxPool passes quantised values on where windows see more than padding", "[passes]") {
  struct Case {
    std::int64_t pads;
    op::Rounding14 rounding;
    op::AutoPad auto_pad;
    std::int64_t stride;
    std::int64_t dilation;
    bool passes;
  };
  using op::AutoPad;
  using op::Rounding14;
  const Case c = GENERATE(Case{0, Rounding14::floor, AutoPad::explicit_, 2, 1, true},
                          Case{2, Rounding14::floor, AutoPad::explicit_, 2, 1, true},
                          Case{3, Rounding14::floor, AutoPad::explicit_, 2, 1, false},
                          Case{1, Rounding14::ceil, AutoPad::explicit_, 2, 1, true},
                          Case{2, Rounding14::ceil, AutoPad::explicit_, 2, 1, false},
                          Case{0, Rounding14::ceil, AutoPad::explicit_, 4, 1, false},
                          Case{0, Rounding14::ceil_torch, AutoPad::explicit_, 4, 1, true},
                          Case{0, Rounding14::ceil, AutoPad::same_upper, 4, 1, true},
                          Case{1, Rounding14::floor, AutoPad::explicit_, 1, 2, false});
  INFO("pads " << c.pads << ", stride " << c.stride << ", dilation " << c.dilation);
  IntegerBuilder b({2, 3, 9, 9});
  op::v14::MaxPool pool;
  pool.kernel = {3, 3};
  pool.strides = {c.stride, c.stride};
  pool.dilations = {c.dilation, c.dilation};
  pool.pads_begin = pool.pads_end = {c.pads, c.pads};
  pool.rounding_type = c.rounding;
  pool.auto_pad = c.auto_pad;
  Node& pooled = b.add(pool, {b.quantized(*b.x)});
  Model model = b.result(b.pointwise(pooled, 3, 4));
  // With positions, and without.
  if (GENERATE(false, true)) CHECK(passes::drop_unused_positions(model));
  CHECK(found(model).has_value() == c.passes);
}

TEST_CASE("MaxPool passes quantised values on where lists are left out", "[passes]") {
  IntegerBuilder b({2, 3, 9, 9});
  op::v1::MaxPool pool;
  pool.kernel = {3, 3};
  Node& pooled = b.add(pool, {b.quantized(*b.x)});
  CHECK(found(b.result(b.pointwise(pooled, 3, 4))).has_value());
}

TEST_CASE("Quantised values stay so on their way to a convolution", "[passes]") {
  IntegerBuilder b({2, 3, 8, 6});
  Node& first = b.quantized(*b.x);
  const auto pooled = [&](Output value) -> Node& {
    op::v1::MaxPool pool;
    pool.strides = pool.kernel = {2, 2};
    pool.pads_begin = pool.pads_end = {0, 0};
    return b.add(pool, {value});
  };
  const auto joined = [&](Output a, Output c) -> Node& {
    op::v0::Concat concat;
    concat.axis = 1;
    return b.add(concat, {a, c});
  };
  SECTION("through MaxPool, Reshape and Concat") {
    Node& shape = b.constant(i64({4}, {2, 3, 3, 4}));
    Node& reshaped = b.add(op::v1::Reshape(), {pooled(first), shape});
    check_grid(found(b.result(b.pointwise(joined(reshaped, reshaped), 6, 4))), 0.1, -128, 127);
  }
  SECTION("through Unsqueeze and Squeeze") {
    Node& axis = b.constant(i64({}, {0}));
    Node& more = b.add(op::v0::Unsqueeze(), {first, axis});
    Node& less = GENERATE(false, true) ? b.add(op::v0::Squeeze(), {more, axis})
                                       : b.add(op::v15::Squeeze(), {more, axis});
    check_grid(found(b.result(b.pointwise(less, 3, 4))), 0.1, -128, 127);
  }
  SECTION("through one of several outputs") {
    op::v1::VariadicSplit split;
    Node& parts = b.add(split, {first, b.constant(i64({}, {1})), b.constant(i64({2}, {1, 2}))});
    check_grid(found(b.result(b.pointwise({&parts, 1}, 2, 4))), 0.1, -128, 127);
  }
  const auto enlarged = [&](const std::function<void(op::v4::Interpolate&)>& change) -> Node& {
    op::v4::Interpolate op;
    op.mode = op::InterpolateMode::nearest;
    change(op);
    return b.add(op, {first, b.constant(i64({2}, {16, 9})), b.constant(f32({2}, {1, 1})),
                      b.constant(i64({2}, {2, 3}))});
  };
  SECTION("through the nearest elements of an Interpolate") {
    Node& image = enlarged([](op::v4::Interpolate&) {});
    check_grid(found(b.result(b.pointwise(image, 3, 4))), 0.1, -128, 127);
  }
  SECTION("not through means of an Interpolate") {
    Node& image = enlarged([](op::v4::Interpolate& op) { op.mode = op::InterpolateMode::linear_onnx; });
    CHECK_FALSE(found(b.result(b.pointwise(image, 3, 4))));
  }
  SECTION("not through an Interpolate that pads") {
    const bool begin = GENERATE(true, false);
    Node& image = enlarged([&](op::v4::Interpolate& op) {
      (begin ? op.pads_begin : op.pads_end) = {0, 0, 1, 0};
    });
    CHECK_FALSE(found(b.result(b.pointwise(image, 3, 4))));
  }
  SECTION("through parts and blocks of an image") {
    op::v0::SpaceToDepth blocks;
    blocks.block_size = 2;
    Node& slice = b.add(op::v8::Slice(), {first, b.constant(i64({1}, {2})), b.constant(i64({1}, {8})),
                                          b.constant(i64({1}, {1})), b.constant(i64({1}, {2}))});
    check_grid(found(b.result(b.pointwise(b.add(blocks, {slice}), 12, 4))), 0.1, -128, 127);
  }
  SECTION("of the larger range, where steps are the same") {
    Node& second = b.quantized(*b.x, {0, 25.5F});
    check_grid(found(b.result(b.pointwise(joined(first, second), 6, 4))), 0.1, -128, 255);
  }
  SECTION("not when steps differ") {
    Node& second = b.quantized(*b.x, {0, 25.6F});
    CHECK_FALSE(found(b.result(b.pointwise(joined(first, second), 6, 4))));
  }
  SECTION("not when offsets differ") {
    Node& second = b.quantized(*b.x, {-12.804F, 12.696F});
    CHECK_FALSE(found(b.result(b.pointwise(joined(first, second), 6, 4))));
  }
  SECTION("not together with others") {
    CHECK_FALSE(found(b.result(b.pointwise(joined(first, *b.x), 6, 4))));
  }
  SECTION("not through arithmetic") {
    CHECK_FALSE(found(b.result(b.convolution(b.add(op::v4::Swish(), {first})))));
  }
}

TEST_CASE("A search for steps ends, however many ways lead back", "[passes]") {
  IntegerBuilder b({1, 1, 2, 2});
  Node* value = &b.quantized(*b.x);
  for (int i = 0; i < 20; ++i) {
    op::v0::Concat concat;
    concat.axis = 2;
    value = &b.add(concat, {*value, *value});
  }
  CHECK_FALSE(found(b.result(b.pointwise(*value, 1, 4))));
}

TEST_CASE("Quantisations that are part of other operations tell, too", "[passes]") {
  IntegerBuilder b({1, 3, 16, 16});
  SECTION("of a convolution") {
    Model model = b.result(b.pointwise(b.quantized(b.convolution(*b.x)), 4, 5));
    optimize(model);
    check_grid(model.results()[0]->input(0).node->op().as<op::FusedConvolution>()->input_grid, 0.1, -128,
               127);
  }
  SECTION("of an element-wise chain") {
    Model model = b.result(b.pointwise(b.quantized(b.add(op::v4::Swish(), {*b.x})), 3, 5));
    optimize(model);
    CHECK(types_of(model) == Types{"FusedElementwise", "FusedConvolution"});
    check_grid(model.results()[0]->input(0).node->op().as<op::FusedConvolution>()->input_grid, 0.1, -128,
               127);
  }
  SECTION("of a matrix product, for the next one") {
    IntegerBuilder r({7, 3});
    Node& product = r.add(op::v0::MatMul(), {*r.x, r.constant({3, 5})});
    Model model = r.result(r.add(op::v0::MatMul(), {r.quantized(product), r.constant({5, 4})}));
    optimize(model);
    CHECK(types_of(model) == Types{"FusedMatMul", "FusedMatMul"});
    check_grid(model.results()[0]->input(0).node->op().as<op::FusedMatMul>()->input_grid, 0.1, -128, 127);
  }
  SECTION("of a depthwise convolution") {
    Model model = b.result(b.pointwise(b.quantized(b.depthwise(*b.x, 3)), 3, 5));
    optimize(model);
    REQUIRE(types_of(model) == Types{"FusedSeparableConvolution"});
    check_grid(model.results()[0]->input(0).node->op().as<op::FusedSeparable>()->projection->input_grid, 0.1,
               -128, 127);
  }
  SECTION("before a depthwise convolution's own expansion") {
    Node& expanded = b.pointwise(b.quantized(*b.x), 3, 6);
    Model model = b.result(b.pointwise(b.depthwise(expanded, 6), 6, 5));
    optimize(model);
    REQUIRE(types_of(model) == Types{"FakeQuantize", "FusedSeparableConvolution"});
    const auto* chain = model.results()[0]->input(0).node->op().as<op::FusedSeparable>();
    check_grid(chain->expansion->input_grid, 0.1, -128, 127);
    CHECK_FALSE(chain->projection->input_grid);
  }
}

}  // namespace ir::test
