#include "runtime/ops/fused_attention.h"

#include <array>
#include <numeric>

#include "ir_runtime/ops/attention.h"
#include "runtime/ops/attention_layout.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/op_class.h"
#include "runtime/ops/prepare.h"

namespace ir {
namespace op {
namespace {

enum Port : std::size_t { kQuery, kKey, kValue, kMask };

// What a kernel reads of a tensor, from `offset` elements on.
struct ViewedLayout {
  AttentionLayout layout;
  std::size_t offset = 0;
};

ViewedLayout layout_of(const TensorView& view, const Shape& tensor) {
  const AttentionLayout dense = AttentionLayout::dense(tensor);
  ViewedLayout viewed;
  for (const std::size_t axis : view.order) {
    const bool is_cut = view.cut && view.cut->axis == axis;
    viewed.layout.dims.push_back(is_cut ? view.cut->count : tensor[axis]);
    viewed.layout.strides.push_back(dense.strides[axis]);
  }
  if (view.cut) viewed.offset = static_cast<std::size_t>(view.cut->first) * dense.strides[view.cut->axis];
  return viewed;
}

// The heads as two axes, those of the keys and their repetitions.
void split_heads(AttentionLayout& layout, std::int64_t repeats) {
  if (repeats == 1 || layout.dims.size() < 3) return;
  const auto heads = static_cast<std::ptrdiff_t>(layout.dims.size() - 3);
  const bool one = layout.dims[heads] == 1;
  const std::size_t stride = layout.strides[heads];
  if (!one) layout.dims[heads] /= repeats;
  layout.dims.insert(layout.dims.begin() + heads + 1, one ? 1 : repeats);
  layout.strides[heads] = stride * static_cast<std::size_t>(repeats);
  layout.strides.insert(layout.strides.begin() + heads + 1, stride);
}

// The same of keys and values, which are repeated.
void add_repetitions(AttentionLayout& layout, std::int64_t repeats) {
  if (repeats == 1) return;
  layout.dims.insert(layout.dims.end() - 2, 1);
  layout.strides.insert(layout.strides.end() - 2, 0);
}

}  // namespace

TensorView TensorView::whole(std::size_t rank) {
  TensorView view;
  view.order.resize(rank);
  std::iota(view.order.begin(), view.order.end(), std::size_t{0});
  return view;
}

PartialShape TensorView::shape_of(const PartialShape& tensor) const {
  if (!tensor.has_rank()) return {};
  std::vector<Dimension> dims;
  for (const std::size_t axis : order) {
    dims.push_back(cut && cut->axis == axis ? Dimension(cut->count) : tensor[axis]);
  }
  return PartialShape(std::move(dims));
}

void FusedAttention::infer(InferContext& context) const {
  context.require_inputs(3, 4);
  std::vector<ValueInfo> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) inputs.push_back(context.input(i));
  const std::array views{&query, &key, &value};
  for (const Port port : {kQuery, kKey, kValue}) {
    context.require_type(port, {ElementType::f32});
    const TensorView& view = *views[port];
    context.require_rank(port, view.order.size(), view.order.size() + (view.cut ? 1 : 0));
    PartialShape shape = view.shape_of(context.shape(port));
    if (port != kQuery && shape.has_rank() && repeats != 1)
      shape[shape.rank() - 3] = shape[shape.rank() - 3] * Dimension(repeats);
    inputs[port] = {ElementType::f32, std::move(shape), nullptr, std::nullopt};
  }
  InferContext attention(info.type, inputs, false);
  v13::ScaledDotProductAttention natural_order;
  natural_order.causal = causal;
  natural_order.infer(attention);
  const PartialShape& natural = attention.outputs().at(0).shape;
  TensorView order;
  order.order = out_order;
  context.set_output(0, ElementType::f32,
                     natural.has_rank() ? order.shape_of(natural) : PartialShape::of_rank(out_order.size()));
}

PreparedKernel FusedAttention::prepare(PrepareContext& context) const {
  if (context.output_size() == 0) return nothing_to_do("attention");
  const ViewedLayout queries = layout_of(query, context.shape(kQuery));
  const ViewedLayout keys = layout_of(key, context.shape(kKey));
  const ViewedLayout values = layout_of(value, context.shape(kValue));
  const AttentionLayout dense_out = AttentionLayout::dense(context.output_shape());
  AttentionLayouts layouts;
  layouts.query = queries.layout;
  layouts.key = keys.layout;
  layouts.value = values.layout;
  layouts.out = {Shape(out_order.size()), std::vector<std::size_t>(out_order.size())};
  for (std::size_t axis = 0; axis < out_order.size(); ++axis) {
    layouts.out.dims[out_order[axis]] = dense_out.dims[axis];
    layouts.out.strides[out_order[axis]] = dense_out.strides[axis];
  }
  layouts.causal = causal;
  const bool masked = context.input_count() > kMask && !causal;
  if (masked) {
    layouts.mask = AttentionLayout::dense(context.shape(kMask));
    layouts.mask_type = context.type(kMask);
    layouts.hidden_score = static_cast<float>(hidden_score);
  }
  for (AttentionLayout* layout : {&layouts.query, &layouts.out}) split_heads(*layout, repeats);
  for (AttentionLayout* layout : {&layouts.key, &layouts.value}) add_repetitions(*layout, repeats);
  if (layouts.mask) split_heads(*layouts.mask, repeats);
  AttentionStep step = prepare_attention(context, layouts);
  step.kernel.run = [=, attention = step.attention, scale = static_cast<float>(scale),
                     query_offset = queries.offset, key_offset = keys.offset,
                     value_offset = values.offset](const StepMemory& memory) {
    kernels::AttentionInputs operands{memory.in<float>(kQuery) + query_offset,
                                      memory.in<float>(kKey) + key_offset,
                                      memory.in<float>(kValue) + value_offset};
    if (masked) operands.mask = memory.inputs[kMask];
    operands.scale = scale;
    attention->run(operands, memory.out<float>(0), memory.scratch);
  };
  return std::move(step.kernel);
}

}  // namespace op

template struct OpClassOf<op::FusedAttention>;

}  // namespace ir
