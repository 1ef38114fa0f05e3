#include "ir_runtime/ops/colour.h"

#include "kernels/image/colour.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

enum class YuvFormat { nv12, i420 };

struct FrameSizes {
  Dimension count;
  Dimension height;
  Dimension width;
};

void require_type_of_levels(const InferContext& context, std::size_t input) {
  using enum ElementType;
  context.require_type(input, {u8, f16, bf16, f32, f64});
}

void require_even(const InferContext& context, const Dimension& size, std::string_view what) {
  context.require(!size.is_static() || size.value() % 2 == 0, "IR-shape",
                  {.found = size, .expected = "an even number", .input = 0},
                  "the image {} is {}; it must be even", what, size);
}

// Narrows the sizes by input `index`, a plane of chroma.
void take_chroma(const InferContext& context, std::size_t index, std::int64_t channels, FrameSizes& frame) {
  context.require_rank(index, 4);
  const PartialShape& shape = context.shape(index);
  if (!shape.has_rank()) return;
  const auto merge = [&](Dimension& known, const Dimension& dim, std::size_t axis) {
    const auto merged = known.merged(dim);
    context.require(merged.has_value(), "IR-shape",
                    {.found = dim, .expected = known, .rule = words("by axis {}", axis), .input = index},
                    "input {} has shape {}: by axis {}, the image's size is {}, but it is {}", index, shape,
                    axis, dim, known);
    known = *merged;
  };
  merge(frame.count, shape[0], 0);
  merge(frame.height, shape[1] * Dimension(2), 1);
  merge(frame.width, shape[2] * Dimension(2), 2);
  context.require(shape[3].compatible(channels), "IR-shape",
                  {.found = shape[3], .expected = channels, .input = index},
                  "input {} has shape {}; its last dim must be {}", index, shape, channels);
}

void infer_frames(InferContext& context, YuvFormat format) {
  const std::size_t planes = format == YuvFormat::nv12 ? 2 : 3;
  const std::size_t inputs = context.input_count();
  context.require(inputs == 1 || inputs == planes, "IR-input-count",
                  {.found = inputs, .expected = words("1 or {}", planes)}, "has {} inputs, it takes 1 or {}",
                  inputs, planes);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < inputs; ++i) {
    require_type_of_levels(context, i);
    all.push_back(i);
  }
  const ElementType type = require_one_type(context, all);
  context.require_rank(0, 4);
  FrameSizes frame;
  if (const PartialShape& luma = context.shape(0); luma.has_rank()) {
    context.require(luma[3].compatible(1), "IR-shape",
                    {.found = luma[3], .expected = "1", .rule = "it takes one channel", .input = 0},
                    "input 0 has shape {}; it takes one channel", luma);
    const Dimension height = inputs == 1 ? exact_quotient(context, luma[1], 3, 1) * Dimension(2) : luma[1];
    frame = {luma[0], height, luma[2]};
    if (context.explaining() && inputs == 1 && height.is_static()) {
      context.explain(0, 1, fmt::format("{} * 2 / 3 = {}", luma[1].value(), height.value()));
    }
  }
  for (std::size_t i = 1; i < inputs; ++i) take_chroma(context, i, format == YuvFormat::nv12 ? 2 : 1, frame);
  require_even(context, frame.height, "height");
  require_even(context, frame.width, "width");
  context.set_output(0, type, PartialShape{frame.count, frame.height, frame.width, 3});
}

template <class T>
kernels::YuvFrames<T> frames_of(const StepMemory& memory, YuvFormat format, std::size_t area) {
  kernels::YuvFrames<T> frames;
  const bool single = memory.inputs.size() == 1;
  const std::size_t quarter = area / 4;
  frames.y = memory.in<T>(0);
  frames.u = single ? frames.y + area : memory.in<T>(1);
  frames.y_stride = single ? area + 2 * quarter : area;
  if (format == YuvFormat::nv12) {
    frames.v = frames.u + 1;
    frames.chroma_step = 2;
    frames.chroma_stride = single ? frames.y_stride : 2 * quarter;
  } else {
    frames.v = single ? frames.u + quarter : memory.in<T>(2);
    frames.chroma_stride = single ? frames.y_stride : quarter;
  }
  return frames;
}

PreparedKernel prepare_frames(const PrepareContext& context, YuvFormat format, kernels::ColourOrder order) {
  if (context.output_size() == 0) return nothing_to_do("yuv_to_rgb");
  const Shape& shape = context.output_shape();
  const auto count = static_cast<std::size_t>(shape[0]);
  const auto height = static_cast<std::size_t>(shape[1]);
  const auto width = static_cast<std::size_t>(shape[2]);
  PreparedKernel kernel;
  kernel.name = "yuv_to_rgb";
  kernel.flops = static_cast<double>(context.output_size()) * 3;
  with_one_of<std::uint8_t, float, double>(context.type(0), [&]<class T>() {
    kernel.run = [=](const StepMemory& memory) {
      kernels::yuv_to_rgb(frames_of<T>(memory, format, height * width), count, height, width, order,
                          memory.out<T>(0));
    };
  });
  if (!kernel.run) context.fail_unsupported(name_of(context.type(0)));
  return kernel;
}

void infer_nv12(InferContext& context, bool single_plane) {
  context.require_inputs(1);
  require_type_of_levels(context, 0);
  context.require_rank(0, 4);
  FrameSizes frame;
  if (const PartialShape& image = context.shape(0); image.has_rank()) {
    context.require(image[3].compatible(3), "IR-shape",
                    {.found = image[3], .expected = "3", .rule = "it takes three channels", .input = 0},
                    "input 0 has shape {}; it takes three channels", image);
    frame = {image[0], image[1], image[2]};
  }
  require_even(context, frame.height, "height");
  require_even(context, frame.width, "width");
  const ElementType type = context.type(0);
  const Dimension half_height = exact_quotient(context, frame.height, 2, 1);
  if (single_plane) {
    context.set_output(0, type, PartialShape{frame.count, half_height * Dimension(3), frame.width, 1});
    if (context.explaining() && frame.height.is_static())
      context.explain(0, 1, fmt::format("{} * 3 / 2 = {}", frame.height.value(), half_height.value() * 3));
    return;
  }
  context.set_output(0, type, PartialShape{frame.count, frame.height, frame.width, 1});
  context.set_output(1, type,
                     PartialShape{frame.count, half_height, exact_quotient(context, frame.width, 2, 2), 2});
}

PreparedKernel prepare_nv12(const PrepareContext& context, bool single_plane, kernels::ColourOrder order) {
  const Shape& shape = context.shape(0);
  const auto count = static_cast<std::size_t>(shape[0]);
  const auto height = static_cast<std::size_t>(shape[1]);
  const auto width = static_cast<std::size_t>(shape[2]);
  const std::size_t area = height * width;
  if (count * area == 0) return nothing_to_do("rgb_to_nv12");
  PreparedKernel kernel;
  kernel.name = "rgb_to_nv12";
  kernel.flops = static_cast<double>(count * area) * 9;
  with_one_of<std::uint8_t, float, double>(context.type(0), [&]<class T>() {
    kernel.run = [=](const StepMemory& memory) {
      T* luma = memory.out<T>(0);
      const std::size_t stride = area / 2 * 3;
      const auto frames = single_plane ? kernels::Nv12Frames<T>{luma, luma + area, stride, stride}
                                       : kernels::Nv12Frames<T>{luma, memory.out<T>(1), area, area / 2};
      kernels::rgb_to_nv12(memory.in<T>(0), count, height, width, order, frames);
    };
  });
  if (!kernel.run) context.fail_unsupported(name_of(context.type(0)));
  return kernel;
}

}  // namespace

void v8::NV12toRGB::infer(InferContext& context) const { infer_frames(context, YuvFormat::nv12); }
PreparedKernel v8::NV12toRGB::prepare(PrepareContext& context) const {
  return prepare_frames(context, YuvFormat::nv12, kernels::ColourOrder::rgb);
}

void v8::NV12toBGR::infer(InferContext& context) const { infer_frames(context, YuvFormat::nv12); }
PreparedKernel v8::NV12toBGR::prepare(PrepareContext& context) const {
  return prepare_frames(context, YuvFormat::nv12, kernels::ColourOrder::bgr);
}

void v8::I420toRGB::infer(InferContext& context) const { infer_frames(context, YuvFormat::i420); }
PreparedKernel v8::I420toRGB::prepare(PrepareContext& context) const {
  return prepare_frames(context, YuvFormat::i420, kernels::ColourOrder::rgb);
}

void v8::I420toBGR::infer(InferContext& context) const { infer_frames(context, YuvFormat::i420); }
PreparedKernel v8::I420toBGR::prepare(PrepareContext& context) const {
  return prepare_frames(context, YuvFormat::i420, kernels::ColourOrder::bgr);
}

void v17::RGBtoNV12::infer(InferContext& context) const { infer_nv12(context, single_plane); }
PreparedKernel v17::RGBtoNV12::prepare(PrepareContext& context) const {
  return prepare_nv12(context, single_plane, kernels::ColourOrder::rgb);
}

void v17::BGRtoNV12::infer(InferContext& context) const { infer_nv12(context, single_plane); }
PreparedKernel v17::BGRtoNV12::prepare(PrepareContext& context) const {
  return prepare_nv12(context, single_plane, kernels::ColourOrder::bgr);
}

}  // namespace ir::op
