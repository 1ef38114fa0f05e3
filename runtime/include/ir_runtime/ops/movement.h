// Elements put together, taken apart, repeated and reordered.
#ifndef IR_RUNTIME_OPS_MOVEMENT_H_
#define IR_RUNTIME_OPS_MOVEMENT_H_

#include <array>

#include "ir_runtime/ops/attributes.h"

namespace ir::op {

/// What input 1 of Reverse holds: axes, or one truth value per axis.
enum class ReverseMode : int { index, mask };
inline constexpr std::array kReverseModeSpellings{
    Spelling{static_cast<int>(ReverseMode::index), "index"},
    Spelling{static_cast<int>(ReverseMode::mask), "mask"},
};
constexpr std::span<const Spelling> spellings_of(ReverseMode) { return kReverseModeSpellings; }

/// Where the elements around the input come from.
enum class PadMode : int { constant, edge, reflect, symmetric };
inline constexpr std::array kPadModeSpellings{
    Spelling{static_cast<int>(PadMode::constant), "constant"},
    Spelling{static_cast<int>(PadMode::edge), "edge"},
    Spelling{static_cast<int>(PadMode::reflect), "reflect"},
    Spelling{static_cast<int>(PadMode::symmetric), "symmetric"},
};
constexpr std::span<const Spelling> spellings_of(PadMode) { return kPadModeSpellings; }

/// How Broadcast maps dims to the target: aligned to the right (numpy; bidirectional lets the target grow
/// too), as input 2 says (explicit), or from an axis on (pdpd).
enum class BroadcastMode : int { numpy, explicit_, bidirectional, pdpd };
inline constexpr std::array kBroadcastModeSpellings{
    Spelling{static_cast<int>(BroadcastMode::numpy), "numpy"},
    Spelling{static_cast<int>(BroadcastMode::explicit_), "explicit"},
    Spelling{static_cast<int>(BroadcastMode::explicit_), "none"},
    Spelling{static_cast<int>(BroadcastMode::bidirectional), "bidirectional"},
    Spelling{static_cast<int>(BroadcastMode::pdpd), "pdpd"},
};
constexpr std::span<const Spelling> spellings_of(BroadcastMode) { return kBroadcastModeSpellings; }

namespace v0 {

/// Tensors put one behind the other along `axis`. At least one input; all dims but that one are equal.
struct Concat {
  static constexpr OpInfo info{
      .type = "Concat", .family = "movement", .summary = "Tensors one behind the other along an axis."};
  std::int64_t axis = 0;
  static constexpr auto fields() {
    return std::array{required<&Concat::axis>(
        "axis", "Axis along which the inputs follow each other; negative: from the end.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Input 0 repeated along each axis as often as input 1, an integer vector, says. The shorter of shape and
/// repeats is filled with ones from the left; a negative number counts as 0.
struct Tile {
  static constexpr OpInfo info{
      .type = "Tile", .family = "movement", .summary = "A tensor repeated along axes."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The first `seq_lengths[b]` slices along `seq_axis` in reverse order, for each b along `batch_axis`. Input
/// 0 of rank >= 2; input 1: the lengths, a numeric vector of as many elements as the batch axis.
struct ReverseSequence {
  static constexpr OpInfo info{.type = "ReverseSequence",
                               .family = "movement",
                               .summary = "The first slices of each sequence in reverse order."};
  std::int64_t batch_axis = 0;
  std::int64_t seq_axis = 1;
  static constexpr auto fields() {
    return std::array{
        optional<&ReverseSequence::batch_axis>("batch_axis", "Axis of the sequences."),
        optional<&ReverseSequence::seq_axis>("seq_axis", "Axis along which slices are reversed."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v0

namespace v1 {

/// Cuts input 0 into `num_splits` equal parts along the axis that input 1, one integer, names.
struct Split {
  static constexpr OpInfo info{
      .type = "Split", .family = "movement", .summary = "Equal parts of a tensor along an axis."};
  std::int64_t num_splits = 1;
  static constexpr auto fields() {
    return std::array{required<&Split::num_splits>("num_splits", "Number of parts.", at_least(1)),
                      ignored("axis", "Written by old converters; input 1 says it.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Cuts input 0 along the axis that input 1 names into parts as long as input 2, an integer vector, says; one
/// length may be -1 for what is left.
struct VariadicSplit {
  static constexpr OpInfo info{
      .type = "VariadicSplit", .family = "movement", .summary = "Parts of a tensor along an axis."};
  static constexpr auto fields() {
    return std::array{ignored("axis", "Written by old converters; input 1 says it.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Axes in another order: out.dim[i] = data.dim[order[i]]. Input 0 of any shape; input 1: the order, an
/// integer vector without negative ones; empty for all axes reversed.
struct Transpose {
  static constexpr OpInfo info{
      .type = "Transpose", .family = "movement", .summary = "A tensor with its axes in another order."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Input 0 spread over the shape that input 1, an integer vector, gives. Dims of size 1 repeat. With mode
/// explicit, input 2 says for each axis of input 0 which axis of the target it is.
struct Broadcast {
  static constexpr OpInfo info{.type = "Broadcast",
                               .last_opset = 2,
                               .family = "movement",
                               .summary = "A tensor spread over a larger shape."};
  BroadcastMode mode = BroadcastMode::numpy;
  std::int64_t axis = 0;
  template <class T>
  static constexpr auto fields_of() {
    return std::array{
        optional<&T::mode>("mode", "How dims are mapped to the target."),
        optional<&T::axis>("mode.axis", "First axis of the target that the input lines up with (pdpd).",
                           at_least(0)),
    };
  }
  static constexpr auto fields() { return fields_of<Broadcast>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Elements in reverse order along some axes. Input 0 of any shape; input 1: axes (mode index; one that
/// is named twice counts once), or a boolean per axis (mode mask).
struct Reverse {
  static constexpr OpInfo info{.type = "Reverse",
                               .last_opset = 1,
                               .family = "movement",
                               .summary = "Elements in reverse order along some axes."};
  ReverseMode mode = ReverseMode::index;
  static constexpr auto fields() {
    return std::array{required<&Reverse::mode>("mode", "What input 1 holds: axes, or one boolean per axis.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Input 0 with elements around it. Inputs 1 and 2: integer vectors, the number of elements to add before and
/// after each axis; negative numbers cut elements off. Input 3 (optional, 0): the element to add in mode
/// constant. Modes reflect and symmetric mirror at most dim - 1 and dim elements.
struct Pad {
  static constexpr OpInfo info{
      .type = "Pad", .last_opset = 11, .family = "movement", .summary = "A tensor with a border around it."};
  PadMode pad_mode = PadMode::constant;
  static constexpr auto fields() {
    return std::array{required<&Pad::pad_mode>("pad_mode", "Where the elements of the border come from.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v3 {

/// As v1::Broadcast, also bidirectional.
struct Broadcast {
  static constexpr OpInfo info{.type = "Broadcast",
                               .first_opset = 3,
                               .family = "movement",
                               .summary = "A tensor spread over a larger shape, or over both shapes' union."};
  BroadcastMode mode = BroadcastMode::numpy;
  std::int64_t axis = 0;
  static constexpr auto fields() { return v1::Broadcast::fields_of<Broadcast>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Patches of an image, as a convolution would see them. Input [N, C, H, W]; output [N, sizes[0] * sizes[1] *
/// C, rows, columns]: for each position in the patch (rows first) all channels. Padding is zero.
struct ExtractImagePatches {
  static constexpr OpInfo info{.type = "ExtractImagePatches",
                               .first_opset = 3,
                               .family = "movement",
                               .summary = "The patches of an image, stacked along the channels."};
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> rates;
  AutoPad auto_pad = AutoPad::valid;
  static constexpr auto fields() {
    return std::array{
        required<&ExtractImagePatches::sizes>("sizes", "Rows and columns of a patch.", at_least(1)),
        required<&ExtractImagePatches::strides>("strides", "Distance between patches.", at_least(1)),
        required<&ExtractImagePatches::rates>("rates", "Distance between elements of a patch.", at_least(1)),
        required<&ExtractImagePatches::auto_pad>("auto_pad", "Padding: same_upper, same_lower or valid."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v7 {

/// Elements shifted along axes; what leaves at one end enters at the other. Input 0 of any shape; input 1:
/// the shifts, a scalar for all axes or a vector; input 2: axes, a scalar or vector; shifts of an axis that
/// is named twice add up.
struct Roll {
  static constexpr OpInfo info{.type = "Roll",
                               .first_opset = 7,
                               .family = "movement",
                               .summary = "Elements shifted along axes, around the end."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v7

namespace v12 {

/// As v1::Pad; a dim that more is cut off from than it has becomes 0.
struct Pad {
  static constexpr OpInfo info{.type = "Pad",
                               .first_opset = 12,
                               .family = "movement",
                               .summary = "A tensor with a border around it or cut off."};
  PadMode pad_mode = PadMode::constant;
  static constexpr auto fields() {
    return std::array{required<&Pad::pad_mode>("pad_mode", "Where the elements of the border come from.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v12
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_MOVEMENT_H_
