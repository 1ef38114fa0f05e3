// TensorIterator and Loop whose body is one recurrent cell.
#include <algorithm>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/sequence.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/execution/bodies.h"
#include "tests/execution/support.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kInput = 6;
constexpr std::int64_t kHidden = 4;

template <class Cell>
Cell cell_of() {
  Cell cell;
  cell.hidden_size = kHidden;
  return cell;
}

op::v3::GRUCell linear_gru() {
  auto cell = cell_of<op::v3::GRUCell>();
  cell.linear_before_reset = true;
  return cell;
}

op::v0::LSTMCell old_lstm() {
  auto cell = cell_of<op::v0::LSTMCell>();
  cell.weights_format = op::LstmWeightsFormat::ifco;
  cell.activations = {"hardsigmoid", "tanh", "relu"};
  cell.activations_alpha = {0.3, 0, 0};
  cell.clip = 1.5;
  return cell;
}

struct CellCase {
  Op cell;
  std::int64_t gates;
  std::int64_t bias_parts;
  std::size_t states;
  const char* sequence;
};

std::vector<CellCase> cells() {
  return {{cell_of<op::v0::RNNCell>(), 1, 1, 1, "RNNSequence"},
          {cell_of<op::v3::GRUCell>(), 3, 3, 1, "GRUSequence"},
          {linear_gru(), 3, 4, 1, "GRUSequence"},
          {cell_of<op::v4::LSTMCell>(), 4, 4, 2, "LSTMSequence"},
          {old_lstm(), 4, 4, 2, "LSTMSequence"}};
}

Node& integers(Model& model, const std::vector<std::int64_t>& values) { return model.add_constant(values); }

/// A loop around a cell, and what may be odd about it.
struct LoopModel {
  CellCase cell;
  std::int64_t axis = 1;
  bool reverse = false;
  bool reshapes = false;  ///< instead of Squeeze and Unsqueeze
  bool has_bias = true;
  bool wants_states = true;
  PartialShape x;
  // What keeps it from being a sequence.
  bool adds_to_state = false;
  bool weights_from_outside = false;  ///< as a constant of the model around
  bool weights_unknown = false;
  bool turns_results = false;
  bool gives_cell_states = false;
  // Of a Loop.
  bool is_loop = false;
  std::int64_t trips = kSteps;
  bool goes_on = true;

  explicit LoopModel(CellCase of) : cell(std::move(of)), x{kBatch, kSteps, kInput} {}

  [[nodiscard]] Shape shape_of_x() const {
    return axis == 1 ? Shape{kBatch, kSteps, kInput} : Shape{kSteps, kBatch, kInput};
  }
  void forget_dims() { x = {Dimension(), Dimension(), kInput}; }

  [[nodiscard]] Model build() const {
    Model model;
    PartialShape shape = x;
    if (axis == 0) std::swap(shape[0], shape[1]);
    std::vector<Output> inputs{model.add_parameter(ElementType::f32, shape, "x")};
    for (std::size_t i = 0; i < cell.states; ++i)
      inputs.emplace_back(model.add_parameter(ElementType::f32, {shape[1 - axis], kHidden}));
    const Shape w_shape{cell.gates * kHidden, kInput};
    if (weights_from_outside) inputs.emplace_back(model.add_constant(noise(w_shape, 7)));
    if (weights_unknown) inputs.emplace_back(model.add_parameter(ElementType::f32, w_shape, "w"));

    Body body = new_body();
    Subgraph subgraph;
    PartialShape slice = shape;
    slice[static_cast<std::size_t>(axis)] = 1;
    Node& part = body->add_parameter(ElementType::f32, slice, "part");
    const std::int64_t first = is_loop ? 2 : 0;
    subgraph.inputs.push_back(sliced(first, 0, reverse ? backwards(axis) : along(axis)));
    std::vector<Output> operands{reshapes
                                     ? body->add(op::v1::Reshape(), {part, integers(*body, {-1, kInput})})
                                     : body->add(op::v0::Squeeze(), {part, integers(*body, {axis})})};
    for (std::size_t i = 0; i < cell.states; ++i) {
      operands.emplace_back(body->add_parameter(ElementType::f32, {shape[1 - axis], kHidden}));
      subgraph.inputs.push_back(going_round(first + 1 + static_cast<std::int64_t>(i), 1 + i, 1 + i));
    }
    if (weights_from_outside || weights_unknown) {
      operands.emplace_back(body->add_parameter(ElementType::f32, w_shape, "w"));
      subgraph.inputs.push_back(passed(first + 1 + static_cast<std::int64_t>(cell.states), 1 + cell.states));
    } else {
      operands.emplace_back(body->add_constant(noise(w_shape, 7)));
    }
    operands.emplace_back(body->add_constant(noise({cell.gates * kHidden, kHidden}, 8)));
    if (has_bias) operands.emplace_back(body->add_constant(noise({cell.bias_parts * kHidden}, 9)));
    Node& step = body->add(cell.cell, operands, "cell");
    Output hidden(step);
    if (adds_to_state) hidden = body->add(op::v1::Add(), {hidden, body->add_constant(number(0.25F))});
    const Output all = gives_cell_states ? Output(&step, 1) : hidden;
    Node& row = reshapes
                    ? body->add(op::v1::Reshape(),
                                {all, integers(*body, axis == 1 ? std::vector<std::int64_t>{-1, 1, kHidden}
                                                                : std::vector<std::int64_t>{1, -1, kHidden})})
                    : body->add(op::v0::Unsqueeze(), {all, integers(*body, {axis})});
    body->add_result(row);
    body->add_result(hidden);
    if (cell.states == 2) body->add_result(Output(&step, 1));
    subgraph.outputs.push_back({0, 0, reverse != turns_results ? backwards(axis) : along(axis)});
    if (wants_states) {
      for (std::size_t i = 0; i < cell.states; ++i)
        subgraph.outputs.push_back({1 + static_cast<std::int64_t>(i), 1 + i, {}});
    }
    if (is_loop) {
      subgraph.outputs.push_back({kCondition, 1 + cell.states, {}});
      body->add_result(add_condition(*body, goes_on));
      inputs.insert(inputs.begin(), {model.add_constant(trips), add_condition(model, true)});
    }
    subgraph.body = body;
    Op loop = op::v0::TensorIterator{subgraph};
    if (is_loop) loop = op::v5::Loop{subgraph};
    Node& node = model.add(std::move(loop), inputs, "loop");
    for (std::size_t i = 0; i < node.output_count(); ++i) model.add_result(Output(&node, i));
    return model;
  }

  [[nodiscard]] std::vector<Tensor> data() const {
    std::vector<Tensor> data{noise(shape_of_x(), 1)};
    for (std::size_t i = 0; i < cell.states; ++i)
      data.push_back(noise({kBatch, kHidden}, 2 + static_cast<unsigned>(i)));
    if (weights_unknown) data.push_back(noise({cell.gates * kHidden, kInput}, 7));
    return data;
  }
};

void check_sequence(const LoopModel& loop) {
  Model model = loop.build();
  CompileOptions plain;
  plain.optimize = false;
  const std::vector<Tensor> expected = results_of(model, loop.data(), plain);
  REQUIRE(passes::iterator_to_sequence(model));
  model.remove_unreachable();
  const Types types = types_of(model);
  CHECK(std::ranges::count(types, loop.cell.sequence) == 1);
  CHECK(std::ranges::count(types, std::string(loop.is_loop ? "Loop" : "TensorIterator")) == 0);
  check_consistent(model);
  for (const Model& rewritten : {model, loop.build()}) {
    const std::vector<Tensor> results = results_of(rewritten, loop.data());
    REQUIRE(results.size() == expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      REQUIRE(results[i].shape() == expected[i].shape());
      CHECK(relative_error(results[i], expected[i]) < 1e-5);
    }
  }
}

void check_loop(const LoopModel& loop) { check_untouched(passes::iterator_to_sequence, loop.build()); }

LoopModel lstm() { return LoopModel(cells()[3]); }

}  // namespace

TEST_CASE("A cell in a TensorIterator becomes a sequence", "[passes]") {
  LoopModel loop(GENERATE(from_range(cells())));
  loop.axis = GENERATE(0, 1);
  loop.reverse = GENERATE(false, true);
  CAPTURE(loop.cell.sequence, loop.axis, loop.reverse);
  SECTION("with all states") {
    loop.reshapes = GENERATE(false, true);
    check_sequence(loop);
  }
  SECTION("without a bias") {
    loop.has_bias = false;
    check_sequence(loop);
  }
  SECTION("of unknown dims, where nobody reads the last states") {
    loop.forget_dims();
    loop.wants_states = false;
    check_sequence(loop);
  }
}

TEST_CASE("Weights of an iterated cell may come from around the loop", "[passes]") {
  LoopModel loop = lstm();
  loop.weights_from_outside = true;
  check_sequence(loop);
}

TEST_CASE("A cell in a Loop over all slices becomes a sequence", "[passes]") {
  LoopModel loop(GENERATE(from_range(cells())));
  loop.is_loop = true;
  check_sequence(loop);
}

TEST_CASE("Iterated cells stay where a sequence would not do the same", "[passes]") {
  LoopModel loop = lstm();
  SECTION("the hidden state is changed") { loop.adds_to_state = true; }
  SECTION("weights are not known") { loop.weights_unknown = true; }
  SECTION("results are put together the other way") { loop.turns_results = true; }
  SECTION("all cell states are wanted") { loop.gives_cell_states = true; }
  SECTION("no steps may leave the initial states") { loop.forget_dims(); }
  SECTION("the condition ends the loop") {
    loop.is_loop = true;
    loop.goes_on = false;
  }
  SECTION("not all slices are taken") {
    loop.is_loop = true;
    loop.trips = kSteps - 1;
  }
  check_loop(loop);
}

}  // namespace ir::test
