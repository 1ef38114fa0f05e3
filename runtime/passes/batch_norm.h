// Batch normalisation as the rewrites see it: one multiplication and one addition per channel.
#ifndef RUNTIME_PASSES_BATCH_NORM_H_
#define RUNTIME_PASSES_BATCH_NORM_H_

#include <optional>

#include "ir_runtime/model.h"
#include "ir_runtime/tensor.h"

namespace ir::passes {

/// value * factor + summand, where the constants have one number per channel.
struct Affine {
  Tensor factor;
  std::optional<Tensor> summand;
};

/// Both classes of BatchNormInference, which differ in the order of inputs.
struct BatchNorm {
  Output data, gamma, beta, mean, variance;
  double epsilon = 0;
};

/// Empty for other nodes.
std::optional<BatchNorm> batch_norm_of(const Node& node);

/// What it computes from its data, when all else is constant and f32.
std::optional<Affine> affine_of(const BatchNorm& norm);

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_BATCH_NORM_H_
