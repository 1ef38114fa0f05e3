#include "kernels/detection/roi_align.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/image/bilinear.h"
#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Maps {
  std::size_t channels;
  std::size_t height;
  std::size_t width;
  std::vector<float> data;

  Maps(std::size_t c, std::size_t h, std::size_t w) : channels(c), height(h), width(w), data(c * h * w) {
    test::fill_random(data, -5, 5, 7);
  }
  AlignedRoi roi(const SamplingBox& box) const { return {data.data(), height, width, box}; }

  // The sample at (y, x) of a channel; zero outside of the map and of the border of one element around it.
  double sample(std::size_t channel, double y, double x) const {
    const auto rows = static_cast<double>(height);
    const auto columns = static_cast<double>(width);
    if (y < -1 || y > rows || x < -1 || x > columns) return 0;
    y = std::clamp(y, 0.0, rows - 1);
    x = std::clamp(x, 0.0, columns - 1);
    const auto at = [&](double row, double column) {
      return double{data[(channel * height + static_cast<std::size_t>(row)) * width +
                         static_cast<std::size_t>(column)]};
    };
    const double top = std::floor(y);
    const double left = std::floor(x);
    const double bottom = std::ceil(y);
    const double right = std::ceil(x);
    const double above = at(top, left) + (at(top, right) - at(top, left)) * (x - left);
    const double below = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * (x - left);
    return above + (below - above) * (y - top);
  }
};

std::vector<float> run(const RoiAlignParams& params, FunctionRef<AlignedRoi(std::size_t)> roi) {
  GuardedBuffer<float> out(params.rois * params.channels * params.pooled_height * params.pooled_width, 1);
  const RoiAlign align(params);
  GuardedBuffer<std::byte> scratch(align.scratch_bytes());
  align.run(roi, out.data(), scratch.data());
  REQUIRE(out.guards_intact());
  REQUIRE(scratch.guards_intact());
  return {out.begin(), out.end()};
}

std::vector<float> run(const Maps& maps, const std::vector<SamplingBox>& boxes, RoiAlignParams params) {
  params.rois = boxes.size();
  params.channels = maps.channels;
  params.most_positions = maps.height * maps.width;
  return run(params, [&](std::size_t i) { return maps.roi(boxes[i]); });
}

std::vector<double> expected(const Maps& maps, const std::vector<SamplingBox>& boxes,
                             const RoiAlignParams& params) {
  std::vector<double> out;
  for (const SamplingBox& box : boxes) {
    const double bin_height = box.height / static_cast<float>(params.pooled_height);
    const double bin_width = box.width / static_cast<float>(params.pooled_width);
    const auto samples = [&](double bin) {
      return static_cast<int>(params.sampling_ratio > 0 ? static_cast<double>(params.sampling_ratio)
                                                        : std::ceil(bin));
    };
    const int count_y = samples(bin_height);
    const int count_x = samples(bin_width);
    for (std::size_t c = 0; c < maps.channels; ++c) {
      for (std::size_t bin = 0; bin < params.pooled_height * params.pooled_width; ++bin) {
        double sum = 0;
        double maximum = 0;
        for (int i = 0; i < count_y * count_x; ++i) {
          const std::size_t bin_row = bin / params.pooled_width;
          const int row = i / count_x;
          const double v = box.y + bin_height * (static_cast<double>(bin_row) + (row + 0.5) / count_y);
          const double u = box.x + bin_width * (static_cast<double>(bin % params.pooled_width) +
                                                (i % count_x + 0.5) / count_x);
          const double y = v * box.cosine - u * box.sine + box.center_y;
          const double x = v * box.sine + u * box.cosine + box.center_x;
          const double value = maps.sample(c, y, x);
          sum += value / (count_y * count_x);
          maximum = std::max(maximum, value);
        }
        out.push_back(params.mode == RoiAlignMode::average ? sum : maximum);
      }
    }
  }
  return out;
}

std::vector<SamplingBox> random_boxes(std::size_t count, bool rotated) {
  std::vector<float> values(5 * count);
  test::fill_random(values, 0.5, 12, 11);
  std::vector<SamplingBox> boxes;
  for (std::size_t i = 0; i < count; ++i) {
    const float* v = values.data() + 5 * i;
    boxes.push_back(rotated ? rotated_box(v, 1, i % 2 == 0)
                            : SamplingBox{.x = v[0] - 4, .y = v[1] - 3, .width = v[2], .height = v[3]});
  }
  return boxes;
}

}  // namespace

TEST_CASE("bilinear_sample weights the elements around a position") {
  const std::vector<float> plane{1, 2, 4, 8, 16, kInfinity};
  const auto at = [&](float y, float x) { return bilinear_sample(y, x, 2, 3).of(plane.data()); };
  CHECK(at(0, 1) == 2);
  CHECK(at(0, 0.5F) == 1.5F);
  CHECK(at(0.25F, 0) == 0.75F * 1 + 0.25F * 8);
  CHECK(at(0.5F, 0.5F) == (1 + 2 + 8 + 16) / 4.0F);
  CHECK(at(1, 1) == 16);  // not NaN from zero times infinity
  CHECK(at(-3, -3) == 1);
  CHECK(at(0, 7) == 4);
  CHECK(at(9, 0) == 8);
  CHECK(bilinear_sample(0.5F, 0.5F, 1, 1, 2).of(plane.data()) == 2);
  CHECK(std::isfinite(bilinear_sample(NAN, NAN, 1, 3).of(plane.data())));
}

TEST_CASE("roi_align agrees with a plain loop over all samples") {
  const std::size_t channels = GENERATE(1U, 33U, 70U);
  const bool rotated = GENERATE(false, true);
  RoiAlignParams params;
  params.sampling_ratio = GENERATE(0U, 1U, 3U);
  params.mode = GENERATE(RoiAlignMode::average, RoiAlignMode::maximum);
  params.pooled_height = 3;
  params.pooled_width = 2;
  const Maps maps(channels, 9, 7);
  const std::vector<SamplingBox> boxes = random_boxes(9, rotated);
  const std::vector<float> got = run(maps, boxes, params);
  const std::vector<double> want = expected(maps, boxes, params);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": got " << got[i] << ", expected " << want[i]);
    REQUIRE(test::close(got[i], want[i], 1e-4, 1e-4));
  }
}

TEST_CASE("roi_align takes each region from its own map") {
  const Maps small(2, 2, 2);
  const Maps large(2, 5, 4);
  const SamplingBox box{.x = 0, .y = 0, .width = 2, .height = 2};
  RoiAlignParams params;
  const std::vector<float> first = run(small, {box}, params);
  const std::vector<float> second = run(large, {box}, params);
  params.rois = 3;
  params.channels = 2;
  params.most_positions = 20;
  const std::vector<float> all = run(params, [&](std::size_t i) {
    return i == 0 ? small.roi(box) : i == 1 ? large.roi(box) : AlignedRoi{};
  });
  CHECK(all == std::vector<float>{first[0], first[1], second[0], second[1], 0, 0});
}

TEST_CASE("roi_align turns maps of many regions, for the same bits") {
  IR_FOR_EACH_TARGET();
  // A batch of two whose regions alternate. Alone, a region is not worth turning its map.
  const std::size_t channels = GENERATE(8U, 16U, 21U, 48U);
  const bool rotated = GENERATE(false, true);
  RoiAlignParams params;
  params.sampling_ratio = GENERATE(0U, 2U);
  params.mode = GENERATE(RoiAlignMode::average, RoiAlignMode::maximum);
  params.pooled_height = 3;
  params.pooled_width = 5;
  Maps first(channels, 40, 50);
  Maps second(channels, 31, 17);
  first.data[1234] = kInfinity;
  second.data[77] = NAN;
  std::vector<SamplingBox> boxes = random_boxes(200, rotated);
  boxes[3].x = NAN;
  const auto maps_of = [&](std::size_t i) -> const Maps& { return i % 2 == 0 ? first : second; };
  params.rois = boxes.size();
  params.channels = channels;
  params.most_positions = first.height * first.width;
  const std::vector<float> got = run(params, [&](std::size_t i) { return maps_of(i).roi(boxes[i]); });
  const std::size_t size = channels * params.pooled_height * params.pooled_width;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::vector<float> alone = run(maps_of(i), {boxes[i]}, params);
    INFO("region " << i);
    REQUIRE(std::memcmp(got.data() + i * size, alone.data(), size * sizeof(float)) == 0);
  }
}

TEST_CASE("roi_align needs no memory where there is nothing to write") {
  RoiAlignParams params;
  params.most_positions = std::numeric_limits<std::size_t>::max();
  params.pooled_height = std::numeric_limits<std::size_t>::max();
  params.channels = 64;
  CHECK(RoiAlign(params).scratch_bytes() == 0);
  params.rois = 3;
  params.channels = 0;
  CHECK(RoiAlign(params).scratch_bytes() == 0);
}

TEST_CASE("roi_align survives any box") {
  const Maps maps(2, 6, 5);
  RoiAlignParams params;
  params.sampling_ratio = GENERATE(0U, 2U);
  params.mode = GENERATE(RoiAlignMode::average, RoiAlignMode::maximum);
  params.pooled_height = 2;
  params.pooled_width = 3;
  std::vector<SamplingBox> boxes;
  for (const float odd :
       {0.0F, -0.0F, -3.0F, 1e9F, -1e9F, 1e30F, 3e38F, -3e38F, kInfinity, -kInfinity, NAN}) {
    boxes.push_back({.x = odd, .y = 0, .width = 2, .height = 2});
    boxes.push_back({.x = 0, .y = 0, .width = odd, .height = 2});
    boxes.push_back({.x = -odd / 2, .y = -odd / 2, .width = odd, .height = odd});
    const float turned[] = {odd, 1, 2, odd, odd};
    boxes.push_back(rotated_box(turned, 1, false));
    const float corners[] = {odd, -odd, odd, 2};
    boxes.push_back(upright_box(corners, {.scale = 2, .offset_after = -0.5F, .at_least_one = true}));
  }
  for (const float value : run(maps, boxes, params)) REQUIRE(std::isfinite(value));

  const Maps empty(2, 0, 5);
  CHECK(run(empty, {boxes[5]}, params) == std::vector<float>(12, 0.0F));
}

TEST_CASE("roi_align visits only the samples near the map") {
  // 2^30 samples along each axis: a walk over all would not end. Every sample that meets the map is 1.
  Maps maps(1, 4, 4);
  std::fill(maps.data.begin(), maps.data.end(), 1.0F);
  RoiAlignParams params;
  params.mode = RoiAlignMode::maximum;
  const float side = 1 << 20;
  CHECK(run(maps, {{.x = 0, .y = 0, .width = side, .height = side}}, params) == std::vector<float>{1});
  const float turned[] = {2, 2, side, side, 0.7F};
  CHECK(run(maps, {rotated_box(turned, 1, true)}, params) == std::vector<float>{1});
}

TEST_CASE("boxes and levels of regions") {
  const float corners[] = {2, 4, 10, 5};
  const SamplingBox half =
      upright_box(corners, {.scale = 0.5F, .offset_before = 0.5F, .offset_after = -0.5F});
  CHECK(half.x == 0.75F);
  CHECK(half.y == 1.75F);
  CHECK(half.width == 4);
  CHECK(half.height == 0.5F);
  CHECK(upright_box(corners, {.scale = 0.5F, .at_least_one = true}).height == 1);

  const float quarter[] = {4, 6, 8, 2, 1.5707964F};
  const SamplingBox turned = rotated_box(quarter, 0.5F, true);
  CHECK(turned.center_x == 1.5F);
  CHECK(turned.center_y == 2.5F);
  CHECK(turned.x == -2);
  CHECK(turned.y == -0.5F);
  CHECK(turned.sine == Approx(-1));
  CHECK(rotated_box(quarter, 0.5F, false).sine == Approx(1));

  const auto level = [](float width, float height) {
    const float box[] = {1, 1, 1 + width, 1 + height};
    return pyramid_level(box, 4);
  };
  CHECK(level(224, 224) == 2);
  CHECK(level(223, 224) == 1);
  CHECK(level(448, 448) == 3);
  CHECK(level(9999, 9999) == 3);
  CHECK(level(1, 1) == 0);
  CHECK(level(0, 5) == 4);
  CHECK(level(NAN, 5) == 4);
  CHECK(level(kInfinity, 5) == 3);
}

TEST_CASE("roi_align has the same bits for any number of threads") {
  const Maps maps(70, 20, 30);
  const std::vector<SamplingBox> boxes = random_boxes(60, true);
  RoiAlignParams params;
  params.pooled_height = 7;
  params.pooled_width = 7;
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = run(maps, boxes, params); });
  ThreadPool(2).run([&] { two = run(maps, boxes, params); });
  CHECK(one == two);
}

}  // namespace ir::kernels
