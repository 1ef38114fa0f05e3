// A depthwise convolution with the 1x1 convolutions around it, as mobile networks have them: a strip of rows
// goes through all of them while it is in the cache, and what lies between them is never a whole tensor.
#ifndef KERNELS_DEPTHWISE_SEPARABLE_CONVOLUTION_H_
#define KERNELS_DEPTHWISE_SEPARABLE_CONVOLUTION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "kernels/elementwise/fake_quantize.h"

namespace ir::kernels {

/// Positions of a plane below which stages one after the other are as fast: other algorithms take whole
/// planes.
inline constexpr std::size_t kLeastStripsPlane = 128;

/// Weights of a depthwise stage that are bytes times a step for each channel.
struct IntegerWindows {
  /// For values of which a step is 1; nullptr: they are no such weights.
  std::shared_ptr<const IntegerWeights> weights;
  /// Of the image: one for all channels, or for each.
  std::vector<float> steps;
};

/// For an image of which all channels have such values, or each of them: bytes, one of which is 0. None where
/// the SIMD target of the moment does not multiply such windows.
IntegerWindows integer_windows(const ConvolutionParams& params, const ConstantWeights& weights,
                               std::span<const IntegerGrid> image);

/// One convolution of a chain; `weights` and `epilogue` as in create_convolution. 1x1 stages whose integers
/// are known multiply these.
struct ConvolutionStage {
  ConvolutionParams params;
  ConstantWeights weights;
  Epilogue epilogue;
  /// What the hook of the epilogue is, if that is a quantisation which has_bytes(), by quantize_nearly_span,
  /// and nothing else: then it may be done in another way, with roundings of its own. Copied when the chain
  /// is made.
  ChannelQuantization quantization = {};
  /// Of a depthwise stage: what integer_windows() found.
  IntegerWindows windows = {};
};

/// Each stage takes what the one before it gives. Only the last one's epilogue may have a residual, or
/// levels, and only the image of the first may be levels.
struct SeparableStages {
  std::optional<ConvolutionStage> expansion;   ///< one tap, no groups
  ConvolutionStage depthwise;                  ///< one input and one output channel per group
  std::optional<ConvolutionStage> projection;  ///< as the expansion

  [[nodiscard]] const ConvolutionStage& first() const { return expansion ? *expansion : depthwise; }
  [[nodiscard]] const ConvolutionStage& last() const { return projection ? *projection : depthwise; }
};

/// How the stages are run: `strips` of rows through all of them, also with matrix tiles, or one stage after
/// the other.
enum class SeparableAlgorithm { fastest, strips, tile_strips, in_turn };

struct NamedSeparableAlgorithm {
  std::string_view name;  ///< as algorithm() gives it
  SeparableAlgorithm algorithm;
};
inline constexpr NamedSeparableAlgorithm kSeparableAlgorithms[] = {
    {"strips", SeparableAlgorithm::strips},
    {"tile_strips", SeparableAlgorithm::tile_strips},
    {"in_turn", SeparableAlgorithm::in_turn},
};

/// All weights are constant, and `run` ignores its own; its residual is that of the last stage, and `out`
/// must not overlap it. Image and `out` are bytes where they are levels. Error as that of the stages; bits do
/// not depend on the number of threads. algorithm() is "strips", "tile_strips" (error as matrix_tiles.h)
/// or, where strips are not expected to be faster (or impossible), "in_turn".
std::unique_ptr<Convolution> create_separable_convolution(
    const SeparableStages& stages, SeparableAlgorithm algorithm = SeparableAlgorithm::fastest);

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_SEPARABLE_CONVOLUTION_H_
