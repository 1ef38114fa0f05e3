#include "runtime/ops/infer.h"

#include <algorithm>
#include <limits>

#include "ir_runtime/ops/infrastructure.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/processor.h"

namespace ir {

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  const Tensor wide = tensor.element_type() == ElementType::i64 ? tensor : tensor.converted(ElementType::i64);
  const auto values = wide.data<std::int64_t>();
  return {values.begin(), values.end()};
}

std::vector<double> reals_of(const Tensor& tensor) {
  const Tensor wide = tensor.element_type() == ElementType::f64 ? tensor : tensor.converted(ElementType::f64);
  const auto values = wide.data<double>();
  return {values.begin(), values.end()};
}

std::optional<std::vector<std::int64_t>> InferContext::integers(std::size_t index) const {
  const ValueInfo& value = inputs_[index];
  if (value.constant) {
    if (is_real(value.type) || value.type == ElementType::string) return std::nullopt;
    return integers_of(*value.constant);
  }
  if (!value.elements) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Dimension& dim : *value.elements) {
    if (!dim.is_static()) return std::nullopt;
    numbers.push_back(dim.value());
  }
  return numbers;
}

std::optional<std::vector<Dimension>> InferContext::elements(std::size_t index) const {
  const ValueInfo& value = inputs_[index];
  if (value.elements) return value.elements;
  if (!value.constant || value.constant->size() > kMaxPropagatedElements) return std::nullopt;
  if (const auto numbers = integers(index)) return std::vector<Dimension>(numbers->begin(), numbers->end());
  return std::nullopt;
}

std::optional<std::vector<KnownReal>> InferContext::known_reals(std::size_t index) const {
  const ValueInfo& value = inputs_[index];
  if (value.reals) return value.reals;
  if (!value.constant || !is_real(value.type) || value.constant->size() > kMaxPropagatedElements)
    return std::nullopt;
  const std::vector<double> numbers = reals_of(*value.constant);
  return std::vector<KnownReal>(numbers.begin(), numbers.end());
}

std::optional<std::vector<double>> InferContext::reals(std::size_t index) const {
  const ValueInfo& value = inputs_[index];
  if (value.type == ElementType::string) return std::nullopt;
  if (value.constant) return reals_of(*value.constant);
  if (const auto numbers = integers(index)) return std::vector<double>(numbers->begin(), numbers->end());
  return std::nullopt;
}

std::optional<std::int64_t> InferContext::integer(std::size_t index) const {
  const auto numbers = integers(index);
  if (!numbers || numbers->size() != 1) return std::nullopt;
  return numbers->front();
}

void InferContext::require_inputs(std::size_t min, std::size_t max) const {
  if (input_count() >= min && input_count() <= max) return;
  const std::string wanted = min == max ? fmt::format("{}", min) : fmt::format("{} to {}", min, max);
  throw InferenceFailure{.code = "IR-input-count",
                         .message = fmt::format("has {} inputs, {} takes {}", input_count(), type_, wanted),
                         .compared = {fmt::format("{}", input_count()), wanted}};
}

void InferContext::require_min_inputs(std::size_t min) const {
  require(input_count() >= min, "IR-input-count",
          {.found = input_count(), .expected = words("at least {}", min)},
          "has {} inputs, {} takes at least {}", input_count(), type_, min);
}

void InferContext::require_rank(std::size_t index, std::size_t min, std::size_t max) const {
  const PartialShape& got = shape(index);
  if (!got.has_rank() || (got.rank() >= min && got.rank() <= max)) return;
  std::string wanted = fmt::format("a rank from {} to {}", min, max);
  if (min == max) wanted = fmt::format("rank {}", min);
  if (max == std::numeric_limits<std::size_t>::max()) wanted = fmt::format("a rank of at least {}", min);
  throw InferenceFailure{.code = "IR-rank",
                         .message = fmt::format("input {} has shape {} of rank {}, {} takes {}", index,
                                                to_string(got), got.rank(), type_, wanted),
                         .compared = {to_string(got), wanted, {}, index}};
}

namespace {

[[noreturn]] void fail_type(std::string_view op_type, std::size_t index, ElementType got,
                            const std::string& wanted) {
  throw InferenceFailure{
      .code = "IR-element-type",
      .message = fmt::format("input {} is of type {}, {} takes {}", index, name_of(got), op_type, wanted),
      .compared = {std::string(name_of(got)), wanted, {}, index}};
}

}  // namespace

void InferContext::require_type(std::size_t index, std::initializer_list<ElementType> allowed) const {
  const ElementType got = type(index);
  if (got == ElementType::dynamic || std::ranges::find(allowed, got) != allowed.end()) return;
  std::string names;
  for (const ElementType one : allowed) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(one));
  fail_type(type_, index, got, names);
}

void InferContext::require_integer(std::size_t index) const {
  const ElementType got = type(index);
  if (got == ElementType::dynamic || is_integral(got)) return;
  fail_type(type_, index, got, "an integer type");
}

void InferContext::require_real(std::size_t index) const {
  const ElementType got = type(index);
  if (got == ElementType::dynamic || is_real(got)) return;
  fail_type(type_, index, got, "a floating-point type");
}

void InferContext::require_number(std::size_t index) const {
  const ElementType got = type(index);
  if (got == ElementType::dynamic || is_integral(got) || is_real(got)) return;
  fail_type(type_, index, got, "a numeric type");
}

ElementType InferContext::require_same_type(std::initializer_list<std::size_t> indices) const {
  ElementType common = ElementType::dynamic;
  std::size_t first = 0;
  for (const std::size_t index : indices) {
    const ElementType got = type(index);
    if (got == ElementType::dynamic) continue;
    if (common == ElementType::dynamic) {
      common = got;
      first = index;
    } else if (got != common) {
      fail("IR-element-type",
           fmt::format("inputs {} and {} are of types {} and {}, {} takes one type", first, index,
                       name_of(common), name_of(got), type_),
           Compared{std::string(name_of(got)), std::string(name_of(common)),
                    fmt::format("as input {}", first), index});
    }
  }
  return common;
}

std::size_t InferContext::require_axis(std::int64_t axis, std::size_t rank, std::string_view what,
                                       std::optional<std::size_t> input) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    const std::string range = fmt::format("[{}, {})", -signed_rank, signed_rank);
    fail("IR-axis", fmt::format("{} {} lies outside of {} for rank {}", what, axis, range, rank),
         Compared{fmt::format("{}", axis), range, fmt::format("for rank {}", rank), input});
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

void InferContext::fail(std::string_view code, std::string message, Compared compared,
                        std::string hint) const {
  throw InferenceFailure{std::string(code), std::move(message), std::move(hint), std::move(compared)};
}

void InferContext::set_output(std::size_t index, ValueInfo value) {
  if (outputs_.size() <= index) outputs_.resize(index + 1);
  outputs_[index] = std::move(value);
}

void InferContext::set_output(std::size_t index, ElementType type, PartialShape shape) {
  set_output(index, ValueInfo{type, std::move(shape), nullptr, std::nullopt});
}

void InferContext::set_elements(std::size_t index, std::vector<Dimension> elements) {
  if (static_cast<std::int64_t>(elements.size()) <= kMaxPropagatedElements)
    outputs_[index].elements = std::move(elements);
}

void InferContext::set_reals(std::size_t index, std::vector<KnownReal> reals) {
  const ElementType type = outputs_[index].type;
  if ((type != ElementType::f32 && type != ElementType::f64) || std::ssize(reals) > kMaxPropagatedElements)
    return;
  if (std::ranges::any_of(reals, &KnownReal::has_value)) outputs_[index].reals = std::move(reals);
}

void InferContext::explain(std::size_t output, std::size_t axis, std::string rule) {
  if (rules_.size() <= output) rules_.resize(output + 1);
  if (rules_[output].size() <= axis) rules_[output].resize(axis + 1);
  rules_[output][axis] = std::move(rule);
}

namespace {

// Dims that arithmetic pushed below zero mean nothing as a shape.
void require_valid_dims(const InferContext& context, const std::vector<ValueInfo>& outputs) {
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    for (const Dimension& dim : outputs[index].shape) {
      context.require(dim.min() >= 0, "IR-shape",
                      {.found = outputs[index].shape, .expected = "dims of at least 0"},
                      "output {} would have shape {}", index, outputs[index].shape);
    }
    if (outputs[index].shape.is_static()) {
      context.require(element_count(outputs[index].shape.to_shape()).has_value(), "IR-shape",
                      {.found = outputs[index].shape, .expected = "a number of elements that can be counted"},
                      "output {} of shape {} has more elements than can be counted", index,
                      outputs[index].shape);
    }
  }
}

// Elements of a value of which inference knows some are all known: it is a constant.
void make_constant(ValueInfo& value) {
  const auto describes = [&value](std::size_t count) {
    return value.shape.element_count() == Dimension(static_cast<std::int64_t>(count));
  };
  const auto set = [&value](const Tensor& numbers) {
    value.constant = std::make_shared<const Tensor>(
        value.type == numbers.element_type() ? numbers : numbers.converted(value.type));
  };
  if (value.constant) return;
  if (value.elements && is_integral(value.type) && describes(value.elements->size()) &&
      std::ranges::all_of(*value.elements, &Dimension::is_static)) {
    Tensor numbers(ElementType::i64, value.shape.to_shape());
    std::ranges::transform(*value.elements, numbers.data<std::int64_t>().begin(), &Dimension::value);
    set(numbers);
  } else if (value.reals && describes(value.reals->size()) &&
             std::ranges::all_of(*value.reals, &KnownReal::has_value)) {
    Tensor numbers(ElementType::f64, value.shape.to_shape());
    std::ranges::transform(*value.reals, numbers.data<double>().begin(),
                           [](const KnownReal& real) { return *real; });
    set(numbers);
  }
}

// Fills in constants that are cheap to know, so that shape arithmetic flows through the model.
void propagate_values(const Op& op, std::span<const ValueInfo> inputs, std::vector<ValueInfo>& outputs) {
  const auto small = [](const ValueInfo& value) {
    return value.shape.is_static() && value.shape.element_count().max() <= kMaxPropagatedElements;
  };
  std::ranges::for_each(outputs, make_constant);
  const bool known =
      std::ranges::all_of(outputs, [](const ValueInfo& output) { return output.constant != nullptr; });
  const OpClass& record = op.op_class_record();
  if (known || record.info.stateful || record.subgraphs != nullptr || inputs.empty()) return;
  if (!std::ranges::all_of(inputs, [&](const ValueInfo& v) { return v.constant && small(v); })) return;
  if (!std::ranges::all_of(outputs, small)) return;
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size());
  for (const ValueInfo& input : inputs) tensors.push_back(*input.constant);
  std::vector<Tensor> values;
  try {
    values = evaluate_constants(op, tensors);
  } catch (const Error&) {
    return;  // nothing is known then; running the model reports it
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].constant = std::make_shared<const Tensor>(std::move(values[i]));
  }
}

std::vector<ValueInfo> infer_with(const Op& op, std::span<const ValueInfo> inputs, bool running) {
  require_processor();  // small constants are computed by kernels, also while a model is read
  InferContext context(op.type(), inputs, false, running);
  op.op_class_record().infer(op.descriptor(), context);
  require_valid_dims(context, context.outputs());
  return std::move(context.outputs());
}

}  // namespace

std::vector<ValueInfo> infer_types_and_shapes(const Op& op, std::span<const ValueInfo> inputs) {
  return infer_with(op, inputs, true);
}

std::vector<ValueInfo> infer_outputs(const Op& op, std::span<const ValueInfo> inputs) {
  std::vector<ValueInfo> outputs = infer_with(op, inputs, false);
  propagate_values(op, inputs, outputs);
  return outputs;
}

std::vector<std::vector<std::string>> explain_outputs(const Op& op, std::span<const ValueInfo> inputs) {
  InferContext context(op.type(), inputs, true);
  op.op_class_record().infer(op.descriptor(), context);
  return context.rules();
}

Diagnostic diagnostic_of(const InferenceFailure& failure, const Node& node) {
  return {.severity = Severity::error,
          .code = failure.code,
          .where = node.where(),
          .layer = {node.layer_id(), node.name(), std::string(node.op().type())},
          .message = failure.message,
          .hint = failure.hint,
          .port = failure.compared.input
                      ? PortReference{PortKind::input, fmt::format("{}", *failure.compared.input)}
                      : PortReference{},
          .found = failure.compared.found,
          .expected = failure.compared.expected,
          .rule = failure.compared.rule};
}

void infer_node(Node& node) {
  std::vector<ValueInfo> inputs;
  for (const Output& input : node.inputs()) inputs.push_back(input.info());
  try {
    node.set_outputs(infer_outputs(node.op(), inputs));
  } catch (const InferenceFailure& failure) {
    throw Error({diagnostic_of(failure, node)});
  }
}

}  // namespace ir
