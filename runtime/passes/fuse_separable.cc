#include <algorithm>
#include <utility>

#include "kernels/depthwise/separable_convolution.h"
#include "runtime/ops/fused_separable.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// A convolution with what has been fused into it, and its inputs.
template <class Core>
struct Stage {
  op::Fused<Core> op;
  const Node* node = nullptr;

  [[nodiscard]] const Output& image() const { return node->input(0); }
  // Filters and bias.
  [[nodiscard]] std::vector<Output> constants() const {
    return {node->inputs().begin() + 1, node->inputs().end() - (op.tail.residual ? 1 : 0)};
  }
};

template <class Core>
std::optional<Stage<Core>> stage_at(const Node& node) {
  const auto convolution = as_fused<Core>(node);
  if (!convolution) return std::nullopt;
  const Stage<Core> stage{*convolution, &node};
  const ValueInfo& output = node.output(0);
  if (output.type != ElementType::f32 || !output.shape.has_rank() || output.shape.rank() > 4)
    return std::nullopt;
  return std::ranges::all_of(stage.constants(), constant_of) ? std::optional(stage) : std::nullopt;
}

std::optional<Stage<op::v1::GroupConvolution>> depthwise_at(const Node& node) {
  const auto stage = stage_at<op::v1::GroupConvolution>(node);
  if (!stage) return std::nullopt;
  const Shape& filters = constant_of(node.input(1))->shape();
  return filters[0] > 1 && filters[1] == 1 && filters[2] == 1 ? stage : std::nullopt;
}

// One tap, of stride 1 and unpadded.
std::optional<Stage<op::v1::Convolution>> pointwise_at(const Node& node) {
  const auto stage = stage_at<op::v1::Convolution>(node);
  return stage && is_pointwise(stage->op.core, node.input(1).info().shape) ? stage : std::nullopt;
}

// Whether strips may be worthwhile, as far as the shape of the depthwise stage's output is known.
bool is_large(const PartialShape& shape) {
  std::int64_t positions = 1;
  for (std::size_t axis = 2; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_static()) return true;
    if (__builtin_mul_overflow(positions, shape[axis].value(), &positions)) return true;
  }
  return positions >= static_cast<std::int64_t>(kernels::kLeastStripsPlane);
}

// Makes `last` the chain that ends with `depthwise`, and with `projection` if there is one.
bool fuse_chain(Node& last, const Stage<op::v1::GroupConvolution>& depthwise,
                const std::optional<Stage<op::v1::Convolution>>& projection, const ReaderCounts& readers) {
  op::FusedSeparable chain{std::nullopt, depthwise.op, std::nullopt};
  Output image = depthwise.image();
  std::vector<Output> inputs;
  const auto append = [&](const std::vector<Output>& more) {
    inputs.insert(inputs.end(), more.begin(), more.end());
  };
  const auto expansion = readers.single(image) ? pointwise_at(*image.node) : std::nullopt;
  if (expansion && !expansion->op.tail.residual) {
    chain.expansion = expansion->op;
    image = expansion->image();
    append(expansion->constants());
  }
  append(depthwise.constants());
  if (projection) {
    chain.projection = projection->op;
    append(projection->constants());
  }
  if ((!chain.expansion && !chain.projection) || !is_large(depthwise.node->output(0).shape)) return false;
  inputs.insert(inputs.begin(), image);
  if (projection ? projection->op.tail.residual : depthwise.op.tail.residual)
    inputs.push_back(last.inputs().back());
  rewrite(last, std::move(chain), std::move(inputs));
  return true;
}

bool fuse_with_projection(Node& node, const ReaderCounts& readers) {
  const auto projection = pointwise_at(node);
  if (!projection || !readers.single(projection->image())) return false;
  const auto depthwise = depthwise_at(*projection->image().node);
  return depthwise && !depthwise->op.tail.residual && fuse_chain(node, *depthwise, projection, readers);
}

bool fuse_with_expansion(Node& node, const ReaderCounts& readers) {
  const auto depthwise = depthwise_at(node);
  return depthwise && fuse_chain(node, *depthwise, std::nullopt, readers);
}

}  // namespace

bool fuse_separable(Model& model) {
  bool changed = false;
  for (const auto fuse : {&fuse_with_projection, &fuse_with_expansion}) {
    const ReaderCounts readers(model);
    for (const auto& node : model.nodes()) changed = fuse(*node, readers) || changed;
    model.remove_unreachable();
  }
  return changed;
}

}  // namespace ir::passes
