#include "kernels/convolution_prologue.h"

#include <utility>

#include "kernels/aligned_floats.h"
#include "kernels/parallel.h"

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

}  // namespace

OwnedPrologue::OwnedPrologue(const Prologue& prologue, std::size_t channels)
    : channels_(channels), repeats_scale_(prologue.repeats_scale), low_(prologue.low), high_(prologue.high) {
  if (prologue.is_empty()) return;
  if (prologue.scale != nullptr) {
    scale_.assign(prologue.scale, prologue.scale + channels);
  } else if (!prologue.runtime_scale) {
    scale_.assign(channels, 1.0F);
  }
  if (prologue.shift != nullptr) {
    shift_.assign(prologue.shift, prologue.shift + channels);
  } else {
    shift_.assign(channels, 0.0F);
  }
}

bool takes_prologue(const ConvolutionGeometry& geometry, const Prologue& prologue) {
  const bool packs = !(geometry.groups == 1 && geometry.is_full()) && geometry.in_channels != 1;
  return geometry.is_pointwise() && packs && !prologue.repeats_image;
}

std::unique_ptr<Convolution> create_convolution_after(const Prologue& prologue,
                                                      const ConvolutionGeometry& geometry,
                                                      std::unique_ptr<Convolution> convolution) {
  return std::make_unique<ConvolutionAfterPrologue>(prologue, geometry, std::move(convolution));
}

}  // namespace ir::kernels
