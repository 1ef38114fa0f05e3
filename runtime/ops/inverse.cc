#include "ir_runtime/ops/inverse.h"

#include "kernels/matmul/inverse.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/dispatch.h"

namespace ir::op {

void v14::Inverse::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_real(0);
  require_min_rank(context, 0, 2);
  PartialShape shape = context.shape(0);
  if (shape.has_rank()) {
    Dimension& rows = shape[shape.rank() - 2];
    Dimension& columns = shape[shape.rank() - 1];
    const auto size = rows.merged(columns);
    context.require(size.has_value(), "IR-shape",
                    {.found = columns,
                     .expected = rows,
                     .rule = words("matrices of {} rows are square", rows),
                     .input = 0},
                    "input 0 has shape {}: matrices of {} rows and {} columns are not square", shape, rows,
                    columns);
    rows = *size;
    columns = *size;
  }
  context.set_output(0, context.type(0), std::move(shape));
}

PreparedKernel v14::Inverse::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("inverse");
  const Shape& shape = context.shape(0);
  const auto size = static_cast<std::size_t>(shape.back());
  const std::size_t batch = volume(shape, 0, shape.size() - 2);
  PreparedKernel prepared;
  prepared.name = "inverse";
  prepared.flops = 2.0 * static_cast<double>(context.output_size()) * static_cast<double>(size);
  const bool found = with_real_type(context.type(0), [&]<class T>() {
    prepared.scratch_bytes = kernels::inverse_scratch_bytes<T>(batch, size);
    prepared.run = [batch, size, transposed = adjoint](const StepMemory& memory) {
      kernels::invert_matrices(memory.in<T>(0), memory.out<T>(0), batch, size, transposed, memory.scratch);
    };
  });
  if (!found) context.fail_unsupported("Inverse of this element type");
  return prepared;
}

}  // namespace ir::op
