// Transposed matrices become flags of the product that reads them; transposes around arithmetic meet.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/space.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct ProductBuilder : Builder {
  using Builder::Builder;

  Node& transpose(Output value, std::vector<std::int64_t> order) {
    return add(op::v1::Transpose(), {value, model.add_constant(std::move(order))});
  }
};

}  // namespace

TEST_CASE("A transpose of matrices becomes part of their product", "[passes]") {
  ProductBuilder b(GENERATE(false, true) ? PartialShape{2, 3, 5, 6}
                                         : PartialShape{Dimension(), 3, Dimension(), Dimension()});
  const Tensor x = random_tensor({2, 3, 5, 6}, 99);
  Node& transposed = b.transpose(*b.x, {0, 1, 3, 2});
  SECTION("on the left") {
    const bool flag = GENERATE(false, true);
    Node& product =
        b.add(op::v0::MatMul(flag), {transposed, b.constant(flag ? Shape{3, 6, 4} : Shape{5, 4})});
    check_rewrite(passes::fuse_matrix_transpose, b.result(product), {"MatMul"}, {x});
  }
  SECTION("on the right") {
    const bool flag = GENERATE(false, true);
    Node& product = b.add(op::v0::MatMul(false, flag), {b.constant({7, flag ? 5U : 6U}), transposed});
    check_rewrite(passes::fuse_matrix_transpose, b.result(product), {"MatMul"}, {x});
  }
  SECTION("on both sides") {
    Node& other = b.transpose(b.constant({2, 1, 8, 5}), {0, 1, 3, 2});
    check_rewrite(passes::fuse_matrix_transpose, b.result(b.add(op::v0::MatMul(), {transposed, other})),
                  {"MatMul"}, {x});
  }
}

TEST_CASE("Transposes that are more than of matrices, or read elsewhere, stay", "[passes]") {
  ProductBuilder b({3, 3, 3, 3});
  SECTION("other axes") {
    Node& moved = b.transpose(*b.x, {0, 3, 1, 2});
    check_untouched(passes::fuse_matrix_transpose, b.result(b.add(op::v0::MatMul(), {moved, *b.x})));
  }
  SECTION("the batch as well") {
    Node& moved = b.transpose(*b.x, {1, 0, 3, 2});
    check_untouched(passes::fuse_matrix_transpose, b.result(b.add(op::v0::MatMul(), {moved, *b.x})));
  }
  SECTION("an order that is turned around as a whole") {
    Node& turned = b.transpose(*b.x, {});
    check_untouched(passes::fuse_matrix_transpose, b.result(b.add(op::v0::MatMul(), {turned, *b.x})));
  }
  SECTION("two readers") {
    Node& transposed = b.transpose(*b.x, {0, 1, 3, 2});
    Node& product = b.add(op::v0::MatMul(), {transposed, *b.x});
    b.model.add_result(transposed);
    check_untouched(passes::fuse_matrix_transpose, b.result(product));
  }
}

// ---- sink_transposes -------------------------------------------------------------------------------------

TEST_CASE("Arithmetic between transposes that undo each other goes before both", "[passes]") {
  ProductBuilder b({Dimension(), 3, Dimension(), 6});
  const std::vector<Tensor> x{random_tensor({2, 3, 5, 6}, 99)};
  const auto last = [&]() -> Node& { return b.transpose(*b.x, {0, 2, 3, 1}); };
  const auto check = [&](Output value, const Types& types) {
    check_rewrite(passes::sink_transposes, b.result(b.transpose(value, {0, 3, 1, 2})), types, x);
  };
  SECTION("with constants and functions") {
    Node& scaled = b.add(op::v1::Multiply(), {b.constant({3}), last()});
    Node& shifted = b.add(op::v1::Add(), {scaled, b.constant({1, 1, 6, 3})});
    check(b.add(op::v0::ReLU(), {shifted}), {"Multiply", "Add", "ReLU", "Transpose", "Transpose"});
  }
  SECTION("with a number of no axes") {
    check(b.add(op::v1::Multiply(), {last(), b.constant(number(3))}), {"Multiply", "Transpose", "Transpose"});
  }
  SECTION("of two values") {
    Node& other = b.transpose(b.add(op::v0::ReLU(), {*b.x}), {0, 2, 3, 1});
    check(b.add(op::v1::Add(), {last(), other}), {"ReLU", "Add", "Transpose", "Transpose"});
  }
  SECTION("joined along an axis") {
    op::v0::Concat concat;
    concat.axis = GENERATE(-1, 3);
    Node& other = b.transpose(b.add(op::v0::ReLU(), {*b.x}), {0, 2, 3, 1});
    check(b.add(concat, {last(), other}), {"ReLU", "Concat", "Transpose", "Transpose"});
  }
  SECTION("moved along axes") {
    const auto list = [&](std::vector<std::int64_t> values) -> Node& {
      return b.model.add_constant(std::move(values));
    };
    Node& padded =
        b.add(op::v12::Pad(), {last(), list({0, 1, 2, 0}), list({0, 2, 0, 3}), b.constant(number(7))});
    Node& blocks =
        b.add(op::v1::SpaceToBatch(), {padded, list({1, 2, 4, 1}), list({0, 0, 0, 0}), list({0, 0, 0, 0})});
    check(b.add(op::v1::BatchToSpace(), {blocks, list({1, 1, 4, 1}), list({0, 0, 1, 0}), list({0, 0, 0, 2})}),
          {"Pad", "SpaceToBatch", "BatchToSpace", "Transpose", "Transpose"});
  }
  SECTION("with equal slopes of every element of an axis") {
    const auto slopes = Tensor::of<float>({1, 1, 1, 3}, {0.5F, 0.5F, 0.5F});
    check(b.add(op::v0::PReLU(), {last(), b.constant(slopes)}), {"PReLU", "Transpose", "Transpose"});
  }
  SECTION("that others read, too") {
    Node& shared = b.add(op::v0::ReLU(), {last()});
    Node& back = b.transpose(shared, {0, 3, 1, 2});
    Node& other = b.transpose(b.add(op::v0::Sigmoid(), {shared}), {0, 3, 1, 2});
    check_rewrite(passes::sink_transposes, b.result(b.add(op::v1::Add(), {back, other})),
                  {"ReLU", "Transpose", "Transpose", "Sigmoid", "Transpose", "Add"}, x);
  }
}

TEST_CASE("Transposes stay where none undoes them, or others read them", "[passes]") {
  ProductBuilder b({2, 3, 5, 6});
  Node& last = b.transpose(*b.x, {0, 2, 3, 1});
  Node& relu = b.add(op::v0::ReLU(), {last});
  const auto check = [&](Output value) { check_untouched(passes::sink_transposes, b.result(value)); };
  SECTION("another order") { check(b.transpose(relu, {0, 2, 3, 1})); }
  SECTION("the transposed value is read elsewhere") {
    b.model.add_result(last);
    check(b.transpose(relu, {0, 3, 1, 2}));
  }
  SECTION("blocks would change their order") {
    Node& blocks = b.model.add_constant(std::vector<std::int64_t>{1, 1, 2, 3});
    Node& none = b.model.add_constant(std::vector<std::int64_t>{0, 0, 0, 0});
    check(b.transpose(b.add(op::v1::SpaceToBatch(), {relu, blocks, none, none}), {0, 3, 1, 2}));
  }
  SECTION("a vector of slopes goes by an axis") {
    const auto slopes = Tensor::of<float>({5}, {0.5F, 0.5F, 0.5F, 0.5F, 0.5F});
    check(b.transpose(b.add(op::v0::PReLU(), {relu, b.constant(slopes)}), {0, 3, 1, 2}));
  }
  SECTION("not all is transposed") {
    Node& other = b.add(op::v0::ReLU(), {b.model.add_parameter(ElementType::f32, {2, 5, 6, 3})});
    check(b.transpose(b.add(op::v1::Add(), {relu, other}), {0, 3, 1, 2}));
  }
}

}  // namespace ir::test
