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

void require_range(const InferContext& context, std::string_view name, std::int64_t value, std::int64_t min,
                   std::int64_t max) {
  if (value >= min && value <= max) return;
  const std::string taken = fmt::format("values from {} to {}", min, max);
  context.fail("IR-attribute-range", fmt::format("{} is {}; it takes {}", name, value, taken),
               Compared{fmt::format("{}", value), taken});
}

void require_at_least_one(const InferContext& context, std::string_view name, std::int64_t value) {
  if (value >= 1) return;
  context.fail("IR-attribute-range", fmt::format("{} is {}; it takes values of at least 1", name, value),
               Compared{fmt::format("{}", value), "values of at least 1"});
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
