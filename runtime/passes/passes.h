// What is done to a model before a plan is made of it; optimize.cc says in which order.
#ifndef RUNTIME_PASSES_PASSES_H_
#define RUNTIME_PASSES_PASSES_H_

#include <functional>
#include <vector>

#include "ir_runtime/model.h"
#include "runtime/model/state.h"

namespace ir {

struct Lowering {
  /// Whether the model is to run faster; else no more is done than plans need.
  bool optimized = true;
  /// Whether integers may be multiplied for quantised values.
  bool integers = true;
};

/// Makes of a model whose outputs have been inferred, bodies included, what plans are made of: variables
/// state their shapes, halves become f32, all rewrites are applied. `before_folding` is called when constants
/// are still as the model has them, but for codes that stay codes. Returns the model's variables, and how it
/// keeps them now. Throws Error, as settle_variables.
std::vector<VariableInfo> lower(Model& model, const Lowering& lowering,
                                const std::function<void()>& before_folding);

/// Rewrites a model whose outputs have been inferred, bodies included, until nothing is left to gain, or for
/// as many rounds as no model that is meant to be run takes: folds constants, removes operations that change
/// nothing, finds activations and normalisations that are spelled out, and fuses what follows a convolution
/// or matrix product, and what comes before a 1x1 convolution, into it. Inputs and outputs keep their number,
/// order, types and shapes; results may differ in the last bits. A node that does the work of several goes by
/// the last one's name.
void optimize(Model& model);

}  // namespace ir

#endif  // RUNTIME_PASSES_PASSES_H_
