// Winograd's convolution for 3 x 3 filters of stride 1 and for lines of taps: 2.25 times (tiles of 2 x 2
// outputs) to 4 times (4 x 4) fewer multiplications than the sum has, 2 to 2.8 times along one axis, 1.6 to 2
// times where that has a stride. Tiles of a block of the output plane are columns of one matrix product per
// point of the transformed tile; see winograd_transforms.h.
//
// Tiles of 6 x 6 do with a fifth less than 4 x 4. Measured, their transforms and the rest of the tiles at
// borders take that back: in networks, they were as fast at best, and up to 1.4 times slower.
#include "kernels/winograd/winograd.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_depth.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/winograd/winograd_image.h"
#include "kernels/winograd/winograd_place.h"

namespace ir::kernels {
namespace {

/// Terms whose filters are transformed at a time.
constexpr std::size_t kPackedTerms = 64;

/// Where the columns of a block of tiles are in the packed panels of a point.
class TileBlock {
 public:
  TileBlock(const GemmKernels& kernels, const TileBlockSize& size, std::size_t depth)
      : lanes_(kernels.lanes), size_(size), depth_(depth), panels_(kernels.column_panels(size.tiles())) {
    for (std::size_t panel = 0; panel < panels_.parts; ++panel) {
      const std::size_t width = panels_.size(panel) * lanes_;
      for (std::size_t i = 0; i < panels_.size(panel); ++i)
        vectors_.push_back({panels_.begin(panel) * lanes_ * depth_ + i * lanes_, width});
    }
  }

  [[nodiscard]] const TileBlockSize& size() const { return size_; }
  [[nodiscard]] std::size_t padded_tiles() const { return panels_.total * lanes_; }
  /// Floats of one point.
  [[nodiscard]] std::size_t point_stride() const { return spread_points(padded_tiles() * depth_); }
  /// The columns from `first` on, which begin a panel, of terms from k on.
  [[nodiscard]] std::size_t panel_offset(std::size_t first, std::size_t k) const {
    const TileVector& vector = vectors_[first / lanes_];
    return vector.to + k * vector.channel_stride;
  }
  [[nodiscard]] const TileVector* vectors() const { return vectors_.data(); }

 private:
  std::size_t lanes_;
  TileBlockSize size_;
  std::size_t depth_;
  Split panels_;
  std::vector<TileVector> vectors_;
};

class WinogradConvolution final : public Convolution {
 public:
  WinogradConvolution(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms,
                      const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        transforms_(transforms),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        image_(geometry, transforms),
        depth_(image_.depth()),
        rows_(kernels_.row_panels(geometry.out_channels)),
        depth_blocks_(depth_blocks(depth_, 1, kernels_.block_depth)),
        cut_(best_cut()),
        row_blocks_(split_rows()) {
    for (std::size_t part = 0; part < cut_.plane.parts(); ++part) add_shape(cut_.plane.block(part));
    const TileBlock block(kernels_, {cut_.plane.max_rows(), cut_.plane.max_columns()}, depth_);
    columns_floats_ = transforms_.points() * block.point_stride();
    product_stride_ = spread_points(geometry_.out_channels * block.padded_tiles());
    points_floats_ = transforms_.points() * product_stride_;
    scratch_floats_ = image_.scratch_floats(block.size());
    blocks_ = geometry_.planes() * cut_.plane.parts();
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(blocks_ * row_blocks_.parts, 1));
    pack_weights(weights);
  }

  std::string_view algorithm() const override {
    if (transforms_.axes == TileAxes::vertical) return "winograd_4x1";
    if (transforms_.axes == TileAxes::horizontal) return "winograd_1x4";
    return transforms_.outputs == 2 ? "winograd_2x2" : "winograd_4x4";
  }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (blocks_ == 0) return;
    const Call call{in.image, epilogue_.residual() ? in.residual : nullptr, out};
    const std::size_t cost = geometry_.out_channels * geometry_.out_size() * depth_ * geometry_.groups *
                             geometry_.batch / blocks_ / kernels_.lanes * 3;
    float* const floats = aligned_scratch(scratch);
    // All blocks for a share of the output channels, then all blocks for the next one.
    const std::size_t sharing = loop_threads() == 1 ? 1 : cut_.sharing;
    const std::size_t parts = row_blocks_.parts / sharing;
    for_each_group(sharing * blocks_, parts, cost / row_blocks_.parts + 1, geometry_.workers,
                   [&](const GroupRange& range) {
                     const Place place = place_of(range.group % blocks_);
                     const std::size_t part = range.group / blocks_ * parts;
                     float* const slot = floats + range.worker * slot_floats();
                     // Every worker transforms the image for itself: to fetch it from another one's cache
                     // takes as long.
                     if (!range.continues) transform_image(call, place, slot);
                     multiply(call, place, row_blocks_.begin(part + range.first),
                              row_blocks_.begin(part + range.last), slot);
                   });
  }

 private:
  using Call = WinogradCall;
  struct Place : WinogradPlace {
    const TileBlock* block = nullptr;
  };
  /// How a plane is cut into blocks of tiles, and how many workers share the output channels of each.
  struct Cut {
    std::size_t sharing = 1;
    PlaneSplit plane;
  };

  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, columns_floats_ + points_floats_ + scratch_floats_);
  }
  void add_shape(const PlaneBlock& tiles) {
    if (find_shape(tiles) != shapes_.end()) return;
    shapes_.emplace_back(kernels_, TileBlockSize{tiles.rows, tiles.columns}, depth_);
  }
  [[nodiscard]] std::vector<TileBlock>::const_iterator find_shape(const PlaneBlock& tiles) const {
    return std::find_if(shapes_.begin(), shapes_.end(), [&](const TileBlock& shape) {
      return shape.size().rows == tiles.rows && shape.size().columns == tiles.columns;
    });
  }
  /// Of a plane.
  [[nodiscard]] std::size_t rows_of_tiles() const {
    return divide_up(geometry_.axes[1].out, transforms_.tile_rows());
  }
  [[nodiscard]] std::size_t columns_of_tiles() const {
    return divide_up(geometry_.axes[2].out, transforms_.tile_columns());
  }
  /// Output channels of the largest share.
  [[nodiscard]] std::size_t channels_of_share(std::size_t sharing) const {
    return std::min(divide_up(rows_.parts, sharing) * kernels_.max_rows, geometry_.out_channels);
  }

  /// How many workers share the output channels of each block of tiles. They save weights, which come from
  /// far away, and need not find tiles in equal parts, but each transforms the image of the block anew. In
  /// networks that are so small that they may run alone it is the better choice where it costs about the
  /// same: whoever is alone transforms once, while small pieces of a plane fill registers badly for it, too.
  [[nodiscard]] Cut best_cut() const {
    constexpr double kSmall = 1 << 17;  // cycles of a worker
    const std::size_t most = std::max<std::size_t>(std::min(geometry_.workers, rows_.parts), 1);
    Cut best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t sharing = 1; sharing <= most; ++sharing) {
      if (geometry_.workers % sharing != 0) continue;
      const Cut cut{sharing, split_plane(sharing)};
      if (most == 1) return cut;
      const double cost = cost_of_worker(cut);
      if (cost >= least) continue;
      least = sharing > 1 ? cost : cost * (cost < kSmall ? 1.05 : 0.95);
      best = cut;
    }
    return best;
  }
  /// What the busiest worker takes, in about cycles.
  [[nodiscard]] double cost_of_worker(const Cut& cut) const {
    constexpr std::size_t kMany = 8;  // blocks for each, so that one more or less makes no difference
    const auto& [sharing, plane] = cut;
    std::vector<double> costs;
    for (std::size_t part = 0; part < plane.parts(); ++part)
      costs.push_back(cost_of_block(plane.block(part), channels_of_share(sharing)));
    const std::size_t blocks = sharing * geometry_.planes() * plane.parts();
    const std::size_t workers = geometry_.workers;
    double most = 0;
    for (std::size_t worker = 0; worker < workers && blocks < kMany * workers; ++worker) {
      double cost = 0;
      const std::size_t end = share_begin(blocks, worker + 1, workers);
      for (std::size_t block = share_begin(blocks, worker, workers); block < end; ++block)
        cost += costs[block % costs.size()];
      most = std::max(most, cost);
    }
    const std::size_t most_blocks = divide_up(blocks, workers);
    if (most == 0) most = static_cast<double>(most_blocks) * *std::max_element(costs.begin(), costs.end());
    constexpr double kWeight = 0.3;  // fetched while others are multiplied
    const std::size_t weights = transforms_.points() * depth_ * channels_of_share(sharing);
    return most + kWeight * static_cast<double>(weights * (weights <= kCacheFloats ? 1 : most_blocks));
  }
  /// Products, transforms, and samples that come from other cores.
  [[nodiscard]] double cost_of_block(const PlaneBlock& block, std::size_t channels) const {
    constexpr double kSample = 1;
    const std::size_t tiles = block.rows * block.columns;
    const auto samples = static_cast<double>(tiles * transforms_.tile_rows() * transforms_.tile_columns());
    const auto floats = static_cast<double>(transforms_.points() * kernels_.padded(tiles));
    const std::size_t products = transforms_.points() * depth_ * kernels_.product_cost(channels, tiles);
    return static_cast<double>(products) + kSample * static_cast<double>(depth_) * samples +
           transforming_cost(transforms_, static_cast<double>(depth_), static_cast<double>(channels), floats);
  }

  /// As many tiles as leave what is transformed in the second-level cache, and at least two panels: the
  /// weights are read for every block. More of them where whole rows of tiles fill panels better and there is
  /// so much to multiply that it matters more.
  [[nodiscard]] std::size_t block_vectors(std::size_t sharing) const {
    constexpr std::size_t kWorthOfTransform = 40;  // multiplications
    const std::size_t channels = depth_ + channels_of_share(sharing);
    const std::size_t vector = transforms_.points() * channels * kernels_.lanes;
    const std::size_t fitting = std::max(kCacheFloats / vector, 2 * kernels_.max_vectors);
    if (depth_ * channels_of_share(sharing) < kWorthOfTransform * channels) return fitting;
    std::size_t best = fitting;
    std::size_t least = product_cost(best, sharing) * 24 / 25;
    const std::size_t whole = divide_up(rows_of_tiles() * columns_of_tiles(), kernels_.lanes);
    const std::size_t most = std::min(4 * kCacheFloats / vector, whole);
    for (std::size_t vectors = fitting + 1; vectors <= most; ++vectors) {
      const std::size_t cost = product_cost(vectors, sharing);
      if (cost >= least) continue;
      least = cost;
      best = vectors;
    }
    return best;
  }
  /// Of all tiles and a panel of rows, in blocks of at most so many vectors.
  [[nodiscard]] std::size_t product_cost(std::size_t vectors, std::size_t sharing) const {
    const PlaneSplit plane = split_plane(vectors, sharing);
    std::size_t cost = 0;
    for (std::size_t part = 0; part < plane.parts(); ++part) {
      const PlaneBlock block = plane.block(part);
      cost += kernels_.product_cost(kernels_.max_rows, block.rows * block.columns);
    }
    return cost;
  }
  [[nodiscard]] PlaneSplit split_plane(std::size_t vectors, std::size_t sharing) const {
    // Tiles of rows are staged and finished row by row, for which short ones are bad.
    const bool by_columns = transforms_.axes != TileAxes::horizontal;
    return {rows_of_tiles(),
            columns_of_tiles(),
            kernels_.lanes,
            vectors,
            {geometry_.planes(), divide_up(geometry_.workers, sharing), by_columns}};
  }
  [[nodiscard]] PlaneSplit split_plane(std::size_t sharing) const {
    return split_plane(block_vectors(sharing), sharing);
  }
  /// Into equal numbers for all that share.
  [[nodiscard]] Split split_rows() const {
    Split blocks(rows_.parts, divide_up(std::min(kBlockRows, geometry_.out_channels), kernels_.max_rows));
    const std::size_t sharing = cut_.sharing;
    blocks.parts = std::min(divide_up(blocks.parts, sharing) * sharing, rows_.parts / sharing * sharing);
    return blocks;
  }

  void pack_weights(const float* weights) {
    const std::size_t group_size = transforms_.points() * geometry_.out_channels * depth_;
    const PackedForm form{"winograd", {&kernels_, &transforms_}, {}};
    packed_weights_ = packed_filters(geometry_, weights, form, geometry_.groups * group_size,
                                     [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* to) const {
    const std::size_t group_size = transforms_.points() * geometry_.out_channels * depth_;
    const auto source = [&](std::size_t i) {
      const std::size_t channel = i / rows_.parts * geometry_.out_channels + rows_.begin(i % rows_.parts);
      return weights + channel * geometry_.in_channels * geometry_.taps();
    };
    pack_in_pieces(geometry_.groups * rows_.parts, source, [&](std::size_t first, std::size_t last) {
      parallel_for(last - first, 1, [&](std::size_t begin, std::size_t end) {
        const auto memory = std::make_unique_for_overwrite<std::byte[]>(
            scratch_bytes_for(transforms_.points() * rows_.largest() * kPackedTerms));
        float* const points = aligned_scratch(memory.get());
        for (std::size_t i = first + begin; i < first + end; ++i) {
          const std::size_t panel = i % rows_.parts;
          const std::vector<float> ordered = image_.filters_by_terms(source(i), rows_.size(panel));
          pack_panel(ordered.empty() ? source(i) : ordered.data(), panel, to + i / rows_.parts * group_size,
                     points);
        }
      });
    });
  }

  /// So few terms at a time that their points stay in the second-level cache until they are packed, and so
  /// many that those of a point are a stream.
  void pack_panel(const float* filters, std::size_t panel, float* to, float* points) const {
    const std::size_t first = rows_.begin(panel);
    const std::size_t rows = rows_.size(panel);
    for (const DepthBlock& block : depth_blocks_) {
      for (std::size_t k = 0; k < block.depth();) {
        const WinogradImage::TermRun run = image_.run_of(block.channel + k);
        const std::size_t terms = std::min({kPackedTerms, block.depth() - k, run.count});
        for (std::size_t row = 0; row < rows; ++row) {
          transforms_.filters(filters + row * depth_ * transforms_.filter_taps() + run.offset, run.stride,
                              terms, points + row * terms, rows * terms);
        }
        for (std::size_t point = 0; point < transforms_.points(); ++point) {
          kernels_.pack_rows(points + point * rows * terms, terms, 1, terms, Split(rows, rows),
                             to + packed_offset(point, block, first) + k * rows);
        }
        k += terms;
      }
    }
  }
  [[nodiscard]] std::size_t packed_offset(std::size_t point, const DepthBlock& block, std::size_t row) const {
    return (point * depth_ + block.channel) * geometry_.out_channels + row * block.depth();
  }

  [[nodiscard]] Place place_of(std::size_t index) const {
    const WinogradPlace place(geometry_, cut_.plane, index);
    return {place, &*find_shape(place.tiles)};
  }

  // A slot holds the transformed image, the products, and what the transforms need.
  [[nodiscard]] float* points_of(float* slot) const { return slot + columns_floats_; }
  [[nodiscard]] float* scratch_of(float* slot) const { return points_of(slot) + points_floats_; }

  void transform_image(const Call& call, const Place& place, float* slot) const {
    image_.transform(call.image + place.image * geometry_.in_channels * geometry_.in_size(), place.depth,
                     place.tiles, image_.terms_inside(place.depth), 0, place.block->vectors(), slot,
                     place.block->point_stride(), scratch_of(slot));
  }

  /// Output channels of row panels [first_panel, last_panel), by way of the products in `slot`.
  void multiply(const Call& call, const Place& place, std::size_t first_panel, std::size_t last_panel,
                float* slot) const {
    const TileBlock& block = *place.block;
    const float* const columns = slot;
    float* const points = points_of(slot);
    const float* const weights =
        packed_weights_.get() + place.group * transforms_.points() * geometry_.out_channels * depth_;
    const IndexRange inside = image_.terms_inside(place.depth);
    Block product;
    product.columns = block.padded_tiles();
    product.tile.stride = block.padded_tiles();
    for (std::size_t point = 0; point < transforms_.points(); ++point) {
      product.tile.out = points + point * product_stride_;
      const float* const point_columns = columns + point * block.point_stride();
      product.tile.accumulate = false;
      for (const DepthBlock& part : depth_blocks_) {
        const std::size_t first = std::max(part.channel, inside.begin);
        const std::size_t last = std::min(part.channel + part.depth(), inside.end);
        if (first >= last) continue;
        product.depth = last - first;
        const bool is_last = &part == &depth_blocks_.back();
        const std::size_t next_point = std::min(point + (is_last ? 1 : 0), transforms_.points() - 1);
        product.next_rows =
            weights + packed_offset(next_point, is_last ? depth_blocks_.front() : *(&part + 1),
                                    rows_.begin(first_panel));
        multiply_block(
            kernels_, RowRange{rows_, first_panel, last_panel, 0}, product, epilogue_,
            [&](const RowPanel& panel) {
              return weights + packed_offset(point, part, panel.row) + (first - part.channel) * panel.rows;
            },
            [&](std::size_t column, std::size_t, bool) {
              return point_columns + block.panel_offset(column, first);
            });
        product.tile.accumulate = true;
      }
    }
    finish(call, place, rows_.begin(first_panel), rows_.begin(last_panel), points, scratch_of(slot));
  }

  void finish(const Call& call, const Place& place, std::size_t first_channel, std::size_t end_channel,
              const float* points, float* scratch) const {
    const TileBlock& block = *place.block;
    const WinogradOutputs outputs(geometry_, transforms_, place);
    Tile tile;
    tile.stride = geometry_.axes[2].out;
    tile.columns = outputs.columns;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    for (std::size_t channel = first_channel; channel < end_channel; ++channel) {
      const std::size_t group_channel = place.group * geometry_.out_channels + channel;
      if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + group_channel;
      const std::size_t to = outputs.first + channel * geometry_.out_size();
      tile.out = call.out + to;
      if (call.residual != nullptr) tile.residual = call.residual + to;
      tile.fetch = channel + 1 < end_channel ? tile.out + geometry_.out_size() : nullptr;
      transforms_.output(points + channel * block.padded_tiles(), product_stride_, block.size(), outputs.rows,
                         tile, scratch);
      epilogue_.post_rows(tile.out, tile.stride, outputs.rows, tile.columns, group_channel);
    }
  }

  const GemmKernels& kernels_;
  const WinogradTransforms& transforms_;
  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  WinogradImage image_;
  std::size_t depth_;
  Split rows_;
  std::vector<DepthBlock> depth_blocks_;
  Cut cut_;
  Split row_blocks_;  ///< of panels
  std::vector<TileBlock> shapes_;
  std::size_t columns_floats_ = 0;
  std::size_t product_stride_ = 0;  ///< from one point of the products to the next
  std::size_t points_floats_ = 0;
  std::size_t scratch_floats_ = 0;  ///< of the transforms
  std::size_t blocks_ = 0;          ///< of tiles, in all images
  PackedFloats packed_weights_;
};

}  // namespace

std::unique_ptr<Convolution> create_winograd_convolution(const ConvolutionGeometry& geometry,
                                                         const WinogradTransforms& transforms,
                                                         const float* weights, const Epilogue& epilogue) {
  return std::make_unique<WinogradConvolution>(geometry, transforms, weights, epilogue);
}

}  // namespace ir::kernels
