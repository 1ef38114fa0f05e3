#include "ir_runtime/ops/strings.h"

#include "kernels/movement/strings.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op::v15 {

void StringTensorPack::infer(InferContext& context) const {
  context.require_inputs(3);
  context.require_type(0, {ElementType::i32, ElementType::i64});
  context.require_type(1, {ElementType::i32, ElementType::i64});
  context.require_same_type({0, 1});
  context.require_type(2, {ElementType::u8});
  context.require_rank(2, 1);
  const auto shape = context.shape(0).merged(context.shape(1));
  context.require(
      shape.has_value(), "IR-shape",
      {.found = context.shape(1), .expected = context.shape(0), .rule = "as the beginnings", .input = 1},
      "the beginnings have shape {}, the ends {}", context.shape(0), context.shape(1));
  context.set_output(0, ElementType::string, *shape);
}

PreparedKernel StringTensorPack::prepare(PrepareContext& context) const {
  PreparedKernel kernel;
  kernel.name = "string_tensor_pack";
  kernel.run = [count = context.output_size(), symbols = context.size(2),
                type = context.type(0)](const StepMemory& memory) {
    const auto bad =
        kernels::pack_strings(index_view(type, memory.inputs[0]), index_view(type, memory.inputs[1]),
                              {memory.in<std::uint8_t>(2), symbols}, {memory.out<std::string>(0), count});
    if (!bad) return;
    throw Error("IR-value",
                fmt::format("string {} goes from {} to {}; there are {} characters, and strings may have {}",
                            bad->position, bad->begin, bad->end, symbols, kernels::kMaxCharacters));
  };
  return kernel;
}

void StringTensorUnpack::infer(InferContext& context) const {
  context.require_inputs(1);
  context.require_type(0, {ElementType::string});
  const auto& constant = context.input(0).constant;
  Dimension length;
  if (constant && context.type(0) == ElementType::string)
    length = Dimension(static_cast<std::int64_t>(kernels::total_length(constant->data<std::string>())));
  context.set_output(0, ElementType::i32, context.shape(0));
  context.set_output(1, ElementType::i32, context.shape(0));
  context.set_output(2, ElementType::u8, PartialShape{length});
}

PreparedKernel StringTensorUnpack::prepare(PrepareContext& context) const {
  PreparedKernel kernel;
  kernel.name = "string_tensor_unpack";
  kernel.run_dynamic = [shape = context.shape(0)](std::span<const Tensor> inputs) {
    const std::span<const std::string> strings = inputs[0].data<std::string>();
    const std::size_t length = kernels::total_length(strings);
    if (length > kernels::kMaxCharacters)
      throw Error("IR-value", fmt::format("the strings have {} characters; they may have {}", length,
                                          kernels::kMaxCharacters));
    std::vector<Tensor> results{Tensor(ElementType::i32, shape), Tensor(ElementType::i32, shape),
                                Tensor(ElementType::u8, {static_cast<std::int64_t>(length)})};
    kernels::unpack_strings(strings, results[0].data<std::int32_t>().data(),
                            results[1].data<std::int32_t>().data(), results[2].data<std::uint8_t>().data());
    return results;
  };
  return kernel;
}

}  // namespace ir::op::v15
