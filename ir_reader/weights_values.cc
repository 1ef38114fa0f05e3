// What the bytes of a weights file are: numbers that are none, and the same bytes again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir_reader/value_scan.h"
#include "ir_reader/weights_check.h"
#include "runtime/types/place.h"

namespace ir::reader {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

Range range_of(const ConstantPlace& place) { return {place.offset, place.size}; }

// Constants with the same bytes, at different places.
class DuplicateCheck {
 public:
  DuplicateCheck(std::span<const ConstantPlace> constants, const Weights& weights, Findings& findings)
      : weights_(weights), findings_(findings) {
    for (const ConstantPlace& place : constants) {
      if (place.size > 0 && ranges_.insert(range_of(place)).second) by_size_[place.size].push_back(&place);
    }
  }

  void run() {
    for (const auto& [size, places] : by_size_) {
      if (places.size() > 1) group(places);
    }
    std::ranges::stable_sort(groups_, std::greater(), saving);
    std::int64_t saved = 0;
    std::size_t reported = 0;
    for (const Group& equal : groups_) {
      saved += saving(equal);
      if (saving(equal) < kWorthNaming || reported == kNamed) continue;
      ++reported;
      report(equal);
    }
    if (reported == kNamed && groups_.size() > kNamed) {
      findings_.add(
          {Severity::note,
           "IR-const-duplicate",
           {weights_.name(), 0, 0},
           {},
           fmt::format("{} sets of constants hold the same bytes, the largest {} of them named above: "
                       "written once, all would save {} bytes",
                       groups_.size(), kNamed, saved),
           {}});
    }
  }

 private:
  using Group = std::vector<const ConstantPlace*>;

  static constexpr std::size_t kNamed = 10;
  static constexpr std::int64_t kWorthNaming = 64;
  // Contents of one hash that a constant is compared with: more are no accident but a trap.
  static constexpr std::size_t kMostCompared = 16;

  static std::int64_t saving(const Group& equal) {
    return static_cast<std::int64_t>(equal.size() - 1) * equal.front()->size;
  }

  [[nodiscard]] std::string_view bytes_of(const ConstantPlace& place) const {
    return {reinterpret_cast<const char*>(weights_.view(place.offset, place.size)),
            static_cast<std::size_t>(place.size)};
  }

  void group(const Group& places) {
    std::unordered_map<std::size_t, std::vector<Group>> by_hash;
    for (const ConstantPlace* place : places) {
      const std::string_view bytes = bytes_of(*place);
      std::vector<Group>& candidates = by_hash[std::hash<std::string_view>()(bytes)];
      const auto same = std::ranges::find_if(
          candidates, [&](const Group& other) { return bytes_of(*other.front()) == bytes; });
      if (same != candidates.end()) {
        same->push_back(place);
      } else if (candidates.size() < kMostCompared) {
        candidates.push_back({place});
      }
    }
    // In the order of the file, whatever the hashes are.
    std::vector<Group> equal;
    for (auto& [hash, candidates] : by_hash) {
      for (Group& candidate : candidates) {
        if (candidate.size() > 1) equal.push_back(std::move(candidate));
      }
    }
    std::ranges::sort(equal, {}, [](const Group& candidate) { return candidate.front(); });
    groups_.insert(groups_.end(), equal.begin(), equal.end());
  }

  void report(const Group& equal) {
    constexpr std::size_t kMostNames = 3;
    std::string others;
    for (std::size_t i = 1; i < std::min(equal.size(), kMostNames + 1); ++i) {
      others +=
          fmt::format("{}'{}' (line {})", i == 1 ? "" : ", ", equal[i]->layer.name, equal[i]->where.line);
    }
    if (equal.size() > kMostNames + 1) others += fmt::format(" and {} more", equal.size() - kMostNames - 1);
    findings_.add(
        {Severity::note, "IR-const-duplicate", equal.front()->where, equal.front()->layer,
         fmt::format("the same {} bytes are stored again for {}: written once, they would save {} bytes",
                     equal.front()->size, others, saving(equal)),
         "`run_ir lint --repair` writes such a copy"});
  }

  const Weights& weights_;
  Findings& findings_;
  std::set<Range> ranges_;
  std::map<std::int64_t, Group> by_size_;
  std::vector<Group> groups_;
};

double number_at(ElementType type, const std::byte* memory, std::int64_t index) {
  const auto bytes = static_cast<std::size_t>(bits_of(type) / 8);
  const std::byte* at = memory + static_cast<std::size_t>(index) * bytes;
  if (type == ElementType::f64) {
    double value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  // The upper half of an f32 is a bf16.
  float value = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&value) + sizeof value - bytes, at, bytes);
  return value;
}

// What the numbers of one constant are.
class ValueReport {
 public:
  ValueReport(const ConstantPlace& place, const std::byte* memory, Findings& findings)
      : place_(place), memory_(memory), findings_(findings), size_(element_count(place.shape).value()) {}

  void run() {
    counts_ = scan_values(place_.type, memory_, size_);
    add(counts_.nan, Severity::warning, "IR-const-nan", "NaN", {});
    // A mask holds zeros and infinities only.
    const bool mask = counts_.usual + counts_.beyond_f16.count + counts_.denormal.count == 0;
    add(counts_.infinite, mask ? Severity::note : Severity::warning, "IR-const-infinite", "infinite", {});
    add(counts_.beyond_f16, Severity::note, "IR-const-f16-overflow", "beyond 65504, the largest f16",
        "they become infinite when the model is stored in f16");
    add(counts_.denormal, Severity::note, "IR-const-denormal", "denormal",
        "they make arithmetic slow on many CPUs");
    add_implausible();
  }

 private:
  void add(const ValueCounts::Kind& kind, Severity severity, std::string code, std::string_view what,
           std::string hint) {
    if (kind.count == 0) return;
    const double first = number_at(place_.type, memory_, kind.first);
    const bool show = std::isfinite(first) && place_.type != ElementType::f16;
    const bool is_scalar = place_.shape.empty();
    findings_.add(
        {severity, std::move(code), place_.where, place_.layer,
         fmt::format("{} of {} elements {} {}, the first{}{}", kind.count, size_,
                     kind.count == 1 ? "is" : "are", what,
                     is_scalar ? "" : " " + place_of(static_cast<std::size_t>(kind.first), place_.shape),
                     show ? fmt::format(" = {:g}", first) : ""),
         std::move(hint)});
  }

  // Weights are neither tiny nor huge: then these are other bytes than those that the model means.
  void add_implausible() {
    constexpr std::int64_t kFewest = 64;
    const std::int64_t odd = counts_.nan.count + counts_.infinite.count + counts_.extreme;
    const bool is_f16 = place_.type == ElementType::f16;
    if (size_ < kFewest || counts_.usual == 0 || odd <= size_ / (is_f16 ? 64 : 8)) return;
    findings_.warning(
        "IR-const-implausible", place_.where, place_.layer,
        fmt::format("{} of {} elements are {}", odd, size_,
                    is_f16 ? "NaN or infinite" : "NaN, infinite, at least 1e30 or below 1e-30"),
        "see whether the weights file belongs to another model, or the offset or the element type is "
        "wrong");
  }

  const ConstantPlace& place_;
  const std::byte* memory_;
  Findings& findings_;
  std::int64_t size_;
  ValueCounts counts_;
};

}  // namespace

void check_duplicates(std::span<const ConstantPlace> constants, const Weights& weights, Findings& findings) {
  DuplicateCheck(constants, weights, findings).run();
}

void check_values(std::span<const ConstantPlace> constants, const Weights& weights, Findings& findings) {
  std::set<std::pair<Range, ElementType>> seen;
  for (const ConstantPlace& place : constants) {
    if (!is_scanned(place.type) || !seen.emplace(range_of(place), place.type).second) continue;
    ValueReport(place, weights.view(place.offset, place.size), findings).run();
  }
}

bool worth_reading(std::span<const ConstantPlace> constants, const Weights& weights, Findings& findings) {
  constexpr std::int64_t kMostTimes = 4;
  std::set<Range> seen;
  std::int64_t bytes = 0;
  bool overflow = false;
  for (const ConstantPlace& place : constants) {
    if (seen.insert(range_of(place)).second)
      overflow = overflow || __builtin_add_overflow(bytes, place.size, &bytes);
  }
  if (!overflow && bytes / kMostTimes <= weights.size()) return true;
  findings.warning(
      "IR-weights-unread", {weights.name(), 0, 0}, {},
      fmt::format("the constants take more than {} times the {} bytes of the file: they overlap, and "
                  "their values were not looked at",
                  kMostTimes, weights.size()));
  return false;
}

}  // namespace ir::reader
