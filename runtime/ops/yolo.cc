#include "ir_runtime/ops/yolo.h"

#include <algorithm>
#include <array>

#include "ir_runtime/diagnostics.h"
#include "kernels/detection/region_yolo.h"
#include "kernels/movement/space.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/sizes.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

Dimension values_of_region(const v0::RegionYolo& op) {
  return Dimension(op.coords) + Dimension(1) + Dimension(op.classes);
}

std::int64_t regions_of(const v0::RegionYolo& op) {
  return op.do_softmax ? op.num : static_cast<std::int64_t>(op.mask.size());
}

// The dims from `axis` to `end_axis` made one; none are when `axis` is the later one.
PartialShape flattened(InferContext& context, const PartialShape& shape, std::size_t axis,
                       std::size_t end_axis) {
  std::string factors;
  std::vector<Dimension> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i <= axis || i > end_axis) {
      dims.push_back(shape[i]);
    } else {
      dims[axis] = dims[axis] * shape[i];
    }
    if (i >= axis && i <= end_axis) factors += (i == axis ? "" : " * ") + to_string(shape[i]);
  }
  if (context.explaining() && end_axis > axis) {
    context.explain(0, axis, factors + " = " + to_string(dims[axis]));
  }
  return PartialShape(std::move(dims));
}

}  // namespace

void v0::RegionYolo::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_real(0);
  context.require_rank(0, 4);
  context.require(coords >= 0 && classes >= 0 && num >= 0, "IR-attribute-range",
                  {.found = std::min({coords, classes, num}), .expected = "at least 0"},
                  "coords is {}, classes is {} and num is {}; none can be negative", coords, classes, num);
  PartialShape shape = context.shape(0);
  if (shape.has_rank() && do_softmax) {
    const std::size_t first = context.require_axis(axis, shape.rank(), "axis");
    const std::size_t last = context.require_axis(end_axis, shape.rank(), "end_axis");
    shape = flattened(context, shape, first, last);
  } else if (shape.has_rank()) {
    shape[1] = values_of_region(*this) * Dimension(regions_of(*this));
    if (context.explaining()) {
      context.explain(0, 1,
                      fmt::format("(coords + 1 + classes) * length of mask: ({} + 1 + {}) * {} = {}", coords,
                                  classes, mask.size(), to_string(shape[1])));
    }
  }
  context.set_output(0, context.type(0), shape);
}

PreparedKernel v0::RegionYolo::prepare(PrepareContext& context) const {
  // OpenVINO infers shapes with channels and coordinates that no region fits into; running fails.
  if (coords < 2) {
    throw Error("IR-attribute-range", fmt::format("coords is {}; a region has at least 2", coords));
  }
  const Shape& shape = context.shape(0);
  const Dimension needed = values_of_region(*this) * Dimension(regions_of(*this));
  if (needed.value() > shape[1]) {
    throw Error("IR-shape", fmt::format("input 0 has {} channels; {} regions of {} + 1 + {} values take {}",
                                        shape[1], regions_of(*this), coords, classes, to_string(needed)));
  }
  if (context.output_size() == 0) return nothing_to_do("region_yolo");
  kernels::RegionYoloParams params;
  params.images = size_of(shape[0]);
  params.in_channels = size_of(shape[1]);
  params.out_channels = do_softmax ? size_of(shape[1]) : size_of(needed.value());
  params.cells = size_of(shape[2]) * size_of(shape[3]);
  params.regions = size_of(regions_of(*this));
  params.coords = size_of(coords);
  params.classes = size_of(classes);
  params.softmax = do_softmax;
  PreparedKernel prepared;
  prepared.name = "region_yolo";
  const bool found = with_real_type(context.type(0), [&]<class T>() {
    prepared.run = [params](const StepMemory& memory) {
      kernels::region_yolo(params, memory.in<T>(0), memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported("RegionYolo of this element type");
  return prepared;
}

void v0::ReorgYolo::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_rank(0, 4);
  require_not_empty(context, "stride", stride.size());
  // A list by its type; only the first value counts, as in OpenVINO.
  const std::int64_t block = stride[0];
  require_at_least(context, "stride", block, 1);
  PartialShape shape = context.shape(0);
  if (shape.has_rank()) {
    const Dimension area = Dimension(block) * Dimension(block);
    context.require(shape[1].max() >= area.value(), "IR-shape",
                    {.found = shape[1],
                     .expected = words("at least {}", area),
                     .rule = words("stride^2 = {}", area),
                     .input = 0},
                    "input 0 has shape {}: axis 1 has less than stride^2 = {} elements", shape, area);
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
      const Dimension from = shape[axis];
      shape[axis] = axis == 1 ? from * area : exact_quotient(context, from, block, axis);
      if (!context.explaining()) continue;
      context.explain(0, axis,
                      fmt::format("{} {} {} = {}", to_string(from), axis == 1 ? '*' : '/',
                                  axis == 1 ? area.value() : block, to_string(shape[axis])));
    }
  }
  context.set_output(0, context.type(0), shape);
}

PreparedKernel v0::ReorgYolo::prepare(PrepareContext& context) const {
  const Shape& shape = context.shape(0);
  const auto block = static_cast<std::size_t>(stride[0]);
  if (shape[1] % (stride[0] * stride[0]) != 0) {
    context.fail_unsupported(fmt::format("ReorgYolo of {} channels, which is no multiple of stride^2 = {}",
                                         shape[1], stride[0] * stride[0]));
  }
  if (block == 1) return PreparedKernel::view_of(0);
  if (context.output_size() == 0) return nothing_to_do("reorg_yolo");
  const std::vector<std::size_t> dims = sizes_of(shape);
  const std::array<std::size_t, 4> seen{dims[0], dims[1] / (block * block), dims[2] * block, dims[3] * block};
  const kernels::Transpose transpose =
      kernels::make_space_to_depth(seen, block, kernels::DepthMode::blocks_first, moved_bytes(context));
  return moving_kernel(context, "reorg_yolo", {0}, [transpose](const StepMemory& memory) {
    transpose.run(memory.inputs[0], memory.outputs[0]);
  });
}

}  // namespace ir::op
