// Sequences: decoding of connectionist temporal classification (CTC), recurrent cells and networks.
#ifndef IR_RUNTIME_OPS_SEQUENCE_H_
#define IR_RUNTIME_OPS_SEQUENCE_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// How a sequence is walked through. Bidirectional networks are two, with weights and states of their own.
enum class RecurrentDirection : int { forward, reverse, bidirectional };
inline constexpr std::array kRecurrentDirectionSpellings{
    Spelling{static_cast<int>(RecurrentDirection::forward), "forward"},
    Spelling{static_cast<int>(RecurrentDirection::reverse), "reverse"},
    Spelling{static_cast<int>(RecurrentDirection::bidirectional), "bidirectional"},
};
constexpr std::span<const Spelling> spellings_of(RecurrentDirection) { return kRecurrentDirectionSpellings; }

/// Order of the gates in LSTM weights: f forget, i input, c cell, o output.
enum class LstmWeightsFormat : int { fico, icof, ifco, ifoc, iofc };
inline constexpr std::array kLstmWeightsFormatSpellings{
    Spelling{static_cast<int>(LstmWeightsFormat::fico), "fico"},
    Spelling{static_cast<int>(LstmWeightsFormat::icof), "icof"},
    Spelling{static_cast<int>(LstmWeightsFormat::ifco), "ifco"},
    Spelling{static_cast<int>(LstmWeightsFormat::ifoc), "ifoc"},
    Spelling{static_cast<int>(LstmWeightsFormat::iofc), "iofc"},
};
constexpr std::span<const Spelling> spellings_of(LstmWeightsFormat) { return kLstmWeightsFormatSpellings; }

/// Attributes of every recurrent operation.
struct RecurrentAttributes {
  std::int64_t hidden_size = 0;
  /// sigmoid, tanh, relu or hardsigmoid, in the order of the definition; empty for the usual ones.
  std::vector<std::string> activations;
  /// Parameters of the activations that have some, which is hardsigmoid.
  std::vector<double> activations_alpha;
  std::vector<double> activations_beta;
  double clip = 0;
};

namespace detail {

template <class Op, class... More>
constexpr auto recurrent_fields(More... more) {
  return std::array{
      required<&Op::hidden_size>("hidden_size", "Size of the hidden state.", at_least(1)),
      optional<&Op::activations>("activations", "Functions of the gates: sigmoid, tanh, relu, hardsigmoid."),
      optional<&Op::activations_alpha>("activations_alpha", "First parameter of each function that has one."),
      optional<&Op::activations_beta>("activations_beta", "Second parameter of each function that has one."),
      optional<&Op::clip>("clip", "Limit of the magnitude of what the functions see; 0: none.", at_least(0)),
      more...,
  };
}

template <class Op>
constexpr Field direction_field() {
  return optional<&Op::direction>("direction", "How the sequence is walked through.");
}

template <class Op>
constexpr Field linear_before_reset_field() {
  return optional<&Op::linear_before_reset>(
      "linear_before_reset", "Whether the reset gate comes after the product with the recurrence weights.");
}

template <class Op>
constexpr Field input_forget_field() {
  return optional<&Op::input_forget>("input_forget", "Whether the input gate is 1 - forget gate.");
}

template <class Op>
constexpr Field weights_format_field() {
  return optional<&Op::weights_format>("weights_format", "Order of the gates in the weights.");
}

}  // namespace detail

namespace v0 {

/// The best class of each step, without blanks and (if asked for) repeats. Inputs of a real type: [T, N, C]
/// scores, [T, N] mask of which the first 0 ends a sequence. Output [N, T, 1, 1] of the type of input 0:
/// class numbers, then -1. The blank is class C - 1. Definition: CTCGreedyDecoder-1.
struct CTCGreedyDecoder {
  static constexpr OpInfo info{.type = "CTCGreedyDecoder",
                               .family = "sequence",
                               .summary = "Best class of each step, without blanks and repeats."};
  bool ctc_merge_repeated = true;
  static constexpr auto fields() {
    return std::array{optional<&CTCGreedyDecoder::ctc_merge_repeated>(
        "ctc_merge_repeated", "Whether a class that follows itself counts once.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// One step of a long short-term memory. Inputs of one real type: X [batch, input], hidden and cell state
/// [batch, H], W [4 * H, input], R [4 * H, H], B [4 * H] (optional), peepholes [3 * H] (optional; must be 0,
/// as OpenVINO ignores them). Outputs: hidden and cell state [batch, H]. H is hidden_size. Definition:
/// LSTMCell-1.
struct LSTMCell : RecurrentAttributes {
  static constexpr OpInfo info{.type = "LSTMCell",
                               .last_opset = 3,
                               .family = "sequence",
                               .summary = "One step of a long short-term memory.",
                               .packs_weights = true};
  bool input_forget = false;
  LstmWeightsFormat weights_format = LstmWeightsFormat::fico;
  static constexpr auto fields() {
    return detail::recurrent_fields<LSTMCell>(detail::input_forget_field<LSTMCell>(),
                                              detail::weights_format_field<LSTMCell>());
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// A long short-term memory run over sequences. Inputs: X [batch, steps, input], hidden and cell state
/// [batch, D, H], lengths [batch] of an integer type, W [D, 4 * H, input], R [D, 4 * H, H], B [D, 4 * H],
/// peepholes [D, 3 * H] (optional; must be 0). Outputs: Y [batch, D, steps, H], last hidden and cell state
/// [batch, D, H]. D is 2 for a bidirectional network, else 1. Definition: LSTMSequence-1.
struct LSTMSequence : RecurrentAttributes {
  static constexpr OpInfo info{.type = "LSTMSequence",
                               .last_opset = 3,
                               .family = "sequence",
                               .summary = "A long short-term memory run over sequences.",
                               .packs_weights = true};
  RecurrentDirection direction = RecurrentDirection::forward;
  bool input_forget = false;
  LstmWeightsFormat weights_format = LstmWeightsFormat::fico;
  static constexpr auto fields() {
    return detail::recurrent_fields<LSTMSequence>(detail::direction_field<LSTMSequence>(),
                                                  detail::input_forget_field<LSTMSequence>(),
                                                  detail::weights_format_field<LSTMSequence>());
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// One step of a simple recurrent network: H' = f(X * W^T + H * R^T + B). Inputs of one real type:
/// X [batch, input], state [batch, H], W [H, input], R [H, H], B [H] (optional). Output: state [batch, H].
/// Definition: RNNCell-3.
struct RNNCell : RecurrentAttributes {
  static constexpr OpInfo info{.type = "RNNCell",
                               .family = "sequence",
                               .summary = "One step of a simple recurrent network.",
                               .missing_opset = 2,
                               .packs_weights = true};
  static constexpr auto fields() { return detail::recurrent_fields<RNNCell>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v3 {

/// One step of a gated recurrent unit. Inputs of one real type: X [batch, input], state [batch, H],
/// W [3 * H, input], R [3 * H, H] (gates z, r, h), B [3 * H] or, with linear_before_reset, [4 * H]
/// (optional). Output: state [batch, H]. Definition: GRUCell-3.
struct GRUCell : RecurrentAttributes {
  static constexpr OpInfo info{.type = "GRUCell",
                               .first_opset = 3,
                               .family = "sequence",
                               .summary = "One step of a gated recurrent unit.",
                               .packs_weights = true};
  bool linear_before_reset = false;
  static constexpr auto fields() {
    return detail::recurrent_fields<GRUCell>(detail::linear_before_reset_field<GRUCell>());
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v4 {

/// How improbable scores make a sequence of labels, over all paths that decode to it. Inputs: [N, T, C]
/// scores of a real type, of which a softmax makes probabilities; [N] numbers of steps; [N, T] labels; [N]
/// numbers of labels; one blank (optional; C - 1), all integers. Output: [N], minus the logarithm of the
/// probability. Definition: CTCLoss-4. No labels at all: the path of blanks, as in OpenVINO's CPU plugin (its
/// reference gives 0).
struct CTCLoss {
  static constexpr OpInfo info{.type = "CTCLoss",
                               .first_opset = 4,
                               .family = "sequence",
                               .summary = "How improbable scores make a sequence of labels."};
  bool preprocess_collapse_repeated = false;
  bool ctc_merge_repeated = true;
  bool unique = false;
  static constexpr auto fields() {
    return std::array{
        optional<&CTCLoss::preprocess_collapse_repeated>("preprocess_collapse_repeated",
                                                         "Whether a label that follows itself counts once."),
        optional<&CTCLoss::ctc_merge_repeated>(
            "ctc_merge_repeated", "Whether a path may repeat a label, and a blank parts equal labels."),
        optional<&CTCLoss::unique>("unique", "Whether only the first of equal labels counts."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// As v0::LSTMCell, with gates in the order fico and without peepholes.
struct LSTMCell : RecurrentAttributes {
  static constexpr OpInfo info{.type = "LSTMCell",
                               .first_opset = 4,
                               .family = "sequence",
                               .summary = "One step of a long short-term memory.",
                               .packs_weights = true};
  static constexpr auto fields() { return detail::recurrent_fields<LSTMCell>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v4

namespace v5 {

/// As v0::LSTMSequence, with gates in the order fico and without peepholes.
struct LSTMSequence : RecurrentAttributes {
  static constexpr OpInfo info{.type = "LSTMSequence",
                               .first_opset = 5,
                               .family = "sequence",
                               .summary = "A long short-term memory run over sequences.",
                               .packs_weights = true};
  RecurrentDirection direction = RecurrentDirection::forward;
  static constexpr auto fields() {
    return detail::recurrent_fields<LSTMSequence>(detail::direction_field<LSTMSequence>());
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// A gated recurrent unit run over sequences. Inputs: X [batch, steps, input], state [batch, D, H], lengths
/// [batch] of an integer type, W [D, 3 * H, input], R [D, 3 * H, H], B [D, 3 * H] or, with
/// linear_before_reset, [D, 4 * H]. Outputs: Y [batch, D, steps, H], last state [batch, D, H]. Definition:
/// GRUSequence-5.
struct GRUSequence : RecurrentAttributes {
  static constexpr OpInfo info{.type = "GRUSequence",
                               .first_opset = 5,
                               .family = "sequence",
                               .summary = "A gated recurrent unit run over sequences.",
                               .packs_weights = true};
  RecurrentDirection direction = RecurrentDirection::forward;
  bool linear_before_reset = false;
  static constexpr auto fields() {
    return detail::recurrent_fields<GRUSequence>(detail::direction_field<GRUSequence>(),
                                                 detail::linear_before_reset_field<GRUSequence>());
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// A simple recurrent network run over sequences. Inputs and outputs as GRUSequence, with H in the place of
/// 3 * H. Definition: RNNSequence-5.
struct RNNSequence : RecurrentAttributes {
  static constexpr OpInfo info{.type = "RNNSequence",
                               .first_opset = 5,
                               .family = "sequence",
                               .summary = "A simple recurrent network run over sequences.",
                               .packs_weights = true};
  RecurrentDirection direction = RecurrentDirection::forward;
  static constexpr auto fields() {
    return detail::recurrent_fields<RNNSequence>(detail::direction_field<RNNSequence>());
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v5

namespace v6 {

/// As CTCGreedyDecoder, with lengths. Inputs: [N, T, C] scores of a real type, [N] lengths and one blank
/// (optional; C - 1), both i32 or i64. Outputs: [N, T] class numbers, then -1; [N] numbers of classes.
/// Definition: CTCGreedyDecoderSeqLen-6.
struct CTCGreedyDecoderSeqLen {
  static constexpr OpInfo info{.type = "CTCGreedyDecoderSeqLen",
                               .first_opset = 6,
                               .family = "sequence",
                               .summary = "Best class of each step, without blanks and repeats."};
  bool merge_repeated = true;
  ElementType classes_index_type = ElementType::i32;
  ElementType sequence_length_type = ElementType::i32;
  static constexpr auto fields() {
    using Op = CTCGreedyDecoderSeqLen;
    return std::array{
        optional<&Op::merge_repeated>("merge_repeated", "Whether a class that follows itself counts once."),
        optional<&Op::classes_index_type>("classes_index_type", "Type of the classes: i32 or i64."),
        optional<&Op::sequence_length_type>("sequence_length_type", "Type of the lengths: i32 or i64."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v6
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_SEQUENCE_H_
