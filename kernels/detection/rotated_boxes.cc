#include "kernels/detection/rotated_boxes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ir::kernels {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

/// A box with all that does not depend on the other box.
struct TurnedBox {
  explicit TurnedBox(const RotatedBox& box)
      : center{box.x, box.y},
        half_width(0.5 * box.width),
        half_height(0.5 * box.height),
        cosine(std::cos(double{box.angle})),
        sine(std::sin(double{box.angle})),
        radius(std::hypot(half_width, half_height)) {}

  [[nodiscard]] double area() const { return 4 * half_width * half_height; }

  Point center;
  double half_width;
  double half_height;
  double cosine;
  double sine;
  double radius;
};

/// A polygon that is clipped four times. Each clip of n vertices leaves at most 1.5 * n of them (n + 1 when
/// the polygon is convex, which rounding and NaN can spoil): 4, 6, 9, 13, 19.
class Polygon {
 public:
  void add(Point point) { points_[size_++] = point; }

  /// Drops what lies beyond `limit` in the direction of `sign` along a coordinate.
  void clip(double Point::*along, double sign, double limit) {
    Polygon rest;
    for (std::size_t i = 0; i < size_; ++i) {
      const Point& from = points_[i];
      const Point& to = points_[i + 1 < size_ ? i + 1 : 0];
      const double from_distance = limit - sign * (from.*along);
      const double to_distance = limit - sign * (to.*along);
      if (from_distance >= 0) rest.add(from);
      if ((from_distance >= 0) == (to_distance >= 0)) continue;
      const double part = from_distance / (from_distance - to_distance);
      rest.add({from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)});
    }
    *this = rest;
  }

  [[nodiscard]] double area() const {
    double twice = 0;
    for (std::size_t i = 0; i + 1 < size_; ++i) {
      const Point a{points_[i].x - points_[0].x, points_[i].y - points_[0].y};
      const Point b{points_[i + 1].x - points_[0].x, points_[i + 1].y - points_[0].y};
      twice += a.x * b.y - b.x * a.y;
    }
    return 0.5 * std::abs(twice);
  }

 private:
  std::array<Point, 20> points_{};
  std::size_t size_ = 0;
};

/// The corners of `a`, clipped by `b` in the frame in which b has its centre in the origin and no angle.
double intersection(const TurnedBox& a, const TurnedBox& b) {
  const Point offset{a.center.x - b.center.x, a.center.y - b.center.y};
  if (offset.x * offset.x + offset.y * offset.y > (a.radius + b.radius) * (a.radius + b.radius)) return 0;
  const Point center{b.cosine * offset.x + b.sine * offset.y, b.cosine * offset.y - b.sine * offset.x};
  const double cosine = a.cosine * b.cosine + a.sine * b.sine;
  const double sine = a.sine * b.cosine - a.cosine * b.sine;
  Polygon common;
  for (const auto& [along, across] : {std::pair{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}) {
    const double x = along * a.half_width;
    const double y = across * a.half_height;
    common.add({center.x + cosine * x - sine * y, center.y + sine * x + cosine * y});
  }
  for (const double sign : {1.0, -1.0}) {
    common.clip(&Point::x, sign, b.half_width);
    common.clip(&Point::y, sign, b.half_height);
  }
  return common.area();
}

float overlap(const TurnedBox& a, const TurnedBox& b) {
  if (!(a.half_width > 0) || !(a.half_height > 0) || !(b.half_width > 0) || !(b.half_height > 0)) return 0;
  const double common = intersection(a, b);
  const double ratio = common / (a.area() + b.area() - common);
  return ratio > 0 ? static_cast<float>(ratio) : 0.0F;
}

}  // namespace

float intersection_over_union(const RotatedBox& a, const RotatedBox& b) {
  return overlap(TurnedBox(a), TurnedBox(b));
}

std::vector<SelectedBox> rotated_non_max_suppression(const float* boxes, const float* scores,
                                                     std::size_t batches, std::size_t classes,
                                                     std::size_t count, const RotatedNmsParams& params) {
  // Without boxes nothing bounds the number of classes.
  if (params.max_output_boxes_per_class <= 0 || count == 0) return {};
  const auto limit = static_cast<std::size_t>(params.max_output_boxes_per_class);
  const auto select = [&](std::size_t batch, std::size_t label) {
    const std::span row(scores + (batch * classes + label) * count, count);
    std::vector<ScoredIndex> candidates = candidates_of(row, params.score_threshold);
    sort_best(candidates, candidates.size());
    std::vector<ScoredIndex> kept;
    std::vector<TurnedBox> kept_boxes;
    for (const ScoredIndex& candidate : candidates) {
      if (kept.size() == limit) break;
      const float* box = boxes + (batch * count + candidate.index) * 5;
      const TurnedBox turned({box[0], box[1], box[2], box[3], params.clockwise ? box[4] : -box[4]});
      const bool suppressed = std::ranges::any_of(
          kept_boxes, [&](const TurnedBox& rival) { return overlap(turned, rival) > params.iou_threshold; });
      if (suppressed) continue;
      kept.push_back(candidate);
      kept_boxes.push_back(turned);
    }
    return kept;
  };
  std::vector<SelectedBox> selected = select_by_class(batches, classes, 64 * count, select);
  if (params.sort_result_descending) sort_selected(selected, SelectedOrder::score);
  return selected;
}

}  // namespace ir::kernels
