#include "ir_runtime/shape.h"

#include "tests/catch.h"

using ir::Dimension;
using ir::PartialShape;
using ir::Shape;

namespace {

constexpr std::int64_t kMax = Dimension::kUnbounded;

PartialShape parsed(std::string_view text) {
  const auto shape = PartialShape::parse(text);
  REQUIRE(shape);
  return *shape;
}

}  // namespace

TEST_CASE("Elements are counted without overflow") {
  CHECK(ir::element_count({}) == 1);
  CHECK(ir::element_count({2, 3, 4}) == 24);
  CHECK(ir::element_count({kMax}) == kMax);
  CHECK_FALSE(ir::element_count({kMax, 2}));
  CHECK_FALSE(ir::element_count({2, -1}));
  CHECK_FALSE(ir::element_count({0, -1}));
  // Zero wherever it stands, even where the other dims overflow.
  CHECK(ir::element_count({kMax, kMax, 0}) == 0);
  CHECK(ir::element_count({0, kMax, kMax}) == 0);
}

TEST_CASE("Dims add and subtract as intervals") {
  CHECK(Dimension(2) + Dimension(3) == Dimension(5));
  CHECK(Dimension(1, 4) + Dimension(10, 20) == Dimension(11, 24));
  CHECK(Dimension(2) + Dimension() == Dimension(2, kMax));
  CHECK(Dimension(7) - Dimension(3) == Dimension(4));
  CHECK(Dimension(5, 9) - Dimension(1, 2) == Dimension(3, 8));
  CHECK(Dimension(3) - Dimension(5) == Dimension(-2));
  // Without an upper bound on what is taken away there is no lower bound.
  CHECK(Dimension(5) - Dimension() == Dimension(-kMax, 5));
  CHECK(Dimension() - Dimension(2) == Dimension(-2, kMax));
  CHECK(Dimension() - Dimension() == Dimension(-kMax, kMax));
}

TEST_CASE("Sums and differences of dims saturate on their own side") {
  CHECK(Dimension(kMax - 1) + Dimension(kMax - 1) == Dimension(kMax, kMax));
  CHECK(Dimension(-(kMax - 1)) + Dimension(-(kMax - 1)) == Dimension(-kMax, -kMax));
  CHECK(Dimension(-(kMax - 1)) - Dimension(kMax - 1) == Dimension(-kMax, -kMax));
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  CHECK(Dimension(0) - Dimension(kLeast) == Dimension(kMax, kMax));
  CHECK((Dimension(kLeast) + Dimension(kLeast)).min() == -kMax);
  // An end without a bound stays one.
  const Dimension any = Dimension() - Dimension();
  CHECK(any + Dimension(5) == any);
  CHECK(any - Dimension(5) == any);
}

TEST_CASE("Dims multiply as intervals and saturate") {
  CHECK(Dimension(3) * Dimension(4) == Dimension(12));
  CHECK(Dimension(2, 3) * Dimension(4, 5) == Dimension(8, 15));
  CHECK(Dimension(0) * Dimension() == Dimension(0));
  CHECK(Dimension(3) * Dimension() == Dimension());
  CHECK(Dimension(-2, 3) * Dimension(4, 5) == Dimension(-10, 15));
  CHECK(Dimension(-2, 3) * Dimension(-7, 5) == Dimension(-21, 15));
  CHECK(Dimension(kMax / 2) * Dimension(3) == Dimension(kMax, kMax));
  CHECK(Dimension(-kMax / 2) * Dimension(3) == Dimension(-kMax, -kMax));
}

TEST_CASE("Dims divide toward minus infinity or up") {
  CHECK(Dimension(7).floor_divided(2) == Dimension(3));
  CHECK(Dimension(-7).floor_divided(2) == Dimension(-4));
  CHECK(Dimension(7).ceil_divided(2) == Dimension(4));
  CHECK(Dimension(-7).ceil_divided(2) == Dimension(-3));
  CHECK(Dimension(8).ceil_divided(2) == Dimension(4));
  CHECK(Dimension(0, 9).floor_divided(4) == Dimension(0, 2));
  CHECK(Dimension().floor_divided(3) == Dimension());
  CHECK(Dimension().ceil_divided(3) == Dimension());
  const Dimension any = Dimension() - Dimension();
  CHECK(any.floor_divided(2) == any);
  CHECK(any.ceil_divided(2) == any);
}

TEST_CASE("Dims that are counted from one are a known distance apart") {
  const Dimension dim = Dimension(2, 9).with_origin();
  CHECK(dim == Dimension(2, 9));
  CHECK(dim.distance_from(dim) == 0);
  Dimension more(0, kMax);
  more.set_distance(dim, 5);
  Dimension most(0, kMax);
  most.set_distance(more, 10);
  CHECK(most.distance_from(dim) == 15);
  CHECK(dim.distance_from(more) == -5);
  // Two unknown dims, one that is not told apart, one that is known, a distance too large to note.
  CHECK_FALSE(dim.distance_from(Dimension(2, 9).with_origin()));
  CHECK_FALSE(Dimension().distance_from(Dimension()));
  CHECK_FALSE(Dimension(3).with_origin().distance_from(Dimension(3)));
  more.set_distance(most, std::int64_t{1} << 31);
  CHECK_FALSE(more.distance_from(dim));
  most.set_distance(Dimension(), 1);
  CHECK(most.distance_from(dim) == 15);
}

TEST_CASE("Dims merge to what both allow") {
  CHECK(Dimension().merged(Dimension(3)) == Dimension(3));
  CHECK(Dimension(1, 5).merged(Dimension(4, 9)) == Dimension(4, 5));
  CHECK_FALSE(Dimension(1, 3).merged(Dimension(4)));
  CHECK(Dimension(1, 3).compatible(Dimension(3)));
  CHECK_FALSE(Dimension(2).compatible(Dimension(3)));
}

TEST_CASE("Shapes merge axis by axis") {
  const PartialShape any;
  CHECK(any.merged({1, 2}) == PartialShape{1, 2});
  CHECK(PartialShape({1, Dimension()}).merged(PartialShape{Dimension(), 7}) == PartialShape{1, 7});
  CHECK_FALSE(PartialShape({1, 2}).merged(PartialShape{1, 3}));
  CHECK_FALSE(PartialShape({1}).merged(PartialShape{1, 1}));
  CHECK(any.compatible(any));
  CHECK(any.compatible(PartialShape(Shape{})));
  CHECK_FALSE(PartialShape(Shape{}).compatible({1}));
}

TEST_CASE("A shape is static when its rank and all dims are") {
  CHECK_FALSE(PartialShape().is_static());
  CHECK(PartialShape(Shape{}).is_static());
  CHECK(PartialShape({2, 3}).to_shape() == Shape{2, 3});
  CHECK_FALSE(PartialShape({2, Dimension(1, 2)}).is_static());
  CHECK(PartialShape::of_rank(2) == PartialShape{Dimension(), Dimension()});
}

TEST_CASE("Elements of a partial shape are an interval") {
  CHECK(PartialShape().element_count() == Dimension());
  CHECK(PartialShape(Shape{}).element_count() == Dimension(1));
  CHECK(PartialShape({2, Dimension(1, 4)}).element_count() == Dimension(2, 8));
  CHECK(PartialShape({0, Dimension()}).element_count() == Dimension(0));
  CHECK(PartialShape({kMax, 4}).element_count() == Dimension(kMax, kMax));
}

TEST_CASE("Shapes are read from text") {
  CHECK(parsed("1,3,?,2..8") == PartialShape{1, 3, Dimension(), Dimension(2, 8)});
  CHECK(parsed("[1,3]") == PartialShape{1, 3});
  CHECK(parsed(" [ 1 , 3 ] ") == PartialShape{1, 3});
  CHECK(parsed("-1,..8,2..,..") ==
        PartialShape{Dimension(), Dimension(0, 8), Dimension(2, kMax), Dimension()});
  CHECK(parsed("") == PartialShape(Shape{}));
  CHECK(parsed("[]") == PartialShape(Shape{}));
  CHECK(parsed("0") == PartialShape{0});
  CHECK_FALSE(parsed("...").has_rank());
  CHECK_FALSE(parsed("[...]").has_rank());
  CHECK(parsed("9223372036854775807") == PartialShape{kMax});
}

TEST_CASE("Malformed shapes are refused") {
  for (const char* text : {"1,",      ",",     "1,,3",  "1 3",  "a",
                           "[1,3",    "1,3]",  "[[1]]", "-2",   "8..2",
                           "1..2..3", "-1..4", "+1",    "1.5",  "9223372036854775808",
                           "...,3",   "0x10",  "1;2",   "?..4", "? ?",
                           "[",       "]"}) {
    INFO(text);
    CHECK_FALSE(PartialShape::parse(text));
  }
}

TEST_CASE("Shapes print as they read") {
  CHECK(ir::to_string(Shape{}) == "[]");
  CHECK(ir::to_string(Shape{1, 3, 224}) == "[1,3,224]");
  CHECK(to_string(PartialShape()) == "[...]");
  for (const char* text : {"[]", "[...]", "[1,3,?,2..8,5..,..7]"}) CHECK(to_string(parsed(text)) == text);
}
