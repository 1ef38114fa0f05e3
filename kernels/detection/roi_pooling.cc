#include "kernels/detection/roi_pooling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/base/divide.h"
#include "kernels/detection/roi_samples.h"
#include "kernels/image/bilinear.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kBoxSize = 5;
// Bins are found once for this many output channels.
constexpr std::size_t kChannelsPerTask = 32;

std::size_t batch_of(const float* box) { return box[0] > 0 ? static_cast<std::size_t>(box[0]) : 0; }

// Some output channels of one region.
struct Task {
  const float* box;   // batch and corners
  const float* maps;  // of the batch
  std::size_t roi;
  std::size_t begin;
  std::size_t end;
  float* out;  // of channel `begin`
};

// Calls `pool(task)` for all regions and channels, in parallel. `cost`: of one output element.
template <class Pool>
void for_each_task(const RoiPoolingInput& input, const RegionShapes& shapes, std::size_t cost, float* out,
                   const Pool& pool) {
  const std::size_t bins = shapes.pooled_height * shapes.pooled_width;
  const std::size_t tasks = divide_up(shapes.out_channels, kChannelsPerTask);
  const std::size_t maps = shapes.channels * shapes.height * shapes.width;
  const std::size_t grain = grain_for_cost(cost * bins * std::min(shapes.out_channels, kChannelsPerTask));
  parallel_for(input.rois * tasks, grain, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t roi = i / tasks;
      const std::size_t begin = i % tasks * kChannelsPerTask;
      const float* box = input.boxes + roi * kBoxSize;
      pool(Task{box, input.features + batch_of(box) * maps, roi, begin,
                std::min(begin + kChannelsPerTask, shapes.out_channels),
                out + (roi * shapes.out_channels + begin) * bins});
    }
  });
}

// Calls `pool(y, x, bin)` for all bins of an output plane.
template <class Pool>
void for_each_bin(const RegionShapes& shapes, const Pool& pool) {
  for (std::size_t y = 0; y < shapes.pooled_height; ++y) {
    for (std::size_t x = 0; x < shapes.pooled_width; ++x) pool(y, x, y * shapes.pooled_width + x);
  }
}

// Elements [begin, end) of an axis.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const { return end > begin ? end - begin : 0; }
};

// A whole number in [0, most]; NaN is 0.
std::size_t limited(float value, std::size_t most) {
  if (!(value > 0)) return 0;
  return value < static_cast<float>(most) ? static_cast<std::size_t>(value) : most;
}

// One axis of a region whose ends are rounded to elements.
class RoundedAxis {
 public:
  RoundedAxis(float first, float last, std::size_t bins, std::size_t size)
      : begin_(element(first)), size_(static_cast<std::int64_t>(size)) {
    const std::int64_t length = std::max<std::int64_t>(element(last) - begin_ + 1, 1);
    bin_size_ = static_cast<float>(length) / static_cast<float>(bins);
  }

  [[nodiscard]] Range bin(std::size_t index) const {
    const auto clipped = [&](float edge) {
      const std::int64_t place = begin_ + static_cast<std::int64_t>(edge);
      return static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, size_));
    };
    return {clipped(std::floor(static_cast<float>(index) * bin_size_)),
            clipped(std::ceil(static_cast<float>(index + 1) * bin_size_))};
  }

 private:
  static std::int64_t element(float value) {
    constexpr float kFar = 0x1p30F;  // beyond any map
    return std::isnan(value) ? 0 : static_cast<std::int64_t>(std::clamp(std::round(value), -kFar, kFar));
  }

  std::int64_t begin_;
  std::int64_t size_;
  float bin_size_;
};

// One axis of a region whose ends are no elements; bins take every element that they touch.
struct ScaledAxis {
  float begin;
  float bin_size;
  std::size_t size;

  [[nodiscard]] Range bin(std::size_t index) const {
    return {limited(std::floor(begin + static_cast<float>(index) * bin_size), size - 1),
            limited(std::ceil(begin + static_cast<float>(index + 1) * bin_size), size)};
  }
};

// One axis of a grid of samples that spans [begin, end], both in fractions of the map.
class GridAxis {
 public:
  GridAxis(float begin, float end, std::size_t samples, std::size_t size)
      : samples_(samples), last_(static_cast<float>(size - 1)), begin_(begin), end_(end) {
    if (samples > 1) step_ = (end - begin) * last_ / static_cast<float>(samples - 1);
  }

  [[nodiscard]] float position(std::size_t sample) const {
    if (samples_ == 1) return 0.5F * (begin_ + end_) * last_;
    // The last one without a sum, which could be rounded to beyond the map's end.
    if (sample + 1 == samples_) return last_ * end_;
    return static_cast<float>(sample) * step_ + begin_ * last_;
  }

 private:
  std::size_t samples_;
  float last_;
  float begin_;
  float end_;
  float step_ = 0;
};

float maximum_of(const float* plane, const RoiWindow& window, std::size_t width) {
  float maximum = std::numeric_limits<float>::lowest();
  for (std::size_t y = 0; y < window.rows; ++y) {
    const float* row = plane + window.first + y * width;
    for (std::size_t x = 0; x < window.columns; ++x) maximum = std::max(maximum, row[x]);
  }
  return maximum;
}

// Calls `pool(window, bin)` for the bins of a region that have elements.
template <class Pool>
void for_each_window(const RegionShapes& shapes, const float* box, float spatial_scale, const Pool& pool) {
  const RoundedAxis rows(box[2] * spatial_scale, box[4] * spatial_scale, shapes.pooled_height, shapes.height);
  const RoundedAxis columns(box[1] * spatial_scale, box[3] * spatial_scale, shapes.pooled_width,
                            shapes.width);
  for_each_bin(shapes, [&](std::size_t y, std::size_t x, std::size_t bin) {
    const Range of_y = rows.bin(y);
    const Range of_x = columns.bin(x);
    if (of_y.size() == 0 || of_x.size() == 0) return;
    pool(RoiWindow{of_y.begin * shapes.width + of_x.begin, of_y.size(), of_x.size()}, bin);
  });
}

void pool_largest_plain(const RegionShapes& shapes, const float* box, float spatial_scale, const float* maps,
                        std::size_t channels, float* pooled) {
  const std::size_t plane = shapes.height * shapes.width;
  const std::size_t bins = shapes.pooled_height * shapes.pooled_width;
  std::fill_n(pooled, channels * bins, 0.0F);
  for_each_window(shapes, box, spatial_scale, [&](const RoiWindow& window, std::size_t bin) {
    for (std::size_t c = 0; c < channels; ++c)
      pooled[c * bins + bin] = maximum_of(maps + c * plane, window, shapes.width);
  });
}

void pool_largest_turned(const RegionShapes& shapes, const float* box, float spatial_scale,
                         const float* turned, std::size_t pitch, float* pooled) {
  for_each_window(shapes, box, spatial_scale, [&](const RoiWindow& window, std::size_t bin) {
    largest_of_window(window, shapes.width, turned, pitch, pooled + bin * kSampledChannels);
  });
}

// Calls `use(sample)` for the bins of a region whose sample lies on the map.
template <class Use>
void for_each_sample(const RegionShapes& shapes, const float* box, const Use& use) {
  const GridAxis rows(box[2], box[4], shapes.pooled_height, shapes.height);
  const GridAxis columns(box[1], box[3], shapes.pooled_width, shapes.width);
  for_each_bin(shapes, [&](std::size_t bin_y, std::size_t bin_x, std::size_t bin) {
    const float y = rows.position(bin_y);
    const float x = columns.position(bin_x);
    const bool inside = y >= 0 && y <= static_cast<float>(shapes.height - 1) && x >= 0 &&
                        x <= static_cast<float>(shapes.width - 1);
    if (inside) use(RoiSample{bilinear_sample(y, x, shapes.height, shapes.width), bin});
  });
}

// A region is taken to cover a quarter of the map, of which bins see a little more than their part.
TurnedRegions::Params regions_of(const RegionShapes& shapes, std::size_t rois, RoiPoolingMethod method) {
  const std::size_t positions = shapes.height * shapes.width;
  const std::size_t bins = shapes.pooled_height * shapes.pooled_width;
  const double elements = 1 + static_cast<double>(positions) / (4 * static_cast<double>(bins));
  // An element takes about a third of what a sample does.
  return {rois, shapes.channels, positions, bins, method == RoiPoolingMethod::maximum ? elements / 3 : 1};
}

float sum_of(const float* plane, const Range& rows, const Range& columns, std::size_t width) {
  float sum = 0;
  for (std::size_t y = rows.begin; y < rows.end; ++y) {
    for (std::size_t x = columns.begin; x < columns.end; ++x) sum += plane[y * width + x];
  }
  return sum;
}

// Samples along one axis of a bin.
struct SampleLine {
  float first;
  float step;
  std::size_t count;

  [[nodiscard]] float at(std::size_t index) const { return first + static_cast<float>(index) * step; }
};

// The place and the size of a region, in elements of the map; element 0 is at [-0.5, 0.5].
struct DeformedAxis {
  DeformedAxis(float first, float last, float spatial_scale, std::size_t bins, std::size_t samples_of_bin)
      : samples(samples_of_bin) {
    constexpr float kLeastLength = 0.1F;
    begin = std::round(first) * spatial_scale - 0.5F;
    const float end = (std::round(last) + 1) * spatial_scale - 0.5F;
    length = std::max(end - begin, kLeastLength);
    bin_size = length / static_cast<float>(bins);
    sample_size = bin_size / static_cast<float>(samples);
  }

  [[nodiscard]] SampleLine samples_of(std::size_t bin) const {
    return {begin + static_cast<float>(bin) * bin_size, sample_size, samples};
  }

  std::size_t samples;
  float begin;
  float length;
  float bin_size;
  float sample_size;
};

// What a bin is moved by, in sizes of the region.
struct BinMove {
  float y;
  float x;
};

BinMove move_of(const BinOffsets& offsets, const RegionShapes& shapes, std::size_t roi, std::size_t channel,
                std::size_t bin_y, std::size_t bin_x) {
  const std::size_t part_plane = offsets.part_size * offsets.part_size;
  const std::size_t class_size = shapes.out_channels / offsets.classes;
  const std::size_t group = roi * offsets.classes + channel / class_size;
  const std::size_t row = bin_y * offsets.part_size / shapes.pooled_height;
  const std::size_t column = bin_x * offsets.part_size / shapes.pooled_width;
  const float* along_x = offsets.data + 2 * group * part_plane + row * offsets.part_size + column;
  return {along_x[part_plane] * offsets.scale, *along_x * offsets.scale};
}

bool touches(float position, std::size_t size) {
  return position >= -0.5F && position <= static_cast<float>(size) - 0.5F;
}

// Of those that touch the map; 0 where none does.
float mean_of_samples(const float* plane, const RegionShapes& shapes, const SampleLine& rows,
                      const SampleLine& columns) {
  float sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.count; ++i) {
    const float y = rows.at(i);
    if (!touches(y, shapes.height)) continue;
    for (std::size_t j = 0; j < columns.count; ++j) {
      const float x = columns.at(j);
      if (!touches(x, shapes.width)) continue;
      sum += bilinear_sample(y, x, shapes.height, shapes.width).of(plane);
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<float>(count) : 0;
}

}  // namespace

RoiPooling::RoiPooling(const RegionShapes& shapes, std::size_t rois, RoiPoolingMethod method)
    : shapes_(shapes), method_(method), regions_(regions_of(shapes, rois, method)) {}

void RoiPooling::run(const RoiPoolingInput& input, float* out, std::byte* scratch) const {
  const std::size_t positions = shapes_.height * shapes_.width;
  const auto box_of = [&](std::size_t roi) { return input.boxes + roi * kBoxSize; };
  const auto map = [&](std::size_t roi) {
    return RegionMap{input.features + batch_of(box_of(roi)) * shapes_.channels * positions, positions};
  };
  if (method_ == RoiPoolingMethod::maximum) {
    const auto plain = [&](std::size_t roi, std::size_t first, std::size_t last, float* pooled) {
      const float* channels = map(roi).data + first * positions;
      pool_largest_plain(shapes_, box_of(roi), input.spatial_scale, channels, last - first, pooled);
    };
    const auto turned = [&](std::size_t roi, const float* channels, std::size_t pitch, float* pooled) {
      pool_largest_turned(shapes_, box_of(roi), input.spatial_scale, channels, pitch, pooled);
    };
    return regions_.run(input.rois, {map, plain, turned}, out, scratch);
  }
  const auto plain = [&](std::size_t roi, std::size_t first, std::size_t last, float* pooled) {
    const float* channels = map(roi).data + first * positions;
    const std::size_t bins = shapes_.pooled_height * shapes_.pooled_width;
    std::fill_n(pooled, (last - first) * bins, 0.0F);
    for_each_sample(shapes_, box_of(roi), [&](const RoiSample& sample) {
      for (std::size_t c = 0; c < last - first; ++c)
        pooled[c * bins + sample.bin] = sample.where.of(channels + c * positions);
    });
  };
  const auto turned = [&](std::size_t roi, const float* channels, std::size_t pitch, float* pooled) {
    const auto take = [&](std::span<const RoiSample> samples) {
      add_samples(samples, channels, pitch, pooled);
    };
    SampleBuffer samples(take);
    for_each_sample(shapes_, box_of(roi), [&](const RoiSample& sample) { samples.add(sample); });
    samples.flush();
  };
  regions_.run(input.rois, {map, plain, turned}, out, scratch);
}

void position_sensitive_average(const RoiPoolingInput& input, const RegionShapes& shapes, float* out) {
  const std::size_t plane = shapes.height * shapes.width;
  const std::size_t bins = shapes.pooled_height * shapes.pooled_width;
  const auto axis = [&](float first, float last, std::size_t count, std::size_t size) {
    const float begin = std::round(first) * input.spatial_scale;
    const float end = (std::round(last) + 1) * input.spatial_scale;
    return ScaledAxis{begin, (end - begin) / static_cast<float>(count), size};
  };
  for_each_task(input, shapes, 16, out, [&](const Task& task) {
    const ScaledAxis rows = axis(task.box[2], task.box[4], shapes.pooled_height, shapes.height);
    const ScaledAxis columns = axis(task.box[1], task.box[3], shapes.pooled_width, shapes.width);
    for_each_bin(shapes, [&](std::size_t y, std::size_t x, std::size_t bin) {
      const Range bin_rows = rows.bin(y);
      const Range bin_columns = columns.bin(x);
      const std::size_t count = bin_rows.size() * bin_columns.size();
      for (std::size_t c = task.begin; c < task.end; ++c) {
        const float* data = task.maps + (c * bins + bin) * plane;
        task.out[(c - task.begin) * bins + bin] =
            count == 0 ? 0 : sum_of(data, bin_rows, bin_columns, shapes.width) / static_cast<float>(count);
      }
    });
  });
}

void position_sensitive_bilinear(const RoiPoolingInput& input, const RegionShapes& shapes,
                                 const Division& parts, float* out) {
  const std::size_t plane = shapes.height * shapes.width;
  const std::size_t bins = shapes.pooled_height * shapes.pooled_width;
  const float weight = 1 / static_cast<float>(parts.count());
  const auto part_axis = [&](float first, float last, std::size_t part, std::size_t count,
                             std::size_t samples, std::size_t size) {
    const float begin = first * input.spatial_scale;
    const float length = (last * input.spatial_scale - begin) / static_cast<float>(count);
    const float part_begin = begin + static_cast<float>(part) * length;
    return GridAxis(part_begin, part_begin + length, samples, size);
  };
  for_each_task(input, shapes, 8 * parts.count(), out, [&](const Task& task) {
    std::fill_n(task.out, (task.end - task.begin) * bins, 0.0F);
    for (std::size_t part = 0; part < parts.count(); ++part) {
      const GridAxis rows =
          part_axis(task.box[2], task.box[4], part / parts.x, parts.y, shapes.pooled_height, shapes.height);
      const GridAxis columns =
          part_axis(task.box[1], task.box[3], part % parts.x, parts.x, shapes.pooled_width, shapes.width);
      const float* maps = task.maps + part * shapes.out_channels * plane;
      for_each_bin(shapes, [&](std::size_t bin_y, std::size_t bin_x, std::size_t bin) {
        const float y = rows.position(bin_y);
        const float x = columns.position(bin_x);
        const bool inside =
            y >= 0 && y < static_cast<float>(shapes.height) && x >= 0 && x < static_cast<float>(shapes.width);
        if (!inside) return;
        const BilinearSample sample = bilinear_sample(y, x, shapes.height, shapes.width, weight);
        for (std::size_t c = task.begin; c < task.end; ++c)
          task.out[(c - task.begin) * bins + bin] += sample.of(maps + c * plane);
      });
    }
  });
}

void deformable_position_sensitive(const RoiPoolingInput& input, const RegionShapes& shapes,
                                   const Division& samples, const BinOffsets& offsets, float* out) {
  const std::size_t plane = shapes.height * shapes.width;
  const std::size_t bins = shapes.pooled_height * shapes.pooled_width;
  for_each_task(input, shapes, 8 * samples.count(), out, [&](const Task& task) {
    std::fill_n(task.out, (task.end - task.begin) * bins, 0.0F);
    if (task.box[0] <= -1) return;
    const DeformedAxis rows(task.box[2], task.box[4], input.spatial_scale, shapes.pooled_height, samples.y);
    const DeformedAxis columns(task.box[1], task.box[3], input.spatial_scale, shapes.pooled_width, samples.x);
    for (std::size_t c = task.begin; c < task.end; ++c) {
      for_each_bin(shapes, [&](std::size_t bin_y, std::size_t bin_x, std::size_t bin) {
        SampleLine y = rows.samples_of(bin_y);
        SampleLine x = columns.samples_of(bin_x);
        if (offsets.data != nullptr) {
          const BinMove move = move_of(offsets, shapes, task.roi, c, bin_y, bin_x);
          y.first += move.y * rows.length;
          x.first += move.x * columns.length;
        }
        const float* data = task.maps + (c * bins + bin) * plane;
        task.out[(c - task.begin) * bins + bin] = mean_of_samples(data, shapes, y, x);
      });
    }
  });
}

}  // namespace ir::kernels
