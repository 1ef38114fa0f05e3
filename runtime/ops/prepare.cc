#include "runtime/ops/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/ops/half_types.h"
#include "runtime/ops/infer.h"
#include "runtime/types/halves.h"

namespace ir {
namespace {

bool holds_strings(const ValueInfo& value) { return value.type == ElementType::string; }

/// Results that are constants may be views of constants, and must not be written.
enum class Results { writable, constants };

Tensor::Memory memory_for(Results purpose) {
  return purpose == Results::constants ? Tensor::Memory::pages : Tensor::Memory::heap;
}

std::vector<Tensor> run_once(const PreparedKernel& kernel, std::span<const Tensor> inputs,
                             std::span<const ValueInfo> outputs, Results purpose = Results::writable) {
  if (kernel.run_dynamic) return kernel.run_dynamic(inputs);
  std::vector<Tensor> results;
  if (!kernel.views.empty()) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const View& view = kernel.views[i];
      const Tensor& input = inputs[view.input];
      Tensor part = input.constant_part(outputs[i].type, outputs[i].shape.to_shape(), view.byte_offset);
      const bool is_view = purpose == Results::writable &&
                           part.raw() == static_cast<const std::byte*>(input.raw()) + view.byte_offset;
      results.push_back(is_view ? part.clone() : std::move(part));
    }
    return results;
  }
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& input : inputs) in.push_back(input.raw());
  const auto reused = std::ranges::find_if(kernel.in_place, [&](std::size_t input) {
    return purpose == Results::constants && inputs[input].is_sole_owner();
  });
  for (const ValueInfo& output : outputs) {
    if (results.empty() && reused != kernel.in_place.end()) {
      results.push_back(inputs[*reused].constant_part(output.type, output.shape.to_shape(), 0));
    } else {
      results.emplace_back(output.type, output.shape.to_shape(), memory_for(purpose));
    }
    out.push_back(results.back().raw());
  }
  Tensor scratch(ElementType::u8, {static_cast<std::int64_t>(kernel.scratch_bytes)});
  kernel.run({in, out, static_cast<std::byte*>(scratch.raw())});
  return results;
}

// Strings are objects: they never lie in the memory that a plan lays out, so the step makes tensors.
PreparedKernel with_own_outputs(PreparedKernel kernel, std::span<const ValueInfo> outputs) {
  PreparedKernel dynamic;
  dynamic.name = kernel.name;
  dynamic.flops = kernel.flops;
  dynamic.run_dynamic = [inner = std::move(kernel), results = std::vector(outputs.begin(), outputs.end())](
                            std::span<const Tensor> inputs) { return run_once(inner, inputs, results); };
  return dynamic;
}

}  // namespace

PreparedKernel nothing_to_do(std::string_view name) {
  PreparedKernel kernel;
  kernel.name = name;
  kernel.run = [](const StepMemory&) {};
  return kernel;
}

PrepareContext::PrepareContext(std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs,
                               PlanServices* services, KernelChooser* chooser)
    : inputs_(inputs), outputs_(outputs), services_(services), chooser_(chooser) {
  for (const ValueInfo& input : inputs) input_shapes_.push_back(input.shape.to_shape());
  for (const ValueInfo& output : outputs) {
    outputs_static_ = outputs_static_ && output.shape.is_static();
    output_shapes_.push_back(output.shape.is_static() ? output.shape.to_shape() : Shape());
  }
}

std::size_t PrepareContext::size(std::size_t input) const {
  return static_cast<std::size_t>(element_count(input_shapes_[input]).value());
}

std::size_t PrepareContext::output_size(std::size_t output) const {
  return static_cast<std::size_t>(element_count(output_shapes_[output]).value());
}

namespace {

[[noreturn]] void throw_needs_constant(std::size_t input) {
  throw Error("IR-needs-constant",
              fmt::format("the elements of input {} are not known before the model runs", input));
}

}  // namespace

std::vector<std::int64_t> PrepareContext::integers(std::size_t input) const {
  if (!inputs_[input].constant) throw_needs_constant(input);
  return integers_of(*inputs_[input].constant);
}

std::vector<double> PrepareContext::reals(std::size_t input) const {
  if (!inputs_[input].constant) throw_needs_constant(input);
  return reals_of(*inputs_[input].constant);
}

std::unique_ptr<BodyRunner> PrepareContext::compile_body(const std::shared_ptr<const Model>& body) const {
  if (services_ == nullptr) throw Error("IR-needs-plan", "a body cannot run outside of a compiled model");
  return services_->compile(body);
}

PreparedKernel PrepareContext::choose(const KernelChoice& choice) const {
  return chooser_ != nullptr ? chooser_->choose(choice, inputs_, outputs_) : choice.prepare("").value();
}

void PrepareContext::require_table(std::size_t entries, std::size_t bytes_of_entry) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(entries, bytes_of_entry, &bytes) ||
      __builtin_add_overflow(table_bytes_, bytes, &table_bytes_))
    table_bytes_ = std::numeric_limits<std::int64_t>::max();
  const ByteLimit limit = services_ == nullptr ? ByteLimit() : services_->table_limit();
  if (table_bytes_ <= limit.bytes) return;
  throw Error("IR-limit", fmt::format("the tables of the kernel take {} bytes; the limit {} is {}",
                                      table_bytes_, limit.name, limit.bytes));
}

void PrepareContext::fail_unsupported(std::string_view what) const {
  throw Error("IR-unsupported", fmt::format("no kernel for {}", what));
}

PreparedKernel prepare_kernel(const Op& op, std::span<const ValueInfo> inputs,
                              std::span<const ValueInfo> outputs, PlanServices* services,
                              KernelChooser* chooser) {
  PrepareContext context(inputs, outputs, services, chooser);
  PreparedKernel kernel = op.op_class_record().prepare(op.descriptor(), context);
  kernel.table_bytes = context.table_bytes();
  if (!kernel.run && !kernel.run_dynamic && kernel.views.empty())
    context.fail_unsupported(fmt::format("{} of these element types", op.type()));
  if (!context.outputs_static() && !kernel.run_dynamic) {
    throw Error("IR-needs-constant",
                fmt::format("the output shapes of {} are not known before the model runs", op.type()));
  }
  if (!kernel.run_dynamic && std::ranges::any_of(outputs, holds_strings))
    return with_own_outputs(std::move(kernel), outputs);
  return kernel;
}

ValueInfo value_of(const Tensor& tensor) {
  return {tensor.element_type(), tensor.shape(), std::make_shared<const Tensor>(tensor), std::nullopt};
}

namespace {

std::vector<Tensor> evaluate_with(const Op& op, std::span<const Tensor> inputs, PlanServices* services,
                                  Results purpose) {
  std::vector<ValueInfo> values;
  const auto infer = [&](std::span<const Tensor> tensors) {
    values.clear();
    values.reserve(tensors.size());
    for (const Tensor& tensor : tensors) values.push_back(value_of(tensor));
    return infer_types_and_shapes(op, values);
  };
  const auto run = [&](const Op& prepared, std::span<const Tensor> tensors,
                       std::span<const ValueInfo> results) {
    const PreparedKernel kernel = prepare_kernel(prepared, values, results, services);
    values.clear();  // They share the memory of the tensors.
    return run_once(kernel, tensors, results, purpose);
  };
  const std::vector<ValueInfo> outputs = infer(inputs);
  if (std::ranges::none_of(inputs, [](const Tensor& t) { return is_half(t.element_type()); }))
    return run(op, inputs, outputs);
  // Halves compute in f32; the results get the types that the operation gives.
  std::vector<Tensor> wide(inputs.begin(), inputs.end());
  for (Tensor& tensor : wide) {
    if (is_half(tensor.element_type())) tensor = tensor.converted(ElementType::f32, memory_for(purpose));
  }
  const std::vector<ValueInfo> wide_outputs = infer(wide);
  Op wide_op = op;
  if (is_half(inputs[0].element_type())) remember_half_type(wide_op, inputs[0].element_type());
  std::vector<Tensor> results = run(wide_op, wide, wide_outputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].element_type() != outputs[i].type)
      results[i] = results[i].converted(outputs[i].type, memory_for(purpose));
  }
  return results;
}

}  // namespace

std::vector<Tensor> evaluate(const Op& op, std::span<const Tensor> inputs, PlanServices* services) {
  return evaluate_with(op, inputs, services, Results::writable);
}

std::vector<Tensor> evaluate_constants(const Op& op, std::span<const Tensor> inputs) {
  return evaluate_with(op, inputs, nullptr, Results::constants);
}

}  // namespace ir
