// Medians and the like of measured times.
#ifndef SAMPLES_RUN_IR_QUANTILE_H_
#define SAMPLES_RUN_IR_QUANTILE_H_

#include <algorithm>
#include <cmath>
#include <vector>

namespace run_ir {

/// `fraction` (0 to 1) of the values, of which there is one at least, lie at or below the result; 0.5 is the
/// median.
inline double quantile(std::vector<double> values, double fraction) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto place = values.begin() + std::lround(fraction * last);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_QUANTILE_H_
