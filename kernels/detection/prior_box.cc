#include "kernels/detection/prior_box.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr float kDefaultVariance = 0.1F;
constexpr float kSameRatio = 1e-6F;

/// One box of the pattern that every cell repeats; everything in pixels.
struct Prior {
  float shift_x = 0;
  float shift_y = 0;
  float half_width = 0;
  float half_height = 0;
  bool limited = false;  ///< does not leave the image on the side it is drawn to
};

bool is_one(float ratio) { return std::fabs(ratio - 1.0F) < kSameRatio; }

/// The ratios to be drawn, other than 1. Only the ratio itself is looked up, not its flipped twin.
std::vector<float> distinct_ratios(const PriorBoxParams& params) {
  std::vector<float> ratios{1.0F};
  for (const float ratio : params.aspect_ratio) {
    const auto same = [ratio](float seen) { return std::fabs(ratio - seen) < kSameRatio; };
    if (std::any_of(ratios.begin(), ratios.end(), same)) continue;
    ratios.push_back(ratio);
    if (params.flip) ratios.push_back(1.0F / ratio);
  }
  std::erase_if(ratios, is_one);
  return ratios;
}

std::int64_t density_of(const PriorBoxParams& params, std::size_t i) {
  return i < params.density.size() ? static_cast<std::int64_t>(params.density[i]) : 1;
}

void append_density_grid(float size, std::int64_t density, float half_width, float half_height,
                         std::vector<Prior>& pattern) {
  if (density <= 0) return;
  // OpenVINO computes these three with integers.
  const std::int64_t half = static_cast<std::int64_t>(size) / 2;
  const auto half_size = static_cast<float>(half);
  const auto shift = static_cast<std::int64_t>(size / static_cast<float>(density));
  const float first = static_cast<float>(shift) / 2.0F - half_size;
  for (std::int64_t row = 0; row < density; ++row) {
    for (std::int64_t column = 0; column < density; ++column) {
      pattern.push_back({first + static_cast<float>(column * shift), first + static_cast<float>(row * shift),
                         half_width, half_height, true});
    }
  }
}

void append_fixed_sizes(const PriorBoxParams& params, std::span<const float> ratios,
                        std::vector<Prior>& pattern) {
  for (std::size_t i = 0; i < params.fixed_size.size(); ++i) {
    const float size = params.fixed_size[i];
    const std::int64_t density = density_of(params, i);
    const auto append_ratio = [&](float ratio) {
      const float root = std::sqrt(ratio);
      append_density_grid(size, density, size * 0.5F * root, size * 0.5F / root, pattern);
    };
    if (!params.fixed_ratio.empty()) {
      std::for_each(params.fixed_ratio.begin(), params.fixed_ratio.end(), append_ratio);
    } else {
      const float half = static_cast<float>(static_cast<std::int64_t>(size)) * 0.5F;
      append_density_grid(size, density, half, half, pattern);
      std::for_each(ratios.begin(), ratios.end(), append_ratio);
    }
  }
}

void append_min_sizes(const PriorBoxParams& params, std::span<const float> min_sizes,
                      std::span<const float> ratios, std::vector<Prior>& pattern) {
  const auto append = [&pattern](float half_width, float half_height) {
    pattern.push_back({0, 0, half_width, half_height, false});
  };
  for (std::size_t i = 0; i < min_sizes.size(); ++i) {
    const float half = min_sizes[i] * 0.5F;
    append(half, half);
    const auto append_max_size = [&] {
      if (i >= params.max_size.size()) return;
      const float half_mean = std::sqrt(min_sizes[i] * params.max_size[i]) * 0.5F;
      append(half_mean, half_mean);
    };
    const auto append_ratios = [&] {
      // Without scale_all_sizes the ratios are drawn once, for the first size, after the last one.
      if (!params.scale_all_sizes && i + 1 != min_sizes.size()) return;
      const float base = (params.scale_all_sizes ? min_sizes[i] : min_sizes[0]) * 0.5F;
      for (const float ratio : ratios) append(base * std::sqrt(ratio), base / std::sqrt(ratio));
    };
    if (params.min_max_aspect_ratios_order) {
      append_max_size();
      append_ratios();
    } else {
      append_ratios();
      append_max_size();
    }
  }
}

void write_variances(std::span<const float> variance, std::size_t boxes, float* out) {
  std::array<float, 4> values{};
  values.fill(variance.empty() ? kDefaultVariance : variance[0]);
  if (variance.size() == 4) std::copy(variance.begin(), variance.end(), values.begin());
  for (std::size_t i = 0; i < boxes; ++i) std::copy(values.begin(), values.end(), out + 4 * i);
}

/// x_min, y_min, x_max and y_max as fractions of the image.
using Box = std::array<float, 4>;

void write_box(Box box, bool clip, float* out) {
  const auto to_unit = [](float x) { return std::min(std::max(x, 0.0F), 1.0F); };
  if (clip) std::transform(box.begin(), box.end(), box.begin(), to_unit);
  std::copy(box.begin(), box.end(), out);
}

/// Calls `write(row)` for the rows of cells, in parallel.
template <class Write>
void for_each_row(const PriorBoxGrid& grid, std::size_t boxes_per_cell, const Write& write) {
  parallel_for(grid.height, grain_for_cost(grid.width * boxes_per_cell * 16),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) write(row);
               });
}

/// The pixel that is the center of a cell.
struct CellCenters {
  float step_x;
  float step_y;
  float offset;

  [[nodiscard]] float x(std::size_t column) const { return (static_cast<float>(column) + offset) * step_x; }
  [[nodiscard]] float y(std::size_t row) const { return (static_cast<float>(row) + offset) * step_y; }
};

/// Sizes of images and cells in pixels.
struct ImageGrid {
  explicit ImageGrid(const PriorBoxGrid& grid)
      : width(static_cast<float>(grid.image_width)),
        height(static_cast<float>(grid.image_height)),
        cell_width(width / static_cast<float>(grid.width)),
        cell_height(height / static_cast<float>(grid.height)) {}

  float width;
  float height;
  float cell_width;
  float cell_height;
};

CellCenters centers_of(const PriorBoxParams& params, const ImageGrid& image) {
  float step = params.step;
  // MXNet's form: steps are fractions of the image.
  if (!params.scale_all_sizes) step = step == -1 ? image.cell_height : step * image.height;
  if (step == 0) return {image.cell_width, image.cell_height, 0.5F};
  return {step, step, params.offset};
}

CellCenters centers_of(const PriorBoxClusteredParams& params, const ImageGrid& image) {
  const float step_x = params.step_w == 0 ? params.step : params.step_w;
  const float step_y = params.step_h == 0 ? params.step : params.step_h;
  if (step_x == 0 && step_y == 0) return {image.cell_width, image.cell_height, params.offset};
  return {step_x, step_y, params.offset};
}

/// The boxes of a cell, in the order of the output.
std::vector<Prior> pattern_of(const PriorBoxParams& params, const ImageGrid& image) {
  std::vector<float> min_sizes = params.min_size;
  if (!params.scale_all_sizes) {  // fractions of the image, as in MXNet
    for (float& size : min_sizes) size *= image.height;
  }
  const std::vector<float> ratios = distinct_ratios(params);
  std::vector<Prior> pattern;
  append_fixed_sizes(params, ratios, pattern);
  append_min_sizes(params, min_sizes, ratios, pattern);
  return pattern;
}

/// A prior of the cell with this center; `scale_x` and `scale_y` make fractions of pixels.
Box box_of(const Prior& prior, float center_x, float center_y, float scale_x, float scale_y) {
  const float x = center_x + prior.shift_x;
  const float y = center_y + prior.shift_y;
  const Box box{(x - prior.half_width) * scale_x, (y - prior.half_height) * scale_y,
                (x + prior.half_width) * scale_x, (y + prior.half_height) * scale_y};
  if (!prior.limited) return box;
  return {std::max(box[0], 0.0F), std::max(box[1], 0.0F), std::min(box[2], 1.0F), std::min(box[3], 1.0F)};
}

}  // namespace

std::size_t prior_box_count(const PriorBoxParams& params) {
  // OpenVINO counts ratios by six decimals and takes the flipped ones as ratios of their own.
  std::set<float> ratios{1.0F};
  const auto rounded = [](double ratio) { return static_cast<float>(std::round(ratio * 1e6) / 1e6); };
  for (const float ratio : params.aspect_ratio) {
    ratios.insert(rounded(ratio));
    if (params.flip) ratios.insert(rounded(1.0F / ratio));
  }
  const auto ratio_count = static_cast<std::int64_t>(ratios.size());
  const auto size_of = [](const std::vector<float>& values) {
    return static_cast<std::int64_t>(values.size());
  };

  std::int64_t count = params.scale_all_sizes
                           ? ratio_count * size_of(params.min_size) + size_of(params.max_size)
                           : ratio_count + size_of(params.min_size) - 1;
  if (!params.fixed_size.empty()) count = ratio_count * size_of(params.fixed_size);
  const std::int64_t drawn_ratios = params.fixed_ratio.empty() ? ratio_count : size_of(params.fixed_ratio);
  for (std::size_t i = 0; i < params.density.size(); ++i) {
    const std::int64_t density = density_of(params, i);
    count += drawn_ratios * (density * density - 1);
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
}

void prior_box(const PriorBoxParams& params, const PriorBoxGrid& grid, float* out) {
  const ImageGrid image(grid);
  const CellCenters centers = centers_of(params, image);
  const std::vector<Prior> pattern = pattern_of(params, image);
  const std::size_t boxes = grid.height * grid.width * prior_box_count(params);
  const float scale_x = 1.0F / image.width;
  const float scale_y = 1.0F / image.height;
  for_each_row(grid, pattern.size(), [&](std::size_t row) {
    for (std::size_t column = 0; column < grid.width; ++column) {
      const std::size_t first = (row * grid.width + column) * pattern.size();
      for (std::size_t i = 0; i < pattern.size() && first + i < boxes; ++i) {
        const Box box = box_of(pattern[i], centers.x(column), centers.y(row), scale_x, scale_y);
        write_box(box, params.clip, out + 4 * (first + i));
      }
    }
  });
  const std::size_t written = std::min(boxes, grid.height * grid.width * pattern.size());
  std::fill(out + 4 * written, out + 4 * boxes, 0.0F);
  write_variances(params.variance, boxes, out + 4 * boxes);
}

void prior_box_clustered(const PriorBoxClusteredParams& params, const PriorBoxGrid& grid, float* out) {
  const ImageGrid image(grid);
  const CellCenters centers = centers_of(params, image);
  const std::size_t per_cell = params.width.size();
  for_each_row(grid, per_cell, [&](std::size_t row) {
    float* to = out + 4 * row * grid.width * per_cell;
    const float y = centers.y(row);
    for (std::size_t column = 0; column < grid.width; ++column) {
      const float x = centers.x(column);
      for (std::size_t i = 0; i < per_cell; ++i, to += 4) {
        const float half_width = params.width[i] / 2.0F;
        const float half_height = params.height[i] / 2.0F;
        const Box box{(x - half_width) / image.width, (y - half_height) / image.height,
                      (x + half_width) / image.width, (y + half_height) / image.height};
        write_box(box, params.clip, to);
      }
    }
  });
  const std::size_t boxes = grid.height * grid.width * per_cell;
  write_variances(params.variance, boxes, out + 4 * boxes);
}

}  // namespace ir::kernels
