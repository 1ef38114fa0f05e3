#include "kernels/detection/rotated_boxes.h"

#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

constexpr float kQuarter = 0.785398163F;  // pi / 4

bool contains(const RotatedBox& box, double x, double y) {
  const double dx = x - box.x;
  const double dy = y - box.y;
  const double along = std::cos(box.angle) * dx + std::sin(box.angle) * dy;
  const double across = std::cos(box.angle) * dy - std::sin(box.angle) * dx;
  return std::abs(along) <= box.width / 2 && std::abs(across) <= box.height / 2;
}

/// Counts the points of a grid that lie in both boxes and in one of them.
double sampled_overlap(const RotatedBox& a, const RotatedBox& b) {
  constexpr int kPoints = 300;
  int both = 0;
  int any = 0;
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) {
      const double x = -10 + 20.0 * i / kPoints;
      const double y = -10 + 20.0 * j / kPoints;
      const bool in_a = contains(a, x, y);
      const bool in_b = contains(b, x, y);
      both += in_a && in_b ? 1 : 0;
      any += in_a || in_b ? 1 : 0;
    }
  }
  return any == 0 ? 0 : static_cast<double>(both) / any;
}

std::vector<std::int64_t> selected_boxes(const std::vector<SelectedBox>& selected) {
  std::vector<std::int64_t> boxes;
  for (const SelectedBox& box : selected) boxes.push_back(box.box);
  return boxes;
}

}  // namespace

TEST_CASE("The overlap of boxes at an angle: cases by hand") {
  const RotatedBox square{3, -2, 1, 1, 0};
  const auto overlap_with = [&square](const RotatedBox& other) {
    const float overlap = intersection_over_union(square, other);
    CHECK(intersection_over_union(other, square) == Approx(overlap).margin(1e-6));
    return overlap;
  };
  CHECK(overlap_with(square) == Approx(1));
  CHECK(overlap_with({3, -2, 1, 1, 2 * kQuarter}) == Approx(1));
  // Both make an octagon of area 2 * (sqrt(2) - 1), of a union of 2 - that.
  CHECK(overlap_with({3, -2, 1, 1, kQuarter}) == Approx(std::sqrt(0.5)));
  CHECK(overlap_with({3, -2, 1, 1, -7 * kQuarter}) == Approx(std::sqrt(0.5)));
  // One inside of the other.
  CHECK(overlap_with({3, -2, 4, 2, 0.3F}) == Approx(1.0 / 8));
  // Half of it: 0.5 / 1.5.
  CHECK(overlap_with({3.5F, -2, 1, 1, 0}) == Approx(1.0 / 3));
  // A diamond of diagonal 2 whose corner lies in the centre: a triangle of area 1 / 4.
  CHECK(overlap_with({4, -2, std::sqrt(2.0F), std::sqrt(2.0F), kQuarter}) == Approx(0.25 / 2.75));
  CHECK(overlap_with({4, -2, 1, 1, 0}) == Approx(0).margin(1e-6));
  CHECK(overlap_with({5, -2, 1, 1, kQuarter}) == 0);
}

TEST_CASE("The overlap of boxes at an angle is that of axis-parallel ones for an angle of zero") {
  std::vector<float> numbers(8 * 200);
  test::fill_random(numbers, 0.5F, 4, 11);
  for (std::size_t i = 0; i < numbers.size(); i += 8) {
    const float* n = numbers.data() + i;
    const auto box = [](const RotatedBox& r) -> Box {
      return {r.x - r.width / 2, r.y - r.height / 2, r.x + r.width / 2, r.y + r.height / 2};
    };
    const RotatedBox a{n[0], n[1], n[2], n[3], 0};
    const RotatedBox b{n[4], n[5], n[6], n[7], 0};
    CHECK(intersection_over_union(a, b) ==
          Approx(intersection_over_union(box(a), box(b))).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("The overlap of boxes at an angle is the share of the points that both contain") {
  std::vector<float> numbers(10 * 12);
  test::fill_random(numbers, -3, 3, 12);
  for (std::size_t i = 0; i < numbers.size(); i += 10) {
    const float* n = numbers.data() + i;
    const RotatedBox a{n[0], n[1], 4 + n[2], 4 + n[3], n[4]};
    const RotatedBox b{n[5], n[6], 4 + n[7], 4 + n[8], n[9]};
    CHECK(intersection_over_union(a, b) == Approx(sampled_overlap(a, b)).margin(0.01));
  }
}

TEST_CASE("Boxes without an area, and numbers that are none, overlap nothing") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const RotatedBox square{0, 0, 1, 1, 0.1F};
  for (const RotatedBox& other :
       {RotatedBox{0, 0, 0, 1, 0}, RotatedBox{0, 0, -1, -1, 0}, RotatedBox{0, 0, NAN, 1, 0},
        RotatedBox{NAN, 0, 1, 1, 0}, RotatedBox{0, 0, 1, 1, NAN}, RotatedBox{0, 0, 1, 1, kInfinity},
        RotatedBox{kInfinity, 0, 1, 1, 0}, RotatedBox{0, 0, kInfinity, kInfinity, 0}}) {
    CHECK(intersection_over_union(square, other) == 0);
    CHECK(intersection_over_union(other, square) == 0);
  }
}

TEST_CASE("rotated_non_max_suppression turns positive angles clockwise or not") {
  // Box 0 lies along y = x or, counterclockwise, along y = -x; box 1 stands on y = x.
  const std::vector<float> boxes{0, 0, 10, 2, kQuarter, 3, 3, 2, 2, 0};
  const std::vector<float> scores{0.5F, 0.4F};
  RotatedNmsParams params;
  params.max_output_boxes_per_class = 10;
  params.iou_threshold = 0.05F;
  CHECK(selected_boxes(rotated_non_max_suppression(boxes.data(), scores.data(), 1, 1, 2, params)) ==
        std::vector<std::int64_t>{0});
  params.clockwise = false;
  CHECK(selected_boxes(rotated_non_max_suppression(boxes.data(), scores.data(), 1, 1, 2, params)) ==
        std::vector<std::int64_t>{0, 1});
}

TEST_CASE("rotated_non_max_suppression keeps the best of each class, up to the limit") {
  // Boxes 0 and 1 are the same, box 2 stands apart; two classes.
  const std::vector<float> boxes{0, 0, 2, 1, 1, 0, 0, 2, 1, 1, 9, 9, 1, 1, 2};
  const std::vector<float> scores{0.5F, 0.6F, 0.7F, 0.8F, 0.8F, 0.1F};
  RotatedNmsParams params;
  params.max_output_boxes_per_class = 3;
  params.iou_threshold = 0.5F;
  const auto run = [&] {
    return selected_boxes(rotated_non_max_suppression(boxes.data(), scores.data(), 1, 2, 3, params));
  };
  CHECK(run() == std::vector<std::int64_t>{0, 2, 1, 2});
  params.sort_result_descending = false;
  CHECK(run() == std::vector<std::int64_t>{2, 1, 0, 2});
  params.max_output_boxes_per_class = 1;
  CHECK(run() == std::vector<std::int64_t>{2, 0});
  params.max_output_boxes_per_class = 3;
  params.score_threshold = 0.6F;
  CHECK(run() == std::vector<std::int64_t>{2, 0});
  params.score_threshold = 0;
  params.iou_threshold = 1;
  CHECK(run() == std::vector<std::int64_t>{2, 1, 0, 0, 1, 2});
  params.max_output_boxes_per_class = 0;
  CHECK(run().empty());
}

TEST_CASE("rotated_non_max_suppression has the same results for any number of threads") {
  std::vector<float> boxes(2 * 300 * 5);
  std::vector<float> scores(2 * 4 * 300);
  test::fill_random(boxes, 0.5F, 10, 1);
  test::fill_random(scores, 0, 1, 2);
  RotatedNmsParams params;
  params.max_output_boxes_per_class = 100;
  params.iou_threshold = 0.3F;
  std::vector<SelectedBox> one;
  std::vector<SelectedBox> two;
  ThreadPool(1).run(
      [&] { one = rotated_non_max_suppression(boxes.data(), scores.data(), 2, 4, 300, params); });
  ThreadPool(2).run(
      [&] { two = rotated_non_max_suppression(boxes.data(), scores.data(), 2, 4, 300, params); });
  CHECK(one.size() > 10);
  CHECK(selected_boxes(one) == selected_boxes(two));
}

}  // namespace ir::kernels
