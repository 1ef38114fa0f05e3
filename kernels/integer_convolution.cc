// Convolutions of which image and weights are integers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/convolution_cost.h"
#include "kernels/convolution_geometry.h"
#include "kernels/convolution_prologue.h"
#include "kernels/integer_kernels.h"

namespace ir::kernels {
namespace {

/// The image turned into pairs, in scratch, before `convolution` gets it.
class IntegerConvolution final : public Convolution {
 public:
  IntegerConvolution(std::string_view algorithm, const ConvolutionGeometry& geometry,
                     std::unique_ptr<Convolution> convolution)
      : algorithm_(algorithm),
        channels_(geometry.in_channels),
        row_floats_(geometry.in_size()),
        groups_(geometry.batch * geometry.groups),
        per_unit_(geometry.integers->per_unit()),
        convolution_(std::move(convolution)) {}

  std::string_view algorithm() const override { return algorithm_; }
  std::size_t scratch_bytes() const override { return image_bytes() + convolution_->scratch_bytes(); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const image = aligned_scratch(scratch);
    parallel_for(groups_ * pairs(), grain_for_cost(row_floats_), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t channel = 2 * (i % pairs());
        const float* const even = in.image + (i / pairs() * channels_ + channel) * row_floats_;
        const float* const odd = channel + 1 < channels_ ? even + row_floats_ : nullptr;
        pair_integers(even, odd, per_unit_, row_floats_, image + i * row_floats_);
      }
    });
    convolution_->run({image, nullptr, in.residual}, out, scratch + image_bytes());
  }

 private:
  /// Of a group.
  [[nodiscard]] std::size_t pairs() const { return divide_up(channels_, 2); }
  [[nodiscard]] std::size_t image_bytes() const { return scratch_bytes_for(groups_ * pairs() * row_floats_); }

  std::string_view algorithm_;
  std::size_t channels_;  ///< of a group
  std::size_t row_floats_;
  std::size_t groups_;  ///< of all images
  float per_unit_;
  std::unique_ptr<Convolution> convolution_;
};

/// The geometry that the products see.
ConvolutionGeometry paired(const ConvolutionGeometry& geometry) {
  ConvolutionGeometry pairs = geometry;
  pairs.in_channels = divide_up(geometry.in_channels, 2);
  pairs.weights_stay = false;
  pairs.integers = nullptr;
  pairs.are_pairs = true;
  return pairs;
}

/// Whether no output sees padding.
bool sees_image_only(const ConvolutionGeometry& geometry) {
  return std::all_of(geometry.axes.begin(), geometry.axes.end(), [](const ConvolutionAxis& axis) {
    return outputs_inside(axis, 0).count() == axis.out &&
           outputs_inside(axis, axis.kernel - 1).count() == axis.out;
  });
}

/// The grid with steps so much finer that a level is 0, nearly; none if 16 bits do not hold it.
std::optional<IntegerGrid> through_zero(const IntegerGrid& grid) {
  // In steps of the grid. Results miss as much of a weight where there is padding.
  constexpr float kMostOffset = 0x1p-12F;
  constexpr float kMostValue = std::numeric_limits<std::int16_t>::max();
  const float offset = grid.offset / grid.step;
  const float most = std::max(grid.most, 1.0F) + std::abs(offset);
  for (float finer = 1; most * finer <= kMostValue; ++finer) {
    const float rest = offset * finer - std::nearbyint(offset * finer);
    if (std::abs(rest) <= kMostOffset * finer)
      return IntegerGrid{grid.step / finer, most * finer, rest * grid.step / finer};
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const IntegerWeights> integer_filters(const ConvolutionParams& params, const float* weights,
                                                      const IntegerGrid& image) {
  const ConvolutionGeometry geometry(params);
  const bool is_depthwise = geometry.in_channels == 1 && geometry.groups > 1;
  if (is_depthwise || geometry.is_full() || geometry.is_empty()) return nullptr;
  std::optional<IntegerGrid> grid = image;
  // Padding is 0, and may be no integer then.
  if (image.offset != 0 && !sees_image_only(geometry)) grid = through_zero(image);
  if (!grid) return nullptr;
  return IntegerWeights::find(params.out_channels, geometry.in_channels * geometry.taps(), weights, *grid);
}

double integer_convolution_cost(const ConvolutionGeometry& geometry,
                                double (*cost)(const ConvolutionGeometry& geometry)) {
  // Fewer positions leave most of a vector of them empty: there channels are columns, which pairs know not.
  constexpr std::size_t kLeastPlane = 6;
  const std::size_t plane = geometry.axes[1].out * geometry.axes[2].out;
  if (geometry.integers == nullptr || plane < kLeastPlane) return kCannotServe;
  const ConvolutionGeometry pairs = paired(geometry);
  const std::size_t vectors = divide_up(pairs.in_channels * geometry.in_size(), gemm_kernels().lanes);
  return cost_of_pairs(cost(pairs), vectors);
}

std::size_t integer_convolution_weights(const ConvolutionGeometry& geometry) {
  const ConvolutionGeometry pairs = paired(geometry);
  return pairs.out_channels * pairs.in_channels * pairs.taps();
}

std::unique_ptr<Convolution> create_integer_convolution(
    std::string_view algorithm, const ConvolutionGeometry& geometry, const float* weights,
    const Epilogue& epilogue, const Prologue& prologue,
    std::unique_ptr<Convolution> (*create)(const ConvolutionGeometry& geometry, const float* weights,
                                           const Epilogue& epilogue, const Prologue& prologue)) {
  if (geometry.integers == nullptr || !prologue.is_empty()) return nullptr;
  const IntegerEpilogue of_integers(epilogue, *geometry.integers);
  const AlignedFloats pairs = geometry.integers->pairs(geometry.in_channels, geometry.taps(), weights);
  auto convolution = create(paired(geometry), pairs.data(), of_integers.get(), {});
  if (convolution == nullptr) return nullptr;
  return std::make_unique<IntegerConvolution>(algorithm, geometry, std::move(convolution));
}

}  // namespace ir::kernels
