// Copies the part of an image that a block of outputs sees, so that stride and padding are gone: afterwards a
// tap is an offset, and neighbouring outputs of a row read neighbouring floats. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_STAGING_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/function_ref.h"

namespace ir::kernels {

/// Floats of staging beyond which a geometry is so sparse that staging makes no sense.
inline constexpr std::size_t kStagingLimit = std::size_t{1} << 24;

/// How one axis is staged. Slot s holds, for q = 0, 1, .., the samples (first_out + q) * stride + start[s] -
/// pad. A tap reads its slot from q = shift on.
struct AxisStaging {
  std::vector<std::size_t> start;  ///< per slot
  std::vector<std::size_t> slot;   ///< per tap
  std::vector<std::size_t> shift;  ///< per tap
  std::size_t max_shift = 0;

  /// Whether there are two slots, which share all samples between them.
  [[nodiscard]] bool is_paired() const { return start.size() == 2 && start[0] == 0 && start[1] == 1; }

  /// For blocks of up to `outputs` outputs. Taps share a slot when their distance is a multiple of the
  /// stride, unless they are so far apart that what lies between them would be copied for nothing.
  AxisStaging(const ConvolutionAxis& axis, std::size_t outputs);
};

/// Floats that are staged for the whole plane of a depth slice of a group.
std::size_t staged_plane(const ConvolutionGeometry& geometry);

/// A rectangle of outputs in one depth slice.
struct OutputBlock : PlaneBlock {
  std::size_t depth = 0;
};

/// Rows that go from a channel to its staging together.
struct StagedCopy {
  StagedRows rows;
  std::size_t from = 0;  ///< where the first row begins in the channel
  std::size_t to = 0;    ///< and in its staging
};

class ImageStaging {
 public:
  /// For up to `channels` channels and blocks of up to `rows` x `columns` outputs.
  ImageStaging(const ConvolutionGeometry& geometry, std::size_t channels, std::size_t rows,
               std::size_t columns);

  /// Size of the staging buffer, with the margins that vector loads may touch.
  [[nodiscard]] std::size_t floats() const { return margin_ * 2 + channels_ * channel_stride_; }
  /// Where output (0, 0) of a block finds channel c at tap t: origin()[offsets()[c * taps + t]]; output (r,
  /// x) adds r * row_stride() + x.
  [[nodiscard]] const std::vector<std::int32_t>& offsets() const { return offsets_; }
  [[nodiscard]] std::size_t row_stride() const { return row_stride_; }
  [[nodiscard]] std::size_t channel_stride() const { return channel_stride_; }
  [[nodiscard]] const float* origin(const float* buffer) const { return buffer + margin_; }

  /// Fills `buffer` from `channels` consecutive channels that start at `image`.
  void stage(const GemmKernels& kernels, const float* image, std::size_t channels, const OutputBlock& block,
             float* buffer) const {
    for_each_copy(block, [&](const StagedCopy& copy) { run(kernels, copy, image, channels, buffer); });
  }
  /// The same of a pointwise geometry, with a function of each channel on the way.
  void stage_mapped(const GemmKernels& kernels, const float* image, std::size_t channels,
                    const OutputBlock& block, const TermMap& map, float* buffer) const {
    kernels.map_rows(image + block.column, geometry_.in_size(), channels, block.columns, map,
                     buffer + margin_, channel_stride_);
  }
  /// What `stage` does for a block of a plane, to be run for many images and depth slices: there may be more
  /// slices than memory for a list of each. Empty where lists would become long: no limit knows of them.
  [[nodiscard]] std::vector<StagedCopy> copies(const PlaneBlock& block);
  /// The same as `stage`, with the `copies` of the block.
  void stage_copies(const GemmKernels& kernels, const std::vector<StagedCopy>& copies, const float* image,
                    std::size_t channels, const OutputBlock& block, float* buffer) const;

  /// The pieces of the `count` outputs from `first` on, in row-major order of a block `columns` wide: at most
  /// `count`; returns their number.
  std::size_t pieces(std::size_t columns, std::size_t first, std::size_t count, Piece* pieces) const;

 private:
  void for_each_copy(const OutputBlock& block, FunctionRef<void(const StagedCopy&)> use) const;
  void run(const GemmKernels& kernels, const StagedCopy& copy, const float* image, std::size_t channels,
           float* buffer) const {
    kernels.stage_rows(image + copy.from, copy.rows, {channels, geometry_.in_size(), channel_stride_},
                       buffer + margin_ + copy.to);
  }

  ConvolutionGeometry geometry_;
  AxisStaging vertical_;
  AxisStaging horizontal_;
  IndexRange slices_;  ///< of outputs, for which copies differ by where they begin in the image
  std::size_t channels_;
  std::size_t margin_ = 2 * GemmKernels::kLanesLimit;
  // A slot of both axes is a plane, so that nothing but shifts lies between rows of outputs.
  std::size_t row_stride_;
  std::size_t column_slot_stride_;
  std::size_t row_slot_stride_;
  std::size_t depth_stride_;
  std::size_t channel_stride_;
  std::vector<std::int32_t> offsets_;
  std::size_t copies_left_ = 2048;  ///< that lists may still have
};

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_STAGING_H_
