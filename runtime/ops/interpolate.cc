#include "ir_runtime/ops/interpolate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/image/interpolate.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/windows.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr std::int64_t kMaxPad = std::int64_t{1} << 31;

// Where Interpolate finds what, and what it does: all versions come to this.
struct Resize {
  InterpolateAttributes attributes;
  std::size_t sizes_input = 1;
  std::size_t scales_input = 1;
  std::optional<std::size_t> axes_input;
  std::optional<std::vector<std::int64_t>> fixed_axes = std::nullopt;  // from an attribute
};

// What the kernel takes.
constexpr std::size_t kMaxRank = 32;

void fill_pads(std::vector<std::int64_t>& pads, std::size_t rank) { pads.resize(rank, 0); }

std::optional<std::vector<std::size_t>> resized_axes(const InferContext& context, const Resize& resize,
                                                     std::size_t rank) {
  if (resize.fixed_axes) {
    std::vector<std::size_t> axes;
    for (const std::int64_t axis : *resize.fixed_axes) {
      axes.push_back(context.require_axis(axis, rank, "axis"));
      context.require(std::ranges::count(axes, axes.back()) == 1, "IR-axis",
                      {.found = words("axis {} twice", axes.back()), .expected = "each axis once"},
                      "axis {} is given twice", axes.back());
    }
    return axes;
  }
  if (resize.axes_input) {
    context.require_rank(*resize.axes_input, 1);
    return axes_input(context, *resize.axes_input, rank);
  }
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

// The vector at `index` has an entry for each axis.
void require_entries(const InferContext& context, std::size_t index, std::size_t axes) {
  context.require_rank(index, 1);
  const PartialShape& shape = context.shape(index);
  context.require(!shape.has_rank() || shape[0].max() >= static_cast<std::int64_t>(axes), "IR-shape",
                  {.found = shape,
                   .expected = words("at least {} elements", axes),
                   .rule = words("there are {} axes to resize", axes),
                   .input = index},
                  "input {} has shape {}, there are {} axes to resize", index, shape, axes);
}

// OpenVINO adds this before it rounds down, so that 3 * (1 / 3) makes 1.
constexpr float kScaleEpsilon = 1.0e-6F;

std::int64_t scaled(const InferContext& context, std::int64_t size, float scale) {
  if (size == Dimension::kUnbounded || scale == 1.0F) return size;
  const float product = static_cast<float>(size) * (scale + kScaleEpsilon);
  context.require(product < 0x1p62F, "IR-shape",
                  {.found = words("{} * {}", size, scale), .expected = "a number that can be counted"},
                  "{} elements times {} are more than can be counted", size, scale);
  return static_cast<std::int64_t>(product);
}

void resize_by_sizes(InferContext& context, std::size_t index, std::span<const std::size_t> axes,
                     PartialShape& shape) {
  context.require_integer(index);
  require_entries(context, index, axes.size());
  auto sizes = context.elements(index);
  if (!sizes || sizes->size() < axes.size()) sizes.emplace(axes.size(), kUnknownElement);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dimension& size = (*sizes)[i];
    shape[axes[i]] = require_size(context, index, size, "size {} of axis {} is negative", size, axes[i]);
    if (context.explaining()) {
      context.explain(0, axes[i], fmt::format("size {} of input {} = {}", i, index, to_string(size)));
    }
  }
}

void resize_by_scales(InferContext& context, std::size_t index, std::span<const std::size_t> axes,
                      PartialShape& shape) {
  context.require_real(index);
  require_entries(context, index, axes.size());
  const auto scales = context.known_reals(index);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dimension& dim = shape[axes[i]];
    if (!scales || i >= scales->size() || !(*scales)[i]) {
      dim = Dimension();
      continue;
    }
    const auto scale = static_cast<float>(*(*scales)[i]);
    context.require(scale > 0.0F && std::isfinite(scale), "IR-value",
                    {.found = scale, .expected = "a positive number", .input = index},
                    "scale {} of axis {} is {}", i, axes[i], scale);
    const Dimension from = dim;
    dim = Dimension(scaled(context, from.min(), scale), scaled(context, from.max(), scale));
    if (context.explaining()) {
      context.explain(0, axes[i], fmt::format("floor({} * {}) = {}", to_string(from), scale, to_string(dim)));
    }
  }
}

void infer_resize(InferContext& context, Resize resize) {
  context.require_number(0);
  InterpolateAttributes& attributes = resize.attributes;
  const PartialShape& data = context.shape(0);
  if (!data.has_rank()) {
    context.set_output(0, context.type(0), PartialShape());
    return;
  }
  context.require_rank(0, 1, kMaxRank);
  const std::size_t rank = data.rank();
  fill_pads(attributes.pads_begin, rank);
  fill_pads(attributes.pads_end, rank);
  PartialShape shape = data;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    for (const std::int64_t pad : {attributes.pads_begin[axis], attributes.pads_end[axis]}) {
      context.require(pad >= 0 && pad <= kMaxPad, "IR-attribute-range",
                      {.found = pad, .expected = words("0 to {}", kMaxPad)},
                      "axis {} is padded by {}; pads take 0 to {}", axis, pad, kMaxPad);
      shape[axis] = shape[axis] + Dimension(pad);
    }
  }
  const auto axes = resized_axes(context, resize, rank);
  if (!axes) {
    context.set_output(0, context.type(0), PartialShape::of_rank(rank));
    return;
  }
  const bool pillow = attributes.mode == InterpolateMode::bilinear_pillow ||
                      attributes.mode == InterpolateMode::bicubic_pillow;
  context.require(!pillow || axes->size() == 2, "IR-axis",
                  {.found = axes->size(), .expected = "2", .rule = "the Pillow modes resize 2 axes"},
                  "the Pillow modes resize 2 axes, not {}", axes->size());
  if (attributes.shape_calculation_mode == ShapeCalculation::sizes) {
    resize_by_sizes(context, resize.sizes_input, *axes, shape);
  } else {
    resize_by_scales(context, resize.scales_input, *axes, shape);
  }
  for (const std::size_t axis : *axes) {
    context.require(data[axis].max() > 0 || shape[axis].min() <= 0, "IR-shape",
                    {.found = data[axis],
                     .expected = "at least 1",
                     .rule = words("it is resized to {}", shape[axis]),
                     .input = 0},
                    "axis {} of input 0 is empty and cannot be resized to {}", axis, shape[axis]);
  }
  context.set_output(0, context.type(0), shape);
}

kernels::InterpolateMode kernel_mode(InterpolateMode mode) {
  switch (mode) {
    case InterpolateMode::nearest:
      return kernels::InterpolateMode::nearest;
    case InterpolateMode::linear:
      return kernels::InterpolateMode::linear;
    case InterpolateMode::linear_onnx:
      return kernels::InterpolateMode::linear_onnx;
    case InterpolateMode::cubic:
      return kernels::InterpolateMode::cubic;
    case InterpolateMode::bilinear_pillow:
      return kernels::InterpolateMode::bilinear_pillow;
    case InterpolateMode::bicubic_pillow:
      break;
  }
  return kernels::InterpolateMode::bicubic_pillow;
}

kernels::CoordinateMode kernel_mode(CoordinateMode mode) {
  switch (mode) {
    case CoordinateMode::half_pixel:
      return kernels::CoordinateMode::half_pixel;
    case CoordinateMode::pytorch_half_pixel:
      return kernels::CoordinateMode::pytorch_half_pixel;
    case CoordinateMode::asymmetric:
      return kernels::CoordinateMode::asymmetric;
    case CoordinateMode::tf_half_pixel_for_nn:
      return kernels::CoordinateMode::tf_half_pixel_for_nn;
    case CoordinateMode::align_corners:
      break;
  }
  return kernels::CoordinateMode::align_corners;
}

kernels::NearestMode kernel_mode(NearestMode mode) {
  switch (mode) {
    case NearestMode::round_prefer_floor:
      return kernels::NearestMode::round_prefer_floor;
    case NearestMode::round_prefer_ceil:
      return kernels::NearestMode::round_prefer_ceil;
    case NearestMode::floor:
      return kernels::NearestMode::floor;
    case NearestMode::ceil:
      return kernels::NearestMode::ceil;
    case NearestMode::simple:
      break;
  }
  return kernels::NearestMode::simple;
}

// Elements of the input that one of the output is computed from, at most.
double taps_of(InterpolateMode mode, std::size_t axes) {
  switch (mode) {
    case InterpolateMode::nearest:
      return 0;
    case InterpolateMode::cubic:
    case InterpolateMode::bicubic_pillow:
      return std::pow(4.0, static_cast<double>(axes));
    default:
      return std::pow(2.0, static_cast<double>(axes));
  }
}

kernels::InterpolateParams params_of(const PrepareContext& context, const Resize& resize) {
  const InterpolateAttributes& attributes = resize.attributes;
  const std::size_t rank = context.shape(0).size();
  kernels::InterpolateParams params;
  params.in_dims = sizes_of(context.shape(0));
  params.out_dims = sizes_of(context.output_shape());
  std::vector<std::int64_t> begin = attributes.pads_begin;
  std::vector<std::int64_t> end = attributes.pads_end;
  fill_pads(begin, rank);
  fill_pads(end, rank);
  params.pads_begin = sizes_of(begin);
  params.pads_end = sizes_of(end);
  if (resize.fixed_axes) {
    params.axes = sizes_of(*resize.fixed_axes);
  } else if (resize.axes_input) {
    params.axes = axes_input(context, *resize.axes_input, rank);
  } else {
    params.axes.resize(rank);
    std::iota(params.axes.begin(), params.axes.end(), std::size_t{0});
  }
  std::vector<double> scales;
  if (attributes.shape_calculation_mode == ShapeCalculation::scales)
    scales = context.reals(resize.scales_input);
  for (std::size_t i = 0; i < params.axes.size(); ++i) {
    const std::size_t axis = params.axes[i];
    const std::size_t padded = params.in_dims[axis] + params.pads_begin[axis] + params.pads_end[axis];
    params.scales.push_back(scales.empty()
                                ? static_cast<float>(params.out_dims[axis]) / static_cast<float>(padded)
                                : static_cast<float>(scales[i]));
  }
  params.mode = kernel_mode(attributes.mode);
  params.coordinates = kernel_mode(attributes.coordinate_transformation_mode);
  params.nearest = kernel_mode(attributes.nearest_mode);
  params.antialias = attributes.antialias;
  params.cube_coeff = static_cast<float>(attributes.cube_coeff);
  return params;
}

PreparedKernel prepare_resize(PrepareContext& context, const Resize& resize) {
  require_known_outputs(context);
  if (context.output_size() == 0) return nothing_to_do("interpolate");
  // Equal sizes map every element to itself, but for the smoothing that a given scale asks for.
  const auto none = [](const std::vector<std::int64_t>& pads) {
    return std::ranges::count(pads, 0) == std::ssize(pads);
  };
  if (context.shape(0) == context.output_shape() && none(resize.attributes.pads_begin) &&
      none(resize.attributes.pads_end) && !resize.attributes.antialias) {
    return PreparedKernel::view_of(0);
  }
  const kernels::InterpolateParams params = params_of(context, resize);
  for (const auto& [positions, bytes_each] : kernels::interpolate_tables(params))
    context.require_table(positions, bytes_each);
  const auto interpolate = std::make_shared<const kernels::Interpolate>(params);
  PreparedKernel kernel;
  kernel.name = fmt::format("interpolate/{}",
                            kInterpolateModeSpellings[static_cast<std::size_t>(resize.attributes.mode)].name);
  const bool found = with_arithmetic_type(context.type(0), [&]<class T>() {
    kernel.scratch_bytes = interpolate->scratch_bytes(sizeof(T));
    kernel.run = [interpolate](const StepMemory& memory) {
      interpolate->run(memory.in<T>(0), memory.out<T>(0), memory.scratch);
    };
  });
  const InterpolateMode mode = resize.attributes.mode;
  kernel.per_target = context.type(0) == ElementType::f32 &&
                      (mode == InterpolateMode::linear || mode == InterpolateMode::linear_onnx ||
                       mode == InterpolateMode::cubic);
  if (!found) context.fail_unsupported(fmt::format("Interpolate of type {}", name_of(context.type(0))));
  kernel.flops =
      2.0 * static_cast<double>(context.output_size()) * taps_of(resize.attributes.mode, params.axes.size());
  return kernel;
}

// Pads of v0: one number is for every axis that is resized.
std::vector<std::int64_t> spread_pads(const std::vector<std::int64_t>& pads,
                                      const std::vector<std::int64_t>& axes, std::size_t rank) {
  if (pads.size() != 1) return pads;
  std::vector<std::int64_t> spread(rank, 0);
  for (const std::int64_t axis : axes) {
    if (axis >= 0 && axis < static_cast<std::int64_t>(rank)) spread[static_cast<std::size_t>(axis)] = pads[0];
  }
  return spread;
}

Resize resize_of(const v0::Interpolate& op, std::size_t rank) {
  // A set to OpenVINO, whatever the order in which it is written.
  std::vector<std::int64_t> axes = op.axes;
  std::ranges::sort(axes);
  Resize resize;
  resize.fixed_axes = axes;
  InterpolateAttributes& attributes = resize.attributes;
  attributes.antialias = op.antialias;
  attributes.nearest_mode = NearestMode::simple;
  attributes.pads_begin = spread_pads(op.pads_begin, axes, rank);
  attributes.pads_end = spread_pads(op.pads_end, axes, rank);
  switch (op.mode) {
    case InterpolateMode1::linear:
      attributes.mode = rank < 5 ? InterpolateMode::linear_onnx : InterpolateMode::linear;
      break;
    case InterpolateMode1::cubic:
      attributes.mode = InterpolateMode::cubic;
      break;
    case InterpolateMode1::nearest:
    case InterpolateMode1::area:
      attributes.mode = InterpolateMode::nearest;
      break;
  }
  // OpenVINO's choice of coordinates: those of TensorFlow for images, ONNX's for everything else.
  const bool image = rank == 4 && axes == std::vector<std::int64_t>{2, 3};
  if (op.align_corners) {
    attributes.coordinate_transformation_mode = CoordinateMode::align_corners;
  } else if (op.mode == InterpolateMode1::linear && has_no_pads(op) && !image) {
    attributes.coordinate_transformation_mode = CoordinateMode::half_pixel;
  } else {
    attributes.coordinate_transformation_mode = CoordinateMode::asymmetric;
  }
  return resize;
}

Resize resize_of(const v4::Interpolate& op, std::size_t input_count) {
  Resize resize{op, 1, 2, std::nullopt};
  if (input_count == 4) resize.axes_input = 3;
  return resize;
}

Resize resize_of(const v11::Interpolate& op, std::size_t input_count) {
  Resize resize{op, 1, 1, std::nullopt};
  if (input_count == 3) resize.axes_input = 2;
  return resize;
}

}  // namespace

void v0::Interpolate::infer(InferContext& context) const {
  context.require_inputs(2);
  infer_resize(context, resize_of(*this, context.shape(0).rank()));
}
PreparedKernel v0::Interpolate::prepare(PrepareContext& context) const {
  if (mode == InterpolateMode1::area) context.fail_unsupported("Interpolate in mode area");
  return prepare_resize(context, resize_of(*this, context.shape(0).size()));
}

void v4::Interpolate::infer(InferContext& context) const {
  context.require_inputs(3, 4);
  infer_resize(context, resize_of(*this, context.input_count()));
}
PreparedKernel v4::Interpolate::prepare(PrepareContext& context) const {
  return prepare_resize(context, resize_of(*this, context.input_count()));
}

void v11::Interpolate::infer(InferContext& context) const {
  context.require_inputs(2, 3);
  infer_resize(context, resize_of(*this, context.input_count()));
}
PreparedKernel v11::Interpolate::prepare(PrepareContext& context) const {
  return prepare_resize(context, resize_of(*this, context.input_count()));
}

}  // namespace ir::op
