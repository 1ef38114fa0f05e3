// The single rewrites that lower() and optimize() consist of. Each works on a model whose outputs have been
// inferred, leaves it so, and returns whether it changed something. Nodes that are not needed any more may
// stay until Model::remove_unreachable, so a rewrite may find more when it is called again after that. They
// stand here in the order in which they run.
#ifndef RUNTIME_PASSES_REWRITES_H_
#define RUNTIME_PASSES_REWRITES_H_

#include "ir_runtime/model.h"

namespace ir::passes {

/// One of the rewrites below; returns whether it changed the model.
using Rewrite = bool(Model& model);

/// Applies a rewrite to the model and, once each, to the bodies in it; whatever nothing reaches any more
/// goes.
void apply_with_bodies(Rewrite& rewrite, Model& model);

/// Codes of few bits (f16, bf16, integers of 8 and 4 bits) that are converted, shifted and scaled to become
/// the weights of a matrix product, or the rows that Gather looks up -> CompressedMatMul and Decompress,
/// which read the codes where they are. Not integers where a model quantises activations, too; not halves
/// whose product is known to have several rows. To be called before constants are folded.
bool keep_compressed_weights(Model& model);

/// Replaces what depends on constants only by constants, weights that are stored in another type included.
/// Whatever would grow by more than a megabyte over its inputs stays.
bool fold_constants(Model& model);

/// MaxPool-8 and -14 of which nobody reads the positions -> MaxPool-1, which does not compute them, or where
/// that lacks the rounding or dilations MaxPoolValues; AdaptiveMaxPool -> AdaptiveMaxPoolValues.
bool drop_unused_positions(Model& model);

/// FakeQuantize to integers, their conversion to an integer type and back, and what shifts and scales them,
/// as ONNX's QuantizeLinear and DequantizeLinear are -> FakeQuantize to the scaled levels.
bool fuse_dequantization(Model& model);

/// Bypasses operations whose output is their input: Identity, conversions to the same type, changes of shape
/// and order that change nothing or undo each other, Tile and Broadcast that repeat nothing, adding 0,
/// multiplying by 1, pooling single elements, quantising to levels that values have already.
bool eliminate_identities(Model& model);

/// TensorIterator, or Loop over all of a sequence, whose body is an RNNCell, GRUCell or LSTMCell with
/// constant weights -> RNNSequence, GRUSequence or LSTMSequence.
bool iterator_to_sequence(Model& model);

/// Einsum of two inputs that sums over axes of both -> the matrix product that it is, between the transposes
/// and reshapes that it takes. Not where dims that would have to be known are not.
bool einsum_to_product(Model& model);

/// x * sigmoid(beta * x) -> Swish(x, beta); x * hsigmoid(x) -> HSwish(x); x * tanh(softplus(x)) -> Mish(x);
/// and these functions themselves where they are spelled out: 1 / (1 + exp(-x)), min(max(x + 3, 0), 6) / 6,
/// log(1 + exp(x)).
bool fuse_swish(Model& model);

/// x / 2 * (1 + erf(x / sqrt(2))), or its approximation with tanh -> Gelu(x).
bool fuse_gelu(Model& model);

/// e / sum(e) with e = exp(x - max(x)), over one axis -> SoftMax.
bool fuse_softmax(Model& model);

/// (x - mean) / sqrt(variance + eps), spelled out, also multiplied out -> MVN; x / sqrt(mean of squares +
/// eps) over the last axis -> LayerNorm that is not centered; these, or MVN over the last axis, times and
/// plus a constant for each of its elements -> LayerNorm.
bool fuse_layer_norm(Model& model);

/// MVN of channels, or of groups of them between two Reshapes, times and plus a constant for each channel ->
/// GroupNormalization.
bool fuse_group_norm(Model& model);

/// Reshape, Add of a constant, Reshape back to the shape of before -> Add of the constant in that shape, as
/// the masks of shifted windows have it, which are per window, not per batch element.
bool fuse_reshaped_mask(Model& model);

/// A matrix product, numbers that scale it, a mask (or two constant ones) that is added or chooses between
/// scores and a number, softmax, and the product with values -> FusedAttention, which reads and writes
/// tensors as they lie before Split, Slice, Gather, Reshape and Transpose.
bool fuse_attention(Model& model);

/// SpaceToBatch, a convolution of stride 1 and BatchToSpace with the same blocks -> the convolution with a
/// dilation, as TensorFlow's files have it.
bool fuse_dilation(Model& model);

/// Pad with zeros, of spatial axes only -> pads of the convolution or average that is its only reader.
bool fuse_pad(Model& model);

/// Arithmetic, functions of elements, FakeQuantize, Concat, Pad, SpaceToBatch and BatchToSpace of values that
/// all come from a Transpose of the same order, or are constant, where a Transpose behind undoes it -> the
/// same before the Transpose, which meets the other one then: convolutions that stand between Transposes, as
/// TensorFlow's layout asks for.
bool sink_transposes(Model& model);

/// Transpose of the last two axes before a matrix product that is its only reader -> part of it. Attention
/// reads other orders, too, and should be looked for before.
bool fuse_matrix_transpose(Model& model);

/// BatchNormInference, and Multiply and Divide by a constant per channel, after a convolution or matrix
/// product whose weights are constant -> other weights and a bias.
bool fuse_batch_norm_and_scale(Model& model);

/// Add and Subtract of a constant per channel -> the bias of the convolution or matrix product before.
bool fuse_bias(Model& model);

/// Add of another tensor of the same shape -> part of the convolution or matrix product before.
bool fuse_residual(Model& model);

/// An activation, or another function of one value (PReLU: or one for each channel of a convolution) -> part
/// of the convolution or matrix product before.
bool fuse_activation(Model& model);

/// FakeQuantize with the same limits for all elements, or one set for each channel of a convolution -> part
/// of the convolution or matrix product before.
bool fuse_quantization(Model& model);

/// A depthwise convolution, and 1x1 convolutions that alone feed it or read it -> FusedSeparableConvolution.
/// To be called when nothing is left that could be fused into them.
bool fuse_separable(Model& model);

/// Multiply, Add and BatchNormInference by constants per channel, or Multiply by a tensor [N, C, 1, ...] that
/// is computed, and ReLU or Clamp behind them, before a 1x1 convolution that is their only reader -> part of
/// it. To be called when nothing is left that could be fused into the convolution.
bool fuse_prologue(Model& model);

/// Element-wise arithmetic, activations and quantisation on f32 whose intermediate results nobody else reads
/// -> FusedElementwise. Takes results that have the shape of the chain's result, as far as shapes are known;
/// where they turn out to be smaller, they are computed more often than needed. To be called when no other
/// rewrite looks for these operations any more.
bool fuse_elementwise(Model& model);

/// Notes in convolutions (also those of FusedSeparableConvolution) and matrix products by constants which
/// inputs they know to be integers times a step: they come from FakeQuantize. To be called when all else is
/// fused.
bool find_integer_inputs(Model& model);

/// Notes in matrix products by constants which inputs come from a rectifier (ReLU, Clamp from 0 on, or sums
/// that are quantised from 0 on), so that many of their elements are 0. To be called when all else is fused.
bool find_rectified_inputs(Model& model);

/// A convolution of a Concat of channels that are integers times steps of their own, and integer weights ->
/// one for each part, each added to the one before. To be called after find_integer_inputs, where integers
/// are multiplied.
bool part_joined_images(Model& model);

/// Results of quantisations, of each channel too, that only convolutions of integers and chains of these,
/// element-wise chains and quantisations read -> levels, u8. To be called after find_integer_inputs, where
/// integers are multiplied.
bool store_levels(Model& model);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_REWRITES_H_
