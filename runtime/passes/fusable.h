// Convolutions and matrix products as the rewrites that fuse see them.
#ifndef RUNTIME_PASSES_FUSABLE_H_
#define RUNTIME_PASSES_FUSABLE_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/ops/fused.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {

/// A convolution or matrix product on f32, with what has been fused into it so far. The members are there to
/// be changed; `put` then makes a node of them.
class Fusable {
 public:
  /// Empty for other nodes.
  static std::optional<Fusable> of(const Output& value);

  std::vector<Output> inputs;  ///< of the operation itself, without bias and residual
  std::optional<Output> bias;
  std::optional<Output> residual;
  kernels::PostFunctions functions;

  /// Whether a summand, or a factor, can still join the sums, and whether functions can still follow; and
  /// whether these may be others for each channel.
  [[nodiscard]] bool takes_summand() const { return functions.is_empty(); }
  [[nodiscard]] bool takes_factor() const { return takes_summand() && !residual; }
  [[nodiscard]] bool takes_quantization() const { return functions.quantization.empty(); }
  [[nodiscard]] bool takes_activation() const { return functions.quantization.empty(); }
  [[nodiscard]] bool takes_functions_of_channels() const { return !is_product(); }
  /// For scaled_weights.
  [[nodiscard]] bool has_constant_weights() const {
    return !std::holds_alternative<op::CompressedMatMul>(core_) && constant_of(inputs[1]) != nullptr;
  }

  /// The axis of the output that runs over the channels, or columns; empty when there is none.
  [[nodiscard]] std::optional<std::size_t> channel_axis() const;

  /// passes::per_channel for the channels of the output.
  [[nodiscard]] std::optional<Tensor> per_channel(const Output& value) const;

  /// The constant weights times a factor per output channel.
  [[nodiscard]] Tensor scaled_weights(const Tensor& factors) const;

  /// Makes `node` the operation. Without a tail it is one of the IR's own.
  void put(Node& node) const;

 private:
  using Core = std::variant<op::v1::Convolution, op::v1::GroupConvolution, op::v1::ConvolutionBackpropData,
                            op::v1::GroupConvolutionBackpropData, op::v0::MatMul, op::CompressedMatMul>;

  Fusable(Core core, const Output& value) : core_(std::move(core)), output_(value) {}

  [[nodiscard]] bool is_product() const {
    return std::holds_alternative<op::v0::MatMul>(core_) ||
           std::holds_alternative<op::CompressedMatMul>(core_);
  }

  Core core_;
  Output output_;
};

/// The numbers of a constant of type f32 that has one for each channel (or one for all) along `axis` of a
/// value of shape `shape` and does not change that shape when it is combined with it, as a vector.
std::optional<Tensor> per_channel(const Output& value, const PartialShape& shape, std::size_t axis);

/// A value, and what an operation with a constant combines each of its channels with; the shape stays.
struct WithChannels {
  Output value;
  Tensor numbers;
};

/// For Multiply, Add and others of two inputs, either of which may be the constant; channels along `axis`.
std::optional<WithChannels> with_channels(const Node& node, std::size_t axis);

/// Whether the convolution has one tap of stride 1 and no pads.
bool is_pointwise(const op::v1::Convolution& convolution, const PartialShape& filters);

/// `a` op `b` for constants; for weights and biases that rewrites make.
Tensor computed(const Op& op, const Tensor& a, const Tensor& b);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_FUSABLE_H_
