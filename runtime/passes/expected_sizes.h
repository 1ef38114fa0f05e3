// How large values of a model may become.
#ifndef RUNTIME_PASSES_EXPECTED_SIZES_H_
#define RUNTIME_PASSES_EXPECTED_SIZES_H_

#include <unordered_map>

#include "ir_runtime/model.h"

namespace ir::passes {

/// The mean squares of values, as far as they follow from those of weights: for inputs of 1, products whose
/// terms have nothing to do with each other, and functions about which nothing else is known passing on their
/// first input. Of random weights, arguments of gates were up to seven times as large in one network, and up
/// to forty times in one whose values grow from layer to layer.
class ExpectedSizes {
 public:
  explicit ExpectedSizes(const Model& model);

  [[nodiscard]] double mean_square(const Output& value) const { return sizes_.at(value.node); }

 private:
  [[nodiscard]] double of_output(const Node& node) const;

  std::unordered_map<const Node*, double> sizes_;
};

}  // namespace ir::passes

#endif  // RUNTIME_PASSES_EXPECTED_SIZES_H_
