// The forms of chains that go by strips. Internal to kernels/.
#ifndef KERNELS_DEPTHWISE_SEPARABLE_STRIPS_H_
#define KERNELS_DEPTHWISE_SEPARABLE_STRIPS_H_

#include <memory>

#include "kernels/depthwise/separable_convolution.h"

namespace ir::kernels {

/// When a form is created.
enum class StripsIf {
  feasible,
  worthwhile,  ///< it is expected to be faster than one stage after the other
};

// nullptr: the form does not take these stages, or not under that condition.

/// Of floats, but for what 1x1 stages multiply, which may be levels of the image.
std::unique_ptr<Convolution> create_float_strips(const SeparableStages& stages, StripsIf condition);
/// Of floats, with 1x1 stages in matrix tiles.
std::unique_ptr<Convolution> create_tile_strips(const SeparableStages& stages, StripsIf condition);
/// Whether stages go to matrix tiles one after the other: of three parts, these save so little that strips
/// gain nothing by them.
bool prefers_tiles_in_turn(const SeparableStages& stages);
/// Of levels, from what the depthwise stage sees on; stages without work are not for it.
std::unique_ptr<Convolution> create_lane_strips(const SeparableStages& stages, StripsIf condition);

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_SEPARABLE_STRIPS_H_
