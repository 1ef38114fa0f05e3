#include "ir_runtime/ops/convolution.h"

#include <limits>
#include <optional>

#include "runtime/ops/convolution_kernel.h"
#include "runtime/ops/infer.h"

namespace ir::op {
namespace {

constexpr std::size_t kMaxSpatialRank = 3;  // of the operations of the opsets

constexpr FilterLayout kPlain{};
constexpr FilterLayout kGrouped{.grouped = true};
constexpr FilterLayout kTransposed{.transposed = true};
constexpr FilterLayout kGroupedTransposed{.grouped = true, .transposed = true};

constexpr WindowNames kNGraphNames{.strides = "window_movement_strides",
                                   .dilations = "window_dilation_strides",
                                   .pads_begin = "padding_below",
                                   .pads_end = "padding_above"};

WindowAttributes window_of(const ngraph::Convolution& convolution) {
  return {.strides = convolution.window_movement_strides,
          .dilations = convolution.window_dilation_strides,
          .pads_begin = convolution.padding_below,
          .pads_end = convolution.padding_above,
          .auto_pad = convolution.pad_type,
          .data_dilations = convolution.data_dilation_strides,
          .names = kNGraphNames};
}

// From whichever input or attribute tells it; inputs must agree, checked_window compares the attributes.
std::optional<std::size_t> spatial_rank_of(const InferContext& context, const WindowAttributes& window,
                                           const FilterLayout& layout) {
  const PartialShape& image = context.shape(0);
  const PartialShape& filters = context.shape(1);
  if (image.has_rank() && filters.has_rank()) {
    const std::size_t axes = layout.window_axis() - 2;
    context.require(image.rank() + axes == filters.rank(), "IR-rank",
                    {.found = filters,
                     .expected = words("rank {}", image.rank() + axes),
                     .rule = words("input 0 has rank {}", image.rank()),
                     .input = 1},
                    "input 0 has shape {} of rank {}, which takes filters of rank {}; input 1 has shape {}",
                    image, image.rank(), image.rank() + axes, filters);
  }
  if (image.has_rank()) return image.rank() - 2;
  if (filters.has_rank()) return filters.rank() - layout.window_axis();
  if (context.input_count() == 3 && context.shape(2).has_rank() && context.shape(2)[0].is_static()) {
    return static_cast<std::size_t>(context.shape(2)[0].value());
  }
  for (const auto* list :
       {&window.strides, &window.dilations, &window.data_dilations, &window.output_padding}) {
    if (!list->empty()) return list->size();
  }
  // Beside auto_pad, pads mean nothing.
  if (window.auto_pad != AutoPad::explicit_) return std::nullopt;
  for (const auto* list : {&window.pads_begin, &window.pads_end}) {
    if (!list->empty()) return list->size();
  }
  return std::nullopt;
}

// The output's channels, once those of the image and the filters have been compared.
Dimension infer_channels(InferContext& context, const FilterLayout& layout) {
  const PartialShape& image = context.shape(0);
  const PartialShape& filters = context.shape(1);
  if (!filters.has_rank()) return {};
  const Dimension& taken = filters[layout.in_axis()];
  Dimension groups = layout.grouped ? filters[0] : Dimension(1);
  context.require(groups.max() >= 1, "IR-shape", {.found = groups, .expected = "at least 1", .input = 1},
                  "input 1 has shape {}: there must be a group", filters);
  if (image.has_rank()) {
    const Dimension& channels = image[1];
    if (!groups.is_static() && channels.is_static() && taken.is_static() && taken.value() >= 1 &&
        channels.value() % taken.value() == 0) {
      groups = groups.merged(Dimension(channels.value() / taken.value())).value_or(groups);
    }
    const bool divisible = !channels.is_static() || !taken.is_static() || taken.value() == 0 ||
                           channels.value() % taken.value() == 0;
    if (!divisible || !channels.compatible(groups * taken)) {
      const std::string wanted = layout.grouped
                                     ? fmt::format("{} groups of {}", to_string(groups), to_string(taken))
                                     : to_string(taken);
      context.fail("IR-shape",
                   fmt::format("input 0 of shape {} has {} channels, input 1 of shape {} takes {}",
                               to_string(image), to_string(channels), to_string(filters), wanted),
                   Compared{to_string(channels), wanted, {}, 0});
    }
  }
  const Dimension per_group = filters[layout.out_axis()];
  const Dimension total = groups * per_group;
  if (context.explaining() && layout.grouped && total.is_static()) {
    context.explain(
        0, 1, fmt::format("{} groups * {} channels = {}", groups.value(), per_group.value(), total.value()));
  }
  return total;
}

std::vector<Dimension> spatial_dims(const PartialShape& shape, std::size_t first, std::size_t count) {
  if (!shape.has_rank()) return std::vector<Dimension>(count);
  return {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()};
}

// The spatial dims that input 2 asks for.
std::vector<Dimension> wanted_dims(InferContext& context, std::size_t spatial_rank) {
  const auto count = static_cast<std::int64_t>(spatial_rank);
  const PartialShape& shape = context.shape(2);
  context.require(!shape.has_rank() || shape[0].compatible(count), "IR-shape",
                  {.found = shape,
                   .expected = words("[{}]", count),
                   .rule = words("there are {} spatial axes", count),
                   .input = 2},
                  "input 2 of shape {} gives the output dims of {} spatial axes", shape, count);
  const auto elements = context.elements(2);
  if (!elements || elements->size() != spatial_rank) return std::vector<Dimension>(spatial_rank);
  std::vector<Dimension> dims;
  for (std::size_t axis = 0; axis < spatial_rank; ++axis) {
    const Dimension& dim = (*elements)[axis];
    context.require(dim.max() >= 0, "IR-shape", {.found = dim, .expected = "at least 0", .input = 2},
                    "input 2 asks for {} elements on spatial axis {}", dim, axis);
    dims.emplace_back(std::max<std::int64_t>(dim.min(), 0), dim.max());
    if (context.explaining() && dim.is_static()) {
      context.explain(0, axis + 2, fmt::format("element {} of input 2 = {}", axis, dim.value()));
    }
  }
  return dims;
}

void infer_any(InferContext& context, const WindowAttributes& given, const FilterLayout& layout,
               std::size_t max_spatial_rank, bool negative_pads = false) {
  context.require_number(0);
  const ElementType type = context.require_same_type({0, 1});
  const PartialShape& image = context.shape(0);
  const auto spatial_rank = spatial_rank_of(context, given, layout);
  if (!spatial_rank) {
    context.set_output(0, type, PartialShape());
    return;
  }
  context.require(*spatial_rank >= 1 && *spatial_rank <= max_spatial_rank, "IR-rank",
                  {.found = *spatial_rank, .expected = words("1 to {}", max_spatial_rank)},
                  "has {} spatial axes; it takes 1 to {}", *spatial_rank, max_spatial_rank);
  PartialShape output{image.has_rank() ? image[0] : Dimension(), infer_channels(context, layout)};
  const WindowAttributes window = checked_window(context, given, *spatial_rank, negative_pads);
  const std::vector<Dimension> image_dims = spatial_dims(image, 2, *spatial_rank);
  const std::vector<Dimension> window_dims =
      spatial_dims(context.shape(1), layout.window_axis(), *spatial_rank);
  std::vector<Dimension> dims;
  if (context.input_count() == 3) {
    dims = wanted_dims(context, *spatial_rank);
  } else if (layout.transposed) {
    dims = transposed_output_dims(context, image_dims, window_dims, window, 0, 2);
  } else {
    dims = window_output_dims(context, image_dims, window_dims, window, 0, 2);
  }
  for (const Dimension& dim : dims) output.push_back(dim);
  context.set_output(0, type, output);
}

// Convolutions of the opsets.
template <class Attributes>
void infer_convolution(InferContext& context, const Attributes& attributes, const FilterLayout& layout) {
  context.require_inputs(2, layout.transposed ? 3 : 2);
  if (context.input_count() == 3) {
    context.require_integer(2);
    context.require_rank(2, 1);
  }
  context.require_rank(0, 3, 2 + kMaxSpatialRank);
  context.require_rank(1, layout.window_axis() + 1, layout.window_axis() + kMaxSpatialRank);
  infer_any(context, op::window_of(attributes), layout, kMaxSpatialRank);
}

}  // namespace

void v1::Convolution::infer(InferContext& context) const { infer_convolution(context, *this, kPlain); }
PreparedKernel v1::Convolution::prepare(PrepareContext& context) const {
  return prepare_convolution(context, op::window_of(*this), kPlain);
}

void v1::GroupConvolution::infer(InferContext& context) const { infer_convolution(context, *this, kGrouped); }
PreparedKernel v1::GroupConvolution::prepare(PrepareContext& context) const {
  return prepare_convolution(context, op::window_of(*this), kGrouped);
}

void v1::ConvolutionBackpropData::infer(InferContext& context) const {
  infer_convolution(context, *this, kTransposed);
}
PreparedKernel v1::ConvolutionBackpropData::prepare(PrepareContext& context) const {
  return prepare_convolution(context, op::window_of(*this), kTransposed, context.input_count() == 3);
}

void v1::GroupConvolutionBackpropData::infer(InferContext& context) const {
  infer_convolution(context, *this, kGroupedTransposed);
}
PreparedKernel v1::GroupConvolutionBackpropData::prepare(PrepareContext& context) const {
  return prepare_convolution(context, op::window_of(*this), kGroupedTransposed, context.input_count() == 3);
}

void ngraph::Convolution::infer(InferContext& context) const {
  context.require_inputs(2);
  for (const std::size_t index : {0U, 1U}) {
    const PartialShape& shape = context.shape(index);
    context.require(!shape.has_rank() || shape.rank() >= 3, "IR-rank",
                    {.found = shape, .expected = "a rank of at least 3", .input = index},
                    "input {} has shape {} of rank {}, Convolution takes a rank of at least 3", index, shape,
                    shape.rank());
  }
  infer_any(context, window_of(*this), kPlain, std::numeric_limits<std::size_t>::max(), true);
}
PreparedKernel ngraph::Convolution::prepare(PrepareContext& context) const {
  return prepare_convolution(context, window_of(*this), kPlain);
}

}  // namespace ir::op
