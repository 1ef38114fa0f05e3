#include "runtime/ops/compressed.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "kernels/matmul/gemm_compressed.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/op_class.h"
#include "runtime/ops/sizes.h"

namespace ir {
namespace op {
namespace {

kernels::CompressedForm form_of(const CodeRows& rows, std::int64_t count) {
  return {rows.code, size_of(count), size_of(rows.terms), size_of(rows.group)};
}

std::int64_t groups_of(const CodeRows& rows) { return rows.group == 0 ? 0 : rows.terms / rows.group; }

/// Codes and what belongs to them, from input `first` up to, not with, `last`.
void check_codes(const InferContext& context, const CodeRows& rows, std::size_t first, std::size_t last) {
  context.require_type(first, {ElementType::u8});
  const PartialShape& codes = context.shape(first);
  const auto bytes = static_cast<std::int64_t>(form_of(rows, 0).row_bytes());
  const auto check_last = [&](std::size_t input, std::int64_t expected) {
    const PartialShape& shape = context.shape(input);
    if (!shape.has_rank()) return;
    context.require(shape.rank() > 0 && shape[shape.rank() - 1].compatible(expected), "IR-shape",
                    {.found = shape, .expected = expected, .input = input},
                    "input {} has shape {}, its rows have {} elements", input, shape, expected);
  };
  check_last(first, bytes);
  for (std::size_t input = first + 1; input < last; ++input) {
    context.require_type(input, {ElementType::f32});
    const PartialShape& numbers = context.shape(input);
    if (input == first + 2 && numbers.compatible(PartialShape({Dimension(1)}))) continue;
    check_last(input, groups_of(rows));
    context.require(!numbers.has_rank() || !codes.has_rank() || numbers.rank() == codes.rank(), "IR-shape",
                    {.found = numbers, .expected = codes, .input = input},
                    "input {} has shape {}, the codes {}", input, numbers, codes);
  }
}

/// The same of a run.
struct CodeInputs {
  std::size_t first = 0;
  bool scaled = false;
  bool shifted = false;
  bool one_offset = false;

  [[nodiscard]] kernels::CompressedRows at(const StepMemory& memory) const {
    return {memory.in<std::uint8_t>(first), scaled ? memory.in<float>(first + 1) : nullptr,
            shifted ? memory.in<float>(first + 2) : nullptr, one_offset};
  }
};

CodeInputs code_inputs(const PrepareContext& context, std::size_t first, std::size_t last) {
  const bool shifted = last - first > 2;
  return {first, last - first > 1, shifted, shifted && context.shape(first + 2).size() == 1};
}

/// Of the first input, the codes: where nobody else reads them, and not all bits need be kept.
kernels::CompressedOperands known_operands(const PrepareContext& context, const CodeInputs& inputs,
                                           bool rectified) {
  const Tensor* const codes = context.constant(inputs.first);
  const bool may_pack = codes != nullptr && !context.has_other_plans() && !context.accurate();
  return {may_pack ? codes->data<std::uint8_t>().data() : nullptr, inputs.shifted, rectified,
          context.accurate(), context.whole_floats()};
}

}  // namespace

void CompressedMatMul::infer(InferContext& context) const {
  context.require_min_inputs(2);
  check_codes(context, rows, 1, context.input_count());
  context.require_rank(1, 2);
  const PartialShape& a = context.shape(0);
  if (!a.has_rank() || !context.shape(1).has_rank()) {
    context.set_output(0, context.type(0), PartialShape());
    return;
  }
  context.require(a.rank() >= 2 && a[a.rank() - 1].compatible(rows.terms), "IR-shape",
                  {.found = a, .expected = rows.terms, .input = 0},
                  "input 0 has shape {}, its rows have {} elements", a, rows.terms);
  PartialShape output = a;
  output[output.rank() - 1] = context.shape(1)[0];
  context.set_output(0, context.type(0), output);
}

PreparedKernel prepare_compressed_matmul(PrepareContext& context, const CompressedMatMul& product,
                                         std::size_t inputs, const EpilogueOfStep& epilogue, bool rectified) {
  if (context.type(0) != ElementType::f32) context.fail_unsupported("a product of this element type");
  const kernels::CompressedForm form = form_of(product.rows, context.shape(1)[0]);
  const std::size_t rows = form.terms == 0 ? 0 : context.size(0) / form.terms;
  const CodeInputs codes = code_inputs(context, 1, inputs);
  std::shared_ptr<const kernels::CompressedGemm> gemm = kernels::create_compressed_gemm(
      rows, form, epilogue.epilogue, context.quantised_terms(), known_operands(context, codes, rectified));
  PreparedKernel prepared;
  prepared.name = fmt::format("matmul/{}", gemm->algorithm());
  if (!gemm->reads_codes()) prepared.absorbed.push_back(codes.first);
  prepared.per_target = true;
  prepared.scratch_bytes = gemm->scratch_bytes();
  prepared.flops = 2.0 * static_cast<double>(context.output_size()) * static_cast<double>(form.terms);
  if (epilogue.residual_input) prepared.in_place.push_back(*epilogue.residual_input);
  prepared.run = [gemm = std::move(gemm), codes, functions = epilogue.functions,
                  residual = epilogue.residual_input](const StepMemory& memory) {
    gemm->run(memory.in<float>(0), codes.at(memory), residual ? memory.in<float>(*residual) : nullptr,
              memory.out<float>(0), memory.scratch);
  };
  return prepared;
}

PreparedKernel CompressedMatMul::prepare(PrepareContext& context) const {
  return prepare_compressed_matmul(context, *this, context.input_count());
}

void Decompress::infer(InferContext& context) const {
  context.require_min_inputs(1);
  check_codes(context, rows, 0, context.input_count());
  PartialShape output = context.shape(0);
  if (output.has_rank()) output[output.rank() - 1] = rows.terms;
  context.set_output(0, ElementType::f32, output);
}

PreparedKernel Decompress::prepare(PrepareContext& context) const {
  const auto count = static_cast<std::int64_t>(context.output_size());
  const kernels::CompressedForm form = form_of(rows, rows.terms == 0 ? 0 : count / rows.terms);
  PreparedKernel prepared;
  prepared.name = "decompress";
  prepared.per_target = true;
  prepared.run = [form, codes = code_inputs(context, 0, context.input_count())](const StepMemory& memory) {
    kernels::decompress(form, codes.at(memory), memory.out<float>(0));
  };
  return prepared;
}

}  // namespace op

template struct OpClassOf<op::CompressedMatMul>;
template struct OpClassOf<op::Decompress>;

}  // namespace ir
