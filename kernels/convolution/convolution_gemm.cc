// Convolution as a matrix product whose right operand (one row per input channel and tap, one column per
// output position) is never formed: its panels are packed block by block, from a staged piece of the image.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_depth.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_prologue.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

/// About the cycles for one term of a vector of columns.
std::size_t packing_cost(const ConvolutionGeometry& geometry) {
  if (geometry.is_pointwise()) return 2;
  return geometry.axes[2].is_pointwise() ? 3 : 4;
}

/// Whether a 1x1 convolution is the faster one with the image's channels where they lie, of which whole
/// vectors can be read. Few panels of weights are hardly worth packing for, many pay for it. In between, a
/// panel of columns must not be driven out of the first-level cache by its own rows: of planes of 32 x 32,
/// all of them meet in the same eight lines.
bool is_faster_in_place(const ConvolutionGeometry& geometry) {
  const GemmKernels& kernels = gemm_kernels();
  constexpr std::size_t kLongest = 8;  // lanes; longer ones have not been measured
  constexpr std::size_t kFewPanels = 4;
  constexpr std::size_t kManyPanels = 32;
  const std::size_t plane = geometry.in_size();
  const std::size_t panels = kernels.row_panels(geometry.out_channels).parts;
  if (!geometry.is_pointwise() || geometry.lanes != LaneForm::floats || kernels.lanes > kLongest ||
      plane == 0 || plane % kernels.lanes != 0 || panels > kManyPanels)
    return false;
  constexpr std::size_t kPage = 4096 / sizeof(float);
  constexpr std::size_t kSets = kPage / kFloatsPerLine;
  constexpr std::size_t kWays = 8;
  const std::size_t places = std::min(kSets, kPage / std::gcd(plane, kPage));
  const std::size_t lines =
      divide_up(kernels.max_vectors * kernels.lanes, kFloatsPerLine) + (plane % kFloatsPerLine == 0 ? 0 : 1);
  const std::size_t terms = std::min(geometry.in_channels, kernels.block_depth);
  return panels <= kFewPanels || terms * lines <= places * kWays;
}

class GemmConvolution final : public Convolution {
 public:
  GemmConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue,
                  const Prologue& prologue)
      : kernels_(gemm_kernels_of(geometry.lanes)),
        geometry_(geometry),
        prologue_(prologue, geometry.groups * geometry.in_channels),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        in_place_(weights != nullptr && prologue_.is_empty() && !epilogue_.wants_levels() &&
                  is_faster_in_place(geometry)),
        rows_(kernels_.row_panels(geometry.out_channels)),
        depth_blocks_(depth_blocks(geometry.in_channels, geometry.taps(), kernels_.block_depth)),
        plane_(geometry.axes[1].out, geometry.axes[2].out, kernels_.lanes, kernels_.block_vectors, spread()),
        staging_(geometry, geometry.is_pointwise() ? 0 : most_channels(depth_blocks_), plane_.max_rows(),
                 plane_.max_columns()) {
    packed_floats_ = in_place_ ? 0
                               : round_up_to_line(most_terms(depth_blocks_) *
                                                  kernels_.padded(plane_.max_rows() * plane_.max_columns()));
    staged_floats_ = geometry.is_pointwise() ? 0 : round_up_to_line(staging_.floats());
    stores_levels_ = geometry.lanes == LaneForm::quads && can_store_levels(kernels_, geometry.out_channels) &&
                     epilogue_.turn_into_steps();
    if (epilogue_.wants_levels() && !(stores_levels_ && depth_blocks_.size() == 1))
      result_floats_ = round_up_to_line(geometry.out_channels * plane_.max_rows() * plane_.max_columns());
    blocks_ = geometry_.planes() * plane_.parts();
    row_blocks_ = split_rows();
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(blocks_ * row_blocks_.parts, 1));
    if (weights != nullptr) pack_weights(weights);
  }

  std::string_view algorithm() const override {
    return geometry_.is_pointwise() ? "pointwise" : "implicit_gemm";
  }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (blocks_ * row_blocks_.parts == 0) return;
    const Call call{in.image, in.weights, in.scale, epilogue_.residual() ? in.residual : nullptr, out};
    const std::size_t cost = geometry_.batch * geometry_.groups * geometry_.out_channels *
                                 geometry_.out_size() * geometry_.in_channels * geometry_.taps() /
                                 (blocks_ * row_blocks_.parts) / kernels_.lanes +
                             1;
    float* const floats = aligned_scratch(scratch);
    for_each_group(blocks_, row_blocks_.parts, cost, geometry_.workers, [&](const GroupRange& range) {
      convolve(call, range, floats + range.worker * slot_floats());
    });
  }

  /// Whether staging stays within bounds that make sense.
  [[nodiscard]] bool is_feasible() const { return staged_floats_ <= kStagingLimit; }

 private:
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, packed_floats_ + staged_floats_ + result_floats_);
  }

  struct Call {
    const float* image;
    const float* weights;
    const float* scale;
    const float* residual;
    float* out;
  };

  [[nodiscard]] SpreadPlanes spread() const {
    return {geometry_.planes(), shares_channels() ? 1 : geometry_.workers};
  }

  /// Whether workers share the output channels of a plane: where columns are soon packed, so that each writes
  /// memory of its own; and where those are so few that pieces of them would fill registers badly.
  [[nodiscard]] bool shares_channels() const {
    if (depth_blocks_.size() == 1 && geometry_.out_channels >= 2 * terms()) return true;
    if (geometry_.planes() == 0 || geometry_.planes() >= geometry_.workers) return false;
    const std::size_t pieces = divide_up(geometry_.workers, geometry_.planes());
    const std::size_t columns = geometry_.axes[1].out * geometry_.axes[2].out;
    // Of one term, with its weights.
    const auto cost = [&](std::size_t channels, std::size_t width) {
      return kernels_.product_cost(channels, width) +
             packing_cost(geometry_) * divide_up(width, kernels_.lanes) + channels / 2;
    };
    return cost(divide_up(geometry_.out_channels, pieces), columns) <=
           cost(geometry_.out_channels, divide_up(columns, pieces));
  }

  /// Columns that stay packed serve any number of blocks of rows; else each block packs them again, and there
  /// are as few as occupy all workers.
  [[nodiscard]] Split split_rows() const {
    if (depth_blocks_.size() == 1) {
      const std::size_t rows = std::min(kBlockRows, divide_up(geometry_.out_channels, geometry_.workers));
      return even_panels({rows_.parts, divide_up(rows, kernels_.max_rows)}, blocks_, geometry_.workers);
    }
    return fewest_parts(rows_.parts, blocks_, geometry_.workers);
  }

  /// Terms of the sum of one output.
  [[nodiscard]] std::size_t terms() const { return geometry_.in_channels * geometry_.taps(); }

  void pack_weights(const float* weights) {
    const std::size_t group_size = geometry_.out_channels * terms();
    const PackedForm form{"implicit_gemm", {&kernels_}, {}};
    packed_weights_ = packed_filters(geometry_, weights, form, geometry_.groups * group_size,
                                     [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* to) const {
    const std::size_t group_size = geometry_.out_channels * terms();
    parallel_for(geometry_.groups * depth_blocks_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t group = i / depth_blocks_.size() * group_size;
        const DepthBlock& block = depth_blocks_[i % depth_blocks_.size()];
        const std::size_t k = block.channel * geometry_.taps() + block.tap;
        kernels_.pack_rows(weights + group + k, terms(), 1, block.depth(), rows_,
                           to + group + geometry_.out_channels * k);
      }
    });
  }

  /// A block of the plane of one group of one image.
  struct Place {
    OutputBlock outputs;
    std::size_t group = 0;
    std::size_t group_of_all = 0;  ///< counted over all images
    std::size_t origin = 0;        ///< of its results in those of the first of its channels
  };

  [[nodiscard]] Place place_of(std::size_t index) const {
    Place place;
    static_cast<PlaneBlock&>(place.outputs) = plane_.block(index % plane_.parts());
    index /= plane_.parts();
    place.outputs.depth = index % geometry_.axes[0].out;
    place.group_of_all = index / geometry_.axes[0].out;
    place.group = place.group_of_all % geometry_.groups;
    place.origin = place.group_of_all * geometry_.out_channels * geometry_.out_size() +
                   (place.outputs.depth * geometry_.axes[1].out + place.outputs.row) * geometry_.axes[2].out +
                   place.outputs.column;
    return place;
  }

  /// What all stretches of the sums of a place have in common; `results` take those that become levels.
  [[nodiscard]] Block block_at(const Call& call, const Place& place, float* results) const {
    Block block;
    block.columns = place.outputs.rows * place.outputs.columns;
    const bool wants_levels = epilogue_.wants_levels();
    block.tile.out = wants_levels ? results : call.out + place.origin;
    block.tile.stride = wants_levels ? block.columns : geometry_.out_size();
    if (call.residual != nullptr) block.tile.residual = call.residual + place.origin;
    block.channel = place.group * geometry_.out_channels;
    if (epilogue_.bias() != nullptr) block.tile.row_bias = epilogue_.bias() + block.channel;
    if (epilogue_.scale() != nullptr) block.tile.row_scale = epilogue_.scale() + block.channel;
    block.tile.low = epilogue_.low();
    block.tile.high = epilogue_.high();
    return block;
  }

  /// Makes a stretch of the sums the next one that `block` is for.
  void enter(const DepthBlock& part, const Call& call, const Place& place, Block& block) const {
    block.depth = part.depth();
    block.tile.accumulate = &part != &depth_blocks_.front();
    block.tile.finish = &part == &depth_blocks_.back();
    if (stores_levels_ && block.tile.finish) {
      block.tile.levels = reinterpret_cast<std::uint8_t*>(call.out) + place.origin;
      block.tile.levels_stride = geometry_.out_size();
    }
  }

  /// Packs all columns of a stretch of a 1x1 convolution, or stages what those of others are packed from.
  void read_image(const Call& call, const Place& place, const DepthBlock& part, float* slot) const {
    const std::size_t channel = first_channel(place, part);
    if (geometry_.is_pointwise()) {
      // All panels at once: channels are far apart, and read the faster the longer the stretch of each.
      pack_channels(call, channel, part.channels, place.outputs.column,
                    place.outputs.rows * place.outputs.columns, slot);
    } else if (part.tap == 0) {
      // Several stretches of one channel's taps share its staging.
      staging_.stage(kernels_, call.image + channel * geometry_.in_size(), part.channels, place.outputs,
                     slot + packed_floats_);
    }
  }

  /// Blocks of row panels of a place.
  void convolve(const Call& call, const GroupRange& range, float* slot) const {
    const Place place = place_of(range.group);
    const bool packed = has_packed_weights();
    const RowRange rows{rows_, row_blocks_.begin(range.first), row_blocks_.begin(range.last),
                        packed ? 0 : std::max<std::size_t>(terms(), 1)};
    // A worker may come back for more rows: all columns stay packed.
    const bool kept = depth_blocks_.size() == 1 && rows.last - rows.first < rows_.parts;
    const bool is_packed = kept && range.continues;
    const bool pointwise = geometry_.is_pointwise();
    const float* const staged = slot + packed_floats_;
    float* const results = slot + packed_floats_ + staged_floats_;
    Block block = block_at(call, place, results);
    if (in_place_) block.column_stride = geometry_.in_size();
    const std::size_t group_weights = place.group * geometry_.out_channels * terms();
    for (const DepthBlock& part : depth_blocks_) {
      enter(part, call, place, block);
      if (!is_packed && !in_place_) read_image(call, place, part, slot);
      const std::size_t k = part.channel * geometry_.taps() + part.tap;
      const float* const weights = packed ? packed_weights_.get() + group_weights + geometry_.out_channels * k
                                          : call.weights + group_weights + k;
      const std::size_t row_distance = packed ? block.depth : terms();
      const bool once = !kept && !pointwise && visits_columns_once(kernels_, rows, block.depth);
      multiply_block(
          kernels_, rows, block, epilogue_,
          [&](const RowPanel& panel) { return weights + panel.row * row_distance; },
          [&](std::size_t first, std::size_t count, bool is_new) -> const float* {
            if (in_place_) return image_of(call, place, part) + first;
            // A panel that is not needed again leaves its place, warm in the first-level cache, to the next
            // one.
            float* const to = slot + (once ? 0 : first * block.depth);
            if (is_new && !is_packed && !pointwise)
              pack_panel(staged, part, place.outputs.columns, first, count, to);
            return to;
          });
    }
    if (epilogue_.wants_levels() && !stores_levels_) put_levels(call, place, rows, block, results);
  }

  void put_levels(const Call& call, const Place& place, const RowRange& panels, const Block& block,
                  const float* results) const {
    const std::size_t row = rows_.begin(panels.first);
    const std::size_t rows = rows_.begin(panels.last) - row;
    epilogue_.put_levels({results + row * block.columns, block.columns, rows, block.columns},
                         block.channel + row, call.out, place.origin + row * geometry_.out_size(),
                         geometry_.out_size());
  }

  [[nodiscard]] bool has_packed_weights() const { return packed_weights_ != nullptr; }

  /// Of a stretch, counted over all images.
  [[nodiscard]] std::size_t first_channel(const Place& place, const DepthBlock& part) const {
    return place.group_of_all * geometry_.in_channels + part.channel;
  }
  /// Of a 1x1 convolution: the first position of a place in the first channel of a stretch.
  [[nodiscard]] const float* image_of(const Call& call, const Place& place, const DepthBlock& part) const {
    return call.image + first_channel(place, part) * geometry_.in_size() + place.outputs.column;
  }

  /// Packs positions [first, first + count) of `depth` channels from `channel` on, counted over all images.
  void pack_channels(const Call& call, std::size_t channel, std::size_t depth, std::size_t first,
                     std::size_t count, float* packed) const {
    const float* const from = call.image + channel * geometry_.in_size() + first;
    if (prologue_.is_empty()) return kernels_.pack_columns(from, geometry_.in_size(), depth, count, packed);
    kernels_.pack_mapped_columns(from, geometry_.in_size(), depth, count, prologue_.map(call.scale, channel),
                                 packed);
  }

  /// Packs outputs [first, first + count) of a block `width` wide for one stretch of the sum, as one panel.
  void pack_panel(const float* staged, const DepthBlock& part, std::size_t width, std::size_t first,
                  std::size_t count, float* packed) const {
    const float* const from = staging_.origin(staged);
    const std::int32_t* const offsets = staging_.offsets().data() + part.tap;
    Piece pieces[GemmKernels::kLanesLimit];
    for (std::size_t column = 0; column < count; column += kernels_.lanes) {
      const std::size_t columns = std::min(kernels_.lanes, count - column);
      const std::size_t piece_count = staging_.pieces(width, first + column, columns, pieces);
      kernels_.pack_pieces(from, offsets, part.depth(), pieces, piece_count, columns, packed + column,
                           kernels_.padded(count));
    }
  }

  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  OwnedPrologue prologue_;
  OwnedEpilogue epilogue_;
  bool in_place_;  ///< the columns are the image's
  Split rows_;
  Split row_blocks_;  ///< of panels
  std::vector<DepthBlock> depth_blocks_;
  PlaneSplit plane_;
  ImageStaging staging_;
  std::size_t packed_floats_ = 0;
  std::size_t staged_floats_ = 0;
  std::size_t result_floats_ = 0;  ///< that become levels
  bool stores_levels_ = false;     ///< tiles do
  std::size_t blocks_ = 0;         ///< of outputs, in all images
  PackedFloats packed_weights_;
};

}  // namespace

double gemm_convolution_cost(const ConvolutionGeometry& geometry) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t plane = geometry.axes[1].out * geometry.axes[2].out;
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t vectors = divide_up(plane, kernels.lanes);
  constexpr Fitted<std::size_t> kMorePacking{0, 0, 2, 0};  // of several taps
  const std::size_t packing = packing_cost(geometry) + (geometry.is_pointwise() ? 0 : kMorePacking.here());
  const std::size_t term = kernels.product_cost(geometry.out_channels, plane) + packing * vectors;
  constexpr double kGroup = 550;
  const double staging = geometry.is_pointwise() ? 0 : kGroup + staging_cost(geometry);
  // Of a vector of outputs, however few its terms: short ones are many, and matter against the direct
  // convolution.
  constexpr Fitted<double> kStart{0, 3.5, 0, 0};
  const double start = geometry.is_pointwise() ? kStart.here() : 0;
  constexpr Fitted<Traffic> kMoved{{2, 0.7, 2.5}, {3.4, 0, 0}, {3.3, 1.6, 0}, {2.6, 0.7, 0}};
  const double traffic = geometry.is_pointwise() ? traffic_cost(geometry, kMoved.here()) : 0;
  return with_weights(terms * term, terms * geometry.out_channels) + staging + traffic +
         start * static_cast<double>(geometry.out_channels * vectors);
}

std::unique_ptr<Convolution> create_gemm_convolution(const ConvolutionGeometry& geometry,
                                                     const float* weights, const Epilogue& epilogue,
                                                     const Prologue& prologue) {
  auto convolution = std::make_unique<GemmConvolution>(geometry, weights, epilogue, prologue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
