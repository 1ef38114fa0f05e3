#include "runtime/ops/windows.h"

#include <algorithm>

namespace ir::op {
namespace {

// Sizes beyond that would overflow products with numbers of windows; no real model comes near.
constexpr std::int64_t kMaxImage = std::int64_t{1} << 41;

// What one axis of a window comes to, with the pads that belong to it.
struct Resolved {
  std::int64_t out = 0;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return -floor_divide(-a, b); }

std::int64_t dilated(std::int64_t size, std::int64_t dilation) {
  return size == 0 ? 0 : (size - 1) * dilation + 1;
}

Resolved resolve(std::int64_t in, std::int64_t kernel, const WindowAttributes& window, std::size_t axis) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t span = dilated(kernel, window.dilations[axis]);
  switch (window.auto_pad) {
    case AutoPad::same_upper:
    case AutoPad::same_lower: {
      const std::int64_t out = ceil_divide(in, stride);
      const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * stride + span - in);
      const std::int64_t smaller = total / 2;
      const bool upper = window.auto_pad == AutoPad::same_upper;
      return {out, upper ? smaller : total - smaller, upper ? total - smaller : smaller};
    }
    case AutoPad::valid:
    case AutoPad::explicit_:
      break;
  }
  const bool pads = window.auto_pad == AutoPad::explicit_;
  const std::int64_t begin = pads ? window.pads_begin[axis] : 0;
  const std::int64_t end = pads ? window.pads_end[axis] : 0;
  const std::int64_t room = in + begin + end - span;
  if (window.rounding == Rounding14::floor) return {floor_divide(room, stride) + 1, begin, end};
  std::int64_t out = ceil_divide(room, stride) + 1;
  if (window.rounding == Rounding14::ceil_torch && (out - 1) * stride >= in + begin) --out;
  return {out, begin, end};
}

std::string rule_of(std::int64_t in, std::int64_t kernel, const WindowAttributes& window, std::size_t axis) {
  const Resolved resolved = resolve(in, kernel, window, axis);
  const std::int64_t stride = window.strides[axis];
  const std::int64_t span = dilated(kernel, window.dilations[axis]);
  switch (window.auto_pad) {
    case AutoPad::same_upper:
    case AutoPad::same_lower:
      return fmt::format("{}: ceil({} / {}) = {}",
                         window.auto_pad == AutoPad::same_upper ? "same_upper" : "same_lower", in, stride,
                         resolved.out);
    case AutoPad::valid:
    case AutoPad::explicit_:
      break;
  }
  const bool pads = window.auto_pad == AutoPad::explicit_;
  const std::string padding =
      pads ? fmt::format(" + {} + {}", window.pads_begin[axis], window.pads_end[axis]) : "";
  std::string rule =
      fmt::format("{}{}(({}{} - {}) / {}) + 1",
                  pads ? "" : "valid: ", window.rounding == Rounding14::floor ? "floor" : "ceil", in, padding,
                  span, stride);
  const std::int64_t room = in + resolved.pad_begin + resolved.pad_end - span;
  const std::int64_t plain_ceil = ceil_divide(room, stride) + 1;
  if (window.rounding == Rounding14::ceil_torch && resolved.out != plain_ceil) {
    rule += " - 1 (the last window would start in the padding)";
  }
  return fmt::format("{} = {}", rule, resolved.out);
}

// A size with a factor that it will be multiplied by. Only bounds of dynamic dims may exceed the limit: they
// say nothing then.
struct ImageAxis {
  std::int64_t min = 0;
  std::int64_t max = 0;  // meaningful if bounded
  bool bounded = false;

  ImageAxis(const InferContext& context, const Dimension& size, std::int64_t factor, std::size_t axis) {
    const std::int64_t limit = kMaxImage / factor;
    context.require(!size.is_static() || size.value() <= limit, "IR-window",
                    {.found = size, .expected = words("at most {}", limit)},
                    "spatial axis {} has size {}; windows take at most {}", axis, size.value(), limit);
    min = std::min(size.min(), limit);
    bounded = size.max() <= limit;
    max = bounded ? size.max() : limit;
  }
};

void require_window_size(const InferContext& context, std::int64_t size, std::size_t axis) {
  context.require(size >= 1 && size <= kMaxWindowNumber, "IR-window",
                  {.found = size, .expected = words("1 to {}", kMaxWindowNumber)},
                  "the window of spatial axis {} has size {}", axis, size);
}

void check_list(const InferContext& context, std::vector<std::int64_t>& values, std::size_t rank,
                std::string_view name, std::int64_t fill, std::int64_t min) {
  if (values.empty()) values.assign(rank, fill);
  if (values.size() != rank) {
    context.fail("IR-attribute-size",
                 fmt::format("{} has {} values for {} spatial axes", name, values.size(), rank),
                 Compared{fmt::format("{}", values.size()), fmt::format("{}", rank)});
  }
  for (const std::int64_t value : values) {
    if (value >= min && value <= kMaxWindowNumber) continue;
    const std::string taken = fmt::format("values from {} to {}", min, kMaxWindowNumber);
    context.fail("IR-attribute-range", fmt::format("{} holds {}; it takes {}", name, value, taken),
                 Compared{fmt::format("{}", value), taken});
  }
}

}  // namespace

WindowAttributes checked_window(const InferContext& context, WindowAttributes window,
                                std::size_t spatial_rank, bool negative_pads) {
  const std::int64_t min_pad = negative_pads ? -kMaxWindowNumber : 0;
  check_list(context, window.strides, spatial_rank, window.names.strides, 1, 1);
  check_list(context, window.dilations, spatial_rank, window.names.dilations, 1, 1);
  check_list(context, window.data_dilations, spatial_rank, window.names.data_dilations, 1, 1);
  check_list(context, window.output_padding, spatial_rank, "output_padding", 0, 0);
  if (window.auto_pad == AutoPad::explicit_) {
    check_list(context, window.pads_begin, spatial_rank, window.names.pads_begin, 0, min_pad);
    check_list(context, window.pads_end, spatial_rank, window.names.pads_end, 0, min_pad);
  } else {
    window.pads_begin.assign(spatial_rank, 0);
    window.pads_end.assign(spatial_rank, 0);
  }
  return window;
}

WindowAttributes completed_window(WindowAttributes window, std::size_t spatial_rank) {
  const auto fill = [spatial_rank](std::vector<std::int64_t>& values, std::int64_t value) {
    if (values.size() != spatial_rank) values.assign(spatial_rank, value);
  };
  fill(window.strides, 1);
  fill(window.dilations, 1);
  fill(window.data_dilations, 1);
  fill(window.output_padding, 0);
  if (window.auto_pad != AutoPad::explicit_) {
    window.pads_begin.clear();
    window.pads_end.clear();
  }
  fill(window.pads_begin, 0);
  fill(window.pads_end, 0);
  return window;
}

std::int64_t window_span(const WindowAttributes& window, std::int64_t size, std::size_t axis) {
  return dilated(size, window.dilations[axis]);
}

std::vector<Dimension> window_output_dims(InferContext& context, std::span<const Dimension> image,
                                          std::span<const Dimension> kernel, const WindowAttributes& window,
                                          std::size_t output, std::size_t first_axis) {
  std::vector<Dimension> dims(image.size());
  for (std::size_t axis = 0; axis < image.size(); ++axis) {
    const bool same = window.auto_pad == AutoPad::same_upper || window.auto_pad == AutoPad::same_lower;
    // The output does not depend on the kernel where pads are chosen to make it so.
    const Dimension size = same && !kernel[axis].is_static() ? Dimension(1) : kernel[axis];
    if (!size.is_static()) continue;
    require_window_size(context, size.value(), axis);
    const ImageAxis in(context, image[axis], window.data_dilations[axis], axis);
    const auto dilated_image = [&](std::int64_t value) {
      return dilated(value, window.data_dilations[axis]);
    };
    if (in.bounded && !same) {
      const std::int64_t span = dilated(size.value(), window.dilations[axis]);
      const std::int64_t image_size = dilated_image(in.max);
      const std::int64_t room = image_size + window.pads_begin[axis] + window.pads_end[axis];
      if (span > room) {
        const std::string sum =
            fmt::format("{} + {} + {}", window.pads_begin[axis], image_size, window.pads_end[axis]);
        context.fail("IR-window",
                     fmt::format("the window of spatial axis {} covers {} elements (size {}, dilation {}), "
                                 "the padded image has {}{} ({})",
                                 axis, span, size.value(), window.dilations[axis],
                                 image[axis].is_static() ? "" : "at most ", room, sum),
                     Compared{fmt::format("{}", span), fmt::format("at most {}", room),
                              fmt::format("{} = {}", sum, room)});
      }
    }
    const auto out_of = [&](std::int64_t value) {
      return resolve(dilated_image(value), size.value(), window, axis).out;
    };
    dims[axis] = Dimension(std::max<std::int64_t>(out_of(in.min), 0),
                           in.bounded ? out_of(in.max) : Dimension::kUnbounded);
    if (context.explaining() && image[axis].is_static()) {
      context.explain(output, first_axis + axis, rule_of(dilated_image(in.max), size.value(), window, axis));
    }
  }
  return dims;
}

std::vector<WindowAxisPlan> plan_window(std::span<const std::int64_t> image,
                                        std::span<const std::int64_t> kernel,
                                        const WindowAttributes& window) {
  std::vector<WindowAxisPlan> plan(image.size());
  for (std::size_t axis = 0; axis < image.size(); ++axis) {
    WindowAxisPlan& one = plan[axis];
    one.in = image[axis];
    one.kernel = kernel[axis];
    one.stride = window.strides[axis];
    one.dilation = window.dilations[axis];
    one.data_dilation = window.data_dilations[axis];
    const Resolved resolved = resolve(dilated(one.in, one.data_dilation), one.kernel, window, axis);
    one.pad_begin = resolved.pad_begin;
    one.pad_end = resolved.pad_end;
    one.out = resolved.out;
  }
  return plan;
}

namespace {

// Elements that the windows of a transposed operation cover, before any are cut off.
std::int64_t transposed_size(std::int64_t in, std::int64_t kernel, const WindowAttributes& window,
                             std::size_t axis) {
  return (in - 1) * window.strides[axis] + dilated(kernel, window.dilations[axis]) +
         window.output_padding[axis];
}

}  // namespace

std::vector<Dimension> transposed_output_dims(InferContext& context, std::span<const Dimension> image,
                                              std::span<const Dimension> kernel,
                                              const WindowAttributes& window, std::size_t output,
                                              std::size_t first_axis) {
  std::vector<Dimension> dims(image.size());
  for (std::size_t axis = 0; axis < image.size(); ++axis) {
    const Dimension& size = kernel[axis];
    if (!size.is_static()) continue;
    require_window_size(context, size.value(), axis);
    const ImageAxis in(context, image[axis], window.strides[axis], axis);
    const auto out_of = [&](std::int64_t value) {
      return transposed_size(value, size.value(), window, axis) - window.pads_begin[axis] -
             window.pads_end[axis];
    };
    const auto rule = [&] {
      return fmt::format("{} * ({} - 1) + {} - {} - {} + {} = {}", window.strides[axis], in.max,
                         dilated(size.value(), window.dilations[axis]), window.pads_begin[axis],
                         window.pads_end[axis], window.output_padding[axis], out_of(in.max));
    };
    if (in.bounded && out_of(in.max) < 0) {
      context.fail("IR-window",
                   fmt::format("the output of spatial axis {} would have {}{} elements", axis,
                               image[axis].is_static() ? "" : "at most ", rule()),
                   Compared{fmt::format("{}", out_of(in.max)), "at least 0", rule()});
    }
    dims[axis] = Dimension(std::max<std::int64_t>(out_of(in.min), 0),
                           in.bounded ? out_of(in.max) : Dimension::kUnbounded);
    if (context.explaining() && image[axis].is_static()) context.explain(output, first_axis + axis, rule());
  }
  return dims;
}

std::vector<WindowAxisPlan> plan_transposed(std::span<const std::int64_t> image,
                                            std::span<const std::int64_t> kernel,
                                            const WindowAttributes& window, std::span<const std::int64_t> out,
                                            bool wanted) {
  std::vector<WindowAxisPlan> plan(image.size());
  for (std::size_t axis = 0; axis < image.size(); ++axis) {
    WindowAxisPlan& one = plan[axis];
    one.in = image[axis];
    one.kernel = kernel[axis];
    one.stride = window.strides[axis];
    one.dilation = window.dilations[axis];
    one.pad_begin = window.pads_begin[axis];
    one.pad_end = window.pads_end[axis];
    one.out = out[axis];
    const bool same = window.auto_pad == AutoPad::same_upper || window.auto_pad == AutoPad::same_lower;
    if (!wanted || !same) continue;
    const std::int64_t cut =
        std::max<std::int64_t>(0, transposed_size(one.in, one.kernel, window, axis) - one.out);
    one.pad_begin = window.auto_pad == AutoPad::same_upper ? cut - cut / 2 : cut / 2;
    one.pad_end = cut - one.pad_begin;
  }
  return plan;
}

}  // namespace ir::op
