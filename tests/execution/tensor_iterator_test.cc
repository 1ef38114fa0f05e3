#include "runtime/ops/iteration_slices.h"
#include "tests/execution/bodies.h"

namespace ir::test {
namespace {

// TensorIterator over input 0, which has this slicing; the body negates its slice, and adds the sum of the
// slices so far as a second result, which goes round.
Model iterator_model(const PartialShape& shape, const Slicing& in, const Slicing& out) {
  Body body = new_body();
  PartialShape slice = shape;
  slice[static_cast<std::size_t>(in.axis)] = in.part_size;
  Node& part = body->add_parameter(ElementType::f32, slice, "part");
  Node& sum = body->add_parameter(ElementType::f32, slice, "sum");
  body->add_result(body->add(op::v0::Negative(), {part}));
  body->add_result(body->add(op::v1::Add(), {part, sum}));
  op::v0::TensorIterator iterator;
  iterator.body = {body, {sliced(0, 0, in), going_round(1, 1, 1)}, {{0, 0, out}, {1, 1, {}}}};
  Model model;
  Node& x = model.add_parameter(ElementType::f32, shape, "x");
  Node& start = model.add_parameter(ElementType::f32, slice, "start");
  Node& node = model.add(iterator, {x, start}, "iterator");
  model.add_result(Output(&node, 0));
  model.add_result(Output(&node, 1));
  return model;
}

}  // namespace

TEST_CASE("TensorIterator runs over slices and puts its outputs together") {
  const std::vector<Tensor> results = results_of(iterator_model({3, 2}, along(0), along(0)),
                                                 {f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({1, 2}, {10, 20})});
  check_equal<float>(results[0], {3, 2}, {-1, -2, -3, -4, -5, -6});
  check_equal<float>(results[1], {1, 2}, {19, 32});
}

TEST_CASE("TensorIterator cuts inner axes and parts of several elements") {
  const std::vector<Tensor> results =
      results_of(iterator_model({2, 4}, along(1, 2), along(1, 2)),
                 {f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), f32({2, 2}, {0, 0, 0, 0})});
  check_equal<float>(results[0], {2, 4}, {-1, -2, -3, -4, -5, -6, -7, -8});
  check_equal<float>(results[1], {2, 2}, {4, 6, 12, 14});
}

TEST_CASE("TensorIterator runs backwards, and puts outputs together in either direction") {
  const std::vector<Tensor> inputs{f32({4, 1}, {1, 2, 3, 4}), f32({1, 1}, {0})};
  check_equal<float>(results_of(iterator_model({4, 1}, backwards(0), along(0)), inputs)[0], {4, 1},
                     {-4, -3, -2, -1});
  check_equal<float>(results_of(iterator_model({4, 1}, backwards(0), backwards(0)), inputs)[0], {4, 1},
                     {-1, -2, -3, -4});
  check_equal<float>(results_of(iterator_model({4, 1}, along(0), backwards(0)), inputs)[0], {4, 1},
                     {-4, -3, -2, -1});
  const std::vector<Tensor> pairs{f32({4, 1}, {1, 2, 3, 4}), f32({2, 1}, {0, 0})};
  check_equal<float>(results_of(iterator_model({4, 1}, backwards(0, 2), along(0, 2)), pairs)[0], {4, 1},
                     {-3, -4, -1, -2});
}

TEST_CASE("TensorIterator takes a range of the axis") {
  const std::vector<Tensor> inputs{f32({5, 1}, {1, 2, 3, 4, 5}), f32({1, 1}, {0})};
  check_equal<float>(results_of(iterator_model({5, 1}, {0, 1, 3, 1, 1}, along(0)), inputs)[0], {3, 1},
                     {-2, -3, -4});
  check_equal<float>(results_of(iterator_model({5, 1}, {0, -2, 0, -1, 1}, along(0)), inputs)[0], {4, 1},
                     {-4, -3, -2, -1});
}

TEST_CASE("TensorIterator runs as often as the input of the day has slices") {
  const Model model = iterator_model({Dimension(), 2}, along(0), along(0));
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  for (const std::int64_t count : {1, 3, 0, 12, 3}) {
    const auto size = static_cast<std::size_t>(count) * 2;
    const std::vector<Tensor> results =
        infer(request, compiled, {f32({count, 2}, std::vector<float>(size, 1)), f32({1, 2}, {0, 1})});
    check_equal<float>(results[0], {count, 2}, std::vector<float>(size, -1));
    check_equal<float>(results[1], {1, 2}, {static_cast<float>(count), static_cast<float>(count) + 1});
  }
}

TEST_CASE("Slices are cut and put together where there are no elements, whatever the other dims") {
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;  // three of them have no product
  const Slicing slicing{.axis = 4};
  const Tensor whole(ElementType::f32, {kLarge, kLarge, kLarge, 0, 4});
  Tensor part(ElementType::f32, {kLarge, kLarge, kLarge, 0, 1});
  const op::IterationSlices slices = op::slices_of(slicing, 4, 4);
  CHECK(slices.iterations == 4);
  op::take_slice(slices, 3, whole, part);
  CHECK(op::concatenated(std::vector<Tensor>(4, part), slicing).shape() == whole.shape());
}

TEST_CASE("Slices that run against their stride, or that nothing ends, are none") {
  const Model none = iterator_model({4, 1}, {0, 3, 0, 1, 1}, along(0));
  CHECK(results_of(none, {noise({4, 1}, 1), noise({1, 1}, 1)})[0].shape() == Shape{0, 1});
  op::v0::TensorIterator iterator;
  iterator.body = {negative_body(ElementType::f32, {2}), {passed(0, 0)}, {{0, 0, {}}}};
  CHECK(failure_of(iterator, {value(ElementType::f32, {2})}) ==
        "IR-port-map: no input is cut into slices, so that nothing ends the iterations");
}

}  // namespace ir::test
