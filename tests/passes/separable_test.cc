// A depthwise convolution becomes one operation with the 1x1 convolutions around it.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct SeparableBuilder : Builder {
  using Builder::Builder;

  Node& pointwise(Output image, std::int64_t in, std::int64_t out, std::int64_t stride = 1) {
    op::v1::Convolution op;
    op.strides = {stride, stride};
    op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {0, 0};
    return add(op, {image, constant({out, in, 1, 1})});
  }
  Node& depthwise(Output image, std::int64_t channels, std::int64_t multiplier = 1) {
    op::v1::GroupConvolution op;
    op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
    return add(op, {image, constant({channels, multiplier, 1, 3, 3})});
  }
  Node& relu(Output value) { return add(op::v0::ReLU(), {value}); }
};

Tensor image() { return random_tensor({1, 3, 16, 12}, 99); }

}  // namespace

TEST_CASE("A depthwise convolution and 1x1 convolutions around it become one operation", "[passes]") {
  SeparableBuilder b(GENERATE(false, true) ? PartialShape{1, 3, 16, 12}
                                           : PartialShape{Dimension(), 3, Dimension(), Dimension()});
  SECTION("both") {
    Node& expanded = b.pointwise(*b.x, 3, 6);
    check_rewrite(passes::fuse_separable, b.result(b.pointwise(b.depthwise(expanded, 6), 6, 4)),
                  {"FusedSeparableConvolution"}, {image()});
  }
  SECTION("one in front") {
    check_rewrite(passes::fuse_separable, b.result(b.depthwise(b.pointwise(*b.x, 3, 6), 6)),
                  {"FusedSeparableConvolution"}, {image()});
  }
  SECTION("one behind") {
    check_rewrite(passes::fuse_separable, b.result(b.pointwise(b.depthwise(*b.x, 3), 3, 4)),
                  {"FusedSeparableConvolution"}, {image()});
  }
}

TEST_CASE("A block with activations and a residual becomes one operation", "[passes]") {
  SeparableBuilder b({1, 3, 16, 12});
  Node& expanded = b.relu(b.pointwise(*b.x, 3, 6));
  Node& projected = b.pointwise(b.relu(b.depthwise(expanded, 6)), 6, 3);
  Model model = b.result(b.add(op::v1::Add(), {projected, *b.x}));
  const auto expected = run_model(model, {image()});
  optimize(model);
  CHECK(types_of(model) == Types{"FusedSeparableConvolution"});
  check_consistent(model);
  check_close(run_model(model, {image()}).at(0), expected.at(0).shape(),
              {expected.at(0).data<float>().begin(), expected.at(0).data<float>().end()}, 1e-4);
}

TEST_CASE("Convolutions that are no chain stay", "[passes]") {
  SeparableBuilder b({1, 3, 16, 12});
  const auto stays = [&](Output value) {
    Model model = b.result(value);
    const Types types = types_of(model);
    CHECK_FALSE(passes::fuse_separable(model));
    CHECK(types_of(model) == types);
  };
  SECTION("a 1x1 convolution that somebody else reads, too") {
    Node& expanded = b.pointwise(*b.x, 3, 6);
    stays(b.add(op::v1::Add(), {b.depthwise(expanded, 6), expanded}));
  }
  SECTION("a 1x1 convolution with a stride") { stays(b.pointwise(b.depthwise(*b.x, 3), 3, 4, 2)); }
  SECTION("several outputs per channel") { stays(b.pointwise(b.depthwise(*b.x, 3, 2), 6, 4)); }
  SECTION("a larger window") { stays(b.convolution(b.depthwise(*b.x, 3))); }
  SECTION("filters that are computed") {
    op::v1::Convolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {0, 0};
    Node& filters = b.model.add_parameter(ElementType::f32, {4, 3, 1, 1});
    stays(b.add(op, {b.depthwise(*b.x, 3), filters}));
  }
}

TEST_CASE("Chains on small planes stay", "[passes]") {
  SeparableBuilder b({1, 3, 7, 7});
  Model model = b.result(b.pointwise(b.depthwise(*b.x, 3), 3, 4));
  CHECK_FALSE(passes::fuse_separable(model));
}

}  // namespace ir::test
