#include "kernels/image/grid_sample.h"

#include "ir_runtime/ops/grid_sample.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

kernels::GridSampleMode kernel_mode(GridSampleMode mode) {
  switch (mode) {
    case GridSampleMode::bilinear:
      return kernels::GridSampleMode::bilinear;
    case GridSampleMode::bicubic:
      return kernels::GridSampleMode::bicubic;
    case GridSampleMode::nearest:
      break;
  }
  return kernels::GridSampleMode::nearest;
}

kernels::GridSamplePadding kernel_padding(GridSamplePadding padding) {
  switch (padding) {
    case GridSamplePadding::zeros:
      return kernels::GridSamplePadding::zeros;
    case GridSamplePadding::border:
      return kernels::GridSamplePadding::border;
    case GridSamplePadding::reflection:
      break;
  }
  return kernels::GridSamplePadding::reflection;
}

}  // namespace

void v9::GridSample::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_real(1);
  SharedDim batch{"the batch size", {}};
  SharedDim channels{"the number of channels", {}};
  SharedDim height{"the height", {}};
  SharedDim width{"the width", {}};
  SharedDim rows{"the number of rows", {}};
  SharedDim columns{"the number of columns", {}};
  SharedDim coordinates{"the number of coordinates", 2};
  unify(context, 0, {&batch, &channels, &height, &width});
  unify(context, 1, {&batch, &rows, &columns, &coordinates});
  context.require(height.value.max() != 0 && width.value.max() != 0, "IR-shape",
                  {.found = context.shape(0), .expected = "at least one pixel", .input = 0},
                  "input 0 has shape {}; there are no pixels to sample", context.shape(0));
  context.set_output(0, context.type(0),
                     PartialShape{batch.value, channels.value, rows.value, columns.value});
}

PreparedKernel v9::GridSample::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("grid_sample");
  const Shape& data = context.shape(0);
  const Shape& grid = context.shape(1);
  kernels::GridSampleParams params;
  params.batch = static_cast<std::size_t>(data[0]);
  params.channels = static_cast<std::size_t>(data[1]);
  params.height = static_cast<std::size_t>(data[2]);
  params.width = static_cast<std::size_t>(data[3]);
  params.positions = volume(grid, 1, 3);
  params.mode = kernel_mode(mode);
  params.padding = kernel_padding(padding_mode);
  params.align_corners = align_corners;
  PreparedKernel kernel;
  kernel.name = "grid_sample";
  constexpr double kFlopsPerElement = 8;
  kernel.flops = kFlopsPerElement * static_cast<double>(context.output_size());
  with_arithmetic_type(context.type(0), [&]<class T>() {
    with_real_type(context.type(1), [&]<class Grid>() {
      kernel.run = [params](const StepMemory& memory) {
        kernels::grid_sample(params, memory.in<T>(0), memory.in<Grid>(1), memory.out<T>(0));
      };
    });
  });
  if (!kernel.run) context.fail_unsupported(name_of(context.type(0)));
  return kernel;
}

}  // namespace ir::op
