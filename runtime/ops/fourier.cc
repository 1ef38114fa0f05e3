// DFT, IDFT, RDFT and IRDFT: transforms of whole axes.
#include "kernels/signal/fourier.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "ir_runtime/ops/signals.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

using kernels::FftDirection;
using kernels::FourierKind;

constexpr auto kMaxLength = static_cast<std::int64_t>(kernels::kMaxFftLength);

enum Port : std::size_t { kData, kAxes, kSignalSize };

// floor(length / 2) + 1 values of a signal; none of an empty one, as in OpenVINO.
Dimension half_of(const Dimension& length) {
  const auto half = [](std::int64_t value) {
    return value == 0 || value == Dimension::kUnbounded ? value : value / 2 + 1;
  };
  return {half(length.min()), half(length.max())};
}

// 2 * (half - 1), the length behind half a signal.
Dimension whole_of(const Dimension& half) {
  const Dimension whole = Dimension(2) * (half - Dimension(1));
  return {std::max<std::int64_t>(whole.min(), 0), std::max<std::int64_t>(whole.max(), 0)};
}

// The length that `size` asks for; empty when it asks for the default.
std::optional<Dimension> given_length(const InferContext& context, const Dimension& size) {
  if (size.is_static()) {
    if (size.value() == -1) return std::nullopt;
    context.require(size.value() >= 1 && size.value() <= kMaxLength, "IR-value",
                    {.found = size, .expected = words("-1 or 1 to {}", kMaxLength), .input = kSignalSize},
                    "input 2 has signal size {}; it takes -1 and 1 to {}", size.value(), kMaxLength);
    return size;
  }
  return size.min() >= 1 ? size : Dimension();
}

struct Lengths {
  const InferContext& context;
  std::optional<std::vector<Dimension>> sizes;  // input 2, as far as it is known

  // The length of a signal along axis number `i` of the list, whose default is `fallback`.
  [[nodiscard]] Dimension of(std::size_t i, const Dimension& fallback) const {
    Dimension length = fallback;
    if (context.input_count() > kSignalSize) {
      if (!sizes || i >= sizes->size()) return {};
      length = given_length(context, (*sizes)[i]).value_or(fallback);
    }
    context.require(length.min() <= kMaxLength, "IR-shape",
                    {.found = length, .expected = words("at most {}", kMaxLength)},
                    "a signal has {} elements; at most {} can be transformed", length, kMaxLength);
    return length;
  }
};

void explain_axis(InferContext& context, FourierKind kind, std::size_t axis, const Dimension& data,
                  const Dimension& length, const Dimension& dim, bool last) {
  if (!context.explaining() || !dim.is_static()) return;
  if (last && kind == FourierKind::real_to_complex) {
    context.explain(0, axis, fmt::format("floor({} / 2) + 1 = {}", to_string(length), dim.value()));
  } else if (last && kind == FourierKind::complex_to_real && context.input_count() <= kSignalSize) {
    context.explain(0, axis, fmt::format("2 * ({} - 1) = {}", to_string(data), dim.value()));
  } else if (context.input_count() > kSignalSize) {
    context.explain(0, axis, fmt::format("signal size = {}", dim.value()));
  }
}

// Signal sizes, one for each axis that is named.
Lengths read_lengths(const InferContext& context, const Dimension& axis_count) {
  Lengths lengths{context, std::nullopt};
  if (context.input_count() <= kSignalSize) return lengths;
  const Dimension size_count = require_integer_vector(context, kSignalSize);
  context.require(axis_count.compatible(size_count), "IR-shape",
                  {.found = size_count,
                   .expected = axis_count,
                   .rule = words("input 1 names {} axes", axis_count),
                   .input = kSignalSize},
                  "input 1 names {} axes, input 2 has {} signal sizes", axis_count, size_count);
  lengths.sizes = context.elements(kSignalSize);
  return lengths;
}

// `dims`, without the axis of pairs, as the transform along `axes` leaves them.
void transform_dims(InferContext& context, FourierKind kind, const std::vector<std::size_t>& axes,
                    const Lengths& lengths, std::vector<Dimension>& dims) {
  context.require(kind == FourierKind::complex || !axes.empty(), "IR-value",
                  {.found = "no axis", .expected = "at least one", .input = kAxes}, "input 1 names no axis");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dimension& dim = dims[axes[i]];
    const Dimension from = dim;
    const bool last = kind != FourierKind::complex && i + 1 == axes.size();
    const bool halved = last && kind == FourierKind::real_to_complex;
    const bool doubled = last && kind == FourierKind::complex_to_real;
    const Dimension length = lengths.of(i, doubled ? whole_of(from) : from);
    dim = halved ? half_of(length) : length;
    explain_axis(context, kind, axes[i], from, length, dim, last);
  }
}

void infer_transform(InferContext& context, FourierKind kind) {
  context.require_inputs(2, 3);
  context.require_real(kData);
  const bool pairs_in = kind != FourierKind::real_to_complex;
  const bool pairs_out = kind != FourierKind::complex_to_real;
  require_min_rank(context, kData, pairs_in ? 2 : 1);
  const Dimension axis_count = require_integer_vector(context, kAxes);
  const Lengths lengths = read_lengths(context, axis_count);
  const PartialShape& data = context.shape(kData);
  if (!data.has_rank()) {
    context.set_output(0, context.type(kData), PartialShape());
    return;
  }
  std::vector<Dimension> dims = data.dims();
  if (pairs_in) {
    context.require(dims.back().compatible(2), "IR-shape",
                    {.found = dims.back(),
                     .expected = "2",
                     .rule = "it takes pairs of real and imaginary part",
                     .input = kData},
                    "input 0 has shape {}: its last axis takes pairs of real and imaginary part", data);
    dims.pop_back();
  }
  if (const auto axes = axes_input(context, kAxes, dims.size())) {
    transform_dims(context, kind, *axes, lengths, dims);
  } else {
    std::ranges::fill(dims, Dimension());
  }
  if (pairs_out) dims.emplace_back(2);
  context.set_output(0, context.type(kData), PartialShape(std::move(dims)));
}

PreparedKernel prepare_transform(const PrepareContext& context, FourierKind kind, FftDirection direction) {
  require_known_outputs(context);
  Shape data = context.shape(kData);
  if (kind != FourierKind::real_to_complex) data.pop_back();
  const std::vector<std::size_t> named = axes_input(context, kAxes, data.size());
  const bool sized = context.input_count() > kSignalSize;
  const std::vector<std::int64_t> sizes =
      sized ? context.integers(kSignalSize) : std::vector<std::int64_t>(named.size(), -1);
  if (context.output_size() == 0) return nothing_to_do("fourier");
  if (named.empty()) return PreparedKernel::view_of(kData);
  std::vector<kernels::FourierAxis> axes;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const bool halved = kind == FourierKind::real_to_complex && i + 1 == named.size();
    // Half a signal does not tell its length; otherwise the output has it.
    const std::int64_t length = !halved          ? context.output_shape()[named[i]]
                                : sizes[i] == -1 ? data[named[i]]
                                                 : sizes[i];
    axes.push_back({named[i], static_cast<std::size_t>(length)});
  }
  PreparedKernel prepared;
  prepared.name = "fourier";
  const bool found = with_real_type(context.type(kData), [&]<class T>() {
    const auto transform =
        std::make_shared<const kernels::FourierTransform<T>>(sizes_of(data), axes, kind, direction);
    prepared.scratch_bytes = transform->scratch_bytes();
    prepared.flops = transform->cost();
    prepared.run = [transform](const StepMemory& memory) {
      transform->run(memory.in<T>(kData), memory.out<T>(0), memory.scratch);
    };
  });
  if (!found) context.fail_unsupported("a Fourier transform of this element type");
  return prepared;
}

}  // namespace

void v7::DFT::infer(InferContext& context) const { infer_transform(context, FourierKind::complex); }
PreparedKernel v7::DFT::prepare(PrepareContext& context) const {
  return prepare_transform(context, FourierKind::complex, FftDirection::forward);
}

void v7::IDFT::infer(InferContext& context) const { infer_transform(context, FourierKind::complex); }
PreparedKernel v7::IDFT::prepare(PrepareContext& context) const {
  return prepare_transform(context, FourierKind::complex, FftDirection::inverse);
}

void v9::RDFT::infer(InferContext& context) const { infer_transform(context, FourierKind::real_to_complex); }
PreparedKernel v9::RDFT::prepare(PrepareContext& context) const {
  return prepare_transform(context, FourierKind::real_to_complex, FftDirection::forward);
}

void v9::IRDFT::infer(InferContext& context) const { infer_transform(context, FourierKind::complex_to_real); }
PreparedKernel v9::IRDFT::prepare(PrepareContext& context) const {
  return prepare_transform(context, FourierKind::complex_to_real, FftDirection::inverse);
}

}  // namespace ir::op
