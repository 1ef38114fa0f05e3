#include "ir_reader/near_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/types/letter_case.h"

namespace ir::reader {
namespace {

constexpr std::size_t kMaxLength = 64;

bool same_letter(char a, char b) { return lower_case(a) == lower_case(b); }

// Number of edits that turn `a` into `b`, ignoring case: a character is put in, left out or replaced, or two
// neighbours change places. Neither is longer than kMaxLength.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kMaxLength + 1>;
  Row before{};  // the row before `above`
  Row above{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({row[j - 1] + 1, above[j] + 1, replaced});
      const bool swapped =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
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

std::string did_you_mean_type(std::string_view text, std::string_view (*name)(ElementType)) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kElsewhere = {
      {{"float", "f"}, {"uint", "u"}, {"int", "i"}}};
  for (const auto& [longer, letter] : kElsewhere) {
    if (!equal_ignoring_case(text.substr(0, longer.size()), longer)) continue;
    const auto type = element_type_of(std::string(letter) + std::string(text.substr(longer.size())));
    if (type) return fmt::format("did you mean '{}'?", name(*type));
  }
  std::vector<std::string_view> names;
  for (const ElementType type : all_element_types()) names.push_back(name(type));
  return did_you_mean(text, names);
}

}  // namespace ir::reader
