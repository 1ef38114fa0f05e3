#include "runtime/ops/computed_elements.h"

#include <algorithm>

#include "ir_runtime/diagnostics.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/prepare.h"

namespace ir::op {
namespace {

// Stands for elements that are not known: whatever comes of it is dropped.
constexpr int kStandIn = 1;

struct PartlyKnown {
  Tensor values;
  std::vector<bool> known;
};

// Element `index` of a broadcast is known.
bool is_known(const PartlyKnown& input, std::size_t index) {
  return input.known[input.known.size() == 1 ? 0 : index];
}

PartlyKnown of_reals(const ValueInfo& value, const std::vector<KnownReal>& reals) {
  Tensor numbers(ElementType::f64, value.shape.to_shape());
  std::ranges::transform(reals, numbers.data<double>().begin(),
                         [](const KnownReal& real) { return real.value_or(kStandIn); });
  PartlyKnown input{numbers.converted(value.type), {}};
  std::ranges::transform(reals, std::back_inserter(input.known), &KnownReal::has_value);
  return input;
}

PartlyKnown of_integers(const ValueInfo& value, const std::vector<Dimension>& elements) {
  Tensor numbers(ElementType::i64, value.shape.to_shape());
  std::ranges::transform(elements, numbers.data<std::int64_t>().begin(), [](const Dimension& element) {
    return is_exact(element) ? element.value() : kStandIn;
  });
  PartlyKnown input{numbers.converted(value.type), {}};
  std::ranges::transform(elements, std::back_inserter(input.known), is_exact);
  return input;
}

// Input `index`, which has one element or one for each of the `count` of the output, which lie in the same
// order then; empty when nothing is known of it.
std::optional<PartlyKnown> partly_known(const InferContext& context, std::size_t index, std::size_t count) {
  const ValueInfo& value = context.input(index);
  const auto fits = [count](std::size_t size) { return size == 1 || size == count; };
  if (value.constant) {
    const auto size = static_cast<std::size_t>(value.constant->size());
    if (!fits(size)) return std::nullopt;
    return PartlyKnown{*value.constant, std::vector<bool>(size, true)};
  }
  const auto describes = [&](std::size_t size) {
    return fits(size) && value.shape.element_count() == Dimension(static_cast<std::int64_t>(size));
  };
  if (value.reals && describes(value.reals->size())) return of_reals(value, *value.reals);
  if (value.elements && describes(value.elements->size())) return of_integers(value, *value.elements);
  return std::nullopt;
}

std::optional<Tensor> evaluated(const Op& op, std::span<const Tensor> inputs) {
  try {
    return evaluate(op, inputs)[0];
  } catch (const Error&) {
  } catch (const InferenceFailure&) {
  }
  return std::nullopt;  // bad values are reported when they are computed
}

void set_known(InferContext& context, const Tensor& values, const std::vector<bool>& known) {
  if (is_real(values.element_type())) {
    const std::vector<double> numbers = reals_of(values);
    std::vector<KnownReal> reals(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!known[i]) reals[i].reset();
    }
    return context.set_reals(0, std::move(reals));
  }
  const bool boolean = values.element_type() == ElementType::boolean;
  const std::vector<std::int64_t> numbers = integers_of(values);
  std::vector<Dimension> elements(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!known[i]) elements[i] = boolean ? Dimension(0, 1) : kUnknownElement;
  }
  return boolean ? set_boolean_elements(context, std::move(elements))
                 : set_integer_elements(context, std::move(elements));
}

}  // namespace

void propagate_computed_elements(InferContext& context, const Op& op) {
  propagate_computed_elements(context, op, context.input_count());
}

void propagate_computed_elements(InferContext& context, const Op& op, std::size_t count) {
  const Dimension size = context.outputs()[0].shape.element_count();
  if (!size.is_static() || size.value() > kMaxPropagatedElements) return;
  bool some_known = false;
  for (std::size_t i = 0; i < count; ++i) some_known = some_known || is_partly_known(context.input(i));
  // What is all constant is evaluated by the caller of inference.
  if (!some_known) return;
  std::vector<Tensor> tensors;
  std::vector<bool> known(static_cast<std::size_t>(size.value()), true);
  for (std::size_t i = 0; i < count; ++i) {
    auto input = partly_known(context, i, known.size());
    if (!input) return;
    for (std::size_t k = 0; k < known.size(); ++k) known[k] = known[k] && is_known(*input, k);
    tensors.push_back(std::move(input->values));
  }
  if (std::ranges::find(known, true) == known.end()) return;
  const auto values = evaluated(op, tensors);
  if (values && values->size() == size.value()) set_known(context, *values, known);
}

}  // namespace ir::op
