#include "runtime/passes/fusable.h"

#include <algorithm>

#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/ops/convolution_kernel.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/windows.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {
namespace {

// The descriptor of `node` when it is `Core`, alone or fused.
template <class Core>
struct Found {
  const Core* core = nullptr;
  const op::FusedTail* tail = nullptr;
};

template <class Core>
Found<Core> find(const Op& op) {
  if (const auto* plain = op.as<Core>()) return {plain, nullptr};
  if (const auto* fused = op.as<op::Fused<Core>>()) return {&fused->core, &fused->tail};
  return {};
}

template <class Core>
constexpr op::FilterLayout kLayout{};
template <>
inline constexpr op::FilterLayout kLayout<op::v1::GroupConvolution>{.grouped = true};
template <>
inline constexpr op::FilterLayout kLayout<op::v1::ConvolutionBackpropData>{.transposed = true};
template <>
inline constexpr op::FilterLayout kLayout<op::v1::GroupConvolutionBackpropData>{.grouped = true,
                                                                                .transposed = true};

// The shape under which one factor per output channel spreads over the weights.
template <class Core>
Shape factor_shape(const Core&, const Shape& weights) {
  constexpr op::FilterLayout layout = kLayout<Core>;
  Shape shape(weights.size(), 1);
  if (layout.grouped) shape[0] = weights[0];
  shape[layout.out_axis()] = weights[layout.out_axis()];
  return shape;
}
Shape factor_shape(const op::v0::MatMul& product, const Shape& weights) {
  Shape shape(weights.size(), 1);
  const std::size_t axis = weights.size() - (product.transpose_b ? 2 : 1);
  shape[axis] = weights[axis];
  return shape;
}
Shape factor_shape(const op::CompressedMatMul&, const Shape& weights) { return Shape(weights.size(), 1); }

template <class Core>
bool takes_epilogue(const Core& core) {
  return op::has_fast_strides(op::window_of(core), kLayout<Core>);
}
bool takes_epilogue(const op::v0::MatMul&) { return true; }
bool takes_epilogue(const op::CompressedMatMul&) { return true; }

}  // namespace

std::optional<Fusable> Fusable::of(const Output& value) {
  const Node& node = *value.node;
  std::optional<Fusable> fusable;
  const auto try_core = [&]<class Core>(std::in_place_type_t<Core>) {
    const Found<Core> found = find<Core>(node.op());
    if (found.core == nullptr || !takes_epilogue(*found.core)) return;
    fusable = Fusable(*found.core, value);
    fusable->inputs.assign(node.inputs().begin(), node.inputs().end());
    if (found.tail == nullptr) return;
    const auto take_last = [&] {
      const Output last = fusable->inputs.back();
      fusable->inputs.pop_back();
      return last;
    };
    if (found.tail->residual) fusable->residual = take_last();
    if (found.tail->bias) fusable->bias = take_last();
    fusable->functions = found.tail->functions;
  };
  try_core(std::in_place_type<op::v1::Convolution>);
  try_core(std::in_place_type<op::v1::GroupConvolution>);
  try_core(std::in_place_type<op::v1::ConvolutionBackpropData>);
  try_core(std::in_place_type<op::v1::GroupConvolutionBackpropData>);
  try_core(std::in_place_type<op::v0::MatMul>);
  try_core(std::in_place_type<op::CompressedMatMul>);
  if (fusable && (value.info().type != ElementType::f32 || !value.info().shape.has_rank()))
    return std::nullopt;
  return fusable;
}

std::optional<std::size_t> Fusable::channel_axis() const {
  const std::size_t rank = output_.info().shape.rank();
  if (!is_product()) return 1;
  const PartialShape& right = inputs[1].info().shape;
  if (!right.has_rank() || right.rank() < 2 || rank == 0) return std::nullopt;
  return rank - 1;
}

std::optional<Tensor> Fusable::per_channel(const Output& value) const {
  const auto axis = channel_axis();
  return axis ? passes::per_channel(value, output_.info().shape, *axis) : std::nullopt;
}

Tensor Fusable::scaled_weights(const Tensor& factors) const {
  const Tensor& weights = *constant_of(inputs[1]);
  const Shape shape =
      std::visit([&](const auto& core) { return factor_shape(core, weights.shape()); }, core_);
  Tensor scaled = computed(op::v1::Multiply(), weights, factors.reshaped(shape));
  weights.release_pages();
  return scaled;
}

void Fusable::put(Node& node) const {
  std::vector<Output> all = inputs;
  if (bias) all.push_back(*bias);
  if (residual) all.push_back(*residual);
  const op::FusedTail tail{bias.has_value(), residual.has_value(), functions};
  std::visit(
      [&]<class Core>(const Core& core) {
        if (!bias && !residual && functions.is_empty()) {
          rewrite(node, core, all);
        } else {
          rewrite(node, op::Fused<Core>{core, tail}, all);
        }
      },
      core_);
}

std::optional<Tensor> per_channel(const Output& value, const PartialShape& shape, std::size_t axis) {
  const Tensor* constant = constant_of(value);
  if (constant == nullptr || constant->element_type() != ElementType::f32) return std::nullopt;
  const Shape& given = constant->shape();
  if (!shape[axis].is_static() || given.size() > shape.rank()) return std::nullopt;
  const std::int64_t channels = shape[axis].value();
  const std::size_t missing = shape.rank() - given.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] != 1 && (i + missing != axis || given[i] != channels)) return std::nullopt;
  }
  if (constant->size() == channels) return constant->reshaped({channels});
  Tensor spread(ElementType::f32, {channels});
  std::ranges::fill(spread.data<float>(), constant->data<float>()[0]);
  return spread;
}

std::optional<WithChannels> with_channels(const Node& node, std::size_t axis) {
  const auto operands =
      either_way(node, [](const Output& operand) { return constant_of(operand) == nullptr; });
  if (!operands) return std::nullopt;
  const PartialShape& shape = operands->first.info().shape;
  if (shape != node.output(0).shape || !shape.has_rank() || shape.rank() <= axis) return std::nullopt;
  auto numbers = per_channel(operands->second, shape, axis);
  return numbers ? std::optional(WithChannels{operands->first, *std::move(numbers)}) : std::nullopt;
}

bool is_pointwise(const op::v1::Convolution& convolution, const PartialShape& filters) {
  const bool unpadded = convolution.auto_pad != op::AutoPad::explicit_ || op::has_no_pads(convolution);
  const bool one_tap = filters.has_rank() &&
                       std::all_of(filters.begin() + 2, filters.end(),
                                   [](const Dimension& dim) { return dim.is_static() && dim.value() == 1; });
  return one_tap && unpadded && op::all_are(convolution.strides, 1);
}

Tensor computed(const Op& op, const Tensor& a, const Tensor& b) {
  return evaluate_constants(op, std::vector<Tensor>{a, b}).at(0);
}

}  // namespace ir::passes
