// Transposed matrices become flags of the product that reads them.
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
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

}  // namespace ir::test
