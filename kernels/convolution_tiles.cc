// Convolution as products in matrix tiles: output channels are rows, positions columns. A block of the image
// is staged as for other algorithms, so that a tap is an offset, and split into halves of floats once for all
// taps and output channels; pairs are of channels, whose positions lie side by side. Where rows of outputs
// are shorter than what is staged of them, positions between two rows are multiplied, too, and left out at
// last.
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/aligned_floats.h"
#include "kernels/convolution_cost.h"
#include "kernels/convolution_geometry.h"
#include "kernels/convolution_prologue.h"
#include "kernels/convolution_staging.h"
#include "kernels/gemm_block.h"
#include "kernels/gemm_kernels.h"
#include "kernels/matrix_tiles.h"
#include "kernels/packed_filters.h"
#include "kernels/parallel.h"
#include "kernels/plane_split.h"
#include "kernels/task_queue.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kSize = MatrixTiles::kSize;
constexpr std::size_t kWidth = TilePanels::kWidth;
constexpr std::size_t kStepTerms = MatrixTiles::kStepTerms;
constexpr std::size_t kTileFloats = MatrixTiles::step_floats(1);  ///< of a step of a tile

/// From a pair of channels to the next: whole lines, an odd number, so that those of a tile meet in no set of
/// a cache.
std::size_t pair_stride(std::size_t positions) {
  return (divide_up(positions, kFloatsPerLine) | 1) * kFloatsPerLine;
}

class TilesConvolution final : public Convolution {
 public:
  TilesConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue,
                   const Prologue& prologue)
      : tiles_(*matrix_tiles()),
        kernels_(gemm_kernels()),
        geometry_(geometry),
        prologue_(prologue, geometry.groups * geometry.in_channels),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        channels_(geometry.out_channels),
        chunks_(divide_up(geometry.in_channels, kStepTerms)),
        plane_(geometry.axes[1].out, geometry.axes[2].out, kSize, most_vectors(), spread()),
        staging_(geometry, kStepTerms, plane_.max_rows(), plane_.max_columns()),
        blocks_(geometry.planes() * plane_.parts()),
        shares_(fewest_parts(channels_.count(), blocks_, geometry.workers)) {
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(blocks_ * shares_.parts, 1));
    staged_floats_ = reads_in_place() ? 0 : round_up_to_line(staging_.floats());
    // Tiles go past the last position.
    const std::size_t channel = geometry.is_pointwise() ? plane_.max_columns() : staging_.channel_stride();
    pair_stride_ = pair_stride(channel + kWidth);
    split_floats_ = chunks_ * kStepTerms * pair_stride_;
    set_offsets();
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return "matrix_tiles"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (blocks_ * shares_.parts == 0) return;
    float* const slots = aligned_scratch(scratch);
    const Call call{in.image, in.scale, epilogue_.residual() ? in.residual : nullptr, out};
    // A tile does as much as sixteen vectors.
    const std::size_t cost = geometry_.planes() * channels_.tiles() * steps() * geometry_.axes[1].out *
                                 geometry_.axes[2].out / (blocks_ * shares_.parts) +
                             1;
    for_each_group(blocks_, shares_.parts, cost, geometry_.workers, [&](const GroupRange& range) {
      tiles_.begin();
      convolve(call, range, slots + range.worker * slot_floats());
      tiles_.end();
    });
  }

  /// Whether staging stays within bounds that make sense.
  [[nodiscard]] bool is_feasible() const {
    return staged_floats_ <= kStagingLimit && split_floats_ <= kStagingLimit;
  }

 private:
  struct Call {
    const float* image;
    const float* scale;
    const float* residual;
    float* out;
  };

  /// What is split of a block stays in the second-level cache, beside a panel of weights.
  [[nodiscard]] std::size_t most_vectors() const {
    const std::size_t floats = second_level_cache() / 3 / sizeof(float);
    const std::size_t plane = geometry_.axes[1].out * geometry_.axes[2].out;
    if (plane == 0) return 1;
    const std::size_t staged = geometry_.is_pointwise()
                                   ? chunks_ * kStepTerms * plane
                                   : staged_plane(geometry_) / geometry_.in_channels * chunks_ * kStepTerms;
    const std::size_t positions =
        static_cast<std::size_t>(static_cast<double>(floats) * static_cast<double>(plane) /
                                 static_cast<double>(std::max<std::size_t>(staged, 1)));
    return std::max<std::size_t>(positions / kWidth, 1) * MatrixTiles::kMost;
  }

  /// Workers share the positions, unless weights are more: then each would read all of those.
  [[nodiscard]] SpreadPlanes spread() const {
    const std::size_t weights = geometry_.out_channels * geometry_.in_channels * geometry_.taps();
    const std::size_t samples = geometry_.in_channels * geometry_.in_size();
    return {geometry_.planes(), weights > samples ? 1 : geometry_.workers};
  }

  [[nodiscard]] bool reads_in_place() const { return geometry_.is_pointwise() && prologue_.is_empty(); }
  [[nodiscard]] std::size_t steps() const { return chunks_ * geometry_.taps(); }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, kWidth * kWidth + split_floats_ + staged_floats_);
  }

  /// Steps are chunks of channels, tap by tap.
  void set_offsets() {
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      for (std::size_t tap = 0; tap < geometry_.taps(); ++tap) {
        const std::int32_t of_tap = geometry_.is_pointwise() ? 0 : staging_.offsets()[tap];
        offsets_.push_back(static_cast<std::int32_t>(chunk * kStepTerms * pair_stride_) + of_tap);
      }
    }
  }

  void pack_weights(const float* weights) {
    const std::size_t group = channels_.tiles() * steps() * kTileFloats;
    packed_weights_ = packed_filters(geometry_, weights, {"matrix_tiles", {&tiles_}, {}},
                                     geometry_.groups * group, [&](float* to) { pack_weights(weights, to); });
  }
  /// [group][panel of output channels][chunk of channels][tap]
  void pack_weights(const float* weights, float* to) const {
    const std::size_t taps = geometry_.taps();
    const std::size_t terms = geometry_.in_channels * taps;
    const std::size_t panels = channels_.count();
    const std::size_t group = channels_.tiles() * steps() * kTileFloats;
    parallel_for(geometry_.groups * panels, 1, [&](std::size_t begin, std::size_t end) {
      AlignedFloats block(kStepTerms * kWidth);
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t panel = i % panels;
        const std::size_t rows = channels_.size(panel);
        const float* const from = weights + (i / panels * geometry_.out_channels + panel * kWidth) * terms;
        float* packed = to + i / panels * group + panel * MatrixTiles::kMost * steps() * kTileFloats;
        for (std::size_t channel = 0; channel < geometry_.in_channels; channel += kStepTerms) {
          const std::size_t depth = std::min(kStepTerms, geometry_.in_channels - channel);
          for (std::size_t tap = 0; tap < taps; ++tap) {
            const float* source = from + channel * taps + tap;
            std::size_t stride = terms;
            if (taps > 1) {
              for (std::size_t row = 0; row < rows; ++row) {
                for (std::size_t term = 0; term < depth; ++term)
                  block.data()[row * kStepTerms + term] = source[row * terms + term * taps];
              }
              source = block.data();
              stride = kStepTerms;
            }
            tiles_.split_rows(source, stride, rows, depth, channels_.tiles(panel), packed);
            packed += channels_.tiles(panel) * kTileFloats;
          }
        }
      }
    });
  }

  /// Panels of output channels for one block of the plane of one group of one image.
  void convolve(const Call& call, const GroupRange& range, float* slot) const {
    std::size_t index = range.group;
    OutputBlock outputs;
    static_cast<PlaneBlock&>(outputs) = plane_.block(index % plane_.parts());
    index /= plane_.parts();
    outputs.depth = index % geometry_.axes[0].out;
    index /= geometry_.axes[0].out;
    float* const split = slot + kWidth * kWidth;
    if (!range.continues)
      split_image(call, index * geometry_.in_channels, outputs, split, split + split_floats_);
    for (std::size_t panel = shares_.begin(range.first); panel < shares_.begin(range.last); ++panel)
      multiply(call, index, outputs, panel, split, slot);
  }

  /// `first_channel` counts over all groups and images.
  void split_image(const Call& call, std::size_t first_channel, const OutputBlock& outputs, float* split,
                   float* staged) const {
    const float* const image = call.image + first_channel * geometry_.in_size();
    for (std::size_t channel = 0; channel < geometry_.in_channels; channel += kStepTerms) {
      const std::size_t channels = std::min(kStepTerms, geometry_.in_channels - channel);
      const float* from = image + channel * geometry_.in_size();
      std::size_t stride = geometry_.in_size();
      std::size_t count = outputs.columns;
      if (reads_in_place()) {
        from += outputs.column;
      } else if (geometry_.is_pointwise()) {
        staging_.stage_mapped(kernels_, from, channels, outputs,
                              prologue_.map(call.scale, first_channel + channel), staged);
      } else {
        staging_.stage(kernels_, from, channels, outputs, staged);
        count = staging_.channel_stride();
      }
      if (!reads_in_place()) {
        from = staging_.origin(staged);
        stride = staging_.channel_stride();
      }
      tiles_.split_columns(from, stride, channels, count, split, pair_stride_, kStepTerms / 2 * pair_stride_);
      split += kStepTerms * pair_stride_;
    }
  }

  void multiply(const Call& call, std::size_t index, const OutputBlock& outputs, std::size_t panel,
                const float* split, float* sums) const {
    const std::size_t group = index % geometry_.groups;
    const std::size_t row_tiles = channels_.tiles(panel);
    const std::size_t pitch = geometry_.is_pointwise() ? outputs.columns : staging_.row_stride();
    const TilePanels positions((outputs.rows - 1) * pitch + outputs.columns);
    TileSum sum;
    sum.steps = steps();
    sum.left = packed_weights_.get() +
               (group * channels_.tiles() + panel * MatrixTiles::kMost) * steps() * kTileFloats;
    sum.offsets = offsets_.data();
    sum.right_stride = pair_stride_;
    sum.right_lower = kStepTerms / 2 * pair_stride_;
    // Every panel of positions fetches its share of the next panel of weights.
    if (panel + 1 < channels_.count()) {
      sum.fetch = sum.left + row_tiles * steps() * kTileFloats;
      sum.fetch_step =
          round_up_to_line(divide_up(channels_.tiles(panel + 1) * kTileFloats, positions.count()));
    }
    for (std::size_t part = 0; part < positions.count(); ++part) {
      const std::size_t first = part * kWidth;
      sum.right = split + first;
      tiles_.multiply[row_tiles - 1][positions.tiles(part) - 1](sum, sums, kWidth, false);
      if (sum.fetch != nullptr) sum.fetch += sum.steps * sum.fetch_step;
      for (std::size_t begin = first; begin < first + positions.size(part);) {
        const std::size_t row = begin / pitch;
        const std::size_t column = begin % pitch;
        const std::size_t end = std::min(row * pitch + outputs.columns, first + positions.size(part));
        if (begin < end)
          finish(call, index, outputs, panel, {row, 1, column, end - begin}, sums + begin - first);
        begin = (row + 1) * pitch;
      }
    }
  }

  /// Positions of a row of the block.
  void finish(const Call& call, std::size_t index, const OutputBlock& outputs, std::size_t panel,
              const PlaneBlock& piece, const float* sums) const {
    const std::size_t channel = panel * kWidth;
    const std::size_t origin =
        (index * geometry_.out_channels + channel) * geometry_.out_size() +
        (outputs.depth * geometry_.axes[1].out + outputs.row + piece.row) * geometry_.axes[2].out +
        outputs.column + piece.column;
    const std::size_t group_channel = index % geometry_.groups * geometry_.out_channels + channel;
    Tile tile;
    tile.out = call.out + origin;
    tile.stride = geometry_.out_size();
    tile.columns = piece.columns;
    if (call.residual != nullptr) tile.residual = call.residual + origin;
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + group_channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    tiles_.finish(sums, kWidth, channels_.size(panel), tile);
    epilogue_.post_channels(tile.out, tile.stride, channels_.size(panel), tile.columns, group_channel);
  }

  const MatrixTiles& tiles_;
  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  OwnedPrologue prologue_;
  OwnedEpilogue epilogue_;
  TilePanels channels_;  ///< of outputs
  std::size_t chunks_;   ///< of input channels
  PlaneSplit plane_;
  ImageStaging staging_;
  std::size_t blocks_;  ///< of outputs, in all images
  Split shares_;        ///< of panels of output channels
  std::size_t staged_floats_ = 0;
  std::size_t split_floats_ = 0;
  std::size_t pair_stride_ = 0;
  std::vector<std::int32_t> offsets_;
  PackedFloats packed_weights_;
};

}  // namespace

double tiles_convolution_cost(const ConvolutionGeometry& geometry) {
  if (matrix_tiles() == nullptr || geometry.is_empty() || geometry.in_channels == 1) return kCannotServe;
  // Of one float: to split it, and to finish a result.
  constexpr double kSplitting = 0.25;
  constexpr double kFinishing = 0.25;
  const ConvolutionAxis& rows = geometry.axes[1];
  const ConvolutionAxis& columns = geometry.axes[2];
  const std::size_t chunks = divide_up(geometry.in_channels, kStepTerms);
  const std::size_t pitch =
      geometry.is_pointwise() ? columns.out : columns.out + AxisStaging(columns, columns.out).max_shift;
  const std::size_t tiles = divide_up(rows.out * pitch, kSize);
  const std::size_t staged =
      geometry.is_pointwise() ? geometry.in_channels * columns.out : staged_plane(geometry);
  const double staging = geometry.is_pointwise() ? 0 : staging_cost(geometry);
  return tile_product_cost(TilePanels(geometry.out_channels).tiles(), tiles, chunks * geometry.taps()) +
         staging + kSplitting * static_cast<double>(staged) +
         kFinishing * static_cast<double>(geometry.out_channels * rows.out * columns.out) +
         with_weights(0, geometry.out_channels * geometry.in_channels * geometry.taps());
}

std::size_t tiles_convolution_weights(const ConvolutionGeometry& geometry) {
  return TilePanels(geometry.out_channels).tiles() * divide_up(geometry.in_channels, kStepTerms) *
         geometry.taps() * kTileFloats;
}

std::unique_ptr<Convolution> create_tiles_convolution(const ConvolutionGeometry& geometry,
                                                      const float* weights, const Epilogue& epilogue,
                                                      const Prologue& prologue) {
  if (matrix_tiles() == nullptr || weights == nullptr || geometry.is_empty()) return nullptr;
  auto convolution = std::make_unique<TilesConvolution>(geometry, weights, epilogue, prologue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
