#include <cmath>
#include <optional>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// Numbers of a quantisation that become others: (number - offset) * scale.
struct Dequantization {
  Output integers;  ///< the integers that numbers were converted to
  double offset = 0;
  double scale = 1;
};

// What a Convert reads.
std::optional<Output> converted(const Output& value) {
  if (!value.node->op().is<op::v0::Convert>()) return std::nullopt;
  return value.node->input(0);
}

std::optional<Dequantization> dequantization(const Node& node, const ReaderCounts& readers) {
  if (!node.op().is<op::v1::Multiply>()) return std::nullopt;
  const auto factors =
      either_way(node, [](const Output& operand) { return repeated_number(operand).has_value(); });
  if (!factors) return std::nullopt;
  Dequantization found;
  found.scale = *repeated_number(factors->first);
  Output value = factors->second;
  if (value.node->op().is<op::v1::Subtract>() && readers.single(value)) {
    const auto offset = repeated_number(value.node->input(1));
    if (!offset) return std::nullopt;
    found.offset = *offset;
    value = value.node->input(0);
  }
  const auto integers = converted(value);
  if (!integers || !readers.single(value) || !is_integral(integers->info().type)) return std::nullopt;
  found.integers = *integers;
  return found;
}

// Whether all levels are integers that the type holds.
bool are_levels_integers_of(const kernels::Quantization& quantization, ElementType type) {
  const double low = quantization.out_low;
  const double high = quantization.out_high;
  if (low != std::floor(low) || high - low != double{quantization.steps}) return false;
  const int bits = bits_of(type) - (is_signed(type) ? 1 : 0);
  return high <= std::ldexp(1.0, bits) - 1 && low >= (is_signed(type) ? -std::ldexp(1.0, bits) : 0.0);
}

}  // namespace

bool fuse_dequantization(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->output_count() != 1 || node->output(0).type != ElementType::f32) continue;
    const auto found = dequantization(*node, readers);
    if (!found || !readers.single(found->integers)) continue;
    const auto levels = converted(found->integers);
    if (!levels || !readers.single(*levels)) continue;
    const Node& quantized = *levels->node;
    const auto quantization = quantization_function(quantized);
    if (!quantization || !are_levels_integers_of(*quantization, found->integers.info().type)) continue;
    if (quantized.output(0).type != ElementType::f32 || !surely_keeps_shape(*node, *levels)) continue;
    const auto scaled = [&](float level) {
      return static_cast<float>((level - found->offset) * found->scale);
    };
    const float low = scaled(quantization->out_low);
    const float high = scaled(quantization->out_high);
    if (!std::isfinite(high - low)) continue;  // levels between may be finite
    const auto limit = [&](float value, const char* name) -> Output {
      return insert_constant(insertions, *node, Tensor::of<float>({}, {value}), node->name() + name);
    };
    rewrite(*node, quantized.op(),
            {quantized.input(0), quantized.input(1), quantized.input(2), limit(low, "/low"),
             limit(high, "/high")});
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
