#include "runtime/ops/regions.h"

#include <fmt/format.h>

#include <limits>

#include "ir_runtime/diagnostics.h"

namespace ir::op {

RegionDims region_dims(const InferContext& context, std::int64_t box_size) {
  RegionDims dims;
  SharedDim size{"the size of a region", box_size};
  unify(context, 0, {&dims.batches, &dims.channels, &dims.height, &dims.width});
  unify(context, 1, {&dims.regions, &size});
  return dims;
}

void require_spatial_scale(const InferContext& context, double value) {
  using Limits = std::numeric_limits<float>;
  if (value >= Limits::min() && value <= Limits::max()) return;
  context.fail("IR-attribute-range", fmt::format("spatial_scale is {}; it takes a positive number", value),
               Compared{fmt::format("{}", value), "a positive number"});
}

void fail_batch(std::size_t region, double batch, std::int64_t batches) {
  throw Error("IR-value", fmt::format("region {} is of batch {}, input 0 has {}", region, batch, batches));
}

}  // namespace ir::op
