#include "kernels/sequence/ctc.h"

#include "ir_runtime/ops/sequence.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

struct CtcSizes {
  SharedDim batch{"the batch size", {}};
  SharedDim time{"the number of steps", {}};
  SharedDim classes{"the number of classes", {}};
};

void require_classes(const InferContext& context, const CtcSizes& sizes) {
  context.require(sizes.classes.value.max() >= 1, "IR-shape",
                  {.found = context.shape(0), .expected = "at least one class", .input = 0},
                  "input 0 has shape {}: there are no classes", context.shape(0));
}

std::size_t dim(const PrepareContext& context, std::size_t axis) {
  return static_cast<std::size_t>(context.shape(0)[axis]);
}

}  // namespace

void v0::CTCGreedyDecoder::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_real(0);
  context.require_real(1);
  CtcSizes sizes;
  unify(context, 0, {&sizes.time, &sizes.batch, &sizes.classes});
  unify(context, 1, {&sizes.time, &sizes.batch});
  require_classes(context, sizes);
  context.set_output(0, context.type(0), PartialShape{sizes.batch.value, sizes.time.value, 1, 1});
}

PreparedKernel v0::CTCGreedyDecoder::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("ctc_greedy_decoder");
  PreparedKernel prepared;
  prepared.name = "ctc_greedy_decoder";
  const kernels::CtcGreedyParams params{.batch = dim(context, 1),
                                        .time = dim(context, 0),
                                        .classes = dim(context, 2),
                                        .merge_repeated = ctc_merge_repeated};
  prepared.run = [params](const StepMemory& memory) {
    kernels::ctc_greedy_decode(params, memory.in<float>(0), memory.in<float>(1), memory.out<float>(0));
  };
  return computed_in_f32(context, std::move(prepared));
}

void v6::CTCGreedyDecoderSeqLen::infer(InferContext& context) const {
  context.require_inputs(2, 3);
  context.require_real(0);
  context.require_type(1, {ElementType::i32, ElementType::i64});
  if (context.input_count() == 3) {
    context.require_type(2, {ElementType::i32, ElementType::i64});
    require_one_element(context, 2);
  }
  require_type_of_indices(context, "classes_index_type", classes_index_type);
  require_type_of_indices(context, "sequence_length_type", sequence_length_type);
  CtcSizes sizes;
  unify(context, 0, {&sizes.batch, &sizes.time, &sizes.classes});
  unify(context, 1, {&sizes.batch});
  require_classes(context, sizes);
  context.set_output(0, classes_index_type, PartialShape{sizes.batch.value, sizes.time.value});
  context.set_output(1, sequence_length_type, PartialShape{sizes.batch.value});
}

PreparedKernel v6::CTCGreedyDecoderSeqLen::prepare(PrepareContext& context) const {
  PreparedKernel prepared;
  prepared.name = "ctc_greedy_decoder";
  const auto blank_of = [](const StepMemory& memory, ElementType type, std::size_t classes) {
    auto blank = static_cast<std::int64_t>(classes) - 1;
    if (memory.inputs.size() < 3) return blank;
    with_index_type(type, [&]<class Index>() { blank = *memory.in<Index>(2); });
    return blank;
  };
  const kernels::CtcGreedyParams params{.batch = dim(context, 0),
                                        .time = dim(context, 1),
                                        .classes = dim(context, 2),
                                        .merge_repeated = merge_repeated};
  const ElementType blank_type = context.input_count() == 3 ? context.type(2) : ElementType::dynamic;
  with_index_type(context.type(1), [&]<class Length>() {
    with_index_type(classes_index_type, [&]<class Class>() {
      with_index_type(sequence_length_type, [&]<class OutLength>() {
        prepared.run = [blank_of, blank_type, params](const StepMemory& memory) {
          kernels::ctc_greedy_decode_with_lengths(params, memory.in<float>(0), memory.in<Length>(1),
                                                  blank_of(memory, blank_type, params.classes),
                                                  memory.out<Class>(0), memory.out<OutLength>(1));
        };
      });
    });
  });
  return computed_in_f32(context, std::move(prepared));
}

}  // namespace ir::op
