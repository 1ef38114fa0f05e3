#include "kernels/depthwise/separable_convolution.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/depthwise/separable_strips.h"

namespace ir::kernels {
namespace {

/// One stage after the other.
class ConvolutionsInTurn final : public Convolution {
 public:
  explicit ConvolutionsInTurn(const SeparableStages& stages) {
    if (stages.expansion) append(*stages.expansion);
    append(stages.depthwise);
    if (stages.projection) append(*stages.projection);
  }

  std::string_view algorithm() const override { return "in_turn"; }
  std::size_t scratch_bytes() const override {
    return scratch_bytes_for(between_[0] + between_[1]) + stage_scratch_;
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const floats = aligned_scratch(scratch);
    std::byte* const stage_scratch = scratch + scratch_bytes_for(between_[0] + between_[1]);
    const float* image = in.image;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      float* const to = i + 1 == stages_.size() ? out : floats + (i % 2) * between_[0];
      stages_[i]->run({image, nullptr, in.residual}, to, stage_scratch);
      image = to;
    }
  }

 private:
  void append(const ConvolutionStage& stage) {
    if (!stages_.empty()) between_[(stages_.size() - 1) % 2] = round_up_to_line(out_floats_);
    stages_.push_back(create_convolution(stage.params, stage.weights, stage.epilogue));
    stage_scratch_ = std::max(stage_scratch_, stages_.back()->scratch_bytes());
    out_floats_ = stage.params.batch * stage.params.out_channels;
    for (std::size_t i = 0; i < stage.params.spatial_rank; ++i) out_floats_ *= stage.params.out_dims[i];
  }

  std::vector<std::unique_ptr<Convolution>> stages_;
  std::array<std::size_t, 2> between_{};  ///< floats of what lies between stages
  std::size_t stage_scratch_ = 0;
  std::size_t out_floats_ = 0;  ///< of the last stage
};

/// Whether a stage reads and gives anything.
bool has_work(const ConvolutionStage& stage) {
  const ConvolutionParams& params = stage.params;
  std::size_t least = std::min({params.batch, params.in_channels, params.out_channels});
  for (std::size_t i = 0; i < params.spatial_rank; ++i)
    least = std::min({least, params.in_dims[i], params.out_dims[i]});
  return least != 0;
}

bool has_work(const SeparableStages& stages) {
  return has_work(stages.depthwise) && (!stages.expansion || has_work(*stages.expansion)) &&
         (!stages.projection || has_work(*stages.projection));
}

}  // namespace

std::unique_ptr<Convolution> create_separable_convolution(const SeparableStages& stages,
                                                          SeparableAlgorithm algorithm) {
  if (algorithm != SeparableAlgorithm::in_turn && has_work(stages)) {
    const bool unasked = algorithm == SeparableAlgorithm::fastest;
    const StripsIf condition = unasked ? StripsIf::worthwhile : StripsIf::feasible;
    if (unasked || algorithm == SeparableAlgorithm::tile_strips) {
      if (auto strips = create_tile_strips(stages, condition)) return strips;
    }
    if (unasked || algorithm == SeparableAlgorithm::strips) {
      if (auto strips = create_lane_strips(stages, condition)) return strips;
      if (auto strips = create_float_strips(stages, condition)) return strips;
    }
  }
  return std::make_unique<ConvolutionsInTurn>(stages);
}

}  // namespace ir::kernels
