#include "runtime/passes/expected_sizes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/softmax.h"

namespace ir::passes {
namespace {

/// Of some of the elements, from all over the tensor.
double mean_square_of(const Tensor& tensor) {
  constexpr std::int64_t kPieces = 4;
  constexpr std::int64_t kMostOfPiece = 128;
  const int bits = bits_of(tensor.element_type());
  if (!is_real(tensor.element_type()) || bits % 8 != 0 || tensor.codes() != nullptr || tensor.size() == 0)
    return 1;
  const std::int64_t count = std::min((tensor.size() + kPieces - 1) / kPieces, kMostOfPiece);
  double sum = 0;
  std::size_t summed = 0;
  for (std::int64_t piece = 0; piece < kPieces; ++piece) {
    const std::int64_t first = (tensor.size() - count) / (kPieces - 1) * piece;
    const auto offset = static_cast<std::size_t>(first) * static_cast<std::size_t>(bits / 8);
    const Tensor some =
        tensor.constant_part(tensor.element_type(), {count}, offset).converted(ElementType::f32);
    for (const float value : some.data<const float>()) sum += double{value} * double{value};
    summed += static_cast<std::size_t>(count);
  }
  return sum / static_cast<double>(summed);
}

/// At least.
double length_of(const Dimension& dim) { return static_cast<double>(std::max<std::int64_t>(dim.min(), 1)); }

/// How many products an element of a convolution or a matrix product adds up; empty for other operations.
std::optional<double> terms_of(const Node& node) {
  const auto without = [&](std::initializer_list<std::size_t> axes_of_outputs) {
    const PartialShape& weights = node.input(1).info().shape;
    double terms = 1;
    for (std::size_t axis = 0; axis < weights.rank(); ++axis) {
      if (std::ranges::find(axes_of_outputs, axis) == axes_of_outputs.end())
        terms *= length_of(weights[axis]);
    }
    return terms;
  };
  const Op& op = node.op();
  if (op.is<op::v1::Convolution>()) return without({0});
  if (op.is<op::v1::GroupConvolution>()) return without({0, 1});
  if (op.is<op::v1::ConvolutionBackpropData>()) return without({1});
  if (op.is<op::v1::GroupConvolutionBackpropData>()) return without({0, 2});
  if (const auto* product = op.as<op::v0::MatMul>()) {
    const PartialShape& right = node.input(1).info().shape;
    if (right.rank() < 2) return right.rank() == 1 ? length_of(right[0]) : 1;
    return length_of(right[right.rank() - (product->transpose_b ? 1 : 2)]);
  }
  return std::nullopt;
}

bool is_normalised(const Op& op) {
  return op.is<op::v1::SoftMax>() || op.is<op::v8::SoftMax>() || op.is<op::v0::MVN>() ||
         op.is<op::v6::MVN>() || op.is<op::v0::BatchNormInference>() || op.is<op::v5::BatchNormInference>();
}

bool is_between_zero_and_one(const Op& op) {
  return op.is<op::v0::Sigmoid>() || op.is<op::v0::HardSigmoid>() || op.is<op::v5::HSigmoid>();
}

/// Of a bell around 0, half or a little less remains.
bool is_rectified(const Op& op) {
  return op.is<op::v0::ReLU>() || op.is<op::v4::Swish>() || op.is<op::v4::HSwish>() ||
         op.is<op::v4::Mish>() || op.is<op::v0::Gelu>() || op.is<op::v7::Gelu>();
}

}  // namespace

ExpectedSizes::ExpectedSizes(const Model& model) {
  for (const auto& node : model.nodes()) sizes_.emplace(node.get(), of_output(*node));
}

double ExpectedSizes::of_output(const Node& node) const {
  const Op& op = node.op();
  if (node.output_count() > 0) {
    if (const Tensor* const constant = node.output(0).constant.get()) return mean_square_of(*constant);
  }
  if (node.inputs().empty() || is_normalised(op)) return 1;
  if (is_between_zero_and_one(op)) return 1.0 / 3;
  const auto input = [&](std::size_t index) { return mean_square(node.input(index)); };
  if (const auto terms = terms_of(node)) return *terms * input(0) * input(1);
  if (op.is<op::v1::Add>() || op.is<op::v1::Subtract>()) return input(0) + input(1);
  if (op.is<op::v1::Multiply>()) return input(0) * input(1);
  if (op.is<op::v1::Divide>()) return input(0) / input(1);
  if (is_rectified(op)) return input(0) / 2;
  if (op.is<op::v1::ReduceMean>()) return input(0) / 3;  // of what has been rectified
  if (const auto* clamp = op.as<op::v0::Clamp>())
    return std::min(input(0), std::max(clamp->min * clamp->min, clamp->max * clamp->max));
  if (op.is<op::v0::Concat>()) {
    double largest = 0;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) largest = std::max(largest, input(i));
    return largest;
  }
  return input(0);
}

}  // namespace ir::passes
