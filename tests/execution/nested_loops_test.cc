// Loops whose shapes change with every iteration, and loops inside of them: inference ends soon.
#include "tests/execution/bodies.h"
#include "tests/execution/support.h"

namespace ir::test {
namespace {

/// Values handed on from one to the next, the first twice as long with every iteration: each round of
/// inference loses one more dim. As many levels inside of it do the same.
op::v0::TensorIterator handing_on(std::size_t values, std::size_t levels) {
  Body body = new_body();
  Node& slice = body->add_parameter(ElementType::f32, {1}, "slice");
  std::vector<Node*> handed;
  for (std::size_t i = 0; i < values; ++i)
    handed.push_back(&body->add_parameter(ElementType::f32, {Dimension()}, "value"));
  body->add_result(body->add(op::v0::Concat(), {*handed[0], *handed[0]}));
  for (std::size_t i = 0; i + 1 < values; ++i) body->add_result(*handed[i]);
  op::v0::TensorIterator iterator;
  iterator.body = {body, {sliced(0, 0, along(0))}, {{0, values - 1, {}}}};
  for (std::size_t i = 0; i < values; ++i)
    iterator.body.inputs.push_back(going_round(static_cast<std::int64_t>(i + 1), i + 1, i));
  if (levels > 0) {
    std::vector<Output> inputs{slice};
    for (std::size_t i = 0; i < values; ++i) inputs.push_back(slice);
    body->add_result(body->add(handing_on(values, levels - 1), inputs));
  }
  return iterator;
}

PartialShape inferred(std::size_t values, std::size_t levels) {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {3}, "x");
  std::vector<Output> inputs{x};
  for (std::size_t i = 0; i < values; ++i)
    inputs.push_back(model.add_parameter(ElementType::f32, {1}, "value"));
  return model.add(handing_on(values, levels), inputs).output(0).shape;
}

}  // namespace

TEST_CASE("A dim that changes in a loop is unknown after it, the rank is not") {
  CHECK(inferred(1, 0) == PartialShape{Dimension()});
  CHECK(inferred(20, 0) == PartialShape{Dimension()});
}

TEST_CASE("Where rounds of inference would not end soon, nothing is known of shapes that change") {
  CHECK_FALSE(inferred(200, 0).has_rank());
  // Without a bound, 20 to the power of 12 rounds.
  CHECK_FALSE(inferred(20, 12).has_rank());
}

}  // namespace ir::test
