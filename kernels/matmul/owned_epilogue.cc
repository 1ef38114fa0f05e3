#include "kernels/matmul/owned_epilogue.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ir::kernels {

OwnedEpilogue::OwnedEpilogue(OwnedEpilogue&& other) noexcept = default;
OwnedEpilogue::~OwnedEpilogue() = default;

OwnedEpilogue::OwnedEpilogue(const Epilogue& epilogue, std::size_t bias_count, std::size_t scale_count)
    : values_(epilogue), levels_(epilogue.levels.begin(), epilogue.levels.end()) {
  if (epilogue.bias != nullptr) bias_.assign(epilogue.bias, epilogue.bias + bias_count);
  if (epilogue.scale != nullptr) scale_.assign(epilogue.scale, epilogue.scale + scale_count);
}

std::optional<LevelRange> common_range(const Epilogue& epilogue, ChannelQuantization levels) {
  std::optional<LevelRange> common;
  for (const Quantization& of : levels) {
    const auto bound = [&](float value) {
      return std::nearbyint(std::clamp((value - of.in_low) * of.scale, 0.0F, of.steps));
    };
    const LevelRange range{bound(epilogue.low), bound(epilogue.high)};
    if (common && *common != range) return std::nullopt;
    common = range;
  }
  return common;
}

bool OwnedEpilogue::turn_into_steps(std::size_t least_channels) {
  if (values_.post != nullptr || values_.residual || scale_.empty()) return false;
  const std::optional<LevelRange> range = common_range(values_, levels_);
  if (!range) return false;
  const std::size_t channels = scale_.size();
  bias_.resize(channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const Quantization& of = of_channel(levels_, channel);
    scale_[channel] *= of.scale;
    bias_[channel] = (bias_[channel] - of.in_low) * of.scale;
  }
  scale_.resize(std::max(channels, least_channels));
  bias_.resize(scale_.size());
  values_.low = range->low;
  values_.high = range->high;
  return true;
}

bool OwnedEpilogue::steps_fit() const {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  for (std::size_t channel = 0; channel < scale_.size(); ++channel) {
    const Quantization& of = of_channel(levels_, channel);
    const float bias = bias_.empty() ? 0.0F : bias_[channel];
    const double most = std::abs(static_cast<double>(scale_[channel] * of.scale)) * kMost +
                        std::abs(static_cast<double>((bias - of.in_low) * of.scale));
    if (!(most < kMost)) return false;
  }
  return true;
}

void OwnedEpilogue::put_levels(const FloatRows& results, std::size_t channel, float* out, std::size_t first,
                               std::size_t out_stride) const {
  std::uint8_t* const levels = reinterpret_cast<std::uint8_t*>(out) + first;
  const auto& [from, stride, rows, columns] = results;
  if (levels_.size() != 1) {
    for (std::size_t row = 0; row < rows; ++row)
      levels_of_span(levels_[channel + row], from + row * stride, levels + row * out_stride, columns);
  } else if (stride == columns && out_stride == columns) {
    levels_of_span(levels_[0], from, levels, rows * columns);
  } else {
    levels_of_rows(levels_[0], results, levels, out_stride);
  }
}

void OwnedEpilogue::post(float* out, std::size_t stride, std::size_t rows, std::size_t columns,
                         std::size_t channel, std::size_t channel_step) const {
  if (values_.post == nullptr || rows * columns == 0) return;
  if (stride == columns && channel_step == 0) {
    columns *= rows;
    rows = 1;
  }
  for (std::size_t row = 0; row < rows; ++row)
    values_.post(out + row * stride, columns, channel + row * channel_step, values_.post_context);
}

}  // namespace ir::kernels
