#include "ir_runtime/ops/embedding.h"

#include "kernels/indexing/embedding.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

// The optional inputs by their places; all of the operations have the table and the indices first.
struct BagInputs {
  std::size_t default_row = 0;  // 0: the operation has none
  std::size_t weights = 0;
};

constexpr BagInputs kOffsetInputs{3, 4};
constexpr BagInputs kPackedInputs{0, 2};
constexpr BagInputs kSegmentInputs{4, 5};

void require_index(const InferContext& context, std::size_t input) {
  context.require_type(input, {ElementType::i32, ElementType::i64});
}

void require_table(const InferContext& context) {
  context.require_number(0);
  require_min_rank(context, 0, 1);
}

// Indices, default row and weights; `dims` are those of the indices.
void require_bag_inputs(const InferContext& context, const BagInputs& inputs,
                        std::initializer_list<SharedDim*> dims) {
  require_table(context);
  require_index(context, 1);
  unify(context, 1, dims);
  if (inputs.default_row > 0 && context.input_count() > inputs.default_row) {
    context.require_same_type({1, inputs.default_row});
    require_one_element(context, inputs.default_row);
  }
  if (context.input_count() > inputs.weights) {
    context.require_same_type({0, inputs.weights});
    unify(context, inputs.weights, dims);
  }
}

void require_no_mean_weights(const InferContext& context, const BagInputs& inputs, BagReduction reduction) {
  context.require(reduction != BagReduction::mean || context.input_count() <= inputs.weights,
                  "IR-input-count",
                  {.found = context.input_count(),
                   .expected = words("at most {}", inputs.weights),
                   .rule = "reduction mean takes no weights",
                   .input = inputs.weights},
                  "input {} holds weights, which reduction mean does not take", inputs.weights);
}

// Input 0 with `count` in the place of its rows.
void set_reduced_output(InferContext& context, const Dimension& count, std::string_view what) {
  PartialShape shape = context.shape(0);
  if (shape.has_rank()) shape[0] = count;
  context.set_output(0, context.type(0), std::move(shape));
  if (context.explaining() && context.shape(0).has_rank())
    context.explain(0, 0, fmt::format("{} = {}", what, to_string(count)));
}

void infer_offsets(InferContext& context, BagReduction reduction) {
  context.require_inputs(3, 5);
  SharedDim positions{"the number of indices", {}};
  SharedDim bags{"the number of bags", {}};
  require_bag_inputs(context, kOffsetInputs, {&positions});
  context.require_same_type({1, 2});
  unify(context, 2, {&bags});
  require_no_mean_weights(context, kOffsetInputs, reduction);
  set_reduced_output(context, bags.value, "offsets in input 2");
}

void infer_packed(InferContext& context, BagReduction reduction) {
  context.require_inputs(2, 3);
  SharedDim bags{"the number of bags", {}};
  SharedDim positions{"the size of a bag", {}};
  require_bag_inputs(context, kPackedInputs, {&bags, &positions});
  require_no_mean_weights(context, kPackedInputs, reduction);
  set_reduced_output(context, bags.value, "rows of input 1");
}

// The number of segments that one element of input `index` says.
Dimension segment_count(const InferContext& context, std::size_t index) {
  require_index(context, index);
  require_one_element(context, index);
  const Dimension count = elements_or_unknown(context, index, 1)[0];
  return require_size(context, index, count, "the number of segments is {}", count);
}

std::size_t borders_bytes(std::size_t bags) { return (bags + 1) * sizeof(std::size_t); }

// A reduction of bags that `make_bags(memory)` finds.
template <class MakeBags>
PreparedKernel prepare_reduction(const PrepareContext& context, std::string_view name,
                                 const BagInputs& inputs, BagReduction reduction, std::size_t scratch_bytes,
                                 const MakeBags& make_bags) {
  if (context.output_size() == 0) return nothing_to_do(name);
  PreparedKernel kernel;
  kernel.name = name;
  kernel.scratch_bytes = scratch_bytes;
  const auto rows = static_cast<std::size_t>(context.shape(0)[0]);
  const std::size_t depth = volume(context.shape(0), 1);
  const std::size_t positions = context.size(1);
  const ElementType index_type = context.type(1);
  const bool has_default = inputs.default_row > 0 && context.input_count() > inputs.default_row;
  const bool has_weights = context.input_count() > inputs.weights;
  const auto how = reduction == BagReduction::mean ? kernels::BagReduction::mean : kernels::BagReduction::sum;
  const auto default_row = [=](const StepMemory& memory) -> std::optional<std::size_t> {
    if (!has_default) return std::nullopt;
    const std::int64_t row = index_view(index_type, memory.inputs[inputs.default_row])[0];
    if (row < 0) return std::nullopt;
    if (static_cast<std::size_t>(row) >= rows)
      throw Error("IR-value", fmt::format("the default index is {}, the table has {} rows", row, rows));
    return static_cast<std::size_t>(row);
  };
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    kernel.run = [=](const StepMemory& memory) {
      const kernels::EmbeddingTable<T> table{memory.in<T>(0), rows, depth};
      const kernels::EmbeddingLookups<T> lookups{index_view(index_type, memory.inputs[1]), positions,
                                                 has_weights ? memory.in<T>(inputs.weights) : nullptr};
      const kernels::Bags bags = make_bags(memory);
      require_good_indices(
          kernels::reduce_bags(table, lookups, bags, {how, default_row(memory)}, memory.out<T>(0)),
          "input 1 (indices)");
    };
  });
  if (!found) context.fail_unsupported(fmt::format("a table of type {}", name_of(context.type(0))));
  return kernel;
}

PreparedKernel prepare_offsets(const PrepareContext& context, BagReduction reduction) {
  const std::size_t bags = context.size(2);
  const auto make_bags = [=, positions = context.size(1), type = context.type(2)](const StepMemory& memory) {
    auto* borders = reinterpret_cast<std::size_t*>(memory.scratch);
    require_good_indices(
        kernels::bags_from_offsets(index_view(type, memory.inputs[2]), bags, positions, borders),
        "input 2 (offsets)");
    return kernels::Bags{bags, 0, borders};
  };
  return prepare_reduction(context, "embedding_bag/offsets", kOffsetInputs, reduction, borders_bytes(bags),
                           make_bags);
}

PreparedKernel prepare_packed(const PrepareContext& context, BagReduction reduction) {
  const kernels::Bags bags{static_cast<std::size_t>(context.shape(1)[0]),
                           static_cast<std::size_t>(context.shape(1)[1])};
  return prepare_reduction(context, "embedding_bag/packed", kPackedInputs, reduction, 0,
                           [bags](const StepMemory&) { return bags; });
}

}  // namespace

void v3::EmbeddingBagOffsetsSum::infer(InferContext& context) const {
  infer_offsets(context, BagReduction::sum);
}
PreparedKernel v3::EmbeddingBagOffsetsSum::prepare(PrepareContext& context) const {
  return prepare_offsets(context, BagReduction::sum);
}

void v15::EmbeddingBagOffsets::infer(InferContext& context) const { infer_offsets(context, reduction); }
PreparedKernel v15::EmbeddingBagOffsets::prepare(PrepareContext& context) const {
  return prepare_offsets(context, reduction);
}

void v3::EmbeddingBagPackedSum::infer(InferContext& context) const {
  infer_packed(context, BagReduction::sum);
}
PreparedKernel v3::EmbeddingBagPackedSum::prepare(PrepareContext& context) const {
  return prepare_packed(context, BagReduction::sum);
}

void v15::EmbeddingBagPacked::infer(InferContext& context) const { infer_packed(context, reduction); }
PreparedKernel v15::EmbeddingBagPacked::prepare(PrepareContext& context) const {
  return prepare_packed(context, reduction);
}

void v3::EmbeddingSegmentsSum::infer(InferContext& context) const {
  context.require_inputs(4, 6);
  SharedDim positions{"the number of indices", {}};
  require_bag_inputs(context, kSegmentInputs, {&positions});
  context.require_same_type({1, 2, 3});
  unify(context, 2, {&positions});
  set_reduced_output(context, segment_count(context, 3), "element of input 3");
}

PreparedKernel v3::EmbeddingSegmentsSum::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  const auto segments = static_cast<std::size_t>(context.output_shape()[0]);
  const std::size_t positions = context.size(1);
  const auto make_bags = [=, type = context.type(2)](const StepMemory& memory) {
    auto* borders = reinterpret_cast<std::size_t*>(memory.scratch);
    std::size_t* order = borders + segments + 1;
    require_good_indices(
        kernels::bags_from_segments(index_view(type, memory.inputs[2]), positions, segments, borders, order),
        "input 2 (segments)");
    return kernels::Bags{segments, 0, borders, order};
  };
  return prepare_reduction(context, "embedding_bag/segments", kSegmentInputs, BagReduction::sum,
                           borders_bytes(segments) + positions * sizeof(std::size_t), make_bags);
}

namespace {

// One more than the last of known segments.
Dimension counted_segments(const InferContext& context, const std::vector<std::int64_t>& segments) {
  std::int64_t last = -1;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::int64_t id = segments[i];
    context.require(id >= 0 && id < Dimension::kUnbounded - 1, "IR-value",
                    {.found = id, .expected = words("0 to {}", Dimension::kUnbounded - 2), .input = 1},
                    "segment {} of input 1 is {}", i, id);
    context.require(id >= last, "IR-value",
                    {.found = id,
                     .expected = words("at least {}", last),
                     .rule = words("the one before it is {}", last),
                     .input = 1},
                    "segment {} of input 1 is {}, the one before it {}", i, id, last);
    last = id;
  }
  return Dimension(last + 1);
}

template <class T>
T lowest_value(ElementType type) {
  if (type == ElementType::f16) return static_cast<T>(-65504.0);
  if (type == ElementType::bf16) return static_cast<T>(-0x1.FEp127);
  return std::numeric_limits<T>::lowest();
}

}  // namespace

void v16::SegmentMax::infer(InferContext& context) const {
  context.require_inputs(2, 3);
  require_table(context);
  require_index(context, 1);
  SharedDim rows{"the number of rows", {}};
  if (context.shape(0).has_rank()) rows.value = context.shape(0)[0];
  unify(context, 1, {&rows});
  const auto segments = context.integers(1);
  const Dimension counted = segments ? counted_segments(context, *segments) : Dimension();
  if (context.input_count() == 3) {
    set_reduced_output(context, segment_count(context, 2), "element of input 2");
  } else {
    set_reduced_output(context, counted, "last element of input 1 + 1");
  }
}

PreparedKernel v16::SegmentMax::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  if (context.output_size() == 0) return nothing_to_do("segment_max");
  const kernels::SegmentShape shape{static_cast<std::size_t>(context.shape(0)[0]),
                                    volume(context.shape(0), 1),
                                    static_cast<std::size_t>(context.output_shape()[0])};
  PreparedKernel kernel;
  kernel.name = "segment_max";
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    const T empty = fill_mode == FillMode::lowest ? lowest_value<T>(lowest_of) : T{0};
    kernel.run = [=, type = context.type(1)](const StepMemory& memory) {
      require_good_indices(kernels::segment_max(shape, memory.in<T>(0), index_view(type, memory.inputs[1]),
                                                empty, memory.out<T>(0)),
                           "input 1 (segments)");
    };
  });
  if (!found) context.fail_unsupported(fmt::format("SegmentMax of type {}", name_of(context.type(0))));
  return kernel;
}

}  // namespace ir::op
