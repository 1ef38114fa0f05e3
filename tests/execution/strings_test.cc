// Strings in compiled models: values that are objects, beside the bytes of a plan.
#include "ir_runtime/ops/strings.h"

#include "ir_runtime/ops/embedding.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/sparse.h"
#include "tests/execution/bodies.h"

namespace ir::test {
namespace {

const std::string kLong = "a string that is too long to be kept in place";

Tensor strings(Shape shape, std::vector<std::string> values) {
  return tensor<std::string>(std::move(shape), std::move(values));
}

// The input behind a constant, as a column, then taken to characters and back.
Model strings_model(const PartialShape& shape) {
  Model model;
  Node& x = model.add_parameter(ElementType::string, shape, "x");
  Node& all =
      model.add(op::v0::Concat(), {model.add_constant(strings({2}, {kLong, "b"}), "words"), x}, "all");
  Node& column =
      model.add(op::v1::Reshape(), {all, model.add_constant(std::vector<std::int64_t>{-1, 1})}, "column");
  Node& unpacked = model.add(op::v15::StringTensorUnpack(), {column}, "unpacked");
  Node& packed =
      model.add(op::v15::StringTensorPack(), {{&unpacked, 0}, {&unpacked, 1}, {&unpacked, 2}}, "packed");
  model.add_result(column);
  model.add_result({&unpacked, 1});
  model.add_result(packed);
  model.add_result(x);
  return model;
}

}  // namespace

TEST_CASE("Strings go through models of static and of dynamic shapes, optimised or not") {
  for (const PartialShape& shape : {PartialShape{2}, PartialShape{Dimension()}, PartialShape()}) {
    for (const bool optimize : {true, false}) {
      if (!shape.has_rank() && optimize) continue;
      CompileOptions options;
      options.optimize = optimize;
      const Model model = strings_model(shape.has_rank() ? shape : PartialShape{Dimension(0, 9)});
      const CompiledModel compiled = compile_model(model, options);
      InferRequest request = compiled.create_infer_request();
      for (const std::string& text : {std::string("x"), kLong + kLong, std::string()}) {
        const auto results = infer(request, compiled, {strings({2}, {text, "y"})});
        check_equal<std::string>(results[0], {4, 1}, {kLong, "b", text, "y"});
        const auto length = static_cast<std::int32_t>(kLong.size());
        const auto added = static_cast<std::int32_t>(text.size());
        check_equal<std::int32_t>(results[1], {4, 1},
                                  {length, length + 1, length + 1 + added, length + 2 + added});
        check_equal<std::string>(results[2], {4, 1}, {kLong, "b", text, "y"});
        check_equal<std::string>(results[3], {2}, {text, "y"});
      }
    }
  }
}

TEST_CASE("Outputs of strings neither change the inputs nor follow them") {
  const CompiledModel compiled = compile_model(strings_model({2}));
  InferRequest request = compiled.create_infer_request();
  request.input_tensor(0).data<std::string>()[1] = "set in place";
  request.infer();
  Tensor passed = request.output_tensor(3);
  check_equal<std::string>(passed, {2}, {"", "set in place"});
  passed.data<std::string>()[0] = "changed";
  check_equal<std::string>(request.input_tensor(0), {2}, {"", "set in place"});
  // An output of one run may be the input of the next one.
  request.set_input_tensor(0, passed);
  request.infer();
  check_equal<std::string>(request.output_tensor(3), {2}, {"changed", "set in place"});
  check_equal<std::string>(passed, {2}, {"changed", "set in place"});
}

TEST_CASE("Constant strings are results") {
  Model model;
  model.add_result(model.add_constant(strings({2}, {"a", kLong})));
  check_equal<std::string>(results_of(model, {}).at(0), {2}, {"a", kLong});
}

TEST_CASE("Inputs of strings take strings only") {
  const CompiledModel compiled = compile_model(strings_model({2}));
  InferRequest request = compiled.create_infer_request();
  CHECK(error_of([&] {
          request.set_input_tensor(0, i32({2}, {0, 0}));
        }) == "IR-input-type: input 'x' takes string, the tensor holds i32");
}

TEST_CASE("A choice hands strings on") {
  Body first = new_body();
  first->add_result(first->add_parameter(ElementType::string, {2}, "inner"));
  Body second = new_body();
  Node& inner = second->add_parameter(ElementType::string, {2}, "inner");
  second->add_result(
      second->add(op::v8::Gather(),
                  {inner, second->add_constant(std::vector<std::int64_t>{1, 0}), second->add_constant(0)}));
  Model model;
  Node& condition = model.add_parameter(ElementType::boolean, Shape(), "condition");
  Node& x = model.add_parameter(ElementType::string, {2}, "x");
  model.add_result(model.add(choice(one_to_one(first), one_to_one(second)), {condition, x}));
  const Tensor words = strings({2}, {"a", kLong});
  check_equal<std::string>(results_of(model, {truth(true), words}).at(0), {2}, {"a", kLong});
  check_equal<std::string>(results_of(model, {truth(false), words}).at(0), {2}, {kLong, "a"});
}

TEST_CASE("A sparse matrix is filled when its shape is data") {
  Model model;
  Node& values = model.add_parameter(ElementType::string, {2}, "values");
  Node& shape = model.add_parameter(ElementType::i64, {2}, "shape");
  Node& places = model.add_parameter(ElementType::i64, {2, 2}, "places");
  Node& fill = model.add(op::v16::SparseFillEmptyRows(),
                         {values, shape, places, model.add_constant(strings({}, {"new"}))}, "fill");
  for (const std::size_t output : {0, 1, 2}) model.add_result({&fill, output});
  const CompiledModel compiled = compile_model(model);
  InferRequest request = compiled.create_infer_request();
  const Tensor words = strings({2}, {"a", kLong});
  auto results = infer(request, compiled, {words, i64({2}, {3, 2}), i64({2, 2}, {2, 1, 0, 0})});
  check_equal<std::int64_t>(results[0], {3, 2}, {0, 0, 1, 0, 2, 1});
  check_equal<std::string>(results[1], {3}, {kLong, "new", "a"});
  check_equal<bool>(results[2], {3}, {false, true, false});
  results = infer(request, compiled, {words, i64({2}, {1, 2}), i64({2, 2}, {0, 1, 0, 0})});
  check_equal<std::string>(results[1], {2}, {kLong, "a"});
  CHECK(error_of([&] {
          (void)infer(request, compiled, {words, i64({2}, {1, 2}), i64({2, 2}, {1, 1, 0, 0})});
        }) == "fill: IR-value: value 0 lies at [1,1], outside of the matrix of shape [1,2]");
  // Refused before anything is allocated.
  CHECK(error_of([&] {
          (void)infer(request, compiled,
                      {words, i64({2}, {std::int64_t{1} << 50, 2}), i64({2, 2}, {0, 1, 0, 0})});
        }).starts_with("fill: IR-limit"));
}

TEST_CASE("Segments are counted when the model runs") {
  Model model;
  Node& table = model.add_parameter(ElementType::f16, {3, 2}, "table");
  Node& ids = model.add_parameter(ElementType::i32, {3}, "ids");
  Node& count = model.add_parameter(ElementType::i32, Shape(), "count");
  op::v16::SegmentMax largest;
  largest.fill_mode = op::FillMode::lowest;
  model.add_result(model.add(largest, {table, ids}, "largest"));
  model.add_result(model.add(op::v3::EmbeddingSegmentsSum(), {table, ids, ids, count}, "sums"));
  const Tensor rows = f32({3, 2}, {1, 2, 3, 4, 5, 6}).converted(ElementType::f16);
  const auto results = results_of(model, {rows, i32({3}, {0, 2, 2}), i32({}, {4})});
  CHECK(results[0].element_type() == ElementType::f16);
  // The lowest half, although halves compute in f32.
  check_close(results[0].converted(ElementType::f32), {3, 2}, {1, 2, -65504, -65504, 5, 6});
  check_close(results[1].converted(ElementType::f32), {4, 2}, {1, 2, 0, 0, 10, 12, 0, 0});
  CHECK(error_of([&] {
          (void)results_of(model, {rows, i32({3}, {0, 2, 2}), i32({}, {2})});
        }) == "sums: IR-value: element 1 of input 2 (segments) is 2, which addresses nothing");
}

}  // namespace ir::test
