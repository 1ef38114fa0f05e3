#include "samples/run_ir/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/types/place.h"
#include "samples/run_ir/elements.h"

namespace run_ir {
namespace {

using ir::ElementType;
using ir::reader::CaseMetric;

// How far an element lies beyond its tolerance; 0 when inside.
double excess(double got, double expected, double relative, double absolute) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) == std::isnan(expected) ? 0.0 : INFINITY;
  if (std::isinf(got) || std::isinf(expected)) return got == expected ? 0.0 : INFINITY;
  const double error = std::abs(got - expected);
  const double bound = std::max(absolute, relative * std::max(std::abs(got), std::abs(expected)));
  return error <= bound ? 0.0 : error;
}

std::optional<std::string> elementwise(const ir::Tensor& got, const ir::Tensor& expected,
                                       const CaseMetric& metric, std::size_t count) {
  const std::vector<double> a = values_of(got);
  const std::vector<double> b = values_of(expected);
  constexpr double kFloatFloor = 1e-4;
  const bool floating =
      !ir::is_integral(expected.element_type()) && expected.element_type() != ElementType::boolean;
  const double relative = metric.relative.value_or(0);
  // Integers are exact unless the case gives a relative tolerance.
  const double absolute = floating ? std::max(metric.absolute.value_or(0), kFloatFloor)
                                   : (metric.relative ? metric.absolute.value_or(0) : 0.0);
  // 64-bit integers do not fit into a double, so equality is that of the bytes.
  const bool exact = !floating && relative == 0;
  const std::size_t bytes = exact && count > 0 ? got.byte_size() / static_cast<std::size_t>(got.size()) : 0;
  const auto same_bytes = [&](std::size_t i) {
    return std::memcmp(static_cast<const std::byte*>(got.raw()) + i * bytes,
                       static_cast<const std::byte*>(expected.raw()) + i * bytes, bytes) == 0;
  };
  std::size_t wrong = 0;
  std::size_t worst = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double over = excess(a[i], b[i], relative, absolute);
    if (over <= 0 && (bytes < sizeof(std::int64_t) || same_bytes(i))) continue;
    if (wrong++ == 0 || over > worst_excess) {
      worst_excess = over;
      worst = i;
    }
  }
  if (wrong == 0) return std::nullopt;
  return fmt::format("{} of {} elements differ; worst at {}: got {}, expected {}", wrong, count,
                     ir::place_of(worst, expected.shape()), a[worst], b[worst]);
}

std::optional<std::string> relative_l2(const ir::Tensor& got, const ir::Tensor& expected,
                                       const CaseMetric& metric, std::size_t count) {
  const std::vector<double> a = values_of(got);
  const std::vector<double> b = values_of(expected);
  double error = 0;
  double norm = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
    if (std::abs(a[i] - b[i]) > std::abs(a[worst] - b[worst])) worst = i;
  }
  const double ratio = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  if (ratio <= metric.tolerance) return std::nullopt;  // false for NaN
  return fmt::format("relative L2 error {:.4g} is above {:.4g}; worst at {}: got {}, expected {}", ratio,
                     metric.tolerance, ir::place_of(worst, expected.shape()), a[worst], b[worst]);
}

struct Detection {
  double label, confidence, x0, y0, x1, y1;
};

using DetectionsByImage = std::map<double, std::vector<Detection>>;

// Rows of image, label, confidence and box; one of image -1 ends them.
DetectionsByImage detections(const ir::Tensor& tensor) {
  constexpr std::size_t kRow = 7;
  const std::vector<double> values = values_of(tensor);
  DetectionsByImage images;
  for (std::size_t at = 0; at + kRow <= values.size(); at += kRow) {
    if (values[at] == -1) break;
    if (!(values[at] >= 0)) continue;  // NaN neither
    images[values[at]].push_back(
        {values[at + 1], values[at + 2], values[at + 3], values[at + 4], values[at + 5], values[at + 6]});
  }
  return images;
}

double iou_of(const Detection& a, const Detection& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const double common = std::max(width, 0.0) * std::max(height, 0.0);
  const double both = (a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - common;
  return both > 0 ? common / both : (common == 0 && both == 0 ? 1.0 : 0.0);
}

// A row of `rows` that counts and has no partner among `others`.
std::optional<std::string> unmatched(const std::vector<Detection>& rows, const std::vector<Detection>& others,
                                     const CaseMetric& metric, std::string_view whose) {
  for (const Detection& row : rows) {
    if (row.confidence < metric.confidence) continue;
    const bool found = std::ranges::any_of(others, [&](const Detection& other) {
      return other.label == row.label &&
             std::abs(other.confidence - row.confidence) <= metric.confidence_tolerance &&
             iou_of(row, other) >= metric.iou;
    });
    if (!found) {
      return fmt::format(
          "the {} detection of label {} with confidence {:.4f} at ({:.4f}, {:.4f}, {:.4f}, {:.4f}) has no "
          "match",
          whose, row.label, row.confidence, row.x0, row.y0, row.x1, row.y1);
    }
  }
  return std::nullopt;
}

std::optional<std::string> detection_difference(const ir::Tensor& got, const ir::Tensor& expected,
                                                const CaseMetric& metric) {
  const DetectionsByImage a = detections(got);
  const DetectionsByImage b = detections(expected);
  const auto of_image = [](const DetectionsByImage& images, double image) {
    const auto found = images.find(image);
    return found == images.end() ? std::vector<Detection>() : found->second;
  };
  for (const auto& [image, rows] : b) {
    if (auto missing = unmatched(rows, of_image(a, image), metric, "expected")) return missing;
  }
  // A row just above the bound may stand just below it on the other side.
  CaseMetric reverse = metric;
  reverse.confidence += metric.confidence_tolerance;
  for (const auto& [image, rows] : a) {
    if (auto extra = unmatched(rows, of_image(b, image), reverse, "computed")) return extra;
  }
  return std::nullopt;
}

std::optional<std::string> string_difference(const ir::Tensor& got, const ir::Tensor& expected,
                                             std::size_t count) {
  if (got.element_type() != expected.element_type()) {
    return fmt::format("got {}, expected {}", ir::name_of(got.element_type()),
                       ir::name_of(expected.element_type()));
  }
  const auto a = got.data<std::string>();
  const auto b = expected.data<std::string>();
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] != b[i])
      return fmt::format("got '{}' at {}, expected '{}'", a[i], ir::place_of(i, expected.shape()), b[i]);
  }
  return std::nullopt;
}

// The shape [n] of a case also stands for any shape of n elements.
bool same_shape(const ir::Tensor& got, const ir::Tensor& expected) {
  return got.shape() == expected.shape() || (expected.shape().size() == 1 && got.size() == expected.size());
}

}  // namespace

std::optional<std::string> difference(const ir::Tensor& got, const ir::Tensor& expected,
                                      const CaseMetric& metric) {
  if (!same_shape(got, expected) && !metric.compare_first) {
    return fmt::format("got shape {}, expected {}", ir::to_string(got.shape()),
                       ir::to_string(expected.shape()));
  }
  const auto count = std::min(metric.compare_first.value_or(expected.size()), expected.size());
  if (got.size() < count) return fmt::format("got {} elements, expected {}", got.size(), count);
  if (holds_strings(got) || holds_strings(expected))
    return string_difference(got, expected, static_cast<std::size_t>(count));
  const ir::Tensor same =
      got.element_type() == expected.element_type() ? got : got.converted(expected.element_type());
  switch (metric.kind) {
    case CaseMetric::Kind::relative_l2:
      return relative_l2(same, expected, metric, static_cast<std::size_t>(count));
    case CaseMetric::Kind::detections:
      return detection_difference(same, expected, metric);
    case CaseMetric::Kind::elementwise:
      break;
  }
  return elementwise(same, expected, metric, static_cast<std::size_t>(count));
}

}  // namespace run_ir
