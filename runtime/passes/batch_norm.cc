#include "runtime/passes/batch_norm.h"

#include "ir_runtime/ops/normalization.h"
#include "kernels/reduction/normalization.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {
namespace {

// The numbers of a constant vector.
const Tensor* vector_of(const Output& value) {
  const Tensor* constant = constant_of(value);
  return constant != nullptr && constant->element_type() == ElementType::f32 ? constant : nullptr;
}

}  // namespace

std::optional<BatchNorm> batch_norm_of(const Node& node) {
  const auto in = [&](std::size_t index) { return node.input(index); };
  if (const auto* old = node.op().as<op::v0::BatchNormInference>())
    return BatchNorm{in(2), in(0), in(1), in(3), in(4), old->epsilon};
  if (const auto* op = node.op().as<op::v5::BatchNormInference>())
    return BatchNorm{in(0), in(1), in(2), in(3), in(4), op->epsilon};
  return std::nullopt;
}

std::optional<Affine> affine_of(const BatchNorm& norm) {
  const Tensor* gamma = vector_of(norm.gamma);
  const Tensor* beta = vector_of(norm.beta);
  const Tensor* mean = vector_of(norm.mean);
  const Tensor* variance = vector_of(norm.variance);
  if (gamma == nullptr || beta == nullptr || mean == nullptr || variance == nullptr) return std::nullopt;
  Affine affine{Tensor(ElementType::f32, gamma->shape()), Tensor(ElementType::f32, gamma->shape())};
  kernels::fold_batch_norm({gamma->data<float>().data(), beta->data<float>().data(),
                            mean->data<float>().data(), variance->data<float>().data(), norm.epsilon},
                           static_cast<std::size_t>(gamma->size()), affine.factor.data<float>().data(),
                           affine.summand->data<float>().data());
  return affine;
}

}  // namespace ir::passes
