// Regions of feature maps.
#include <fmt/format.h>

#include <memory>

#include "kernels/detection/roi_align.h"
#include "kernels/detection/roi_pooling.h"
#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

struct Map {
  const char* name;
  std::size_t rois, channels, height, width;
};

constexpr Map kMaps[] = {
    {"500_of_256x200x200", 500, 256, 200, 200},
    {"1000_of_256x50x84", 1000, 256, 50, 84},
    {"100_of_1024x38x50", 100, 1024, 38, 50},
    {"4_of_256x200x200", 4, 256, 200, 200},
};
constexpr std::size_t kPooled = 7;

/// Corners in places of the map, an eighth to a half of it wide and high.
std::vector<float> random_corners(const Map& map) {
  std::vector<float> corners = random_floats(4 * map.rois);
  for (std::size_t i = 0; i < corners.size(); i += 4) {
    const auto place = [](float& low, float& high, std::size_t size) {
      const auto whole = static_cast<float>(size);
      low = (low + 1) / 4 * whole;
      high = low + whole * (0.3125F + 0.1875F * high);
    };
    place(corners[i], corners[i + 2], map.width);
    place(corners[i + 1], corners[i + 3], map.height);
  }
  return corners;
}

void align(benchmark::State& state, const Map& map) {
  const std::vector<float> corners = random_corners(map);
  const std::vector<float> image = random_floats(map.channels * map.height * map.width);
  std::vector<float> out(map.rois * map.channels * kPooled * kPooled);
  kernels::RoiAlignParams params;
  params.rois = map.rois;
  params.channels = map.channels;
  params.most_positions = map.height * map.width;
  params.pooled_height = params.pooled_width = kPooled;
  params.sampling_ratio = 2;
  const auto kernel = prepared([&] { return std::make_unique<kernels::RoiAlign>(params); });
  std::vector<std::byte> scratch(kernel->scratch_bytes());
  const auto roi = [&](std::size_t i) {
    return kernels::AlignedRoi{image.data(), map.height, map.width,
                               kernels::upright_box(corners.data() + 4 * i, {})};
  };
  constexpr double kFlopsOfBin = 4 * 8;
  measure(state, {kFlopsOfBin * static_cast<double>(out.size()), 0},
          [&] { kernel->run(roi, out.data(), scratch.data()); });
}

void pool_largest(benchmark::State& state, const Map& map) {
  const std::vector<float> corners = random_corners(map);
  std::vector<float> boxes;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    if (i % 4 == 0) boxes.push_back(0);
    boxes.push_back(corners[i]);
  }
  const std::vector<float> image = random_floats(map.channels * map.height * map.width);
  std::vector<float> out(map.rois * map.channels * kPooled * kPooled);
  const kernels::RegionShapes shapes{map.channels, map.height, map.width, map.channels, kPooled, kPooled};
  const auto kernel = prepared([&] {
    return std::make_unique<kernels::RoiPooling>(shapes, map.rois, kernels::RoiPoolingMethod::maximum);
  });
  std::vector<std::byte> scratch(kernel->scratch_bytes());
  measure(state, {}, [&] {
    kernel->run({image.data(), boxes.data(), map.rois, 1}, out.data(), scratch.data());
  });
}

}  // namespace

void register_detection() {
  for (const Map& map : kMaps) {
    add(fmt::format("detection/roi_align_{}", map.name),
        [map](benchmark::State& state) { align(state, map); });
    add(fmt::format("detection/roi_pooling_{}", map.name),
        [map](benchmark::State& state) { pool_largest(state, map); });
  }
}

}  // namespace ir::bench
