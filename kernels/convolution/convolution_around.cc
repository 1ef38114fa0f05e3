// Convolutions around others, which know less: of what a prologue makes of images, and of images and results
// that are levels of a quantisation.
#include "kernels/convolution/convolution_around.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_prologue.h"
#include "kernels/elementwise/fake_quantize.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

class ConvolutionAfterPrologue final : public Convolution {
 public:
  ConvolutionAfterPrologue(const Prologue& prologue, const ConvolutionGeometry& geometry,
                           std::unique_ptr<Convolution> convolution)
      : kernels_(gemm_kernels()),
        channels_(geometry.groups * geometry.in_channels),
        prologue_(prologue, channels_),
        repeats_image_(prologue.repeats_image),
        rows_(geometry.batch * channels_),
        row_floats_(geometry.in_size()),
        convolution_(std::move(convolution)) {}

  std::string_view algorithm() const override { return convolution_->algorithm(); }
  std::size_t scratch_bytes() const override { return image_bytes() + convolution_->scratch_bytes(); }
  bool reads_weights() const override { return convolution_->reads_weights(); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const image = aligned_scratch(scratch);
    parallel_for(rows_, grain_for_cost(row_floats_), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const float* const from = in.image + (repeats_image_ ? row % channels_ : row) * row_floats_;
        kernels_.map_rows(from, row_floats_, 1, row_floats_, prologue_.map(in.scale, row),
                          image + row * row_floats_, row_floats_);
      }
    });
    convolution_->run({image, in.weights, in.residual}, out, scratch + image_bytes());
  }

 private:
  [[nodiscard]] std::size_t image_bytes() const { return scratch_bytes_for(rows_ * row_floats_); }

  const GemmKernels& kernels_;
  std::size_t channels_;
  OwnedPrologue prologue_;
  bool repeats_image_;
  std::size_t rows_;
  std::size_t row_floats_;
  std::unique_ptr<Convolution> convolution_;
};

/// A tensor of levels, or of floats where there is no quantisation.
struct Levels {
  std::vector<Quantization> quantization;
  std::size_t batch;
  std::size_t channels;
  std::size_t size;  ///< of a channel

  [[nodiscard]] bool are_there() const { return !quantization.empty(); }
  /// Of their values.
  [[nodiscard]] std::size_t float_bytes() const {
    return are_there() ? scratch_bytes_for(batch * channels * size) : 0;
  }
  /// piece(quantization, first, count) for all elements.
  template <class Piece>
  void in_pieces(const Piece& piece) const {
    constexpr std::size_t kPiece = 4096;
    const std::size_t rows = quantization.size() == 1 ? 1 : batch * channels;
    const std::size_t row = batch * channels * size / std::max<std::size_t>(rows, 1);
    const std::size_t pieces = divide_up(row, kPiece);
    parallel_for(rows * pieces, grain_for_cost(kPiece), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t first = i % pieces * kPiece;
        piece(of_channel(quantization, i / pieces % channels), i / pieces * row + first,
              std::min(kPiece, row - first));
      }
    });
  }
};

class ConvolutionOfLevels final : public Convolution {
 public:
  ConvolutionOfLevels(Levels image, Levels results, std::unique_ptr<Convolution> convolution)
      : image_(std::move(image)), results_(std::move(results)), convolution_(std::move(convolution)) {}

  std::string_view algorithm() const override { return convolution_->algorithm(); }
  std::size_t scratch_bytes() const override {
    return image_.float_bytes() + results_.float_bytes() + convolution_->scratch_bytes();
  }
  bool reads_weights() const override { return convolution_->reads_weights(); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    ConvolutionInputs floats = in;
    if (image_.are_there()) {
      const auto* const levels = reinterpret_cast<const std::uint8_t*>(in.image);
      float* const image = aligned_scratch(scratch);
      image_.in_pieces([&](const Quantization& of, std::size_t first, std::size_t count) {
        values_of_span(of, levels + first, image + first, count);
      });
      floats.image = image;
    }
    std::byte* const behind = scratch + image_.float_bytes();
    float* const results = results_.are_there() ? aligned_scratch(behind) : out;
    convolution_->run(floats, results, behind + results_.float_bytes());
    if (!results_.are_there()) return;
    auto* const levels = reinterpret_cast<std::uint8_t*>(out);
    results_.in_pieces([&](const Quantization& of, std::size_t first, std::size_t count) {
      levels_of_span(of, results + first, levels + first, count);
    });
  }

 private:
  Levels image_;
  Levels results_;
  std::unique_ptr<Convolution> convolution_;
};

}  // namespace

std::unique_ptr<Convolution> create_convolution_after(const Prologue& prologue,
                                                      const ConvolutionGeometry& geometry,
                                                      std::unique_ptr<Convolution> convolution) {
  return std::make_unique<ConvolutionAfterPrologue>(prologue, geometry, std::move(convolution));
}

std::unique_ptr<Convolution> create_convolution_of_levels(const ConvolutionGeometry& geometry,
                                                          ChannelQuantization image,
                                                          ChannelQuantization results,
                                                          std::unique_ptr<Convolution> convolution) {
  return std::make_unique<ConvolutionOfLevels>(Levels{{image.begin(), image.end()},
                                                      geometry.batch,
                                                      geometry.groups * geometry.in_channels,
                                                      geometry.in_size()},
                                               Levels{{results.begin(), results.end()},
                                                      geometry.batch,
                                                      geometry.groups * geometry.out_channels,
                                                      geometry.out_size()},
                                               std::move(convolution));
}

}  // namespace ir::kernels
