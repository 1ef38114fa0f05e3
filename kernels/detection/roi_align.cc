#include "kernels/detection/roi_align.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/detection/roi_samples.h"

namespace ir::kernels {
namespace {

// Beyond this, samples are so dense (or the box so large) that a float cannot tell them apart.
constexpr float kMaxSamplesOfBin = 0x1p30F;

struct Interval {
  double low;
  double high;
};

// The bins and samples along one axis of a box.
class SampleAxis {
 public:
  SampleAxis(float start, float length, std::size_t bins, std::size_t sampling_ratio, const Interval& reach)
      : start_(start), bin_size_(length / static_cast<float>(bins)), reach_(reach) {
    const float wanted = std::clamp(std::ceil(bin_size_), 0.0F, kMaxSamplesOfBin);
    count_ = sampling_ratio > 0 ? sampling_ratio : static_cast<std::size_t>(wanted);
    step_ = count_ > 0 ? bin_size_ / static_cast<float>(count_) : 0;
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  [[nodiscard]] float position(std::size_t bin, std::size_t sample) const {
    return start_ + static_cast<float>(bin) * bin_size_ + step_ * (static_cast<float>(sample) + 0.5F);
  }

  // Samples [first, last) of a bin are all that may meet the map.
  struct Samples {
    std::size_t first;
    std::size_t last;
  };
  [[nodiscard]] Samples near_map(std::size_t bin) const {
    if (!(step_ > 0)) return {0, count_};  // in one place or backwards: as few as asked for
    const double begin = double{start_} + static_cast<double>(bin) * double{bin_size_};
    const auto sample_at = [&](double position) {
      return std::clamp((position - begin) / double{step_} - 0.5, -1.0, static_cast<double>(count_));
    };
    // One more on both sides, for rounding.
    const auto first = static_cast<std::size_t>(std::max(std::floor(sample_at(reach_.low)), 0.0));
    const auto last = static_cast<std::size_t>(std::ceil(sample_at(reach_.high)) + 1);
    return {first, std::min(last, count_)};
  }

 private:
  float start_;
  float bin_size_;
  Interval reach_;
  std::size_t count_ = 0;
  float step_ = 0;
};

bool is_finite(const SamplingBox& box) {
  return std::ranges::all_of(
      std::array{box.x, box.y, box.width, box.height, box.cosine, box.sine, box.center_x, box.center_y},
      [](float value) { return std::isfinite(value); });
}

// What of a box's own axes the map, with one element around it, takes up.
struct Reach {
  Interval x;
  Interval y;
};

Reach reach_of_map(const AlignedRoi& roi) {
  const SamplingBox& box = roi.box;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Reach reach{{kInfinity, -kInfinity}, {kInfinity, -kInfinity}};
  const auto include = [](Interval& interval, double value) {
    interval = {std::min(interval.low, value), std::max(interval.high, value)};
  };
  for (const double map_x : {-1.0, static_cast<double>(roi.width)}) {
    for (const double map_y : {-1.0, static_cast<double>(roi.height)}) {
      const double x = map_x - double{box.center_x};
      const double y = map_y - double{box.center_y};
      include(reach.x, x * double{box.cosine} - y * double{box.sine});
      include(reach.y, x * double{box.sine} + y * double{box.cosine});
    }
  }
  return reach;
}

// Calls `use(samples)` for all samples that meet the map, some at a time.
void for_each_samples(const AlignedRoi& roi, const RoiAlignParams& params,
                      FunctionRef<void(std::span<const RoiSample>)> use) {
  const SamplingBox& box = roi.box;
  if (roi.map == nullptr || roi.height == 0 || roi.width == 0 || !is_finite(box)) return;
  const Reach reach = reach_of_map(roi);
  const SampleAxis rows(box.y, box.height, params.pooled_height, params.sampling_ratio, reach.y);
  const SampleAxis columns(box.x, box.width, params.pooled_width, params.sampling_ratio, reach.x);
  const float count = static_cast<float>(rows.count()) * static_cast<float>(columns.count());
  const float scale = params.mode == RoiAlignMode::average ? 1 / count : 1;

  SampleBuffer samples(use);
  const auto take = [&](std::size_t bin, float box_y, float box_x) {
    const float y = box_y * box.cosine - box_x * box.sine + box.center_y;
    const float x = box_y * box.sine + box_x * box.cosine + box.center_x;
    const bool inside =
        y >= -1 && y <= static_cast<float>(roi.height) && x >= -1 && x <= static_cast<float>(roi.width);
    if (inside) samples.add({bilinear_sample(y, x, roi.height, roi.width, scale), bin});
  };
  for (std::size_t bin_y = 0; bin_y < params.pooled_height; ++bin_y) {
    const auto [first_y, last_y] = rows.near_map(bin_y);
    for (std::size_t bin_x = 0; bin_x < params.pooled_width; ++bin_x) {
      const auto [first_x, last_x] = columns.near_map(bin_x);
      for (std::size_t i = first_y; i < last_y; ++i) {
        const float box_y = rows.position(bin_y, i);
        for (std::size_t j = first_x; j < last_x; ++j) {
          take(bin_y * params.pooled_width + bin_x, box_y, columns.position(bin_x, j));
        }
      }
    }
  }
  samples.flush();
}

// `out`: [channels, bins] of the channels in [begin, end).
void align_channels(const AlignedRoi& roi, const RoiAlignParams& params, std::size_t begin, std::size_t end,
                    float* out) {
  const std::size_t bins = params.pooled_height * params.pooled_width;
  const std::size_t plane = roi.height * roi.width;
  std::fill_n(out, (end - begin) * bins, 0.0F);
  const auto merge = [&](std::span<const RoiSample> samples, const auto& into) {
    for (std::size_t channel = begin; channel < end; ++channel) {
      const float* data = roi.map + channel * plane;
      float* pooled = out + (channel - begin) * bins;
      for (const RoiSample& sample : samples) into(pooled[sample.bin], sample.where.of(data));
    }
  };
  for_each_samples(roi, params, [&](std::span<const RoiSample> samples) {
    if (params.mode == RoiAlignMode::average) {
      merge(samples, [](float& pooled, float value) { pooled += value; });
    } else {
      merge(samples, [](float& pooled, float value) { pooled = std::max(pooled, value); });
    }
  });
}

TurnedRegions::Params regions_of(const RoiAlignParams& params) {
  const auto ratio = static_cast<double>(params.sampling_ratio > 0 ? params.sampling_ratio : 2);
  return {params.rois, params.channels, params.most_positions, params.pooled_height * params.pooled_width,
          ratio * ratio};
}

}  // namespace

SamplingBox upright_box(const float* corners, const UprightBoxParams& params) {
  const auto scaled = [&](std::size_t i) {
    return (corners[i] + params.offset_before) * params.scale + params.offset_after;
  };
  SamplingBox box;
  box.x = scaled(0);
  box.y = scaled(1);
  box.width = scaled(2) - box.x;
  box.height = scaled(3) - box.y;
  if (params.at_least_one) {
    box.width = std::max(box.width, 1.0F);
    box.height = std::max(box.height, 1.0F);
  }
  return box;
}

SamplingBox rotated_box(const float* values, float scale, bool clockwise) {
  const float angle = clockwise ? -values[4] : values[4];
  SamplingBox box;
  box.center_x = values[0] * scale - 0.5F;
  box.center_y = values[1] * scale - 0.5F;
  box.width = values[2] * scale;
  box.height = values[3] * scale;
  box.x = -box.width / 2;
  box.y = -box.height / 2;
  box.cosine = std::cos(angle);
  box.sine = std::sin(angle);
  return box;
}

std::size_t pyramid_level(const float* corners, std::size_t levels) {
  constexpr float kCanonicalSize = 224;
  constexpr float kCanonicalLevel = 2;
  const float area = (corners[2] - corners[0]) * (corners[3] - corners[1]);
  if (!(area > 0)) return levels;
  // The small number is OpenVINO's: boxes of exactly a power of two belong to the upper level.
  const float level = std::floor(std::log2(std::sqrt(area) / kCanonicalSize + 1e-6F) + kCanonicalLevel);
  return static_cast<std::size_t>(std::clamp(level, 0.0F, static_cast<float>(levels - 1)));
}

RoiAlign::RoiAlign(const RoiAlignParams& params) : params_(params), regions_(regions_of(params)) {}

void RoiAlign::run(FunctionRef<AlignedRoi(std::size_t roi)> roi, float* out, std::byte* scratch) const {
  const auto take = params_.mode == RoiAlignMode::average ? add_samples : keep_largest_samples;
  const auto map = [&](std::size_t i) {
    const AlignedRoi region = roi(i);
    return RegionMap{region.map, region.height * region.width};
  };
  const auto plain = [&](std::size_t i, std::size_t first, std::size_t last, float* pooled) {
    align_channels(roi(i), params_, first, last, pooled);
  };
  const auto turned = [&](std::size_t i, const float* channels, std::size_t pitch, float* pooled) {
    for_each_samples(roi(i), params_,
                     [&](std::span<const RoiSample> samples) { take(samples, channels, pitch, pooled); });
  };
  regions_.run(params_.rois, {map, plain, turned}, out, scratch);
}

}  // namespace ir::kernels
