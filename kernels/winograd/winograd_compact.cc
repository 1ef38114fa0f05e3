// Winograd's convolution with filters that are kept as they are: transformed ones are two to four times as
// large, and take as much longer to come from memory. Here they are transformed on the way, a piece of them
// that fits the caches at a time, once for every block of tiles. Tiles are rows of one matrix product per
// point, vectors of output channels its columns.
#include <algorithm>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_channels.h"
#include "kernels/winograd/winograd_image.h"
#include "kernels/winograd/winograd_place.h"
#include "kernels/winograd/winograd_transforms.h"

namespace ir::kernels {
namespace {

/// How a step is cut: blocks of tiles of each plane, for each of which so many workers share the channels.
struct CompactCut {
  CompactCut(const GemmKernels& kernels, const ConvolutionGeometry& geometry,
             const WinogradTransforms& transforms, std::size_t sharing)
      : planes(geometry.planes()),
        blocks(divide_up(geometry.axes[1].out, transforms.outputs),
               divide_up(geometry.axes[2].out, transforms.outputs), kernels.lanes,
               compact_block_vectors(geometry, transforms),
               {planes, divide_up(geometry.workers, sharing), true}),
        channels(even_panels(kernels.column_panels(geometry.out_channels), 1, sharing)),
        shares(fewest_parts(channels.parts, 1, sharing)),
        shares_image(shares.parts > 1 &&
                     transforms.points() * max_tiles() * geometry.in_channels * geometry.axes[0].kernel >
                         kMostOwned),
        images(shares_image ? std::min(std::max<std::size_t>(geometry.workers / shares.parts, 1), groups())
                            : 0) {}

  [[nodiscard]] std::size_t max_tiles() const { return blocks.max_rows() * blocks.max_columns(); }
  [[nodiscard]] std::size_t groups() const { return planes * blocks.parts(); }
  [[nodiscard]] std::size_t tasks() const { return groups() * shares.parts; }

  /// Of an image that each worker transforms for itself, which is sooner done than to fetch it from another
  /// core's cache: a larger one goes through the cache that all of them share again and again anyway.
  static constexpr std::size_t kMostOwned = kCacheFloats + kCacheFloats / 2;

  std::size_t planes;  ///< of all images
  PlaneSplit blocks;
  Split channels;      ///< of vectors
  Split shares;        ///< of channel panels
  bool shares_image;   ///< whether those who share a block transform its image together
  std::size_t images;  ///< that are shared at a time
};

/// The cut with which the busiest worker has the least to do: where more of them share a block, each
/// transforms its image, or waits for what others transform of it; where fewer do, each transforms more
/// filters.
CompactCut best_cut(const GemmKernels& kernels, const ConvolutionGeometry& geometry,
                    const WinogradTransforms& transforms) {
  constexpr double kOfFetching = 0.25;  // what others have transformed, of what that takes
  const auto cost = [&](const CompactCut& cut) {
    const CompactBlockCost block = compact_block_cost(geometry, transforms, cut.max_tiles(),
                                                      divide_up(geometry.out_channels, cut.shares.parts));
    const double image = cut.shares_image
                             ? block.image * (1 / static_cast<double>(cut.shares.parts) + kOfFetching)
                             : block.image;
    const std::size_t tasks = divide_up(cut.tasks(), geometry.workers);
    return static_cast<double>(tasks) * (block.filters + block.products) +
           static_cast<double>(divide_up(tasks, cut.shares.parts)) * image;
  };
  CompactCut best(kernels, geometry, transforms, 1);
  for (std::size_t sharing = 2; sharing <= geometry.workers; ++sharing) {
    if (geometry.workers % sharing != 0) continue;
    const CompactCut cut(kernels, geometry, transforms, sharing);
    if (cost(cut) < cost(best)) best = cut;
  }
  return best;
}

class CompactWinograd final : public Convolution {
 public:
  CompactWinograd(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms,
                  const WinogradChannels& channel_transforms, const float* weights, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        transforms_(transforms),
        channel_transforms_(channel_transforms),
        geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        image_(geometry, transforms),
        cut_(best_cut(kernels_, geometry, transforms)),
        filters_(compact_filters(geometry, transforms)),
        terms_(image_.depth(), filters_.terms),
        packs_rows_(is_worth_packing()),
        image_terms_(even_panels({image_.depth(), packs_rows_ ? kImageTerms : image_.depth()}, 1,
                                 cut_.shares_image ? cut_.shares.parts : 1)) {
    geometry_.workers = std::min(geometry.workers, cut_.tasks());
    const std::size_t width = cut_.channels.largest() * kernels_.lanes;
    const std::size_t tiles = cut_.max_tiles();
    for (std::size_t tile = 0; tile < tiles; tile += kernels_.lanes)
      vectors_.push_back({tile, padded_tiles()});
    columns_stride_ = packs_rows_ ? spread_points(image_terms_.largest() * padded_tiles()) : 0;
    rows_stride_ = spread_points(row_tiles() * terms_.total);
    filters_stride_ = spread_points(terms_.largest() * width);
    filters_floats_ =
        std::max(pairs_at_once() * 2 * transforms_.samples() * filters_stride_, points() * columns_stride_);
    panels_at_once_ = panels_at_once(width);
    products_stride_ = spread_points(tiles * width * panels_at_once_);
    outputs_floats_ = round_up_to_line(tiles * transforms_.outputs * transforms_.outputs * width);
    scratch_floats_ = image_.scratch_floats({cut_.blocks.max_rows(), cut_.blocks.max_columns()});
    pack_weights(weights);
  }

  std::string_view algorithm() const override {
    return transforms_.outputs == 2 ? "winograd_2x2_compact" : "winograd_4x4_compact";
  }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(all_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    const Call call{in.image, epilogue_.residual() ? in.residual : nullptr, out};
    float* const floats = aligned_scratch(scratch);
    if (cut_.shares_image) return run_together(call, floats);
    const PartRange all_terms{0, image_terms_.parts};
    for_each_group(cut_.groups(), cut_.shares.parts, share_cost(), geometry_.workers,
                   [&](const GroupRange& range) {
                     work(call, range.group, range.continues ? PartRange{} : all_terms,
                          {range.first, range.last}, slot_at(floats, 0, range.worker));
                   });
  }

 private:
  using Call = WinogradCall;
  struct Place : WinogradPlace {
    Split panels;  ///< of rows: the tiles
  };
  /// What a worker has for itself, and an image, which others may share: by points, with the strides of the
  /// same names.
  struct Slot {
    float* rows = nullptr;      ///< the image: transformed tiles, packed in panels or as columns
    float* filters = nullptr;   ///< a panel of channels, a block of terms; tiles on their way to `rows`
    float* products = nullptr;  ///< panels of channels, tiles x a panel
    float* outputs = nullptr;   ///< positions x a panel of channels
    float* scratch = nullptr;
  };

  /// Elementary operations of all terms of an image, and of a share of the channels.
  [[nodiscard]] std::size_t image_cost() const {
    return points() * image_.depth() * padded_tiles() / kernels_.lanes + 1;
  }
  [[nodiscard]] std::size_t share_cost() const {
    return cut_.max_tiles() * transforms_.outputs * transforms_.outputs * terms_.total *
               divide_up(geometry_.out_channels, cut_.shares.parts) / kernels_.lanes * 3 +
           1;
  }

  /// As many images at a time as occupy all workers, which transform them together before they share their
  /// channels.
  void run_together(const Call& call, float* floats) const {
    for (std::size_t first = 0; first < cut_.groups(); first += cut_.images) {
      const std::size_t count = std::min(cut_.images, cut_.groups() - first);
      for_each_group(count, image_terms_.parts, image_cost() / image_terms_.parts + 1, geometry_.workers,
                     [&](const GroupRange& range) {
                       work(call, first + range.group, {range.first, range.last}, {},
                            slot_at(floats, range.group, range.worker));
                     });
      for_each_group(count, cut_.shares.parts, share_cost(), geometry_.workers, [&](const GroupRange& range) {
        work(call, first + range.group, {}, {range.first, range.last},
             slot_at(floats, range.group, range.worker));
      });
    }
  }

  /// Transforms blocks of terms of an image, or makes shares of its channels, or both.
  void work(const Call& call, std::size_t group, const PartRange& blocks, const PartRange& shares,
            const Slot& slot) const {
    const Place place = place_of(group);
    for (std::size_t block = blocks.first; block < blocks.last; ++block)
      transform_image(call, place, block, slot);
    const std::size_t last = cut_.shares.begin(shares.last);
    for (std::size_t first = cut_.shares.begin(shares.first); first < last; first += panels_at_once_) {
      const std::size_t end = std::min(first + panels_at_once_, last);
      multiply(place, first, end, slot);
      for (std::size_t panel = first; panel < end; ++panel)
        finish(call, place, panel, products_of(place, slot, first, panel), slot);
    }
  }

  [[nodiscard]] Place place_of(std::size_t index) const {
    const WinogradPlace place(geometry_, cut_.blocks, index);
    return {place, kernels_.row_panels(place.tiles.rows * place.tiles.columns)};
  }

  /// Whether the transformed image stays in the second-level cache while all panels of channels read it.
  [[nodiscard]] bool image_stays() const { return points() * row_tiles() * terms_.total <= kCacheFloats; }
  [[nodiscard]] std::size_t padded_tiles() const { return kernels_.padded(cut_.max_tiles()); }
  /// Of a term of the transformed image.
  [[nodiscard]] std::size_t row_tiles() const { return packs_rows_ ? cut_.max_tiles() : padded_tiles(); }
  /// Of at most `width` channels each; what does not stay is read for as many as have products that do.
  [[nodiscard]] std::size_t panels_at_once(std::size_t width) const {
    if (image_stays()) return 1;
    return std::clamp<std::size_t>(kCacheFloats / 4 / (points() * cut_.max_tiles() * width), 1,
                                   cut_.channels.parts);
  }

  [[nodiscard]] std::size_t points() const { return transforms_.points(); }
  /// Of rows of points whose filters are transformed at once.
  [[nodiscard]] std::size_t pairs_at_once() const {
    return filters_.by_pairs ? 1 : transforms_.samples() / 2;
  }
  [[nodiscard]] std::size_t image_floats() const { return points() * rows_stride_; }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, (cut_.shares_image ? 0 : image_floats()) + filters_floats_ +
                                                points() * products_stride_ + outputs_floats_ +
                                                scratch_floats_);
  }
  [[nodiscard]] std::size_t all_floats() const {
    return cut_.images * image_floats() + geometry_.workers * slot_floats();
  }
  /// `image`: of those that are shared.
  [[nodiscard]] Slot slot_at(float* floats, std::size_t image, std::size_t worker) const {
    float* const own = floats + cut_.images * image_floats() + worker * slot_floats();
    Slot slot;
    slot.rows = cut_.shares_image ? floats + image * image_floats() : own;
    slot.filters = cut_.shares_image ? own : own + image_floats();
    slot.products = slot.filters + filters_floats_;
    slot.outputs = slot.products + points() * products_stride_;
    slot.scratch = slot.outputs + outputs_floats_;
    return slot;
  }
  [[nodiscard]] std::size_t padded_channels() const { return cut_.channels.total * kernels_.lanes; }
  [[nodiscard]] std::size_t first_channel(std::size_t panel) const {
    return std::min(cut_.channels.begin(panel) * kernels_.lanes, geometry_.out_channels);
  }
  /// The filters of a panel, [terms][9][channels].
  [[nodiscard]] std::size_t packed_offset(std::size_t group, std::size_t panel) const {
    return (group * padded_channels() + cut_.channels.begin(panel) * kernels_.lanes) * terms_.total * kTaps;
  }

  void pack_weights(const float* weights) {
    const std::size_t filter_floats = terms_.total * kTaps;
    const PackedForm form{"winograd_compact", {&kernels_}, {cut_.channels.parts}};
    packed_weights_ =
        packed_filters(geometry_, weights, form, geometry_.groups * padded_channels() * filter_floats,
                       [&](float* to) { pack_weights(weights, to); });
  }
  void pack_weights(const float* weights, float* to) const {
    const std::size_t filter_floats = terms_.total * kTaps;
    const auto source = [&](std::size_t i) {
      const std::size_t channel =
          i / cut_.channels.parts * geometry_.out_channels + first_channel(i % cut_.channels.parts);
      return weights + channel * filter_floats;
    };
    pack_in_pieces(geometry_.groups * cut_.channels.parts, source, [&](std::size_t first, std::size_t last) {
      parallel_for(last - first, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = first + begin; i < first + end; ++i) {
          const std::size_t group = i / cut_.channels.parts;
          const std::size_t panel = i % cut_.channels.parts;
          const std::size_t channels = first_channel(panel + 1) - first_channel(panel);
          pack_panel(source(i), channels, to + packed_offset(group, panel));
        }
      });
    });
  }

  void pack_panel(const float* filters, std::size_t channels, float* to) const {
    const std::size_t width = kernels_.padded(channels);
    for (std::size_t term = 0; term < terms_.total;) {
      const WinogradImage::TermRun run = image_.run_of(term);
      // Terms apart one by one.
      const std::size_t count = run.stride == kTaps ? run.count : 1;
      kernels_.pack_columns_transposed(filters + run.offset, terms_.total * kTaps, count * kTaps, channels,
                                       to + term * kTaps * width);
      term += count;
    }
  }

  /// Products can take the tiles where the transform leaves them, as columns, where each term of a panel of
  /// them lies in a line of its own. If vectors of tiles are mostly full, that costs less than to pack them
  /// unless panels of channels are many, or the lines too many for the second-level cache.
  [[nodiscard]] bool is_worth_packing() const {
    constexpr std::size_t kMostFloats = kCacheFloats + kCacheFloats / 4;
    return padded_tiles() > cut_.max_tiles() * 3 / 2 || cut_.channels.parts > kernels_.lanes ||
           points() * padded_tiles() * terms_.total > kMostFloats;
  }

  /// A block of terms.
  void transform_image(const Call& call, const Place& place, std::size_t block, const Slot& slot) const {
    const float* const image = call.image + place.image * geometry_.in_channels * geometry_.in_size();
    const std::size_t padded = padded_tiles();
    const IndexRange terms = terms_inside(place, image_terms_, block);
    if (terms.count() == 0) return;
    float* const columns = packs_rows_ ? slot.filters : slot.rows + terms.begin * padded;
    image_.transform(image, place.depth, place.tiles, terms, terms.begin, vectors_.data(), columns,
                     packs_rows_ ? columns_stride_ : rows_stride_, slot.scratch);
    if (!packs_rows_) return;
    for (std::size_t point = 0; point < points(); ++point) {
      PartWalk tiles(place.panels);
      for (std::size_t panel = 0; panel < place.panels.parts; ++panel, tiles.next()) {
        kernels_.pack_rows(columns + point * columns_stride_ + tiles.begin(), 1, padded, terms.count(),
                           Split(tiles.size(), tiles.size()),
                           slot.rows + point * rows_stride_ + row_of(tiles, terms.begin));
      }
    }
  }
  /// Those of a block of terms that see the image.
  [[nodiscard]] IndexRange terms_inside(const Place& place, const Split& blocks, std::size_t block) const {
    const IndexRange inside = image_.terms_inside(place.depth);
    const std::size_t begin = std::clamp(blocks.begin(block), inside.begin, inside.end);
    return {begin, std::clamp(blocks.begin(block + 1), begin, inside.end)};
  }
  /// Term `term` of a panel of tiles in the rows of a point.
  [[nodiscard]] std::size_t row_of(const PartWalk& panel, std::size_t term) const {
    return packs_rows_ ? panel.begin() * terms_.total + term * panel.size()
                       : term * padded_tiles() + panel.begin();
  }

  [[nodiscard]] float* products_of(const Place& place, const Slot& slot, std::size_t first_panel,
                                   std::size_t panel) const {
    return slot.products + (cut_.channels.begin(panel) - cut_.channels.begin(first_panel)) * kernels_.lanes *
                               place.panels.total;
  }

  /// The products of panels [first, last) of channels. All of them read the same rows of points of a block of
  /// terms while these are in the second-level cache: the transformed image as a whole is too large for that.
  void multiply(const Place& place, std::size_t first, std::size_t last, const Slot& slot) const {
    bool accumulate = false;
    for (std::size_t block = 0; block < terms_.parts; ++block) {
      const IndexRange terms = terms_inside(place, terms_, block);
      if (terms.count() == 0) continue;
      for (std::size_t pair = 0; pair < transforms_.samples() / 2; pair += pairs_at_once()) {
        for (std::size_t panel = first; panel < last; ++panel) {
          multiply_rows(place, {panel, block, terms, pair, panel == first, accumulate},
                        products_of(place, slot, first, panel), slot);
        }
      }
      accumulate = true;
    }
  }

  /// Rows of points, from a pair on, of a block of terms, for a panel of channels.
  struct RowsOfPoints {
    std::size_t panel = 0;
    std::size_t block = 0;
    IndexRange terms;  ///< of the block
    std::size_t pair = 0;
    bool is_first = false;    ///< of the panels that read it
    bool accumulate = false;  ///< to the products of other blocks
  };

  /// Some of the products fetch their share of the filters that the panel needs next, the others what the
  /// image has for the next row.
  void multiply_rows(const Place& place, const RowsOfPoints& of, float* products, const Slot& slot) const {
    const std::size_t vectors = cut_.channels.size(of.panel);
    const std::size_t width = vectors * kernels_.lanes;
    const std::size_t count = of.terms.count();
    const std::size_t samples = transforms_.samples();
    const auto transform_filters =
        filters_.by_pairs ? channel_transforms_.filter_rows[of.pair] : channel_transforms_.all_filter_rows;
    transform_filters(filters_of(place.group, of.panel, of.terms.begin), count, vectors, slot.filters,
                      filters_stride_);
    const float* const next_filters = filters_after(place, of);
    const std::size_t fetching_tiles =
        image_stays() ? place.panels.parts
                      : std::min(divide_up(kTaps * width, points() * kFloatsPerLine), place.panels.parts);
    const std::size_t filters_step = divide_up(kTaps * width, points() * fetching_tiles);
    const std::size_t first_term = of.terms.begin;
    const std::size_t term_stride = packs_rows_ ? 0 : padded_tiles();
    const PartWalk first_tiles(place.panels);
    Tile tile;
    tile.stride = width;
    tile.columns = width;
    tile.accumulate = of.accumulate;
    for (std::size_t i = 0; i < pairs_at_once() * 2 * samples; ++i) {
      const std::size_t nth = of.pair * 2 * samples + i;  // of all points
      const std::size_t next = nth + samples;
      const bool is_last_row = next >= points();
      const std::size_t next_term = is_last_row ? terms_.begin((of.block + 1) % terms_.parts) : first_term;
      const std::size_t point = point_at(nth);
      const std::size_t next_point = point_at(is_last_row ? next - points() : next);
      PartWalk tiles = first_tiles;
      for (std::size_t panel = 0; panel < place.panels.parts; ++panel, tiles.next()) {
        tile.out = products + point * products_stride_ + tiles.begin() * width;
        tile.fetch = nullptr;
        tile.fetch_step = 0;
        if (panel < fetching_tiles && next_filters != nullptr) {
          tile.fetch_step = filters_step;
          tile.fetch = next_filters + (nth * fetching_tiles + panel) * filters_step * count;
        } else if (of.is_first && !image_stays()) {
          // The tiles of a term lie side by side, or panel by panel.
          const std::size_t step = packs_rows_ ? tiles.size() : divide_up(padded_tiles(), place.panels.parts);
          const std::size_t from = packs_rows_ ? row_of(tiles, next_term) : panel * step * count;
          tile.fetch_step = step;
          tile.fetch = slot.rows + next_point * rows_stride_ + from;
        }
        kernels_.packed[tiles.size() - 1][vectors - 1](
            count, slot.rows + point * rows_stride_ + row_of(tiles, first_term), term_stride,
            slot.filters + i * filters_stride_, tile);
      }
    }
  }
  /// The nth point in the order of pairs of rows.
  [[nodiscard]] std::size_t point_at(std::size_t nth) const {
    const std::size_t samples = transforms_.samples();
    return WinogradChannels::row_at(samples, nth / samples) * samples + nth % samples;
  }
  [[nodiscard]] const float* filters_of(std::size_t group, std::size_t panel, std::size_t term) const {
    return packed_weights_.get() + packed_offset(group, panel) +
           term * kTaps * cut_.channels.size(panel) * kernels_.lanes;
  }
  /// Those that come next in the panel, or in the one that takes its place; nullptr behind the last ones.
  [[nodiscard]] const float* filters_after(const Place& place, const RowsOfPoints& of) const {
    if (of.block + 1 < terms_.parts) return filters_of(place.group, of.panel, terms_.begin(of.block + 1));
    const std::size_t panel = of.panel + panels_at_once_;
    return panel < cut_.channels.parts ? filters_of(place.group, panel, 0) : nullptr;
  }

  void finish(const Call& call, const Place& place, std::size_t panel, const float* products,
              const Slot& slot) const {
    const std::size_t width = cut_.channels.size(panel) * kernels_.lanes;
    const WinogradOutputs block(geometry_, transforms_, place);
    TileOutputs outputs;
    outputs.column_stride = width;
    outputs.row_stride = block.columns * width;
    for (std::size_t i = 0; i < place.panels.total; ++i) {
      const std::size_t y = i / place.tiles.columns * transforms_.outputs;
      const std::size_t x = i % place.tiles.columns * transforms_.outputs;
      outputs.rows = std::min(transforms_.outputs, block.rows - y);
      outputs.columns = std::min(transforms_.outputs, block.columns - x);
      outputs.to = slot.outputs + (y * block.columns + x) * width;
      channel_transforms_.output(products + i * width, products_stride_, cut_.channels.size(panel), outputs);
    }

    const std::size_t channel = first_channel(panel);
    const std::size_t channels = first_channel(panel + 1) - channel;
    const std::size_t origin = block.first + channel * geometry_.out_size();
    Tile tile;
    tile.stride = geometry_.out_size();
    const std::size_t group_channel = place.group * geometry_.out_channels + channel;
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + group_channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    // Whole rows of the plane lie one behind the other.
    const std::size_t runs = block.columns == geometry_.axes[2].out ? 1 : block.rows;
    const std::size_t run = block.rows * block.columns / runs;
    for (std::size_t i = 0; i < runs; ++i) {
      for (std::size_t first = 0; first < run; first += GemmKernels::kPlaneLimit) {
        const std::size_t to = origin + i * geometry_.axes[2].out + first;
        tile.out = call.out + to;
        tile.columns = std::min(GemmKernels::kPlaneLimit, run - first);
        if (call.residual != nullptr) tile.residual = call.residual + to;
        kernels_.finish_transposed(slot.outputs + (i * run + first) * width, width, channels, tile);
        epilogue_.post_channels(tile.out, tile.stride, channels, tile.columns, group_channel);
      }
    }
  }

  static constexpr std::size_t kTaps = 9;
  static constexpr std::size_t kImageTerms = 64;  // tiles of so many stay in the second-level cache

  const GemmKernels& kernels_;
  const WinogradTransforms& transforms_;
  const WinogradChannels& channel_transforms_;
  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  WinogradImage image_;
  CompactCut cut_;
  CompactFilters filters_;
  Split terms_;  ///< whose filters are transformed at a time
  bool packs_rows_;
  Split image_terms_;  ///< that are transformed at a time
  std::vector<TileVector> vectors_;
  std::size_t panels_at_once_ = 1;  ///< of channels, whose products are made together
  std::size_t columns_stride_ = 0;
  std::size_t rows_stride_ = 0;
  std::size_t filters_stride_ = 0;
  std::size_t filters_floats_ = 0;
  std::size_t products_stride_ = 0;
  std::size_t outputs_floats_ = 0;
  std::size_t scratch_floats_ = 0;
  PackedFloats packed_weights_;
};

}  // namespace

std::unique_ptr<Convolution> create_compact_winograd(const ConvolutionGeometry& geometry, std::size_t outputs,
                                                     const float* weights, const Epilogue& epilogue) {
  if (weights == nullptr || !geometry.is_winograd()) return nullptr;
  for (std::size_t i = 0; i < winograd_transforms().size(); ++i) {
    const WinogradTransforms& transforms = winograd_transforms()[i];
    if (transforms.outputs != outputs) continue;
    return std::make_unique<CompactWinograd>(geometry, transforms, winograd_channels()[i], weights, epilogue);
  }
  return nullptr;
}

}  // namespace ir::kernels
