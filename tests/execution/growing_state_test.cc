// Variables that grow: what is there stays where it is, and nobody sees how it is kept.
#include "runtime/execution/variables.h"

#include "tests/execution/stateful_models.h"

namespace ir::test {
namespace {

/// Runs `headed_cache` as it is and as it is rewritten, with the same inputs.
class Both {
 public:
  Both() {
    CompileOptions plain;
    plain.optimize = false;
    for (const CompileOptions& options : {CompileOptions(), plain}) {
      models_.push_back(compile_model(headed_cache(), options));
      requests_.push_back(models_.back().create_infer_request());
    }
  }

  void run(std::int64_t batch, std::int64_t count, const std::vector<std::int32_t>& beams) {
    const Tensor x = noise({batch, count, 6}, seed_++);
    const Tensor chosen = i32({static_cast<std::int64_t>(beams.size())}, beams);
    std::vector<std::vector<Tensor>> results;
    for (std::size_t i = 0; i < 2; ++i) results.push_back(infer(requests_[i], models_[i], {x, chosen}));
    check_alike(results[0][0], results[1][0]);
    CHECK(same_bits(results[0][1], results[1][1]));
    check_states();
  }

  void check_states() {
    for (const char* id : {"keys", "values"}) {
      const VariableState kept = state_of(requests_[0], id);
      CHECK(kept.shape() == PartialShape{Dimension(), 2, Dimension(), 3});
      check_alike(kept.get_state(), state_of(requests_[1], id).get_state());
    }
  }

  std::vector<InferRequest>& requests() { return requests_; }
  std::vector<CompiledModel>& models() { return models_; }

 private:
  static void check_alike(const Tensor& got, const Tensor& expected) {
    const auto numbers = expected.data<float>();
    check_close(got, expected.shape(), {numbers.begin(), numbers.end()});
  }

  unsigned seed_ = 20;
  std::vector<CompiledModel> models_;
  std::vector<InferRequest> requests_;
};

}  // namespace

TEST_CASE("A cache of heads grows, is reordered and starts again as the model says") {
  Both both;
  both.run(1, 5, {0});
  for (int token = 0; token < 12; ++token) both.run(1, 1, {0});
  for (InferRequest& request : both.requests()) request.reset_state();
  both.check_states();
  both.run(3, 2, {0, 1, 2});
  both.run(3, 1, {2, 0, 0});
  both.run(3, 1, {0, 1, 2});
  both.run(3, 4, {1, 1, 2});
}

TEST_CASE("The state of a cache of heads can be cut and set") {
  Both both;
  both.run(2, 4, {0, 1});
  both.run(2, 1, {0, 1});
  for (InferRequest& request : both.requests()) {
    for (VariableState& state : request.query_state()) {
      CHECK(error_of([&] {
              state.set_state(noise({3, 2, 2, 2}, 1));
            }).ends_with("holds shape [?,2,?,3], the value has [3,2,2,2]"));
      state.set_state(noise({2, 2, 3, 3}, 9));
      CHECK(same_bits(state.get_state(), noise({2, 2, 3, 3}, 9)));
    }
  }
  both.run(2, 1, {1, 0});
  both.run(2, 1, {0, 1});
}

TEST_CASE("An inference that does not fit a cache of heads leaves it as it was") {
  Both both;
  both.run(2, 3, {0, 1});
  both.run(2, 1, {0, 1});
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor before = state_of(both.requests()[i], "values").get_state();
    CHECK(error_of([&] {
            infer(both.requests()[i], both.models()[i], {noise({3, 1, 6}, 7), i32({2}, {0, 1})});
          }).starts_with("IR-shape: layer 'keys/present' (Concat)"));
    CHECK(same_bits(state_of(both.requests()[i], "values").get_state(), before));
  }
  both.run(2, 1, {0, 1});
}

TEST_CASE("A variable that grows has room behind it") {
  const VariableInfo info{"v", ElementType::f32, {Dimension(), 2}, {}};
  Variables variables(std::span(&info, 1));
  const auto add_row = [&](float value) {
    const Tensor before = variables.value("v");
    REQUIRE(variables.holds("v", before));
    const std::int64_t rows = before.shape()[0];
    Tensor grown = variables.grown("v", ElementType::f32, {rows + 1, 2});
    for (std::int64_t i = 0; i < before.size(); ++i)
      REQUIRE(grown.data<float>()[i] == before.data<float>()[i]);
    grown.data<float>()[2 * rows] = grown.data<float>()[2 * rows + 1] = value;
    variables.share("v", grown);
  };
  variables.copy("v", f32({40, 2}, std::vector<float>(80, 1)));
  variables.keep();
  add_row(2);
  variables.keep();
  const void* const memory = variables.value("v").raw();
  for (int row = 0; row < 8; ++row) {
    add_row(3);
    variables.keep();
    CHECK(variables.value("v").raw() == memory);
  }
  // A run that fails has written behind the value only.
  add_row(4);
  variables.undo();
  CHECK(variables.value("v").shape() == Shape{49, 2});
  CHECK(variables.state("v").data<float>().back() == 3);
  add_row(5);
  variables.keep();
  CHECK(variables.state("v").data<float>().back() == 5);
  // Somebody else's memory has no room.
  variables.set_state("v", f32({1, 2}, {7, 8}));
  const Tensor given = variables.value("v");
  add_row(9);
  CHECK(variables.value("v").raw() != given.raw());
  check_equal<float>(given, {1, 2}, {7, 8});
  CHECK_FALSE(variables.holds("v", given));
}

TEST_CASE("Two values that go on where one variable ends do not lie in each other") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {4}, "x");
  Node& read = model.add(read_value("v", ElementType::f32, {Dimension()}), {}, "read");
  Node& first = model.add(op::v0::Concat(), {read, x}, "first");
  Node& second = model.add(op::v0::Concat(), {read, model.add(op::v0::Negative(), {x})}, "second");
  for (Node* node : {&first, &second}) {
    model.add(assign("v"), {*node});
    model.add_result(*node);
  }
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  std::vector<float> before;
  for (int run = 0; run < 30; ++run) {
    const auto row = static_cast<float>(run + 1);
    const std::vector<Tensor> results = infer(request, compiled, {f32({4}, std::vector<float>(4, row))});
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      std::vector<float> expected = before;
      expected.insert(expected.end(), 4, i == 0 ? row : -row);
      check_equal<float>(results[i], {static_cast<std::int64_t>(expected.size())}, expected);
    }
    before.insert(before.end(), 4, -row);
  }
}

TEST_CASE("A stateful model has one plan for a mask that grows") {
  // The last `count` of all rows so far are those of this inference; the mask hides some.
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 2}, "x");
  Node& mask = model.add_parameter(ElementType::f32, {Dimension(), 1}, "mask");
  Node& past = model.add(read_value("rows", ElementType::f32, {Dimension(), 2}), {}, "past");
  Node& present = model.add(op::v0::Concat(), {past, x}, "present");
  model.add(assign("rows"), {present}, "kept");
  model.add_result(model.add(op::v1::Multiply(), {present, mask}, "masked"));
  model.add_result(mask);
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  std::vector<float> expected;
  std::vector<float> numbers;
  for (std::int64_t rows = 1; rows < 20; ++rows) {
    const auto number = static_cast<float>(rows);
    numbers.push_back(number);
    expected.insert(expected.end(), {number * number, -number * number});
    const auto results = infer(request, compiled, {f32({1, 2}, {number, -number}), f32({rows, 1}, numbers)});
    check_equal<float>(results[0], {rows, 2}, expected);
    check_equal<float>(results[1], {rows, 1}, numbers);
  }
  CHECK(error_of([&] {
          infer(request, compiled, {f32({1, 2}, {1, 2}), f32({7, 1}, std::vector<float>(7, 1))});
        }).starts_with("masked: IR-broadcast"));
  numbers.push_back(20);
  expected.insert(expected.end(), {400, -400});
  check_equal<float>(infer(request, compiled, {f32({1, 2}, {20, -20}), f32({20, 1}, numbers)})[0], {20, 2},
                     expected);
}

}  // namespace ir::test
