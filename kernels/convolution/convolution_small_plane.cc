// Convolution to a plane of few positions, such as the 7 x 7 at the end of image classifiers: vectors of
// positions would be half empty, of 14 x 14 and AVX-512 one of 13. Here the product is made transposed,
// positions x output channels, with vectors of channels; the last step turns it round.
#include <algorithm>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/base/processor.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_depth.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/convolution_prologue.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/convolution/product_sharing.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

/// Cycles for one term of a panel of positions.
constexpr Fitted<std::size_t> kPacking{3, 3, 5, 3};

/// Panels of weights stay in the first-level cache. They come from memory, the first one when it is asked
/// for. So does a line of the image per term where positions are not packed; long vectors have time for it.
std::size_t most_depth(const GemmKernels& kernels, const ConvolutionGeometry& geometry) {
  constexpr std::size_t kMostOfPanel = 9 << 10;
  const std::size_t width = kernels.max_vectors * kernels.lanes;
  const std::size_t most = std::min(kernels.block_depth, kMostOfPanel / width);
  if (!geometry.is_pointwise() || kernels.lanes >= kFloatsPerLine) return most;
  return std::min(most, first_level_cache() / 2 / sizeof(float) / (width + kFloatsPerLine));
}

class SmallPlaneConvolution final : public Convolution {
 public:
  SmallPlaneConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue,
                        const Prologue& prologue)
      : kernels_(gemm_kernels()),
        geometry_(geometry),
        prologue_(prologue, geometry.groups * geometry.in_channels),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        channels_(kernels_.column_panels(geometry.out_channels)),
        depth_blocks_(depth_blocks(geometry.in_channels, geometry.taps(), most_depth(kernels_, geometry))),
        staging_(geometry, most_channels(depth_blocks_), geometry.axes[1].out, geometry.axes[2].out),
        images_(geometry.batch, std::max<std::size_t>(kMostPositions / std::max<std::size_t>(plane(), 1), 1)),
        pieces_(plane(), std::max<std::size_t>(plane(), 1)),
        stacks_(images_.parts * geometry.groups * geometry.axes[0].out) {
    share_out();
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(stacks_ * shares_.parts, 1));
    const std::size_t images = divide_up(images_.total, std::max<std::size_t>(images_.parts, 1));
    const bool whole_channels =
        std::ranges::all_of(depth_blocks_, [](const auto& part) { return part.tap == 0; });
    packs_ahead_ = !reads_in_place() && shares_.parts > 1 && whole_channels &&
                   geometry_.planes() * packed_plane() <= kMostAhead;
    staged_floats_ = geometry_.is_pointwise() ? 0 : round_up_to_line(staging_.floats());
    packed_floats_ = packs_ahead_ || reads_in_place()
                         ? 0
                         : round_up_to_line(images * most_terms(depth_blocks_) * pieces_.largest() +
                                            GemmKernels::kLanesLimit);
    result_floats_ = round_up_to_line(images * pieces_.largest() * kernels_.padded(geometry.out_channels));
    pack_weights(weights);
  }

  std::string_view algorithm() const override { return "small_plane"; }
  std::size_t scratch_bytes() const override {
    return scratch_bytes_for(geometry_.workers * slot_floats() +
                             (packs_ahead_ ? geometry_.planes() * packed_plane() : 0));
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (stacks_ * shares_.parts == 0) return;
    float* const slots = aligned_scratch(scratch);
    const Call call{in.image, in.scale, epilogue_.residual() ? in.residual : nullptr,
                    out,      slots,    slots + geometry_.workers * slot_floats()};
    if (packs_ahead_) pack_ahead(call);
    const std::size_t positions = images_.largest() * pieces_.largest();
    const std::size_t cost =
        divide_up(geometry_.out_channels, shares_.parts) * positions * terms() / kernels_.lanes + 1;
    for_each_group(stacks_, shares_.parts, cost, geometry_.workers, [&](const GroupRange& range) {
      convolve(call, stack(range.group), shares_.begin(range.first), shares_.begin(range.last),
               slots + range.worker * slot_floats());
    });
  }

  [[nodiscard]] bool is_feasible() const { return staged_floats_ <= kStagingLimit; }

 private:
  struct Call {
    const float* image;
    const float* scale;
    const float* residual;
    float* out;
    float* slots;
    float* ahead;  ///< packed positions of all planes, where they are packed ahead
  };

  /// Neighbouring positions of a plane.
  struct PlanePiece {
    std::size_t first = 0;
    Split panels;
  };

  /// A piece of one depth slice of one group of some images, which meet the same weights.
  struct Stack {
    PlanePiece piece;
    std::size_t depth = 0;
    std::size_t group = 0;
    std::size_t first_image = 0;
    std::size_t images = 0;
  };

  /// About as many positions of a stack, packed, stay in the second-level cache while weights pass by.
  static constexpr std::size_t kMostPositions = 128;
  /// So do so many floats of all planes. Else every share of the channels packs its stacks' positions.
  static constexpr std::size_t kMostAhead = std::size_t{1} << 17;

  /// Of 1x1, an image is as good as packed: positions lie side by side, terms a plane apart.
  [[nodiscard]] bool reads_in_place() const { return geometry_.is_pointwise() && prologue_.is_empty(); }
  [[nodiscard]] std::size_t plane() const { return geometry_.axes[1].out * geometry_.axes[2].out; }
  [[nodiscard]] std::size_t terms() const { return geometry_.in_channels * geometry_.taps(); }
  [[nodiscard]] std::size_t padded_channels() const { return kernels_.padded(geometry_.out_channels); }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, staged_floats_ + packed_floats_ + result_floats_);
  }

  /// Workers share the channels of a stack, or its positions where it is one image, not several taps of it.
  void share_out() {
    const std::size_t parts = even_parts(stacks_, geometry_.workers);
    const SharedProduct product{terms(), plane(), geometry_.out_channels,
                                geometry_.in_channels * geometry_.in_size(), parts};
    if (geometry_.is_pointwise() && images_.parts == images_.total && product.is_cut_by_outputs(kernels_)) {
      pieces_.parts = parts;
      stacks_ *= parts;
    }
    channels_ = even_panels(channels_, stacks_, geometry_.workers);
    shares_ = fewest_parts(channels_.parts, stacks_, geometry_.workers);
  }

  [[nodiscard]] Stack stack(std::size_t index) const {
    const PlanePiece positions = piece_at(index % pieces_.parts);
    index /= pieces_.parts;
    const std::size_t images = index / geometry_.axes[0].out / geometry_.groups;
    return {positions, index % geometry_.axes[0].out, index / geometry_.axes[0].out % geometry_.groups,
            images_.begin(images), images_.size(images)};
  }
  [[nodiscard]] PlanePiece piece_at(std::size_t index) const {
    return {pieces_.begin(index), kernels_.row_panels(pieces_.size(index))};
  }

  /// Of a plane that is packed ahead. Vectors go past the end of each block.
  [[nodiscard]] std::size_t packed_plane() const {
    return terms() * plane() + depth_blocks_.size() * GemmKernels::kLanesLimit;
  }
  [[nodiscard]] float* packed_ahead(const Call& call, std::size_t plane_index, const DepthBlock& part) const {
    const std::size_t term = part.channel * geometry_.taps() + part.tap;
    const auto number = static_cast<std::size_t>(&part - depth_blocks_.data());
    return call.ahead + plane_index * packed_plane() + term * plane() + number * GemmKernels::kLanesLimit;
  }

  void pack_weights(const float* weights) {
    const PackedForm form{"small_plane", {&kernels_}, {channels_.parts}};
    packed_weights_ =
        packed_filters(geometry_, weights, form, geometry_.groups * padded_channels() * terms(),
                       [&](float* to) { pack_channels(geometry_, depth_blocks_, channels_, weights, to); });
  }

  void pack_ahead(const Call& call) const {
    const PlanePiece whole = piece_at(0);  // positions are not shared then
    const std::size_t cost = whole.panels.parts * most_terms(depth_blocks_) * kPacking.here();
    const std::size_t parts = depth_blocks_.size();
    for_each_task(geometry_.planes() * parts, cost, geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t worker) {
                    for (std::size_t i = begin; i < end; ++i) {
                      const std::size_t index = i / parts;
                      const DepthBlock& part = depth_blocks_[i % parts];
                      pack_piece(call, index / geometry_.axes[0].out, index % geometry_.axes[0].out, whole,
                                 part, call.slots + worker * slot_floats(), packed_ahead(call, index, part));
                    }
                  });
  }

  /// One stretch of the sum of one depth slice of group `index`, counted over all images.
  void pack_piece(const Call& call, std::size_t index, std::size_t depth_slice, const PlanePiece& piece,
                  const DepthBlock& part, float* staged, float* packed) const {
    if (geometry_.is_pointwise()) {
      const std::size_t channel = index * geometry_.in_channels + part.channel;
      return kernels_.map_rows(call.image + channel * plane() + piece.first, plane(), part.channels,
                               piece.panels.total, prologue_.map(call.scale, channel), packed,
                               piece.panels.total);
    }
    // Other taps of the same channel are there, unless it was another image's.
    if (part.tap == 0 || images_.parts != images_.total)
      stage(call, index, part, {{0, geometry_.axes[1].out, 0, geometry_.axes[2].out}, depth_slice}, staged);
    for (PartWalk panel(piece.panels); panel.begin() < piece.panels.total; panel.next())
      pack_positions(staged, part, panel, packed + panel.begin() * part.depth());
  }

  /// Panels [first, last) of the output channels of a stack.
  void convolve(const Call& call, const Stack& stack, std::size_t first, std::size_t last,
                float* slot) const {
    float* const packed = slot + staged_floats_;
    float* const result = packed + packed_floats_;
    const float* weights = packed_weights_.get() + stack.group * padded_channels() * terms();
    const std::size_t first_channel = channels_.begin(first) * kernels_.lanes;
    const PlanePiece& piece = stack.piece;
    const std::size_t positions = piece.panels.total;
    const std::size_t row_panels = stack.images * piece.panels.parts;
    Tile tile;
    tile.stride = padded_channels();
    for (const DepthBlock& part : depth_blocks_) {
      const std::size_t depth = part.depth();
      const std::size_t position_stride = geometry_.is_pointwise() ? 1 : depth;
      const std::size_t term_stride = reads_in_place() ? plane() : geometry_.is_pointwise() ? positions : 0;
      const auto rows_of = [&](std::size_t image) -> const float* {
        const std::size_t index = plane_group(stack, image) * geometry_.axes[0].out + stack.depth;
        if (reads_in_place())
          return call.image + (index * geometry_.in_channels + part.channel) * plane() + piece.first;
        return packs_ahead_ ? packed_ahead(call, index, part) : packed + image * positions * depth;
      };
      for (std::size_t image = 0; packed_floats_ != 0 && image < stack.images; ++image) {
        pack_piece(call, plane_group(stack, image), stack.depth, piece, part, slot,
                   packed + image * positions * depth);
      }
      tile.accumulate = &part != &depth_blocks_.front();
      const bool fetches_rows = reads_in_place() && &part != &depth_blocks_.back();
      const Split next_terms = fetches_rows ? shares_of_terms(*(&part + 1), piece, last - first) : Split();
      // Behind the last panel of this share are those of another worker.
      const float* const share_of_next_block =
          &part == &depth_blocks_.back()
              ? nullptr
              : weights + padded_channels() * depth + first_channel * (&part + 1)->depth();
      for (std::size_t channel_panel = first; channel_panel < last; ++channel_panel) {
        const std::size_t vectors = channels_.size(channel_panel);
        const std::size_t channel = channels_.begin(channel_panel) * kernels_.lanes;
        tile.columns = vectors * kernels_.lanes;
        // Every panel of positions fetches its share of the next panel of weights.
        tile.fetch_step = divide_up(tile.columns, std::max<std::size_t>(row_panels, 1));
        tile.fetch =
            channel_panel + 1 < last ? weights + (channel + tile.columns) * depth : share_of_next_block;
        // Positions inside: the panel of weights, the larger one, comes from memory once.
        for (std::size_t image = 0; image < stack.images; ++image) {
          const float* const rows = rows_of(image);
          PartWalk panel(piece.panels);
          for (std::size_t i = 0; i < piece.panels.parts; ++i, panel.next()) {
            tile.out = result + (image * positions + panel.begin()) * tile.stride + channel;
            if (fetches_rows) {
              // Lines that lie far apart, which hardware does not see coming; part of them may be in another
              // core's cache.
              const std::size_t share = (channel_panel - first) * piece.panels.parts + i;
              fetch_rows(rows + (depth + next_terms.begin(share)) * plane(), plane(), next_terms.size(share),
                         positions);
            }
            kernels_.packed[panel.size() - 1][vectors - 1](depth, rows + panel.begin() * position_stride,
                                                           term_stride, weights + channel * depth, tile);
            if (tile.fetch != nullptr) tile.fetch += tile.fetch_step * depth;
          }
        }
      }
      weights += padded_channels() * depth;
    }
    for (std::size_t image = 0; image < stack.images; ++image)
      finish(call, plane_group(stack, image), stack, first, last, result + image * positions * tile.stride);
  }

  /// What each tile of a piece fetches of the next block of terms.
  static Split shares_of_terms(const DepthBlock& next, const PlanePiece& piece, std::size_t channel_panels) {
    Split shares(next.depth(), 1);
    shares.parts = piece.panels.parts * channel_panels;
    return shares;
  }

  /// The group of an image of a stack, counted over all images.
  [[nodiscard]] std::size_t plane_group(const Stack& stack, std::size_t image) const {
    return (stack.first_image + image) * geometry_.groups + stack.group;
  }

  /// The channels of one stretch of the sum, of group `index` counted over all images.
  void stage(const Call& call, std::size_t index, const DepthBlock& part, const OutputBlock& outputs,
             float* staged) const {
    const std::size_t channel = index * geometry_.in_channels + part.channel;
    const float* const from = call.image + channel * geometry_.in_size();
    if (prologue_.is_empty()) return staging_.stage(kernels_, from, part.channels, outputs, staged);
    staging_.stage_mapped(kernels_, from, part.channels, outputs, prologue_.map(call.scale, channel), staged);
  }

  /// The positions of one panel as rows of the left operand.
  void pack_positions(const float* staged, const DepthBlock& part, const PartWalk& panel, float* to) const {
    Piece pieces[GemmKernels::kLanesLimit];
    const std::size_t rows = panel.size();
    const std::size_t count = staging_.pieces(geometry_.axes[2].out, panel.begin(), rows, pieces);
    // Vectors are longer than the rows are many: each store is cut to size by the next one.
    kernels_.pack_pieces(staging_.origin(staged), staging_.offsets().data() + part.tap, part.depth(), pieces,
                         count, rows, to, rows);
  }

  /// Of group `index`, counted over all images.
  void finish(const Call& call, std::size_t index, const Stack& stack, std::size_t first, std::size_t last,
              const float* result) const {
    const std::size_t channel = channels_.begin(first) * kernels_.lanes;
    const std::size_t end = std::min(geometry_.out_channels, channels_.begin(last) * kernels_.lanes);
    const std::size_t origin = (index * geometry_.out_channels + channel) * geometry_.out_size() +
                               stack.depth * plane() + stack.piece.first;
    Tile tile;
    tile.out = call.out + origin;
    tile.stride = geometry_.out_size();
    tile.columns = stack.piece.panels.total;
    if (call.residual != nullptr) tile.residual = call.residual + origin;
    const std::size_t group_channel = stack.group * geometry_.out_channels + channel;
    if (epilogue_.bias() != nullptr) tile.row_bias = epilogue_.bias() + group_channel;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    kernels_.finish_transposed(result + channel, padded_channels(), end - channel, tile);
    epilogue_.post_channels(tile.out, tile.stride, end - channel, tile.columns, group_channel);
  }

  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;
  OwnedPrologue prologue_;
  OwnedEpilogue epilogue_;
  Split channels_;  ///< of vectors
  Split shares_;    ///< of channel panels
  std::vector<DepthBlock> depth_blocks_;
  ImageStaging staging_;
  Split images_;        ///< of stacks
  Split pieces_;        ///< of the positions of a plane
  std::size_t stacks_;  ///< of all images and pieces
  bool packs_ahead_ = false;
  std::size_t staged_floats_ = 0;
  std::size_t packed_floats_ = 0;
  std::size_t result_floats_ = 0;
  PackedFloats packed_weights_;
};

bool is_small_plane(const ConvolutionGeometry& geometry) {
  const GemmKernels& kernels = gemm_kernels();
  // Long vectors would also be half empty at the end of larger planes.
  const std::size_t most_positions =
      has_short_vectors() ? GemmKernels::kPlaneLimit : 3 * GemmKernels::kPlaneLimit;
  const std::size_t plane = geometry.axes[1].out * geometry.axes[2].out;
  return plane != 0 && plane <= most_positions && geometry.out_channels != 0 &&
         kernels.max_rows <= kernels.lanes;
}

}  // namespace

double small_plane_convolution_cost(const ConvolutionGeometry& geometry) {
  if (!is_small_plane(geometry)) return kCannotServe;
  constexpr Fitted<double> kTile{60, 60, 105, 70};  // of a register tile of 1x1, however few its terms
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t plane = geometry.axes[1].out * geometry.axes[2].out;
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t panels = kernels.row_panels(plane).parts;
  const std::size_t tiles = panels * kernels.column_panels(geometry.out_channels).parts;
  // Of one float of the result: those of more positions go through the second-level cache.
  constexpr Fitted<double> kTurning{1, 1, 0.3, 0};
  const double turning = plane <= GemmKernels::kPlaneLimit ? kTurning.here() : 2 * kTurning.here();
  // Of several taps, to pack at all.
  const double staging = geometry.is_pointwise() ? 0 : staging_cost(geometry);
  const double rest =
      geometry.is_pointwise()
          ? kTile.here() * static_cast<double>(tiles * divide_up(terms, most_depth(kernels, geometry)))
          : static_cast<double>(kPacking.here() * panels * terms);
  // Of 1x1, weights stay nearer than the columns of other products do, where those have longer panels.
  const bool is_near =
      geometry.is_pointwise() && !has_short_vectors() && most_depth(kernels, geometry) < kernels.block_depth;
  const double product = (is_near ? 0.94 : 1.0) *
                         static_cast<double>(terms * kernels.product_cost(plane, geometry.out_channels));
  // Of one float; others map what they pack anyway.
  const double mapping = geometry.is_pointwise() && geometry.maps_image ? 0.1 : 0;
  return with_weights(0, terms * geometry.out_channels) + product +
         mapping * static_cast<double>(geometry.in_channels * geometry.in_size()) +
         turning * static_cast<double>(plane * geometry.out_channels) + rest + staging;
}

std::unique_ptr<Convolution> create_small_plane_convolution(const ConvolutionGeometry& geometry,
                                                            const float* weights, const Epilogue& epilogue,
                                                            const Prologue& prologue) {
  if (weights == nullptr || !is_small_plane(geometry)) return nullptr;
  auto convolution = std::make_unique<SmallPlaneConvolution>(geometry, weights, epilogue, prologue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
