// Which bytes of a weights file belong to which constants.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ir_reader/weights_check.h"

namespace ir::reader {
namespace {

constexpr std::int64_t kPadding = 64;
// Overlaps that are named one by one.
constexpr std::int64_t kNamed = 3;

class LayoutCheck {
 public:
  LayoutCheck(std::span<const ConstantPlace> constants, const Weights& weights, bool notes,
              Findings& findings)
      : constants_(constants), weights_(weights), notes_(notes), findings_(findings) {}

  void run() {
    const ConstantPlace* furthest = nullptr;
    for (const ConstantPlace* place : by_offset()) {
      const std::int64_t reached = furthest == nullptr ? 0 : furthest->end();
      if (place->offset >= reached) {
        add_gap(reached, place->offset);
      } else if (place->offset != furthest->offset || place->size != furthest->size) {
        add_overlap(*place, *furthest);
      }
      if (furthest == nullptr || place->end() > reached) furthest = place;
    }
    add_gap(furthest == nullptr ? 0 : furthest->end(), weights_.size());
    report_overlaps();
    report_gaps();
  }

 private:
  // Of those that start together, the longest first.
  [[nodiscard]] std::vector<const ConstantPlace*> by_offset() const {
    std::vector<const ConstantPlace*> order;
    for (const ConstantPlace& place : constants_) {
      if (place.size > 0) order.push_back(&place);
    }
    std::ranges::stable_sort(order, [](const ConstantPlace* a, const ConstantPlace* b) {
      return std::pair(a->offset, -a->size) < std::pair(b->offset, -b->size);
    });
    return order;
  }

  void add_gap(std::int64_t begin, std::int64_t end) {
    if (begin == end || is_padding(begin, end)) return;
    if (gaps_++ == 0) {
      first_begin_ = begin;
      first_end_ = end;
    }
    unused_ += end - begin;
  }

  // What a writer puts in so that the constant behind is aligned.
  [[nodiscard]] bool is_padding(std::int64_t begin, std::int64_t end) const {
    const std::int64_t size = end - begin;
    const std::int64_t alignment = end & -end;
    if (size >= std::min(alignment, kPadding)) return false;
    const std::byte* bytes = weights_.view(begin, size);
    return std::all_of(bytes, bytes + size, [](std::byte byte) { return byte == std::byte{0}; });
  }

  void add_overlap(const ConstantPlace& place, const ConstantPlace& other) {
    if (++overlaps_ > kNamed) return;
    findings_.warning(
        "IR-const-overlap", place.where, place.layer,
        fmt::format("bytes {} to {} also belong to layer '{}' of line {}, which takes bytes {} to {}",
                    place.offset, std::min(place.end(), other.end()), other.layer.name, other.where.line,
                    other.offset, other.end()),
        "constants share all of their bytes or none: see whether offset and size are right");
  }

  void report_overlaps() {
    if (overlaps_ <= kNamed) return;
    findings_.warning(
        "IR-const-overlap", {weights_.name(), 0, 0}, {},
        fmt::format("{} constants share some of their bytes with others, {} of them named above", overlaps_,
                    kNamed));
  }

  void report_gaps() {
    const bool mostly = unused_ > weights_.size() / 2;
    if (gaps_ == 0 || (!mostly && !notes_)) return;
    const std::string where = gaps_ == 1
                                  ? fmt::format("{} to {}", first_begin_, first_end_)
                                  : fmt::format("{} to {} and {} more", first_begin_, first_end_, gaps_ - 1);
    findings_.add({mostly ? Severity::warning : Severity::note,
                   "IR-weights-unused",
                   {weights_.name(), 0, 0},
                   {},
                   fmt::format("{} of {} bytes belong to no constant: {}", unused_, weights_.size(), where),
                   mostly ? "the file may belong to another model"
                          : "`run_ir lint --repair` writes a copy without them"});
  }

  std::span<const ConstantPlace> constants_;
  const Weights& weights_;
  bool notes_;
  Findings& findings_;
  std::int64_t unused_ = 0;
  std::int64_t gaps_ = 0;
  std::int64_t first_begin_ = 0;
  std::int64_t first_end_ = 0;
  std::int64_t overlaps_ = 0;
};

}  // namespace

void check_layout(std::span<const ConstantPlace> constants, const Weights& weights, bool notes,
                  Findings& findings) {
  LayoutCheck(constants, weights, notes, findings).run();
}

}  // namespace ir::reader
