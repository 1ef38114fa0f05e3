#include "kernels/depthwise/float_strips.h"

#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {

FloatStrips::FloatStrips(const SeparableStages& stages, ChannelSplit pieces, SharedChannels shared)
    : ByStrips(stages.depthwise.params),
      pieces_(pieces),
      chain_{stages.expansion.has_value(), stages.projection.has_value(), shared == SharedChannels::yes},
      in_channels_(stages.first().params.in_channels),
      out_channels_(stages.last().params.out_channels),
      epilogue_(stages.depthwise.epilogue, geometry_.groups),
      weights_(stages.depthwise.weights.floats(),
               stages.depthwise.weights.floats() + geometry_.groups * geometry_.taps()),
      has_residual_(stages.last().epilogue.residual) {
  // A projection sums piece by piece, and bits must not depend on workers.
  if (!chain_.projects) pieces_.spread(geometry_.batch, geometry_.workers);
}

void FloatStrips::run(const ConvolutionInputs& in, float* out, std::byte* scratch) const {
  float* const floats = aligned_scratch(scratch);
  float* const shared = floats + geometry_.workers * slot_floats_;
  const bool is_one_task = task_parts() == 1;
  for_each_group(geometry_.batch * strips_.size(), task_parts(), task_cost(), geometry_.workers,
                 [&](const GroupRange& range) {
                   const Strip& strip = strip_of(range.group);
                   const Call call = call_of(range.group, in, out, shared);
                   float* const slot = floats + range.worker * slot_floats_;
                   if (chain_.expands && !range.continues) prepare(call, strip, slot);
                   convolve(call, strip, is_one_task ? 0 : range.first,
                            is_one_task ? pieces_.parts() : range.last, slot);
                 });
  if (shares_channels_) project_all(in, out, shared);
}

void FloatStrips::project_all(const ConvolutionInputs& in, float* out, float* shared) const {
  const std::size_t width = kernels_.max_vectors * kernels_.lanes;
  const std::size_t cost = pieces_.channels() * out_channels_ * kernels_.max_vectors;
  for_each_group(geometry_.batch * strips_.size(), divide_up(most_out(), width), cost, geometry_.workers,
                 [&](const GroupRange& range) {
                   const Strip& strip = strip_of(range.group);
                   const std::size_t first = range.first * width;
                   const std::size_t last = std::min(range.last * width, strip.out_size);
                   if (first < last) project(call_of(range.group, in, out, shared), strip, first, last);
                 });
}

void FloatStrips::project(const Call& /*call*/, const Strip& /*strip*/, std::size_t /*first*/,
                          std::size_t /*last*/) const {}

void FloatStrips::share(std::size_t floats) {
  filtered_floats_ = round_up_to_line(floats);
  shared_floats_ = geometry_.batch * strips_.size() * filtered_floats_;
}

void FloatStrips::plan(std::size_t held) {
  // Products with so many channels take so long that what is written and read between stages does not count.
  constexpr std::size_t kManyOutputs = 192;
  const StripPlan plan = plan_strips(geometry_, chain_, [&](std::size_t rows) {
    const std::size_t in = rows_seen(geometry_.axes[1], rows) * geometry_.axes[2].in;
    const std::size_t out = rows * geometry_.axes[2].out;
    return pieces_.most() * (in + out) + (chain_.expands ? in_channels_ * in : 0) +
           (chain_.projects ? (held + out_channels_) * out : 0);
  });
  const DirectDepthwise direct = direct_depthwise(geometry_);
  for (const StripRows& rows : plan.strips) {
    ConvolutionGeometry geometry = geometry_;
    geometry.axes[1].in = rows.in;
    geometry.axes[1].out = rows.out;
    geometry.axes[1].pad = rows.padding;
    strips_.push_back({rows, geometry.in_size(), geometry.out_size(),
                       DepthwisePlane(geometry, epilogue_.residual(), direct)});
    if (!strips_.back().plane.is_feasible()) return;
  }
  is_feasible_ = !strips_.empty();
  const bool is_large = geometry_.out_size() >= kLeastStripsPlane;
  const bool is_one_product = !chain_.expands && chain_.projects && out_channels_ >= kManyOutputs;
  is_worthwhile_ = is_feasible_ && is_large && !is_one_product && plan.repeats_little;
  shares_channels_ = plan.shares_channels;
  geometry_.workers = std::min(geometry_.workers, geometry_.batch * strips_.size() * task_parts());
}

std::size_t FloatStrips::most_in() const {
  std::size_t most = 0;
  for (const Strip& strip : strips_) most = std::max(most, strip.in_size);
  return most;
}
std::size_t FloatStrips::most_out() const {
  std::size_t most = 0;
  for (const Strip& strip : strips_) most = std::max(most, strip.out_size);
  return most;
}
std::size_t FloatStrips::most_staged() const {
  std::size_t most = 0;
  for (const Strip& strip : strips_) most = std::max(most, strip.plane.staged_floats());
  return most;
}

std::size_t FloatStrips::task_cost() const {
  std::size_t terms = geometry_.taps() * geometry_.out_size();
  if (chain_.expands) terms += in_channels_ * geometry_.in_size();
  if (chain_.projects) terms += out_channels_ * geometry_.out_size();
  return pieces_.channels() * terms / (strips_.size() * task_parts() * kernels_.lanes) + 1;
}

FloatStrips::Call FloatStrips::call_of(std::size_t index, const ConvolutionInputs& in, float* out,
                                       float* shared) const {
  const std::size_t image = index / strips_.size();
  const StripRows& rows = strip_of(index).rows;
  const std::size_t from = image * in_channels_ * geometry_.in_size() + rows.first_in * geometry_.axes[2].in;
  const std::size_t to =
      image * out_channels_ * geometry_.out_size() + rows.first_out * geometry_.axes[2].out;
  return {in.image, from, has_residual_ ? in.residual + to : nullptr, out + to,
          shares_channels_ ? shared + index * filtered_floats_ : nullptr};
}

const float* FloatStrips::image_of(const Call& call, const Strip& strip, std::size_t c,
                                   const OwnedEpilogue* expansion, float* expanded) const {
  if (expansion == nullptr) return call.image + call.first + c * geometry_.in_size();
  expansion->post_rows(expanded, strip.in_size, 1, strip.in_size, c);
  return expanded;
}

void FloatStrips::filter(const Strip& strip, std::size_t c, const Places& places, float* staged) const {
  const DepthwisePlane::Channel channel{.image = places.image,
                                        .weights = weights_.data() + c * geometry_.taps(),
                                        .number = c,
                                        .residual = places.residual,
                                        .out = places.out};
  for (std::size_t part = 0; part < strip.plane.blocks(); ++part)
    strip.plane.run(part, channel, epilogue_, staged);
}

void FloatStrips::filter_last(const Strip& strip, std::size_t c, const Call& call, const float* image,
                              float* staged) const {
  const std::size_t at = c * geometry_.out_size();
  filter(strip, c, {image, call.residual == nullptr ? nullptr : call.residual + at, call.out + at}, staged);
}

}  // namespace ir::kernels
