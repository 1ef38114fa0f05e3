// Elements and slices read by index.
#ifndef IR_RUNTIME_OPS_GATHER_H_
#define IR_RUNTIME_OPS_GATHER_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

namespace v1 {

/// Slices of input 0 along the axis that input 2, one integer, names, at the indices of input 1 (numbers of
/// any shape, floats cut off towards 0; negative ones count from the end). Output: dims of data before the
/// axis, of the indices, of data behind it.
struct Gather {
  static constexpr OpInfo info{
      .type = "Gather", .last_opset = 6, .family = "movement", .summary = "Slices at indices along an axis."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Follows the beams of a beam search back from their ends. Inputs: ids of the steps and of the parent beams,
/// both [time, batch, beams]; lengths of the sequences [batch]; the id that ends a sequence, a scalar; all of
/// one numeric type. Output [time, batch, beams].
struct GatherTree {
  static constexpr OpInfo info{.type = "GatherTree",
                               .family = "movement",
                               .summary = "Complete beams from the steps of a beam search."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v5 {

/// Slices of input 0 at tuples of indices: the last dim of input 1 holds the tuples. The first `batch_dims`
/// dims of both inputs are equal and become one dim of the output; then follow the other dims of the indices
/// and the dims of data that no index is for.
struct GatherND {
  static constexpr OpInfo info{.type = "GatherND",
                               .first_opset = 5,
                               .last_opset = 7,
                               .family = "movement",
                               .summary = "Slices at tuples of indices; the batch dims become one."};
  std::int64_t batch_dims = 0;
  template <class T>
  static constexpr auto fields_of() {
    return std::array{optional<&T::batch_dims>("batch_dims", "Number of leading dims that both inputs share.",
                                               at_least(0))};
  }
  static constexpr auto fields() { return fields_of<GatherND>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v5

namespace v6 {

/// out[.., i, ..] = data[.., indices[.., i, ..], ..] along `axis`. Both inputs have one rank >= 1 and differ
/// at most in that axis; output: the shape of the indices.
struct GatherElements {
  static constexpr OpInfo info{.type = "GatherElements",
                               .first_opset = 6,
                               .family = "movement",
                               .summary = "Elements at indices along an axis."};
  std::int64_t axis = 0;
  static constexpr auto fields() {
    return std::array{
        required<&GatherElements::axis>("axis", "Axis of the indices; negative: from the end.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v6

namespace v7 {

/// As v1::Gather; the first `batch_dims` dims of data and indices are equal and stand once in the output. An
/// index that addresses nothing gives zeros.
struct Gather {
  static constexpr OpInfo info{.type = "Gather",
                               .first_opset = 7,
                               .last_opset = 7,
                               .family = "movement",
                               .summary = "Slices at indices along an axis, per batch."};
  std::int64_t batch_dims = 0;
  template <class T>
  static constexpr auto fields_of() {
    return std::array{optional<&T::batch_dims>(
        "batch_dims",
        "Number of leading dims that both inputs share; negative: from the end of the indices.")};
  }
  static constexpr auto fields() { return fields_of<Gather>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v7

namespace v8 {

/// As v7::Gather, where negative indices count from the end (as they do in all versions here).
struct Gather {
  static constexpr OpInfo info{
      .type = "Gather",
      .first_opset = 8,
      .family = "movement",
      .summary = "Slices at indices along an axis, per batch; indices may be negative."};
  std::int64_t batch_dims = 0;
  static constexpr auto fields() { return v7::Gather::fields_of<Gather>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// As v5::GatherND; the batch dims stand in the output as they are.
struct GatherND {
  static constexpr OpInfo info{
      .type = "GatherND", .first_opset = 8, .family = "movement", .summary = "Slices at tuples of indices."};
  std::int64_t batch_dims = 0;
  static constexpr auto fields() { return v5::GatherND::fields_of<GatherND>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_GATHER_H_
