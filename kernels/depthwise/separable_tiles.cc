// Chains by strips of floats whose 1x1 stages are products in matrix tiles.
#include <optional>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_staging.h"
#include "kernels/depthwise/float_strips.h"
#include "kernels/depthwise/separable_strips.h"
#include "kernels/depthwise/tiled_stage.h"

namespace ir::kernels {
namespace {

// A panel of rows of the expansion, a step of terms of the projection.
constexpr std::size_t kPieceChannels = MatrixTiles::kStepTerms;
static_assert(kPieceChannels == TilePanels::kWidth);

class TileStrips final : public FloatStrips {
 public:
  /// Where the condition is not met, nothing is packed.
  TileStrips(const SeparableStages& stages, const MatrixTiles& tiles, StripsIf condition)
      : FloatStrips(stages, {stages.depthwise.params.in_channels, 1, kPieceChannels}), tiles_(tiles) {
    plan(geometry_.groups);
    is_worthwhile_ = is_worthwhile_ && saves_cycles(stages);
    if (!is_feasible_ || (condition == StripsIf::worthwhile && !is_worthwhile_)) return;
    if (stages.expansion) {
      expansion_.emplace(*stages.expansion, tiles, pieces_.borders(), borders_of(in_channels()), most_in());
    }
    if (stages.projection) {
      projection_.emplace(*stages.projection, tiles, borders_of(out_channels()), pieces_.borders(),
                          most_out());
    }
    plan_slot();
    is_feasible_ = slot_floats_ <= kStagingLimit;
    is_worthwhile_ = is_worthwhile_ && is_feasible_;
  }

  std::string_view algorithm() const override { return "tile_strips"; }

 private:
  /// Of as few steps, or panels, as channels take.
  static Borders borders_of(std::size_t channels) {
    return ChannelSplit(channels, 1, kPieceChannels).borders();
  }

  /// Whether tiles take fewer cycles than vectors do.
  [[nodiscard]] bool saves_cycles(const SeparableStages& stages) const {
    double saved = 0;
    if (stages.expansion) saved += saved_cycles(pieces_.channels(), in_channels(), geometry_.in_size());
    if (stages.projection) {
      // It splits what the depthwise stage gives; an image is small.
      constexpr double kOfSplit = 0.45;
      saved += saved_cycles(out_channels(), pieces_.channels(), geometry_.out_size()) -
               kOfSplit * static_cast<double>(pieces_.channels() * geometry_.out_size());
    }
    return saved > 0;
  }
  [[nodiscard]] double saved_cycles(std::size_t rows, std::size_t terms, std::size_t positions) const {
    constexpr double kOfProduct = 0.6;  // of vectors, two of which take a cycle
    constexpr double kOfResult = 0.3;
    const double vectors = static_cast<double>(rows * terms) * static_cast<double>(positions) /
                           static_cast<double>(kernels_.lanes);
    return kOfProduct * vectors - kOfResult * static_cast<double>(rows * positions) -
           tile_product_cost(tiles_, divide_up(rows, MatrixTiles::kSize),
                             divide_up(positions, MatrixTiles::kSize), divide_up(terms, kPieceChannels));
  }

  void plan_slot() {
    slot_.sums = take(TilePanels::kWidth * TilePanels::kWidth);
    slot_.image = take(expansion_ ? expansion_->split_floats() : 0);
    slot_.expanded = take(expansion_ ? pieces_.most() * most_in() : 0);
    slot_.staged = take(most_staged());
    slot_.filtered = take(projection_ ? pieces_.most() * spread_stride(most_out()) : 0);
    slot_.split = take(projection_ ? projection_->split_floats() : 0);
    settle_slot();
  }

  void prepare(const Call& call, const Strip& strip, float* slot) const override {
    const Borders channels = borders_of(in_channels());
    for (std::size_t step = 0; step < expansion_->steps(); ++step) {
      expansion_->split(call.image + call.first + channels[step] * geometry_.in_size(), geometry_.in_size(),
                        step, strip.in_size, slot + slot_.image);
    }
  }

  void convolve(const Call& call, const Strip& strip, std::size_t first, std::size_t last,
                float* slot) const override {
    tiles_.begin();
    for (std::size_t piece = first; piece < last; ++piece) convolve_piece(call, strip, piece, slot);
    if (projection_) project(call, strip, slot);
    tiles_.end();
  }

  /// Up to where the projection takes it.
  void convolve_piece(const Call& call, const Strip& strip, std::size_t piece, float* slot) const {
    const std::size_t stride = spread_stride(strip.out_size);
    if (expansion_) {
      expansion_->run(piece, slot + slot_.image, strip.in_size, {slot + slot_.expanded, strip.in_size},
                      slot + slot_.sums);
    }
    for (std::size_t i = 0; i < pieces_.size(piece); ++i) {
      const std::size_t c = pieces_.begin(piece) + i;
      const float* const image = image_of(call, strip, c, expansion_ ? &expansion_->epilogue() : nullptr,
                                          slot + slot_.expanded + i * strip.in_size);
      if (projection_) {
        filter(strip, c, {image, nullptr, slot + slot_.filtered + i * stride}, slot + slot_.staged);
      } else {
        filter_last(strip, c, call, image, slot + slot_.staged);
      }
    }
    if (projection_)
      projection_->split(slot + slot_.filtered, stride, piece, strip.out_size, slot + slot_.split);
  }

  void project(const Call& call, const Strip& strip, float* slot) const {
    const std::size_t stride = geometry_.out_size();
    for (std::size_t panel = 0; panel < projection_->panels(); ++panel) {
      const std::size_t row = projection_->first_row(panel);
      float* const out = call.out + row * stride;
      const float* const residual = call.residual == nullptr ? nullptr : call.residual + row * stride;
      projection_->run(panel, slot + slot_.split, strip.out_size, {out, stride, residual}, slot + slot_.sums);
      projection_->epilogue().post_channels(out, stride, projection_->row_count(panel), strip.out_size, row);
    }
  }

  const MatrixTiles& tiles_;
  std::optional<TiledStage> expansion_;
  std::optional<TiledStage> projection_;
  /// Where the parts of a worker's scratch begin.
  struct {
    std::size_t sums = 0;      ///< of a block of tiles
    std::size_t image = 0;     ///< split for the expansion
    std::size_t expanded = 0;  ///< one piece
    std::size_t staged = 0;    ///< one channel
    std::size_t filtered = 0;  ///< one piece
    std::size_t split = 0;     ///< all of them, for the projection
  } slot_;
};

bool are_floats(const std::optional<ConvolutionStage>& stage) {
  return !stage || stage->params.integers == nullptr;
}

}  // namespace

bool prefers_tiles_in_turn(const SeparableStages& stages) {
  constexpr std::size_t kManyChannels = 128;
  const ConvolutionParams& first = stages.first().params;
  const bool has_many = (stages.expansion && first.in_channels >= kManyChannels) ||
                        (stages.projection && stages.last().params.out_channels >= kManyChannels);
  return has_many && first.whole_floats && matrix_tiles(true) != nullptr && are_floats(stages.expansion) &&
         are_floats(stages.projection);
}

std::unique_ptr<Convolution> create_tile_strips(const SeparableStages& stages, StripsIf condition) {
  const ConvolutionParams& first = stages.first().params;
  const Epilogue& last = stages.last().epilogue;
  const MatrixTiles* const tiles = matrix_tiles(first.whole_floats);
  if (tiles == nullptr || !last.levels.empty() || !first.image_levels.empty()) return nullptr;
  if (!stages.expansion && !stages.projection) return nullptr;
  if (!are_floats(stages.expansion) || !are_floats(stages.projection)) return nullptr;
  if (condition == StripsIf::worthwhile && first.whole_floats) return nullptr;
  auto strips = std::make_unique<TileStrips>(stages, *tiles, condition);
  if (condition == StripsIf::worthwhile ? strips->is_worthwhile() : strips->is_feasible()) return strips;
  return nullptr;
}

}  // namespace ir::kernels
