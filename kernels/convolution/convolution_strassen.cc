// A 1x1 convolution as a product in Strassen's form: positions are rows, which lie side by side, and channels
// columns, whose results are turned round at last.
#include <memory>
#include <utility>

#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm.h"
#include "kernels/strassen/gemm_strassen.h"

namespace ir::kernels {
namespace {

/// Of one image.
GemmParams product_of(const ConvolutionGeometry& geometry) {
  GemmParams params;
  params.m = geometry.out_size();
  params.n = geometry.out_channels;
  params.k = geometry.in_channels;
  params.transpose_a = true;
  params.transpose_b = true;
  params.constant = GemmConstant::b;
  params.max_threads = geometry.workers;
  return params;
}

bool takes(const ConvolutionGeometry& geometry, std::size_t slices) {
  return geometry.groups == 1 && geometry.is_pointwise() && takes_strassen(product_of(geometry), slices);
}

class StrassenConvolution final : public Convolution {
 public:
  StrassenConvolution(const ConvolutionGeometry& geometry, std::unique_ptr<Gemm> gemm)
      : images_(geometry.batch),
        image_floats_(geometry.in_channels * geometry.in_size()),
        out_floats_(geometry.out_channels * geometry.out_size()),
        gemm_(std::move(gemm)) {}
  std::string_view algorithm() const override { return gemm_->algorithm(); }
  std::size_t scratch_bytes() const override { return gemm_->scratch_bytes(); }
  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    for (std::size_t i = 0; i < images_; ++i) {
      const float* const residual = in.residual == nullptr ? nullptr : in.residual + i * out_floats_;
      gemm_->run(in.image + i * image_floats_, nullptr, residual, out + i * out_floats_, scratch);
    }
  }

 private:
  std::size_t images_;
  std::size_t image_floats_;
  std::size_t out_floats_;
  std::unique_ptr<Gemm> gemm_;
};

}  // namespace

double strassen_convolution_cost(const ConvolutionGeometry& geometry, std::size_t slices) {
  if (!takes(geometry, slices)) return kCannotServe;
  constexpr double kTurning = 0.6;  // cycles for one float of the result
  // Threads, which make sums of their own, share the gain less well than the work; where positions are few,
  // worse.
  constexpr std::size_t kFew = 64;
  const GemmParams params = product_of(geometry);
  constexpr Fitted<double> kOfFew{1.05, 1.05, 1, 1};
  constexpr Fitted<double> kOfMany{1.02, 1.02, 0.97, 0.97};
  const double penalty = (params.m < kFew ? kOfFew : kOfMany).here();
  return penalty * strassen_gemm_cost(params, slices) + kTurning * static_cast<double>(params.m * params.n) +
         with_weights(0, params.k * params.n);
}

std::unique_ptr<Convolution> create_strassen_convolution(const ConvolutionGeometry& geometry,
                                                         std::size_t slices, const float* weights,
                                                         const Epilogue& epilogue) {
  if (weights == nullptr || !takes(geometry, slices)) return nullptr;
  return std::make_unique<StrassenConvolution>(
      geometry, create_turned_strassen_gemm(product_of(geometry), weights, epilogue, slices));
}

}  // namespace ir::kernels
