#include "ir_runtime/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <utility>

#include "runtime/types/trimmed.h"

namespace ir {
namespace {

constexpr std::int64_t kMax = Dimension::kUnbounded;

constexpr std::int64_t kMin = -kMax;

// Saturating arithmetic on the ends of intervals: kMax and kMin stand for "no bound", and stay that. Where
// both meet, `unbounded` says which one holds.
std::int64_t add(std::int64_t a, std::int64_t b, std::int64_t unbounded) {
  if (a == unbounded || b == unbounded) return unbounded;
  if (a == kMax || b == kMax) return kMax;
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? kMin : kMax;
  return std::max(sum, kMin);
}

std::int64_t negated(std::int64_t value) { return -std::max(value, kMin); }

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (a == 0 || b == 0) return 0;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? kMax : kMin;
  return std::max(product, kMin);
}

std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  if (value == kMax || value <= kMin) return value;
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Dimension> parse_dimension(std::string_view text) {
  text = trimmed(text);
  if (text == "?" || text == "-1") return Dimension();
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto value = parse_number(text);
    if (!value || *value < 0) return std::nullopt;
    return Dimension(*value);
  }
  const auto low = trimmed(text.substr(0, dots));
  const auto high = trimmed(text.substr(dots + 2));
  const auto min = low.empty() ? std::optional<std::int64_t>(0) : parse_number(low);
  const auto max = high.empty() ? std::optional<std::int64_t>(kMax) : parse_number(high);
  if (!min || !max || *min < 0 || *min > *max) return std::nullopt;
  return Dimension(*min, *max);
}

}  // namespace

std::optional<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    empty = empty || dim == 0;
  }
  if (empty) return 0;
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::optional<Dimension> Dimension::merged(const Dimension& other) const {
  if (!compatible(other)) return std::nullopt;
  return Dimension(std::max(min_, other.min_), std::min(max_, other.max_));
}

Dimension Dimension::with_origin() const {
  static std::atomic<std::uint32_t> last_origin{0};
  Dimension dim = *this;
  if (is_static()) return dim;
  // When they have all been used, inference that knows of the first ones has long ended.
  do dim.origin_ = ++last_origin;
  while (dim.origin_ == 0);
  dim.offset_ = 0;
  return dim;
}

void Dimension::set_distance(const Dimension& other, std::int64_t offset) {
  if (other.origin_ == 0 || is_static()) return;
  std::int64_t sum = 0;
  const bool fits = !__builtin_add_overflow(other.offset_, offset, &sum) && std::in_range<std::int32_t>(sum);
  origin_ = fits ? other.origin_ : 0;
  offset_ = fits ? static_cast<std::int32_t>(sum) : 0;
}

std::optional<std::int64_t> Dimension::distance_from(const Dimension& other) const {
  if (origin_ == 0 || origin_ != other.origin_) return std::nullopt;
  return std::int64_t{offset_} - other.offset_;
}

Dimension operator+(const Dimension& a, const Dimension& b) {
  return {add(a.min_, b.min_, kMin), add(a.max_, b.max_, kMax)};
}

Dimension operator-(const Dimension& a, const Dimension& b) {
  return {add(a.min_, negated(b.max_), kMin), add(a.max_, negated(b.min_), kMax)};
}

Dimension operator*(const Dimension& a, const Dimension& b) {
  const auto [low, high] = std::minmax({multiply(a.min_, b.min_), multiply(a.min_, b.max_),
                                        multiply(a.max_, b.min_), multiply(a.max_, b.max_)});
  return {low, high};
}

Dimension Dimension::floor_divided(std::int64_t divisor) const {
  return {floor_divide(min_, divisor), floor_divide(max_, divisor)};
}

Dimension Dimension::ceil_divided(std::int64_t divisor) const {
  const auto ceil_divide = [divisor](std::int64_t value) {
    if (value == kMax || value <= kMin) return value;
    return floor_divide(value, divisor) + (value % divisor != 0 ? 1 : 0);
  };
  return {ceil_divide(min_), ceil_divide(max_)};
}

std::string to_string(const Dimension& dim) {
  if (dim.is_static()) return fmt::format("{}", dim.value());
  if (dim == Dimension()) return "?";
  if (dim.max() == kMax) return fmt::format("{}..", dim.min());
  if (dim.min() == 0) return fmt::format("..{}", dim.max());
  return fmt::format("{}..{}", dim.min(), dim.max());
}

bool PartialShape::is_static() const {
  return known_rank_ && std::ranges::all_of(dims_, [](const Dimension& dim) { return dim.is_static(); });
}

Shape PartialShape::to_shape() const {
  Shape shape(dims_.size());
  std::ranges::transform(dims_, shape.begin(), [](const Dimension& dim) { return dim.value(); });
  return shape;
}

bool PartialShape::compatible(const PartialShape& other) const { return merged(other).has_value(); }

std::optional<PartialShape> PartialShape::merged(const PartialShape& other) const {
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  if (rank() != other.rank()) return std::nullopt;
  std::vector<Dimension> dims;
  dims.reserve(rank());
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    const auto dim = dims_[axis].merged(other.dims_[axis]);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  return PartialShape(std::move(dims));
}

Dimension PartialShape::element_count() const {
  if (!known_rank_) return {};
  Dimension count(1);
  for (const Dimension& dim : dims_) count = count * dim;
  return count;
}

std::optional<PartialShape> PartialShape::parse(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = trimmed(text.substr(1, text.size() - 2));
  }
  if (text == "...") return PartialShape();
  std::vector<Dimension> dims;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto dim = parse_dimension(text.substr(0, comma));
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (trimmed(text).empty()) return std::nullopt;  // "1,3,"
  }
  return PartialShape(std::move(dims));
}

std::string to_string(const PartialShape& shape) {
  if (!shape.has_rank()) return "[...]";
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ',';
    text += to_string(shape[axis]);
  }
  return text + "]";
}

}  // namespace ir
