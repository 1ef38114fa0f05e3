// Convolution of integers with vectors of output channels. The image is turned first, with its padding, so
// that all channels of a sample lie side by side: then the rows of the product, windows of neighbouring
// positions, are read where they are, a row of taps at a time, and however few positions there are, vectors
// are full.
#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

/// Of the sum, so that a panel of weights stays in the first-level cache while all positions pass by.
std::size_t most_depth(const GemmKernels& kernels) {
  constexpr std::size_t kMostOfPanel = 9 << 10;
  return std::min(kernels.block_depth, kMostOfPanel / (kernels.max_vectors * kernels.lanes));
}

/// The terms of a row of taps: lanes of neighbouring samples.
std::size_t row_terms(const ConvolutionGeometry& geometry) {
  return geometry.axes[2].kernel * geometry.in_channels;
}

class IntegerChannels final : public Convolution {
 public:
  IntegerChannels(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels_of(geometry.lanes)),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        seen_rows_(seen_samples(geometry.axes[1], geometry.axes[1].out)),
        seen_columns_(seen_samples(geometry.axes[2], geometry.axes[2].out)),
        turned_(seen_columns_, kTurnedColumns),
        depths_(row_terms(geometry), most_depth(kernels_)),
        blocks_(geometry.axes[1].out, geometry.axes[2].out, kernels_.lanes, kMostPositions / kernels_.lanes,
                {geometry.planes(), plane() <= kMostPositions ? 1 : geometry.workers}),
        images_(geometry.batch, std::max<std::size_t>(kMostPositions / plane(), 1)),
        channels_(even_panels(kernels_.column_panels(geometry.out_channels), stacks(), geometry.workers)),
        shares_(fewest_parts(channels_.parts, stacks(), geometry.workers)) {
    geometry_.workers = std::min(geometry.workers, stacks() * shares_.parts);
    const std::size_t width = channels_.largest() * kernels_.lanes;
    const std::size_t positions = blocks_.max_rows() * blocks_.max_columns();
    result_floats_ = round_up_to_line(images_.largest() * positions * width);
    finished_floats_ = epilogue_.wants_levels() ? round_up_to_line(positions * width) : 0;
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return "channels"; }
  std::size_t scratch_bytes() const override {
    return scratch_bytes_for(geometry_.workers * slot_floats() + geometry_.planes() * image_floats());
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const slots = aligned_scratch(scratch);
    float* const turned = slots + geometry_.workers * slot_floats();
    const std::size_t turning_cost = turned_.largest() * geometry_.in_channels / kernels_.lanes + 1;
    for_each_task(geometry_.planes() * seen_rows_ * turned_.parts, turning_cost, geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t) {
                    for (std::size_t i = begin; i < end; ++i)
                      turn(in.image, i / turned_.parts, i % turned_.parts, turned);
                  });
    const Call call{turned, epilogue_.residual() ? in.residual : nullptr, out};
    const std::size_t cost = divide_up(geometry_.out_channels, shares_.parts) * images_.largest() * plane() *
                                 geometry_.in_channels * geometry_.taps() /
                                 (blocks_.parts() * kernels_.lanes) +
                             1;
    for_each_group(stacks(), shares_.parts, cost, geometry_.workers, [&](const GroupRange& range) {
      convolve(call, range, slots + range.worker * slot_floats());
    });
  }

 private:
  struct Call {
    const float* image;  ///< turned
    const float* residual;
    float* out;
  };
  /// A panel of output channels.
  struct Channels {
    std::size_t group;
    std::size_t first;  ///< of the group
    std::size_t count;  ///< that are there
    std::size_t width;  ///< whole vectors
  };

  /// The sums of about as many positions stay in the first-level cache, those of a panel of channels.
  static constexpr std::size_t kMostPositions = 128;
  /// Of a row of samples, that are turned by one task.
  static constexpr std::size_t kTurnedColumns = 64;

  [[nodiscard]] std::size_t plane() const { return geometry_.axes[1].out * geometry_.axes[2].out; }
  /// Blocks of positions of some images of one group, which meet the same weights.
  [[nodiscard]] std::size_t stacks() const { return images_.parts * geometry_.groups * blocks_.parts(); }

  [[nodiscard]] std::size_t padded_channels() const { return kernels_.padded(geometry_.out_channels); }
  /// Of one group of an image.
  [[nodiscard]] std::size_t image_floats() const {
    return round_up_to_line(seen_rows_ * seen_columns_ * geometry_.in_channels);
  }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, result_floats_ + finished_floats_);
  }
  [[nodiscard]] std::size_t terms() const { return geometry_.in_channels * geometry_.taps(); }

  [[nodiscard]] Channels channels_of(std::size_t group, std::size_t panel) const {
    const std::size_t first = channels_.begin(panel) * kernels_.lanes;
    const std::size_t width = channels_.size(panel) * kernels_.lanes;
    return {group, first, std::min(width, geometry_.out_channels - first), width};
  }

  /// Weights as [group][panel of channels][row of taps][term][channel]; terms of a row are [tap][lane].
  void pack_weights(const float* weights) {
    const PackedForm form{"integer_channels", {&kernels_}, {channels_.parts}};
    packed_weights_ = packed_filters(geometry_, weights, form, geometry_.groups * padded_channels() * terms(),
                                     [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* to) const {
    const std::size_t taps = geometry_.axes[2].kernel;
    const std::size_t lanes = geometry_.in_channels;
    const std::size_t row_terms = taps * lanes;
    const std::size_t rows = geometry_.axes[1].kernel;
    parallel_for(geometry_.groups * channels_.parts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Channels channels = channels_of(i / channels_.parts, i % channels_.parts);
        const float* from = weights + (channels.group * geometry_.out_channels + channels.first) * terms();
        AlignedFloats turned(channels.count * terms());
        float* next = turned.data();
        for (std::size_t channel = 0; channel < channels.count; ++channel, from += terms()) {
          for (std::size_t y = 0; y < rows; ++y) {
            for (std::size_t x = 0; x < taps; ++x) {
              for (std::size_t lane = 0; lane < lanes; ++lane) *next++ = from[(lane * rows + y) * taps + x];
            }
          }
        }
        float* packed = to + packed_offset(channels);
        for (std::size_t y = 0; y < rows; ++y) {
          kernels_.pack_columns_transposed(turned.data() + y * row_terms, terms(), row_terms, channels.count,
                                           packed + y * row_terms * channels.width);
        }
      }
    });
  }
  [[nodiscard]] std::size_t packed_offset(const Channels& channels) const {
    return (channels.group * padded_channels() + channels.first) * terms();
  }

  /// Some columns of row `index` of those that all windows see, counted over all planes.
  void turn(const float* image, std::size_t index, std::size_t part, float* turned) const {
    const ConvolutionAxis& down = geometry_.axes[1];
    const ConvolutionAxis& along = geometry_.axes[2];
    const std::size_t lanes = geometry_.in_channels;
    const std::size_t plane = index / seen_rows_;
    const std::size_t row = index % seen_rows_;
    const std::size_t column = turned_.begin(part);
    const std::size_t columns = turned_.size(part);
    float* const to = turned + plane * image_floats() + (row * seen_columns_ + column) * lanes;
    const auto inside = [](std::ptrdiff_t at, std::size_t size) {
      return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, static_cast<std::ptrdiff_t>(size)));
    };
    const std::ptrdiff_t y = static_cast<std::ptrdiff_t>(row) - down.pad;
    const std::ptrdiff_t x = static_cast<std::ptrdiff_t>(column) - along.pad;
    const bool is_inside = y >= 0 && y < static_cast<std::ptrdiff_t>(down.in);
    const std::size_t before = is_inside ? inside(-x, columns) : columns;
    const std::size_t from = inside(x, along.in);
    const std::size_t samples = std::min(columns - before, along.in - from);
    std::fill_n(to, before * lanes, geometry_.padding);
    std::fill(to + (before + samples) * lanes, to + columns * lanes, geometry_.padding);
    if (samples == 0) return;
    const float* const first =
        image + plane * lanes * geometry_.in_size() + static_cast<std::size_t>(y) * along.in + from;
    kernels_.pack_rows(first, geometry_.in_size(), 1, samples, {lanes, lanes}, to + before * lanes);
  }

  /// Some shares of the output channels of a stack, panel by panel: its sums stay near, and its weights come
  /// from memory once, in their order.
  void convolve(const Call& call, const GroupRange& range, float* slot) const {
    const PlaneBlock positions = blocks_.block(range.group % blocks_.parts());
    const std::size_t group = range.group / blocks_.parts() % geometry_.groups;
    const std::size_t stack = range.group / blocks_.parts() / geometry_.groups;
    const std::size_t first_image = images_.begin(stack);
    const std::size_t images = images_.size(stack);
    const auto plane_of = [&](std::size_t image) { return (first_image + image) * geometry_.groups + group; };
    const Split panels = kernels_.row_panels(positions.columns);
    const std::size_t row_panels = images * positions.rows * panels.parts;
    const std::size_t size = positions.rows * positions.columns;
    const std::size_t origin = sample_of(positions.row, positions.column);
    const std::size_t last = shares_.begin(range.last);
    for (std::size_t panel = shares_.begin(range.first); panel < last; ++panel) {
      const Channels channels = channels_of(group, panel);
      const float* weights = packed_weights_.get() + packed_offset(channels);
      Tile tile;
      tile.stride = channels.width;
      tile.columns = channels.count;
      tile.fetch_step = divide_up(channels.width, row_panels);
      if (epilogue_.scale() != nullptr)
        tile.column_scale = epilogue_.scale() + group * geometry_.out_channels + channels.first;
      for (std::size_t y = 0; y < geometry_.axes[1].kernel; ++y) {
        for (std::size_t block = 0; block < depths_.parts; ++block) {
          const std::size_t depth = depths_.size(block);
          const float* const next = weights + channels.width * depth;
          const bool is_last =
              panel + 1 == last && y + 1 == geometry_.axes[1].kernel && block + 1 == depths_.parts;
          tile.accumulate = y + block > 0;
          tile.fetch = is_last ? nullptr : next;
          const std::size_t window = y * geometry_.axes[1].dilation * seen_columns_ * geometry_.in_channels;
          const float* const samples = call.image + origin + window + depths_.begin(block);
          for (std::size_t image = 0; image < images; ++image) {
            multiply(samples + plane_of(image) * image_floats(), weights, depth, positions.rows, panels,
                     slot + image * size * channels.width, tile);
          }
          weights = next;
        }
      }
      for (std::size_t image = 0; image < images; ++image)
        finish(call, plane_of(image), channels, positions, slot + image * size * channels.width,
               slot + result_floats_);
    }
  }

  /// Where the window of an output begins in a turned image.
  [[nodiscard]] std::size_t sample_of(std::size_t row, std::size_t column) const {
    return (row * geometry_.axes[1].stride * seen_columns_ + column * geometry_.axes[2].stride) *
           geometry_.in_channels;
  }

  /// Some rows of positions, cut into `panels`, for a panel of channels of a block of terms.
  void multiply(const float* samples, const float* weights, std::size_t depth, std::size_t rows,
                const Split& panels, float* results, Tile& tile) const {
    const std::size_t vectors = tile.stride / kernels_.lanes;
    for (std::size_t row = 0; row < rows; ++row) {
      PartWalk positions(panels);
      for (std::size_t i = 0; i < panels.parts; ++i, positions.next()) {
        tile.out = results + (row * panels.total + positions.begin()) * tile.stride;
        kernels_.direct[positions.size() - 1][vectors - 1](depth, samples + sample_of(row, positions.begin()),
                                                           sample_of(0, 1), weights, tile);
        if (tile.fetch != nullptr) tile.fetch += tile.fetch_step * depth;
      }
    }
  }

  /// A block of positions of a panel of channels of plane `index` of all.
  void finish(const Call& call, std::size_t index, const Channels& channels, const PlaneBlock& positions,
              const float* results, float* finished) const {
    const std::size_t origin = (index * geometry_.out_channels + channels.first) * plane() +
                               positions.row * geometry_.axes[2].out + positions.column;
    // Of several rows, there are all columns.
    const std::size_t size = positions.rows * positions.columns;
    const bool wants_levels = epilogue_.wants_levels();
    Tile tile;
    tile.out = wants_levels ? finished : call.out + origin;
    tile.stride = wants_levels ? size : plane();
    tile.columns = size;
    if (call.residual != nullptr) tile.residual = call.residual + origin;
    const std::size_t group_channel = channels.group * geometry_.out_channels + channels.first;
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + group_channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    gemm_kernels().finish_transposed(results, channels.width, channels.count, tile);
    epilogue_.post_channels(tile.out, tile.stride, channels.count, tile.columns, group_channel);
    if (!wants_levels) return;
    epilogue_.put_levels({finished, size, channels.count, size}, group_channel, call.out, origin, plane());
  }

  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  std::size_t seen_rows_;
  std::size_t seen_columns_;
  Split turned_;       ///< of the columns of a row of samples
  Split depths_;       ///< of the terms of a row of taps
  PlaneSplit blocks_;  ///< of which workers share those of a plane, or the channels of a single one
  Split images_;       ///< of stacks
  Split channels_;     ///< of vectors
  Split shares_;       ///< of channel panels
  std::size_t result_floats_ = 0;
  std::size_t finished_floats_ = 0;
  PackedFloats packed_weights_;
};

struct Costs {
  double product = 1;  ///< of what products take
  double tile = 0;     ///< of a register tile, however few its terms
  double sample = 0;   ///< of a lane of the image that is turned
  double result = 0;
  double start = 0;
};
// Not measured on Intel's: those of AMD's.
constexpr Costs kOfLongVectors{1.05, 20, 0.33, 0.34, 3900};
constexpr Costs kOfShortVectors{1.05, 20, 0.6, 0.2, 2500};
constexpr Fitted<Costs> kCosts{kOfLongVectors, kOfShortVectors, kOfLongVectors, kOfShortVectors};

bool is_served(const ConvolutionGeometry& geometry) {
  constexpr double kMostTurned = std::size_t{1} << 22;
  const auto& [deep, down, along] = geometry.axes;
  if (geometry.is_empty()) return false;
  const double samples =
      static_cast<double>(seen_samples(down, down.out)) * static_cast<double>(seen_samples(along, along.out));
  return static_cast<double>(geometry.planes() * geometry.in_channels) * samples <= kMostTurned &&
         geometry.lanes != LaneForm::floats && deep.is_full() && deep.kernel == 1 &&
         (along.kernel == 1 || along.dilation == 1);
}

}  // namespace

double integer_channels_cost(const ConvolutionGeometry& geometry) {
  if (!is_served(geometry)) return kCannotServe;
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const auto& [deep, down, along] = geometry.axes;
  const Split blocks(row_terms(geometry), most_depth(kernels));
  const std::size_t tiles =
      down.out * kernels.row_panels(along.out).parts * kernels.column_panels(geometry.out_channels).parts;
  const Costs& costs = kCosts.here();
  return with_weights(0, terms * geometry.out_channels) +
         costs.product *
             static_cast<double>(terms * down.out * kernels.product_cost(along.out, geometry.out_channels)) +
         costs.tile * static_cast<double>(tiles * blocks.parts * down.kernel) +
         costs.sample * static_cast<double>(geometry.in_channels * geometry.in_size()) +
         costs.result * static_cast<double>(down.out * along.out * geometry.out_channels) + costs.start;
}

std::unique_ptr<Convolution> create_integer_channels(const ConvolutionGeometry& geometry,
                                                     const float* weights, const Epilogue& epilogue,
                                                     const Prologue& prologue) {
  if (weights == nullptr || !is_served(geometry) || !prologue.is_empty()) return nullptr;
  return std::make_unique<IntegerChannels>(geometry, weights, epilogue);
}

}  // namespace ir::kernels
