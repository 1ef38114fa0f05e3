// STFT and ISTFT: transforms of frames.
#include "kernels/signal/stft.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "ir_runtime/ops/signals.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

constexpr auto kMaxFrameSize = static_cast<std::int64_t>(kernels::kMaxFftLength);

enum Port : std::size_t { kData, kWindow, kFrameSize, kFrameStep, kSignalLength };

// One integer of an input of which all values are at least `min`, as far as it is known.
std::optional<std::int64_t> number_input(const InferContext& context, std::size_t index,
                                         std::string_view what, std::int64_t min, std::int64_t max) {
  context.require_integer(index);
  require_one_element(context, index);
  const auto value = context.integer(index);
  if (value && (*value < min || *value > max)) {
    const std::string taken =
        max == Dimension::kUnbounded ? fmt::format("{} and above", min) : fmt::format("{} to {}", min, max);
    context.fail("IR-value", fmt::format("{} is {}; it takes {}", what, *value, taken),
                 Compared{fmt::format("{}", *value), taken, {}, index});
  }
  return value;
}

struct Frames {
  std::optional<std::int64_t> size;
  std::optional<std::int64_t> step;

  [[nodiscard]] Dimension bins() const { return size ? Dimension(*size / 2 + 1) : Dimension(); }
};

Frames checked_frames(const InferContext& context) {
  context.require_real(kData);
  (void)context.require_same_type({kData, kWindow});
  context.require_rank(kWindow, 1);
  Frames frames;
  frames.size = number_input(context, kFrameSize, "the frame size", 1, kMaxFrameSize);
  frames.step = number_input(context, kFrameStep, "the frame step", 1, Dimension::kUnbounded);
  const PartialShape& window = context.shape(kWindow);
  if (window.has_rank()) {
    const std::int64_t max = frames.size.value_or(kMaxFrameSize);
    context.require(window[0].compatible(Dimension(1, max)), "IR-shape",
                    {.found = window[0], .expected = words("1 to {}", max), .input = kWindow},
                    "the window has {} elements; frames take 1 to {}", window[0], max);
  }
  return frames;
}

// floor((samples - size) / step) + 1
Dimension frame_count(InferContext& context, const Dimension& samples, const Frames& frames) {
  if (!frames.size || !frames.step) return {};
  context.require(samples.max() >= *frames.size, "IR-shape",
                  {.found = samples,
                   .expected = words("at least {}", *frames.size),
                   .rule = words("the frame size is {}", *frames.size),
                   .input = kData},
                  "the signal has {} samples, fewer than the frame size {}", samples, *frames.size);
  const Dimension room = samples - Dimension(*frames.size);
  const Dimension count = room.floor_divided(*frames.step) + Dimension(1);
  return {std::max<std::int64_t>(count.min(), 1), count.max()};
}

kernels::FrameParams frame_params(const PrepareContext& context, std::int64_t batch, std::int64_t frames) {
  kernels::FrameParams params;
  params.batch = static_cast<std::size_t>(batch);
  params.frames = static_cast<std::size_t>(frames);
  params.frame_size = static_cast<std::size_t>(context.integers(kFrameSize).at(0));
  params.frame_step = static_cast<std::size_t>(context.integers(kFrameStep).at(0));
  params.window_length = static_cast<std::size_t>(context.shape(kWindow)[0]);
  return params;
}

template <template <class> class Transform, class T>
PreparedKernel kernel_of(std::string_view name, std::shared_ptr<const Transform<T>> transform) {
  PreparedKernel prepared;
  prepared.name = name;
  prepared.scratch_bytes = transform->scratch_bytes();
  prepared.run = [transform](const StepMemory& memory) {
    transform->run(memory.in<T>(kData), memory.in<T>(kWindow), memory.out<T>(0), memory.scratch);
  };
  return prepared;
}

}  // namespace

void v15::STFT::infer(InferContext& context) const {
  context.require_inputs(4);
  context.require_rank(kData, 1, 2);
  const Frames frames = checked_frames(context);
  const PartialShape& signal = context.shape(kData);
  if (!signal.has_rank()) {
    context.set_output(0, context.require_same_type({kData, kWindow}), PartialShape());
    return;
  }
  const Dimension samples = signal[signal.rank() - 1];
  const Dimension count = frame_count(context, samples, frames);
  const Dimension bins = frames.bins();
  std::vector<Dimension> dims(signal.begin(), signal.end() - 1);
  const std::size_t frames_axis = dims.size() + (transpose_frames ? 1 : 0);
  dims.push_back(transpose_frames ? bins : count);
  dims.push_back(transpose_frames ? count : bins);
  dims.emplace_back(2);
  if (context.explaining() && frames.size && frames.step) {
    if (count.is_static()) {
      context.explain(0, frames_axis,
                      fmt::format("floor(({} - {}) / {}) + 1 = {}", to_string(samples), *frames.size,
                                  *frames.step, count.value()));
    }
    context.explain(0, transpose_frames ? frames_axis - 1 : frames_axis + 1,
                    fmt::format("floor({} / 2) + 1 = {}", *frames.size, bins.value()));
  }
  context.set_output(0, context.require_same_type({kData, kWindow}), PartialShape(std::move(dims)));
}

PreparedKernel v15::STFT::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  if (context.output_size() == 0) return nothing_to_do("stft");
  const Shape& signal = context.shape(kData);
  const Shape& output = context.output_shape();
  const kernels::FrameParams params = frame_params(context, signal.size() == 2 ? signal[0] : 1,
                                                   output[output.size() - (transpose_frames ? 2 : 3)]);
  PreparedKernel prepared;
  const bool found = with_real_type(context.type(kData), [&]<class T>() {
    prepared = kernel_of("stft", std::make_shared<const kernels::Stft<T>>(
                                     params, static_cast<std::size_t>(signal.back()), transpose_frames));
  });
  if (!found) context.fail_unsupported("STFT of this element type");
  return prepared;
}

namespace {

// The number of samples of the output without input 4.
Dimension default_length(InferContext& context, const Dimension& count, const Frames& frames, bool center,
                         std::size_t axis) {
  if (!frames.size || !frames.step) return {};
  const Dimension steps = count - Dimension(1);
  // Of the first and the last frame, `center` cuts off half, rounded down.
  const std::int64_t rest = center ? *frames.size % 2 : *frames.size;
  const Dimension spanned = steps * Dimension(*frames.step) + Dimension(rest);
  // No frames give no signal.
  const Dimension length{std::max<std::int64_t>(count.min() == 0 ? 0 : spanned.min(), 0),
                         count.max() == 0 ? 0 : std::max<std::int64_t>(spanned.max(), 0)};
  if (context.explaining() && length.is_static()) {
    context.explain(0, axis,
                    fmt::format("({} - 1) * {}{} = {}", to_string(count), *frames.step,
                                rest == 0 ? "" : fmt::format(" + {}", rest), length.value()));
  }
  return length;
}

Dimension given_length(const InferContext& context) {
  (void)number_input(context, kSignalLength, "the signal length", 0, Dimension::kUnbounded);
  const auto elements = context.elements(kSignalLength);
  if (!elements || elements->size() != 1) return {};
  return {std::max<std::int64_t>(elements->front().min(), 0),
          std::max<std::int64_t>(elements->front().max(), 0)};
}

}  // namespace

void v16::ISTFT::infer(InferContext& context) const {
  context.require_inputs(4, 5);
  context.require_rank(kData, 3, 4);
  const Frames frames = checked_frames(context);
  const ElementType type = context.require_same_type({kData, kWindow});
  const bool given = context.input_count() > kSignalLength;
  const Dimension asked = given ? given_length(context) : Dimension();
  const PartialShape& data = context.shape(kData);
  if (!data.has_rank()) {
    context.set_output(0, type, PartialShape());
    return;
  }
  const std::size_t rank = data.rank();
  context.require(data[rank - 1].compatible(2), "IR-shape",
                  {.found = data[rank - 1],
                   .expected = "2",
                   .rule = "it takes pairs of real and imaginary part",
                   .input = kData},
                  "input 0 has shape {}: its last axis takes pairs of real and imaginary part", data);
  context.require(
      data[rank - 3].compatible(frames.bins()), "IR-shape",
      {.found = data[rank - 3],
       .expected = frames.bins(),
       .rule = words("frames of size {} have {} frequencies", frames.size.value_or(0), frames.bins()),
       .input = kData},
      "input 0 has shape {}: axis {} is {}, frames of size {} have {} frequencies", data, rank - 3,
      data[rank - 3], frames.size.value_or(0), frames.bins());
  std::vector<Dimension> dims(data.begin(), data.end() - 3);
  dims.push_back(given ? asked : default_length(context, data[rank - 2], frames, center, rank - 3));
  context.set_output(0, type, PartialShape(std::move(dims)));
}

PreparedKernel v16::ISTFT::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  if (context.output_size() == 0) return nothing_to_do("istft");
  const Shape& data = context.shape(kData);
  const kernels::FrameParams params =
      frame_params(context, data.size() == 4 ? data[0] : 1, data[data.size() - 2]);
  const auto length = static_cast<std::size_t>(context.output_shape().back());
  PreparedKernel prepared;
  const bool found = with_real_type(context.type(kData), [&]<class T>() {
    prepared = kernel_of("istft",
                         std::make_shared<const kernels::InverseStft<T>>(params, length, center, normalized));
  });
  if (!found) context.fail_unsupported("ISTFT of this element type");
  return prepared;
}

}  // namespace ir::op
