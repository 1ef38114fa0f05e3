// Shapes: static (Shape), and with unknown or bounded dims (Dimension, PartialShape).
#ifndef IR_RUNTIME_SHAPE_H_
#define IR_RUNTIME_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ir {

/// Dims of a tensor, outermost first; empty for a scalar.
using Shape = std::vector<std::int64_t>;

/// Product of the dims; empty on overflow or when a dim is negative.
std::optional<std::int64_t> element_count(const Shape& shape);

/// "[1,3,224,224]"
std::string to_string(const Shape& shape);

/// A dim that lies in [min, max]; static when both are equal. Arithmetic is interval arithmetic that
/// saturates.
class Dimension {
 public:
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  /// Any value >= 0.
  constexpr Dimension() = default;
  constexpr Dimension(std::int64_t value)  // NOLINT(google-explicit-constructor): a number is a dim
      : min_(value), max_(value) {}
  constexpr Dimension(std::int64_t min, std::int64_t max) : min_(min), max_(max) {}

  [[nodiscard]] constexpr std::int64_t min() const { return min_; }
  [[nodiscard]] constexpr std::int64_t max() const { return max_; }
  [[nodiscard]] constexpr bool is_static() const { return min_ == max_; }
  /// The value of a static dim.
  [[nodiscard]] constexpr std::int64_t value() const { return min_; }

  [[nodiscard]] constexpr bool compatible(const Dimension& other) const {
    return min_ <= other.max_ && other.min_ <= max_;
  }
  /// The values that both allow; empty when there is none.
  [[nodiscard]] std::optional<Dimension> merged(const Dimension& other) const;

  /// As this; a dim that is not static is told apart from all others, so that what is counted from it is
  /// known to be so many more or fewer.
  [[nodiscard]] Dimension with_origin() const;
  /// Notes that this dim is `offset` more than `other`, where that has an origin.
  void set_distance(const Dimension& other, std::int64_t offset);
  /// How many more this is than `other`; empty unless both are counted from one dim.
  [[nodiscard]] std::optional<std::int64_t> distance_from(const Dimension& other) const;

  /// Whether both allow the same values.
  friend constexpr bool operator==(const Dimension& a, const Dimension& b) {
    return a.min_ == b.min_ && a.max_ == b.max_;
  }
  friend Dimension operator+(const Dimension& a, const Dimension& b);
  friend Dimension operator-(const Dimension& a, const Dimension& b);
  friend Dimension operator*(const Dimension& a, const Dimension& b);
  /// Rounds toward minus infinity; `divisor` > 0.
  [[nodiscard]] Dimension floor_divided(std::int64_t divisor) const;
  [[nodiscard]] Dimension ceil_divided(std::int64_t divisor) const;

 private:
  std::int64_t min_ = 0;
  std::int64_t max_ = kUnbounded;
  /// The dim is `offset_` more than an unknown number, one for each origin; 0: nothing is known of it.
  std::uint32_t origin_ = 0;
  std::int32_t offset_ = 0;
};

/// "5", "?", "1..4", "2..", "..8"
std::string to_string(const Dimension& dim);

/// A shape of which the rank or some dims may be unknown.
class PartialShape {
 public:
  /// Unknown rank.
  PartialShape() = default;
  PartialShape(std::initializer_list<Dimension> dims) : known_rank_(true), dims_(dims) {}
  explicit PartialShape(std::vector<Dimension> dims) : known_rank_(true), dims_(std::move(dims)) {}
  PartialShape(const Shape& shape)  // NOLINT(google-explicit-constructor): every Shape is a PartialShape
      : known_rank_(true), dims_(shape.begin(), shape.end()) {}
  static PartialShape of_rank(std::size_t rank) { return PartialShape(std::vector<Dimension>(rank)); }

  [[nodiscard]] bool has_rank() const { return known_rank_; }
  /// Number of dims; 0 when the rank is unknown.
  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  [[nodiscard]] bool is_static() const;
  /// The dims of a static shape.
  [[nodiscard]] Shape to_shape() const;

  Dimension& operator[](std::size_t axis) { return dims_[axis]; }
  const Dimension& operator[](std::size_t axis) const { return dims_[axis]; }
  [[nodiscard]] const std::vector<Dimension>& dims() const { return dims_; }
  [[nodiscard]] auto begin() const { return dims_.begin(); }
  [[nodiscard]] auto end() const { return dims_.end(); }
  void push_back(const Dimension& dim) { dims_.push_back(dim); }

  /// Whether some shape fits both.
  [[nodiscard]] bool compatible(const PartialShape& other) const;
  /// What both say; empty when they contradict each other.
  [[nodiscard]] std::optional<PartialShape> merged(const PartialShape& other) const;
  /// Number of elements as an interval.
  [[nodiscard]] Dimension element_count() const;

  /// Reads "1,3,?,2..8", "..." or "[1,3]"; empty when malformed.
  static std::optional<PartialShape> parse(std::string_view text);

  friend bool operator==(const PartialShape&, const PartialShape&) = default;

 private:
  bool known_rank_ = false;
  std::vector<Dimension> dims_;
};

/// "[1,3,?,2..8]" or "[...]"
std::string to_string(const PartialShape& shape);

}  // namespace ir

#endif  // IR_RUNTIME_SHAPE_H_
