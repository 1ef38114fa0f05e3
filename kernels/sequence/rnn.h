// Recurrent cells and sequences: RNN, GRU and LSTM, prepared once, run over any number of steps.
#ifndef KERNELS_SEQUENCE_RNN_H_
#define KERNELS_SEQUENCE_RNN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ir::kernels {

enum class RnnCell : std::uint8_t { rnn, gru, lstm };

enum class RnnDirection : std::uint8_t { forward, reverse, bidirectional };

enum class RnnFunction : std::uint8_t {
  sigmoid,
  tanh,
  relu,
  hard_sigmoid,  ///< min(1, max(0, alpha * x + beta))
};

struct RnnActivation {
  RnnFunction function = RnnFunction::sigmoid;
  float alpha = 0.2F;  ///< hard_sigmoid only
  float beta = 0.5F;
};

/// Order of the LSTM gates in the weights: all versions but 0 of LSTMCell and LSTMSequence use fico.
enum class LstmGates : std::uint8_t { fico, icof, ifco, ifoc, iofc };

/// RNNCell-0, GRUCell-3, LSTMCell-0/4 (one step, forward), RNNSequence-5, GRUSequence-5, LSTMSequence-0/5,
/// all without peepholes.
struct RnnParams {
  RnnCell cell = RnnCell::lstm;
  RnnDirection direction = RnnDirection::forward;
  std::size_t batch = 1;
  std::size_t steps = 1;
  std::size_t input_size = 0;
  std::size_t hidden_size = 0;
  /// f, g, h of the definitions: RNN uses the first, GRU two, LSTM three. The ops' defaults are sigmoid,
  /// tanh, tanh, and tanh alone for RNN.
  std::array<RnnActivation, 3> activations{
      {{RnnFunction::sigmoid}, {RnnFunction::tanh}, {RnnFunction::tanh}}};
  /// > 0: what f and g see is limited to [-clip, clip]. The argument of h is not.
  float clip = 0;
  /// GRU: the reset gate multiplies the product with R instead of the state; then the bias has a fourth
  /// part, which is added to that product.
  bool linear_before_reset = false;
  /// LSTM: the input gate is 1 - forget gate (version 0).
  bool input_forget = false;
  LstmGates lstm_gates = LstmGates::fico;
  /// Only add up the products of the definition, with all bits of weights.
  bool accurate = false;
  /// As of GemmParams.
  bool whole_floats = false;

  [[nodiscard]] std::size_t directions() const { return direction == RnnDirection::bidirectional ? 2 : 1; }
  [[nodiscard]] std::size_t gates() const { return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1; }
  [[nodiscard]] std::size_t bias_parts() const {
    return gates() + (cell == RnnCell::gru && linear_before_reset ? 1 : 0);
  }
};

/// Packed when prepared; not needed afterwards. D = directions, G = gates (GRU: z r h), H = hidden size.
struct RnnWeights {
  const float* w = nullptr;  ///< [D, G * H, input size]
  const float* r = nullptr;  ///< [D, G * H, H]
  const float* b = nullptr;  ///< [D, bias_parts * H], sums of both biases; nullptr: zero
};

struct RnnTensors {
  const float* x = nullptr;          ///< [batch, steps, input size]
  const float* initial_h = nullptr;  ///< [batch, D, H]
  const float* initial_c = nullptr;  ///< [batch, D, H], LSTM only
  /// [batch], limited to [0, steps]; nullptr: all are `steps`. Outputs beyond a length are 0, and so are the
  /// final states of an empty sequence (as in OpenVINO's reference).
  const std::int64_t* lengths = nullptr;
  float* y = nullptr;  ///< [batch, D, steps, H]; nullptr: not wanted
  float* h = nullptr;  ///< [batch, D, H]; may be initial_h; nullptr: not wanted
  float* c = nullptr;  ///< [batch, D, H]; may be initial_c; nullptr: not wanted
};

/// A prepared sequence. `run` is const and may be called from several threads with different scratch.
/// Input products of all steps are one matrix product; it and the directions run in parallel. f32 throughout,
/// but for products of several rows in matrix tiles (matrix_tiles.h), which inputs of some steps and states
/// of some batch elements take, and that of one state with weights that no second-level cache holds, which
/// are kept in fewer bits (gemm.h). Activations have a relative error below 3 ULP (sigmoid below -87: an
/// absolute error below 2e-38); NaN stays NaN.
class Rnn {
 public:
  Rnn() = default;
  Rnn(const Rnn&) = delete;
  Rnn& operator=(const Rnn&) = delete;
  virtual ~Rnn() = default;

  /// Bytes that `scratch` must have, aligned to 4.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  virtual void run(const RnnTensors& tensors, std::byte* scratch) const = 0;
};

/// Prepares for the SIMD target of the moment. For weights that are not constant prepare before every run.
std::unique_ptr<Rnn> create_rnn(const RnnParams& params, const RnnWeights& weights);

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_RNN_H_
