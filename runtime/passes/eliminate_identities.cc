#include <algorithm>
#include <unordered_map>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/pool_values.h"
#include "runtime/ops/windows.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

bool is_conversion(const Op& op) { return op.is<op::v0::Convert>() || op.is<op::v1::ConvertLike>(); }

// Repeats elements, so that an output of the input's shape is the input.
bool repeats_elements(const Node& node) {
  const Op& op = node.op();
  return op.is<op::v0::Tile>() ||
         ((op.is<op::v1::Broadcast>() || op.is<op::v3::Broadcast>()) && node.inputs().size() == 2);
}

template <class Pool>
bool has_windows_of_one(const Op& op) {
  const auto* pool = op.as<Pool>();
  return pool != nullptr && op::all_are(pool->kernel, 1) && op::all_are(pool->strides, 1) &&
         op::has_no_pads(*pool);
}

// Means and maxima of single elements, as converters write what adapts to the size that is there already.
bool pools_single_elements(const Node& node) {
  const Op& op = node.op();
  return has_windows_of_one<op::v1::AvgPool>(op) || has_windows_of_one<op::v14::AvgPool>(op) ||
         has_windows_of_one<op::v16::AvgPool>(op) || has_windows_of_one<op::v1::MaxPool>(op) ||
         has_windows_of_one<op::MaxPoolValues>(op) ||
         (op.is<op::AdaptiveMaxPoolValues>() && surely_same_shape(node.output(0), node.input(0).info())) ||
         (op.is<op::v8::AdaptiveAvgPool>() && surely_same_shape(node.output(0), node.input(0).info()));
}

bool is_ascending(const AxisOrder& order) { return std::ranges::is_sorted(order); }

// What a Transpose of a Transpose amounts to.
AxisOrder composed(const AxisOrder& first, const AxisOrder& second) {
  AxisOrder order;
  order.reserve(second.size());
  for (const std::size_t axis : second) order.push_back(first[axis]);
  return order;
}

// The operand that an arithmetic operation with a neutral number leaves as it is.
std::optional<Output> unchanged_operand(const Node& node) {
  const auto keeps = [&](std::size_t operand, double neutral) {
    const Output& value = node.input(operand);
    const Output& number = node.input(1 - operand);
    // The number's shape must not widen the result.
    return repeated_number(number) == neutral && value.info().shape.has_rank() &&
           value.info().shape == node.output(0).shape &&
           (value.info().shape.is_static() || number.info().shape.element_count() == Dimension(1));
  };
  const Op& op = node.op();
  if ((op.is<op::v1::Add>() || op.is<op::v1::Subtract>()) && keeps(0, 0.0)) return node.input(0);
  if (op.is<op::v1::Add>() && keeps(1, 0.0)) return node.input(1);
  if ((op.is<op::v1::Multiply>() || op.is<op::v1::Divide>() || op.is<op::v1::Power>()) && keeps(0, 1.0))
    return node.input(0);
  if (op.is<op::v1::Multiply>() && keeps(1, 1.0)) return node.input(1);
  return std::nullopt;
}

// Whether the node quantises what comes from the same quantisation.
bool quantises_again(const Node& node) {
  const auto quantization = quantization_function(node);
  // Of more levels, the roundings of a result may reach the next one.
  constexpr float kMostSteps = 65535;
  if (!quantization || quantization->steps > kMostSteps || !(quantization->in_range > 0) ||
      quantization->in_low != quantization->out_low || quantization->in_high != quantization->out_high)
    return false;
  const auto is_quantised = [&](const Node* from) {
    const auto before = quantization_function(*from);
    return before && are_same_levels(*before, *quantization);
  };
  const std::vector<const Node*> sources = sources_of(node.input(0));
  return !sources.empty() && std::ranges::all_of(sources, is_quantised);
}

// The value that output 0 of `node` equals.
std::optional<Output> original_of(const Node& node) {
  if (node.inputs().empty() || node.output_count() != 1) return std::nullopt;
  const Op& op = node.op();
  const Output& input = node.input(0);
  const Node& producer = *input.node;
  const ValueInfo& output = node.output(0);
  if (op.is<op::v16::Identity>()) return input;
  if (is_conversion(op)) {
    const bool same = output.type == input.info().type && output.type != ElementType::dynamic;
    return same ? std::optional(input) : std::nullopt;
  }
  if ((only_changes_shape(op) || repeats_elements(node)) && surely_same_shape(output, input.info()))
    return input;
  if (only_changes_shape(op) && only_changes_shape(producer.op()) &&
      surely_same_shape(output, producer.input(0).info())) {
    return producer.input(0);
  }
  if (const auto order = transposed_order(node)) {
    if (is_ascending(*order)) return input;
    const auto before = transposed_order(producer);
    if (before && is_ascending(composed(*before, *order))) return producer.input(0);
    return std::nullopt;
  }
  if (quantises_again(node) || pools_single_elements(node)) return input;
  return unchanged_operand(node);
}

}  // namespace

bool eliminate_identities(Model& model) {
  const ReaderCounts readers(model);
  // Readers come after what they read, so one walk does it.
  std::unordered_map<const Node*, Output> originals;
  for (const auto& node : model.nodes()) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      const auto original = originals.find(node->input(i).node);
      if (original != originals.end()) node->set_input(i, original->second);
    }
    if (node->output_count() == 0 || readers.of(*node) == 0) continue;
    if (const auto original = original_of(*node)) originals.emplace(node.get(), *original);
  }
  return !originals.empty();
}

}  // namespace ir::passes
