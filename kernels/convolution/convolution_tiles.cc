// Convolution as products in matrix tiles. Of 1x1, output channels are rows and positions columns, as they
// lie. Else positions are rows: a block of the image is staged as for other algorithms, so that a tap is an
// offset, and turned round while it is split into parts of floats, so that rows of a tile are whole lines,
// whatever the tap; results are turned back. What lies between rows of outputs is multiplied, too, and left
// out at last.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/base/processor.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_prologue.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/convolution/tile_blocks.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packing_pieces.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kSize = MatrixTiles::kSize;
constexpr std::size_t kWidth = TilePanels::kWidth;
constexpr std::size_t kStepTerms = MatrixTiles::kStepTerms;

/// Of a float; lines are turned round.
double splitting_cycles(const ConvolutionGeometry& geometry, const MatrixTiles& tiles) {
  return (geometry.is_pointwise() ? 0.2 : 0.4) * static_cast<double>(tiles.parts);
}

class TilesConvolution final : public Convolution {
 public:
  TilesConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue,
                   const Prologue& prologue)
      : tiles_(*matrix_tiles(geometry.whole_floats)),
        kernels_(gemm_kernels()),
        geometry_(geometry),
        prologue_(prologue, geometry.groups * geometry.in_channels),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        chunks_(divide_up(geometry.in_channels, kStepTerms)),
        cut_(geometry, most_vectors(), work_of(geometry, tiles_)),
        staging_(geometry, kStepTerms, cut_.plane.max_rows(), cut_.plane.max_columns()) {
    geometry_.workers = cut_.workers;
    if (!geometry.is_pointwise()) {
      staged_floats_ = round_up_to_line(staging_.floats());
    } else if (!prologue.is_empty()) {
      staged_floats_ = kStepTerms * kMappedColumns;
    }
    pair_stride_ = spread_pairs(cut_.plane.max_columns());
    split_floats_ = chunks_ * chunk_floats();
    // So many steps of weights for a panel, and of positions, stay in the second-level cache.
    schedule_.depths = Split(steps(), kMostSteps);
    schedule_.most_panels = kMostPanels;
    sum_floats_ = kept_floats() * schedule_.kept_panels(cut_.channels.count());
    set_offsets();
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return kMatrixTiles; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (cut_.tasks() == 0) return;
    float* const slots = aligned_scratch(scratch);
    const Call call{in.image, in.scale, epilogue_.residual() ? in.residual : nullptr, out};
    for_each_group(cut_.count, cut_.shares.parts, cut_.cost(), geometry_.workers,
                   [&](const GroupRange& range) {
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
  static constexpr std::size_t kMostSteps = 48;
  static constexpr std::size_t kMappedColumns = 256;
  /// Whose sums are kept.
  static constexpr std::size_t kMostPanels = 16;

  struct Call {
    const float* image;
    const float* scale;
    const float* residual;
    float* out;
  };

  static TileWork work_of(const ConvolutionGeometry& geometry, const MatrixTiles& tiles) {
    constexpr double kStaging = 0.3;
    constexpr double kMapping = 0.4;  // with several workers, what others have made
    return {tiles, divide_up(geometry.in_channels, kStepTerms) * geometry.taps(),
            splitting_cycles(geometry, tiles) + (geometry.is_pointwise() ? 0 : kStaging) +
                (geometry.maps_image ? kMapping : 0)};
  }

  /// What is split of a block stays in the second-level cache, beside a panel of weights.
  [[nodiscard]] std::size_t most_vectors() const {
    const std::size_t floats = second_level_cache() / 3 / sizeof(float);
    const std::size_t plane = geometry_.axes[1].out * geometry_.axes[2].out;
    if (plane == 0) return 1;
    const std::size_t staged =
        geometry_.is_pointwise() ? plane : staged_plane(geometry_) / geometry_.in_channels;
    const double floats_per_position =
        static_cast<double>(chunks_ * tiles_.parts * kSize * staged) / static_cast<double>(plane);
    const auto positions =
        static_cast<std::size_t>(static_cast<double>(floats) / std::max(floats_per_position, 1.0));
    return std::max<std::size_t>(positions / kWidth, 1) * MatrixTiles::kMost;
  }

  [[nodiscard]] std::size_t steps() const { return chunks_ * geometry_.taps(); }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, sum_floats_ + split_floats_ + staged_floats_);
  }

  /// Sums of a panel of output channels.
  [[nodiscard]] std::size_t kept_floats() const {
    if (schedule_.depths.parts == 1) return kWidth * kWidth;
    const std::size_t pitch = geometry_.is_pointwise() ? cut_.plane.max_columns() : staging_.row_stride();
    return TilePanels(cut_.plane.max_rows() * pitch).count() * kWidth * kWidth;
  }

  /// Of all positions of a chunk of channels, split; tiles go past the last one.
  [[nodiscard]] std::size_t chunk_floats() const {
    return geometry_.is_pointwise() ? tiles_.parts * kSize * pair_stride_
                                    : (staging_.channel_stride() + kWidth) * tiles_.line_floats();
  }

  /// Steps are chunks of channels, tap by tap.
  void set_offsets() {
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      for (std::size_t tap = 0; tap < geometry_.taps(); ++tap) {
        const std::size_t of_tap =
            geometry_.is_pointwise()
                ? 0
                : static_cast<std::size_t>(staging_.offsets()[tap]) * tiles_.line_floats();
        offsets_.push_back(static_cast<std::int32_t>(chunk * chunk_floats() + of_tap));
      }
    }
  }

  /// Of a group.
  [[nodiscard]] std::size_t weight_floats() const {
    return cut_.channels.tiles() * steps() * tiles_.step_floats(1);
  }
  void pack_weights(const float* weights) {
    packed_weights_ =
        packed_filters(geometry_, weights, {kMatrixTiles, {&tiles_}, {}}, geometry_.groups * weight_floats(),
                       [&](float* to) { pack_weights(weights, to); });
  }
  /// [group][panel of output channels][chunk of channels][tap]
  void pack_weights(const float* weights, float* to) const {
    const std::size_t taps = geometry_.taps();
    const std::size_t filter = geometry_.in_channels * taps;
    const std::size_t panels = cut_.channels.count();
    const auto source = [&](std::size_t i) {
      const std::size_t channel = i / panels * geometry_.out_channels + i % panels * kWidth;
      return weights + channel * filter;
    };
    pack_in_pieces(geometry_.groups * panels, source, [&](std::size_t first, std::size_t last) {
      parallel_for(last - first, 1, [&](std::size_t begin, std::size_t end) {
        AlignedFloats block(geometry_.is_pointwise() ? 0 : kStepTerms * taps * kWidth);
        for (std::size_t i = first + begin; i < first + end; ++i) {
          const float* from = source(i);
          float* packed = to + i / panels * weight_floats() +
                          schedule_.offset({0, i % panels}, cut_.channels) * tiles_.step_floats(1);
          for (std::size_t channel = 0; channel < geometry_.in_channels; channel += kStepTerms) {
            const std::size_t channels = std::min(kStepTerms, geometry_.in_channels - channel);
            pack_chunk(from + channel * taps, channels, i % panels, block.data(), packed);
            packed += taps * cut_.channels.tiles(i % panels) * tiles_.step_floats(1);
          }
        }
      });
    });
  }

  /// All taps of `channels` input channels, for a panel of output channels.
  void pack_chunk(const float* from, std::size_t channels, std::size_t panel, float* block,
                  float* packed) const {
    const std::size_t taps = geometry_.taps();
    const std::size_t filter = geometry_.in_channels * taps;
    const std::size_t columns = cut_.channels.size(panel);
    const std::size_t tiles = cut_.channels.tiles(panel);
    if (geometry_.is_pointwise()) return tiles_.split_rows(from, filter, columns, channels, tiles, packed);
    // One panel of two vectors, or of one.
    kernels_.pack_columns_transposed(from, filter, channels * taps, columns, block);
    const std::size_t width = tiles * kSize;
    for (std::size_t tap = 0; tap < taps; ++tap, packed += tiles * tiles_.step_floats(1))
      split_panel(tiles_, block + tap * width, taps * width, channels, columns, packed);
  }

  /// Panels of output channels for one block of the plane of one group of one image.
  void convolve(const Call& call, const GroupRange& range, float* slot) const {
    const TileBlocks::Place block = cut_.place(range.group);
    const OutputBlock& outputs = block.outputs;
    const std::size_t index = block.index;
    const std::size_t begin = cut_.shares.begin(range.first);
    const std::size_t end = cut_.shares.begin(range.last);
    float* const split = slot + sum_floats_;
    fetch_rows(weights_at(index, {0, begin}), 0, 1,
               schedule_.size({0, begin}, cut_.channels) * tiles_.step_floats(1));
    if (!range.continues)
      split_image(call, index * geometry_.in_channels, outputs, split, split + split_floats_);
    schedule_.for_each(begin, end, [&](const TilePlace& place, std::size_t kept, const TilePlace* next) {
      multiply(call, index, outputs, place, split, slot + kept * kept_floats(),
               next == nullptr ? nullptr : weights_at(index, *next));
    });
  }

  /// `index` is that of a group, counted over all images.
  [[nodiscard]] const float* weights_at(std::size_t index, const TilePlace& place) const {
    return packed_weights_.get() + index % geometry_.groups * weight_floats() +
           schedule_.offset(place, cut_.channels) * tiles_.step_floats(1);
  }

  /// `first_channel` counts over all groups and images.
  void split_image(const Call& call, std::size_t first_channel, const OutputBlock& outputs, float* split,
                   float* staged) const {
    const float* const image = call.image + first_channel * geometry_.in_size();
    for (std::size_t channel = 0; channel < geometry_.in_channels; channel += kStepTerms) {
      const std::size_t channels = std::min(kStepTerms, geometry_.in_channels - channel);
      const float* from = image + channel * geometry_.in_size();
      if (!geometry_.is_pointwise()) {
        staging_.stage(kernels_, from, channels, outputs, staged);
        tiles_.split_lines(staging_.origin(staged), staging_.channel_stride(), channels,
                           staging_.channel_stride(), split);
      } else if (prologue_.is_empty()) {
        tiles_.split_columns(from + outputs.column, geometry_.in_size(), channels, outputs.columns, split,
                             pair_stride_, kSize * pair_stride_);
      } else {
        split_mapped(from, channels, outputs, prologue_.map(call.scale, first_channel + channel), staged,
                     split);
      }
      split += chunk_floats();
    }
  }

  /// Pieces that stay in the first-level cache.
  void split_mapped(const float* from, std::size_t channels, const PlaneBlock& outputs, const TermMap& map,
                    float* mapped, float* split) const {
    for (std::size_t done = 0; done < outputs.columns; done += kMappedColumns) {
      const std::size_t columns = std::min(kMappedColumns, outputs.columns - done);
      kernels_.map_rows(from + outputs.column + done, geometry_.in_size(), channels, columns, map, mapped,
                        kMappedColumns);
      tiles_.split_columns(mapped, kMappedColumns, channels, columns, split + done, pair_stride_,
                           kSize * pair_stride_);
    }
  }

  /// A block of terms of a panel of output channels, for all positions. `next`: weights that are read after
  /// these, or nullptr.
  void multiply(const Call& call, std::size_t index, const OutputBlock& outputs, const TilePlace& place,
                const float* split, float* sums, const float* next) const {
    const bool pointwise = geometry_.is_pointwise();
    const std::size_t channel_tiles = cut_.channels.tiles(place.panel);
    const std::size_t pitch = pointwise ? outputs.columns : staging_.row_stride();
    const TilePanels positions((outputs.rows - 1) * pitch + outputs.columns);
    TileSum sum;
    sum.steps = schedule_.depths.size(place.depth);
    sum.packed = weights_at(index, place);
    sum.offsets = offsets_.data() + schedule_.depths.begin(place.depth);
    sum.placed_stride = pointwise ? pair_stride_ : tiles_.line_floats();
    sum.placed_part = pointwise ? kSize * pair_stride_ : kSize;
    sum.placed_next = pointwise ? kSize : kSize * tiles_.line_floats();
    const std::size_t kept = schedule_.depths.parts > 1 ? kWidth * kWidth : 0;
    for (std::size_t part = 0; part < positions.count(); ++part, sums += kept) {
      const std::size_t first = part * kWidth;
      const std::size_t tiles = positions.tiles(part);
      sum.fetch_share(next, schedule_.size(place, cut_.channels) * tiles_.step_floats(1), part,
                      positions.count());
      if (pointwise) {
        sum.placed = split + first;
        tiles_.multiply_placed_columns[channel_tiles - 1][tiles - 1](sum, sums, kWidth, place.depth != 0);
      } else {
        sum.placed = split + first * tiles_.line_floats();
        tiles_.multiply_placed_rows[tiles - 1][channel_tiles - 1](sum, sums, kWidth, place.depth != 0);
      }
      if (schedule_.is_last(place))
        finish(call, index, outputs, place.panel, {pitch, first, first + positions.size(part)}, sums);
    }
  }

  /// Positions of a block, whose rows are `pitch` of them apart.
  struct Positions {
    std::size_t pitch = 0;
    std::size_t first = 0;
    std::size_t end = 0;
  };

  void finish(const Call& call, std::size_t index, const OutputBlock& outputs, std::size_t panel,
              const Positions& positions, float* sums) const {
    const bool pointwise = geometry_.is_pointwise();
    const std::size_t channels = cut_.channels.size(panel);
    const auto& [pitch, first, end] = positions;
    const Tile tile = tile_of(call, index, panel);
    Tile whole = tile;
    whole.columns = pointwise ? kWidth : channels;
    if (!pointwise) std::swap(whole.row_bias, whole.column_bias);
    const bool is_finished = post_in_place(tiles_, epilogue_, sums, pointwise ? channels : kWidth, whole);
    for (std::size_t begin = first; begin < end;) {
      const std::size_t row = begin / pitch;
      const std::size_t row_end = std::min(row * pitch + outputs.columns, end);
      if (begin < row_end) {
        const std::size_t place =
            (outputs.depth * geometry_.axes[1].out + outputs.row + row) * geometry_.axes[2].out +
            outputs.column + begin % pitch;
        Tile piece = is_finished ? tile_of_results(tile) : tile;
        piece.out += place;
        if (piece.residual != nullptr) piece.residual += place;
        piece.columns = row_end - begin;
        const std::size_t position = begin - first;
        if (pointwise) {
          tiles_.finish(sums + position, kWidth, channels, piece);
        } else {
          kernels_.finish_transposed(sums + position * kWidth, kWidth, channels, piece);
        }
        if (!is_finished) {
          epilogue_.post_channels(piece.out, piece.stride, channels, piece.columns,
                                  group_channel(index, panel));
        }
      }
      begin = (row + 1) * pitch;
    }
  }

  /// The first output channel of a panel, over all groups.
  [[nodiscard]] std::size_t group_channel(std::size_t index, std::size_t panel) const {
    return index % geometry_.groups * geometry_.out_channels + panel * kWidth;
  }
  /// Where a panel of output channels begins in a group of an image.
  [[nodiscard]] Tile tile_of(const Call& call, std::size_t index, std::size_t panel) const {
    const std::size_t channel = panel * kWidth;
    const std::size_t origin = (index * geometry_.out_channels + channel) * geometry_.out_size();
    Tile tile;
    tile.out = call.out + origin;
    tile.stride = geometry_.out_size();
    if (call.residual != nullptr) tile.residual = call.residual + origin;
    epilogue_.set_up(tile, BiasAxis::row, group_channel(index, panel), 0);
    return tile;
  }

  const MatrixTiles& tiles_;
  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  OwnedPrologue prologue_;
  OwnedEpilogue epilogue_;
  std::size_t chunks_;  ///< of input channels
  TileBlocks cut_;
  ImageStaging staging_;
  TileSchedule schedule_;
  std::size_t staged_floats_ = 0;
  std::size_t sum_floats_ = 0;
  std::size_t split_floats_ = 0;
  std::size_t pair_stride_ = 0;
  std::vector<std::int32_t> offsets_;
  PackedFloats packed_weights_;
};

}  // namespace

double tiles_convolution_cost(const ConvolutionGeometry& geometry) {
  const MatrixTiles* const kernels = matrix_tiles(geometry.whole_floats);
  if (kernels == nullptr || geometry.is_empty() || geometry.in_channels == 1) return kCannotServe;
  constexpr double kStart = 2000;
  const bool is_pointwise = geometry.is_pointwise();
  const bool is_strided = geometry.axes[2].stride > 1;
  // Of one float: to split it, mapped or not, and to finish a result; lines are turned round before and
  // after. With strides, fewer taps read a line again.
  const double mapping = geometry.maps_image ? 0.1 : 0;
  const double splitting = splitting_cycles(geometry, *kernels) + mapping;
  const double finishing = is_pointwise ? 0.25 : is_strided && geometry.taps() > 1 ? 1.5 : 0.5;
  const ConvolutionAxis& rows = geometry.axes[1];
  const ConvolutionAxis& columns = geometry.axes[2];
  const std::size_t chunks = divide_up(geometry.in_channels, kStepTerms);
  const std::size_t pitch =
      is_pointwise ? columns.out : columns.out + AxisStaging(columns, columns.out).max_shift;
  const std::size_t tiles = divide_up(rows.out * pitch, kSize);
  const std::size_t staged = is_pointwise ? geometry.in_channels * columns.out : staged_plane(geometry);
  // Of a float of an image that comes from far away; picking samples for strides takes longer than that.
  constexpr double kReading = 0.5;
  const double reading = is_far(geometry) && !is_strided
                             ? kReading * static_cast<double>(geometry.in_channels * rows.in * columns.in)
                             : 0;
  const double staging = is_pointwise ? 0 : staging_cost(geometry) + reading;
  return tile_product_cost(*kernels, TilePanels(geometry.out_channels).tiles(), tiles,
                           chunks * geometry.taps()) +
         staging + splitting * static_cast<double>(staged) +
         finishing * static_cast<double>(geometry.out_channels * rows.out * columns.out) + kStart +
         with_weights(0, geometry.out_channels * geometry.in_channels * geometry.taps() * kernels->parts / 2);
}

std::size_t tiles_convolution_weights(const ConvolutionGeometry& geometry) {
  return TilePanels(geometry.out_channels).tiles() * divide_up(geometry.in_channels, kStepTerms) *
         geometry.taps() * matrix_tiles(geometry.whole_floats)->step_floats(1);
}

std::unique_ptr<Convolution> create_tiles_convolution(const ConvolutionGeometry& geometry,
                                                      const float* weights, const Epilogue& epilogue,
                                                      const Prologue& prologue) {
  if (matrix_tiles(geometry.whole_floats) == nullptr || weights == nullptr || geometry.is_empty())
    return nullptr;
  auto convolution = std::make_unique<TilesConvolution>(geometry, weights, epilogue, prologue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
