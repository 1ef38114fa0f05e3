// Convolutions around others, which know less: of what a prologue makes of images, and of images and results
// that are levels of a quantisation.
#include "kernels/convolution/convolution_around.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

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

class ConvolutionOfLevels final : public Convolution {
 public:
  ConvolutionOfLevels(const ConvolutionGeometry& geometry, const Quantization* image,
                      const Quantization* results, std::unique_ptr<Convolution> convolution)
      : image_count_(geometry.batch * geometry.groups * geometry.in_channels * geometry.in_size()),
        result_count_(geometry.batch * geometry.groups * geometry.out_channels * geometry.out_size()),
        convolution_(std::move(convolution)) {
    if (image != nullptr) image_ = *image;
    if (results != nullptr) results_ = *results;
  }

  std::string_view algorithm() const override { return convolution_->algorithm(); }
  std::size_t scratch_bytes() const override {
    return image_bytes() + result_bytes() + convolution_->scratch_bytes();
  }
  bool reads_weights() const override { return convolution_->reads_weights(); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    ConvolutionInputs floats = in;
    if (image_) {
      const auto* const levels = reinterpret_cast<const std::uint8_t*>(in.image);
      float* const image = aligned_scratch(scratch);
      in_pieces(image_count_, [&](std::size_t first, std::size_t count) {
        values_of_span(*image_, levels + first, image + first, count);
      });
      floats.image = image;
    }
    float* const results = results_ ? aligned_scratch(scratch + image_bytes()) : out;
    convolution_->run(floats, results, scratch + image_bytes() + result_bytes());
    if (!results_) return;
    auto* const levels = reinterpret_cast<std::uint8_t*>(out);
    in_pieces(result_count_, [&](std::size_t first, std::size_t count) {
      levels_of_span(*results_, results + first, levels + first, count);
    });
  }

 private:
  [[nodiscard]] std::size_t image_bytes() const { return image_ ? scratch_bytes_for(image_count_) : 0; }
  [[nodiscard]] std::size_t result_bytes() const { return results_ ? scratch_bytes_for(result_count_) : 0; }

  template <class Piece>
  static void in_pieces(std::size_t count, const Piece& piece) {
    constexpr std::size_t kPiece = 4096;
    parallel_for(divide_up(count, kPiece), grain_for_cost(kPiece), [&](std::size_t begin, std::size_t end) {
      piece(begin * kPiece, std::min(end * kPiece, count) - begin * kPiece);
    });
  }

  std::size_t image_count_;
  std::size_t result_count_;
  std::optional<Quantization> image_;
  std::optional<Quantization> results_;
  std::unique_ptr<Convolution> convolution_;
};

}  // namespace

std::unique_ptr<Convolution> create_convolution_after(const Prologue& prologue,
                                                      const ConvolutionGeometry& geometry,
                                                      std::unique_ptr<Convolution> convolution) {
  return std::make_unique<ConvolutionAfterPrologue>(prologue, geometry, std::move(convolution));
}

std::unique_ptr<Convolution> create_convolution_of_levels(const ConvolutionGeometry& geometry,
                                                          const Quantization* image,
                                                          const Quantization* results,
                                                          std::unique_ptr<Convolution> convolution) {
  return std::make_unique<ConvolutionOfLevels>(geometry, image, results, std::move(convolution));
}

}  // namespace ir::kernels
