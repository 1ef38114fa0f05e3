// Rewrites of a model that make it run faster.
#ifndef RUNTIME_PASSES_PASSES_H_
#define RUNTIME_PASSES_PASSES_H_

#include "ir_runtime/model.h"

namespace ir {

/// Rewrites a model whose outputs have been inferred, bodies included, until nothing is left to gain: folds
/// constants, removes operations that change nothing, finds activations and normalisations that are spelled
/// out, and fuses what follows a convolution or matrix product, and what comes before a 1x1 convolution, into
/// it. Inputs and outputs keep their number, order, types and shapes; results may differ in the last bits. A
/// node that does the work of several goes by the last one's name.
void optimize(Model& model);

}  // namespace ir

#endif  // RUNTIME_PASSES_PASSES_H_
