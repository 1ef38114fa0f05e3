// Operations that no IR contains: a convolution or matrix product together with what follows it. Passes make
// them; their descriptors have no attributes to read or write.
#ifndef RUNTIME_OPS_FUSED_H_
#define RUNTIME_OPS_FUSED_H_

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/matrix.h"
#include "kernels/matmul/post_functions.h"
#include "kernels/weights/integer_weights.h"
#include "runtime/ops/compressed.h"
#include "runtime/ops/epilogue.h"

namespace ir::op {

/// What happens to the sums of a convolution or matrix product: quantization(activation(sum + bias +
/// residual)), absent parts left out. Bias and residual are the last inputs of the operation, in this order.
struct FusedTail {
  /// A constant vector with one number per output channel of a convolution or column of a product.
  bool bias = false;
  /// A tensor of the output's shape.
  bool residual = false;
  /// What values go through one by one; functions of each channel for convolutions only.
  kernels::PostFunctions functions;
  /// Of convolutions: results are the levels of the quantisation, u8, which has_bytes().
  bool levels = false;
};

/// How many inputs a tail takes.
std::size_t tail_inputs(const FusedTail& tail);

/// What profiles add to the name of a kernel: "+bias+activation+quantization".
std::string name_of(const FusedTail& tail);

struct ClampBounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

/// What the activation does, if that is to clamp all values alike, or nothing.
std::optional<ClampBounds> clamp_of(const kernels::PostFunctions& functions);

/// A tail as kernels take it; its bias and residual are the last inputs of `context`.
EpilogueOfStep epilogue_of(const PrepareContext& context, const FusedTail& tail);

template <class Core>
constexpr std::string_view kFusedType{};
template <>
inline constexpr std::string_view kFusedType<v1::Convolution> = "FusedConvolution";
template <>
inline constexpr std::string_view kFusedType<v1::GroupConvolution> = "FusedGroupConvolution";
template <>
inline constexpr std::string_view kFusedType<v1::ConvolutionBackpropData> = "FusedConvolutionBackpropData";
template <>
inline constexpr std::string_view kFusedType<v1::GroupConvolutionBackpropData> =
    "FusedGroupConvolutionBackpropData";
template <>
inline constexpr std::string_view kFusedType<v0::MatMul> = "FusedMatMul";
template <>
inline constexpr std::string_view kFusedType<CompressedMatMul> = "FusedCompressedMatMul";

/// `Core` with a tail, on f32, or u8 where that means levels. Inputs: those of Core, then the tail's; output
/// as Core's.
template <class Core>
struct Fused {
  static constexpr OpInfo info{.type = kFusedType<Core>,
                               .family = "fused",
                               .summary = "An operation and what follows it, in one.",
                               .packs_weights = Core::info.packs_weights};
  Core core;
  FusedTail tail;
  /// Of convolutions and products: what the values of input 0 are, if that is known.
  std::optional<kernels::IntegerGrid> input_grid = std::nullopt;
  /// Of products: many elements of input 0 are expected to be 0.
  bool input_is_rectified = false;
  /// Of convolutions: input 0 is u8, levels of this quantisation of all channels, or of each; empty: it is
  /// not.
  std::vector<kernels::Quantization> input_levels = {};

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

using FusedConvolution = Fused<v1::Convolution>;
using FusedGroupConvolution = Fused<v1::GroupConvolution>;
using FusedDeconvolution = Fused<v1::ConvolutionBackpropData>;
using FusedGroupDeconvolution = Fused<v1::GroupConvolutionBackpropData>;
using FusedMatMul = Fused<v0::MatMul>;
using FusedCompressedMatMul = Fused<CompressedMatMul>;

}  // namespace ir::op

#endif  // RUNTIME_OPS_FUSED_H_
