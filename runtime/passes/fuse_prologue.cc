#include "runtime/ops/fused_prologue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "runtime/passes/batch_norm.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/fusable.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using op::FusedHead;

// What is done to `image`: clamp(image * scale + shift, low, high). The scale is a gate or constant.
struct Head {
  Output image;
  std::optional<Output> gate;
  std::optional<Tensor> scale;
  std::optional<Tensor> shift;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// A 1x1 convolution on f32, with what has been fused into it.
std::optional<op::FusedConvolution> convolution_at(const Node& node) {
  auto convolution = as_fused<op::v1::Convolution>(node);
  if (!convolution) return std::nullopt;
  const ValueInfo& image = node.input(0).info();
  const bool fits = image.type == ElementType::f32 && image.shape.has_rank() &&
                    is_pointwise(convolution->core, node.input(1).info().shape);
  if (!fits) return std::nullopt;
  // A single position has no plane to save a pass over.
  const bool is_plane = std::any_of(image.shape.begin() + 2, image.shape.end(),
                                    [](const Dimension& dim) { return dim != Dimension(1); });
  return is_plane ? convolution : std::nullopt;
}

// Takes ReLU or Clamp away from the end of what leads to the image.
void take_clamp(Head& head) {
  const Node& node = *head.image.node;
  if (node.op().is<op::v0::ReLU>()) {
    head.low = 0.0F;
  } else if (const auto* clamp = node.op().as<op::v0::Clamp>()) {
    head.low = static_cast<float>(clamp->min);
    head.high = static_cast<float>(clamp->max);
  } else {
    return;
  }
  head.image = node.input(0);
}

// What one node computes: value * factor + summand, absent parts left out.
struct Step {
  Output value;
  std::optional<Tensor> factor;
  std::optional<Tensor> summand;
};

std::optional<Step> step_at(const Node& node) {
  if (const auto norm = batch_norm_of(node)) {
    auto affine = affine_of(*norm);
    return affine ? std::optional(Step{norm->data, affine->factor, affine->summand}) : std::nullopt;
  }
  const bool multiplies = aligns_last_axes<op::v1::Multiply>(node.op());
  if (!multiplies && !aligns_last_axes<op::v1::Add>(node.op())) return std::nullopt;
  auto found = with_channels(node, 1);
  if (!found) return std::nullopt;
  Step step{found->value, std::nullopt, std::nullopt};
  (multiplies ? step.factor : step.summand) = std::move(found->numbers);
  return step;
}

// Takes one operation by constants per channel away from the end; false when there is none.
bool take_step(Head& head) {
  const auto step = step_at(*head.image.node);
  if (!step) return false;
  const auto times = [](const Tensor& a, const std::optional<Tensor>& b) {
    return b ? computed(op::v1::Multiply(), a, *b) : a;
  };
  if (step->summand) {
    const Tensor summand = times(*step->summand, head.scale);
    head.shift = head.shift ? computed(op::v1::Add(), summand, *head.shift) : summand;
  }
  if (step->factor) head.scale = times(*step->factor, head.scale);
  head.image = step->value;
  return true;
}

// Whether `numbers` has one for each channel of each image, or of all of them.
bool is_per_channel(const Output& numbers, const PartialShape& image) {
  const PartialShape& shape = numbers.info().shape;
  return shape.has_rank() && shape.rank() == image.rank() && image[1].is_static() && shape[1] == image[1] &&
         std::all_of(shape.begin() + 2, shape.end(),
                     [](const Dimension& dim) { return dim == Dimension(1); });
}

// Takes the multiplication by a gate away from the end.
void take_gate(Head& head) {
  const Node& node = *head.image.node;
  if (head.scale || !aligns_last_axes<op::v1::Multiply>(node.op())) return;
  for (const std::size_t side : {0U, 1U}) {
    const Output gate = node.input(side);
    const Output image = node.input(1 - side);
    if (!image.info().shape.has_rank() || !is_per_channel(gate, image.info().shape)) continue;
    head.gate = gate;
    head.image = image;
    return;
  }
}

// Everything that leads to the image of a convolution and that nobody else reads.
Head head_before(const Output& image, const ReaderCounts& readers) {
  Head head{image, std::nullopt, std::nullopt, std::nullopt};
  const auto is_alone = [&] { return !head.image.node->inputs().empty() && readers.single(head.image); };
  if (is_alone()) take_clamp(head);
  while (is_alone() && take_step(head)) {
  }
  if (is_alone()) take_gate(head);
  return head;
}

}  // namespace

bool fuse_prologue(Model& model) {
  const ReaderCounts readers(model);
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    const auto convolution = convolution_at(*node);
    if (!convolution) continue;
    const Head head = head_before(node->input(0), readers);
    op::FusedPrologueConvolution fused{*convolution, {}};
    fused.head.low = head.low;
    fused.head.high = head.high;
    std::vector<Output> inputs(node->inputs().begin(), node->inputs().end());
    inputs[0] = head.image;
    if (head.gate) {
      fused.head.scale = FusedHead::Scale::computed;
      inputs.push_back(*head.gate);
    } else if (head.scale) {
      fused.head.scale = FusedHead::Scale::constant;
      inputs.push_back(insert_constant(insertions, *node, *head.scale, node->name() + "/scale"));
    }
    if (head.shift) {
      fused.head.shift = true;
      inputs.push_back(insert_constant(insertions, *node, *head.shift, node->name() + "/shift"));
    }
    if (fused.head.is_empty()) continue;
    rewrite(*node, std::move(fused), std::move(inputs));
    changed = true;
  }
  return changed;
}

}  // namespace ir::passes
