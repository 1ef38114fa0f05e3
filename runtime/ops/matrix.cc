#include "ir_runtime/ops/matrix.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "kernels/matmul/gemm.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/constant_weights.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/matrix_kernel.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

// An operand as a batch of matrices: a vector becomes a row (left) or a column (right).
template <class Dim>
struct Matrices {
  std::vector<Dim> batch;
  Dim rows = 1;
  Dim columns = 1;
};

template <class Dim>
Matrices<Dim> matrices_of(std::span<const Dim> shape, bool transposed, bool left) {
  Matrices<Dim> matrices;
  if (shape.size() == 1) {
    (left ? matrices.columns : matrices.rows) = shape[0];
    return matrices;
  }
  matrices.batch.assign(shape.begin(), shape.end() - 2);
  matrices.rows = shape[shape.size() - 2];
  matrices.columns = shape[shape.size() - 1];
  if (transposed) std::swap(matrices.rows, matrices.columns);
  return matrices;
}

// Elements from one matrix of an operand to the next along each axis of the output's batch; 0 where the
// operand has only one.
std::vector<std::size_t> batch_strides(const Matrices<std::int64_t>& matrices, std::size_t rank) {
  std::vector<std::size_t> strides(rank, 0);
  auto stride = static_cast<std::size_t>(matrices.rows * matrices.columns);
  for (std::size_t i = 0; i < matrices.batch.size(); ++i) {
    const std::int64_t dim = matrices.batch[matrices.batch.size() - 1 - i];
    if (dim != 1) strides[rank - 1 - i] = stride;
    stride *= static_cast<std::size_t>(dim);
  }
  return strides;
}

kernels::GemmParams gemm_params(const PrepareContext& context, const v0::MatMul& product) {
  const Shape& a_shape = context.shape(0);
  const Shape& b_shape = context.shape(1);
  const auto a = matrices_of<std::int64_t>(a_shape, product.transpose_a, true);
  const auto b = matrices_of<std::int64_t>(b_shape, product.transpose_b, false);
  kernels::GemmParams params;
  params.m = static_cast<std::size_t>(a.rows);
  params.n = static_cast<std::size_t>(b.columns);
  params.k = static_cast<std::size_t>(a.columns);
  params.transpose_a = product.transpose_a && a_shape.size() > 1;
  params.transpose_b = product.transpose_b && b_shape.size() > 1;
  const std::size_t rank = std::max(a.batch.size(), b.batch.size());
  const std::vector<std::size_t> a_strides = batch_strides(a, rank);
  const std::vector<std::size_t> b_strides = batch_strides(b, rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    params.batch.push_back(
        {static_cast<std::size_t>(context.output_shape()[axis]), a_strides[axis], b_strides[axis]});
  }
  return params;
}

PreparedKernel prepared_of(std::shared_ptr<const kernels::Gemm> gemm, const kernels::GemmParams& params,
                           const EpilogueOfStep& epilogue) {
  PreparedKernel prepared;
  prepared.name = fmt::format("matmul/{}", gemm->algorithm());
  prepared.per_target = true;
  prepared.scratch_bytes = gemm->scratch_bytes();
  if (params.constant != kernels::GemmConstant::none && !gemm->reads_constant())
    prepared.absorbed.push_back(params.constant == kernels::GemmConstant::b ? 1 : 0);
  if (epilogue.residual_input) prepared.in_place.push_back(*epilogue.residual_input);
  prepared.run = [gemm = std::move(gemm), functions = epilogue.functions,
                  residual = epilogue.residual_input](const StepMemory& memory) {
    gemm->run(memory.in<float>(0), memory.in<float>(1), residual ? memory.in<float>(*residual) : nullptr,
              memory.out<float>(0), memory.scratch);
  };
  return prepared;
}

/// All that the time of products with several algorithms depends on: they have one matrix B.
std::string product_key(const kernels::GemmParams& params) {
  std::size_t rows = params.m;
  for (const kernels::GemmBatchAxis& axis : params.batch) rows *= axis.count;
  return fmt::format("matmul rows={} columns={} terms={}{}{}", rows, params.n, params.k,
                     params.integers != nullptr ? " integers" : "", params.zeros_in_a ? " zeros" : "");
}

PreparedKernel prepare_f32(const PrepareContext& context, kernels::GemmParams params,
                           const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  const Tensor* constant = context.constant(1);
  params.constant = kernels::GemmConstant::b;
  if (constant == nullptr) {
    constant = context.constant(0);
    params.constant = constant != nullptr ? kernels::GemmConstant::a : kernels::GemmConstant::none;
  }
  params.constant_stays = true;
  params.shares_packing = context.has_other_plans();
  params.accurate = context.accurate();
  params.whole_floats = context.whole_floats();
  const kernels::ConstantWeights known = constant_weights(constant);
  params.zeros_in_a = prologue.rectified;
  if (prologue.grid && params.constant == kernels::GemmConstant::b && !params.accurate)
    params.integers = kernels::integer_columns(params, known, *prologue.grid);
  const auto prepare = [&](std::string_view algorithm) -> std::optional<PreparedKernel> {
    std::shared_ptr<const kernels::Gemm> gemm =
        kernels::create_gemm(params, known, epilogue.epilogue, algorithm);
    if (gemm == nullptr) return std::nullopt;
    return prepared_of(std::move(gemm), params, epilogue);
  };
  const std::vector<kernels::GemmAlgorithm> algorithms = kernels::gemm_algorithms(params);
  if (algorithms.empty()) return prepare("").value();
  return context.choose({[&] { return product_key(params); },
                         [&] {
                           std::vector<KernelEstimate> estimates;
                           estimates.reserve(algorithms.size());
                           for (const auto& [name, cycles] : algorithms) estimates.push_back({name, cycles});
                           return estimates;
                         },
                         prepare});
}

PreparedKernel prepare_any(const PrepareContext& context, const kernels::GemmParams& params) {
  PreparedKernel prepared;
  prepared.name = "matmul/any";
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    prepared.run = [params](const StepMemory& memory) {
      kernels::gemm_generic(params, memory.in<T>(0), memory.in<T>(1), memory.out<T>(0));
    };
  });
  if (!found) context.fail_unsupported("matrix product of this element type");
  return prepared;
}

}  // namespace

PreparedKernel prepare_matmul(PrepareContext& context, const v0::MatMul& product,
                              const EpilogueOfStep& epilogue, const PrologueOfStep& prologue) {
  if (context.output_size() == 0) return nothing_to_do("matmul/empty");
  const kernels::GemmParams params = gemm_params(context, product);
  const bool fast = context.type(0) == ElementType::f32;
  if (!fast && !epilogue.is_empty()) context.fail_unsupported("a fused product of this element type");
  PreparedKernel prepared =
      fast ? prepare_f32(context, params, epilogue, prologue) : prepare_any(context, params);
  prepared.flops = 2.0 * static_cast<double>(context.output_size()) * static_cast<double>(params.k);
  return prepared;
}

void v0::MatMul::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_number(0);
  const ElementType type = context.require_same_type({0, 1});
  const PartialShape& left = context.shape(0);
  const PartialShape& right = context.shape(1);
  for (const std::size_t index : {0U, 1U}) {
    context.require(!context.shape(index).has_rank() || context.shape(index).rank() >= 1, "IR-rank",
                    {.found = "a scalar", .expected = "a rank of at least 1", .input = index},
                    "input {} is a scalar, MatMul takes a rank of at least 1", index);
  }
  if (!left.has_rank() || !right.has_rank()) {
    context.set_output(0, type, PartialShape());
    return;
  }
  const auto a = matrices_of<Dimension>(left.dims(), transpose_a, true);
  const auto b = matrices_of<Dimension>(right.dims(), transpose_b, false);
  if (!a.columns.compatible(b.rows)) {
    const auto operand = [](const PartialShape& shape, bool transposed) {
      return to_string(shape) + (transposed && shape.rank() > 1 ? ", transposed," : "");
    };
    context.fail(
        "IR-shape",
        fmt::format("the rows of input 0 of shape {} have {} elements, the columns of input 1 of shape {} {}",
                    operand(left, transpose_a), to_string(a.columns), operand(right, transpose_b),
                    to_string(b.rows)),
        Compared{to_string(b.rows), to_string(a.columns), {}, 1});
  }
  const auto batch = broadcast_shape(PartialShape(a.batch), PartialShape(b.batch));
  if (!batch) {
    context.fail("IR-broadcast",
                 fmt::format("the batches {} of input 0 and {} of input 1 do not match",
                             to_string(PartialShape(a.batch)), to_string(PartialShape(b.batch))),
                 Compared{to_string(PartialShape(b.batch)), to_string(PartialShape(a.batch)), {}, 1});
  }
  PartialShape output = *batch;
  const auto append = [&](const Dimension& dim, std::size_t input, std::string_view what) {
    if (context.explaining() && dim.is_static()) {
      context.explain(0, output.rank(), fmt::format("{} of input {} = {}", what, input, dim.value()));
    }
    output.push_back(dim);
  };
  if (left.rank() > 1) append(a.rows, 0, "rows");
  if (right.rank() > 1) append(b.columns, 1, "columns");
  context.set_output(0, type, output);
}

PreparedKernel v0::MatMul::prepare(PrepareContext& context) const { return prepare_matmul(context, *this); }

}  // namespace ir::op
