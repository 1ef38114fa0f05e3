#include "ir_runtime/ops/multiclass_nms.h"

#include <algorithm>
#include <array>

#include "runtime/ops/fields.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::SelectionSort;

// Two images of three boxes: 0 and 1 overlap by half of their union, 2 stands apart. Two classes.
Tensor boxes() {
  return f32({2, 3, 4}, {0, 0, 2, 2, 0, 0, 2, 1, 5, 5, 6, 6, 0, 0, 2, 2, 0, 0, 2, 1, 5, 5, 6, 6});
}
Tensor scores() {
  return f32({2, 2, 3}, {0.9F, 0.8F, 0.3F, 0.2F, 0.7F, 0.6F, 0.5F, 0.4F, 0.95F, 0.1F, 0.0F, 0.55F});
}

template <class Op>
Op sorted_by(SelectionSort sort, bool across_batch = false) {
  Op op;
  op.sort_result_type = sort;
  op.sort_result_across_batch = across_batch;
  op.score_threshold = 0.15;
  return op;
}

// The boxes of one class each: two images of two boxes and one box. Boxes 0 and 1 are the same for class 0
// and stand apart for class 1.
std::vector<Tensor> inputs_with_own_boxes() {
  return {f32({2, 3, 4}, {0, 0, 2, 2, 0, 0, 2, 2, 5, 5, 6, 6, 0, 0, 2, 2, 3, 3, 4, 4, 7, 7, 8, 8}),
          f32({2, 3}, {0.9F, 0.8F, 0.3F, 0.2F, 0.7F, 0.6F}), i32({2}, {2, 1})};
}

std::vector<ValueInfo> shapes() {
  return {value(ElementType::f32, {2, 7, 4}), value(ElementType::f32, {2, 5, 7})};
}

}  // namespace

TEST_CASE("MulticlassNms drops overlapping boxes of each class, by score within images") {
  auto op = sorted_by<op::v8::MulticlassNms>(SelectionSort::score);
  op.iou_threshold = 0.5;
  const std::vector<Tensor> results = evaluate(op, std::vector{boxes(), scores()});
  REQUIRE(results.size() == 3);
  check_equal<float>(results[0], {7, 6},
                     {0, 0.9F, 0, 0, 2,     2, 1, 0.7F, 0, 0, 2,     1, 1, 0.6F, 5, 5, 6,    6, 0, 0.3F, 5,
                      5, 6,    6, 0, 0.95F, 5, 5, 6,    6, 1, 0.55F, 5, 5, 6,    6, 0, 0.5F, 0, 0, 2,    2});
  check_equal<std::int64_t>(results[1], {7, 1}, {0, 1, 2, 2, 5, 5, 3});
  check_equal<std::int64_t>(results[2], {2}, {4, 3});
}

TEST_CASE("MulticlassNms drops overlaps that equal the threshold, not those below it") {
  auto op = sorted_by<op::v8::MulticlassNms>(SelectionSort::score);
  op.iou_threshold = 0.51;
  CHECK(evaluate(op, std::vector{boxes(), scores()})[1].shape() == Shape{10, 1});
  // Without a threshold of its own every overlap counts as enough, even none.
  op.iou_threshold = 0;
  check_equal<std::int64_t>(evaluate(op, std::vector{boxes(), scores()})[1], {4, 1}, {0, 1, 5, 5});
}

TEST_CASE("MulticlassNms sorts by class, and over the batch") {
  auto op = sorted_by<op::v9::MulticlassNms>(SelectionSort::label);
  op.iou_threshold = 0.5;
  op.output_type = ElementType::i32;
  const auto indices = [&] { return evaluate(op, std::vector{boxes(), scores()})[1]; };
  check_equal<std::int32_t>(indices(), {7, 1}, {0, 2, 1, 2, 5, 3, 5});
  op.sort_result_across_batch = true;
  check_equal<std::int32_t>(indices(), {7, 1}, {0, 2, 5, 3, 1, 2, 5});
  op.sort_result_type = SelectionSort::score;
  check_equal<std::int32_t>(indices(), {7, 1}, {5, 0, 1, 2, 5, 3, 2});
  op.sort_result_type = SelectionSort::none;
  check_equal<std::int32_t>(indices(), {7, 1}, {0, 1, 2, 2, 5, 5, 3});
}

TEST_CASE("MulticlassNms limits candidates, boxes of an image, and leaves the background out") {
  auto op = sorted_by<op::v8::MulticlassNms>(SelectionSort::score);
  op.iou_threshold = 0.5;
  const auto run = [&] { return evaluate(op, std::vector{boxes(), scores()}); };
  op.nms_top_k = 1;
  check_equal<std::int64_t>(run()[1], {4, 1}, {0, 1, 5, 5});
  op.nms_top_k = -1;
  op.keep_top_k = 1;
  check_equal<std::int64_t>(run()[1], {2, 1}, {0, 5});
  op.keep_top_k = 0;
  CHECK(run()[0].shape() == Shape{0, 6});
  check_equal<std::int64_t>(run()[2], {2}, {0, 0});
  op.keep_top_k = -1;
  op.background_class = 0;
  check_equal<std::int64_t>(run()[1], {3, 1}, {1, 2, 5});
  check_equal<std::int64_t>(run()[2], {2}, {2, 1});
  // A score that equals the threshold counts.
  op.score_threshold = 0.7F;
  check_equal<std::int64_t>(run()[1], {1, 1}, {1});
}

TEST_CASE("MulticlassNms lowers its threshold with every kept box") {
  op::v8::MulticlassNms op;
  op.iou_threshold = 1;
  op.nms_eta = 0.4;
  check_equal<std::int64_t>(
      evaluate(op, std::vector{f32({1, 2, 4}, {0, 0, 2, 2, 0, 0, 2, 1}), f32({1, 1, 2}, {0.9F, 0.8F})})[1],
      {1, 1}, {0});
}

TEST_CASE("MulticlassNms-9 takes boxes for every class, image behind image") {
  op::v9::MulticlassNms op;
  op.iou_threshold = 0.5;
  std::vector<Tensor> inputs = inputs_with_own_boxes();
  const std::vector<Tensor> results = evaluate(op, inputs);
  check_equal<float>(results[0], {5, 6}, {0, 0.9F, 0, 0, 2,    2, 1, 0.7F, 3, 3, 4,    4, 1, 0.2F, 0,
                                          0, 2,    2, 1, 0.6F, 7, 7, 8,    8, 0, 0.3F, 5, 5, 6,    6});
  check_equal<std::int64_t>(results[1], {5, 1}, {0, 3, 1, 5, 4});
  check_equal<std::int64_t>(results[2], {2}, {3, 2});

  inputs[2] = i64({3}, {0, 1, 2});
  check_equal<std::int64_t>(evaluate(op, inputs)[2], {3}, {0, 2, 4});
  inputs[2] = i64({2}, {2, 2});
  CHECK(error_of(op, inputs) == "IR-value: input 2 asks for 2 boxes of image 1, 1 of 3 are left");
  inputs[2] = i64({2}, {-7, 1});
  check_equal<std::int64_t>(evaluate(op, inputs)[2], {2}, {0, 2});
}

TEST_CASE("MatrixNms lowers the scores of overlapping boxes") {
  auto op = sorted_by<op::v8::MatrixNms>(SelectionSort::score);
  op.background_class = 1;
  const std::vector<Tensor> inputs{boxes(), scores()};
  // Box 1 of both images: 0.8 and 0.4 times (1 - 0.5) / (1 - 0).
  const std::vector<Tensor> results = evaluate(op, inputs);
  check_close(results[0], {6, 6}, {0, 0.9F,  0, 0, 2, 2, 0, 0.4F, 0, 0, 2, 1, 0, 0.3F, 5, 5, 6, 6,
                                   0, 0.95F, 5, 5, 6, 6, 0, 0.5F, 0, 0, 2, 2, 0, 0.2F, 0, 0, 2, 1});
  check_equal<std::int64_t>(results[1], {6, 1}, {0, 1, 2, 5, 3, 4});
  check_equal<std::int64_t>(results[2], {2}, {3, 3});

  // 0.8 * exp((0 - 0.5 * 0.5) * 2) = 0.48522; 0.4 of it is not above 0.25.
  op.decay_function = op::DecayFunction::gaussian;
  op.post_threshold = 0.25;
  op.keep_top_k = 2;
  check_close(evaluate(op, inputs)[0], {4, 6},
              {0, 0.9F, 0, 0, 2, 2, 0, 0.48522F, 0, 0, 2, 1, 0, 0.95F, 5, 5, 6, 6, 0, 0.5F, 0, 0, 2, 2});
}

TEST_CASE("MatrixNms sorts by class over the batch, and by score within images") {
  const std::vector<Tensor> inputs{boxes(), scores()};
  auto op = sorted_by<op::v8::MatrixNms>(SelectionSort::label, true);
  op.post_threshold = 0.5;
  op.output_type = ElementType::i32;
  check_equal<std::int32_t>(evaluate(op, inputs)[1], {5, 1}, {0, 5, 1, 2, 5});
  op.sort_result_across_batch = false;
  check_equal<std::int32_t>(evaluate(op, inputs)[1], {5, 1}, {0, 1, 2, 5, 5});
  op.sort_result_across_batch = true;
  op.sort_result_type = SelectionSort::score;
  check_equal<std::int32_t>(evaluate(op, inputs)[1], {5, 1}, {5, 0, 1, 2, 5});
}

TEST_CASE("MulticlassNms and MatrixNms have results of the wider of both real types") {
  op::v9::MulticlassNms op;
  op.iou_threshold = 0.5;
  const auto types = GENERATE(values<std::array<ElementType, 3>>({
      {ElementType::f32, ElementType::f32, ElementType::f32},
      {ElementType::f16, ElementType::f16, ElementType::f16},
      {ElementType::bf16, ElementType::f32, ElementType::f32},
      {ElementType::f64, ElementType::f64, ElementType::f64},
      {ElementType::f32, ElementType::f64, ElementType::f64},
      {ElementType::bf16, ElementType::f16, ElementType::f32},
  }));
  const std::vector<Tensor> inputs{boxes().converted(types[0]), scores().converted(types[1])};
  for (const std::vector<Tensor>& results : {evaluate(op, inputs), evaluate(op::v8::MatrixNms(), inputs)}) {
    CHECK(results[0].element_type() == types[2]);
    CHECK(results[0].converted(ElementType::f32).data<float>()[2] == 0);
  }
  CHECK(evaluate(op, inputs)[0].shape() == Shape{8, 6});
}

TEST_CASE("MulticlassNms and MatrixNms of no boxes have no results") {
  const std::vector<Tensor> inputs{f32({2, 0, 4}, {}), f32({2, 5, 0}, {})};
  for (const std::vector<Tensor>& results :
       {evaluate(op::v8::MulticlassNms(), inputs), evaluate(op::v8::MatrixNms(), inputs)}) {
    CHECK(results[0].shape() == Shape{0, 6});
    CHECK(results[1].shape() == Shape{0, 1});
    check_equal<std::int64_t>(results[2], {2}, {0, 0});
  }
}

TEST_CASE("The rows of MulticlassNms and MatrixNms are bounded by shapes and limits") {
  const auto rows = [](const Op& op, const std::vector<ValueInfo>& inputs) {
    CHECK(infer_shape(op, inputs, 1) == PartialShape{infer_shape(op, inputs)[0], 1});
    return infer_shape(op, inputs)[0];
  };
  op::v9::MulticlassNms op;
  CHECK(rows(op, shapes()) == Dimension(0, 2 * 5 * 7));
  CHECK(infer_shape(op, shapes(), 2) == PartialShape{2});
  op.nms_top_k = 3;
  CHECK(rows(op, shapes()) == Dimension(0, 2 * 5 * 3));
  op.keep_top_k = 8;
  CHECK(rows(op, shapes()) == Dimension(0, 2 * 8));
  op::v8::MatrixNms matrix;
  matrix.keep_top_k = 100;
  CHECK(rows(matrix, shapes()) == Dimension(0, 70));

  CHECK(rows(matrix, {value(ElementType::f32, {Dimension(2, 3), 7, 4}),
                      value(ElementType::f32, {Dimension(), 5, Dimension()})}) == Dimension(0, 105));
  const std::vector<ValueInfo> unknown(2, value(ElementType::f32, PartialShape()));
  CHECK(rows(matrix, unknown) == Dimension());
  CHECK(infer_shape(matrix, unknown, 2) == PartialShape{Dimension()});

  const std::vector<ValueInfo> own_boxes{value(ElementType::f32, {5, 7, 4}), value(ElementType::f32, {5, 7}),
                                         value(ElementType::i64, {Dimension(3, 4)})};
  CHECK(rows(op::v9::MulticlassNms(), own_boxes) == Dimension(0, 4 * 5 * 7));
  CHECK(infer_shape(op, own_boxes, 2) == PartialShape{Dimension(3, 4)});
}

TEST_CASE("MulticlassNms and MatrixNms refuse inputs that do not fit together") {
  const op::v9::MulticlassNms op;
  const auto with = [](std::size_t index, ValueInfo input) {
    std::vector<ValueInfo> inputs = shapes();
    inputs[index] = std::move(input);
    return inputs;
  };
  std::vector<ValueInfo> three = shapes();
  three.push_back(value(ElementType::i64, {2}));
  CHECK(failure_of(op, {shapes()[0]}) == "IR-input-count: has 1 inputs, MulticlassNms takes 2 to 3");
  CHECK(failure_of(op::v8::MulticlassNms(), three) == "IR-input-count: has 3 inputs, MulticlassNms takes 2");
  CHECK(failure_of(op::v8::MatrixNms(), three) == "IR-input-count: has 3 inputs, MatrixNms takes 2");
  CHECK(failure_of(op, three) == "IR-rank: input 1 has shape [2,5,7] of rank 3, MulticlassNms takes rank 2");
  CHECK(failure_of(op, with(0, value(ElementType::f32, {2, 7, 5}))) ==
        "IR-shape: input 0 has shape [2,7,5]: axis 2 is 5, but the size of a box is 4");
  CHECK(failure_of(op, with(1, value(ElementType::f32, {3, 5, 7}))) ==
        "IR-shape: input 1 has shape [3,5,7]: axis 0 is 3, but the number of images is 2");
  CHECK(failure_of(op, with(1, value(ElementType::f32, {2, 5, 6}))) ==
        "IR-shape: input 1 has shape [2,5,6]: axis 2 is 6, but the number of boxes is 7");
  CHECK(failure_of(op, with(1, value(ElementType::i32, {2, 5, 7}))) ==
        "IR-element-type: input 1 is of type i32, MulticlassNms takes a floating-point type");
  three[1] = value(ElementType::f32, {2, 7});
  three[2] = value(ElementType::f32, {2});
  CHECK(failure_of(op, three) ==
        "IR-element-type: input 2 is of type f32, MulticlassNms takes an integer type");
  const std::int64_t many = std::int64_t{1} << 32;
  CHECK(failure_of(op, {value(ElementType::f32, {1, many, 4}), value(ElementType::f32, {1, 1, many})}) ==
        "IR-shape: input 0 has 4294967296 boxes; at most 4294967295 can be handled");

  op::v9::MulticlassNms bad;
  bad.output_type = ElementType::u8;
  CHECK(failure_of(bad, shapes()) == "IR-attribute-value: output_type is u8; it takes i32 or i64");
  for (const auto& [name, text] : {std::pair{"nms_top_k", "-2"},
                                   {"keep_top_k", "-2"},
                                   {"nms_eta", "1.5"},
                                   {"sort_result_type", "class"}}) {
    const auto field = std::ranges::find(op_class<op::v9::MulticlassNms>().fields, name, &Field::name);
    CHECK(read_field(*field, &bad, text).has_value());
  }
}

TEST_CASE("the type of results stays open while that of boxes or scores may be the wider one") {
  const auto type_of = [](ElementType boxes, ElementType scores) {
    return infer_outputs(op::v8::MulticlassNms{},
                         std::vector{value(boxes, {2, 7, 4}), value(scores, {2, 5, 7})})[0]
        .type;
  };
  CHECK(type_of(ElementType::f16, ElementType::dynamic) == ElementType::dynamic);
  CHECK(type_of(ElementType::dynamic, ElementType::f32) == ElementType::dynamic);
  CHECK(type_of(ElementType::dynamic, ElementType::f64) == ElementType::f64);
}

}  // namespace ir::test
