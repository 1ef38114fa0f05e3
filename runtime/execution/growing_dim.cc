#include "runtime/execution/growing_dim.h"

#include <algorithm>

namespace ir {

std::vector<PartialShape> GrowingDim::settle(std::span<const Shape> inputs) {
  struct Change {
    std::size_t input;
    std::size_t axis;
  };
  std::vector<Change> changes;
  const bool comparable = std::ranges::equal(inputs, last_, {}, &Shape::size, &Shape::size);
  for (std::size_t input = 0; comparable && input < inputs.size(); ++input) {
    for (std::size_t axis = 0; axis < inputs[input].size(); ++axis) {
      if (inputs[input][axis] != last_[input][axis]) changes.push_back({input, axis});
    }
  }
  last_.assign(inputs.begin(), inputs.end());
  std::vector<PartialShape> shapes(inputs.begin(), inputs.end());
  if (changes.size() != 1) {
    changes_ = 0;
    return shapes;
  }
  const auto [input, axis] = changes.front();
  changes_ = input == input_ && axis == axis_ ? changes_ + 1 : 1;
  input_ = input;
  axis_ = axis;
  constexpr int kManyChanges = 2;
  if (changes_ >= kManyChanges) shapes[input][axis] = Dimension();
  return shapes;
}

}  // namespace ir
