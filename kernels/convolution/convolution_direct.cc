// Convolution without packed columns, which take as long as the arithmetic where few output channels share
// them: groups of some channels, first layers, narrow 1x1. A strip of the image is staged, padding and stride
// gone, and vectors of neighbouring outputs are read where their samples lie, for all channels of the group.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_depth.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_prologue.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/convolution/direct_kernels.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

/// The vectors of all outputs of a block of a certain size.
class BlockVectors {
 public:
  /// `width` is that of the output plane, `row_stride` lies between the rows that are staged.
  BlockVectors(std::size_t rows, std::size_t columns, std::size_t width, std::size_t row_stride,
               std::size_t lanes)
      : rows_(rows), columns_(columns) {
    std::size_t row = 0;
    std::size_t column = 0;
    while (row < rows && columns != 0) {
      OutputVector vector;
      vector.from = static_cast<std::int32_t>(row * row_stride + column);
      vector.to = static_cast<std::int32_t>(row * width + column);
      std::vector<std::int32_t> kept;
      for (std::size_t lane = 0; lane < lanes && row < rows;) {
        const std::size_t count = std::min(columns - column, lanes - lane);
        for (std::size_t i = 0; i < count; ++i) kept.push_back(static_cast<std::int32_t>(lane + i));
        column += count;
        if (column < columns) break;
        column = 0;
        ++row;
        // Into the next row, where that is the next in the output, too.
        lane += count + row_stride - columns;
        if (columns < width) break;
      }
      vector.count = static_cast<std::int32_t>(kept.size());
      vector.order = kept.back() + 1 == vector.count ? OutputVector::kAllLanes : table(kept, lanes);
      vectors_.push_back(vector);
    }
  }

  [[nodiscard]] bool is_of(const PlaneBlock& block) const {
    return block.rows == rows_ && block.columns == columns_;
  }
  [[nodiscard]] const std::vector<OutputVector>& vectors() const { return vectors_; }
  [[nodiscard]] const std::int32_t* orders() const { return orders_.data(); }

 private:
  std::int32_t table(std::vector<std::int32_t>& kept, std::size_t lanes) {
    kept.resize(lanes);
    std::int32_t number = 0;
    for (auto order = orders_.begin(); order != orders_.end();
         order += static_cast<std::ptrdiff_t>(lanes), ++number) {
      if (std::equal(kept.begin(), kept.end(), order)) return number;
    }
    orders_.insert(orders_.end(), kept.begin(), kept.end());
    return number;
  }

  std::size_t rows_;
  std::size_t columns_;
  std::vector<OutputVector> vectors_;
  std::vector<std::int32_t> orders_;
};

/// How outputs and terms are cut, so that what is staged of an image stays in the first-level cache.
struct BlockSizes {
  std::size_t terms = 0;
  std::size_t vectors = 0;  ///< of outputs
  /// Not 0: so many rows of pieces of so many columns.
  std::size_t piece_rows = 0;
  std::size_t piece_columns = 0;

  BlockSizes(const ConvolutionGeometry& geometry, std::size_t lanes) {
    constexpr std::size_t kStagedFloats = 6144;
    constexpr std::size_t kLeastTerms = 128;
    constexpr std::size_t kLeastColumns = 64;
    constexpr std::size_t kMostTerms = 512;
    const std::size_t width = std::max<std::size_t>(geometry.axes[2].out, 1);
    const AxisStaging vertical(geometry.axes[1], geometry.axes[1].out);
    const AxisStaging horizontal(geometry.axes[2], width);
    // Of a channel.
    const std::size_t row = std::max<std::size_t>(
        geometry.axes[0].kernel * vertical.start.size() * horizontal.start.size() * width, 1);
    // Less than half of the rows should be staged for two strips, and outputs be worth going through all
    // weights for them.
    const std::size_t least_rows =
        vertical.max_shift +
        std::min(std::max(1 + vertical.max_shift, divide_up(kLeastColumns, width)), geometry.axes[1].out);
    terms = std::clamp(kStagedFloats / (least_rows * row) * geometry.taps(), kLeastTerms, kMostTerms);
    const std::size_t channels = most_channels(depth_blocks(geometry.in_channels, geometry.taps(), terms));
    const std::size_t rows = std::max(kStagedFloats / (row * std::max<std::size_t>(channels, 1)), least_rows);
    vectors = divide_up((rows - vertical.max_shift) * width, lanes);
    if (geometry.axes[1].out != 1) {
      // Long rows, of which a few for many channels are more than a core's own caches hold.
      constexpr std::size_t kMostStaged = std::size_t{1} << 15;
      const std::size_t of_column = divide_up(row, width) * channels * rows;
      if (of_column * width <= kMostStaged || vertical.max_shift == 0) return;
      piece_rows = rows - vertical.max_shift;
      piece_columns = std::max(kMostStaged / of_column, kLeastColumns);
      return;
    }
    // One row: pieces of it, which are many times as long as what they have in common.
    const std::size_t most = kStagedFloats * width / (row * least_rows * std::max<std::size_t>(channels, 1));
    vectors = divide_up(std::max({most, 4 * horizontal.max_shift, kLeastColumns}), lanes);
  }
};

class DirectConvolution final : public Convolution {
 public:
  DirectConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue,
                    const Prologue& prologue)
      : kernels_(gemm_kernels()),
        direct_(direct_kernels_of(geometry.lanes)),
        geometry_(geometry),
        prologue_(prologue, geometry.groups * geometry.in_channels),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        panels_(direct_.row_panels(geometry.out_channels)),
        tile_vectors_(direct_.tile_vectors(panels_)),
        sizes_(geometry, kernels_.lanes),
        depth_blocks_(depth_blocks(geometry.in_channels, geometry.taps(), sizes_.terms)),
        plane_(split_plane()),
        staging_(geometry, most_channels(depth_blocks_), plane_.max_rows(), plane_.max_columns()),
        staged_floats_(round_up_to_line(staging_.floats())) {
    if (!is_feasible()) return;
    if (epilogue_.wants_levels())
      result_floats_ = round_up_to_line(geometry.out_channels * plane_.max_rows() * geometry.axes[2].out);
    for (std::size_t part = 0; part < plane_.parts(); ++part) blocks_.push_back(planned(part));
    tasks_ = geometry.planes() * blocks_.size();
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(tasks_, 1));
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return "direct"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (tasks_ == 0) return;
    const Call call{in.image, in.scale, epilogue_.residual() ? in.residual : nullptr, out};
    const std::size_t block_outputs = plane_.max_rows() * plane_.max_columns();
    const std::size_t cost = terms() * geometry_.out_channels * block_outputs / kernels_.lanes + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_task(tasks_, cost, geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t worker) {
                    float* const staged = floats + worker * slot_floats();
                    for (std::size_t task = begin; task < end; ++task) {
                      const std::size_t plane = task / blocks_.size();
                      const Slice slice{plane / geometry_.axes[0].out, plane % geometry_.axes[0].out};
                      convolve(call, slice, blocks_[task % blocks_.size()], staged);
                    }
                  });
  }

  /// Whether staging stays within bounds that make sense.
  [[nodiscard]] bool is_feasible() const { return staged_floats_ <= kStagingLimit; }

 private:
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, staged_floats_ + result_floats_);
  }

  struct Call {
    const float* image;
    const float* scale;
    const float* residual;
    float* out;
  };
  struct PlannedBlock {
    PlaneBlock outputs;
    std::size_t vectors = 0;  ///< in vectors_
    std::vector<StagedCopy> copies;
  };

  /// Of the outputs.
  struct Slice {
    std::size_t group = 0;  ///< counted over all images
    std::size_t depth = 0;
  };

  /// Terms of the sum of one output.
  [[nodiscard]] std::size_t terms() const { return geometry_.in_channels * geometry_.taps(); }

  [[nodiscard]] PlaneSplit split_plane() const {
    const auto& [depth, vertical, horizontal] = geometry_.axes;
    if (sizes_.piece_columns != 0) {
      return PlaneSplit::of_pieces(vertical.out, horizontal.out, kernels_.lanes, sizes_.piece_rows,
                                   sizes_.piece_columns);
    }
    return {vertical.out,
            horizontal.out,
            kernels_.lanes,
            sizes_.vectors,
            {geometry_.batch * geometry_.groups * depth.out, geometry_.workers}};
  }

  [[nodiscard]] PlannedBlock planned(std::size_t part) {
    PlannedBlock block;
    block.outputs = plane_.block(part);
    block.copies = staging_.copies(block.outputs);
    while (block.vectors < vectors_.size() && !vectors_[block.vectors].is_of(block.outputs)) ++block.vectors;
    if (block.vectors == vectors_.size()) {
      vectors_.emplace_back(block.outputs.rows, block.outputs.columns, geometry_.axes[2].out,
                            staging_.row_stride(), kernels_.lanes);
    }
    return block;
  }

  void pack_weights(const float* weights) {
    const std::size_t group_size = geometry_.out_channels * terms();
    // The blocks of the sum are given by their number.
    const PackedForm form{"direct", {&kernels_, &direct_}, {depth_blocks_.size()}};
    packed_weights_ = packed_filters(geometry_, weights, form, geometry_.groups * group_size,
                                     [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* to) const {
    const std::size_t group_size = geometry_.out_channels * terms();
    const std::size_t cost = terms() * panels_.size(0);
    parallel_for(geometry_.groups * panels_.parts, grain_for_cost(cost),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     const std::size_t origin = i / panels_.parts * group_size;
                     const std::size_t row = panels_.begin(i % panels_.parts);
                     const std::size_t rows = panels_.size(i % panels_.parts);
                     for (const DepthBlock& part : depth_blocks_) {
                       const std::size_t k = part.channel * geometry_.taps() + part.tap;
                       kernels_.pack_rows(weights + origin + row * terms() + k, terms(), 1, part.depth(),
                                          Split(rows, rows),
                                          to + origin + geometry_.out_channels * k + row * part.depth());
                     }
                   }
                 });
  }

  void convolve(const Call& call, const Slice& slice, const PlannedBlock& block, float* staged) const {
    const std::size_t group = slice.group % geometry_.groups;
    const std::size_t origin =
        slice.group * geometry_.out_channels * geometry_.out_size() +
        (slice.depth * geometry_.axes[1].out + block.outputs.row) * geometry_.axes[2].out +
        block.outputs.column;
    Tile tile;
    float* const results = staged + staged_floats_;
    const bool wants_levels = epilogue_.wants_levels();
    tile.out = wants_levels ? results : call.out + origin;
    tile.stride = wants_levels ? block.outputs.rows * geometry_.axes[2].out : geometry_.out_size();
    if (call.residual != nullptr) tile.residual = call.residual + origin;
    const std::size_t first_channel = group * geometry_.out_channels;
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + first_channel;
    if (epilogue_.scale() != nullptr) tile.row_scale = epilogue_.scale() + first_channel;
    const float* weights = packed_weights_.get() + group * geometry_.out_channels * terms();
    for (const DepthBlock& part : depth_blocks_) {
      // Several stretches of one channel's taps share its staging.
      if (part.tap == 0) stage(call, slice, part, block, staged);
      const bool last = &part == &depth_blocks_.back();
      tile.low = last ? epilogue_.low() : -std::numeric_limits<float>::infinity();
      tile.high = last ? epilogue_.high() : std::numeric_limits<float>::infinity();
      const DirectSum sum{part.depth(), weights, staging_.offsets().data() + part.tap,
                          staging_.origin(staged), vectors_[block.vectors].orders()};
      multiply(sum, vectors_[block.vectors].vectors(), tile);
      weights += geometry_.out_channels * part.depth();
      // From here on, sums are added to what is there.
      tile.row_bias = nullptr;
      tile.residual = tile.out;
    }
    const bool whole_rows = block.outputs.columns == geometry_.axes[2].out;
    const std::size_t spans = whole_rows ? 1 : block.outputs.rows;
    const std::size_t span = block.outputs.rows / spans * block.outputs.columns;
    for (std::size_t row = 0; row < spans; ++row) {
      const std::size_t begin = row * geometry_.axes[2].out;
      epilogue_.post_channels(tile.out + begin, tile.stride, geometry_.out_channels, span, first_channel);
      if (!wants_levels) continue;
      epilogue_.put_levels({results + begin, tile.stride, geometry_.out_channels, span}, first_channel,
                           call.out, origin + begin, geometry_.out_size());
    }
  }

  /// What a block sees of the channels of one stretch of the sum.
  void stage(const Call& call, const Slice& slice, const DepthBlock& part, const PlannedBlock& block,
             float* staged) const {
    const std::size_t channel = slice.group * geometry_.in_channels + part.channel;
    const float* const from = call.image + channel * geometry_.in_size();
    const OutputBlock outputs{block.outputs, slice.depth};
    if (!prologue_.is_empty()) {
      return staging_.stage_mapped(kernels_, from, part.channels, outputs, prologue_.map(call.scale, channel),
                                   staged);
    }
    staging_.stage_copies(kernels_, block.copies, from, part.channels, outputs, staged);
  }

  /// All panels of channels with all vectors.
  void multiply(DirectSum sum, const std::vector<OutputVector>& vectors, Tile tile) const {
    const Split tiles(vectors.size(), tile_vectors_);
    // Vectors inside: the weights of a panel, and the outputs of few channels, stay at hand.
    for (std::size_t panel = 0; panel < panels_.parts; ++panel) {
      const std::size_t rows = panels_.size(panel);
      const float* const next = sum.weights + rows * sum.depth;
      // Every tile fetches its share of the next weights, which come from far away.
      sum.fetch_step = divide_up(rows, tiles.parts);
      PartWalk walk(tiles);
      for (std::size_t i = 0; i < tiles.parts; ++i, walk.next()) {
        sum.fetch = next + std::min(i * sum.fetch_step, rows - 1) * sum.depth;
        direct_.multiply[rows - 1][walk.size() - 1](sum, vectors.data() + walk.begin(), tile);
      }
      sum.weights = next;
      tile.out += rows * tile.stride;
      if (tile.residual != nullptr) tile.residual += rows * tile.stride;
      if (tile.row_bias != nullptr) tile.row_bias += rows;
      if (tile.row_scale != nullptr) tile.row_scale += rows;
    }
  }

  const GemmKernels& kernels_;
  const DirectKernels& direct_;
  ConvolutionGeometry geometry_;
  OwnedPrologue prologue_;
  OwnedEpilogue epilogue_;
  Split panels_;
  std::size_t tile_vectors_;
  BlockSizes sizes_;
  std::vector<DepthBlock> depth_blocks_;
  PlaneSplit plane_;
  ImageStaging staging_;
  std::size_t staged_floats_;
  std::size_t result_floats_ = 0;      ///< that become levels
  std::vector<BlockVectors> vectors_;  ///< of the sizes that blocks have
  std::vector<PlannedBlock> blocks_;   ///< of a plane
  std::size_t tasks_ = 0;
  PackedFloats packed_weights_;
};

}  // namespace

double direct_convolution_cost(const ConvolutionGeometry& geometry) {
  if (geometry.is_empty()) return kCannotServe;
  const GemmKernels& kernels = gemm_kernels();
  const bool is_pointwise = geometry.is_pointwise();
  // Of a vector that is staged.
  const double of_pointwise = has_short_vectors() ? 1.5 : 2;
  const double staging =
      is_pointwise ? of_pointwise * static_cast<double>(divide_up(staged_plane(geometry), kernels.lanes))
                   : staging_cost(geometry);
  constexpr double kSum = 3;  // of a vector of outputs, for each block of terms but the first
  // More than with_weights: each block of outputs goes through all of them, for 1 x 1 without much to do.
  constexpr Fitted<double> kOfWeight{1.2, 1.2, 0.1, 0.1};
  const double of_weight = is_pointwise ? kOfWeight.here() : 0.15;
  constexpr double kGroup = 150;
  const DirectKernels& direct = direct_kernels();
  const ConvolutionAxis& vertical = geometry.axes[1];
  const ConvolutionAxis& horizontal = geometry.axes[2];
  const AxisStaging columns(horizontal, horizontal.out);
  // Vectors that go on in the next row of a stride: Intel's costs were fitted without them.
  const std::size_t phases = columns.start.size();
  const Fitted<std::size_t> rows_between{phases, phases, 1, 1};
  const std::size_t staged_columns = rows_between.here() * (horizontal.out + columns.max_shift);
  const std::size_t vectors =
      std::min(vertical.out * divide_up(horizontal.out, kernels.lanes),
               divide_up((vertical.out - 1) * staged_columns + horizontal.out, kernels.lanes));
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t sums =
      depth_blocks(geometry.in_channels, geometry.taps(), BlockSizes(geometry, kernels.lanes).terms).size();
  const Split panels = direct.row_panels(geometry.out_channels);
  const std::size_t tile_vectors = direct.tile_vectors(panels);
  // A channel alone reads samples for each product, most of them across two lines of a cache.
  const double of_lone = is_pointwise ? 1 : has_short_vectors() ? 1.4 : 1.9;
  double tiles = 0;  // one term of a tile of each panel
  for (const auto& [size, count] : panels.sizes()) {
    tiles += (size == 1 ? of_lone : 1) * static_cast<double>(count * kernels.tile_cost(size, tile_vectors));
  }
  const double of_vector = static_cast<double>(terms) * tiles / static_cast<double>(tile_vectors) +
                           kSum * static_cast<double>((sums - 1) * geometry.out_channels);
  // Short vectors make more of packing and of Winograd's transforms than their costs, which were fitted to
  // those of AVX-512, know of. With a single tap they do not: more samples lie across two lines of a cache.
  constexpr Fitted<double> kWorthOfOne{1, 1.05, 1.06, 1.07};
  constexpr Fitted<double> kWorth{1, 0.92, 1, 0.97};
  const double worth = (geometry.taps() == 1 ? kWorthOfOne : kWorth).here();
  // A channel alone, group by group, is staged for few products.
  const double of_single = geometry.groups > 1 && geometry.in_channels == 1 ? 1.5 : 1;
  // Of a vector of outputs, however few its terms.
  constexpr Fitted<double> kStart{0, 2.5, 0, 0};
  const double start = is_pointwise ? kStart.here() : 0;
  const std::size_t weights = terms * geometry.out_channels;
  constexpr Fitted<Traffic> kMoved{{2, 0.7, 2.3}, {2.4, 0, 0}, {3.4, 1.2, 0}, {1.9, 0.4, 0}};
  const double traffic = is_pointwise ? traffic_cost(geometry, kMoved.here()) : 0;
  return traffic +
         of_single * worth *
             ((of_vector + start * static_cast<double>(geometry.out_channels)) *
                  static_cast<double>(vectors) +
              staging + kGroup) +
         with_weights(0, weights) + of_weight * static_cast<double>(weights);
}

std::unique_ptr<Convolution> create_direct_convolution(const ConvolutionGeometry& geometry,
                                                       const float* weights, const Epilogue& epilogue,
                                                       const Prologue& prologue) {
  if (weights == nullptr || geometry.is_empty()) return nullptr;
  auto convolution = std::make_unique<DirectConvolution>(geometry, weights, epilogue, prologue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
