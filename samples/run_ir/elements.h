// The elements of tensors of any type, to be compared and shown.
#ifndef SAMPLES_RUN_IR_ELEMENTS_H_
#define SAMPLES_RUN_IR_ELEMENTS_H_

#include <cmath>
#include <limits>
#include <vector>

#include "ir_runtime/tensor.h"

namespace run_ir {

inline bool holds_strings(const ir::Tensor& tensor) {
  return tensor.element_type() == ir::ElementType::string;
}

/// The elements as f64, which holds those of all types but strings (and 64-bit integers beyond 2^53). NaN has
/// no sign, so that it is always printed as such.
inline std::vector<double> values_of(const ir::Tensor& tensor) {
  const ir::Tensor wide = tensor.converted(ir::ElementType::f64);
  const auto data = wide.data<double>();
  std::vector<double> values(data.begin(), data.end());
  for (double& value : values) {
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  }
  return values;
}

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_ELEMENTS_H_
