#include "runtime/passes/growing_variables.h"

#include "tests/execution/stateful_models.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using passes::keep_growing_axes_first;

op::v0::Concat concat_along(std::int64_t axis) {
  op::v0::Concat concat;
  concat.axis = axis;
  return concat;
}

// x [2, ?, 3] is added along `axis` to a variable of that shape; the variable before and after are results.
struct Growing {
  explicit Growing(std::int64_t axis, const PartialShape& shape = {2, Dimension(), 3}) {
    x = &model.add_parameter(ElementType::f32, shape, "x");
    read = &model.add(read_value("v", ElementType::f32, shape), {}, "read");
    concat = &model.add(concat_along(axis), {*read, *x}, "concat");
    kept = &model.add(assign("v"), {*concat}, "assign");
    model.add_result(model.add(op::v0::ReLU(), {*concat}, "seen"));
  }

  void check_untouched() {
    const Types before = types_of(model);
    CHECK(keep_growing_axes_first(model).empty());
    CHECK(types_of(model) == before);
  }

  Model model;
  Node* x;
  Node* read;
  Node* concat;
  Node* kept;
};

}  // namespace

TEST_CASE("A variable that grows along an inner axis keeps that axis first", "[passes]") {
  const std::int64_t axis = GENERATE(1, -2);
  Growing growing(axis);
  const auto orders = keep_growing_axes_first(growing.model);
  REQUIRE(orders.size() == 1);
  CHECK(orders.at("v") == AxisOrder{1, 0, 2});
  check_consistent(growing.model);
  CHECK(types_of(growing.model) == Types{"ReadValue", "Transpose", "Concat", "Transpose", "Assign", "ReLU"});
  CHECK(growing.read->output(0).shape == PartialShape{Dimension(), 2, 3});
  CHECK(growing.concat->output(0).shape == PartialShape{Dimension(), 2, 3});
  CHECK(growing.kept->input(0).node == growing.concat);
  CHECK(growing.model.results()[0]->input(0).info().shape == PartialShape{2, Dimension(), 3});
}

TEST_CASE("The last of four axes comes first with the others in order", "[passes]") {
  Growing growing(3, {Dimension(), 2, 3, Dimension()});
  CHECK(keep_growing_axes_first(growing.model).at("v") == AxisOrder{3, 0, 1, 2});
  check_consistent(growing.model);
  CHECK(growing.model.results()[0]->input(0).info().shape == PartialShape{Dimension(), 2, 3, Dimension()});
}

TEST_CASE("Who asks for shapes of a growing variable needs no Transpose", "[passes]") {
  Model model = headed_cache();
  const auto orders = keep_growing_axes_first(model);
  CHECK(orders.size() == 2);
  CHECK(orders.at("keys") == AxisOrder{2, 0, 1, 3});
  check_consistent(model);
  std::size_t asked = 0;
  for (const auto& node : model.nodes()) {
    if (!node->op().is<op::v3::ShapeOf>()) continue;
    ++asked;
    CHECK_FALSE(node->input(0).node->op().is<op::v1::Transpose>());
  }
  CHECK(asked == 7);
}

TEST_CASE("A shape of a growing variable that nobody reads may be the last node", "[passes]") {
  Growing growing(1);
  growing.model.add(op::v3::ShapeOf(), {*growing.read}, "shape");
  CHECK(keep_growing_axes_first(growing.model).size() == 1);
  check_consistent(growing.model);
}

TEST_CASE("Variables that do not have to move are left alone", "[passes]") {
  SECTION("the axis is the first one") { Growing(0).check_untouched(); }
  SECTION("axes before it have one element") {
    Growing(1, {1, Dimension(), 3}).check_untouched();
    Growing(2, {1, 1, Dimension()}).check_untouched();
  }
  SECTION("others read what was there") {
    Growing growing(1);
    growing.model.add_result(*growing.read);
    growing.check_untouched();
  }
  SECTION("it is put behind") {
    Growing growing(1);
    growing.concat->set_inputs({*growing.x, *growing.read});
    growing.check_untouched();
  }
  SECTION("it is there twice") {
    Growing growing(1);
    growing.concat->set_inputs({*growing.read, *growing.read});
    growing.check_untouched();
  }
  SECTION("others read the assignment") {
    Growing growing(1);
    growing.model.add_result(*growing.kept);
    growing.check_untouched();
  }
  SECTION("it is read twice") {
    Growing growing(1);
    growing.model.add_result(
        growing.model.add(read_value("v", ElementType::f32, {2, Dimension(), 3}), {}, "again"));
    growing.check_untouched();
  }
  SECTION("something else is assigned") {
    Growing growing(1);
    growing.kept->set_inputs({growing.model.results()[0]->input(0)});
    growing.check_untouched();
  }
}

}  // namespace ir::test
