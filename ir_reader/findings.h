// Collects diagnostics while a file is read, up to a bound.
#ifndef IR_READER_FINDINGS_H_
#define IR_READER_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir_runtime/diagnostics.h"

namespace ir::reader {

/// A finding that was kept, for what follows from it.
using FindingId = std::size_t;
inline constexpr FindingId kNoFinding = std::numeric_limits<FindingId>::max();

class Findings {
 public:
  explicit Findings(std::int64_t limit) : limit_(limit) {}

  /// Keeps the finding; past the limit only the first error is kept, others are counted.
  FindingId add(Diagnostic diagnostic) {
    const bool first_error = diagnostic.severity == Severity::error && errors_++ == 0;
    if (!first_error && kept_ >= limit_) return kNoFinding;
    ++kept_;
    all_.push_back(std::move(diagnostic));
    return all_.size() - 1;
  }
  /// Keeps a finding that only repeats `cause`. One that is graver than its cause stands by itself.
  void add_consequence(FindingId cause, Diagnostic diagnostic) {
    if (cause != kNoFinding && diagnostic.severity > all_[cause].severity) {
      add(std::move(diagnostic));
      return;
    }
    if (diagnostic.severity == Severity::error) ++errors_;
    if (cause == kNoFinding || kept_ >= limit_) return;
    ++kept_;
    all_[cause].consequences.push_back(std::move(diagnostic));
  }
  void error(std::string code, SourceLocation where, LayerReference layer, std::string message,
             std::string hint = {}) {
    add({Severity::error, std::move(code), std::move(where), std::move(layer), std::move(message),
         std::move(hint)});
  }
  void warning(std::string code, SourceLocation where, LayerReference layer, std::string message,
               std::string hint = {}) {
    add({Severity::warning, std::move(code), std::move(where), std::move(layer), std::move(message),
         std::move(hint)});
  }

  [[nodiscard]] std::int64_t errors() const { return errors_; }
  /// Nothing but a first error would be kept: whatever is costly to say need not be found out.
  [[nodiscard]] bool full() const { return kept_ >= limit_ && errors_ > 0; }
  /// The first finding from `begin` on that has one of the codes.
  [[nodiscard]] FindingId first_of(std::initializer_list<std::string_view> codes, FindingId begin = 0) const {
    for (FindingId id = begin; id < all_.size(); ++id) {
      for (const std::string_view code : codes) {
        if (all_[id].code == code) return id;
      }
    }
    return kNoFinding;
  }
  /// Number of findings that stand by themselves; the id of the next one.
  [[nodiscard]] FindingId next() const { return all_.size(); }
  [[nodiscard]] std::vector<Diagnostic> take() { return std::move(all_); }

 private:
  std::vector<Diagnostic> all_;
  std::int64_t limit_;
  std::int64_t kept_ = 0;
  std::int64_t errors_ = 0;
};

}  // namespace ir::reader

#endif  // IR_READER_FINDINGS_H_
