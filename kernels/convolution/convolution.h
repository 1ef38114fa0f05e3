// Prepared f32 convolution over N, C and one to three spatial dimensions (NCW, NCHW, NCDHW).
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/convolution/prologue.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/weights/constant_weights.h"

namespace ir::kernels {

class IntegerWeights;
struct IntegerGrid;

/// Geometry of a convolution. The arrays use their first `spatial_rank` entries, outermost dimension first
/// (D, H, W; or H, W; or W).
struct ConvolutionParams {
  std::size_t batch = 1;
  std::size_t groups = 1;
  std::size_t in_channels = 0;   ///< over all groups, a multiple of `groups`
  std::size_t out_channels = 0;  ///< over all groups, a multiple of `groups`
  std::size_t spatial_rank = 2;  ///< 1 to 3
  std::array<std::size_t, 3> in_dims = {1, 1, 1};
  std::array<std::size_t, 3> out_dims = {1, 1, 1};
  std::array<std::size_t, 3> kernel = {1, 1, 1};
  std::array<std::size_t, 3> strides = {1, 1, 1};
  std::array<std::size_t, 3> dilations = {1, 1, 1};
  /// Zeros before the first sample; negative crops. There is no end padding here: whatever `out_dims` reaches
  /// past the image reads as zero.
  std::array<std::ptrdiff_t, 3> pads_begin = {0, 0, 0};
  /// Constant weights are given to every run, too: an algorithm that would gain nothing by packing reads them
  /// there. See Convolution::reads_weights.
  bool weights_stay = false;
  /// Only add up the products of the definition: none of Winograd's algorithms, nor Strassen's form.
  bool accurate = false;
  /// Keep all bits of operands in matrix tiles, and add operands up only where that gains much.
  bool whole_floats = false;
  /// A prologue maps the image: what that costs counts where algorithms are chosen.
  bool maps_image = false;
  /// Constant weights and the image as integers, if they are (integer_filters). nullptr: not known.
  std::shared_ptr<const IntegerWeights> integers;
  /// The image is bytes: levels of this quantisation, which has_bytes(). Empty: it is floats. There is no
  /// prologue then.
  std::vector<Quantization> image_levels = {};
  /// Most threads that one `run` uses, which bounds the scratch; 0: thread_slots() of the preparing thread.
  std::size_t max_threads = 0;
};

/// What one run reads; what the convolution was not made for is ignored.
struct ConvolutionInputs {
  const float* image = nullptr;  ///< [batch, in_channels, in_dims...]; or there are levels in its place
  /// As in create_convolution; when none were given there (then read in place or rearranged in the scratch)
  /// or for reads_weights().
  const float* weights = nullptr;
  const float* residual = nullptr;  ///< for Epilogue::residual; laid out as the output, may be the output
  const float* scale = nullptr;     ///< for Prologue::runtime_scale; [batch, in_channels]
};

/// A prepared convolution. `run` is const and may be called from several threads with different scratch.
/// Sums are f32 in blocks of some hundred terms: error as in Gemm with k = in_channels / groups * taps, that
/// of Strassen's form with positions for rows and channels for columns, that of matrix_tiles.h, ten times
/// that of plain sums where Winograd's algorithm serves (1e-6 to 3e-6 relative L2 measured against double,
/// 512 channels). Bits do not depend on the number of threads.
class Convolution {
 public:
  Convolution() = default;
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
  virtual ~Convolution() = default;

  /// For profiles: "matrix_tiles", "pointwise", "implicit_gemm", "direct", "direct_channels", "small_plane",
  /// "tap_by_tap", "winograd_2x2", "winograd_4x4", "winograd_2x2_compact", "winograd_4x4_compact",
  /// "winograd_4x1", "winograd_1x4" (tiles of a column or of a row), "winograd_dilated",
  /// "winograd_dilated_compact", "integer_pointwise", "integer_implicit_gemm", "integer_direct",
  /// "integer_channels", "integer_tiles", "depthwise", "depthwise_channels", "full", "reference",
  /// "phased_convolution", "columns", "strassen", "strassen_twice".
  [[nodiscard]] virtual std::string_view algorithm() const = 0;
  /// Bytes that `scratch` must have; any alignment. May be 0.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Whether `run` reads constant weights from its argument.
  [[nodiscard]] virtual bool reads_weights() const { return false; }
  /// out [batch, out_channels, out_dims...], which of the inputs may be the residual only; levels in the
  /// place of floats for Epilogue::levels, which are no input's memory.
  virtual void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const = 0;
};

/// What an algorithm is expected to take.
struct ConvolutionAlgorithm {
  std::string_view name;
  double cycles = 0;             ///< about; of one core, for all images and groups
  std::size_t weight_bytes = 0;  ///< of constant weights in the form that it keeps them in
};

/// The algorithms for a geometry, the one that is expected to be the fastest first; some may turn out not to
/// take it after all. Empty where only "reference" does.
std::vector<ConvolutionAlgorithm> convolution_algorithms(const ConvolutionParams& params,
                                                         bool constant_weights);

/// What create_convolution may know of quantised convolutions (ConvolutionParams::integers): whether constant
/// weights are integers, where `image` says that the image is. nullptr where they are not, or where it would
/// not help: depthwise, a single output position.
std::shared_ptr<const IntegerWeights> integer_filters(const ConvolutionParams& params,
                                                      const ConstantWeights& weights,
                                                      const IntegerGrid& image);

/// Prepares a convolution for the SIMD target of the moment. `weights` [out_channels, in_channels / groups,
/// kernel...] (for GroupConvolution: its [G, O, I, ...] memory, which is the same) are packed and not needed
/// again, unless they may stay; nullptr: they come with every run. Whatever the geometry, there may be a
/// prologue. `algorithm` is one of convolution_algorithms(), and nullptr is returned when it does not take
/// the geometry; "": a cost model chooses. Definition: Convolution-1 and GroupConvolution-1.
std::unique_ptr<Convolution> create_convolution(const ConvolutionParams& params,
                                                const ConstantWeights& weights, const Epilogue& epilogue,
                                                const Prologue& prologue = {},
                                                std::string_view algorithm = {});

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_H_
