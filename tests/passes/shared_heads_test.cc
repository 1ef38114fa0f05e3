// Attention as one operation, and with fewer heads of keys and values than of queries.
#include <vector>

#include "ir_runtime/ops/attention.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/fused_attention.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kHeads = 6;
constexpr std::int64_t kShared = 2;
constexpr std::int64_t kTimes = kHeads / kShared;
constexpr std::int64_t kWidth = 8;
const Shape kQueries{2, kHeads, 5, kWidth};
const Shape kKeys{2, kShared, 7, kWidth};

/// A model of queries, keys and values, whose dims may be unknown but for heads and widths.
struct HeadsBuilder : Builder {
  Node* keys;
  Node* values;

  explicit HeadsBuilder(bool dynamic) : HeadsBuilder(loose(kKeys, dynamic), loose(kQueries, dynamic)) {}
  explicit HeadsBuilder(const PartialShape& key_shape, const PartialShape& query_shape = kQueries)
      : Builder(query_shape),
        keys(&model.add_parameter(ElementType::f32, key_shape)),
        values(&model.add_parameter(ElementType::f32, key_shape)) {}

  static PartialShape loose(const Shape& shape, bool dynamic) {
    PartialShape loose(shape);
    if (dynamic) loose[0] = loose[2] = Dimension();
    return loose;
  }

  Node& numbers(Integers integers) { return model.add_constant(std::move(integers)); }
  Node& dim(Output tensor, std::int64_t axis) {
    Node& shape = add(op::v3::ShapeOf(), {tensor});
    return add(op::v8::Gather(), {shape, numbers({axis}), model.add_constant(0)});
  }
  Node& unsqueezed(Output value, std::int64_t axis = 2) {
    return add(op::v0::Unsqueeze(), {value, model.add_constant(axis)});
  }
  Node& spread(Output value, Output target, op::BroadcastMode mode = op::BroadcastMode::numpy) {
    op::v3::Broadcast op;
    op.mode = mode;
    return add(op, {value, target});
  }
  Node& joined(Output value, Output target) {
    op::v1::Reshape op;
    op.special_zero = true;
    return add(op, {value, target});
  }
  Node& joined(Output value) { return joined(value, numbers({0, kHeads, -1, kWidth})); }
  /// The target of a Broadcast that asks `from` for its dims.
  Node& target(Output from) {
    op::v0::Concat op;
    return add(op, {dim(from, 0), numbers({kShared, kTimes}), dim(from, 2), numbers({kWidth})});
  }
  Node& repeated(Output value) { return joined(spread(unsqueezed(value), target(value))); }
  Node& attention(Output key, Output value, std::vector<Output> others = {}, bool causal = false) {
    op::v13::ScaledDotProductAttention op;
    op.causal = causal;
    std::vector<Output> inputs{*x, key, value};
    inputs.insert(inputs.end(), others.begin(), others.end());
    return add(op, std::move(inputs));
  }
};

std::vector<Tensor> inputs(const Shape& key_shape = kKeys) {
  return {random_tensor(kQueries, 7), random_tensor(key_shape, 8), random_tensor(key_shape, 9)};
}

void check_shared(HeadsBuilder& b, Output attention) {
  Model model = b.result(attention);
  check_rewrite(passes::fuse_attention, model, {"FusedAttention"}, inputs());
  CHECK(passes::fuse_attention(model));
  CHECK(model.results()[0]->input(0).node->op().as<op::FusedAttention>()->repeats == kTimes);
}

}  // namespace

TEST_CASE("Heads that several queries share are read once", "[passes]") {
  HeadsBuilder b(GENERATE(false, true));
  SECTION("dims of the tensor itself") {
    check_shared(b, b.attention(b.repeated(*b.keys), b.repeated(*b.values)));
  }
  SECTION("dims of the tensor with one more axis") {
    const auto repeated = [&](Output value) -> Node& {
      Node& more = b.unsqueezed(value, -3);
      Node& target = b.add(op::v0::Concat(), {b.dim(more, 0), b.numbers({kShared, kTimes}), b.dim(more, 3),
                                              b.numbers({kWidth})});
      return b.joined(b.spread(more, target));
    };
    check_shared(b, b.attention(repeated(*b.keys), repeated(*b.values)));
  }
  SECTION("ones") {
    const auto repeated = [&](Output value) -> Node& {
      return b.joined(
          b.spread(b.unsqueezed(value), b.numbers({1, 1, kTimes, 1, 1}), op::BroadcastMode::bidirectional));
    };
    check_shared(b, b.attention(repeated(*b.keys), repeated(*b.values)));
  }
  SECTION("Tile, and all dims by name") {
    const auto repeated = [&](Output value) -> Node& {
      Node& tiled = b.add(op::v0::Tile(), {b.unsqueezed(value), b.numbers({1, 1, kTimes, 1, 1})});
      Node& target = b.add(op::v0::Concat(),
                           {b.dim(value, 0), b.numbers({kHeads}), b.dim(value, 2), b.numbers({kWidth})});
      return b.joined(tiled, target);
    };
    check_shared(b, b.attention(repeated(*b.keys), repeated(*b.values)));
  }
}

TEST_CASE("Masks of shared heads may be one for all, or one for each", "[passes]") {
  HeadsBuilder b(GENERATE(false, true));
  const Shape shape = GENERATE(Shape{5, 7}, Shape{kHeads, 5, 7}, Shape{2, 1, 5, 7}, Shape{2, kHeads, 5, 7},
                               Shape{1, kHeads, 1, 7});
  check_shared(b, b.attention(b.repeated(*b.keys), b.repeated(*b.values), {b.constant(shape)}));
}

TEST_CASE("Shared heads see earlier keys only where attention is causal", "[passes]") {
  HeadsBuilder b(true);
  check_shared(b, b.attention(b.repeated(*b.keys), b.repeated(*b.values), {}, true));
}

TEST_CASE("What might not repeat heads is left as it is", "[passes]") {
  HeadsBuilder b(true);
  const auto check_kept = [&](Output key, Output value) {
    Model model = b.result(b.attention(key, value));
    CHECK(passes::fuse_attention(model));
    CHECK(model.results()[0]->input(0).node->op().as<op::FusedAttention>()->repeats == 1);
    check_consistent(model);
  };
  Node& other = b.target(*b.x);
  SECTION("dims of another tensor") {
    check_kept(b.joined(b.spread(b.unsqueezed(*b.keys), other)),
               b.joined(b.spread(b.unsqueezed(*b.values), other)));
  }
  SECTION("keys alone") {
    Node& more =
        b.model.add_parameter(ElementType::f32, PartialShape{Dimension(), kHeads, Dimension(), kWidth});
    check_kept(b.repeated(*b.keys), more);
  }
  SECTION("all heads in turn") {
    const auto turns = [&](Output value) -> Node& {
      return b.joined(b.add(op::v0::Tile(), {b.unsqueezed(value, 1), b.numbers({1, kTimes, 1, 1, 1})}));
    };
    check_kept(turns(*b.keys), turns(*b.values));
  }
}

TEST_CASE("Attention as one operation reads its operands where they lie", "[passes]") {
  const Dimension unknown = GENERATE(Dimension(7), Dimension());
  HeadsBuilder b({2, unknown, kHeads, kWidth});
  const std::vector<Tensor> tensors = inputs({2, 7, kHeads, kWidth});
  const auto turned = [&](Output value) -> Node& {
    return b.add(op::v1::Transpose(), {value, b.numbers({0, 2, 1, 3})});
  };
  SECTION("with a scale, and a Transpose behind it") {
    Node& mask = b.constant({5, 7});
    Node& attention = b.attention(turned(*b.keys), turned(*b.values), {mask, b.constant(number(0.3F))});
    check_rewrite(passes::fuse_attention, b.result(turned(attention)), {"FusedAttention"}, tensors);
  }
  SECTION("a scalar is no mask") {
    Node& attention = b.attention(turned(*b.keys), turned(*b.values), {b.constant(number(3))});
    check_rewrite(passes::fuse_attention, b.result(attention), {"FusedAttention"}, tensors);
  }
  SECTION("not with a sink") {
    Node& mask = b.constant({5, 7});
    Node& sink = b.constant({1, kHeads, 1, 1});
    check_untouched(passes::fuse_attention, b.result(b.attention(turned(*b.keys), turned(*b.values),
                                                                 {mask, b.constant(number(0.3F)), sink})));
  }
}

}  // namespace ir::test
