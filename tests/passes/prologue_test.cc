// What is done to the image of a 1x1 convolution becomes part of it.
#include "ir_runtime/ops/activation.h"

#include <array>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/normalization.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/execution/support.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

constexpr std::string_view kFused = "FusedPrologueConvolution";

struct PrologueBuilder : Builder {
  using Builder::Builder;

  Node& pointwise(Output image, std::int64_t in, std::int64_t out, std::int64_t stride = 1,
                  std::int64_t pad = 0) {
    op::v1::Convolution op;
    op.strides = {stride, stride};
    op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {pad, pad};
    return add(op, {image, constant({out, in, 1, 1})});
  }
  Node& batch_norm(Output image) {
    Node& variance = constant(random_positive({3}, 50));
    op::v5::BatchNormInference op;
    op.epsilon = 0.1;
    return add(op, {image, constant({3}), constant({3}), constant({3}), variance});
  }
  Node& times(Output a, Output b) { return add(op::v1::Multiply(), {a, b}); }
  Node& plus(Output a, Output b) { return add(op::v1::Add(), {a, b}); }
  Node& relu(Output value) { return add(op::v0::ReLU(), {value}); }
  Node& clamp(Output value) { return add(op::v0::Clamp{-0.5, 1.5}, {value}); }
  Node& gate(PartialShape shape) { return model.add_parameter(ElementType::f32, std::move(shape)); }
};

PartialShape any_image() { return {Dimension(), 3, Dimension(), Dimension()}; }
Tensor image() { return random_tensor({2, 3, 5, 6}, 99); }

}  // namespace

TEST_CASE("Constants per channel and limits become part of the 1x1 convolution behind them", "[passes]") {
  PrologueBuilder b(GENERATE(false, true) ? PartialShape{2, 3, 5, 6} : any_image());
  Node* changed = nullptr;
  SECTION("a batch normalisation and ReLU") { changed = &b.relu(b.batch_norm(*b.x)); }
  SECTION("a factor, a summand and Clamp") {
    changed = &b.clamp(b.plus(b.times(*b.x, b.constant({1, 3, 1, 1})), b.constant({3, 1, 1})));
  }
  SECTION("a summand before a factor") {
    changed = &b.times(b.constant({3, 1, 1}), b.plus(*b.x, b.constant({1, 3, 1, 1})));
  }
  SECTION("several of them") {
    Node& first = b.plus(b.times(*b.x, b.constant({3, 1, 1})), b.constant({3, 1, 1}));
    changed = &b.relu(b.plus(b.batch_norm(first), b.constant(number(0.25F))));
  }
  SECTION("ReLU alone") { changed = &b.relu(*b.x); }
  check_rewrite(passes::fuse_prologue, b.result(b.pointwise(*changed, 3, 4)), {std::string(kFused)},
                {image()});
}

TEST_CASE("Multiplication by a gate becomes part of the 1x1 convolution behind it", "[passes]") {
  const std::string fused(kFused);
  SECTION("of the image's batch") {
    PrologueBuilder b(GENERATE(false, true) ? PartialShape{2, 3, 5, 6} : any_image());
    Node& gate = b.gate({Dimension(), 3, 1, 1});
    check_rewrite(passes::fuse_prologue, b.result(b.pointwise(b.times(gate, *b.x), 3, 4)), {fused},
                  {image(), random_tensor({2, 3, 1, 1}, 5)});
  }
  SECTION("of one image for all, with a summand and a limit") {
    PrologueBuilder b({2, 3, 5, 6});
    Node& sum = b.plus(b.times(*b.x, b.gate({1, 3, 1, 1})), b.constant({3, 1, 1}));
    check_rewrite(passes::fuse_prologue, b.result(b.pointwise(b.relu(sum), 3, 4)), {fused},
                  {image(), random_tensor({1, 3, 1, 1}, 5)});
  }
  SECTION("of more images than there are") {
    PrologueBuilder b(any_image());
    Node& gate = b.gate({Dimension(), 3, 1, 1});
    check_rewrite(passes::fuse_prologue, b.result(b.pointwise(b.times(*b.x, gate), 3, 4)), {fused},
                  {random_tensor({1, 3, 5, 6}, 4), random_tensor({2, 3, 1, 1}, 5)});
  }
  SECTION("behind a factor, which stays") {
    PrologueBuilder b({2, 3, 5, 6});
    Node& scaled = b.times(*b.x, b.constant({3, 1, 1}));
    Node& gated = b.times(scaled, b.gate({2, 3, 1, 1}));
    check_rewrite(passes::fuse_prologue, b.result(b.pointwise(gated, 3, 4)), {"Multiply", fused},
                  {image(), random_tensor({2, 3, 1, 1}, 5)});
  }
}

TEST_CASE("A convolution keeps its own tail behind what comes first", "[passes]") {
  PrologueBuilder b({2, 3, 5, 6});
  Node& sums = b.plus(b.pointwise(b.relu(b.batch_norm(*b.x)), 3, 3), b.constant({1, 3, 1, 1}));
  Model model = b.result(b.relu(b.plus(sums, *b.x)));
  const auto expected = run_model(model, {image()});
  optimize(model);
  CHECK(types_of(model) == Types{std::string(kFused)});
  check_consistent(model);
  check_close(run_model(model, {image()}).at(0), expected.at(0).shape(),
              {expected.at(0).data<float>().begin(), expected.at(0).data<float>().end()}, 1e-5);
}

TEST_CASE("What cannot be part of a convolution stays before it", "[passes]") {
  PrologueBuilder b({2, 3, 5, 6});
  const auto stays = [&](Output value) { check_untouched(passes::fuse_prologue, b.result(value)); };
  SECTION("an image that somebody else reads, too") {
    Node& changed = b.relu(*b.x);
    stays(b.plus(b.pointwise(changed, 3, 3), changed));
  }
  SECTION("an image that is a result") {
    Node& changed = b.relu(*b.x);
    b.model.add_result(changed);
    stays(b.pointwise(changed, 3, 4));
  }
  SECTION("before a stride") { stays(b.pointwise(b.relu(*b.x), 3, 4, 2)); }
  SECTION("before padding") { stays(b.pointwise(b.relu(*b.x), 3, 4, 1, 1)); }
  SECTION("before a larger window") { stays(b.convolution(b.relu(*b.x))); }
  SECTION("another function") { stays(b.pointwise(b.add(op::v0::Tanh(), {*b.x}), 3, 4)); }
  SECTION("numbers for each position") { stays(b.pointwise(b.plus(*b.x, b.constant({5, 6})), 3, 4)); }
  SECTION("a gate for each position") { stays(b.pointwise(b.times(*b.x, b.gate({2, 1, 5, 6})), 3, 4)); }
  SECTION("a gate for all channels") { stays(b.pointwise(b.times(*b.x, b.gate({2, 1, 1, 1})), 3, 4)); }
  SECTION("a gate of unknown rank") { stays(b.pointwise(b.times(*b.x, b.gate(PartialShape())), 3, 4)); }
}

TEST_CASE("A plane of one position stays as it is", "[passes]") {
  PrologueBuilder b({2, 3, 1, 1});
  check_untouched(passes::fuse_prologue, b.result(b.pointwise(b.relu(*b.x), 3, 4)));
}

TEST_CASE("A 1x1 convolution joins a depthwise convolution rather than what comes first", "[passes]") {
  PrologueBuilder b({1, 3, 16, 12});
  op::v1::GroupConvolution depthwise;
  depthwise.strides = depthwise.dilations = depthwise.pads_begin = depthwise.pads_end = {1, 1};
  Node& expanded = b.pointwise(b.relu(*b.x), 3, 6);
  Model model = b.result(b.add(depthwise, {expanded, b.constant({6, 1, 1, 3, 3})}));
  optimize(model);
  CHECK(types_of(model) == Types{"ReLU", "FusedSeparableConvolution"});
}

TEST_CASE("A compiled convolution scales its image for any shape, in memory that is shared", "[passes]") {
  PrologueBuilder b(any_image());
  Node& gate = b.add(op::v0::Sigmoid(), {b.gate({Dimension(), 3, 1, 1})});
  Node& first = b.relu(b.times(b.add(op::v0::Tanh(), {*b.x}), gate));
  // The image of the second one is read again.
  Node& second = b.pointwise(first, 3, 3);
  const Model model = b.result(b.plus(b.pointwise(b.relu(b.batch_norm(second)), 3, 3), second));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  const std::vector<std::array<Shape, 2>> shapes{{Shape{2, 3, 7, 9}, {2, 3, 1, 1}},
                                                 {Shape{1, 3, 1, 1}, {1, 3, 1, 1}},
                                                 {Shape{1, 3, 4, 5}, {3, 3, 1, 1}},
                                                 {Shape{3, 3, 2, 2}, {1, 3, 1, 1}},
                                                 {Shape{0, 3, 2, 2}, {1, 3, 1, 1}}};
  for (const auto& [image_shape, gate_shape] : shapes) {
    const std::vector<Tensor> inputs{random_tensor(image_shape, 7), random_tensor(gate_shape, 8)};
    const Tensor expected = run_model(model, inputs).at(0);
    check_close(infer(request, compiled, inputs).at(0), expected.shape(),
                {expected.data<float>().begin(), expected.data<float>().end()}, 1e-5);
  }
}

}  // namespace ir::test
