#include "kernels/detection/roi_pooling.h"

#include <cmath>
#include <functional>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

constexpr std::size_t kBatches = 2;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Problem {
  RegionShapes shapes;
  std::vector<float> maps;
  std::vector<float> boxes;

  Problem(const RegionShapes& given, std::size_t rois, double extent) : shapes(given), boxes(5 * rois) {
    maps.resize(kBatches * shapes.channels * shapes.height * shapes.width);
    test::fill_random(maps, -5, 5, 3);
    test::fill_random(boxes, -0.2 * extent, 1.2 * extent, 4);
    for (std::size_t i = 0; i < rois; ++i) boxes[5 * i] = static_cast<float>(i % kBatches);
  }

  std::size_t rois() const { return boxes.size() / 5; }
  RoiPoolingInput input(float scale) const { return {maps.data(), boxes.data(), rois(), scale}; }
  double at(std::size_t batch, std::size_t channel, double y, double x) const {
    return double{maps[((batch * shapes.channels + channel) * shapes.height + static_cast<std::size_t>(y)) *
                           shapes.width +
                       static_cast<std::size_t>(x)]};
  }
  // The sample at (y, x), which lies on the map.
  double sample(std::size_t batch, std::size_t channel, double y, double x) const {
    const double top = std::floor(y);
    const double left = std::floor(x);
    const double bottom = std::min(top + 1, static_cast<double>(shapes.height) - 1);
    const double right = std::min(left + 1, static_cast<double>(shapes.width) - 1);
    return (1 - (y - top)) * ((1 - (x - left)) * at(batch, channel, top, left) +
                              (x - left) * at(batch, channel, top, right)) +
           (y - top) * ((1 - (x - left)) * at(batch, channel, bottom, left) +
                        (x - left) * at(batch, channel, bottom, right));
  }
};

using Run = std::function<void(const Problem&, float*)>;
// The value of (box, output channel, bin y, bin x).
using Twin = std::function<double(const float*, std::size_t, std::size_t, std::size_t)>;

std::vector<float> output_of(const Problem& problem, const Run& run) {
  const RegionShapes& s = problem.shapes;
  GuardedBuffer<float> out(problem.rois() * s.out_channels * s.pooled_height * s.pooled_width, 1);
  run(problem, out.data());
  REQUIRE(out.guards_intact());
  return {out.begin(), out.end()};
}

void check(const Problem& problem, const Run& run, const Twin& twin) {
  const std::vector<float> got = output_of(problem, run);
  const RegionShapes& s = problem.shapes;
  std::size_t i = 0;
  std::size_t zeros = 0;
  for (std::size_t roi = 0; roi < problem.rois(); ++roi) {
    for (std::size_t c = 0; c < s.out_channels; ++c) {
      for (std::size_t y = 0; y < s.pooled_height; ++y) {
        for (std::size_t x = 0; x < s.pooled_width; ++x, ++i) {
          const double want = twin(problem.boxes.data() + 5 * roi, c, y, x);
          INFO("region " << roi << ", channel " << c << ", bin " << y << ", " << x << ": got " << got[i]
                         << ", expected " << want);
          REQUIRE(test::close(got[i], want, 1e-4, 1e-4));
          if (want == 0) ++zeros;
        }
      }
    }
  }
  CHECK(zeros < got.size() / 2);
  // Coordinates that mean nothing must not be read by.
  Problem odd = problem;
  const std::vector<float> values{NAN, kInfinity, -kInfinity, 3e38F, -3e38F, 1e10F, -1e10F, 0};
  for (std::size_t k = 0; k < odd.boxes.size(); ++k) {
    if (k % 5 != 0) odd.boxes[k] = values[(k + k / 7) % values.size()];
  }
  (void)output_of(odd, run);

  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = output_of(problem, run); });
  ThreadPool(2).run([&] { two = output_of(problem, run); });
  CHECK(one == two);
}

void pool_regions(const Problem& problem, RoiPoolingMethod method, float scale, float* out) {
  const RoiPooling pooling(problem.shapes, problem.rois(), method);
  GuardedBuffer<std::byte> scratch(pooling.scratch_bytes());
  pooling.run(problem.input(scale), out, scratch.data());
  REQUIRE(scratch.guards_intact());
}

std::size_t batch_of(const float* box) { return static_cast<std::size_t>(box[0]); }

}  // namespace

TEST_CASE("RoiPooling of maxima agrees with a walk over the elements of each bin") {
  IR_FOR_EACH_TARGET();
  RegionShapes shapes{.height = 9, .width = 11, .pooled_height = 4, .pooled_width = 2};
  shapes.channels = shapes.out_channels = GENERATE(3U, 35U, 48U);
  // Maps of many regions are turned first, where channels are enough.
  const Problem problem(shapes, GENERATE(4U, 9U, 50U), 20);
  const float scale = 0.5F;
  check(
      problem, [&](const Problem& p, float* out) { pool_regions(p, RoiPoolingMethod::maximum, scale, out); },
      [&](const float* box, std::size_t c, std::size_t y, std::size_t x) {
        // Element `place` of the region's axis belongs to the bin when it overlaps the bin's stretch.
        const auto in_bin = [&](float first, float last, std::size_t bin, std::size_t bins, double place) {
          const double begin = std::round(first * scale);
          const double length =
              std::max(std::round(last * scale) - begin + 1, 1.0) / static_cast<double>(bins);
          const double offset = place - begin;
          return offset + 1 > static_cast<double>(bin) * length &&
                 offset < static_cast<double>(bin + 1) * length;
        };
        double maximum = -100;
        for (std::size_t row = 0; row < shapes.height; ++row) {
          for (std::size_t column = 0; column < shapes.width; ++column) {
            if (in_bin(box[2], box[4], y, shapes.pooled_height, static_cast<double>(row)) &&
                in_bin(box[1], box[3], x, shapes.pooled_width, static_cast<double>(column))) {
              maximum = std::max(maximum, problem.at(batch_of(box), c, static_cast<double>(row),
                                                     static_cast<double>(column)));
            }
          }
        }
        return maximum == -100 ? 0 : maximum;
      });
}

TEST_CASE("RoiPooling of samples takes a grid that includes the ends") {
  IR_FOR_EACH_TARGET();
  RegionShapes shapes{.height = 6, .width = 9};
  shapes.channels = shapes.out_channels = GENERATE(3U, 34U);
  shapes.pooled_height = GENERATE(1U, 3U);
  shapes.pooled_width = GENERATE(1U, 4U);
  const Problem problem(shapes, GENERATE(12U, 40U), 1);
  check(
      problem, [](const Problem& p, float* out) { pool_regions(p, RoiPoolingMethod::bilinear, 1, out); },
      [&](const float* box, std::size_t c, std::size_t y, std::size_t x) {
        const auto place = [](float first, float last, std::size_t bin, std::size_t bins, std::size_t size) {
          const double part = bins > 1 ? static_cast<double>(bin) / static_cast<double>(bins - 1) : 0.5;
          return (first + (last - first) * part) * static_cast<double>(size - 1);
        };
        const double row = place(box[2], box[4], y, shapes.pooled_height, shapes.height);
        const double column = place(box[1], box[3], x, shapes.pooled_width, shapes.width);
        const bool inside = row >= 0 && row <= 5 && column >= 0 && column <= 8;
        return inside ? problem.sample(batch_of(box), c, row, column) : 0;
      });
}

TEST_CASE("position_sensitive_average reads each bin from its own channel") {
  const RegionShapes shapes{.channels = 34 * 6,
                            .height = 8,
                            .width = 10,
                            .out_channels = 34,
                            .pooled_height = 2,
                            .pooled_width = 3};
  Problem problem(shapes, 6, 30);
  for (std::size_t i = 0; i < problem.rois(); ++i) {  // some regions, ordered and beginning on the map
    float* box = problem.boxes.data() + 5 * i;
    for (int k = 1; k <= 2; ++k) box[k] = std::abs(box[k]) / 2;
    for (int k = 3; k <= 4; ++k) box[k] = box[k - 2] + std::abs(box[k]) / 2;
  }
  const double scale = 0.25;
  check(
      problem,
      [](const Problem& p, float* out) { position_sensitive_average(p.input(0.25F), p.shapes, out); },
      [&](const float* box, std::size_t c, std::size_t y, std::size_t x) {
        struct Edges {
          double begin;
          double end;
        };
        const auto edges = [&](float first, float last, std::size_t bin, std::size_t bins, double size) {
          const double begin = std::round(first) * scale;
          const double length = ((std::round(last) + 1) * scale - begin) / static_cast<double>(bins);
          return Edges{std::min(std::floor(begin + static_cast<double>(bin) * length), size - 1),
                       std::min(std::ceil(begin + static_cast<double>(bin + 1) * length - 1e-5), size)};
        };
        const Edges rows = edges(box[2], box[4], y, 2, 8);
        const Edges columns = edges(box[1], box[3], x, 3, 10);
        double sum = 0;
        for (double row = rows.begin; row < rows.end; ++row) {
          for (double column = columns.begin; column < columns.end; ++column)
            sum += problem.at(batch_of(box), (c * 2 + y) * 3 + x, row, column);
        }
        return sum / ((rows.end - rows.begin) * (columns.end - columns.begin));
      });
}

TEST_CASE("position_sensitive_average has nothing above and left of the map") {
  RegionShapes shapes{.channels = 2, .height = 1, .width = 4, .out_channels = 1, .pooled_width = 2};
  const std::vector<float> maps{1, 2, 3, 4, 10, 20, 30, 40};
  std::vector<float> out(2);
  const auto run = [&](float x_1, float x_2) {
    const std::vector<float> box{0, x_1, 0, x_2, 0};
    position_sensitive_average({maps.data(), box.data(), 1, 1}, shapes, out.data());
    return out;
  };
  CHECK(run(-2, 1) == std::vector<float>{0, 15});
  CHECK(run(4, 7) == std::vector<float>{4, 40});
  CHECK(run(3, -1) == std::vector<float>{0, 0});
}

TEST_CASE("position_sensitive_bilinear averages samples of the parts, each from its own channel") {
  const RegionShapes shapes{
      .channels = 34 * 6, .height = 7, .width = 9, .out_channels = 34, .pooled_height = 3, .pooled_width = 1};
  const Problem problem(shapes, 9, 1.5);
  check(
      problem,
      [](const Problem& p, float* out) {
        position_sensitive_bilinear(p.input(0.5F), p.shapes, {.y = 2, .x = 3}, out);
      },
      [&](const float* box, std::size_t c, std::size_t y, std::size_t x) {
        const auto place = [](float first, float last, std::size_t part, std::size_t parts, std::size_t bin,
                              std::size_t bins, std::size_t size) {
          const double length = 0.5 * (double{last} - double{first}) / static_cast<double>(parts);
          const double begin = 0.5 * first + static_cast<double>(part) * length;
          const double within = bins > 1 ? static_cast<double>(bin) / static_cast<double>(bins - 1) : 0.5;
          return (begin + within * length) * static_cast<double>(size - 1);
        };
        double sum = 0;
        for (std::size_t part = 0; part < 6; ++part) {
          const double row = place(box[2], box[4], part / 3, 2, y, 3, 7);
          const double column = place(box[1], box[3], part % 3, 3, x, 1, 9);
          if (row >= 0 && row < 7 && column >= 0 && column < 9)
            sum += problem.sample(batch_of(box), part * 34 + c, row, column);
        }
        return sum / 6;
      });
}

TEST_CASE("deformable_position_sensitive moves bins by their offsets") {
  const RegionShapes shapes{.channels = 34 * 6 + 1,
                            .height = 8,
                            .width = 9,
                            .out_channels = 34,
                            .pooled_height = 2,
                            .pooled_width = 3};
  Problem problem(shapes, 7, 8);
  for (std::size_t i = 0; i < problem.rois(); ++i) {
    for (std::size_t k = 3; k <= 4; ++k) problem.boxes[5 * i + k] = problem.boxes[5 * i + k - 2] + 5;
  }
  problem.boxes[5] = -1;
  const bool moved = GENERATE(false, true);
  const std::size_t part_size = 2;
  const std::size_t classes = moved ? 17 : 1;
  std::vector<float> values(problem.rois() * classes * 2 * part_size * part_size);
  test::fill_random(values, -0.3, 0.3, 9);
  BinOffsets offsets{
      .data = moved ? values.data() : nullptr, .classes = classes, .part_size = part_size, .scale = 0.5F};
  check(
      problem,
      [&](const Problem& p, float* out) {
        deformable_position_sensitive(p.input(0.9F), p.shapes, {.y = 3, .x = 2}, offsets, out);
      },
      [&](const float* box, std::size_t c, std::size_t y, std::size_t x) -> double {
        if (box[0] < 0) return 0;
        const auto roi = static_cast<std::size_t>(box - problem.boxes.data()) / 5;
        const auto offset = [&](std::size_t coordinate) {
          if (!moved) return 0.0;
          const std::size_t plane = (roi * classes + c / (34 / classes)) * 2 + coordinate;
          return 0.5 * values[(plane * part_size + y * part_size / 2) * part_size + x * part_size / 3];
        };
        const auto place = [](float first, float last, double move, std::size_t bin, std::size_t bins,
                              std::size_t sample, std::size_t samples) {
          const double begin = std::round(first) * double{0.9F} - 0.5;
          const double length = std::max((std::round(last) + 1) * double{0.9F} - 0.5 - begin, 0.1);
          const double part = static_cast<double>(sample) / static_cast<double>(samples);
          return begin + move * length +
                 length / static_cast<double>(bins) * (static_cast<double>(bin) + part);
        };
        double sum = 0;
        double count = 0;
        for (std::size_t i = 0; i < 6; ++i) {
          const double row = place(box[2], box[4], offset(1), y, 2, i / 2, 3);
          const double column = place(box[1], box[3], offset(0), x, 3, i % 2, 2);
          if (row < -0.5 || row > 7.5 || column < -0.5 || column > 8.5) continue;
          sum += problem.sample(batch_of(box), c * 6 + y * 3 + x, std::clamp(row, 0.0, 7.0),
                                std::clamp(column, 0.0, 8.0));
          ++count;
        }
        return count > 0 ? sum / count : 0;
      });
}

}  // namespace ir::kernels
