// Tensors in a few lines of text.
#ifndef SAMPLES_RUN_IR_SUMMARY_H_
#define SAMPLES_RUN_IR_SUMMARY_H_

#include <cstddef>
#include <string>

#include "ir_runtime/tensor.h"

namespace run_ir {

/// What an output holds: the `top` largest entries of a class vector, rows of detections ([.., 7]), the
/// elements of something small, the first `top` strings, else minimum, maximum and mean. One indented line
/// each.
std::string summary_of(const ir::Tensor& tensor, std::size_t top);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_SUMMARY_H_
