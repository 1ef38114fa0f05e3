#include "kernels/sequence/ctc_loss.h"

#include <array>

#include "ir_runtime/ops/sequence.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

[[noreturn]] void throw_fault(const kernels::CtcLossFault& fault, const kernels::CtcLossParams& params) {
  using What = kernels::CtcLossFault::What;
  switch (fault.what) {
    case What::logit_length:
      throw Error("IR-value", fmt::format("sequence {} has {} steps; it may have 0 to {}", fault.position,
                                          fault.value, params.time));
    case What::label_length:
      throw Error("IR-value", fmt::format("sequence {} has {} labels; it may have 0 to its number of steps",
                                          fault.position, fault.value));
    case What::label:
      break;
  }
  throw Error("IR-value",
              fmt::format("label {} of sequence {} is {}; there are {} classes", fault.position % params.time,
                          fault.position / params.time, fault.value, params.classes));
}

std::size_t checked_blank(std::int64_t blank, std::size_t classes) {
  if (blank >= 0 && static_cast<std::size_t>(blank) < classes) return static_cast<std::size_t>(blank);
  throw Error("IR-value", fmt::format("the blank is class {}; there are {} classes", blank, classes));
}

}  // namespace

void v4::CTCLoss::infer(InferContext& context) const {
  context.require_inputs(4, 5);
  context.require_real(0);
  for (std::size_t index = 1; index < context.input_count(); ++index) context.require_integer(index);
  SharedDim batch{"the batch size", {}};
  SharedDim time{"the number of steps", {}};
  SharedDim classes{"the number of classes", {}};
  unify(context, 0, {&batch, &time, &classes});
  unify(context, 1, {&batch});
  unify(context, 2, {&batch, &time});
  unify(context, 3, {&batch});
  if (context.input_count() == 5) require_one_element(context, 4);
  context.require(classes.value.max() >= 1, "IR-shape",
                  {.found = context.shape(0), .expected = "at least one class", .input = 0},
                  "input 0 has shape {}: there are no classes", context.shape(0));
  context.set_output(0, context.type(0), PartialShape{batch.value});
}

PreparedKernel v4::CTCLoss::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("ctc_loss");
  for (std::size_t index = 1; index < context.input_count(); ++index) require_index_type(context, index);
  const auto dims = sizes_of(context.shape(0));
  const kernels::CtcLossParams params{dims[0], dims[1],           dims[2], preprocess_collapse_repeated,
                                      unique,  ctc_merge_repeated};
  const auto input = [types = std::array{context.type(1), context.type(2), context.type(3)}](
                         const StepMemory& memory, std::size_t index) {
    return index_view(types[index - 1], memory.inputs[index]);
  };
  const ElementType blank_type = context.input_count() == 5 ? context.type(4) : ElementType::dynamic;
  const auto blank = [params, blank_type](const StepMemory& memory) {
    if (blank_type == ElementType::dynamic) return params.classes - 1;
    return checked_blank(index_view(blank_type, memory.inputs[4])[0], params.classes);
  };
  PreparedKernel kernel;
  kernel.name = "ctc_loss";
  with_real_type(context.type(0), [&]<class T>() {
    kernel.scratch_bytes = kernels::ctc_loss_scratch_bytes<T>(params);
    kernel.run = [=](const StepMemory& memory) {
      const auto fault = kernels::ctc_loss(params, memory.in<T>(0), input(memory, 1), input(memory, 2),
                                           input(memory, 3), blank(memory), memory.out<T>(0), memory.scratch);
      if (fault) throw_fault(*fault, params);
    };
  });
  return kernel;
}

}  // namespace ir::op
