// Rows of a table by index, summed over bags or segments, and the largest of the rows of a segment.
#ifndef IR_RUNTIME_OPS_EMBEDDING_H_
#define IR_RUNTIME_OPS_EMBEDDING_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// What becomes of the rows of a bag.
enum class BagReduction : int { sum, mean };
inline constexpr std::array kBagReductionSpellings{
    Spelling{static_cast<int>(BagReduction::sum), "sum"},
    Spelling{static_cast<int>(BagReduction::mean), "mean"},
};
constexpr std::span<const Spelling> spellings_of(BagReduction) { return kBagReductionSpellings; }

/// What stands where a segment has no rows.
enum class FillMode : int { zero, lowest };
inline constexpr std::array kFillModeSpellings{
    Spelling{static_cast<int>(FillMode::zero), "zero"},
    Spelling{static_cast<int>(FillMode::lowest), "lowest"},
};
constexpr std::span<const Spelling> spellings_of(FillMode) { return kFillModeSpellings; }

namespace detail {

template <class Op>
constexpr Field bag_reduction_field() {
  return optional<&Op::reduction>(
      "reduction", "What becomes of the rows of a bag; mean takes no weights and truncates integers.");
}

}  // namespace detail

namespace v3 {

/// Sums of the rows of bags that lie one behind the other. Inputs: table [rows, ...] of a numeric type;
/// indices [n]; offsets [bags], ascending, where in the indices each bag starts; row of an empty bag
/// (optional, one element; negative or left out: zeros); weights [n] of the table's type (optional). Indices
/// are i32 or i64, all of one type, and do not count from the end. Output: [bags, ...]. Integers wrap.
/// Definition: EmbeddingBagOffsetsSum-3.
struct EmbeddingBagOffsetsSum {
  static constexpr OpInfo info{.type = "EmbeddingBagOffsetsSum",
                               .first_opset = 3,
                               .family = "sparse",
                               .summary = "Sums of table rows over bags that start at offsets."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Sums of the rows of bags of one size. Inputs: table [rows, ...] of a numeric type; indices [bags, n], i32
/// or i64; weights [bags, n] of the table's type (optional). Output: [bags, ...]. Definition:
/// EmbeddingBagPackedSum-3.
struct EmbeddingBagPackedSum {
  static constexpr OpInfo info{.type = "EmbeddingBagPackedSum",
                               .first_opset = 3,
                               .family = "sparse",
                               .summary = "Sums of table rows over bags of one size."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Sums of the rows of segments. Inputs: table [rows, ...] of a numeric type; indices [n]; the segment of
/// each index [n]; number of segments, one element; row of an empty segment and weights [n], both as in
/// EmbeddingBagOffsetsSum. Output: [segments, ...]. Definition: EmbeddingSegmentsSum-3; segments need not be
/// sorted, as in OpenVINO's reference.
struct EmbeddingSegmentsSum {
  static constexpr OpInfo info{.type = "EmbeddingSegmentsSum",
                               .first_opset = 3,
                               .family = "sparse",
                               .summary = "Sums of table rows over numbered segments."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v15 {

/// EmbeddingBagOffsetsSum with a choice of reduction. Definition: EmbeddingBagOffsets-15.
struct EmbeddingBagOffsets {
  static constexpr OpInfo info{.type = "EmbeddingBagOffsets",
                               .first_opset = 15,
                               .family = "sparse",
                               .summary = "Sums or means of table rows over bags that start at offsets."};
  BagReduction reduction = BagReduction::sum;
  static constexpr auto fields() { return std::array{detail::bag_reduction_field<EmbeddingBagOffsets>()}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// EmbeddingBagPackedSum with a choice of reduction. Definition: EmbeddingBagPacked-15.
struct EmbeddingBagPacked {
  static constexpr OpInfo info{.type = "EmbeddingBagPacked",
                               .first_opset = 15,
                               .family = "sparse",
                               .summary = "Sums or means of table rows over bags of one size."};
  BagReduction reduction = BagReduction::sum;
  static constexpr auto fields() { return std::array{detail::bag_reduction_field<EmbeddingBagPacked>()}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v15

namespace v16 {

/// The largest of the rows of each segment. Inputs: data [rows, ...] of a numeric type; the segment of each
/// row [rows], ascending; number of segments, one element (optional; one more than the last segment).
/// Segments are i32 or i64; rows of segments beyond their number are left out. Output: [segments, ...].
/// Definition: SegmentMax-16, of which the file's attribute is `fill_mode`, as OpenVINO writes it.
struct SegmentMax {
  static constexpr OpInfo info{.type = "SegmentMax",
                               .first_opset = 16,
                               .family = "arithmetic",
                               .summary = "The largest of the rows of each segment."};
  FillMode fill_mode = FillMode::zero;
  /// The type whose lowest value fills empty segments; `dynamic`: that of the data. Not an attribute: it
  /// keeps the lowest half when halves are computed in f32.
  ElementType lowest_of = ElementType::dynamic;
  static constexpr auto fields() {
    return std::array{
        required<&SegmentMax::fill_mode>("fill_mode", "What stands where a segment has no rows."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v16
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_EMBEDDING_H_
