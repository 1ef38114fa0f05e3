// Convolutions of which image and weights are integers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_prologue.h"
#include "kernels/convolution/image_lanes.h"
#include "kernels/elementwise/fake_quantize.h"
#include "kernels/matmul/integer_kernels.h"

namespace ir::kernels {
namespace {

/// The image turned into lanes, in scratch, before `convolution` gets it.
class IntegerConvolution final : public Convolution {
 public:
  IntegerConvolution(std::string_view algorithm, const ConvolutionGeometry& geometry,
                     std::unique_ptr<Convolution> convolution)
      : algorithm_(algorithm),
        group_size_(geometry.in_channels * geometry.in_size()),
        row_floats_(geometry.in_size()),
        groups_(geometry.batch * geometry.groups),
        image_(*geometry.integers, geometry.in_channels, !geometry.image_levels.empty()),
        convolution_(std::move(convolution)) {}

  std::string_view algorithm() const override { return algorithm_; }
  std::size_t scratch_bytes() const override { return image_bytes() + convolution_->scratch_bytes(); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const image = aligned_scratch(scratch);
    const std::size_t lanes = image_.lanes();
    parallel_for(groups_ * lanes, grain_for_cost(row_floats_), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        image_.join(in.image, i / lanes * group_size_, row_floats_, i % lanes, i % lanes + 1, row_floats_,
                    image + i * row_floats_, row_floats_);
      }
    });
    convolution_->run({image, nullptr, in.residual}, out, scratch + image_bytes());
  }

 private:
  [[nodiscard]] std::size_t image_bytes() const {
    return scratch_bytes_for(groups_ * image_.lanes() * row_floats_);
  }

  std::string_view algorithm_;
  std::size_t group_size_;  ///< elements of the image
  std::size_t row_floats_;
  std::size_t groups_;  ///< of all images
  ImageLanes image_;
  std::unique_ptr<Convolution> convolution_;
};

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
  const float most = std::max({std::abs(grid.low), std::abs(grid.high), 1.0F}) + std::abs(offset);
  for (float finer = 1; most * finer <= kMostValue; ++finer) {
    const float whole = std::nearbyint(offset * finer);
    const float rest = offset * finer - whole;
    if (std::abs(rest) <= kMostOffset * finer) {
      return IntegerGrid{grid.step / finer, grid.low * finer + whole, grid.high * finer + whole,
                         rest * grid.step / finer};
    }
  }
  return std::nullopt;
}

}  // namespace

bool multiplies_integers(const ConvolutionGeometry& geometry) {
  // Fewer positions leave most of a vector of them empty; with vectors of channels they gain nothing either.
  constexpr std::size_t kLeastPlane = 6;
  return geometry.integers != nullptr && geometry.axes[1].out * geometry.axes[2].out >= kLeastPlane;
}

ConvolutionGeometry with_lanes(const ConvolutionGeometry& geometry) {
  ConvolutionGeometry lanes = geometry;
  lanes.lanes = geometry.integers->form();
  lanes.in_channels =
      divide_up(geometry.in_channels + geometry.integers->more_terms(), lane_terms(lanes.lanes));
  lanes.padding = geometry.integers->zero();
  lanes.weights_stay = false;
  lanes.integers = nullptr;
  return lanes;
}

std::shared_ptr<const IntegerWeights> integer_filters(const ConvolutionParams& params,
                                                      const ConstantWeights& weights,
                                                      const IntegerGrid& image) {
  const ConvolutionGeometry geometry(params);
  const bool is_depthwise = geometry.in_channels == 1 && geometry.groups > 1;
  if (is_depthwise || geometry.is_full() || geometry.is_empty()) return nullptr;
  std::optional<IntegerGrid> grid = image;
  const bool padding = !sees_image_only(geometry);
  // Padding is 0, and may be no integer then.
  if (image.offset != 0 && padding) {
    auto with_border = IntegerWeights::find_with_border(params.out_channels, geometry.in_channels,
                                                        geometry.taps(), weights, image);
    if (with_border != nullptr) return with_border;
    grid = through_zero(image);
  }
  if (!grid) return nullptr;
  return IntegerWeights::find(params.out_channels, geometry.in_channels * geometry.taps(), weights, *grid,
                              padding ? Around::zeros : Around::nothing);
}

bool takes_levels(const IntegerWeights* integers, ChannelQuantization image) {
  if (integers == nullptr || image.size() != 1) return false;
  if (image[0].out_range <= 0) return false;  // the largest level is the least value
  const auto grid = integer_grid(image[0]);
  const LaneMap& map = integers->values();
  return grid && map.form == LaneForm::quads && map.per_unit == 1 / grid->step && map.base == grid->low;
}

double integer_convolution_cost(const ConvolutionGeometry& geometry,
                                double (*cost)(const ConvolutionGeometry& geometry)) {
  if (!multiplies_integers(geometry)) return kCannotServe;
  const ConvolutionGeometry lanes = with_lanes(geometry);
  const std::size_t vectors = divide_up(lanes.in_channels * geometry.in_size(), gemm_kernels().lanes);
  return cost_of_integers(lanes.lanes, cost(lanes), vectors);
}

std::size_t integer_convolution_weights(const ConvolutionGeometry& geometry) {
  const ConvolutionGeometry lanes = with_lanes(geometry);
  return lanes.out_channels * lanes.in_channels * lanes.taps();
}

std::unique_ptr<Convolution> create_integer_convolution(
    std::string_view algorithm, const ConvolutionGeometry& geometry, const ConstantWeights& weights,
    const Epilogue& epilogue, const Prologue& prologue,
    std::unique_ptr<Convolution> (*create)(const ConvolutionGeometry& geometry, const float* weights,
                                           const Epilogue& epilogue, const Prologue& prologue)) {
  if (geometry.integers == nullptr || !prologue.is_empty()) return nullptr;
  const IntegerEpilogue of_integers(epilogue, *geometry.integers, geometry.in_channels * geometry.taps(),
                                    weights);
  const AlignedFloats filters = geometry.integers->lanes(geometry.in_channels, geometry.taps(), weights);
  auto convolution = create(with_lanes(geometry), filters.data(), of_integers.get(), {});
  if (convolution == nullptr) return nullptr;
  return std::make_unique<IntegerConvolution>(algorithm, geometry, std::move(convolution));
}

}  // namespace ir::kernels
