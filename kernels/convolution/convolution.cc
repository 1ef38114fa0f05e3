#include "kernels/convolution/convolution.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_around.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_nd.h"
#include "kernels/convolution/convolution_prologue.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/strassen/gemm_strassen.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {
namespace {

class FullConvolution final : public Convolution {
 public:
  /// A hook by channel is called here: channels are columns to the product.
  FullConvolution(const ConvolutionGeometry& geometry, std::unique_ptr<Gemm> gemm, const Epilogue& by_channel)
      : batch_(geometry.batch),
        channels_(geometry.out_channels),
        gemm_(std::move(gemm)),
        by_channel_(by_channel, 0) {}
  std::string_view algorithm() const override { return "full"; }
  std::size_t scratch_bytes() const override { return gemm_->scratch_bytes(); }
  bool reads_weights() const override { return gemm_->reads_constant(); }
  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    gemm_->run(in.image, in.weights, in.residual, out, scratch);
    for (std::size_t n = 0; n < batch_; ++n)
      by_channel_.post_channels(out + n * channels_, 1, channels_, 1, 0);
  }

 private:
  std::size_t batch_;
  std::size_t channels_;
  std::unique_ptr<Gemm> gemm_;
  OwnedEpilogue by_channel_;
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
  void run(const ConvolutionInputs& in, float* out, std::byte*) const override {
    // The residual may be `out`, which the convolution overwrites.
    const std::size_t count = params_.batch * params_.out_channels * out_size_;
    std::vector<float> kept;
    if (epilogue_.residual()) kept.assign(in.residual, in.residual + count);
    convolution_nd(params_, in.image, weights_.empty() ? in.weights : weights_.data(), out);
    for (std::size_t i = 0; i < count; ++i) {
      float value = out[i];
      if (epilogue_.bias() != nullptr) value += epilogue_.bias()[i / out_size_ % params_.out_channels];
      if (epilogue_.residual()) value += kept[i];
      if (value < epilogue_.low()) value = epilogue_.low();
      if (value > epilogue_.high()) value = epilogue_.high();
      out[i] = value;
    }
    const std::size_t channels = params_.out_channels;
    for (std::size_t n = 0; n < params_.batch; ++n)
      epilogue_.post_channels(out + n * channels * out_size_, out_size_, channels, out_size_, 0);
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
  params.accurate = geometry.accurate;
  params.whole_floats = geometry.whole_floats;
  params.bias_axis = BiasAxis::column;
  params.max_threads = geometry.workers;
  Epilogue of_product = epilogue;
  Epilogue by_channel;
  if (epilogue.post_by_channel) {
    by_channel.post_by_channel = true;
    by_channel.post_context = epilogue.post_context;
    std::swap(by_channel.post, of_product.post);
  }
  return std::make_unique<FullConvolution>(geometry, create_gemm(params, weights, of_product), by_channel);
}

std::unique_ptr<Convolution> create_reference_convolution(const ConvolutionGeometry& geometry,
                                                          const float* weights, const Epilogue& epilogue) {
  return std::make_unique<ReferenceConvolution>(geometry, weights, epilogue);
}

namespace {

/// How an algorithm rounds more often than the definition does.
enum class Roundings {
  none,
  of_parts,  ///< it multiplies parts of floats
  of_sums,   ///< it adds up operands before it multiplies them
};

/// Which weights an algorithm takes.
enum class Weights { any, constant };

/// An algorithm that create_convolution chooses from.
struct Algorithm {
  std::string_view name;
  Weights weights;
  /// See convolution_cost.h. kCannotServe, or nothing created: the algorithm does not take the geometry.
  double (*cost)(const ConvolutionGeometry& geometry);
  std::unique_ptr<Convolution> (*create)(const ConvolutionGeometry& geometry, const ConstantWeights& weights,
                                         const Epilogue& epilogue, const Prologue& prologue);
  /// Weights of a group that it keeps when they are constant; nullptr: as many as there are.
  std::size_t (*kept_weights)(const ConvolutionGeometry& geometry) = nullptr;
  Roundings roundings = Roundings::none;
  /// It writes levels for Epilogue::levels, where there is no residual, and reads what takes_levels() allows.
  bool knows_levels = false;
};

double full_cost(const ConvolutionGeometry& geometry) {
  return geometry.groups == 1 && geometry.is_full() ? 0 : kCannotServe;
}
double depthwise_cost(const ConvolutionGeometry& geometry) {
  if (geometry.in_channels != 1 || geometry.groups == 1) return kCannotServe;
  constexpr std::size_t kFew = 2;  // channels that nothing else does as fast
  if (geometry.out_channels <= kFew) return 0;
  // Each channel loads its samples anew.
  const double of_tap = geometry.axes[2].stride == 1 ? 0.6 : 1.8;  // of a vector of outputs
  constexpr double kVector = 2.5;                                  // of the same, besides its taps
  const std::size_t rows = geometry.axes[1].out * geometry.out_channels;
  const std::size_t vectors = rows * divide_up(geometry.axes[2].out, gemm_kernels().lanes);
  return static_cast<double>(vectors) * (of_tap * static_cast<double>(geometry.taps()) + kVector);
}
double pointwise_cost(const ConvolutionGeometry& geometry) {
  return geometry.is_pointwise() ? gemm_convolution_cost(geometry) : kCannotServe;
}
double implicit_gemm_cost(const ConvolutionGeometry& geometry) {
  return geometry.is_pointwise() ? kCannotServe : gemm_convolution_cost(geometry);
}
/// A function of a geometry that wants to know which form of an algorithm it is about, too.
template <auto kFunction, auto kForm>
auto of_form(const ConvolutionGeometry& geometry) {
  return kFunction(geometry, kForm);
}

/// Creators that know no prologue; takes_prologue() says which geometries have one to be known.
template <auto kCreate>
std::unique_ptr<Convolution> create(const ConvolutionGeometry& geometry, const ConstantWeights& weights,
                                    const Epilogue& epilogue, const Prologue&) {
  return kCreate(geometry, weights.floats(), epilogue);
}
template <auto kCreate, auto kForm>
std::unique_ptr<Convolution> create_form(const ConvolutionGeometry& geometry, const ConstantWeights& weights,
                                         const Epilogue& epilogue, const Prologue&) {
  return kCreate(geometry, kForm, weights.floats(), epilogue);
}
/// Those that know some.
template <auto kCreate>
std::unique_ptr<Convolution> create_with_prologue(const ConvolutionGeometry& geometry,
                                                  const ConstantWeights& weights, const Epilogue& epilogue,
                                                  const Prologue& prologue) {
  return kCreate(geometry, weights.floats(), epilogue, prologue);
}

/// One form of an algorithm that rounds more often; without `kKeptWeights` it keeps as many as there are.
template <auto kForm, auto kCost, auto kCreate, auto... kKeptWeights>
constexpr Algorithm rounding_form(std::string_view name) {
  Algorithm algorithm{name,    Weights::constant, of_form<kCost, kForm>, create_form<kCreate, kForm>,
                      nullptr, Roundings::of_sums};
  if constexpr (sizeof...(kKeptWeights) != 0) algorithm.kept_weights = (of_form<kKeptWeights, kForm>, ...);
  return algorithm;
}
template <std::size_t kOutputs>
constexpr Algorithm winograd(std::string_view name) {
  return rounding_form<kOutputs, winograd_convolution_cost, create_winograd_convolution,
                       winograd_convolution_weights>(name);
}
template <std::size_t kOutputs>
constexpr Algorithm compact_winograd(std::string_view name) {
  return rounding_form<kOutputs, compact_winograd_cost, create_compact_winograd>(name);
}
template <FilterForm kFilters>
constexpr Algorithm dilated_winograd(std::string_view name) {
  return rounding_form<kFilters, dilated_winograd_cost, create_dilated_winograd, dilated_winograd_weights>(
      name);
}
template <std::size_t kSlices>
std::unique_ptr<Convolution> create_slices(const ConvolutionGeometry& geometry,
                                           const ConstantWeights& weights, const Epilogue& epilogue,
                                           const Prologue& prologue) {
  if (!prologue.is_empty()) return nullptr;
  return create_strassen_convolution(geometry, kSlices, weights.floats(), epilogue);
}
template <std::size_t kForm>
constexpr Algorithm strassen() {
  constexpr StrassenForm form = kStrassenForms[kForm];
  return {form.name,
          Weights::constant,
          of_form<strassen_convolution_cost, form.slices>,
          create_slices<form.slices>,
          nullptr,
          Roundings::of_sums};
}
template <TileAxes kAxes>
constexpr Algorithm winograd_lines(std::string_view name) {
  return {name,
          Weights::constant,
          of_form<winograd_lines_convolution_cost, kAxes>,
          create<create_winograd_lines_convolution>,
          of_form<winograd_lines_convolution_weights, kAxes>,
          Roundings::of_sums};
}

/// Names of algorithms for integers, each after the one that it runs for pairs.
inline constexpr char kIntegerPointwise[] = "integer_pointwise";
inline constexpr char kIntegerImplicitGemm[] = "integer_implicit_gemm";
inline constexpr char kIntegerDirect[] = "integer_direct";
inline constexpr char kIntegerChannels[] = "integer_channels";

template <const auto& kName, auto kCreate>
std::unique_ptr<Convolution> create_integers(const ConvolutionGeometry& geometry,
                                             const ConstantWeights& weights, const Epilogue& epilogue,
                                             const Prologue& prologue) {
  return create_integer_convolution(kName, geometry, weights, epilogue, prologue, kCreate);
}
template <auto kCost>
double of_integers(const ConvolutionGeometry& geometry) {
  return integer_convolution_cost(geometry, kCost);
}
template <const auto& kName, auto kCost, auto kCreate>
constexpr Algorithm integer() {
  return {.name = kName,
          .weights = Weights::constant,
          .cost = of_integers<kCost>,
          .create = create_integers<kName, kCreate>,
          .kept_weights = integer_convolution_weights,
          .knows_levels = true};
}

/// Names as Convolution::algorithm() gives them. Of equal costs the first one wins.
constexpr std::array kAlgorithms{
    Algorithm{"full", Weights::any, full_cost, create<create_full_convolution>},
    Algorithm{"depthwise_channels", Weights::constant, depthwise_channels_cost,
              create<create_depthwise_channels>},
    Algorithm{"depthwise", Weights::any, depthwise_cost, create<create_depthwise_convolution>},
    Algorithm{"small_plane", Weights::constant, small_plane_convolution_cost,
              create_with_prologue<create_small_plane_convolution>},
    Algorithm{"pointwise", Weights::any, pointwise_cost, create_with_prologue<create_gemm_convolution>},
    Algorithm{"implicit_gemm", Weights::any, implicit_gemm_cost,
              create_with_prologue<create_gemm_convolution>},
    Algorithm{"direct", Weights::constant, direct_convolution_cost,
              create_with_prologue<create_direct_convolution>},
    Algorithm{"direct_channels", Weights::constant, direct_channels_cost, create<create_direct_channels>},
    Algorithm{"tap_by_tap", Weights::constant, tap_by_tap_convolution_cost,
              create<create_tap_by_tap_convolution>},
    Algorithm{kMatrixTiles, Weights::constant, tiles_convolution_cost,
              create_with_prologue<create_tiles_convolution>, tiles_convolution_weights, Roundings::of_parts},
    strassen<0>(),
    strassen<1>(),
    winograd<2>("winograd_2x2"),
    winograd<4>("winograd_4x4"),
    compact_winograd<2>("winograd_2x2_compact"),
    compact_winograd<4>("winograd_4x4_compact"),
    integer<kIntegerPointwise, pointwise_cost, create_gemm_convolution>(),
    integer<kIntegerImplicitGemm, implicit_gemm_cost, create_gemm_convolution>(),
    integer<kIntegerDirect, direct_convolution_cost, create_direct_convolution>(),
    integer<kIntegerChannels, integer_channels_cost, create_integer_channels>(),
    Algorithm{.name = kIntegerTiles,
              .weights = Weights::constant,
              .cost = integer_tiles_cost,
              .create = create_integer_tiles,
              .kept_weights = integer_tiles_weights,
              .knows_levels = true},
    winograd_lines<TileAxes::vertical>("winograd_4x1"),
    winograd_lines<TileAxes::horizontal>("winograd_1x4"),
    dilated_winograd<FilterForm::transformed>("winograd_dilated"),
    dilated_winograd<FilterForm::compact>("winograd_dilated_compact"),
};

struct PricedAlgorithm {
  double cost = 0;
  const Algorithm* algorithm = nullptr;
};

/// Those that serve, the cheapest first; of that name, unless it is "".
std::vector<PricedAlgorithm> algorithms_for(const ConvolutionGeometry& geometry, bool constant_weights,
                                            std::string_view name = {}) {
  std::vector<PricedAlgorithm> found;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (!name.empty() && algorithm.name != name) continue;
    if (algorithm.weights == Weights::constant && !constant_weights) continue;
    if (geometry.accurate && algorithm.roundings != Roundings::none) continue;
    double cost = algorithm.cost(geometry);
    if (algorithm.roundings == Roundings::of_sums && geometry.whole_floats) cost *= kPriceOfSums;
    if (cost != kCannotServe) found.push_back({cost, &algorithm});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const PricedAlgorithm& a, const PricedAlgorithm& b) { return a.cost < b.cost; });
  return found;
}

/// With no more workers than there is work for, which algorithms cut outputs for.
ConvolutionGeometry with_busy_workers(ConvolutionGeometry geometry) {
  const std::size_t outputs =
      geometry.batch * geometry.groups * geometry.out_channels * geometry.out_size() / gemm_kernels().lanes;
  // What depthwise convolution does besides multiplying counts more.
  if (geometry.in_channels > 1) {
    geometry.workers = threads_for_cost(outputs * geometry.in_channels * geometry.taps(), geometry.workers);
  }
  return geometry;
}

/// For what no algorithm takes.
constexpr Algorithm kReference{"reference", Weights::any, nullptr, create<create_reference_convolution>};

/// By an algorithm, which may know floats only.
std::unique_ptr<Convolution> create_with_levels(const Algorithm& algorithm, ConvolutionGeometry geometry,
                                                const ConstantWeights& weights, Epilogue epilogue,
                                                const Prologue& prologue) {
  ChannelQuantization image;
  ChannelQuantization results;
  if (!algorithm.knows_levels || !takes_levels(geometry)) image = std::exchange(geometry.image_levels, {});
  if (!algorithm.knows_levels || epilogue.residual) results = std::exchange(epilogue.levels, {});
  auto convolution = algorithm.create(geometry, weights, epilogue, prologue);
  if (convolution == nullptr || (image.empty() && results.empty())) return convolution;
  return create_convolution_of_levels(geometry, image, results, std::move(convolution));
}

/// The algorithm of that name, or for "" the cheapest one.
std::unique_ptr<Convolution> create_for(const ConvolutionGeometry& geometry, const ConstantWeights& weights,
                                        const Epilogue& epilogue, const Prologue& prologue,
                                        std::string_view name) {
  if (!prologue.is_empty() && !takes_prologue(geometry, prologue)) {
    auto convolution = create_for(geometry, weights, epilogue, {}, name);
    return convolution == nullptr ? nullptr
                                  : create_convolution_after(prologue, geometry, std::move(convolution));
  }
  for (const auto& [cost, algorithm] : algorithms_for(geometry, weights.are_known(), name)) {
    if (auto convolution = create_with_levels(*algorithm, geometry, weights, epilogue, prologue))
      return convolution;
  }
  if (!name.empty()) return nullptr;
  return create_with_levels(kReference, geometry, weights, epilogue, prologue);
}

/// Taps along each axis: all, or those from `first` on.
struct TapRange {
  std::array<std::size_t, 3> first{};
  std::array<std::size_t, 3> count{1, 1, 1};
};

/// Leaves out taps that find nothing but padding for every output, such as all but the middle one of a
/// dilation larger than the image.
TapRange taps_with_work(const ConvolutionParams& params) {
  TapRange taps;
  for (std::size_t i = 0; i < params.spatial_rank; ++i) {
    const ConvolutionAxis axis{params.in_dims[i], params.out_dims[i],  params.kernel[i],
                               params.strides[i], params.dilations[i], params.pads_begin[i]};
    const auto sees = [&](std::size_t tap) { return outputs_inside(axis, tap).count() != 0; };
    std::size_t last = params.kernel[i];
    while (taps.first[i] + 1 < last && !sees(taps.first[i])) ++taps.first[i];
    while (last - 1 > taps.first[i] && !sees(last - 1)) --last;
    taps.count[i] = last - taps.first[i];
  }
  return taps;
}

ConvolutionParams with_taps(ConvolutionParams params, const TapRange& taps) {
  for (std::size_t i = 0; i < params.spatial_rank; ++i) {
    if (taps.count[i] == params.kernel[i]) continue;
    params.integers = nullptr;
    params.kernel[i] = taps.count[i];
    params.pads_begin[i] -= static_cast<std::ptrdiff_t>(taps.first[i] * params.dilations[i]);
    if (taps.count[i] == 1) params.dilations[i] = 1;
  }
  return params;
}

/// The weights of these taps; `params` are those of all.
AlignedFloats weights_of(const ConvolutionParams& params, const TapRange& taps, const float* weights) {
  std::array<std::size_t, 3> kernel{1, 1, 1};
  std::copy_n(params.kernel.begin(), params.spatial_rank, kernel.begin());
  const auto& [first, count] = taps;
  // What is kept of a filter; neighbouring lines are one run.
  std::vector<IndexRange> runs;
  for (std::size_t z = first[0]; z < first[0] + count[0]; ++z) {
    for (std::size_t y = first[1]; y < first[1] + count[1]; ++y) {
      const std::size_t begin = (z * kernel[1] + y) * kernel[2] + first[2];
      if (runs.empty() || runs.back().end != begin) runs.push_back({begin, begin});
      runs.back().end = begin + count[2];
    }
  }
  const std::size_t all = kernel[0] * kernel[1] * kernel[2];
  const std::size_t kept = count[0] * count[1] * count[2];
  const std::size_t filters = params.out_channels * (params.in_channels / params.groups);
  AlignedFloats result(filters * kept);
  const auto source = [&](std::size_t filter) { return weights + filter * all; };
  pack_in_pieces(filters, source, [&](std::size_t piece, std::size_t piece_end) {
    parallel_for(piece_end - piece, grain_for_cost(kept), [&](std::size_t begin, std::size_t end) {
      float* to = result.data() + (piece + begin) * kept;
      for (const float* filter = source(piece + begin); filter != source(piece + end); filter += all) {
        for (const IndexRange& run : runs) to = std::copy_n(filter + run.begin, run.count(), to);
      }
    });
  });
  return result;
}

/// The way in which weights_of makes them.
PackedForm way_of(const ConvolutionParams& params, const TapRange& taps) {
  PackedForm way{"taps", {}, {params.spatial_rank, params.out_channels, params.in_channels, params.groups}};
  for (const auto& numbers : {params.kernel, taps.first, taps.count})
    way.numbers.insert(way.numbers.end(), numbers.begin(), numbers.end());
  return way;
}

/// The geometry that is left when the weights are known.
ConvolutionParams with_constant_weights(const ConvolutionParams& params) {
  return ConvolutionGeometry(params).out_size() == 0 ? params : with_taps(params, taps_with_work(params));
}

}  // namespace

std::vector<ConvolutionAlgorithm> convolution_algorithms(const ConvolutionParams& params,
                                                         bool constant_weights) {
  const ConvolutionGeometry geometry(constant_weights ? with_constant_weights(params) : params);
  // Costs are of a depth slice of a group.
  const auto slices = static_cast<double>(geometry.planes());
  const std::size_t weights = geometry.out_channels * geometry.in_channels * geometry.taps();
  std::vector<ConvolutionAlgorithm> algorithms;
  for (const auto& [cost, algorithm] : algorithms_for(geometry, constant_weights)) {
    const std::size_t kept = algorithm->kept_weights != nullptr ? algorithm->kept_weights(geometry) : weights;
    algorithms.push_back({algorithm->name, cost * slices, geometry.groups * kept * sizeof(float)});
  }
  return algorithms;
}

std::unique_ptr<Convolution> create_convolution(const ConvolutionParams& params,
                                                const ConstantWeights& weights, const Epilogue& epilogue,
                                                const Prologue& prologue, std::string_view algorithm) {
  const ConvolutionGeometry given = with_busy_workers(ConvolutionGeometry(params));
  if (!weights.are_known() || given.out_size() == 0)
    return create_for(given, weights, epilogue, prologue, algorithm);
  const TapRange taps = taps_with_work(params);
  ConvolutionParams seen = with_taps(params, taps);
  if (seen.kernel == params.kernel) return create_for(given, weights, epilogue, prologue, algorithm);
  seen.weights_stay = false;
  const float* const all = weights.floats();
  const AlignedFloats kept = weights_of(params, taps, all);
  const ConvolutionGeometry geometry = with_busy_workers(ConvolutionGeometry(seen));
  const MadeOfConstant made({kept.data(), geometry.weight_count()}, {all, given.weight_count()},
                            way_of(params, taps));
  return create_for(geometry, kept.data(), epilogue, prologue, algorithm);
}

}  // namespace ir::kernels
