#include "runtime/passes/functions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/interpolate.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/slicing.h"
#include "ir_runtime/ops/space.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/fused_elementwise.h"
#include "runtime/ops/fused_prologue.h"
#include "runtime/ops/fused_separable.h"
#include "runtime/ops/pool_values.h"
#include "runtime/ops/unary.h"
#include "runtime/ops/windows.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {
namespace {

using kernels::BinaryOp;
using kernels::UnarySpec;

// Whether every window has an element of the image, of whatever size that is.
template <class Pool>
bool sees_no_padding_alone(const Pool& pool) {
  if constexpr (requires { pool.dilations; }) {
    if (!op::all_are(pool.dilations, 1)) return false;
  }
  if (pool.auto_pad != op::AutoPad::explicit_) return true;
  const bool may_hang_over = op::newest_rounding(pool.rounding_type) == op::Rounding14::ceil;
  const std::size_t axes = pool.kernel.size();
  // Lists may be left out.
  const auto value = [axes](const std::vector<std::int64_t>& list, std::size_t axis, std::int64_t otherwise) {
    return list.size() == axes ? list[axis] : otherwise;
  };
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t over = may_hang_over ? value(pool.strides, axis, 1) - 1 : 0;
    const std::int64_t end = pool.kernel[axis] - over;
    if (value(pool.pads_begin, axis, 0) >= pool.kernel[axis] || value(pool.pads_end, axis, 0) >= end)
      return false;
  }
  return true;
}

template <class T>
bool by_numpy_rule(const Op& op) {
  const auto* binary = op.as<T>();
  return binary != nullptr && binary->auto_broadcast == op::AutoBroadcast::numpy;
}

template <class... Ops>
bool is_any_of(const Op& op) {
  return (op.is<Ops>() || ...);
}

// An activation, then a quantisation, as far as a chain ends with these.
kernels::PostFunctions end_of_chain(const Node& node, const op::FusedElementwise& chain) {
  kernels::PostFunctions end;
  std::size_t stage = chain.stages.size() - 1;
  if (const auto* quantization = std::get_if<kernels::Quantization>(&chain.stages[stage].function)) {
    end.quantization = {*quantization};
    const std::size_t value = chain.stages[stage].operands[0];
    if (value < node.inputs().size()) return end;
    stage = value - node.inputs().size();
  }
  if (const auto* activation = std::get_if<UnarySpec>(&chain.stages[stage].function))
    end.activation = {*activation};
  return end;
}

template <class Interpolation, class Mode>
bool is_nearest(const Op& op, Mode nearest) {
  const auto* interpolation = op.as<Interpolation>();
  return interpolation != nullptr && interpolation->mode == nearest && op::has_no_pads(*interpolation);
}

// Whether it is an Interpolate of which every output is some element of its input.
bool takes_nearest(const Op& op) {
  return is_nearest<op::v0::Interpolate>(op, op::InterpolateMode1::nearest) ||
         is_nearest<op::v4::Interpolate>(op, op::InterpolateMode::nearest) ||
         is_nearest<op::v11::Interpolate>(op, op::InterpolateMode::nearest);
}

}  // namespace

std::optional<UnarySpec> unary_function(const Node& node) {
  const auto number = [&](std::size_t input) { return repeated_number(node.input(input)); };
  return op::unary_function(node.op(), node.inputs().size(), number);
}

std::optional<kernels::Quantization> quantization_function(const Node& node) {
  const auto* op = node.op().as<op::v0::FakeQuantize>();
  if (op == nullptr) return std::nullopt;
  const op::BroadcastRule rule{op->auto_broadcast, op->auto_broadcast_axis};
  std::array<float, 4> limits{};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Output& limit = node.input(i + 1);
    const auto number = repeated_number(limit);
    if (!number || !op::spreads_over(limit.info().shape, node.input(0).info().shape, rule))
      return std::nullopt;
    limits[i] = static_cast<float>(*number);
  }
  return kernels::Quantization{limits[0], limits[1], limits[2], limits[3],
                               static_cast<std::size_t>(op->levels)};
}

std::optional<BinaryOp> binary_function(const Node& node) {
  const Op& op = node.op();
  if (by_numpy_rule<op::v0::SquaredDifference>(op)) return BinaryOp::squared_difference;
  if (by_numpy_rule<op::v1::Add>(op)) return BinaryOp::add;
  if (by_numpy_rule<op::v1::Divide>(op)) return BinaryOp::divide;
  if (by_numpy_rule<op::v1::Maximum>(op)) return BinaryOp::maximum;
  if (by_numpy_rule<op::v1::Minimum>(op)) return BinaryOp::minimum;
  if (by_numpy_rule<op::v1::Multiply>(op)) return BinaryOp::multiply;
  if (by_numpy_rule<op::v1::Power>(op)) return BinaryOp::power;
  if (by_numpy_rule<op::v1::Subtract>(op)) return BinaryOp::subtract;
  if (by_numpy_rule<op::v17::Atan2>(op)) return BinaryOp::atan2;
  return std::nullopt;
}

bool takes_maxima(const Node& node) {
  const auto is = [&]<class Pool>(const Pool* pool) {
    return pool != nullptr && sees_no_padding_alone(*pool);
  };
  const Op& op = node.op();
  return is(op.as<op::v1::MaxPool>()) || is(op.as<op::v14::MaxPool>()) || is(op.as<op::MaxPoolValues>());
}

std::size_t inputs_passed_on(const Node& node) {
  const Op& op = node.op();
  if (op.is<op::v0::Concat>()) return node.inputs().size();
  const bool moves =
      only_changes_shape(op) ||
      is_any_of<op::v1::Split, op::v1::VariadicSplit, op::v1::Transpose, op::v8::Slice, op::v1::StridedSlice,
                op::v0::DepthToSpace, op::v0::SpaceToDepth, op::v0::ShuffleChannels>(op);
  return moves || takes_maxima(node) || takes_nearest(op) ? 1 : 0;
}

std::vector<const Node*> sources_of(const Output& value) {
  // Nodes that are looked at, each as often as paths lead there.
  constexpr std::size_t kMostSteps = 100;
  std::vector<const Node*> sources;
  std::vector<const Node*> pending{value.node};
  for (std::size_t steps = 0; !pending.empty(); ++steps) {
    if (steps == kMostSteps) return {};
    const Node* const node = pending.back();
    pending.pop_back();
    const auto inputs = node->inputs().first(inputs_passed_on(*node));
    if (inputs.empty()) sources.push_back(node);
    for (const Output& input : inputs) pending.push_back(input.node);
  }
  return sources;
}

const op::FusedTail* tail_of(const Op& op) {
  if (const auto* fused = op.as<op::FusedConvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedGroupConvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedDeconvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedGroupDeconvolution>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedMatMul>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedCompressedMatMul>()) return &fused->tail;
  if (const auto* fused = op.as<op::FusedPrologueConvolution>()) return &fused->convolution.tail;
  if (const auto* fused = op.as<op::FusedSeparable>())
    return fused->projection ? &fused->projection->tail : &fused->depthwise.tail;
  return nullptr;
}

kernels::PostFunctions last_functions(const Node& node) {
  if (const op::FusedTail* tail = tail_of(node.op())) return tail->functions;
  if (const auto* chain = node.op().as<op::FusedElementwise>()) return end_of_chain(node, *chain);
  kernels::PostFunctions last;
  if (const auto quantization = quantization_function(node)) {
    last.quantization = {*quantization};
  } else if (const auto activation = unary_function(node)) {
    last.activation = {*activation};
  }
  return last;
}

namespace {

// Of values that come from any of `list`, each of which has a grid by `grid_of_one`.
template <class List, class GridOfOne>
std::optional<kernels::IntegerGrid> common_grid(const List& list, const GridOfOne& grid_of_one) {
  std::optional<kernels::IntegerGrid> common;
  for (const auto& one : list) {
    const std::optional<kernels::IntegerGrid> grid = grid_of_one(one);
    if (!grid || (common && (common->step != grid->step || common->offset != grid->offset)))
      return std::nullopt;
    common = kernels::IntegerGrid{grid->step, std::min(grid->low, common ? common->low : grid->low),
                                  std::max(grid->high, common ? common->high : grid->high), grid->offset};
  }
  return common;
}

}  // namespace

std::optional<kernels::IntegerGrid> grid_of(const std::vector<kernels::Quantization>& quantizations) {
  return common_grid(quantizations, kernels::integer_grid);
}

std::optional<kernels::IntegerGrid> grid_of(const Output& value) {
  return common_grid(sources_of(value),
                     [](const Node* source) { return grid_of(last_functions(*source).quantization); });
}

}  // namespace ir::passes
