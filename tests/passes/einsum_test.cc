// Einsum as the matrix product that it is.
#include "ir_runtime/ops/einsum.h"
#include "ir_runtime/ops/softmax.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using op::v7::Einsum;

struct EinsumCase {
  const char* equation;
  Shape x;
  Shape other;  ///< a constant
  Types types;
};

}  // namespace

TEST_CASE("Einsum of two inputs becomes a matrix product", "[passes]") {
  const auto [equation, shape, other, types] = GENERATE(values<EinsumCase>({
      {"ab,bc->ac", {5, 6}, {6, 4}, {"MatMul"}},
      {"ab,cb->ac", {5, 6}, {4, 6}, {"MatMul"}},
      {"ba,bc->ac", {6, 5}, {6, 4}, {"MatMul"}},
      {"ab,bc->ca", {5, 6}, {6, 4}, {"MatMul"}},
      {"bc,ab->ac", {6, 4}, {5, 6}, {"MatMul"}},
      {"...ab,...bc->...ac", {2, 3, 5, 6}, {3, 6, 4}, {"MatMul"}},
      {"...d,df->...f", {2, 3, 5, 6}, {6, 4}, {"MatMul"}},
      {"BGHID,BGHJD->BGHIJ", {2, 2, 3, 5, 6}, {2, 2, 3, 4, 6}, {"MatMul"}},
      {"BGHIJ,BGHJD->BGHID", {2, 2, 3, 5, 6}, {2, 2, 3, 6, 4}, {"MatMul"}},
      // Batches of one input repeat.
      {"hab,hbc->hac", {3, 5, 6}, {1, 6, 4}, {"MatMul"}},
      {"hab,hbc->hac", {1, 5, 6}, {3, 6, 4}, {"MatMul"}},
      // Heads behind positions.
      {"abcd,aecd->acbe", {2, 5, 3, 6}, {2, 4, 3, 6}, {"Transpose", "Transpose", "MatMul"}},
      {"acbe,aecd->abcd", {2, 3, 5, 6}, {2, 6, 3, 4}, {"Transpose", "MatMul", "Transpose"}},
      // Projections to heads and back.
      {"abc,cde->abde", {2, 5, 6}, {6, 3, 4}, {"Reshape", "MatMul", "Reshape"}},
      {"cde,abc->abde", {6, 3, 4}, {2, 5, 6}, {"Reshape", "MatMul", "Reshape"}},
      {"abde,dec->abc", {2, 5, 3, 4}, {3, 4, 6}, {"Reshape", "Reshape", "MatMul"}},
      {"abde,cde->abc", {2, 5, 3, 4}, {6, 3, 4}, {"Reshape", "Reshape", "MatMul"}},
      // Rows of several labels beside batches.
      {"habk,hkc->habc", {3, 2, 5, 6}, {3, 6, 4}, {"Reshape", "MatMul", "Reshape"}},
      {"hakb,hkcd->habcd",
       {3, 2, 6, 5},
       {3, 6, 4, 2},
       {"Transpose", "Reshape", "Reshape", "MatMul", "Reshape"}},
  }));
  CAPTURE(equation);
  const PartialShape dims(std::vector<Dimension>(shape.begin(), shape.end()));
  Builder b(dims);
  Node& product = b.add(Einsum(equation), {*b.x, b.constant(other)});
  check_rewrite(passes::einsum_to_product, b.result(product), types, {random_tensor(shape, 99)});
}

TEST_CASE("Dims that the product does not have to know may be unknown", "[passes]") {
  SECTION("batch and rows") {
    Builder b({Dimension(), Dimension(), 6});
    Node& heads = b.add(Einsum("abc,cde->abde"), {*b.x, b.constant({6, 3, 4})});
    check_rewrite(passes::einsum_to_product, b.result(heads), {"Reshape", "MatMul", "Reshape"},
                  {random_tensor({2, 5, 6}, 99)});
  }
  SECTION("columns, and rows that the left one has last") {
    Builder b({Dimension(), 6, Dimension()});
    Node& scores = b.add(Einsum("bdi,bdj->bij"), {*b.x, *b.x});
    check_rewrite(passes::einsum_to_product, b.result(scores), {"MatMul"}, {random_tensor({2, 6, 5}, 99)});
  }
}

TEST_CASE("Einsum that is more than a matrix product, or may be, stays", "[passes]") {
  SECTION("of an input and a constant") {
    struct Untouched {
      const char* equation;
      PartialShape x;
      Shape other;
    };
    const auto [equation, x, other] = GENERATE(values<Untouched>({
        {"aab,bc->ac", {5, 5, 6}, {6, 4}},  // a diagonal
        {"adb,bc->ac", {5, 3, 6}, {6, 4}},  // a sum of one input alone
        {"ab,bc->abc", {5, 6}, {6, 4}},     // nothing to sum over
        {"ab,b->a", {5, 6}, {6}},
        {"ab,bc->ac", {5, Dimension()}, {6, 4}},  // a dim that may be 1, which repeats
        {"ab,bc->ac", {5, 1}, {6, 4}},
        {"ab,bc->ac", {5, 0}, {0, 4}},
        {"cbd,ab->acd", {Dimension(), 6, Dimension()}, {5, 6}},  // columns of several labels, unknown
    }));
    CAPTURE(equation);
    Builder b(x);
    check_untouched(passes::einsum_to_product, b.result(b.add(Einsum(equation), {*b.x, b.constant(other)})));
  }
  SECTION("of three inputs") {
    Builder b({5, 6});
    check_untouched(passes::einsum_to_product,
                    b.result(b.add(Einsum("ab,bc,cd->ad"), {*b.x, b.constant({6, 4}), b.constant({4, 3})})));
  }
  SECTION("of integers") {
    Builder b({5, 6}, ElementType::i32);
    check_untouched(passes::einsum_to_product, b.result(b.add(Einsum("ab,cb->ac"), {*b.x, *b.x})));
  }
}

TEST_CASE("Attention that is written with Einsum is found", "[passes]") {
  Builder b({2, 5, 3, 16});
  Node& scores = b.add(Einsum("bqhd,bkhd->bhqk"), {*b.x, b.constant({2, 7, 3, 16})});
  op::v1::SoftMax softmax;
  softmax.axis = 3;
  Node& weights = b.add(softmax, {scores});
  Node& mixed = b.add(Einsum("bhqk,bkhd->bqhd"), {weights, b.constant({2, 7, 3, 16})});
  const auto rewrite = [](Model& model) {
    return passes::einsum_to_product(model) || passes::fuse_attention(model);
  };
  check_rewrite(rewrite, b.result(mixed), {"FusedAttention"}, {random_tensor({2, 5, 3, 16}, 99)});
}

}  // namespace ir::test
