#include "samples/run_ir/deviation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/types/place.h"
#include "samples/run_ir/elements.h"

namespace run_ir {
namespace {

using ir::ElementType;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// 64-bit integers do not fit into a double.
bool is_wide_integer(ElementType type) { return type == ElementType::i64 || type == ElementType::u64; }

void note_difference(Deviation& deviation, std::size_t position) {
  if (deviation.different++ == 0) deviation.first = position;
}

Deviation of_strings(const ir::Tensor& a, const ir::Tensor& b) {
  const auto left = a.data<std::string>();
  const auto right = b.data<std::string>();
  Deviation deviation;
  deviation.elements = left.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] != right[i]) note_difference(deviation, i);
  }
  if (deviation.different > 0) {
    deviation.relative_l2 =
        static_cast<double>(deviation.different) / static_cast<double>(deviation.elements);
  }
  return deviation;
}

std::string element_text(const ir::Tensor& tensor, std::size_t position) {
  switch (tensor.element_type()) {
    case ElementType::string:
      return fmt::format("'{}'", tensor.data<std::string>()[position]);
    case ElementType::i64:
      return fmt::format("{}", tensor.data<std::int64_t>()[position]);
    case ElementType::u64:
      return fmt::format("{}", tensor.data<std::uint64_t>()[position]);
    default:
      return fmt::format("{:.9g}", values_of(tensor)[position]);
  }
}

}  // namespace

Deviation deviation_of(const ir::Tensor& a, const ir::Tensor& b) {
  if (holds_strings(a) && holds_strings(b)) return of_strings(a, b);
  const std::vector<double> left = values_of(a);
  const std::vector<double> right = values_of(b);
  const bool by_bytes = a.element_type() == b.element_type() && is_wide_integer(a.element_type());
  const auto same_bytes = [&](std::size_t i) {
    return std::memcmp(static_cast<const std::byte*>(a.raw()) + i * sizeof(std::int64_t),
                       static_cast<const std::byte*>(b.raw()) + i * sizeof(std::int64_t),
                       sizeof(std::int64_t)) == 0;
  };
  Deviation deviation;
  deviation.elements = left.size();
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool both_nan = std::isnan(left[i]) && std::isnan(right[i]);
    const bool same = by_bytes ? same_bytes(i) : both_nan || left[i] == right[i];
    if (std::isfinite(left[i])) norm += left[i] * left[i];
    if (same) continue;
    note_difference(deviation, i);
    const bool finite = std::isfinite(left[i]) && std::isfinite(right[i]);
    const double absolute = finite ? std::abs(left[i] - right[i]) : kInfinite;
    const double largest = std::max(std::abs(left[i]), std::abs(right[i]));
    const double relative = !finite ? kInfinite : largest > 0 ? absolute / largest : 0.0;
    if (absolute > deviation.absolute) {
      deviation.absolute = absolute;
      deviation.absolute_at = i;
    }
    if (relative > deviation.relative) {
      deviation.relative = relative;
      deviation.relative_at = i;
    }
    error += absolute * absolute;
  }
  deviation.relative_l2 = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return deviation;
}

std::string describe(const Deviation& deviation, const ir::Tensor& a, const ir::Tensor& b) {
  if (deviation.different == 0) return fmt::format("  identical, {} elements\n", deviation.elements);
  const auto at = [&](std::size_t position) {
    return fmt::format("at {}: {} / {}", ir::place_of(position, a.shape()), element_text(a, position),
                       element_text(b, position));
  };
  std::string text = fmt::format("  {} of {} elements differ, first {}\n", deviation.different,
                                 deviation.elements, at(deviation.first));
  if (holds_strings(a)) return text;
  text += fmt::format("  largest absolute error {:.4g} {}\n", deviation.absolute, at(deviation.absolute_at));
  text += fmt::format("  largest relative error {:.4g} {}\n", deviation.relative, at(deviation.relative_at));
  return text + fmt::format("  relative L2 error {:.4g}\n", deviation.relative_l2);
}

}  // namespace run_ir
