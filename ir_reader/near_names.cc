#include "ir_reader/near_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/types/letter_case.h"

namespace ir::reader {
namespace {

constexpr std::size_t kMaxLength = 64;

// Number of single-character edits that turn `a` into `b`, ignoring case. Neither is longer than kMaxLength.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::size_t, kMaxLength + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (lower_case(a[i - 1]) == lower_case(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view text, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  if (text.size() > kMaxLength) return best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 4) + 1;
  for (const std::string_view candidate : candidates) {
    const auto [shorter, longer] = std::minmax({text.size(), candidate.size()});
    if (longer > kMaxLength || longer - shorter >= best_distance) continue;
    const std::size_t distance = edit_distance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& candidates) {
  const std::string_view similar = nearest(text, candidates);
  return similar.empty() ? std::string() : fmt::format("did you mean '{}'?", similar);
}

}  // namespace ir::reader
