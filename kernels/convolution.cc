#include "kernels/convolution.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/convolution_geometry.h"
#include "kernels/convolution_nd.h"
#include "kernels/gemm.h"
#include "kernels/gemm_block.h"

namespace ir::kernels {
namespace {

class FullConvolution final : public Convolution {
 public:
  explicit FullConvolution(std::unique_ptr<Gemm> gemm) : gemm_(std::move(gemm)) {}
  std::string_view algorithm() const override { return "full"; }
  std::size_t scratch_bytes() const override { return gemm_->scratch_bytes(); }
  bool reads_weights() const override { return gemm_->reads_constant(); }
  void run(const float* image, const float* weights, const float* residual, float* out,
           std::byte* scratch) const override {
    gemm_->run(image, weights, residual, out, scratch);
  }

 private:
  std::unique_ptr<Gemm> gemm_;
};

/// For geometries that no fast algorithm takes.
class ReferenceConvolution final : public Convolution {
 public:
  ReferenceConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : epilogue_(epilogue, geometry.groups * geometry.out_channels), out_size_(geometry.out_size()) {
    params_.batch = geometry.batch;
    params_.groups = geometry.groups;
    params_.in_channels = geometry.groups * geometry.in_channels;
    params_.out_channels = geometry.groups * geometry.out_channels;
    for (const ConvolutionAxis& axis : geometry.axes) {
      params_.in_dims.push_back(axis.in);
      params_.out_dims.push_back(axis.out);
      params_.kernel.push_back(axis.kernel);
      params_.strides.push_back(axis.stride);
      params_.dilations.push_back(axis.dilation);
      params_.data_dilations.push_back(1);
      params_.pads_begin.push_back(axis.pad);
    }
    if (weights != nullptr) {
      weights_.assign(weights, weights + params_.out_channels * geometry.in_channels * geometry.taps());
    }
  }
  std::string_view algorithm() const override { return "reference"; }
  std::size_t scratch_bytes() const override { return 0; }
  void run(const float* image, const float* weights, const float* residual, float* out,
           std::byte*) const override {
    // The residual may be `out`, which the convolution overwrites.
    const std::size_t count = params_.batch * params_.out_channels * out_size_;
    std::vector<float> kept;
    if (epilogue_.residual()) kept.assign(residual, residual + count);
    convolution_nd(params_, image, weights_.empty() ? weights : weights_.data(), out);
    for (std::size_t i = 0; i < count; ++i) {
      float value = out[i];
      if (epilogue_.bias() != nullptr) value += epilogue_.bias()[i / out_size_ % params_.out_channels];
      if (epilogue_.residual()) value += kept[i];
      if (value < epilogue_.low()) value = epilogue_.low();
      if (value > epilogue_.high()) value = epilogue_.high();
      out[i] = value;
    }
    epilogue_.post(out, count, 1, count);
  }

 private:
  ConvolutionNdParams params_;
  OwnedEpilogue epilogue_;
  std::size_t out_size_;
  std::vector<float> weights_;
};

}  // namespace

std::unique_ptr<Convolution> create_full_convolution(const ConvolutionGeometry& geometry,
                                                     const float* weights, const Epilogue& epilogue) {
  GemmParams params;
  params.m = geometry.batch;
  params.n = geometry.out_channels;
  params.k = geometry.in_channels * geometry.taps();
  params.transpose_b = true;
  params.constant = weights != nullptr ? GemmConstant::b : GemmConstant::none;
  params.constant_stays = geometry.weights_stay;
  params.bias_axis = BiasAxis::column;
  params.max_threads = geometry.workers;
  return std::make_unique<FullConvolution>(create_gemm(params, weights, epilogue));
}

std::unique_ptr<Convolution> create_reference_convolution(const ConvolutionGeometry& geometry,
                                                          const float* weights, const Epilogue& epilogue) {
  return std::make_unique<ReferenceConvolution>(geometry, weights, epilogue);
}

namespace {

/// Drops taps that find nothing but padding for every output, such as all but the middle one of a dilation
/// larger than the image. Returns the weights that are left, or none when all of them are.
std::vector<float> drop_idle_taps(ConvolutionParams& params, const float* weights) {
  std::array<std::size_t, 3> first{};
  std::array<std::size_t, 3> kernel{1, 1, 1};
  std::array<std::size_t, 3> old_kernel{1, 1, 1};
  for (std::size_t i = 0; i < params.spatial_rank; ++i) {
    const auto sees = [&](std::size_t tap) {
      const std::ptrdiff_t from =
          static_cast<std::ptrdiff_t>(tap * params.dilations[i]) - params.pads_begin[i];
      return from < static_cast<std::ptrdiff_t>(params.in_dims[i]) &&
             from + static_cast<std::ptrdiff_t>((params.out_dims[i] - 1) * params.strides[i]) >= 0;
    };
    std::size_t last = old_kernel[i] = params.kernel[i];
    while (first[i] + 1 < last && !sees(first[i])) ++first[i];
    while (last - 1 > first[i] && !sees(last - 1)) --last;
    kernel[i] = last - first[i];
  }
  if (kernel == old_kernel) return {};
  std::vector<float> kept;
  const std::size_t filters = params.out_channels * (params.in_channels / params.groups);
  kept.reserve(filters * kernel[0] * kernel[1] * kernel[2]);
  for (std::size_t filter = 0; filter < filters; ++filter) {
    for (std::size_t z = first[0]; z < first[0] + kernel[0]; ++z) {
      for (std::size_t y = first[1]; y < first[1] + kernel[1]; ++y) {
        const float* const row = weights + ((filter * old_kernel[0] + z) * old_kernel[1] + y) * old_kernel[2];
        kept.insert(kept.end(), row + first[2], row + first[2] + kernel[2]);
      }
    }
  }
  for (std::size_t i = 0; i < params.spatial_rank; ++i) {
    params.kernel[i] = kernel[i];
    params.pads_begin[i] -= static_cast<std::ptrdiff_t>(first[i] * params.dilations[i]);
    if (kernel[i] == 1) params.dilations[i] = 1;
  }
  return kept;
}

std::unique_ptr<Convolution> choose_convolution(const ConvolutionGeometry& geometry, const float* weights,
                                                const Epilogue& epilogue) {
  std::unique_ptr<Convolution> convolution;
  if (geometry.groups == 1 && geometry.is_full()) {
    convolution = create_full_convolution(geometry, weights, epilogue);
  } else if (geometry.in_channels == 1 && geometry.groups > 1) {
    convolution = create_depthwise_convolution(geometry, weights, epilogue);
  } else {
    convolution = create_winograd_convolution(geometry, weights, epilogue);
    if (convolution == nullptr) convolution = create_small_plane_convolution(geometry, weights, epilogue);
    if (convolution == nullptr) convolution = create_gemm_convolution(geometry, weights, epilogue);
  }
  if (convolution == nullptr) convolution = create_reference_convolution(geometry, weights, epilogue);
  return convolution;
}

}  // namespace

std::unique_ptr<Convolution> create_convolution(const ConvolutionParams& params, const float* weights,
                                                const Epilogue& epilogue) {
  if (weights == nullptr || ConvolutionGeometry(params).out_size() == 0) {
    return choose_convolution(ConvolutionGeometry(params), weights, epilogue);
  }
  ConvolutionParams seen = params;
  const std::vector<float> kept = drop_idle_taps(seen, weights);
  seen.weights_stay = params.weights_stay && kept.empty();
  return choose_convolution(ConvolutionGeometry(seen), kept.empty() ? weights : kept.data(), epilogue);
}

}  // namespace ir::kernels
