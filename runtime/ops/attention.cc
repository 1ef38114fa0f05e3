#include <cmath>

#include "ir_runtime/ops/attention.h"
#include "runtime/ops/attention_layout.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/computed_in_f32.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"

namespace ir::op {
namespace {

enum Port : std::size_t { kQuery, kKey, kValue, kMask, kScale, kSink };

// An input's batch and its matrices.
struct Matrices {
  PartialShape batch;
  Dimension rows;
  Dimension columns;
};

Matrices matrices_of(const PartialShape& shape) {
  if (!shape.has_rank()) return {};
  const auto& dims = shape.dims();
  return {PartialShape(std::vector<Dimension>(dims.begin(), dims.end() - 2)), dims[dims.size() - 2],
          dims[dims.size() - 1]};
}

// What is known of the sizes, narrowed input by input.
class AttentionSizes {
 public:
  explicit AttentionSizes(const InferContext& context)
      : context_(context), query_(matrices_of(context.shape(kQuery))), batch_(query_.batch) {
    const Matrices key = take_batch(kKey);
    const Matrices value = take_batch(kValue);
    (void)merged(query_.columns, key.columns, "the length of a query", kKey, "the length of a key");
    keys_ = merged(key.rows, value.rows, "the number of keys", kValue, "the number of values");
    value_length_ = value.columns;
  }

  void take_mask() {
    const Matrices mask = take_batch(kMask);
    take_rows(kMask, mask.rows);
    require_one_or(kMask, mask.columns, keys_, "the number of keys");
  }

  void take_sink() {
    const Matrices sink = take_batch(kSink);
    take_rows(kSink, sink.rows);
    require_one_or(kSink, sink.columns, 1, "the length of a sink");
  }

  [[nodiscard]] PartialShape output() const {
    PartialShape shape = batch_;
    if (!shape.has_rank()) return shape;
    shape.push_back(query_.rows);
    shape.push_back(value_length_);
    return shape;
  }

 private:
  Matrices take_batch(Port port) {
    Matrices matrices = matrices_of(context_.shape(port));
    auto broadcast = broadcast_shape(batch_, matrices.batch);
    context_.require(broadcast.has_value(), "IR-broadcast",
                     {.found = matrices.batch, .expected = batch_, .input = port},
                     "input {} has shape {}: its batch {} does not match {} of the inputs before it", +port,
                     context_.shape(port), matrices.batch, batch_);
    batch_ = std::move(*broadcast);
    return matrices;
  }

  Dimension merged(const Dimension& known, const Dimension& dim, std::string_view known_name, Port port,
                   std::string_view name) const {
    const auto both = known.merged(dim);
    context_.require(
        both.has_value(), "IR-shape",
        {.found = dim, .expected = known, .rule = words("{} is {}", known_name, known), .input = port},
        "input {} has shape {}: {} is {}, but {} is {}", +port, context_.shape(port), name, dim, known_name,
        known);
    return *both;
  }

  // A single query is spread over the rows of a mask.
  void take_rows(Port port, const Dimension& rows) {
    const auto both = broadcast_dim(query_.rows, rows);
    context_.require(both.has_value(), "IR-broadcast",
                     {.found = rows, .expected = query_.rows, .rule = "a row for each query", .input = port},
                     "input {} has shape {}: {} rows do not match {} queries", +port, context_.shape(port),
                     rows, query_.rows);
    query_.rows = *both;
  }

  void require_one_or(Port port, const Dimension& columns, const Dimension& wanted,
                      std::string_view what) const {
    context_.require(columns.compatible(1) || columns.compatible(wanted), "IR-shape",
                     {.found = columns,
                      .expected = words("1 or {}", wanted),
                      .rule = words("{} is {}", what, wanted),
                      .input = port},
                     "input {} has shape {}: its last dim is {}, but {} is {}", +port, context_.shape(port),
                     columns, what, wanted);
  }

  const InferContext& context_;
  Matrices query_;
  PartialShape batch_;
  Dimension keys_;
  Dimension value_length_;
};

template <class Context>
bool has_mask(const Context& context, bool causal, std::size_t rank) {
  return context.input_count() > kMask && !causal && rank > 0;
}

}  // namespace

void v13::ScaledDotProductAttention::infer(InferContext& context) const {
  context.require_inputs(3, 6);
  const std::size_t inputs = context.input_count();
  for (const Port port : {kQuery, kKey, kValue}) {
    context.require_real(port);
    require_min_rank(context, port, 3);
  }
  std::vector<std::size_t> same{kQuery, kKey, kValue};
  for (const Port port : {kScale, kSink}) {
    if (inputs > port) same.push_back(port);
  }
  if (inputs > kMask && !causal && context.type(kMask) != ElementType::boolean) same.push_back(kMask);
  const ElementType type = require_one_type(context, same);
  if (inputs > kScale) require_one_element(context, kScale);
  AttentionSizes sizes(context);
  if (inputs > kMask && has_mask(context, causal, context.shape(kMask).rank())) {
    require_min_rank(context, kMask, 2);
    sizes.take_mask();
  }
  if (inputs > kSink) {
    require_min_rank(context, kSink, 2);
    sizes.take_sink();
  }
  context.set_output(0, type, sizes.output());
}

PreparedKernel v13::ScaledDotProductAttention::prepare(PrepareContext& context) const {
  AttentionLayouts layouts;
  layouts.query = AttentionLayout::dense(context.shape(kQuery));
  layouts.key = AttentionLayout::dense(context.shape(kKey));
  layouts.value = AttentionLayout::dense(context.shape(kValue));
  layouts.out = AttentionLayout::dense(context.output_shape());
  layouts.causal = causal;
  if (context.input_count() > kMask && has_mask(context, causal, context.shape(kMask).size())) {
    layouts.mask = AttentionLayout::dense(context.shape(kMask));
    layouts.mask_type = context.type(kMask);
  }
  if (context.input_count() > kSink) layouts.sink = AttentionLayout::dense(context.shape(kSink));
  AttentionStep step = prepare_attention(context, layouts);
  const float default_scale = 1.0F / std::sqrt(static_cast<float>(step.depth));
  step.kernel.run = [attention = step.attention, default_scale](const StepMemory& memory) {
    const std::size_t inputs = memory.inputs.size();
    kernels::AttentionInputs operands{memory.in<float>(kQuery), memory.in<float>(kKey),
                                      memory.in<float>(kValue)};
    if (inputs > kMask) operands.mask = memory.inputs[kMask];
    if (inputs > kSink) operands.sink = memory.in<float>(kSink);
    operands.scale = inputs > kScale ? *memory.in<float>(kScale) : default_scale;
    attention->run(operands, memory.out<float>(0), memory.scratch);
  };
  return computed_in_f32(context, std::move(step.kernel));
}

}  // namespace ir::op
