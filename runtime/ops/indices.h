// Inputs that hold axes and indices: reading, checking, and what a bad one is answered with.
#ifndef RUNTIME_OPS_INDICES_H_
#define RUNTIME_OPS_INDICES_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// Input `index` is a scalar or vector of one integer; its value, made a non-negative axis of `rank` dims, or
/// empty when it is not known.
std::optional<std::size_t> axis_input(const InferContext& context, std::size_t index,
                                      std::optional<std::size_t> rank, std::string_view what = "axis");

/// The same for a value that inference has checked.
std::size_t axis_input(const PrepareContext& context, std::size_t index, std::size_t rank);

/// Input `index` is a scalar or vector of distinct axes of `rank` dims; non-negative and in the order given,
/// empty when they are not known.
std::optional<std::vector<std::size_t>> axes_input(const InferContext& context, std::size_t index,
                                                   std::size_t rank);
std::vector<std::size_t> axes_input(const PrepareContext& context, std::size_t index, std::size_t rank);

/// Input `index` holds axes of `rank` dims, as far as they are known; one may be there several times.
void require_axes(const InferContext& context, std::size_t index, std::size_t rank);

/// Requires input `index` to be an integer vector; returns its length.
Dimension require_integer_vector(const InferContext& context, std::size_t index);

/// Requires `length`, that of input `index`, to be the rank of input 0 when that is known. Messages call the
/// elements `what`: "pads".
void require_one_per_axis(const InferContext& context, std::size_t index, const Dimension& length,
                          std::string_view what);

/// Elements of an integer vector of `length`, each unknown when nothing is known of them.
std::vector<Dimension> elements_or_unknown(const InferContext& context, std::size_t index,
                                           std::size_t length);

/// `number`, which input `index` gives, as a size: fails with IR-value and this message when it is negative.
template <class... Args>
Dimension require_size(const InferContext& context, std::size_t index, const Dimension& number,
                       fmt::format_string<Args...> format, Args&&... args) {
  context.require_not_negative(index, number, format, std::forward<Args>(args)...);
  return {std::max<std::int64_t>(number.min(), 0), number.max()};
}

/// Indices of an integer type as kernels read them; `require_index_type` fails for types that they cannot
/// read.
kernels::IndexView index_view(ElementType type, const void* data);
void require_index_type(const PrepareContext& context, std::size_t input);

/// Throws IR-value when an index was bad. `what` names the input.
void require_good_indices(const kernels::IndexResult& result, std::string_view what);

}  // namespace ir::op

#endif  // RUNTIME_OPS_INDICES_H_
