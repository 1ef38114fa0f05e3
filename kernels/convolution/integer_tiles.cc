// Convolution of bytes in matrix tiles. A block of the image is turned, with its padding, so that all
// channels of a sample lie side by side: then rows of a tile are neighbouring positions, a step is a piece of
// a row of taps, wherever it begins, and nothing else is moved. Where outputs are some rows of samples apart,
// those of one phase lie together, so that positions go on from row to row. What lies between rows of outputs
// is multiplied, too, and left out at last.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/base/processor.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/convolution/image_lanes.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/convolution/tile_blocks.h"
#include "kernels/convolution/turned_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kSize = MatrixTiles::kSize;
constexpr std::size_t kWidth = TilePanels::kWidth;

/// Cycles to turn a lane.
constexpr double kTurning = 0.45;

class IntegerTiles final : public Convolution {
 public:
  /// `geometry` is that of lanes; `group_size`: samples of a group of an image.
  IntegerTiles(const ConvolutionGeometry& geometry, ImageLanes image, std::size_t group_size,
               const float* weights, const Epilogue& epilogue)
      : tiles_(*byte_tiles()),
        kernels_(gemm_kernels()),
        geometry_(geometry),
        image_(std::move(image)),
        border_(kTurnedColumns, image_.border_byte()),
        group_size_(group_size),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        cut_(geometry, most_vectors(), {tiles_, TurnedBlock(geometry, 1, 1).steps(), kTurning}),
        turned_(geometry, cut_.plane.max_rows(), cut_.plane.max_columns()) {
    geometry_.workers = cut_.workers;
    for (const Run& run : turned_.runs()) {
      for (std::size_t lane = 0; lane < run.lanes; lane += kSize)
        offsets_.push_back(static_cast<std::int32_t>(run.offset + lane));
    }
    schedule_.depths = Split(offsets_.size(), kMostSteps);
    schedule_.most_panels = kMostPanels;
    const std::size_t positions = TilePanels(cut_.plane.max_rows() * turned_.pitch()).count();
    kept_floats_ = (schedule_.depths.parts == 1 ? 1 : positions) * kWidth * kWidth;
    sum_floats_ = kept_floats_ * schedule_.kept_panels(cut_.channels.count());
    stores_levels_ = epilogue_.wants_levels() && epilogue_.steps_fit() && epilogue_.turn_into_steps();
    if (epilogue_.wants_levels() && !stores_levels_) result_floats_ = kWidth * kWidth;
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return kIntegerTiles; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (cut_.tasks() == 0) return;
    float* const slots = aligned_scratch(scratch);
    const float* const residual = epilogue_.residual() ? in.residual : nullptr;
    for_each_group(cut_.count, cut_.shares.parts, cut_.cost(), geometry_.workers,
                   [&](const GroupRange& range) {
                     float* const slot = slots + range.worker * slot_floats();
                     tiles_.begin();
                     convolve({in.image, residual, out, slot}, range);
                     tiles_.end();
                   });
  }

  /// Whether the turned block stays within bounds that make sense.
  [[nodiscard]] bool is_feasible() const { return turned_.floats() <= kStagingLimit; }

 private:
  /// Of weights for a panel, and of positions: as many stay in the second-level cache.
  static constexpr std::size_t kMostSteps = 96;
  /// Whose sums are kept.
  static constexpr std::size_t kMostPanels = 16;
  /// Of a row of samples, that are turned at once: they stay in the first-level cache.
  static constexpr std::size_t kTurnedColumns = 256;

  struct Call {
    const float* image;
    const float* residual;
    float* out;
    float* slot;  ///< of a worker
  };

  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers,
                         sum_floats_ + turned_.floats() + kSize * kTurnedColumns + result_floats_);
  }
  [[nodiscard]] float* turned_of(const Call& call) const { return call.slot + sum_floats_; }
  [[nodiscard]] float* lanes_of(const Call& call) const { return turned_of(call) + turned_.floats(); }
  [[nodiscard]] float* results_of(const Call& call) const { return lanes_of(call) + kSize * kTurnedColumns; }

  /// What is turned of a block stays in the second-level cache, beside a panel of weights.
  [[nodiscard]] std::size_t most_vectors() const {
    const auto& [deep, down, along] = geometry_.axes;
    const double outputs = static_cast<double>(down.out * along.out);
    const double samples = static_cast<double>(seen_samples(down, down.out) * seen_samples(along, along.out));
    const double floats = static_cast<double>(deep.kernel * geometry_.in_channels) * samples / outputs;
    const double most = static_cast<double>(second_level_cache()) / (3 * sizeof(float));
    return std::max<std::size_t>(static_cast<std::size_t>(most / floats) / kWidth, 1) * MatrixTiles::kMost;
  }

  /// Of a group.
  [[nodiscard]] std::size_t weight_floats() const {
    return cut_.channels.tiles() * offsets_.size() * MatrixTiles::kFloats;
  }
  void pack_weights(const float* weights) {
    packed_weights_ =
        packed_filters(geometry_, weights, {kIntegerTiles, {&tiles_}, {geometry_.axes[2].dilation}},
                       geometry_.groups * weight_floats(), [&](float* to) { pack_weights(weights, to); });
  }
  /// [group][panel of output channels][step]
  void pack_weights(const float* weights, float* to) const {
    const std::size_t panels = cut_.channels.count();
    parallel_for(geometry_.groups * panels, 1, [&](std::size_t begin, std::size_t end) {
      AlignedFloats filters(kWidth * filter_lanes());
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t channel = i / panels * geometry_.out_channels + i % panels * kWidth;
        turn_filters(weights + channel * filter_lanes(), cut_.channels.size(i % panels), filters.data());
        pack_panel(filters.data(), i % panels,
                   to + i / panels * weight_floats() +
                       schedule_.offset({0, i % panels}, cut_.channels) * MatrixTiles::kFloats);
      }
    });
  }
  [[nodiscard]] std::size_t filter_lanes() const { return geometry_.in_channels * geometry_.taps(); }
  /// [tap][lane] of each of some channels.
  void turn_filters(const float* from, std::size_t channels, float* to) const {
    const std::size_t taps = geometry_.taps();
    for (std::size_t channel = 0; channel < channels; ++channel, from += filter_lanes()) {
      for (std::size_t tap = 0; tap < taps; ++tap) {
        for (std::size_t lane = 0; lane < geometry_.in_channels; ++lane) *to++ = from[lane * taps + tap];
      }
    }
  }
  /// All steps of a panel of channels.
  void pack_panel(const float* filters, std::size_t panel, float* packed) const {
    const std::size_t channels = cut_.channels.size(panel);
    const std::size_t tiles = cut_.channels.tiles(panel);
    AlignedFloats block(kSize * kWidth);
    for (const Run& run : turned_.runs()) {
      for (std::size_t lane = 0; lane < run.lanes; lane += kSize, packed += tiles * MatrixTiles::kFloats) {
        const std::size_t lanes = std::min(kSize, run.lanes - lane);
        // One panel of two vectors, or of one.
        kernels_.pack_columns_transposed(filters + run.tap * geometry_.in_channels + lane, filter_lanes(),
                                         lanes, channels, block.data());
        split_panel(tiles_, block.data(), tiles * kSize, lanes, channels, packed);
      }
    }
  }

  /// Panels of output channels for one block of the plane of one group of one image.
  void convolve(const Call& call, const GroupRange& range) const {
    const TileBlocks::Place block = cut_.place(range.group);
    const OutputBlock& outputs = block.outputs;
    const std::size_t index = block.index;
    const std::size_t begin = cut_.shares.begin(range.first);
    const std::size_t end = cut_.shares.begin(range.last);
    fetch_rows(weights_at(index, {0, begin}), 0, 1,
               schedule_.size({0, begin}, cut_.channels) * MatrixTiles::kFloats);
    if (!range.continues) turn_image(call, index, outputs);
    schedule_.for_each(begin, end, [&](const TilePlace& place, std::size_t kept, const TilePlace* next) {
      multiply(call, index, outputs, place, call.slot + kept * kept_floats_,
               next == nullptr ? nullptr : weights_at(index, *next));
    });
  }

  /// `index` is that of a group, counted over all images.
  [[nodiscard]] const float* weights_at(std::size_t index, const TilePlace& place) const {
    return packed_weights_.get() + index % geometry_.groups * weight_floats() +
           schedule_.offset(place, cut_.channels) * MatrixTiles::kFloats;
  }

  void turn_image(const Call& call, std::size_t index, const OutputBlock& outputs) const {
    const auto& [deep, down, along] = geometry_.axes;
    const std::size_t rows = seen_samples(down, outputs.rows);
    const auto sample = [](const ConvolutionAxis& axis, std::size_t output, std::size_t seen) {
      return static_cast<std::ptrdiff_t>(output * axis.stride + seen) - axis.pad;
    };
    const auto is_inside = [](const ConvolutionAxis& axis, std::ptrdiff_t at) {
      return at >= 0 && at < static_cast<std::ptrdiff_t>(axis.in);
    };
    for (std::size_t depth = 0; depth < deep.kernel; ++depth) {
      const std::ptrdiff_t z = sample(deep, outputs.depth, depth * deep.dilation);
      for (std::size_t row = 0; row < rows; ++row) {
        if (!turned_.is_seen(row)) continue;
        const std::ptrdiff_t y = sample(down, outputs.row, row);
        float* const to = turned_of(call) + turned_.row(depth, row);
        if (is_inside(deep, z) && is_inside(down, y)) {
          const std::size_t line = static_cast<std::size_t>(z) * down.in + static_cast<std::size_t>(y);
          turn_row(call, index * group_size_ + line * along.in, outputs, to);
        } else {
          std::fill_n(to, seen_samples(along, outputs.columns) * geometry_.in_channels, geometry_.padding);
        }
      }
    }
  }

  /// The samples that outputs see of a row, which begins at sample `first` of the image.
  void turn_row(const Call& call, std::size_t first, const OutputBlock& outputs, float* to) const {
    const ConvolutionAxis& along = geometry_.axes[2];
    const std::size_t lanes = geometry_.in_channels;
    const std::size_t seen = seen_samples(along, outputs.columns);
    ConvolutionAxis samples = along;
    samples.stride = 1;
    const IndexRange inside = samples_inside(samples, 0, outputs.column * along.stride, seen);
    std::fill_n(to, inside.begin * lanes, geometry_.padding);
    std::fill(to + inside.end * lanes, to + seen * lanes, geometry_.padding);
    first += outputs.column * along.stride + inside.begin - static_cast<std::size_t>(along.pad);
    float* const joined = lanes_of(call);
    for (std::size_t done = 0; done < inside.count(); done += kTurnedColumns) {
      const std::size_t columns = std::min(kTurnedColumns, inside.count() - done);
      float* const turned = to + (inside.begin + done) * lanes;
      if (lanes == 1) {
        image_.join(call.image, first + done, geometry_.in_size(), 0, 1, columns, turned, 0);
        continue;
      }
      for (std::size_t lane = 0; lane < lanes; lane += kSize) {
        const std::size_t end = std::min(lane + kSize, lanes);
        if (image_.are_bytes()) {
          const std::uint8_t* rows[kSize * kMostLaneTerms];
          image_.find_rows(call.image, first + done, geometry_.in_size(), lane, end, border_.data(),
                           std::size(rows), rows);
          tiles_.turn_bytes(rows, end - lane, columns, turned + lane, lanes);
          continue;
        }
        image_.join(call.image, first + done, geometry_.in_size(), lane, end, columns, joined,
                    kTurnedColumns);
        tiles_.turn_lines(joined, kTurnedColumns, end - lane, columns, turned + lane, lanes);
      }
    }
  }

  /// A block of terms of a panel of output channels, for all positions. `next`: weights that are read after
  /// these, or nullptr.
  void multiply(const Call& call, std::size_t index, const OutputBlock& outputs, const TilePlace& place,
                float* sums, const float* next) const {
    const std::size_t channel_tiles = cut_.channels.tiles(place.panel);
    const TilePanels positions((outputs.rows - 1) * turned_.pitch() + outputs.columns);
    TileSum sum;
    sum.steps = schedule_.depths.size(place.depth);
    sum.packed = weights_at(index, place);
    sum.offsets = offsets_.data() + schedule_.depths.begin(place.depth);
    sum.placed = turned_of(call);
    sum.placed_stride = turned_.unit();
    sum.placed_next = kSize * turned_.unit();
    Finishing finishing(*this, call, index, outputs, place.panel);
    const std::size_t kept = schedule_.depths.parts > 1 ? kWidth * kWidth : 0;
    for (std::size_t part = 0; part < positions.count(); ++part, sums += kept) {
      const std::size_t tiles = positions.tiles(part);
      sum.fetch_share(next, schedule_.size(place, cut_.channels) * MatrixTiles::kFloats, part,
                      positions.count());
      tiles_.multiply_placed_rows[tiles - 1][channel_tiles - 1](sum, sums, channel_tiles * kSize,
                                                                place.depth != 0);
      sum.placed += kWidth * turned_.unit();
      if (schedule_.is_last(place)) finishing.finish(part * kWidth, positions.size(part), sums);
    }
  }

  /// What becomes of the sums of a panel of output channels. Tiles are written once: what has just been
  /// written cannot be copied at once.
  class Finishing {
   public:
    Finishing(const IntegerTiles& of, const Call& call, std::size_t index, const OutputBlock& outputs,
              std::size_t panel)
        : of_(of),
          out_(call.out),
          residual_(call.residual),
          results_(of.results_of(call)),
          outputs_(outputs),
          channels_(of.cut_.channels.size(panel)),
          width_(of.cut_.channels.tiles(panel) * kSize),
          posts_sums_(of.epilogue_.has_post() && !of.epilogue_.posts_by_channel() &&
                      call.residual == nullptr),
          channel_(index % of.geometry_.groups * of.geometry_.out_channels + panel * kWidth) {
      const ConvolutionGeometry& geometry = of.geometry_;
      origin_ = (index * geometry.out_channels + panel * kWidth) * geometry.out_size() +
                (outputs.depth * geometry.axes[1].out + outputs.row) * geometry.axes[2].out + outputs.column;
      const OwnedEpilogue& epilogue = of.epilogue_;
      sums_.columns = channels_;
      sums_.stride = width_;
      sums_.column_scale = epilogue.scale() + channel_;
      if (epilogue.bias() != nullptr) sums_.column_bias = epilogue.bias() + channel_;
      sums_.levels_stride = geometry.out_size();
      results_tile_.stride = epilogue.wants_levels() ? kWidth : geometry.out_size();
      for (Tile* const tile : {&sums_, &results_tile_}) {
        const bool bounds = (tile == &sums_) == (of.stores_levels_ || posts_sums_);
        tile->low = bounds ? epilogue.low() : -std::numeric_limits<float>::infinity();
        tile->high = bounds ? epilogue.high() : std::numeric_limits<float>::infinity();
      }
    }

    /// Positions [first, first + count), some of which are between rows of outputs.
    void finish(std::size_t first, std::size_t count, float* sums) {
      const std::size_t pitch = of_.turned_.pitch();
      const std::size_t end = first + count;
      if (!of_.stores_levels_) {
        sums_.out = sums;
        of_.tiles_.finish(sums, width_, count, sums_);
        // One long span.
        if (posts_sums_) of_.epilogue_.post_rows(sums, width_, count, width_, 0);
      }
      for (std::size_t row = divide(first, pitch); row * pitch < end; ++row) {
        const std::size_t begin = std::max(first, row * pitch);
        const std::size_t row_end = std::min(row * pitch + outputs_.columns, end);
        if (begin >= row_end) continue;
        const std::size_t place = origin_ + row * of_.geometry_.axes[2].out + begin - row * pitch;
        const float* const from = sums + (begin - first) * width_;
        if (of_.stores_levels_) {
          sums_.levels = reinterpret_cast<std::uint8_t*>(out_) + place;
          of_.tiles_.store_levels(from, width_, row_end - begin, sums_);
        } else {
          put_results(from, row_end - begin, place);
        }
      }
    }

   private:
    /// Of sums that are floats by now, with their biases, or finished.
    void put_results(const float* values, std::size_t positions, std::size_t place) {
      const OwnedEpilogue& epilogue = of_.epilogue_;
      results_tile_.out = epilogue.wants_levels() ? results_ : out_ + place;
      results_tile_.columns = positions;
      if (residual_ != nullptr) results_tile_.residual = residual_ + place;
      of_.kernels_.finish_transposed(values, width_, channels_, results_tile_);
      if (!posts_sums_)
        epilogue.post_channels(results_tile_.out, results_tile_.stride, channels_, positions, channel_);
      if (!epilogue.wants_levels()) return;
      epilogue.put_levels({results_, kWidth, channels_, positions}, channel_, out_, place,
                          of_.geometry_.out_size());
    }

    const IntegerTiles& of_;
    float* out_;
    const float* residual_;
    float* results_;
    const OutputBlock& outputs_;
    std::size_t channels_;
    std::size_t width_;    ///< of a row of sums
    bool posts_sums_;      ///< what follows a sum does so where that is
    std::size_t channel_;  ///< the first one, over all groups
    std::size_t origin_ = 0;
    Tile sums_;          ///< on their way to levels, or to floats
    Tile results_tile_;  ///< on their way out
  };

  const MatrixTiles& tiles_;
  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  ImageLanes image_;
  std::vector<std::uint8_t> border_;
  std::size_t group_size_;
  OwnedEpilogue epilogue_;
  TileBlocks cut_;
  TurnedBlock turned_;
  TileSchedule schedule_;
  std::vector<std::int32_t> offsets_;  ///< of steps
  std::size_t kept_floats_ = 0;        ///< sums of a panel
  std::size_t sum_floats_ = 0;
  std::size_t result_floats_ = 0;  ///< that become levels
  bool stores_levels_ = false;     ///< sums become levels at once
  PackedFloats packed_weights_;
};

}  // namespace

double integer_tiles_cost(const ConvolutionGeometry& original) {
  const MatrixTiles* const tiles = byte_tiles();
  if (tiles == nullptr || original.is_empty() || !multiplies_integers(original) ||
      original.integers->form() != LaneForm::quads)
    return kCannotServe;
  const ConvolutionGeometry geometry = with_lanes(original);
  const auto& [deep, down, along] = geometry.axes;
  constexpr double kStart = 3000;
  constexpr double kFinishing = 0.3;
  const TurnedBlock block(geometry, down.out, along.out);
  const std::size_t positions = (down.out - 1) * block.pitch() + along.out;
  const std::size_t steps = block.steps();
  const std::size_t channel_tiles = TilePanels(geometry.out_channels).tiles();
  const std::size_t samples =
      deep.kernel * geometry.in_channels * seen_samples(down, down.out) * seen_samples(along, along.out);
  return tile_product_cost(*tiles, divide_up(positions, kSize), channel_tiles, steps) +
         kTurning * static_cast<double>(samples) +
         kFinishing * static_cast<double>(geometry.out_channels * down.out * along.out) + kStart +
         with_weights(0, channel_tiles * steps * MatrixTiles::kFloats);
}

std::size_t integer_tiles_weights(const ConvolutionGeometry& original) {
  const ConvolutionGeometry geometry = with_lanes(original);
  return TilePanels(geometry.out_channels).tiles() * TurnedBlock(geometry, 1, 1).steps() *
         MatrixTiles::kFloats;
}

std::unique_ptr<Convolution> create_integer_tiles(const ConvolutionGeometry& geometry,
                                                  const ConstantWeights& weights, const Epilogue& epilogue,
                                                  const Prologue& prologue) {
  if (integer_tiles_cost(geometry) == kCannotServe || !prologue.is_empty()) return nullptr;
  const IntegerWeights& integers = *geometry.integers;
  const IntegerEpilogue of_integers(epilogue, integers, geometry.in_channels * geometry.taps(), weights);
  const AlignedFloats filters = integers.lanes(geometry.in_channels, geometry.taps(), weights);
  auto convolution = std::make_unique<IntegerTiles>(
      with_lanes(geometry), ImageLanes(integers, geometry.in_channels, !geometry.image_levels.empty()),
      geometry.in_channels * geometry.in_size(), filters.data(), of_integers.get());
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
