// What a fused operation does to its sums, as the kernels take it.
#ifndef RUNTIME_OPS_EPILOGUE_H_
#define RUNTIME_OPS_EPILOGUE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/post_functions.h"

namespace ir::op {

/// An epilogue with what it points to. The default does nothing.
struct EpilogueOfStep {
  kernels::Epilogue epilogue;
  /// What `epilogue.post_context` points to; a step keeps it as long as the kernel.
  std::shared_ptr<const kernels::PostFunctions> functions;
  /// What `epilogue.levels` points to, while a kernel is made.
  std::shared_ptr<const std::vector<kernels::Quantization>> levels;
  /// The input that is the residual.
  std::optional<std::size_t> residual_input;

  [[nodiscard]] bool is_empty() const {
    return epilogue.bias == nullptr && !epilogue.residual && epilogue.post == nullptr &&
           epilogue.levels.empty() && epilogue.low == -std::numeric_limits<float>::infinity() &&
           epilogue.high == std::numeric_limits<float>::infinity();
  }
};

}  // namespace ir::op

#endif  // RUNTIME_OPS_EPILOGUE_H_
