// Convolution where many taps of many outputs meet padding: dilations as large as the image, small planes.
// FilterTap by tap, the outputs that see the image there get what the tap adds to them; what would be zero is
// not computed. The image is turned so that channels are innermost: then the rows of the product, one per
// output, are read in place, wherever stride and dilation put them.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/convolution/filter_tap.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/convolution/product_sharing.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packing_pieces.h"

namespace ir::kernels {
namespace {

/// Outputs of a block, and about how many sums of them and channels stay in the second-level cache.
constexpr std::size_t kMostPositions = 256;
constexpr std::size_t kMostSums = std::size_t{1} << 16;
/// Floats of images that are turned at a time.
constexpr std::size_t kMostTurned = std::size_t{1} << 22;

/// Samples of a channel that are turned at a time.
constexpr std::size_t kTurnedSamples = 128;

/// Terms of weights that are turned at a time.
constexpr std::size_t kPackedTerms = 16;

std::size_t image_floats_of(const ConvolutionGeometry& geometry) {
  return geometry.groups * geometry.in_channels * geometry.in_size();
}

class TapByTapConvolution final : public Convolution {
 public:
  TapByTapConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        depths_(geometry.in_channels, kernels_.block_depth),
        channels_(kernels_.column_panels(geometry.out_channels)),
        images_(std::clamp<std::size_t>(kMostTurned / image_floats(), 1, geometry.batch)),
        positions_(images_ * geometry.out_size(), kMostPositions) {
    for_each_tap(geometry, [&](const FilterTap& tap) { taps_.push_back(tap); });
    share_out();
    const std::size_t most = kMostSums / (most_positions() * kernels_.max_vectors * kernels_.lanes);
    shares_.parts = std::max(shares_.parts, divide_up(channels_.parts, std::max<std::size_t>(most, 1)));
    geometry_.workers = std::min(geometry.workers, positions_.parts * geometry.groups * shares_.parts);
    for (std::size_t share = 0; share < shares_.parts; ++share)
      result_floats_ = std::max(result_floats_, round_up_to_line(most_positions() * width(share)));
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return "tap_by_tap"; }
  std::size_t scratch_bytes() const override {
    return scratch_bytes_for(turned_floats() + geometry_.workers * slot_floats());
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const turned = aligned_scratch(scratch);
    for (std::size_t image = 0; image < geometry_.batch; image += images_) {
      const std::size_t images = std::min(images_, geometry_.batch - image);
      turn(in.image + image * image_floats(), images, turned);
      const std::size_t origin = image * out_floats();
      convolve({turned, epilogue_.residual() ? in.residual + origin : nullptr, out + origin, images},
               turned + turned_floats());
    }
  }

 private:
  [[nodiscard]] std::size_t slot_floats() const { return worker_stride(geometry_.workers, result_floats_); }

  struct Call {
    const float* turned;
    const float* residual;
    float* out;
    std::size_t images;
  };

  void share_out() {
    const std::size_t groups = positions_.parts * geometry_.groups;
    const std::size_t parts = even_parts(groups, geometry_.workers);
    const SharedProduct product{taps_.size() * geometry_.in_channels, most_positions(),
                                geometry_.out_channels, geometry_.in_channels * geometry_.in_size(), parts};
    if (product.is_cut_by_outputs(kernels_)) {
      positions_.parts *= parts;
      shares_ = fewest_parts(channels_.parts, 1, 1);
    } else {
      channels_ = even_panels(channels_, groups, geometry_.workers);
      shares_ = fewest_parts(channels_.parts, groups, geometry_.workers);
    }
  }

  [[nodiscard]] std::size_t image_floats() const { return image_floats_of(geometry_); }
  [[nodiscard]] std::size_t out_floats() const {
    return geometry_.groups * geometry_.out_channels * geometry_.out_size();
  }
  [[nodiscard]] std::size_t turned_floats() const { return round_up_to_line(images_ * image_floats()); }
  [[nodiscard]] std::size_t most_positions() const { return positions_.largest(); }
  [[nodiscard]] std::size_t padded_channels() const { return kernels_.padded(geometry_.out_channels); }
  [[nodiscard]] std::size_t first_channel(std::size_t panel) const {
    return channels_.begin(panel) * kernels_.lanes;
  }
  /// Channels of a share, padded to whole vectors.
  [[nodiscard]] std::size_t width(std::size_t share) const {
    return first_channel(shares_.begin(share + 1)) - first_channel(shares_.begin(share));
  }

  /// [group][block of in channels][tap][panel of out channels][in channel][out channel]
  void pack_weights(const float* weights) {
    const std::size_t taps = taps_.size();
    const std::size_t group_floats = padded_channels() * geometry_.in_channels * taps;
    const PackedForm form{"tap_by_tap", {&kernels_}, {channels_.parts}};
    packed_weights_ = packed_filters(geometry_, weights, form, geometry_.groups * group_floats,
                                     [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* to) const {
    const std::size_t taps = taps_.size();
    const std::size_t group_floats = padded_channels() * geometry_.in_channels * taps;
    const std::size_t filter_floats = geometry_.in_channels * taps;
    const auto source = [&](std::size_t i) {
      const std::size_t channel = first_channel(i % channels_.parts);
      return weights + (i / channels_.parts * geometry_.out_channels + channel) * filter_floats;
    };
    pack_in_pieces(geometry_.groups * channels_.parts, source, [&](std::size_t first, std::size_t last) {
      parallel_for((last - first) * depths_.parts, 1, [&](std::size_t begin, std::size_t end) {
        AlignedFloats turned(kernels_.max_vectors * kernels_.lanes * kPackedTerms * taps);
        for (std::size_t task = begin; task < end; ++task) {
          const std::size_t i = first + task / depths_.parts;
          const std::size_t k = depths_.begin(task % depths_.parts);
          pack_panel(source(i) + k * taps, i % channels_.parts, task % depths_.parts, turned.data(),
                     to + i / channels_.parts * group_floats + padded_channels() * k * taps);
        }
      });
    });
  }

  /// A panel of output channels of a block of input channels.
  void pack_panel(const float* from, std::size_t panel, std::size_t block, float* turned, float* to) const {
    const std::size_t taps = taps_.size();
    const std::size_t depth = depths_.size(block);
    const std::size_t channel = first_channel(panel);
    const std::size_t count = std::min(first_channel(panel + 1), geometry_.out_channels) - channel;
    const std::size_t row = channels_.size(panel) * kernels_.lanes;
    for (std::size_t k = 0; k < depth; k += kPackedTerms) {
      const std::size_t terms = std::min(kPackedTerms, depth - k);
      kernels_.pack_columns_transposed(from + k * taps, geometry_.in_channels * taps, terms * taps, count,
                                       turned);
      for (std::size_t term = 0; term < terms; ++term) {
        for (std::size_t tap = 0; tap < taps; ++tap) {
          std::copy_n(turned + (term * taps + tap) * row, row,
                      to + (tap * padded_channels() + channel) * depth + (k + term) * row);
        }
      }
    }
  }

  /// Images to [image][group][block of channels][sample][channel].
  void turn(const float* from, std::size_t images, float* to) const {
    const std::size_t samples = geometry_.in_size();
    // Channels are often pages apart: of each, several lines are read at a time.
    const Split pieces(samples, kTurnedSamples);
    const std::size_t tasks = images * geometry_.groups * depths_.parts * pieces.parts;
    parallel_for(tasks, grain_for_cost(kTurnedSamples * kernels_.block_depth),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t task = begin; task < end; ++task) {
                     const std::size_t piece = task % pieces.parts;
                     const std::size_t first = pieces.begin(piece);
                     const std::size_t block = task / pieces.parts % depths_.parts;
                     const std::size_t group = task / pieces.parts / depths_.parts;
                     const std::size_t depth = depths_.size(block);
                     const std::size_t origin =
                         (group * geometry_.in_channels + depths_.begin(block)) * samples;
                     kernels_.pack_rows(from + origin + first, samples, 1, pieces.size(piece), {depth, depth},
                                        to + origin + first * depth);
                   }
                 });
  }

  void convolve(const Call& call, float* results) const {
    const Split positions(call.images * geometry_.out_size(), most_positions());
    const std::size_t cost = most_positions() * geometry_.in_channels * taps_.size() *
                             divide_up(padded_channels(), shares_.parts) / kernels_.lanes;
    for_each_task(positions.parts * geometry_.groups * shares_.parts, cost, geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t worker) {
                    for (std::size_t task = begin; task < end; ++task) {
                      const std::size_t block = task / shares_.parts / geometry_.groups;
                      add_up(call, {positions.begin(block), positions.begin(block + 1)},
                             task / shares_.parts % geometry_.groups, task % shares_.parts,
                             results + worker * slot_floats());
                    }
                  });
  }

  /// One share of the output channels of a group for some outputs, counted over the images.
  void add_up(const Call& call, const IndexRange& positions, std::size_t group, std::size_t share,
              float* result) const {
    const std::size_t row = width(share);
    std::fill_n(result, positions.count() * row, 0.0F);
    std::array<RowPlace, kMostPositions> rows;
    for (std::size_t block = 0; block < depths_.parts; ++block) {
      const std::size_t depth = depths_.size(block);
      const std::size_t first = group * geometry_.in_channels + depths_.begin(block);
      const float* weights = packed_weights_.get() + padded_channels() * first * taps_.size();
      for (const FilterTap& tap : taps_) {
        const Split panels(rows_of(tap, positions, depth, row, rows.data()), kernels_.max_rows);
        if (panels.parts != 0)
          multiply(depth, call.turned + first * geometry_.in_size(), rows.data(), panels,
                   {weights, next_of_share(tap, block, share, weights)}, share, result);
        weights += padded_channels() * depth;
      }
    }
    finish(call, positions, group, share, result);
  }

  /// Of one tap and block of input channels.
  struct TapWeights {
    const float* panels = nullptr;
    const float* next_of_share = nullptr;  ///< the same share's of the next tap
  };
  /// Nothing new at the end.
  [[nodiscard]] const float* next_of_share(const FilterTap& tap, std::size_t block, std::size_t share,
                                           const float* weights) const {
    const std::size_t depth = depths_.size(block);
    const bool is_last_tap = &tap == &taps_.back();
    if (is_last_tap && block + 1 == depths_.parts) return weights;
    const std::size_t next_depth = is_last_tap ? depths_.size(block + 1) : depth;
    return weights + padded_channels() * depth + first_channel(shares_.begin(share)) * next_depth;
  }

  /// Adds what a tap gives for `panels` of rows.
  void multiply(std::size_t depth, const float* image, const RowPlace* rows, const Split& panels,
                const TapWeights& weights, std::size_t share, float* result) const {
    Tile tile;
    for (std::size_t part = shares_.begin(share); part < shares_.begin(share + 1); ++part) {
      const std::size_t channel = first_channel(part);
      const std::size_t end = first_channel(part + 1);
      tile.out = result + channel - first_channel(shares_.begin(share));
      // Every panel of outputs fetches its share of the next panel of weights.
      tile.fetch_step = divide_up(end - channel, panels.parts);
      const bool is_last = part + 1 == shares_.begin(share + 1);
      const float* const next = is_last ? weights.next_of_share : weights.panels + end * depth;
      const std::size_t vectors = channels_.size(part);
      PartWalk places(panels);
      for (std::size_t panel = 0; panel < panels.parts; ++panel, places.next()) {
        tile.fetch = next + panel * tile.fetch_step * depth;
        kernels_.placed[places.size() - 1][vectors - 1](depth, image, rows + places.begin(),
                                                        weights.panels + channel * depth, tile);
      }
    }
  }

  /// The outputs among `positions` that see the image at a tap; returns their number. `depth` is the distance
  /// of samples, `width` that of results.
  std::size_t rows_of(const FilterTap& tap, const IndexRange& positions, std::size_t depth, std::size_t width,
                      RowPlace* rows) const {
    const auto& axes = geometry_.axes;
    std::size_t count = 0;
    // Output lines, of all depths and images, that the positions touch.
    for (std::size_t line = positions.begin / axes[2].out; line * axes[2].out < positions.end; ++line) {
      const std::size_t y = line % axes[1].out;
      const std::size_t z = line / axes[1].out % axes[0].out;
      if (!tap.outputs[0].holds(z) || !tap.outputs[1].holds(y)) continue;
      const std::size_t origin = line * axes[2].out;
      const std::size_t begin = std::max(origin + tap.outputs[2].begin, positions.begin);
      const std::size_t end = std::min(origin + tap.outputs[2].end, positions.end);
      const std::ptrdiff_t sample =
          tap.first +
          static_cast<std::ptrdiff_t>((z * axes[0].stride * axes[1].in + y * axes[1].stride) * axes[2].in);
      const std::size_t from = line / axes[1].out / axes[0].out * image_floats();
      for (std::size_t position = begin; position < end; ++position) {
        const auto x = static_cast<std::ptrdiff_t>((position - origin) * axes[2].stride);
        rows[count++] = {from + static_cast<std::size_t>(sample + x) * depth,
                         (position - positions.begin) * width};
      }
    }
    return count;
  }

  void finish(const Call& call, const IndexRange& positions, std::size_t group, std::size_t share,
              const float* result) const {
    const std::size_t plane = geometry_.out_size();
    const std::size_t row = width(share);
    const std::size_t channel = first_channel(shares_.begin(share));
    const std::size_t count = std::min(geometry_.out_channels, channel + row) - channel;
    Tile tile;
    tile.stride = plane;
    const std::size_t group_channel = group * geometry_.out_channels + channel;
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + group_channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    for (std::size_t position = positions.begin; position < positions.end; position += tile.columns) {
      const std::size_t image = position / plane;
      const std::size_t end = std::min(positions.end, (image + 1) * plane);
      tile.columns = std::min(end - position, GemmKernels::kPlaneLimit);
      const std::size_t origin =
          ((image * geometry_.groups + group) * geometry_.out_channels + channel) * plane + position % plane;
      tile.out = call.out + origin;
      if (call.residual != nullptr) tile.residual = call.residual + origin;
      kernels_.finish_transposed(result + (position - positions.begin) * row, row, count, tile);
      epilogue_.post_channels(tile.out, plane, count, tile.columns, group_channel);
    }
  }

  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  std::vector<FilterTap> taps_;
  Split depths_;    ///< of input channels
  Split channels_;  ///< of vectors of output channels
  Split shares_;    ///< of panels of them
  std::size_t images_;
  Split positions_;  ///< of outputs of that many images
  std::size_t result_floats_ = 0;
  PackedFloats packed_weights_;
};

/// Pointwise geometries may have a prologue, and no tap that misses the image. Images that are as large as
/// the limit would take much memory and gain little.
bool serves(const ConvolutionGeometry& geometry) {
  return geometry.batch != 0 && !geometry.is_empty() && !geometry.is_pointwise() &&
         image_floats_of(geometry) <= kStagingLimit;
}

}  // namespace

double tap_by_tap_convolution_cost(const ConvolutionGeometry& geometry) {
  if (!serves(geometry)) return kCannotServe;
  // Next to the others, which pack panels; to turn an image for a single tap is more of the whole.
  constexpr Fitted<double> kOfOne{0.98, 0.98, 1.03, 1.02};
  constexpr Fitted<double> kOfSeveral{0.95, 0.95, 0.99, 1.01};
  const double of_product = (geometry.taps() == 1 ? kOfOne : kOfSeveral).here();
  constexpr Fitted<double> kTile{28, 28, 50, 2};  // of a register tile, however few its terms
  // Of finding an output that a tap reaches, for each block of terms.
  constexpr Fitted<double> kRow{3, 3, 8, 10};
  constexpr Fitted<double> kTurnInFar{2.5, 2.5, 0.9, 0.8};
  const double turn_in = is_far(geometry) ? kTurnInFar.here() : 0.5;  // of one float of the image
  constexpr double kTurnOut = 1;                                      // and of the result
  // The cost of Winograd's algorithm is too high by that for short vectors of Intel's: their products hide
  // more of the weights.
  constexpr Fitted<double> kNextToWinograd{1, 1.12, 1, 1};
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t channels = geometry.out_channels;
  const std::size_t panels = kernels.column_panels(channels).parts;
  const auto terms = static_cast<double>(geometry.in_channels);
  const auto blocks = static_cast<double>(divide_up(geometry.in_channels, kernels.block_depth));
  double cost = 0;
  std::size_t taps = 0;
  // Outputs of all images fill panels together.
  std::size_t rows = 0;
  double of_tap = 0;
  for_each_tap(geometry, [&](const FilterTap& tap) {
    if (tap.count() == 0) return;
    ++taps;
    if (tap.count() * geometry.batch != rows) {
      rows = tap.count() * geometry.batch;
      const std::size_t block = std::min(rows, kMostPositions);
      const double tiles = static_cast<double>(kernels.row_panels(block).parts * panels);
      of_tap = static_cast<double>(rows) / static_cast<double>(block) *
               (of_product * terms * static_cast<double>(kernels.product_cost(block, channels)) +
                blocks * (kTile.here() * tiles + kRow.here() * static_cast<double>(block)));
    }
    cost += of_tap;
  });
  const auto batch = static_cast<double>(geometry.batch);
  if (geometry.is_winograd()) cost *= kNextToWinograd.here();
  cost += batch * (turn_in * terms * static_cast<double>(geometry.in_size()) +
                   kTurnOut * static_cast<double>(channels * geometry.out_size()));
  return with_weights(static_cast<std::size_t>(cost), taps * geometry.in_channels * channels) /
         (batch * static_cast<double>(geometry.axes[0].out));
}

std::unique_ptr<Convolution> create_tap_by_tap_convolution(const ConvolutionGeometry& geometry,
                                                           const float* weights, const Epilogue& epilogue) {
  if (weights == nullptr || !serves(geometry)) return nullptr;
  return std::make_unique<TapByTapConvolution>(geometry, weights, epilogue);
}

}  // namespace ir::kernels
