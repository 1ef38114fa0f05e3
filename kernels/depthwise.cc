// Convolution with one input channel per group: too little arithmetic for a matrix product. A staged piece of
// the channel is walked row by row with vectors along the width.
#include <algorithm>
#include <vector>

#include "kernels/aligned_floats.h"
#include "kernels/convolution_geometry.h"
#include "kernels/convolution_staging.h"
#include "kernels/depthwise_kernels.h"
#include "kernels/gemm_block.h"
#include "kernels/task_queue.h"

namespace ir::kernels {
namespace {

// A block's staging should stay in the first-level cache.
constexpr std::size_t kBlockOutputs = 6144;
constexpr std::size_t kLongestRow = 2048;
// Rows that are sooner staged as they are than thinned out by a stride of 2.
constexpr std::size_t kShortRow = 16;

class DepthwiseConvolution final : public Convolution {
 public:
  DepthwiseConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        step_(geometry.axes[2].stride == 2 && geometry.axes[2].out <= kShortRow ? 2 : 1),
        multiply_(depthwise_kernel(step_)),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        columns_(geometry.axes[2].out, kLongestRow),
        rows_(geometry.axes[1].out,
              std::max<std::size_t>(
                  1, kBlockOutputs / std::clamp<std::size_t>(geometry.axes[2].out, 1, kLongestRow))),
        staging_(staged_geometry(), 1, largest(rows_), samples(largest(columns_))),
        staged_floats_(round_up_to_line(staging_.floats())) {
    if (!is_feasible()) return;
    for (std::size_t depth = 0; depth < geometry.axes[0].out; ++depth) {
      for (std::size_t row_block = 0; row_block < rows_.parts; ++row_block) {
        for (std::size_t column_block = 0; column_block < columns_.parts; ++column_block)
          blocks_.push_back(planned(depth, row_block, column_block));
      }
    }
    tasks_ = geometry.batch * geometry.groups * blocks_.size();
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(tasks_, 1));
    if (weights != nullptr) {
      weights_.assign(weights, weights + geometry.groups * geometry.out_channels * geometry.taps());
    }
  }

  std::string_view algorithm() const override { return "depthwise"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * staged_floats_); }

  void run(const float* image, const float* weights, const float* residual, float* out,
           std::byte* scratch) const override {
    if (tasks_ == 0 || geometry_.out_channels == 0) return;
    const Call call{image, weights_.empty() ? weights : weights_.data(),
                    epilogue_.residual() ? residual : nullptr, out};
    // Vectors, and the trouble of every row.
    const std::size_t cost =
        largest(rows_) *
        (divide_up(largest(columns_), kernels_.lanes) * (geometry_.out_channels * geometry_.taps() + 4) + 8);
    float* const floats = aligned_scratch(scratch);
    for_each_task(tasks_, cost, geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t worker) {
                    float* const staged = floats + worker * staged_floats_;
                    std::size_t block = begin % blocks_.size();
                    std::size_t plane = begin / blocks_.size();
                    for (std::size_t task = begin; task < end; ++task) {
                      convolve(call, blocks_[block], plane, staged);
                      if (++block < blocks_.size()) continue;
                      block = 0;
                      ++plane;
                    }
                  });
  }

  [[nodiscard]] bool is_feasible() const { return staged_floats_ <= kStagingLimit; }

 private:
  struct Call {
    const float* image;
    const float* weights;
    const float* residual;
    float* out;
  };

  struct PlannedBlock {
    OutputBlock outputs;
    std::size_t origin = 0;  ///< in the output volume of a channel
    std::vector<StagedCopy> copies;
  };

  static std::size_t largest(const Split& split) {
    return split.parts == 0 ? 0 : divide_up(split.total, split.parts);
  }

  /// Columns are staged as they lie side by side, and kernels step over those that a stride of 2 leaves out.
  [[nodiscard]] ConvolutionGeometry staged_geometry() const {
    ConvolutionGeometry geometry = geometry_;
    if (step_ == 2) geometry.axes[2].stride = 1;
    return geometry;
  }
  /// Staged columns, besides those that taps add; rows of an even length can be summed as one run.
  [[nodiscard]] std::size_t samples(std::size_t columns) const {
    const std::size_t reach = (geometry_.axes[2].kernel - 1) * geometry_.axes[2].dilation;
    return step_ == 1 ? columns : 2 * columns + reach % 2;
  }

  [[nodiscard]] PlannedBlock planned(std::size_t depth, std::size_t row_block,
                                     std::size_t column_block) const {
    const OutputBlock block{{rows_.begin(row_block), rows_.size(row_block), columns_.begin(column_block),
                             columns_.size(column_block)},
                            depth};
    const std::size_t origin =
        (depth * geometry_.axes[1].out + block.row) * geometry_.axes[2].out + block.column;
    OutputBlock staged = block;
    staged.column *= step_;
    staged.columns = samples(block.columns);
    return {block, origin, staging_.copies(staged)};
  }

  /// One block of the output planes of one input channel, which is `plane` counted over the batch.
  void convolve(const Call& call, const PlannedBlock& block, std::size_t plane, float* staged) const {
    const float* const image = call.image + plane * geometry_.in_size();
    for (const StagedCopy& copy : block.copies) staging_.run(kernels_, copy, image, 1, staged);
    Tile tile;
    tile.stride = geometry_.axes[2].out;
    tile.columns = block.outputs.columns;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    std::size_t channel = plane % geometry_.groups * geometry_.out_channels;
    for (std::size_t o = 0; o < geometry_.out_channels; ++o, ++channel) {
      const std::size_t origin = (plane * geometry_.out_channels + o) * geometry_.out_size() + block.origin;
      tile.out = call.out + origin;
      tile.residual = call.residual == nullptr ? nullptr : call.residual + origin;
      tile.row_bias = epilogue_.bias() == nullptr ? nullptr : epilogue_.bias() + channel;
      multiply_(staging_.origin(staged), staging_.row_stride(), staging_.offsets().data(),
                call.weights + channel * geometry_.taps(), geometry_.taps(), block.outputs.rows, tile);
      epilogue_.post(tile.out, tile.stride, block.outputs.rows, block.outputs.columns);
    }
  }

  const GemmKernels& kernels_;
  std::size_t step_;
  DepthwiseKernel multiply_;
  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  Split columns_;
  Split rows_;
  ImageStaging staging_;
  std::size_t staged_floats_;
  std::vector<PlannedBlock> blocks_;  ///< of one channel
  std::size_t tasks_ = 0;
  std::vector<float> weights_;
};

}  // namespace

std::unique_ptr<Convolution> create_depthwise_convolution(const ConvolutionGeometry& geometry,
                                                          const float* weights, const Epilogue& epilogue) {
  auto convolution = std::make_unique<DepthwiseConvolution>(geometry, weights, epilogue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
