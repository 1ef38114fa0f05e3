#include "ir_runtime/ops/grouped_matmul.h"

#include <memory>

#include "kernels/matmul/gemm_grouped.h"
#include "runtime/ops/constant_weights.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/matrix_kernel.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

void require_rank_for_inputs(const InferContext& context) {
  context.require_rank(0, 2, 3);
  const PartialShape& rows = context.shape(0);
  if (!rows.has_rank()) return;
  context.require(rows.rank() == 3 || context.input_count() == 3, "IR-input-count",
                  {.found = context.input_count(), .expected = "3", .rule = "input 0 has rank 2"},
                  "input 0 has rank 2, for which GroupedMatMul takes offsets as input 2");
  context.require(rows.rank() == 2 || context.input_count() == 2, "IR-input-count",
                  {.found = context.input_count(), .expected = "2", .rule = "input 0 has rank 3", .input = 2},
                  "input 2 holds offsets, which GroupedMatMul does not take for input 0 of rank 3");
}

// The offsets as far as they are known together.
void require_ascending(const InferContext& context, const Dimension& rows) {
  const auto offsets = context.integers(2);
  if (!offsets) return;
  std::int64_t previous = 0;
  for (std::size_t i = 0; i < offsets->size(); ++i) {
    const std::int64_t offset = (*offsets)[i];
    context.require(offset >= previous, "IR-value",
                    {.found = offset, .expected = words("at least {}", previous), .input = 2},
                    "element {} of input 2 is {}; offsets ascend from 0, and this one is at least {}", i,
                    offset, previous);
    context.require(offset <= rows.max(), "IR-value",
                    {.found = offset, .expected = words("at most {}", rows.max()), .input = 2},
                    "element {} of input 2 is {}, but input 0 has at most {} rows", i, offset, rows.max());
    previous = offset;
  }
}

std::size_t borders_bytes(std::size_t groups) {
  constexpr std::size_t kAlignment = 64;
  return ((groups + 1) * sizeof(std::size_t) + kAlignment - 1) / kAlignment * kAlignment;
}

// Where groups of rows begin, in the scratch of the step.
class Borders {
 public:
  Borders(const PrepareContext& context, const kernels::GroupedGemmParams& params)
      : type_(context.type(2)), groups_(params.groups), rows_(params.rows) {}

  const std::size_t* find(const StepMemory& memory) const {
    auto* const borders = reinterpret_cast<std::size_t*>(memory.scratch);
    const auto bad = kernels::group_borders(index_view(type_, memory.inputs[2]), groups_, rows_, borders);
    if (bad) {
      throw Error("IR-value", fmt::format("element {} of input 2 is {}; offsets ascend from 0 to at most the "
                                          "number of rows, {}",
                                          bad->position, bad->value, rows_));
    }
    return borders;
  }

 private:
  ElementType type_;
  std::size_t groups_;
  std::size_t rows_;
};

PreparedKernel prepare_f32(const PrepareContext& context, const kernels::GroupedGemmParams& params) {
  const Tensor* const constant = context.constant(1);
  const float* const floats =
      constant == nullptr || params.rows < 2 ? nullptr : constant_weights(constant).floats();
  auto gemm = std::make_shared<const kernels::GroupedGemm>(params, floats);
  PreparedKernel kernel;
  kernel.name = "grouped_matmul/gemm";
  kernel.per_target = true;
  const std::size_t before = borders_bytes(params.groups);
  kernel.scratch_bytes = before + gemm->scratch_bytes();
  if (floats != nullptr) kernel.absorbed.push_back(1);
  kernel.run = [gemm = std::move(gemm), borders = Borders(context, params),
                before](const StepMemory& memory) {
    gemm->run(memory.in<float>(0), memory.in<float>(1), borders.find(memory), memory.out<float>(0),
              memory.scratch + before);
  };
  return kernel;
}

PreparedKernel prepare_any(const PrepareContext& context, const kernels::GroupedGemmParams& params) {
  PreparedKernel kernel;
  kernel.name = "grouped_matmul/any";
  kernel.scratch_bytes = borders_bytes(params.groups);
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    kernel.run = [params, borders = Borders(context, params)](const StepMemory& memory) {
      kernels::grouped_gemm_generic(params, memory.in<T>(0), memory.in<T>(1), borders.find(memory),
                                    memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported("matrix products of this element type");
  return kernel;
}

}  // namespace

void v17::GroupedMatMul::infer(InferContext& context) const {
  context.require_inputs(2, 3);
  context.require_number(0);
  const ElementType type = context.require_same_type({0, 1});
  require_rank_for_inputs(context);
  SharedDim groups{"the number of groups", {}};
  SharedDim rows{"the number of rows", {}};
  SharedDim columns{"the number of columns", {}};
  SharedDim inner{"the length of a row", {}};
  const bool has_offsets = context.input_count() == 3;
  if (has_offsets) {
    context.require_type(2, {ElementType::i32, ElementType::i64});
    unify(context, 0, {&rows, &inner});
    unify(context, 1, {&groups, &columns, &inner});
    unify(context, 2, {&groups});
    require_ascending(context, rows.value);
    context.set_output(0, type, {rows.value, columns.value});
  } else {
    unify(context, 0, {&groups, &rows, &inner});
    unify(context, 1, {&groups, &columns, &inner});
    context.set_output(0, type, {groups.value, rows.value, columns.value});
  }
  if (!context.explaining()) return;
  context.explain(0, has_offsets ? 0 : 1, fmt::format("rows of input 0 = {}", to_string(rows.value)));
  context.explain(0, has_offsets ? 1 : 2, fmt::format("columns of input 1 = {}", to_string(columns.value)));
}

PreparedKernel v17::GroupedMatMul::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("grouped_matmul/empty");
  if (context.input_count() == 2) return prepare_matmul(context, v0::MatMul(false, true));
  const Shape& matrices = context.shape(1);
  kernels::GroupedGemmParams params;
  params.groups = static_cast<std::size_t>(matrices[0]);
  params.rows = static_cast<std::size_t>(context.shape(0)[0]);
  params.n = static_cast<std::size_t>(matrices[1]);
  params.k = static_cast<std::size_t>(matrices[2]);
  PreparedKernel kernel =
      context.type(0) == ElementType::f32 ? prepare_f32(context, params) : prepare_any(context, params);
  kernel.flops = 2.0 * static_cast<double>(context.output_size()) * static_cast<double>(params.k);
  return kernel;
}

}  // namespace ir::op
