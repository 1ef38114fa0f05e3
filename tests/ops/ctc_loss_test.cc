#include "ir_runtime/ops/sequence.h"

#include <limits>

#include "tests/ops/support.h"

namespace ir::test {
namespace {

op::v4::CTCLoss loss(bool collapse, bool merge, bool unique) {
  op::v4::CTCLoss op;
  op.preprocess_collapse_repeated = collapse;
  op.ctc_merge_repeated = merge;
  op.unique = unique;
  return op;
}

const Tensor kLogits = f32({2, 3, 3}, {0, 1, 8, 5, 5, 2, 0, 7, 7, 10, 4, 5, 9, 0, 0, 5, 7, 0});

std::vector<Tensor> inputs() {
  return {kLogits, i32({2}, {3, 3}), i32({2, 3}, {0, 1, 2, 1, 1, 1}), i32({2}, {2, 1}), i32({}, {2})};
}

std::vector<ValueInfo> values() {
  std::vector<ValueInfo> all;
  for (const Tensor& tensor : inputs()) all.push_back(value(tensor.element_type(), tensor.shape()));
  return all;
}

// One uniform step of two classes: every path has the probability 2^-steps.
std::vector<Tensor> uniform(std::int64_t steps, std::vector<std::int64_t> labels) {
  const auto count = static_cast<std::int64_t>(labels.size());
  labels.resize(static_cast<std::size_t>(steps), 0);
  return {f32({1, steps, 2}, std::vector<float>(2 * static_cast<std::size_t>(steps))), i64({1}, {steps}),
          i64({1, steps}, labels), i64({1}, {count})};
}

}  // namespace

TEST_CASE("CTCLoss agrees with numbers of OpenVINO") {
  for (const bool unique : {false, true}) {
    check_close(run(loss(false, false, unique), inputs()), {2}, {1.41223F, 14.1359F}, 1e-4);
    check_close(run(loss(false, true, unique), inputs()), {2}, {1.41156F, 13.2745F}, 1e-4);
  }
}

TEST_CASE("CTCLoss adds up the paths that decode to the labels") {
  const float two = std::log(2.0F);
  // Label 0, blank 1: with merging 00, 01 and 10, without 01 and 10.
  check_close(run(loss(false, true, false), uniform(2, {0})), {1}, {2 * two - std::log(3.0F)});
  check_close(run(loss(false, false, false), uniform(2, {0})), {1}, {two});
  // 0 0 needs 010 with merging and 001, 010, 100 without; as one label it is 000, 001, 011, ... : 6 paths.
  check_close(run(loss(false, true, false), uniform(3, {0, 0})), {1}, {3 * two});
  check_close(run(loss(false, false, false), uniform(3, {0, 0})), {1}, {3 * two - std::log(3.0F)});
  check_close(run(loss(true, true, false), uniform(3, {0, 0})), {1}, {3 * two - std::log(6.0F)});
  check_close(run(loss(false, true, true), uniform(3, {0, 0})), {1}, {3 * two - std::log(6.0F)});
  // No label: blanks only.
  check_close(run(loss(false, true, false), uniform(2, {})), {1}, {2 * two});
  CHECK(run(loss(false, true, false), uniform(2, {0, 0})).data<float>()[0] ==
        std::numeric_limits<float>::infinity());
}

TEST_CASE("CTCLoss takes other types of logits and indices") {
  auto other = inputs();
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    other[0] = kLogits.converted(type);
    other[2] = i64({2, 3}, {0, 1, 2, 1, 1, 1});
    other[4] = i64({1}, {2});
    const Tensor got = run(loss(false, true, false), other);
    CHECK(got.element_type() == type);
    check_close(got.converted(ElementType::f32), {2}, {1.41156F, 13.2745F}, 1e-2);
  }
}

TEST_CASE("CTCLoss infers one loss per sequence and refuses what does not fit") {
  const auto op = loss(false, true, false);
  auto all = values();
  all[0].shape = PartialShape();
  all[1].shape = PartialShape{{1, 5}};
  all[3].shape = PartialShape();
  CHECK(infer_shape(op, all) == PartialShape{2});
  all[2].shape = PartialShape();
  CHECK(infer_shape(op, all) == PartialShape{{1, 5}});
  const auto with = [](std::size_t index, ElementType type, PartialShape shape) {
    auto changed = values();
    changed[index] = value(type, std::move(shape));
    return changed;
  };
  CHECK(failure_of(op, {values()[0]}) == "IR-input-count: has 1 inputs, CTCLoss takes 4 to 5");
  CHECK(failure_of(op, with(0, ElementType::i32, {2, 3, 3})) ==
        "IR-element-type: input 0 is of type i32, CTCLoss takes a floating-point type");
  CHECK(failure_of(op, with(3, ElementType::f32, PartialShape{2})) ==
        "IR-element-type: input 3 is of type f32, CTCLoss takes an integer type");
  CHECK(failure_of(op, with(2, ElementType::i32, {2, 4})) ==
        "IR-shape: input 2 has shape [2,4]: axis 1 is 4, but the number of steps is 3");
  CHECK(failure_of(op, with(4, ElementType::i32, PartialShape{2})) ==
        "IR-shape: input 4 has shape [2]; it takes one element");
  CHECK(failure_of(op, with(0, ElementType::f32, {2, 3, 0})) ==
        "IR-shape: input 0 has shape [2,3,0]: there are no classes");
}

TEST_CASE("CTCLoss reports lengths, labels and blanks that make no sense") {
  const auto op = loss(false, true, false);
  const auto with = [&](std::size_t index, Tensor tensor) {
    auto changed = inputs();
    changed[index] = std::move(tensor);
    return error_of(op, changed);
  };
  CHECK(with(1, i32({2}, {3, 4})) == "IR-value: sequence 1 has 4 steps; it may have 0 to 3");
  CHECK(with(3, i32({2}, {-1, 1})) ==
        "IR-value: sequence 0 has -1 labels; it may have 0 to its number of steps");
  CHECK(with(2, i32({2, 3}, {0, 1, 2, 7, 1, 1})) ==
        "IR-value: label 0 of sequence 1 is 7; there are 3 classes");
  CHECK(with(4, i32({}, {3})) == "IR-value: the blank is class 3; there are 3 classes");
}

}  // namespace ir::test
