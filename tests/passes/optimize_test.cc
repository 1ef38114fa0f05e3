// All rewrites together.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "ir_runtime/subgraph.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

bool optimized(Model& model) {
  const Types before = types_of(model);
  optimize(model);
  return types_of(model) != before;
}

}  // namespace

// ---- optimize --------------------------------------------------------------------------------------------

TEST_CASE("A residual block becomes two nodes", "[passes]") {
  Builder b({2, 4, 5, 6});
  const auto block = [&](Output image) -> Node& {
    op::v1::Convolution op;
    op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
    const Tensor half = random_tensor({4, 4, 3, 3}, ++b.seed).converted(ElementType::f16);
    Node& weights = b.add(op::v0::Convert(ElementType::f32), {b.constant(half)});
    Node& sums = b.add(op, {image, weights});
    Node& scaled = b.add(op::v1::Multiply(), {sums, b.constant({1, 4, 1, 1})});
    return b.add(op::v1::Add(), {scaled, b.constant({1, 4, 1, 1})});
  };
  Node& inner = b.add(op::v0::ReLU(), {block(*b.x)});
  Node& sum = b.add(op::v1::Add(), {block(inner), *b.x});
  Node& last = b.add(op::v0::ReLU(), {sum});
  last.set_name("the end");
  Model model = b.result(last);
  check_rewrite(optimized, model, {"FusedConvolution", "FusedConvolution"}, {random_tensor({2, 4, 5, 6}, 7)},
                1e-4);
  optimize(model);
  CHECK(model.results()[0]->input(0).node->name() == "the end");
}

TEST_CASE("A convolution with swish becomes one node", "[passes]") {
  Builder b({Dimension(), 3, 5, 6});
  Node& biased = b.add(op::v1::Add(), {b.convolution(*b.x), b.constant({1, 4, 1, 1})});
  Node& gated = b.add(op::v1::Multiply(), {biased, b.add(op::v0::Sigmoid(), {biased})});
  check_rewrite(optimized, b.result(gated), {"FusedConvolution"}, {random_image()});
}

TEST_CASE("Optimizing keeps results that are inputs or constants", "[passes]") {
  Builder b({2});
  b.model.add_result(b.add(op::v16::Identity(), {*b.x}));
  b.model.add_result(b.add(op::v1::Add(), {b.constant({2}), b.constant({2})}));
  check_rewrite(optimized, b.result(*b.x), {}, {random_tensor({2}, 3)});
}

TEST_CASE("Bodies are optimized without trusting the shapes that they state", "[passes]") {
  // The body says its parameter has shape [1, 3]; the model around gives it [2, 3].
  auto body = std::make_shared<Model>();
  Node& inside = body->add_parameter(ElementType::f32, {1, 3});
  Node& product = body->add(op::v0::MatMul(), {inside, body->add_constant(random_tensor({3, 3}, 5))});
  Node& positive = body->add(op::v0::ReLU(), {product});
  Node& shape = body->add(op::v3::ShapeOf(), {inside});
  Node& reshaped = body->add(op::v1::Reshape(), {positive, shape});
  body->add_result(reshaped);
  op::v8::If branch;
  for (Subgraph& subgraph : branch.bodies) {
    subgraph.body = body;
    subgraph.inputs = {{1, 0, {}, {}}};
    subgraph.outputs = {{0, 0, {}}};
  }
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, PartialShape(Shape()));
  Node& x = model.add_parameter(ElementType::f32, {2, 3});
  Node& result = model.add(branch, {condition, x});
  model.add_result(result);
  optimize(model);
  auto* optimized_branch = result.op().as<op::v8::If>();
  REQUIRE(optimized_branch != nullptr);
  const Model& after = *optimized_branch->bodies[0].body;
  CHECK(types_of(after) == Types{"FusedMatMul", "ShapeOf", "Reshape"});
  CHECK(types_of(*body) == Types{"MatMul", "ReLU", "ShapeOf", "Reshape"});
  const Tensor input = random_tensor({2, 3}, 8);
  const Tensor got = run_model(after, {input})[0];
  const Tensor want = run_model(*body, {input})[0];
  check_close(got, {2, 3}, {want.data<float>().begin(), want.data<float>().end()});
}

TEST_CASE("Bodies whose state gets another rank are optimized for any rank", "[passes]") {
  // x / sqrt(mean(x^2) + eps) along the first axis, which is the last one in the first iteration alone.
  auto body = std::make_shared<Model>();
  Node& state = body->add_parameter(ElementType::f32, {Dimension()});
  const Output squared = body->add(op::v1::Power(), {state, body->add_constant(number(2))});
  op::v1::ReduceMean along_first;
  along_first.keep_dims = true;
  const Output axis = body->add_constant(std::vector<std::int64_t>{0});
  const Output mean = body->add(along_first, {squared, axis});
  const Output sum = body->add(op::v1::Add(), {mean, body->add_constant(number(0.001F))});
  const Output normal = body->add(op::v1::Divide(), {state, body->add(op::v0::Sqrt(), {sum})});
  const bool changes_rank = GENERATE(true, false);
  body->add_result(changes_rank ? Output(body->add(op::v0::Unsqueeze(), {normal, axis})) : normal);
  body->add_result(body->add_constant(Tensor::of<bool>({}, {true})));
  op::v5::Loop loop;
  loop.body.body = body;
  loop.body.inputs = {{2, 0, {}, 0}};
  loop.body.outputs = {{0, 0, {}}, {-1, 1, {}}};
  Model model;
  Node& trips = model.add_constant(2);
  Node& condition = model.add_constant(Tensor::of<bool>({}, {true}));
  Node& x = model.add_parameter(ElementType::f32, {4});
  Node& result = model.add(loop, {trips, condition, x});
  model.add_result(result);
  Model optimized_model = model;
  optimize(optimized_model);
  const auto* after = optimized_model.results()[0]->input(0).node->op().as<op::v5::Loop>();
  REQUIRE(after != nullptr);
  const Types for_any_rank{"Power", "ReduceMean", "FusedElementwise", "Unsqueeze"};
  CHECK(types_of(*after->body.body) == (changes_rank ? for_any_rank : Types{"LayerNorm"}));
}

TEST_CASE("Rewrites reach bodies in bodies, and leave the bodies of other models alone", "[passes]") {
  const auto around = [](const std::shared_ptr<Model>& body) {
    op::v8::If branch;
    for (Subgraph& subgraph : branch.bodies) subgraph = {body, {{1, 0, {}, {}}}, {{0, 0, {}}}};
    return branch;
  };
  const auto body = std::make_shared<Model>();
  Node& x = body->add_parameter(ElementType::f32, {1, 12});
  op::v0::Convert to_f32;
  to_f32.destination_type = ElementType::f32;
  const Tensor codes = random_tensor({5, 12}, 3).converted(ElementType::i8);
  Node& weights = body->add(to_f32, {body->add_constant(codes)});
  body->add_result(body->add(op::v0::MatMul(false, true), {x, weights}));
  const auto outer = std::make_shared<Model>();
  Node& from_outside = outer->add_parameter(ElementType::f32, {1, 12});
  Node& always = outer->add_constant(Tensor::of<bool>({}, {true}));
  outer->add_result(outer->add(around(body), {always, from_outside}));
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, PartialShape(Shape()));
  Node& image = model.add_parameter(ElementType::f32, {1, 12});
  model.add_result(model.add(around(outer), {condition, image}));

  passes::apply_with_bodies(passes::keep_compressed_weights, model);
  const auto body_of = [](const Model& from) {
    return from.results()[0]->input(0).node->op().as<op::v8::If>()->bodies[1].body;
  };
  CHECK(types_of(*body_of(*body_of(model))) == Types{"CompressedMatMul"});
  CHECK(types_of(*body) == Types{"Convert", "MatMul"});
}

TEST_CASE("Codes stay codes before anything is folded, and all else is rewritten then", "[passes]") {
  Builder b({1, 12});
  op::v0::Convert to_f32;
  to_f32.destination_type = ElementType::f32;
  Node& codes = b.constant(random_tensor({5, 12}, 3).converted(ElementType::i8));
  Node& product = b.add(op::v0::MatMul(false, true), {*b.x, b.add(to_f32, {codes})});
  Node& offset =
      b.add(op::v0::Convert(to_f32), {b.constant(random_tensor({5}, 4).converted(ElementType::f16))});
  b.model.add_result(b.add(op::v1::Add(), {product, offset}));
  const auto [lowering, before, after] = GENERATE(table<Lowering, Types, Types>({
      {{}, {"CompressedMatMul", "Convert", "Add"}, {"FusedCompressedMatMul"}},
      {{.optimized = false},
       {"Convert", "MatMul", "Convert", "Add"},
       {"Convert", "MatMul", "Convert", "Add"}},
  }));
  Types seen;
  CHECK(lower(b.model, lowering, [&] { seen = types_of(b.model); }).empty());
  CHECK(seen == before);
  CHECK(types_of(b.model) == after);
  check_consistent(b.model);
}

TEST_CASE("Places of nodes are those that they had when they were asked for", "[passes]") {
  Builder b({2});
  Node& first = b.add(op::v0::ReLU(), {*b.x});
  Node& last = b.add(op::v0::Abs(), {first});
  b.model.add_result(last);
  const passes::NodePlaces places(b.model);
  {
    Model::Insertions insertions(b.model);
    (void)insertions.before(first, op::v0::Exp(), {*b.x}, "exp");
  }
  CHECK(places.of(*b.x) == 0);
  CHECK(places.of(first) == 1);
  CHECK(places.of(last) == 2);
}

TEST_CASE("Nodes that are inserted together stand before their positions", "[passes]") {
  Builder b({2});
  Node& first = b.add(op::v0::ReLU(), {*b.x});
  Node& last = b.add(op::v0::Abs(), {first});
  b.model.add_result(last);
  {
    Model::Insertions insertions(b.model);
    Node& negative = insertions.before(last, op::v0::Negative(), {first}, "negative");
    (void)insertions.before(first, op::v0::Exp(), {*b.x}, "exp");
    last.set_input(0, insertions.before(last, op::v0::Sin(), {negative}, "sin"));
    CHECK_THROWS_AS(insertions.before(last, op::v0::Sin(), {}, "no input"), Error);
    CHECK(types_of(b.model) == Types{"ReLU", "Abs"});
  }
  CHECK(types_of(b.model) == Types{"Exp", "ReLU", "Negative", "Sin", "Abs"});
  check_consistent(b.model);
}

}  // namespace ir::test
