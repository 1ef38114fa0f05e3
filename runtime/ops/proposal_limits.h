// Checks that all operations proposing regions share.
#ifndef RUNTIME_OPS_PROPOSAL_LIMITS_H_
#define RUNTIME_OPS_PROPOSAL_LIMITS_H_

#include <algorithm>

#include "runtime/ops/infer.h"

namespace ir::op {

/// Kernels count boxes of an image, and of all classes, in 32 bits.
inline constexpr std::int64_t kMaxProposedBoxes = std::int64_t{1} << 32;

inline void require_few_boxes(const InferContext& context, const Dimension& boxes) {
  context.require(boxes.min() < kMaxProposedBoxes, "IR-shape",
                  {.found = boxes, .expected = words("less than {}", kMaxProposedBoxes)},
                  "the inputs ask for {} boxes; less than {} can be handled", boxes, kMaxProposedBoxes);
}

inline void require_counts(const InferContext& context, std::int64_t pre_nms_count,
                           std::int64_t post_nms_count) {
  context.require(pre_nms_count >= 0 && post_nms_count >= 0, "IR-attribute-range",
                  {.found = std::min(pre_nms_count, post_nms_count), .expected = "at least 0"},
                  "pre_nms_count is {} and post_nms_count is {}; none can be negative", pre_nms_count,
                  post_nms_count);
}

}  // namespace ir::op

#endif  // RUNTIME_OPS_PROPOSAL_LIMITS_H_
