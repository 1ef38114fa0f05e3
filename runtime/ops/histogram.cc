// Bincount and Histc.
#include "ir_runtime/ops/histogram.h"

#include "kernels/reduction/histogram.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr std::string_view kValuesOfBincount = "Bincount takes values from 0 to 2^63 - 2";

// One more than the largest of `count` values of a type may be.
Dimension counters_of_type(ElementType type, const Dimension& count) {
  if (count.max() == 0) return 0;
  const std::int64_t least = count.min() > 0 ? 1 : 0;
  const bool is_small = is_integral(type) && bits_of(type) <= 32;
  if (!is_small) return {least, Dimension::kUnbounded};
  const auto bits = bits_of(type) - (type == ElementType::i32 ? 1 : 0);
  return {least, std::int64_t{1} << bits};
}

// The same as far as the values are known.
Dimension counters_of_values(const InferContext& context, const Dimension& count) {
  const auto elements = context.elements(0);
  if (!elements) return counters_of_type(context.type(0), count);
  Dimension counters = 0;
  for (std::size_t i = 0; i < elements->size(); ++i) {
    const Dimension& element = (*elements)[i];
    context.require_not_negative(0, element, "element {} of input 0 is {}; {}", i, element,
                                 kValuesOfBincount);
    counters = element_maximum(counters, element + 1);
  }
  return counters;
}

template <class T>
Tensor summed_weights(kernels::IndexView values, const Tensor& weights, std::int64_t length) {
  Tensor sums(weights.element_type(), {length});
  kernels::sum_weights(values, static_cast<const T*>(weights.raw()), static_cast<std::size_t>(weights.size()),
                       static_cast<std::size_t>(length), static_cast<T*>(sums.raw()));
  return sums;
}

Tensor bincount(std::span<const Tensor> inputs, std::int64_t minlength) {
  const kernels::IndexView values = index_view(inputs[0].element_type(), inputs[0].raw());
  const auto count = static_cast<std::size_t>(inputs[0].size());
  const kernels::CounterNumber counters = kernels::counters_for(values, count);
  if (counters.bad) {
    throw Error("IR-value", fmt::format("element {} of input 0 is {}; {}", counters.bad->position,
                                        counters.bad->value, kValuesOfBincount));
  }
  const std::int64_t length = std::max(static_cast<std::int64_t>(counters.needed), minlength);
  Tensor result;
  if (inputs.size() == 2) {
    with_one_of<float, double, std::int32_t, std::int64_t>(
        inputs[1].element_type(), [&]<class T>() { result = summed_weights<T>(values, inputs[1], length); });
    return result;
  }
  result = Tensor(ElementType::i64, {length});
  kernels::count_values(values, count, static_cast<std::size_t>(length), result.data<std::int64_t>().data());
  return result;
}

}  // namespace

void v17::Bincount::infer(InferContext& context) const {
  context.require_inputs(1, 2);
  context.require_type(0, {ElementType::i32, ElementType::i64, ElementType::u8, ElementType::u16,
                           ElementType::u32, ElementType::u64});
  require_at_least(context, "minlength", minlength, 0);
  SharedDim count{"the number of values", {}};
  unify(context, 0, {&count});
  ElementType type = ElementType::i64;
  if (context.input_count() == 2) {
    context.require_type(1, {ElementType::f32, ElementType::f64, ElementType::i32, ElementType::i64});
    unify(context, 1, {&count});
    type = context.type(1);
  }
  const Dimension length = element_maximum(counters_of_values(context, count.value), minlength);
  context.set_output(0, type, {length});
  if (context.explaining())
    context.explain(0, 0, fmt::format("max(largest value + 1, {}) = {}", minlength, to_string(length)));
}

PreparedKernel v17::Bincount::prepare(PrepareContext&) const {
  PreparedKernel kernel;
  kernel.name = "bincount";
  kernel.run_dynamic = [least = minlength](std::span<const Tensor> inputs) {
    return std::vector<Tensor>{bincount(inputs, least)};
  };
  return kernel;
}

void v17::Histc::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_real(0);
  require_at_least(context, "bins", bins, 0);
  context.require(max_val >= min_val, "IR-attribute-value",
                  {.found = max_val, .expected = words("at least {}", min_val)},
                  "max_val is {}, below min_val {}", max_val, min_val);
  context.set_output(0, context.type(0), {bins});
  if (context.explaining()) context.explain(0, 0, fmt::format("bins = {}", bins));
}

PreparedKernel v17::Histc::prepare(PrepareContext& context) const {
  if (bins == 0) return nothing_to_do("histogram");
  const kernels::HistogramParams params{context.size(0), context.output_size(), min_val, max_val};
  PreparedKernel kernel;
  kernel.name = "histogram";
  kernel.scratch_bytes = kernels::histogram_scratch_bytes(params);
  const bool found = with_real_type(context.type(0), [&]<class T>() {
    kernel.run = [params](const StepMemory& memory) {
      kernels::histogram(params, memory.in<T>(0), memory.out<T>(0), memory.scratch);
    };
  });
  if (!found) context.fail_unsupported(fmt::format("Histc of type {}", name_of(context.type(0))));
  kernel.flops = 3.0 * static_cast<double>(params.count);
  return kernel;
}

}  // namespace ir::op
