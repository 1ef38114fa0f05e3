// Values that only stand side by side are computed where they will stand.
#include <algorithm>
#include <string>
#include <vector>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "tests/execution/sample_models.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

struct Rows {
  Model model;
  Node& x;

  explicit Rows(PartialShape shape) : x(model.add_parameter(ElementType::f32, std::move(shape), "x")) {}

  Node& relu(Output value) { return model.add(op::v0::ReLU(), {value}); }
  Node& tanh(Output value) { return model.add(op::v0::Tanh(), {value}); }
  Node& negative(Output value) { return model.add(op::v0::Negative(), {value}); }
  Node& side_by_side(std::vector<Output> parts, std::int64_t axis = 0) {
    op::v0::Concat op;
    op.axis = axis;
    return model.add(op, std::move(parts));
  }
};

/// Results are those of running layer by layer; returns how many Concats the plan runs.
std::size_t checked_concats(const Model& model, const Shape& shape) {
  const std::vector<Tensor> inputs{noise(shape, 3)};
  const std::vector<Tensor> expected = run_model(model, inputs);
  std::size_t concats = 0;
  for (const bool share : {false, true}) {
    CompileOptions options;
    options.optimize = false;
    options.share_memory = share;
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    request.set_profiling(true);
    for (int run = 0; run < 2; ++run) CHECK(same_bits(infer(request, compiled, inputs), expected));
    const std::vector<StepProfile> profile = request.profile();
    concats = static_cast<std::size_t>(
        std::ranges::count(profile, "Concat", [](const StepProfile& step) { return step.type; }));
  }
  return concats;
}

}  // namespace

TEST_CASE("Branches are computed side by side") {
  Rows rows({2, 6});
  Node& whole = rows.side_by_side({rows.relu(rows.x), rows.tanh(rows.x), rows.negative(rows.x)});
  SECTION("for the next layer") { rows.model.add_result(rows.negative(whole)); }
  SECTION("in the result") { rows.model.add_result(whole); }
  SECTION("in a view of them") {
    Node& shape = rows.model.add_constant(std::vector<std::int64_t>{4, 9});
    rows.model.add_result(rows.negative(rows.model.add(op::v1::Reshape(), {whole, shape})));
  }
  CHECK(checked_concats(rows.model, {2, 6}) == 0);
}

TEST_CASE("Parts may be read again, and be results themselves") {
  Rows rows({1, 2, 6});
  Node& a = rows.relu(rows.x);
  Node& b = rows.tanh(a);
  Node& whole = rows.side_by_side({a, b}, 1);
  // Would overwrite the whole, if the parts were not read later.
  Node& after = rows.negative(whole);
  Node& sum = rows.model.add(op::v1::Add(), {a, b});
  rows.model.add_result(after);
  rows.model.add_result(sum);
  rows.model.add_result(b);
  CHECK(checked_concats(rows.model, {1, 2, 6}) == 0);
}

TEST_CASE("Rows that begin alike lie in the longest") {
  Rows rows({3, 5});
  Node& a = rows.relu(rows.x);
  Node& b = rows.tanh(rows.negative(rows.side_by_side({a})));
  Node& two = rows.side_by_side({a, b});
  Node& c = rows.tanh(rows.negative(two));
  Node& three = rows.side_by_side({a, b, c});
  Node& d = rows.relu(rows.negative(three));
  Node& four = rows.side_by_side({a, b, c, d});
  rows.model.add_result(rows.tanh(four));
  CHECK(checked_concats(rows.model, {3, 5}) == 0);
}

TEST_CASE("Rows of rows lie in each other") {
  Rows rows({3, 5});
  Node& inner = rows.side_by_side({rows.tanh(rows.x), rows.relu(rows.x)});
  Node& outer = rows.side_by_side({rows.negative(rows.x), inner});
  rows.model.add_result(outer);
  CHECK(checked_concats(rows.model, {3, 5}) == 0);
}

TEST_CASE("What cannot be computed in its place is copied there") {
  Rows rows({2, 4});
  Node& a = rows.relu(rows.x);
  SECTION("an input") { rows.model.add_result(rows.side_by_side({rows.x, a})); }
  SECTION("a constant") {
    rows.model.add_result(rows.side_by_side({a, rows.model.add_constant(noise({1, 4}, 5))}));
  }
  SECTION("one value twice") { rows.model.add_result(rows.side_by_side({a, a})); }
  SECTION("parts of a value") {
    op::v1::Split in_two;
    in_two.num_splits = 2;
    Node& parts = rows.model.add(in_two, {a, rows.model.add_constant(0)});
    rows.model.add_result(rows.side_by_side({Output(&parts, 1), Output(&parts, 0)}));
  }
  SECTION("columns") { rows.model.add_result(rows.side_by_side({a, rows.tanh(rows.x)}, 1)); }
  CHECK(checked_concats(rows.model, {2, 4}) == 1);
}

TEST_CASE("Of two orders of the same values one is copied") {
  Rows rows({2, 4});
  Node& a = rows.relu(rows.x);
  Node& b = rows.tanh(rows.x);
  rows.model.add_result(rows.negative(rows.side_by_side({a, b})));
  rows.model.add_result(rows.negative(rows.side_by_side({b, a})));
  CHECK(checked_concats(rows.model, {2, 4}) == 1);
}

}  // namespace ir::test
