#include "kernels/detection/prior_box.h"

#include <algorithm>
#include <cmath>

#include "ir_runtime/ops/detection.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/ops/sizes.h"

namespace ir::op {
namespace {

// Attributes ask for boxes by products of list lengths; no detector comes near these.
constexpr std::size_t kMaxListLength = 4096;
constexpr std::int64_t kMaxBoxesPerCell = 1 << 20;
constexpr double kMaxBoxSize = 1 << 30;
constexpr double kMaxDensity = 4096;
// Both are floats, and so are their reciprocals.
constexpr double kMinRatio = 1e-30;
constexpr double kMaxRatio = 1e30;
constexpr std::int64_t kMaxGridSize = std::int64_t{1} << 31;

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

void require_list(const InferContext& context, std::string_view name, const std::vector<double>& values,
                  double min, double max) {
  context.require(values.size() <= kMaxListLength, "IR-attribute-size",
                  {.found = values.size(), .expected = words("up to {}", kMaxListLength)},
                  "{} has {} values; it takes up to {}", name, values.size(), kMaxListLength);
  for (const double value : values) {
    context.require(value >= min && value <= max, "IR-attribute-range",
                    {.found = value, .expected = words("values from {} to {}", min, max)},
                    "{} holds {}; it takes values from {} to {}", name, value, min, max);
  }
}

void require_variance(const InferContext& context, const std::vector<double>& variance) {
  context.require(variance.empty() || variance.size() == 1 || variance.size() == 4, "IR-attribute-size",
                  {.found = variance.size(), .expected = "none, one or four"},
                  "variance has {} values; it takes none, one or four", variance.size());
}

void require_finite(const InferContext& context, std::string_view name, double value) {
  context.require(std::isfinite(value), "IR-attribute-range", {.found = value, .expected = "a finite number"},
                  "{} is {}; it takes a finite number", name, value);
}

kernels::PriorBoxParams params_of(const PriorBoxAttributes& op) {
  kernels::PriorBoxParams params;
  params.min_size = floats(op.min_size);
  params.max_size = floats(op.max_size);
  params.aspect_ratio = floats(op.aspect_ratio);
  params.density = floats(op.density);
  params.fixed_ratio = floats(op.fixed_ratio);
  params.fixed_size = floats(op.fixed_size);
  params.variance = floats(op.variance);
  params.clip = op.clip;
  params.flip = op.flip;
  params.step = static_cast<float>(op.step);
  params.offset = static_cast<float>(op.offset);
  params.scale_all_sizes = op.scale_all_sizes;
  return params;
}

void require_attributes(const InferContext& context, const PriorBoxAttributes& op) {
  require_list(context, "min_size", op.min_size, 0, kMaxBoxSize);
  require_list(context, "max_size", op.max_size, 0, kMaxBoxSize);
  require_list(context, "aspect_ratio", op.aspect_ratio, kMinRatio, kMaxRatio);
  require_list(context, "density", op.density, 1, kMaxDensity);
  require_list(context, "fixed_ratio", op.fixed_ratio, kMinRatio, kMaxRatio);
  require_list(context, "fixed_size", op.fixed_size, 0, kMaxBoxSize);
  require_variance(context, op.variance);
  require_finite(context, "step", op.step);
  require_finite(context, "offset", op.offset);
  // What a cell can come to; the list lengths are bounded, so this does not overflow.
  const auto count = [](const std::vector<double>& values) { return static_cast<double>(values.size()); };
  const double ratios = 2 * count(op.aspect_ratio) + count(op.fixed_ratio) + 2;
  double boxes = count(op.min_size) * ratios + count(op.max_size);
  for (std::size_t i = 0; i < std::max(op.fixed_size.size(), op.density.size()); ++i) {
    const double density = i < op.density.size() ? op.density[i] : 1;
    boxes += density * density * ratios;
  }
  context.require(boxes <= static_cast<double>(kMaxBoxesPerCell), "IR-attribute-size",
                  {.found = words("about {}", boxes), .expected = words("at most {}", kMaxBoxesPerCell)},
                  "the sizes, ratios and densities ask for about {} boxes per cell; at most {} are possible",
                  boxes, kMaxBoxesPerCell);
}

// Output [2, height * width * boxes * 4]; checks both inputs.
void infer_boxes(InferContext& context, std::size_t boxes_per_cell) {
  context.require_inputs(2);
  SharedDim two{"the number of sizes", 2};
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
    context.require_integer(index);
    unify(context, index, {&two});
  }
  if (const auto image = context.integers(1); image && image->size() == 2) {
    context.require(
        (*image)[0] >= 1 && (*image)[1] >= 1, "IR-value",
        {.found = words("{} x {}", (*image)[0], (*image)[1]), .expected = "at least 1 x 1", .input = 1},
        "input 1 gives an image of {} x {}", (*image)[0], (*image)[1]);
  }
  Dimension length;
  if (const auto grid = context.elements(0); grid && grid->size() == 2) {
    for (const Dimension& size : *grid) {
      context.require(size.max() >= 0 && size.min() <= kMaxGridSize, "IR-value",
                      {.found = words("{} x {}", (*grid)[0], (*grid)[1]),
                       .expected = words("sizes from 0 to {}", kMaxGridSize),
                       .input = 0},
                      "input 0 gives a grid of {} x {}", (*grid)[0], (*grid)[1]);
    }
    const auto cells = [](const Dimension& size) {
      return Dimension(std::max<std::int64_t>(size.min(), 0), size.max());
    };
    const auto boxes = static_cast<std::int64_t>(boxes_per_cell);
    length = cells((*grid)[0]) * cells((*grid)[1]) * Dimension(boxes) * Dimension(4);
    if (context.explaining() && length.is_static()) {
      context.explain(0, 1,
                      fmt::format("{} * {} * {} * 4 = {}", (*grid)[0].value(), (*grid)[1].value(), boxes,
                                  length.value()));
    }
  }
  context.set_output(0, ElementType::f32, PartialShape{2, length});
}

kernels::PriorBoxGrid grid_of(const PrepareContext& context) {
  const std::vector<std::int64_t> grid = context.integers(0);
  const std::vector<std::int64_t> image = context.integers(1);
  return {size_of(grid[0]), size_of(grid[1]), size_of(image[0]), size_of(image[1])};
}

// The inputs say all there is to know: `write` fills the output.
template <class Write>
PreparedKernel prepare_boxes(const PrepareContext& context, std::string name, Write write) {
  if (!context.outputs_static() || context.output_size() == 0) return nothing_to_do(name);
  PreparedKernel prepared;
  prepared.name = std::move(name);
  prepared.run = [write = std::move(write), grid = grid_of(context)](const StepMemory& memory) {
    write(grid, memory.out<float>(0));
  };
  return prepared;
}

PreparedKernel prepare_prior_box(const PrepareContext& context, kernels::PriorBoxParams params) {
  return prepare_boxes(context, "prior_box",
                       [params = std::move(params)](const kernels::PriorBoxGrid& grid, float* out) {
                         kernels::prior_box(params, grid, out);
                       });
}

kernels::PriorBoxParams params_of(const v8::PriorBox& op) {
  kernels::PriorBoxParams params = params_of(static_cast<const PriorBoxAttributes&>(op));
  params.min_max_aspect_ratios_order = op.min_max_aspect_ratios_order;
  return params;
}

}  // namespace

void v0::PriorBox::infer(InferContext& context) const {
  require_attributes(context, *this);
  infer_boxes(context, kernels::prior_box_count(params_of(*this)));
}
PreparedKernel v0::PriorBox::prepare(PrepareContext& context) const {
  return prepare_prior_box(context, params_of(*this));
}

void v8::PriorBox::infer(InferContext& context) const {
  require_attributes(context, *this);
  infer_boxes(context, kernels::prior_box_count(params_of(*this)));
}
PreparedKernel v8::PriorBox::prepare(PrepareContext& context) const {
  return prepare_prior_box(context, params_of(*this));
}

void v0::PriorBoxClustered::infer(InferContext& context) const {
  require_list(context, "width", width, -kMaxBoxSize, kMaxBoxSize);
  require_list(context, "height", height, -kMaxBoxSize, kMaxBoxSize);
  context.require(width.size() == height.size(), "IR-attribute-size",
                  {.found = height.size(), .expected = width.size(), .rule = "both take as many"},
                  "width has {} values, height has {}; both take as many", width.size(), height.size());
  require_variance(context, variance);
  require_finite(context, "step", step);
  require_finite(context, "step_w", step_w);
  require_finite(context, "step_h", step_h);
  require_finite(context, "offset", offset);
  infer_boxes(context, width.size());
}

PreparedKernel v0::PriorBoxClustered::prepare(PrepareContext& context) const {
  kernels::PriorBoxClusteredParams params;
  params.width = floats(width);
  params.height = floats(height);
  params.variance = floats(variance);
  params.clip = clip;
  params.step = static_cast<float>(step);
  params.step_w = static_cast<float>(step_w);
  params.step_h = static_cast<float>(step_h);
  params.offset = static_cast<float>(offset);
  return prepare_boxes(context, "prior_box_clustered",
                       [params = std::move(params)](const kernels::PriorBoxGrid& grid, float* out) {
                         kernels::prior_box_clustered(params, grid, out);
                       });
}

}  // namespace ir::op
