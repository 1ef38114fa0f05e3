#include "runtime/ops/fused_prologue.h"

#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "runtime/ops/broadcast.h"
#include "runtime/ops/convolution_kernel.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/op_class.h"
#include "runtime/ops/prologue.h"

namespace ir {
namespace op {
namespace {

std::size_t head_inputs(const FusedHead& head) {
  return (head.scale != FusedHead::Scale::none ? 1U : 0U) + (head.shift ? 1U : 0U);
}

// The inputs of the convolution itself, with the image that the head makes.
template <class Context>
std::vector<ValueInfo> convolution_inputs(const Context& context, const FusedHead& head) {
  const std::size_t count = context.input_count() - head_inputs(head);
  std::vector<ValueInfo> inputs;
  for (std::size_t i = 0; i < count; ++i) inputs.push_back(context.input(i));
  inputs[0].constant = nullptr;
  if (head.scale != FusedHead::Scale::computed) return inputs;
  const PartialShape& scale = context.input(count).shape;
  PartialShape& image = inputs[0].shape;
  // What cannot be broadcast has been refused.
  if (scale.has_rank() && image.has_rank()) image[0] = broadcast_dim(image[0], scale[0]).value_or(image[0]);
  return inputs;
}

void check_scale(const InferContext& context, std::size_t input) {
  const PartialShape& scale = context.shape(input);
  const PartialShape& image = context.shape(0);
  if (!scale.has_rank() || !image.has_rank()) return;
  context.require_rank(input, image.rank());
  bool fits = broadcast_dim(image[0], scale[0]).has_value() && scale[1].compatible(image[1]);
  for (std::size_t axis = 2; axis < scale.rank(); ++axis) fits = fits && scale[axis].compatible(1);
  context.require(fits, "IR-shape",
                  {.found = scale, .expected = image, .rule = "a number for each channel", .input = input},
                  "the scale has shape {}, the image {}", scale, image);
}

void check_vector(const InferContext& context, std::size_t input) {
  context.require_rank(input, 1);
  const PartialShape& numbers = context.shape(input);
  const PartialShape& image = context.shape(0);
  if (!numbers.has_rank() || !image.has_rank()) return;
  context.require(numbers[0].compatible(image[1]), "IR-shape",
                  {.found = numbers, .expected = image, .rule = "a number for each channel", .input = input},
                  "input {} has shape {}, the image {}", input, numbers, image);
}

const float* numbers_of(const PrepareContext& context, std::size_t input) {
  const Tensor* constant = context.constant(input);
  if (constant == nullptr) throw Error("IR-needs-constant", "the head of a fused operation is not constant");
  return constant->data<float>().data();
}

PrologueOfStep prologue_of(const PrepareContext& context, const FusedHead& head) {
  PrologueOfStep step;
  step.prologue.low = head.low;
  step.prologue.high = head.high;
  std::size_t input = context.input_count() - head_inputs(head);
  if (head.scale == FusedHead::Scale::constant) {
    step.prologue.scale = numbers_of(context, input++);
  } else if (head.scale == FusedHead::Scale::computed) {
    const std::int64_t images = context.shape(0)[0];
    const std::int64_t scales = context.shape(input)[0];
    step.prologue.runtime_scale = true;
    step.prologue.repeats_scale = scales < images;
    step.prologue.repeats_image = images < scales;
    step.scale_input = input++;
  }
  if (head.shift) step.prologue.shift = numbers_of(context, input);
  return step;
}

std::string name_of(const FusedHead& head) {
  std::vector<std::string_view> parts;
  if (head.scale != FusedHead::Scale::none) parts.emplace_back("scale");
  if (head.shift) parts.emplace_back("shift");
  if (head.clamps()) parts.emplace_back("clamp");
  return fmt::format("({})", fmt::join(parts, "+"));
}

}  // namespace

void FusedPrologueConvolution::infer(InferContext& context) const {
  context.require_inputs(2 + tail_inputs(convolution.tail) + head_inputs(head));
  std::size_t input = 2 + tail_inputs(convolution.tail);
  for (std::size_t i = input; i < context.input_count(); ++i) context.require_type(i, {ElementType::f32});
  if (head.scale == FusedHead::Scale::computed) check_scale(context, input++);
  for (; input < context.input_count(); ++input) check_vector(context, input);
  const std::vector<ValueInfo> inputs = convolution_inputs(context, head);
  InferContext inner(FusedConvolution::info.type, inputs, false);
  convolution.infer(inner);
  context.set_output(0, inner.outputs().at(0).type, inner.outputs().at(0).shape);
}

PreparedKernel FusedPrologueConvolution::prepare(PrepareContext& context) const {
  const std::vector<ValueInfo> inputs = convolution_inputs(context, head);
  PrepareContext inner = context.part(inputs, std::span(&context.output(0), 1));
  PreparedKernel kernel =
      prepare_convolution(inner, window_of(convolution.core), {}, false, epilogue_of(inner, convolution.tail),
                          prologue_of(context, head));
  kernel.name += name_of(head) + name_of(convolution.tail);
  if (head.scale == FusedHead::Scale::constant) kernel.absorbed.push_back(inputs.size());
  if (head.shift) kernel.absorbed.push_back(context.input_count() - 1);
  return kernel;
}

}  // namespace op

template struct OpClassOf<op::FusedPrologueConvolution>;

}  // namespace ir
