#include <algorithm>
#include <span>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

std::size_t product(std::span<const std::int64_t> dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

// What is added to a value of shape `shown`, for the same value when it has shape `before`: repeated along
// the leading dims in which they differ. Empty when the last two differ, or when it would grow a lot.
std::optional<Tensor> reshaped_mask(const Tensor& mask, const Shape& shown, const Shape& before) {
  if (mask.shape().size() > shown.size() || mask.size() == 0) return std::nullopt;
  Shape dims(shown.size() - mask.shape().size(), 1);
  dims.insert(dims.end(), mask.shape().begin(), mask.shape().end());
  const auto same = static_cast<std::size_t>(
      std::mismatch(shown.rbegin(), shown.rend(), before.rbegin(), before.rend()).first - shown.rbegin());
  if (same < 2) return std::nullopt;
  const auto lead = std::span(shown).first(shown.size() - same);
  const auto mask_lead = std::span(dims).first(lead.size());
  const auto tail = std::span(dims).last(same);
  const bool spreads = product(mask_lead) == 1;
  Shape result(before.begin(), before.end() - static_cast<std::ptrdiff_t>(same));
  if (spreads) std::ranges::fill(result, 1);
  result.insert(result.end(), tail.begin(), tail.end());
  if (spreads) return mask.reshaped(result);
  const std::size_t copies = product(lead);
  const std::size_t block = product(tail);
  constexpr std::size_t kMostGrowth = std::size_t{1} << 18;  // floats
  if (copies * block > static_cast<std::size_t>(mask.size()) + kMostGrowth) return std::nullopt;
  Tensor repeated(ElementType::f32, result);
  const auto from = mask.data<float>();
  const auto to = repeated.data<float>();
  for (std::size_t copy = 0; copy < copies; ++copy) {
    std::size_t rest = copy;
    std::size_t source = 0;
    std::size_t step = 1;
    for (std::size_t axis = lead.size(); axis-- > 0;) {
      const auto dim = static_cast<std::size_t>(lead[axis]);
      if (mask_lead[axis] != 1) {
        source += rest % dim * step;
        step *= dim;
      }
      rest /= dim;
    }
    std::ranges::copy(from.subspan(source * block, block),
                      to.begin() + static_cast<std::ptrdiff_t>(copy * block));
  }
  return repeated;
}

const Node* reshape_at(const Output& value, const ReaderCounts& readers) {
  return readers.single(value) && value.node->op().is<op::v1::Reshape>() ? value.node : nullptr;
}

bool fuse_mask(Model::Insertions& insertions, Node& node, const ReaderCounts& readers) {
  if (!node.op().is<op::v1::Reshape>() || !readers.single(node.input(0))) return false;
  const Node& add = *node.input(0).node;
  const auto* sum = add.op().as<op::v1::Add>();
  if (sum == nullptr || sum->auto_broadcast != op::AutoBroadcast::numpy) return false;
  const auto operands =
      either_way(add, [](const Output& operand) { return constant_of(operand) != nullptr; });
  if (!operands) return false;
  const auto& [constant, shown] = *operands;
  const Node* reshape = reshape_at(shown, readers);
  if (reshape == nullptr) return false;
  const Output before = reshape->input(0);
  if (before.info().type != ElementType::f32 || !surely_same_shape(shown.info(), add.output(0)) ||
      !surely_same_shape(before.info(), node.output(0))) {
    return false;
  }
  auto mask =
      reshaped_mask(*constant_of(constant), shown.info().shape.to_shape(), before.info().shape.to_shape());
  if (!mask) return false;
  const Output moved = insert_constant(insertions, node, std::move(*mask), node.name() + "/mask");
  rewrite(node, op::v1::Add(), {before, moved});
  return true;
}

}  // namespace

bool fuse_reshaped_mask(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    if (node->inputs().size() == 2) changed = fuse_mask(insertions, *node, readers) || changed;
  }
  return changed;
}

}  // namespace ir::passes
