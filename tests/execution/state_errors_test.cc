// Variables that cannot work, and what is said of them.
#include "tests/execution/stateful_models.h"

namespace ir::test {

TEST_CASE("Variables that do not fit together are refused") {
  const auto refused = [](auto&& build) {
    return error_of([&] {
      Model model;
      Node& x = model.add_parameter(ElementType::f32, {1, 2}, "x");
      build(model, x);
      (void)compile_model(model);
    });
  };
  CHECK(refused([](Model& model, Node& x) { model.add(assign("v"), {x}, "kept"); }) ==
        "kept: IR-variable-unread: the variable 'v' is assigned, but no ReadValue reads it");
  CHECK(refused([](Model& model, Node& x) {
          model.add(read_value("v", ElementType::i32, {1, 2}), {}, "before");
          model.add(assign("v"), {x}, "kept");
        }) == "kept: IR-variable-type: the variable 'v' is assigned as f32, layer 'before' reads it as i32");
  CHECK(refused([](Model& model, Node& x) {
          model.add(read_value("v", ElementType::f32, {1, 2}), {}, "before");
          model.add(read_value("v", ElementType::i32, {1, 2}), {}, "again");
          model.add(assign("v"), {x}, "kept");
        }) == "again: IR-variable-type: the variable 'v' is read as i32, layer 'before' reads it as f32");
  CHECK(
      refused([](Model& model, Node& x) {
        model.add(read_value("v", ElementType::f32, {Dimension(), 3}), {}, "before");
        model.add(assign("v"), {x}, "kept");
      }) ==
      "kept: IR-variable-shape: the variable 'v' is assigned with shape [1,2], layer 'before' reads it with "
      "shape [?,3]");
  CHECK(
      refused([](Model& model, Node& x) {
        Node& before = model.add(read_value_3("v"), {x}, "before");
        model.add(assign_3("v"), {model.add(op::v0::Unsqueeze(), {before, model.add_constant(0)})}, "kept");
      }) ==
      "kept: IR-variable-shape: the variable 'v' starts with shape [1,2] and is assigned with shape [1,1,2]");
}

TEST_CASE("Values that a variable cannot take are found when the model runs") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension()}, "x");
  Node& start = model.add_constant(f32({2}, {1, 2}));
  model.add_result(model.add(read_value("v", ElementType::f32, {Dimension(2, 3)}), {start}, "before"));
  model.add(assign("v"), {x}, "kept");
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  CHECK(error_of([&] { infer(request, compiled, {f32({1}, {1})}); }) ==
        "kept: IR-variable-shape: the variable 'v' holds shape [2..3], the value has [1]");
  check_equal<float>(infer(request, compiled, {f32({3}, {5, 6, 7})}).at(0), {2}, {1, 2});
  check_equal<float>(infer(request, compiled, {f32({2}, {5, 6})}).at(0), {3}, {5, 6, 7});

  Model initial;
  Node& y = initial.add_parameter(ElementType::f32, {Dimension()}, "y");
  initial.add_result(initial.add(read_value("v", ElementType::f32, {Dimension(2, 3)}), {y}, "before"));
  CHECK(error_of([&] { results_of(initial, {f32({1}, {1})}); }).find("IR-shape: ") != std::string::npos);
}

TEST_CASE("Variables are held to the limit on activations") {
  Model model;
  model.add_result(model.add(read_value("v", ElementType::f32, {Dimension(1000, 2000)}), {}, "before"));
  CompileOptions options;
  options.max_activation_bytes = 3999;
  CHECK(error_of([&] { (void)compile_model(model, options); }) ==
        "before: IR-limit: the output is f32 of shape [1000], which takes 4000 bytes; the limit "
        "max_activation_bytes is 3999");
  options.max_activation_bytes = 4000;
  CHECK(compile_model(model, options).create_infer_request().query_state()[0].get_state().size() == 1000);
}

}  // namespace ir::test
