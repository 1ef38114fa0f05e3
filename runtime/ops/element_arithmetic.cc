#include "runtime/ops/element_arithmetic.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace ir::op {
namespace {

constexpr std::int64_t kMax = Dimension::kUnbounded;

// A number so large that arithmetic cannot tell it from an open end.
bool is_open(std::int64_t end) { return end >= kMax || end <= -kMax; }

// Open ends in their canonical form, whose negation exists.
Dimension widened(const Dimension& dim) {
  if (dim.is_static() && is_open(dim.value())) return kUnknownElement;
  return {std::max(dim.min(), -kMax), std::max(dim.max(), -kMax)};
}

// a + b; an open end wins.
std::int64_t add_ends(std::int64_t a, std::int64_t b) {
  if (is_open(a)) return a;
  if (is_open(b)) return b;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? -kMax : kMax;
}

Dimension negated(const Dimension& dim) { return {-dim.max(), -dim.min()}; }

// An end of an interval divided by `divisor` > 0.
std::int64_t divide_end(std::int64_t end, std::int64_t divisor, bool down) {
  if (is_open(end)) return end;
  return end / divisor - (down && end % divisor < 0 ? 1 : 0);
}

Dimension divide(const Dimension& a, const Dimension& b, bool down) {
  if (b.min() > 0 && a.min() >= 0) {
    return {b.max() == kMax ? 0 : divide_end(a.min(), b.max(), false), divide_end(a.max(), b.min(), false)};
  }
  if (!is_exact(b) || b.value() == 0) return kUnknownElement;
  const Dimension numerator = b.value() < 0 ? negated(widened(a)) : widened(a);
  const std::int64_t divisor = b.value() < 0 ? -b.value() : b.value();
  return {divide_end(numerator.min(), divisor, down), divide_end(numerator.max(), divisor, down)};
}

}  // namespace

bool is_partly_known(const ValueInfo& value) { return !value.constant && (value.elements || value.reals); }

bool is_exact(const Dimension& element) { return element.is_static() && !is_open(element.value()); }

Dimension element_add(const Dimension& a, const Dimension& b) {
  const Dimension x = widened(a);
  const Dimension y = widened(b);
  Dimension sum(add_ends(x.min(), y.min()), add_ends(x.max(), y.max()));
  if (is_exact(b)) {
    sum.set_distance(a, b.value());
  } else if (is_exact(a)) {
    sum.set_distance(b, a.value());
  }
  return sum;
}

Dimension element_subtract(const Dimension& a, const Dimension& b) {
  if (const auto distance = a.distance_from(b)) return Dimension(*distance);
  return element_add(a, negated(widened(b)));
}

Dimension element_multiply(const Dimension& a, const Dimension& b) { return widened(a) * widened(b); }

Dimension element_divide_down(const Dimension& a, const Dimension& b) { return divide(a, b, true); }

Dimension element_divide_to_zero(const Dimension& a, const Dimension& b) { return divide(a, b, false); }

Dimension element_maximum(const Dimension& a, const Dimension& b) {
  return {std::max(a.min(), b.min()), std::max(a.max(), b.max())};
}

Dimension element_minimum(const Dimension& a, const Dimension& b) {
  return {std::min(a.min(), b.min()), std::min(a.max(), b.max())};
}

Dimension element_floor_mod(const Dimension& a, const Dimension& b) {
  if (!is_exact(b) || b.value() <= 0) return kUnknownElement;
  const std::int64_t divisor = b.value();
  if (is_exact(a)) {
    const std::int64_t rest = a.value() % divisor;
    return Dimension(rest < 0 ? rest + divisor : rest);
  }
  return a.min() >= 0 && a.max() < divisor ? a : Dimension(0, divisor - 1);
}

Dimension element_mod(const Dimension& a, const Dimension& b) {
  if (!is_exact(b) || b.value() <= 0) return kUnknownElement;
  const std::int64_t divisor = b.value();
  if (is_exact(a)) return Dimension(a.value() % divisor);
  if (a.min() >= 0) return element_floor_mod(a, b);
  return {1 - divisor, divisor - 1};
}

Dimension element_equal(const Dimension& a, const Dimension& b) {
  if (a.is_static() && a == b) return Dimension(1);
  return a.compatible(b) ? Dimension(0, 1) : Dimension(0);
}

Dimension element_less(const Dimension& a, const Dimension& b) {
  if (a.max() < b.min()) return Dimension(1);
  return a.min() >= b.max() ? Dimension(0) : Dimension(0, 1);
}

Dimension element_not(const Dimension& truth) { return {1 - truth.max(), 1 - truth.min()}; }

std::optional<std::vector<Dimension>> binary_elements(InferContext& context, ElementFunction function) {
  const PartialShape& shape = context.outputs()[0].shape;
  if (!shape.is_static() || shape.rank() > 1) return std::nullopt;
  if (context.input(0).constant && context.input(1).constant) return std::nullopt;
  const auto a = context.elements(0);
  const auto b = context.elements(1);
  if (!a || !b) return std::nullopt;
  const auto count = static_cast<std::size_t>(shape.element_count().value());
  const auto fits = [count](const std::vector<Dimension>& x) { return x.size() == 1 || x.size() == count; };
  if (!fits(*a) || !fits(*b)) return std::nullopt;
  std::vector<Dimension> elements;
  for (std::size_t i = 0; i < count; ++i) {
    elements.push_back(function(broadcast_element(*a, i), broadcast_element(*b, i)));
  }
  return elements;
}

void set_integer_elements(InferContext& context, std::vector<Dimension> elements) {
  const ElementType type = context.outputs()[0].type;
  // Narrow types wrap, and shapes are not computed in them.
  std::int64_t lowest = -kMax;
  std::int64_t highest = kMax;
  switch (type) {
    case ElementType::i64:
      break;
    case ElementType::i32:
      lowest = std::numeric_limits<std::int32_t>::min();
      highest = std::numeric_limits<std::int32_t>::max();
      break;
    case ElementType::u32:
      lowest = 0;
      highest = std::numeric_limits<std::uint32_t>::max();
      break;
    case ElementType::u64:
      lowest = 0;
      break;
    default:
      return;
  }
  bool known = false;
  for (Dimension& element : elements) {
    // An open end stands for "some size of a tensor", which fits.
    const bool low_fits = element.min() >= lowest || element.min() == -kMax;
    const bool high_fits = element.max() <= highest || element.max() == kMax;
    if (!low_fits || !high_fits || (element.is_static() && is_open(element.value()))) {
      element = kUnknownElement;
    }
    known = known || element != kUnknownElement;
  }
  if (known) context.set_elements(0, std::move(elements));
}

void set_boolean_elements(InferContext& context, std::vector<Dimension> elements) {
  if (std::ranges::all_of(elements, &Dimension::is_static)) {
    Tensor truth(ElementType::boolean, context.outputs()[0].shape.to_shape());
    std::ranges::transform(elements, truth.data<bool>().begin(),
                           [](const Dimension& dim) { return dim.value() != 0; });
    context.outputs()[0].constant = std::make_shared<const Tensor>(std::move(truth));
  }
  context.set_elements(0, std::move(elements));
}

}  // namespace ir::op
