// Elements and slices written by index.
#ifndef IR_RUNTIME_OPS_SCATTER_H_
#define IR_RUNTIME_OPS_SCATTER_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

/// How ScatterElementsUpdate combines an update with what is there.
enum class ElementsReduction : int { none, sum, prod, min, max, mean };
inline constexpr std::array kElementsReductionSpellings{
    Spelling{static_cast<int>(ElementsReduction::none), "none"},
    Spelling{static_cast<int>(ElementsReduction::sum), "sum"},
    Spelling{static_cast<int>(ElementsReduction::prod), "prod"},
    Spelling{static_cast<int>(ElementsReduction::min), "min"},
    Spelling{static_cast<int>(ElementsReduction::max), "max"},
    Spelling{static_cast<int>(ElementsReduction::mean), "mean"},
};
constexpr std::span<const Spelling> spellings_of(ElementsReduction) { return kElementsReductionSpellings; }

/// How ScatterNDUpdate combines an update with what is there.
enum class SlicesReduction : int { none, sum, sub, prod, min, max };
inline constexpr std::array kSlicesReductionSpellings{
    Spelling{static_cast<int>(SlicesReduction::none), "none"},
    Spelling{static_cast<int>(SlicesReduction::sum), "sum"},
    Spelling{static_cast<int>(SlicesReduction::sub), "sub"},
    Spelling{static_cast<int>(SlicesReduction::prod), "prod"},
    Spelling{static_cast<int>(SlicesReduction::min), "min"},
    Spelling{static_cast<int>(SlicesReduction::max), "max"},
};
constexpr std::span<const Spelling> spellings_of(SlicesReduction) { return kSlicesReductionSpellings; }

namespace v3 {

/// Input 0 with the slices at the indices of input 1 along the axis of input 3 replaced by input 2. Updates
/// have the dims of data before the axis, of the indices, of data behind it. As in OpenVINO, updates of
/// another shape of this rank are taken, too, when the axis is known only while the model runs: see
/// LooseUpdates in runtime/ops/scatter.cc.
struct ScatterUpdate {
  static constexpr OpInfo info{.type = "ScatterUpdate",
                               .first_opset = 3,
                               .family = "movement",
                               .summary = "A tensor with slices replaced along an axis."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Input 0 with out[.., indices[.., i, ..], ..] = updates[.., i, ..] along the axis of input 3. Indices
/// (input 1) and updates (input 2) have one shape of the rank of data, no larger than data but along the
/// axis.
struct ScatterElementsUpdate {
  static constexpr OpInfo info{.type = "ScatterElementsUpdate",
                               .first_opset = 3,
                               .last_opset = 11,
                               .family = "movement",
                               .summary = "A tensor with elements replaced along an axis."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Input 0 with the slices at tuples of indices replaced by input 2. The last dim of input 1 holds the
/// tuples; updates have the other dims of the indices, then the dims of data that no index is for.
struct ScatterNDUpdate {
  static constexpr OpInfo info{.type = "ScatterNDUpdate",
                               .first_opset = 4,
                               .last_opset = 14,
                               .family = "movement",
                               .summary = "A tensor with slices replaced at tuples of indices."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v3

namespace v12 {

/// As v3::ScatterElementsUpdate; updates may be combined with what is there.
struct ScatterElementsUpdate {
  static constexpr OpInfo info{.type = "ScatterElementsUpdate",
                               .first_opset = 12,
                               .family = "movement",
                               .summary = "A tensor with elements replaced or combined along an axis."};
  ElementsReduction reduction = ElementsReduction::none;
  bool use_init_val = true;
  static constexpr auto fields() {
    return std::array{
        optional<&ScatterElementsUpdate::reduction>("reduction",
                                                    "How updates are combined with what is there."),
        optional<&ScatterElementsUpdate::use_init_val>(
            "use_init_val", "Whether the element of input 0 takes part in the reduction."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v12

namespace v15 {

/// As v3::ScatterNDUpdate; updates may be combined with what is there.
struct ScatterNDUpdate {
  static constexpr OpInfo info{.type = "ScatterNDUpdate",
                               .first_opset = 15,
                               .family = "movement",
                               .summary = "A tensor with slices replaced or combined at tuples of indices."};
  SlicesReduction reduction = SlicesReduction::none;
  static constexpr auto fields() {
    return std::array{
        optional<&ScatterNDUpdate::reduction>("reduction", "How updates are combined with what is there.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v15
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_SCATTER_H_
