// Axes that an input of an operation names.
#ifndef RUNTIME_OPS_AXES_H_
#define RUNTIME_OPS_AXES_H_

#include <optional>
#include <span>
#include <vector>

#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// What some operations of OpenVINO take that others refuse.
struct AxesRules {
  /// An axis that is there twice counts once.
  bool repeated = false;
  /// A scalar has an axis 0.
  bool axis_of_scalar = false;
};

/// Axes as indices below `rank`, ascending, each once. Fails with IR-axis for an axis outside of [-rank,
/// rank) or one that is there twice, unless `rules` allow it. `what` names where they come from ("input 1"),
/// `input` the input if it is one.
std::vector<std::size_t> checked_axes(const InferContext& context, std::span<const std::int64_t> axes,
                                      std::size_t rank, std::string_view what,
                                      std::optional<std::size_t> input = {}, AxesRules rules = {});

/// Requires input `index` to be a scalar or vector of integers. Returns the axes that it names in a shape of
/// rank `rank`, as `checked_axes` does; empty when they are not known.
std::optional<std::vector<std::size_t>> infer_axes(const InferContext& context, std::size_t index,
                                                   std::size_t rank, AxesRules rules = {});

/// `axis` in [-rank, rank), made non-negative, or axis 0 of a scalar.
std::size_t require_axis_or_0(const InferContext& context, std::int64_t axis, std::size_t rank,
                              std::string_view what, std::optional<std::size_t> input = {});

/// `axis`, counted from the end where it is negative, after inference has checked it.
std::size_t normalized_axis(std::int64_t axis, std::size_t rank);

/// Axes in a shape of rank `rank` as indices, ascending and each once, after inference has checked them.
std::vector<std::size_t> normalized_axes(std::span<const std::int64_t> axes, std::size_t rank);

/// The axes that constant input `index` names; see `normalized_axes`.
std::vector<std::size_t> prepared_axes(const PrepareContext& context, std::size_t index, std::size_t rank);

}  // namespace ir::op

#endif  // RUNTIME_OPS_AXES_H_
