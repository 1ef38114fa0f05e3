#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "ir_runtime/ops/movement.h"
#include "kernels/base/indices.h"
#include "runtime/ops/constant_weights.h"
#include "runtime/passes/functions.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"
#include "runtime/types/scaled_codes.h"

namespace ir::passes {
namespace {

// Each part costs a pass over the outputs.
constexpr std::size_t kMostParts = 4;
constexpr std::int64_t kLeastTerms = 16;

// Some channels of the image.
struct Part {
  Output image;
  kernels::IntegerGrid grid;
  std::int64_t first = 0;
  std::int64_t channels = 0;
};

// The parts of a Concat of channels, if all of them are such integers.
std::vector<Part> parts_of(const Node& node) {
  const auto* join = node.op().as<op::v0::Concat>();
  const PartialShape& shape = node.output(0).shape;
  if (join == nullptr || !shape.has_rank() || node.inputs().size() > kMostParts) return {};
  if (shape.rank() < 2 || kernels::normalize_index(join->axis, shape.rank()) != 1) return {};
  std::vector<Part> parts;
  std::int64_t first = 0;
  for (const Output& input : node.inputs()) {
    const std::optional<kernels::IntegerGrid> grid = grid_of(input);
    const Dimension& channels = input.info().shape[1];
    if (!grid || !channels.is_static()) return {};
    parts.push_back({input, *grid, first, channels.value()});
    first += channels.value();
  }
  return parts;
}

// Filters [outputs, channels, taps...] of some channels, element for element.
Tensor part_of(const Tensor& filters, const Part& part) {
  Shape shape = filters.shape();
  const std::size_t outputs = static_cast<std::size_t>(shape[0]);
  const std::size_t bytes = filters.byte_size() / (outputs * static_cast<std::size_t>(shape[1]));
  const std::size_t row = bytes * static_cast<std::size_t>(shape[1]);
  shape[1] = part.channels;
  Tensor taken(filters.element_type(), shape);
  const std::size_t size = bytes * static_cast<std::size_t>(part.channels);
  const auto* from =
      static_cast<const std::byte*>(filters.raw()) + bytes * static_cast<std::size_t>(part.first);
  auto* to = static_cast<std::byte*>(taken.raw());
  for (std::size_t output = 0; output < outputs; ++output, from += row, to += size)
    std::memcpy(to, from, size);
  return taken;
}

// The same of what is made of bytes, where each output has one scale, or all have.
Tensor filters_of(const Tensor& filters, const Part& part) {
  const ScaledCodes* const source = filters.codes();
  if (source == nullptr) return part_of(filters, part);
  const std::size_t outputs = static_cast<std::size_t>(filters.shape()[0]);
  const std::size_t terms = static_cast<std::size_t>(filters.size()) / outputs;
  const bool by_output = source->scales() && source->scales().size() > 1;
  const bool are_bytes = source->codes().element_type() == ElementType::i8;
  if (!are_bytes || (by_output && source->per_scale() != terms)) return part_of(source->floats(), part);
  Tensor codes = part_of(source->codes(), part);
  const std::size_t per_scale = static_cast<std::size_t>(codes.size()) / (by_output ? outputs : 1);
  return Tensor::of_codes(std::move(codes), source->scales(), per_scale);
}

bool part_image(Model::Insertions& insertions, Node& node) {
  const auto convolution = as_fused<op::v1::Convolution>(node);
  if (!convolution || convolution->tail.residual || node.output(0).type != ElementType::f32) return false;
  const Tensor* const filters = constant_of(node.input(1));
  if (filters == nullptr || filters->size() == 0 || grid_of(node.input(0))) return false;
  const std::vector<Part> parts = parts_of(*node.input(0).node);
  if (parts.size() < 2) return false;
  const std::int64_t outputs = filters->shape()[0];
  const std::int64_t terms = filters->size() / outputs;
  const std::int64_t taps = terms / filters->shape()[1];
  if (std::ranges::any_of(parts, [&](const Part& part) { return part.channels * taps < kLeastTerms; }))
    return false;
  const auto integers =
      kernels::IntegerWeights::find(static_cast<std::size_t>(outputs), static_cast<std::size_t>(terms),
                                    constant_weights(filters), parts[0].grid, kernels::Around::nothing);
  if (integers == nullptr || integers->form() != kernels::LaneForm::quads) return false;

  std::optional<Output> before;
  for (const Part& part : parts) {
    const bool is_last = &part == &parts.back();
    op::FusedConvolution of_part{.core = convolution->core,
                                 .tail = is_last ? convolution->tail : op::FusedTail()};
    of_part.input_grid = part.grid;
    of_part.tail.residual = before.has_value();
    std::vector<Output> inputs{
        part.image, insert_constant(insertions, node, filters_of(*filters, part), node.name() + "/filters")};
    if (of_part.tail.bias) inputs.push_back(node.inputs().back());
    if (before) inputs.push_back(*before);
    if (is_last) {
      rewrite(node, std::move(of_part), std::move(inputs));
    } else {
      before = insertions.before(node, std::move(of_part), std::move(inputs), node.name() + "/part");
    }
  }
  return true;
}

}  // namespace

bool part_joined_images(Model& model) {
  if (!kernels::multiplies_bytes()) return false;
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* const node : nodes_of(model)) changed = part_image(insertions, *node) || changed;
  return changed;
}

}  // namespace ir::passes
