#include "ir_runtime/ops/sequence.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

template <class Op>
Op recurrent(std::vector<std::string> activations, double clip = 0) {
  Op op;
  op.hidden_size = 1;
  op.activations = std::move(activations);
  op.clip = clip;
  return op;
}

// A network of one number with relu that adds up its inputs.
op::v5::RNNSequence adder(op::RecurrentDirection direction = op::RecurrentDirection::forward) {
  auto op = recurrent<op::v5::RNNSequence>({"relu"});
  op.direction = direction;
  return op;
}

std::vector<Tensor> adder_inputs(std::int64_t directions = 1) {
  const Shape matrix{directions, 1, 1};
  const std::vector<float> ones(static_cast<std::size_t>(directions), 1);
  const std::vector<float> zeros(static_cast<std::size_t>(directions), 0);
  return {f32({1, 3, 1}, {1, 2, 3}), f32({1, directions, 1}, zeros), i32({1}, {3}), f32(matrix, ones),
          f32(matrix, ones),         f32({directions, 1}, zeros)};
}

// X = 1, H = 1, C = 2 and gates of 1, 2, 3, 4 in the order of the weights.
std::vector<Tensor> lstm_inputs() {
  return {f32({1, 1}, {1}),          f32({1, 1}, {1}),          f32({1, 1}, {2}),
          f32({4, 1}, {1, 2, 3, 4}), f32({4, 1}, {0, 0, 0, 0}), f32({4}, {0, 0, 0, 0})};
}

const std::vector<std::string> kThreeRelus{"relu", "relu", "relu"};

std::vector<ValueInfo> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<ValueInfo> values;
  for (const Tensor& tensor : tensors) values.push_back(value(tensor.element_type(), tensor.shape()));
  return values;
}

}  // namespace

TEST_CASE("CTCGreedyDecoder takes the best classes up to the mask's first zero") {
  // Time 4, batch 1, classes 0, 1 and the blank 2: best are 0, 0, 2, 0.
  const Tensor scores =
      f32({4, 1, 3}, {0.8F, 0.1F, 0.1F, 0.8F, 0.1F, 0.1F, 0.1F, 0.1F, 0.8F, 0.8F, 0.1F, 0.1F});
  const Tensor mask = f32({4, 1}, {1, 1, 1, 1});
  check_equal<float>(run(op::v0::CTCGreedyDecoder(), {scores, mask}), {1, 4, 1, 1}, {0, 0, -1, -1});
  op::v0::CTCGreedyDecoder all;
  all.ctc_merge_repeated = false;
  check_equal<float>(run(all, {scores, mask}), {1, 4, 1, 1}, {0, 0, 0, -1});
  check_equal<float>(run(all, {scores, f32({4, 1}, {1, 0, 1, 1})}), {1, 4, 1, 1}, {0, -1, -1, -1});
  const Tensor wide = run(all, {scores.converted(ElementType::f64), mask.converted(ElementType::f64)});
  check_equal<double>(wide, {1, 4, 1, 1}, {0, 0, 0, -1});
}

TEST_CASE("CTCGreedyDecoder has nothing to do for sequences without steps, however many") {
  const std::int64_t many = std::int64_t{1} << 40;
  const std::vector<Tensor> inputs{Tensor(ElementType::f32, {0, many, 2}),
                                   Tensor(ElementType::f32, {0, many})};
  CHECK(run(op::v0::CTCGreedyDecoder(), inputs).shape() == Shape{many, 0, 1, 1});
}

TEST_CASE("CTCGreedyDecoderSeqLen takes lengths and a blank of any index type") {
  // Batch 1, time 4: best are 0, 0, 2, 1.
  const Tensor scores =
      f32({1, 4, 3}, {0.8F, 0.1F, 0.1F, 0.8F, 0.1F, 0.1F, 0.1F, 0.1F, 0.8F, 0.1F, 0.8F, 0.1F});
  op::v6::CTCGreedyDecoderSeqLen op;
  std::vector<Tensor> results = evaluate(op, std::vector{scores, i32({1}, {4})});
  check_equal<std::int32_t>(results[0], {1, 4}, {0, 1, -1, -1});
  check_equal<std::int32_t>(results[1], {1}, {2});

  op.merge_repeated = false;
  op.classes_index_type = ElementType::i64;
  op.sequence_length_type = ElementType::i64;
  results = evaluate(op, std::vector{scores, i64({1}, {3}), i64({}, {0})});
  check_equal<std::int64_t>(results[0], {1, 4}, {2, -1, -1, -1});
  check_equal<std::int64_t>(results[1], {1}, {1});
}

TEST_CASE("CTC decoders refuse inputs that do not fit together") {
  CHECK(failure_of(op::v0::CTCGreedyDecoder(),
                   {value(ElementType::f32, {4, 1, 3}), value(ElementType::f32, {4, 2})}) ==
        "IR-shape: input 1 has shape [4,2]: axis 1 is 2, but the batch size is 1");
  CHECK(failure_of(op::v0::CTCGreedyDecoder(),
                   {value(ElementType::f32, {4, 1, 0}), value(ElementType::f32, {4, 1})}) ==
        "IR-shape: input 0 has shape [4,1,0]: there are no classes");
  CHECK(failure_of(op::v6::CTCGreedyDecoderSeqLen(),
                   {value(ElementType::f32, {2, 4, 3}), value(ElementType::f32, {2})}) ==
        "IR-element-type: input 1 is of type f32, CTCGreedyDecoderSeqLen takes i32, i64");
  op::v6::CTCGreedyDecoderSeqLen op;
  op.sequence_length_type = ElementType::i8;
  CHECK(failure_of(op, {value(ElementType::f32, {2, 4, 3}), value(ElementType::i32, {2})}) ==
        "IR-attribute-value: sequence_length_type is i8; it takes i32 or i64");
  CHECK(infer_shape(op::v0::CTCGreedyDecoder(),
                    {value(ElementType::f32, PartialShape()), value(ElementType::f32, {Dimension(), 7})}) ==
        PartialShape{7, Dimension(), 1, 1});
}

TEST_CASE("RNNCell multiplies, adds and limits before its function") {
  // 1 * 2 + 0.5 * 4 - 1 = 3
  const std::vector<Tensor> inputs{f32({1, 1}, {1}), f32({1, 1}, {0.5F}), f32({1, 1}, {2}), f32({1, 1}, {4}),
                                   f32({1}, {-1})};
  check_close(run(recurrent<op::v0::RNNCell>({"relu"}), inputs), {1, 1}, {3});
  check_close(run(recurrent<op::v0::RNNCell>({"RELU"}, 2), inputs), {1, 1}, {2});
  check_close(run(recurrent<op::v0::RNNCell>({}), inputs), {1, 1}, {std::tanh(3.0F)});
  auto hard = recurrent<op::v0::RNNCell>({"hardsigmoid"});
  check_close(run(hard, inputs), {1, 1}, {1});
  hard.activations_alpha = {0.1};
  hard.activations_beta = {0.25};
  check_close(run(hard, inputs), {1, 1}, {0.55F});
  // Without a bias: 4.
  check_close(run(recurrent<op::v0::RNNCell>({"relu"}), {inputs[0], inputs[1], inputs[2], inputs[3]}), {1, 1},
              {4});
}

TEST_CASE("GRUCell applies the reset gate before or after the recurrent product") {
  // z = 0.5, r = 2, H = 2: h = 3 + 2 * 2 = 7 and H' = 0.5 * 7 + 0.5 * 2.
  std::vector<Tensor> inputs{f32({1, 1}, {1}), f32({1, 1}, {2}), f32({3, 1}, {0.5F, 2, 3}),
                             f32({3, 1}, {0, 0, 1}), f32({3}, {0, 0, 0})};
  auto op = recurrent<op::v3::GRUCell>({"relu", "relu"});
  check_close(run(op, inputs), {1, 1}, {4.5F});
  // h = 3 + 2 * (2 + 1) = 9
  op.linear_before_reset = true;
  inputs[4] = f32({4}, {0, 0, 0, 1});
  check_close(run(op, inputs), {1, 1}, {5.5F});
}

TEST_CASE("LSTMCell reads its gates in the order of the weights' format") {
  // f = 1, i = 2, c = 3, o = 4: C = 1 * 2 + 2 * 3, H = 4 * C.
  std::vector<Tensor> results = evaluate(recurrent<op::v4::LSTMCell>(kThreeRelus), lstm_inputs());
  check_close(results[0], {1, 1}, {32});
  check_close(results[1], {1, 1}, {8});

  // i = 1, f = 2, c = 3, o = 4: C = 2 * 2 + 1 * 3.
  auto older = recurrent<op::v0::LSTMCell>(kThreeRelus);
  older.weights_format = op::LstmWeightsFormat::ifco;
  results = evaluate(older, lstm_inputs());
  check_close(results[0], {1, 1}, {28});
  check_close(results[1], {1, 1}, {7});

  // i = 1 - f = 0
  older.weights_format = op::LstmWeightsFormat::fico;
  older.input_forget = true;
  results = evaluate(older, lstm_inputs());
  check_close(results[1], {1, 1}, {2});
}

TEST_CASE("LSTMCell takes f64, halves and a missing bias") {
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    std::vector<Tensor> inputs = lstm_inputs();
    inputs.pop_back();
    for (Tensor& tensor : inputs) tensor = tensor.converted(type);
    const std::vector<Tensor> results = evaluate(recurrent<op::v4::LSTMCell>(kThreeRelus), inputs);
    CHECK(results[0].element_type() == type);
    check_close(results[0].converted(ElementType::f32), {1, 1}, {32});
  }
}

TEST_CASE("LSTMCell-1 accepts peepholes of 0 only") {
  const auto op = recurrent<op::v0::LSTMCell>(kThreeRelus);
  std::vector<Tensor> inputs = lstm_inputs();
  inputs.push_back(f32({3}, {0, 0, 0}));
  check_close(run(op, inputs), {1, 1}, {32});
  inputs.back() = f32({3}, {0, 1, 0});
  CHECK_THROWS_WITH(evaluate(op, inputs), ir::test::contains_text("no kernel for peepholes other than 0"));
}

TEST_CASE("A sequence runs forward, in reverse and both ways") {
  std::vector<Tensor> results = evaluate(adder(), adder_inputs());
  check_close(results[0], {1, 1, 3, 1}, {1, 3, 6});
  check_close(results[1], {1, 1, 1}, {6});
  results = evaluate(adder(op::RecurrentDirection::reverse), adder_inputs());
  check_close(results[0], {1, 1, 3, 1}, {6, 5, 3});
  check_close(results[1], {1, 1, 1}, {6});
  results = evaluate(adder(op::RecurrentDirection::bidirectional), adder_inputs(2));
  check_close(results[0], {1, 2, 3, 1}, {1, 3, 6, 6, 5, 3});
  check_close(results[1], {1, 2, 1}, {6, 6});
}

TEST_CASE("A sequence ends at its length, whatever the type of the lengths") {
  for (const ElementType type : {ElementType::i64, ElementType::i32, ElementType::u8}) {
    std::vector<Tensor> inputs = adder_inputs();
    inputs[2] = i64({1}, {2}).converted(type);
    const std::vector<Tensor> results = evaluate(adder(), inputs);
    check_close(results[0], {1, 1, 3, 1}, {1, 3, 0});
    check_close(results[1], {1, 1, 1}, {3});
  }
}

TEST_CASE("LSTMSequence and GRUSequence give what their cells give") {
  const std::vector<Tensor> cell = lstm_inputs();
  const std::vector<Tensor> inputs{
      cell[0].reshaped({1, 1, 1}), cell[1].reshaped({1, 1, 1}), cell[2].reshaped({1, 1, 1}), i64({1}, {1}),
      cell[3].reshaped({1, 4, 1}), cell[4].reshaped({1, 4, 1}), cell[5].reshaped({1, 4})};
  for (const Op& op :
       {Op(recurrent<op::v5::LSTMSequence>(kThreeRelus)), Op(recurrent<op::v0::LSTMSequence>(kThreeRelus))}) {
    const std::vector<Tensor> results = evaluate(op, inputs);
    REQUIRE(results.size() == 3);
    check_close(results[0], {1, 1, 1, 1}, {32});
    check_close(results[1], {1, 1, 1}, {32});
    check_close(results[2], {1, 1, 1}, {8});
  }
  const std::vector<Tensor> gru =
      evaluate(recurrent<op::v5::GRUSequence>({"relu", "relu"}),
               std::vector{f32({1, 1, 1}, {1}), f32({1, 1, 1}, {2}), i64({1}, {1}),
                           f32({1, 3, 1}, {0.5F, 2, 3}), f32({1, 3, 1}, {0, 0, 1}), f32({1, 3}, {0, 0, 0})});
  check_close(gru[0], {1, 1, 1, 1}, {4.5F});
  check_close(gru[1], {1, 1, 1}, {4.5F});
}

TEST_CASE("Empty batches and empty sequences give empty outputs") {
  std::vector<Tensor> inputs = adder_inputs();
  inputs[0] = f32({0, 3, 1}, {});
  inputs[1] = f32({0, 1, 1}, {});
  inputs[2] = i32({0}, {});
  CHECK(evaluate(adder(), inputs)[0].shape() == Shape{0, 1, 3, 1});
  inputs = adder_inputs();
  inputs[0] = f32({1, 0, 1}, {});
  inputs[2] = i32({1}, {0});
  const std::vector<Tensor> results = evaluate(adder(), inputs);
  CHECK(results[0].shape() == Shape{1, 1, 0, 1});
  check_close(results[1], {1, 1, 1}, {0});
}

TEST_CASE("Shapes of recurrent operations follow from any input that knows them") {
  auto op = recurrent<op::v5::LSTMSequence>({});
  op.hidden_size = 128;
  op.direction = op::RecurrentDirection::bidirectional;
  std::vector<ValueInfo> inputs(7, value(ElementType::f32, PartialShape()));
  inputs[3] = value(ElementType::i32, {8});
  inputs[0].shape = {Dimension(), Dimension(2, 5), 16};
  CHECK(infer_shape(op, inputs) == PartialShape{8, 2, Dimension(2, 5), 128});
  CHECK(infer_shape(op, inputs, 1) == PartialShape{8, 2, 128});
  CHECK(infer_shape(op, inputs, 2) == PartialShape{8, 2, 128});
  CHECK(explain_outputs(op, inputs)[0][3] == "hidden_size = 128");
}

TEMPLATE_TEST_CASE("a cell's batch size is known from one of its inputs", "[sequence]", op::v0::RNNCell,
                   op::v3::GRUCell) {
  TestType op;
  op.hidden_size = 3;
  std::vector<ValueInfo> inputs(4, value(ElementType::f32, PartialShape()));
  CHECK(infer_shape(op, inputs) == PartialShape{Dimension(), 3});
  inputs[0].shape = {2, 5};
  CHECK(infer_shape(op, inputs) == PartialShape{2, 3});
  inputs[1].shape = {4, 3};
  CHECK(failure_of(op, inputs) == "IR-shape: input 1 has shape [4,3]: axis 0 is 4, but the batch size is 2");
  inputs[0].shape = PartialShape();
  CHECK(infer_shape(op, inputs) == PartialShape{4, 3});
  // As OpenVINO, which looks at weights when it knows all ranks.
  inputs[2].shape = {1, 5};
  CHECK(infer_shape(op, inputs) == PartialShape{4, 3});
}

TEST_CASE("Recurrent operations refuse inputs that do not fit together") {
  const auto op = recurrent<op::v4::LSTMCell>({});
  const auto with = [](std::size_t index, PartialShape shape) {
    std::vector<ValueInfo> inputs = shapes_of(lstm_inputs());
    inputs[index].shape = std::move(shape);
    return inputs;
  };
  CHECK(failure_of(op, std::vector(4, with(0, {1, 1})[0])) ==
        "IR-input-count: has 4 inputs, LSTMCell takes 5 to 6");
  CHECK(failure_of(op, with(1, {2, 1})) ==
        "IR-shape: input 1 has shape [2,1]: axis 0 is 2, but the batch size is 1");
  CHECK(failure_of(op, with(2, {1, 3})) ==
        "IR-shape: input 2 has shape [1,3]: axis 1 is 3, but hidden_size is 1");
  CHECK(failure_of(op, with(3, {4, 2})) ==
        "IR-shape: input 3 has shape [4,2]: axis 1 is 2, but the input size is 1");
  CHECK(failure_of(op, with(4, {3, 1})) ==
        "IR-shape: input 4 has shape [3,1]: axis 0 is 3, but gates * hidden_size is 4");
  CHECK(failure_of(op, with(5, {5})) ==
        "IR-shape: input 5 has shape [5]: axis 0 is 5, but the number of biases is 4");
  CHECK(failure_of(op, with(0, {1, 1, 1})) ==
        "IR-rank: input 0 has shape [1,1,1] of rank 3, LSTMCell takes rank 2");
  std::vector<ValueInfo> mixed = shapes_of(lstm_inputs());
  mixed[3].type = ElementType::f16;
  CHECK(failure_of(op, mixed) ==
        "IR-element-type: inputs 0 and 3 are of types f32 and f16, LSTMCell takes one type");

  CHECK(failure_of(recurrent<op::v4::LSTMCell>({"relu", "relu"}), shapes_of(lstm_inputs())) ==
        "IR-attribute-size: activations has 2 names; the operation has 3 functions");
  CHECK(failure_of(recurrent<op::v4::LSTMCell>({"relu", "softmax", "relu"}), shapes_of(lstm_inputs())) ==
        "IR-attribute-value: activations holds softmax; it takes sigmoid, tanh, relu and hardsigmoid");
  CHECK(failure_of(op::v4::LSTMCell(), shapes_of(lstm_inputs())) ==
        "IR-attribute-range: hidden_size is 0; it takes values of at least 1");
  CHECK(failure_of(adder(op::RecurrentDirection::bidirectional), shapes_of(adder_inputs())) ==
        "IR-shape: input 1 has shape [1,1,1]: axis 1 is 1, but the number of directions is 2");
}

TEST_CASE("Weights that are not constant wait for the run") {
  const auto op = recurrent<op::v4::LSTMCell>({});
  const std::vector<ValueInfo> inputs = shapes_of(lstm_inputs());
  const std::vector<ValueInfo> outputs = infer_outputs(op, inputs);
  CHECK_THROWS_WITH(prepare_kernel(op, inputs, outputs), ir::test::contains_text("IR-needs-constant"));
}

}  // namespace ir::test
