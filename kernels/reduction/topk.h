// The k largest or smallest elements along an axis.
#ifndef KERNELS_REDUCTION_TOPK_H_
#define KERNELS_REDUCTION_TOPK_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

enum class TopKMode : std::uint8_t { max, min };

enum class TopKSort : std::uint8_t {
  value,  ///< best first
  index,  ///< by position
  none,   ///< unspecified by the op; here the order of std::nth_element, as in OpenVINO
};

/// Attributes of TopK-1, 3 and 11 for a dense tensor seen as [outer, axis, inner]; k <= axis < 2^31.
/// Among equal elements lower positions come first, always, so `stable` of version 11 needs no parameter.
struct TopKParams {
  std::size_t outer = 1;
  std::size_t axis = 1;
  std::size_t inner = 1;
  std::size_t k = 1;
  TopKMode mode = TopKMode::max;
  TopKSort sort = TopKSort::value;
};

/// Bytes that `scratch` of `top_k` must have, aligned to 8; may be 0.
template <class T>
std::size_t top_k_scratch_bytes(const TopKParams& params);

/// Writes `values` and `indices` [outer, k, inner]; either may be nullptr. -0 equals +0; NaN is larger than
/// every number and equal to any NaN, so that it comes first for max and last for min. `values` must not
/// overlap `in`. Parallel over outer and inner. T: float, double, (u)int8_t .. (u)int64_t; Index: int32_t,
/// int64_t.
template <class T, class Index>
void top_k(const TopKParams& params, const T* in, T* values, Index* indices, std::byte* scratch);

}  // namespace ir::kernels

#endif  // KERNELS_REDUCTION_TOPK_H_
