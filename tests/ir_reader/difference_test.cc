// What the comparison of two models sees, and how it says so.
#include "ir_reader/difference.h"

#include <functional>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/infrastructure.h"
#include "tests/catch.h"

namespace {

using ir::reader::difference;

// Parameter, constant, sum, result.
ir::Model sum_model() {
  ir::Model model("m");
  ir::Node& in = model.add_parameter(ir::ElementType::f32, {2, ir::Dimension()}, "in");
  ir::Node& constant = model.add_constant(ir::Tensor::of<float>({1}, {1}), "one");
  ir::Node& sum = model.add(ir::op::v1::Add{}, {in, constant}, "sum");
  sum.set_output_names(0, {"s"});
  model.add_result(sum, "out");
  return model;
}

std::string after(const std::function<void(ir::Model&)>& change) {
  ir::Model changed = sum_model();
  change(changed);
  return difference(sum_model(), changed).value_or("none");
}

ir::Node& node(ir::Model& model, std::size_t index) { return *model.nodes()[index]; }

TEST_CASE("equal models have no difference, wherever they were read from") {
  CHECK(after([](ir::Model&) {}) == "none");
  CHECK(after([](ir::Model& model) {
          model.set_ir_version(10);
          node(model, 0).set_origin("7", {"file.xml", 1, 2});
        }) == "none");
}

TEST_CASE("each part of a model is compared") {
  CHECK(after([](ir::Model& model) { model.set_name("n"); }) == "the model's name is 'm' and 'n'");
  CHECK(after([](ir::Model& model) { node(model, 2).set_name("add"); }) ==
        "layer 'sum' (Add): the name is 'sum' and 'add'");
  CHECK(after([](ir::Model& model) { node(model, 2).op() = ir::op::v1::Multiply{}; }) ==
        "layer 'sum' (Add): the operation is 'Add of opset1' and 'Multiply of opset1'");
  CHECK(after([](ir::Model& model) {
          node(model, 2).op().as<ir::op::v1::Add>()->auto_broadcast = ir::op::AutoBroadcast::none;
        }) == "layer 'sum' (Add): attribute auto_broadcast is 'numpy' and 'none'");
  CHECK(after([](ir::Model& model) { node(model, 2).set_input(1, node(model, 0)); }) ==
        "layer 'sum' (Add): input 1 is 'output 0 of layer 1 'one'' and 'output 0 of layer 0 'in''");
  CHECK(after([](ir::Model& model) {
          node(model, 2).set_outputs({{ir::ElementType::f32, {2, 3}, nullptr, std::nullopt}});
        }) == "layer 'sum' (Add): output 0 is 'f32 [2,?]' and 'f32 [2,3]'");
  CHECK(after([](ir::Model& model) { node(model, 2).set_output_names(0, {"t"}); }) ==
        "layer 'sum' (Add): a name of output 0 is 's' and 't'");
  CHECK(after([](ir::Model& model) { node(model, 2).set_output_names(0, {}); }) ==
        "layer 'sum' (Add): the number of names of an output is 1 and 0");
  CHECK(after([](ir::Model& model) { model.add_result(node(model, 0), "more"); }) ==
        "the number of layers is 4 and 5");
}

TEST_CASE("constants are compared to the bit") {
  const auto with = [](ir::Tensor value) {
    return after([&](ir::Model& model) { node(model, 1).op() = ir::op::v0::Constant(value); });
  };
  CHECK(with(ir::Tensor::of<float>({1}, {2})) == "layer 'one' (Const): the elements of the constant differ");
  CHECK(with(ir::Tensor::of<std::int32_t>({1}, {2})) ==
        "layer 'one' (Const): the constant is 'f32 [1]' and 'i32 [1]'");
  CHECK(after([](ir::Model& model) { node(model, 1).op().as<ir::op::v0::Constant>()->value = nullptr; }) ==
        "layer 'one' (Const): only one of the constants has elements");
  // Where the elements lie in a file does not matter.
  CHECK(after([](ir::Model& model) { node(model, 1).op().as<ir::op::v0::Constant>()->offset = 64; }) ==
        "none");
  using ir::reader::identical;
  CHECK_FALSE(identical(ir::Tensor::of<float>({1}, {0.0F}), ir::Tensor::of<float>({1}, {-0.0F})));
  CHECK(identical(ir::Tensor::of<std::string>({1}, {"a"}), ir::Tensor::of<std::string>({1}, {"a"})));
  CHECK_FALSE(identical(ir::Tensor::of<std::string>({1}, {"a"}), ir::Tensor::of<std::string>({1}, {"b"})));
  CHECK_FALSE(identical(ir::Tensor::of<float>({1}, {1}), ir::Tensor::of<float>({1, 1}, {1})));
}

TEST_CASE("annotations are compared where they stand") {
  const ir::Annotations note{"rt_info", {}, {{"attribute", {{"name", "a"}}, {}, "text"}}, {}};
  CHECK(after([&](ir::Model& model) { node(model, 2).annotations() = note; }) ==
        "layer 'sum' (Add): rt_info: the number of elements is 0 and 1");
  CHECK(after([&](ir::Model& model) { node(model, 2).set_input_annotations(1, note); }) ==
        "layer 'sum' (Add): rt_info of input 1: the number of elements is 0 and 1");
  CHECK(after([&](ir::Model& model) { node(model, 2).set_output_annotations(0, note); }) ==
        "layer 'sum' (Add): rt_info of output 0: the number of elements is 0 and 1");
  ir::Model a = sum_model();
  a.annotations() = note;
  ir::Model b = a;
  b.annotations().name = "other";
  CHECK(difference(a, b) == std::nullopt);
  b.annotations().children[0].text = "words";
  CHECK(difference(a, b) == "the model's annotations: <attribute>: the text is 'text' and 'words'");
  b = a;
  b.annotations().children[0].attributes[0].second = "b";
  CHECK(difference(a, b) == "the model's annotations: <attribute>: attribute name is 'a' and 'b'");
}

TEST_CASE("bodies are compared, and how they are connected") {
  const auto with_loop = [](const ir::Op& inner, std::optional<std::size_t> back_edge) {
    ir::Model body("any name");
    ir::Node& value = body.add_parameter(ir::ElementType::f32, {2}, "value");
    body.add_result(body.add(inner, {value}, "inner"), "inner/result");
    ir::op::v0::TensorIterator iterator;
    iterator.body.body = std::make_shared<const ir::Model>(body);
    iterator.body.inputs = {{0, 0, ir::Slicing{}, back_edge}};
    if (back_edge) iterator.body.inputs[0].slicing.reset();
    iterator.body.outputs = {{0, 0, std::nullopt}, {1, 0, ir::Slicing{}}};
    ir::Model model;
    ir::Node& in = model.append(ir::op::v0::Parameter{}, {}, "in");
    (void)model.append(iterator, {in}, "loop");
    return model;
  };
  const ir::Model a = with_loop(ir::op::v0::ReLU{}, std::nullopt);
  CHECK(difference(a, with_loop(ir::op::v0::ReLU{}, std::nullopt)) == std::nullopt);
  CHECK(difference(a, with_loop(ir::op::v0::Sigmoid{}, std::nullopt)) ==
        "layer 'loop' (TensorIterator): body 0: layer 'inner' (ReLU): the operation is 'ReLU of opset1' and "
        "'Sigmoid of opset1'");
  CHECK(difference(a, with_loop(ir::op::v0::ReLU{}, 0)) ==
        "layer 'loop' (TensorIterator): body 0: the mapping is 'input 0 for parameter 0, axis 0 from 0 to -1 "
        "by "
        "1 in parts of 1, then the same' and 'input 0 for parameter 0, whole, then result 0'");
}

}  // namespace
