// What operations on regions of feature maps have in common.
#ifndef RUNTIME_OPS_REGIONS_H_
#define RUNTIME_OPS_REGIONS_H_

#include <cstdint>

#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/shared_dims.h"

namespace ir::op {

/// Feature maps [batches, channels, height, width] and the regions that are cut from them.
struct RegionDims {
  SharedDim batches{"the batch size", {}};
  SharedDim channels{"the number of channels", {}};
  SharedDim height{"the height", {}};
  SharedDim width{"the width", {}};
  SharedDim regions{"the number of regions", {}};
};

/// Input 0 has feature maps, input 1 rows of `box_size` values.
RegionDims region_dims(const InferContext& context, std::int64_t box_size);

/// Requires a positive number that a float can hold.
void require_spatial_scale(const InferContext& context, double value);

/// Throws IR-value for a region whose batch index addresses none of `batches` feature maps.
[[noreturn]] void fail_batch(std::size_t region, double batch, std::int64_t batches);

}  // namespace ir::op

#endif  // RUNTIME_OPS_REGIONS_H_
