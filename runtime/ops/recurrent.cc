#include <algorithm>

#include "ir_runtime/ops/sequence.h"
#include "kernels/elementwise/convert.h"
#include "kernels/sequence/rnn.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/letter_case.h"
#include "runtime/types/scalar_type.h"

namespace ir::op {
namespace {

using kernels::RnnCell;
using kernels::RnnFunction;

/// Everything that tells one recurrent operation from another.
struct Recurrence {
  RnnCell cell = RnnCell::rnn;
  bool sequence = false;
  const RecurrentAttributes& attributes;
  RecurrentDirection direction = RecurrentDirection::forward;
  bool linear_before_reset = false;
  bool input_forget = false;
  LstmWeightsFormat weights_format = LstmWeightsFormat::fico;
  /// Whether an input for peepholes may follow the bias.
  bool peepholes = false;

  [[nodiscard]] std::int64_t directions() const {
    return direction == RecurrentDirection::bidirectional ? 2 : 1;
  }
  [[nodiscard]] std::int64_t gates() const {
    return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1;
  }
  [[nodiscard]] std::int64_t bias_parts() const { return gates() + (linear_before_reset ? 1 : 0); }
  [[nodiscard]] std::size_t functions() const {
    return cell == RnnCell::lstm ? 3 : cell == RnnCell::gru ? 2 : 1;
  }

  // Inputs; X is 0 and the initial hidden state 1.
  [[nodiscard]] bool has_cell_state() const { return cell == RnnCell::lstm; }
  [[nodiscard]] std::size_t lengths() const { return has_cell_state() ? 3 : 2; }
  [[nodiscard]] std::size_t w() const { return lengths() + (sequence ? 1 : 0); }
  [[nodiscard]] std::size_t r() const { return w() + 1; }
  [[nodiscard]] std::size_t b() const { return w() + 2; }
  [[nodiscard]] std::size_t p() const { return w() + 3; }
};

template <class Op>
Recurrence recurrence_of(const Op& op, RnnCell cell, bool sequence) {
  Recurrence recurrence{cell, sequence, op};
  if constexpr (requires { op.direction; }) recurrence.direction = op.direction;
  if constexpr (requires { op.linear_before_reset; }) recurrence.linear_before_reset = op.linear_before_reset;
  if constexpr (requires { op.weights_format; }) {
    recurrence.input_forget = op.input_forget;
    recurrence.weights_format = op.weights_format;
    recurrence.peepholes = true;
  }
  return recurrence;
}

std::optional<RnnFunction> function_of(std::string name) {
  std::ranges::transform(name, name.begin(), lower_case);
  if (name == "sigmoid") return RnnFunction::sigmoid;
  if (name == "tanh") return RnnFunction::tanh;
  if (name == "relu") return RnnFunction::relu;
  if (name == "hardsigmoid" || name == "hard_sigmoid") return RnnFunction::hard_sigmoid;
  return std::nullopt;
}

void require_attributes(const InferContext& context, const Recurrence& recurrence) {
  const RecurrentAttributes& attributes = recurrence.attributes;
  require_at_least(context, "hidden_size", attributes.hidden_size, 1);
  const std::vector<std::string>& names = attributes.activations;
  context.require(names.empty() || names.size() >= recurrence.functions(), "IR-attribute-size",
                  {.found = names.size(),
                   .expected = words("at least {}", recurrence.functions()),
                   .rule = words("the operation has {} functions", recurrence.functions())},
                  "activations has {} names; the operation has {} functions", names.size(),
                  recurrence.functions());
  for (const std::string& name : names) {
    context.require(function_of(name).has_value(), "IR-attribute-value",
                    {.found = words("'{}'", name), .expected = "sigmoid, tanh, relu and hardsigmoid"},
                    "activations holds {}; it takes sigmoid, tanh, relu and hardsigmoid", name);
  }
}

// The type of everything but the lengths.
ElementType require_types(const InferContext& context, const Recurrence& recurrence) {
  const auto last = context.input_count() - 1;
  const auto or_last = [last](std::size_t index) { return std::min(index, last); };
  // Input 2 is the cell state, the lengths or W.
  const std::size_t state = recurrence.has_cell_state() ? 2 : 1;
  const ElementType type = context.require_same_type(
      {0, 1, state, recurrence.w(), recurrence.r(), or_last(recurrence.b()), or_last(recurrence.p())});
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}, recurrence.w(), recurrence.r()}) {
    context.require_real(index);
  }
  if (recurrence.sequence) context.require_integer(recurrence.lengths());
  return type;
}

bool all_ranks_known(const InferContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.shape(i).has_rank()) return false;
  }
  return true;
}

// The dims that inputs and outputs share.
struct RecurrentDims {
  SharedDim batch = {"the batch size", {}};
  SharedDim steps = {"the number of steps", {}};
  SharedDim input = {"the input size", {}};
  SharedDim hidden = {};
  SharedDim directions = {};
  SharedDim rows = {};
  SharedDim bias = {};
  SharedDim peepholes = {};
};

RecurrentDims dims_of(const Recurrence& recurrence) {
  const Dimension size = recurrence.attributes.hidden_size;
  return {.hidden = {"hidden_size", size},
          .directions = {"the number of directions", recurrence.directions()},
          .rows = {"gates * hidden_size", size * Dimension(recurrence.gates())},
          .bias = {"the number of biases", size * Dimension(recurrence.bias_parts())},
          .peepholes = {"3 * hidden_size", size * Dimension(3)}};
}

// Cells have neither an axis of steps nor one of directions.
void unify_sequences_and_states(const InferContext& context, const Recurrence& recurrence,
                                RecurrentDims& dims) {
  const auto unify_state = [&](std::size_t index) {
    if (recurrence.sequence) {
      unify(context, index, {&dims.batch, &dims.directions, &dims.hidden});
    } else {
      unify(context, index, {&dims.batch, &dims.hidden});
    }
  };
  if (recurrence.sequence) {
    unify(context, 0, {&dims.batch, &dims.steps, &dims.input});
    unify(context, recurrence.lengths(), {&dims.batch});
  } else {
    unify(context, 0, {&dims.batch, &dims.input});
  }
  unify_state(1);
  if (recurrence.has_cell_state()) unify_state(2);
}

void unify_weights(const InferContext& context, const Recurrence& recurrence, RecurrentDims& dims) {
  const auto unify_parts = [&](std::size_t index, SharedDim& row) {
    if (index >= context.input_count()) return;
    if (recurrence.sequence) {
      unify(context, index, {&dims.directions, &row});
    } else {
      unify(context, index, {&row});
    }
  };
  const auto unify_matrix = [&](std::size_t index, SharedDim& row, SharedDim& column) {
    if (recurrence.sequence) {
      unify(context, index, {&dims.directions, &row, &column});
    } else {
      unify(context, index, {&row, &column});
    }
  };
  unify_matrix(recurrence.w(), dims.rows, dims.input);
  unify_matrix(recurrence.r(), dims.rows, dims.hidden);
  unify_parts(recurrence.b(), dims.bias);
  unify_parts(recurrence.p(), dims.peepholes);
}

void infer_recurrent(InferContext& context, const Recurrence& recurrence) {
  const std::size_t inputs = recurrence.b() + 1;
  // Cells may leave out the bias.
  context.require_inputs(recurrence.sequence ? inputs : inputs - 1, inputs + (recurrence.peepholes ? 1 : 0));
  require_attributes(context, recurrence);
  const ElementType type = require_types(context, recurrence);
  RecurrentDims dims = dims_of(recurrence);
  unify_sequences_and_states(context, recurrence, dims);
  // As OpenVINO, which says nothing of the weights of cells without a cell state before it knows all ranks.
  const bool strict = recurrence.sequence || recurrence.has_cell_state();
  if (strict || all_ranks_known(context)) unify_weights(context, recurrence, dims);

  const auto set_output = [&](std::size_t output, const PartialShape& shape) {
    context.set_output(output, type, shape);
    if (context.explaining()) {
      context.explain(output, shape.rank() - 1,
                      fmt::format("hidden_size = {}", to_string(dims.hidden.value)));
    }
  };
  PartialShape state{dims.batch.value, dims.hidden.value};
  std::size_t output = 0;
  if (recurrence.sequence) {
    state = PartialShape{dims.batch.value, dims.directions.value, dims.hidden.value};
    set_output(output++, {dims.batch.value, dims.directions.value, dims.steps.value, dims.hidden.value});
  }
  set_output(output++, state);
  if (recurrence.has_cell_state()) set_output(output++, state);
}

// A weight input as f32. Weights are packed, so they must be known; else the plan prepares at every run.
Tensor weights_of(const PrepareContext& context, std::size_t index) {
  const Tensor* constant = context.constant(index);
  if (constant == nullptr) {
    throw Error("IR-needs-constant",
                fmt::format("the weights of input {} are not known before the model runs", index));
  }
  return in_f32(*constant);
}

// Of an attribute and of a kernel's parameter: one is cast to the other.
template <class A, class B>
constexpr bool is_same_value(A a, B b) {
  return static_cast<int>(a) == static_cast<int>(b);
}

kernels::RnnParams params_of(const PrepareContext& context, const Recurrence& recurrence) {
  const RecurrentAttributes& attributes = recurrence.attributes;
  const Shape& x = context.shape(0);
  kernels::RnnParams params;
  params.cell = recurrence.cell;
  static_assert(is_same_value(RecurrentDirection::bidirectional, kernels::RnnDirection::bidirectional) &&
                is_same_value(RecurrentDirection::reverse, kernels::RnnDirection::reverse));
  static_assert(is_same_value(LstmWeightsFormat::icof, kernels::LstmGates::icof) &&
                is_same_value(LstmWeightsFormat::ifco, kernels::LstmGates::ifco) &&
                is_same_value(LstmWeightsFormat::ifoc, kernels::LstmGates::ifoc) &&
                is_same_value(LstmWeightsFormat::iofc, kernels::LstmGates::iofc));
  params.direction = static_cast<kernels::RnnDirection>(recurrence.direction);
  params.lstm_gates = static_cast<kernels::LstmGates>(recurrence.weights_format);
  params.batch = static_cast<std::size_t>(x[0]);
  params.steps = recurrence.sequence ? static_cast<std::size_t>(x[1]) : 1;
  params.input_size = static_cast<std::size_t>(x.back());
  params.hidden_size = static_cast<std::size_t>(attributes.hidden_size);
  if (recurrence.cell == RnnCell::rnn) params.activations[0].function = RnnFunction::tanh;
  for (std::size_t i = 0; i < recurrence.functions(); ++i) {
    kernels::RnnActivation& activation = params.activations[i];
    if (!attributes.activations.empty()) {
      activation.function = function_of(attributes.activations[i]).value_or(RnnFunction::sigmoid);
    }
    if (i < attributes.activations_alpha.size()) {
      activation.alpha = static_cast<float>(attributes.activations_alpha[i]);
    }
    if (i < attributes.activations_beta.size()) {
      activation.beta = static_cast<float>(attributes.activations_beta[i]);
    }
  }
  params.clip = static_cast<float>(attributes.clip);
  params.linear_before_reset = recurrence.linear_before_reset;
  params.input_forget = recurrence.input_forget;
  params.accurate = context.accurate();
  params.whole_floats = context.whole_floats();
  return params;
}

void require_no_peepholes(const PrepareContext& context, const Recurrence& recurrence) {
  if (context.input_count() <= recurrence.p()) return;
  const Tensor peepholes = weights_of(context, recurrence.p());
  if (std::ranges::any_of(peepholes.data<float>(), [](float value) { return value != 0; })) {
    context.fail_unsupported("peepholes other than 0");
  }
}

// Lengths of sequences, which the kernel takes as i64.
struct Lengths {
  std::size_t input = 0;
  kernels::ScalarType type = kernels::ScalarType::i64;
  std::size_t count = 0;
  std::size_t scratch_offset = 0;

  [[nodiscard]] bool converted() const { return type != kernels::ScalarType::i64; }
  [[nodiscard]] const std::int64_t* read(const StepMemory& memory) const {
    if (!converted()) return memory.in<std::int64_t>(input);
    std::byte* wide = memory.scratch + scratch_offset;
    kernels::convert(type, memory.inputs[input], kernels::ScalarType::i64, wide, count);
    return reinterpret_cast<const std::int64_t*>(wide);
  }
};

constexpr std::string_view name_of_cell(RnnCell cell) {
  return cell == RnnCell::lstm ? "lstm" : cell == RnnCell::gru ? "gru" : "rnn";
}

PreparedKernel prepare_recurrent(const PrepareContext& context, const Recurrence& recurrence) {
  PreparedKernel prepared;
  prepared.name =
      fmt::format("{}/{}", name_of_cell(recurrence.cell), recurrence.sequence ? "sequence" : "cell");
  if (context.shape(0)[0] == 0) return nothing_to_do(prepared.name);
  require_no_peepholes(context, recurrence);
  const kernels::RnnParams params = params_of(context, recurrence);
  const Tensor w = weights_of(context, recurrence.w());
  const Tensor r = weights_of(context, recurrence.r());
  const Tensor b = context.input_count() > recurrence.b() ? weights_of(context, recurrence.b()) : Tensor();
  const kernels::RnnWeights weights{w.data<float>().data(), r.data<float>().data(),
                                    b ? b.data<float>().data() : nullptr};
  const std::shared_ptr<const kernels::Rnn> rnn = kernels::create_rnn(params, weights);

  for (std::size_t input = recurrence.w(); input < context.input_count(); ++input)
    prepared.absorbed.push_back(input);

  constexpr std::size_t kAlignment = alignof(std::int64_t);
  prepared.scratch_bytes = (rnn->scratch_bytes() + kAlignment - 1) / kAlignment * kAlignment;
  Lengths lengths;
  if (recurrence.sequence) {
    lengths = {recurrence.lengths(), scalar_type_of(context.type(recurrence.lengths())), params.batch,
               prepared.scratch_bytes};
    if (lengths.converted()) prepared.scratch_bytes += params.batch * sizeof(std::int64_t);
  }
  prepared.run = [rnn, lengths, is_sequence = recurrence.sequence,
                  has_cell_state = recurrence.has_cell_state()](const StepMemory& memory) {
    kernels::RnnTensors tensors;
    tensors.x = memory.in<float>(0);
    tensors.initial_h = memory.in<float>(1);
    if (has_cell_state) tensors.initial_c = memory.in<float>(2);
    std::size_t output = 0;
    if (is_sequence) {
      tensors.lengths = lengths.read(memory);
      tensors.y = memory.out<float>(output++);
    }
    tensors.h = memory.out<float>(output++);
    if (has_cell_state) tensors.c = memory.out<float>(output);
    rnn->run(tensors, memory.scratch);
  };
  prepared.per_target = true;
  prepared.flops = 2.0 * static_cast<double>(params.batch * params.steps * params.directions()) *
                   static_cast<double>(params.gates() * params.hidden_size) *
                   static_cast<double>(params.input_size + params.hidden_size);
  return computed_in_f32(context, std::move(prepared));
}

}  // namespace

// One line per class: which cell, and whether it runs over a sequence.
#define IR_RECURRENT(Op, cell, sequence)                                     \
  void Op::infer(InferContext& context) const {                              \
    infer_recurrent(context, recurrence_of(*this, cell, sequence));          \
  }                                                                          \
  PreparedKernel Op::prepare(PrepareContext& context) const {                \
    return prepare_recurrent(context, recurrence_of(*this, cell, sequence)); \
  }
IR_RECURRENT(v0::RNNCell, RnnCell::rnn, false)
IR_RECURRENT(v3::GRUCell, RnnCell::gru, false)
IR_RECURRENT(v0::LSTMCell, RnnCell::lstm, false)
IR_RECURRENT(v4::LSTMCell, RnnCell::lstm, false)
IR_RECURRENT(v5::RNNSequence, RnnCell::rnn, true)
IR_RECURRENT(v5::GRUSequence, RnnCell::gru, true)
IR_RECURRENT(v0::LSTMSequence, RnnCell::lstm, true)
IR_RECURRENT(v5::LSTMSequence, RnnCell::lstm, true)
#undef IR_RECURRENT

}  // namespace ir::op
