#include "samples/run_ir/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include "samples/run_ir/elements.h"

namespace run_ir {
namespace {

constexpr std::size_t kDetectionRow = 7;

// DetectionOutput's [1, 1, N, 7].
bool holds_detections(const ir::Tensor& tensor) {
  const ir::Shape& shape = tensor.shape();
  return shape.size() == 4 && shape[0] == 1 && shape[1] == 1 &&
         shape[3] == static_cast<std::int64_t>(kDetectionRow) && ir::is_real(tensor.element_type());
}

// One long axis with at least five entries, all others of size 1.
bool holds_classes(const ir::Tensor& tensor) {
  constexpr std::int64_t kFewest = 5;
  const auto long_axes = std::ranges::count_if(tensor.shape(), [](std::int64_t dim) { return dim != 1; });
  return long_axes == 1 && tensor.size() >= kFewest && ir::is_real(tensor.element_type());
}

std::string detections(std::span<const double> values, std::size_t top) {
  std::string text = "  image label confidence      x0      y0      x1      y1\n";
  std::size_t rows = 0;
  std::size_t shown = 0;
  for (std::size_t at = 0; at + kDetectionRow <= values.size() && values[at] >= 0;
       at += kDetectionRow, ++rows) {
    if (shown == top) continue;
    ++shown;
    const auto row = values.subspan(at, kDetectionRow);
    fmt::format_to(std::back_inserter(text),
                   "  {:>5.0f} {:>5.0f} {:>10.4f} {:>7.4f} {:>7.4f} {:>7.4f} {:>7.4f}\n", row[0], row[1],
                   row[2], row[3], row[4], row[5], row[6]);
  }
  fmt::format_to(std::back_inserter(text), "  {} detections{}\n", rows,
                 rows > shown ? fmt::format(", {} shown", shown) : "");
  return text;
}

std::string classes(std::span<const double> values, std::size_t top) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return std::isnan(values[i]) ? -HUGE_VAL : values[i]; };
  std::ranges::stable_sort(order, std::greater(), key);
  std::string text = "  class      value\n";
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i) {
    fmt::format_to(std::back_inserter(text), "  {:5} {:>10.6g}\n", order[i], values[order[i]]);
  }
  return text;
}

std::string statistics(std::span<const double> values) {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  double sum = 0;
  std::size_t finite = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    ++finite;
  }
  const std::size_t strange = values.size() - finite;
  if (finite == 0) return fmt::format("  {} NaN or infinite\n", strange);
  const double mean = sum / static_cast<double>(finite);
  return fmt::format("  min {:.6g}, max {:.6g}, mean {:.6g}{}\n", low, high, mean,
                     strange > 0 ? fmt::format(", {} NaN or infinite", strange) : "");
}

// "a\x0ab": what is no plain character of a line is spelt out.
std::string quoted(const std::string& string) {
  std::string text = "\"";
  for (const char c : string) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') text += '\\';
    if (code < 0x20 || code == 0x7F) {
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", code);
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string strings(const ir::Tensor& tensor, std::size_t top) {
  const auto all = tensor.data<std::string>();
  const auto shown = all.first(std::min(all.size(), top));
  std::string text;
  for (const std::string& string : shown) text += fmt::format("  {}\n", quoted(string));
  if (shown.size() < all.size()) text += fmt::format("  {} strings, {} shown\n", all.size(), shown.size());
  return text;
}

}  // namespace

std::string summary_of(const ir::Tensor& tensor, std::size_t top) {
  constexpr std::int64_t kFewElements = 16;
  if (tensor.size() == 0) return "  no elements\n";
  if (tensor.element_type() == ir::ElementType::string) return strings(tensor, top);
  const std::vector<double> values = values_of(tensor);
  if (holds_detections(tensor)) return detections(values, top);
  if (holds_classes(tensor)) return classes(values, top);
  if (tensor.size() <= kFewElements) return fmt::format("  {:.6g}\n", fmt::join(values, " "));
  return statistics(values);
}

}  // namespace run_ir
